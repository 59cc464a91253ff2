"""sentence-transformers: real `semantic_search` and a real, untrained `CrossEncoder`."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from columns import decision
from engines import vectors
from paretocut.adapters.sentence_transformers import cut_rank, cut_semantic_search
from support import importorskip

import paretocut as pc
from paretocut.adapters import CutList, ScoresWarning
from paretocut.errors import InvalidScoresError

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]


def check(kept: CutList[Any], hits: list[Any], **options: Any) -> None:
    fit = pc.fit_tail([hit["score"] for hit in hits])
    cut = decision([hit["score"] for hit in hits], **options)
    assert kept == [
        {
            **hits[i],
            "paretocut": {
                "score": hits[i]["score"],
                "surprise": fit.surprise[i],
                "pvalue": fit.pvalues[i],
                "evalue": fit.evalues[i],
                "k": cut.k,
                "n": len(hits),
                "reason": cut.reason,
                "warnings": list(cut.warnings),
            },
        }
        for i in range(cut.k)
    ]
    assert kept.cut.to_dict() == cut.to_dict()


@pytest.mark.parametrize("options", [{}, {"evalue": 0.05}, {"fdr": 0.1, "max_k": 2}], ids=str)
def test_semantic_search_is_cut_as_the_engine_says(options: dict[str, Any]) -> None:
    util = importorskip("sentence_transformers.util")
    base, query = vectors(2000)
    results = util.semantic_search(np.stack([query, -query]), base, top_k=200)
    before = copy.deepcopy(results)
    kept = cut_semantic_search(results, **options)
    assert results == before
    assert len(kept) == 2
    for mine, hits in zip(kept, results, strict=True):
        check(mine, hits, **options)
    assert {hit["corpus_id"] for hit in kept[0][:2]} <= {0, 1, 2, 3}  # the planted ones


@pytest.mark.parametrize("count", [1, 3, 40])
def test_small_corpora_are_fine(count: int) -> None:
    util = importorskip("sentence_transformers.util")
    base, query = vectors(count, hits=2)
    (hits,) = util.semantic_search(query[None], base, top_k=200)
    assert len(hits) == count
    (kept,) = cut_semantic_search([hits], min_k=2)
    check(kept, hits, min_k=2)


def test_no_hits_are_fine() -> None:
    assert cut_semantic_search([]) == []
    assert cut_semantic_search([[]]) == [[]]
    assert cut_rank([]) == []


def test_distances_are_refused() -> None:
    hits = [{"corpus_id": i, "score": i / 10} for i in range(9)]
    with pytest.raises(InvalidScoresError, match="cut_rank: results must come best first"):
        cut_rank(hits)
    with pytest.raises(InvalidScoresError, match="cut_semantic_search: results must come best"):
        cut_semantic_search([hits])


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a cross-encoder of one small layer with random weights, made here."""
    torch = importorskip("torch")
    transformers = importorskip("transformers")
    folder: Path = tmp_path_factory.mktemp("encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(200))]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=1,
        initializer_range=4.0,  # spreads the logits far enough for a sigmoid to saturate
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return importorskip("sentence_transformers").CrossEncoder(str(folder), device="cpu")


def test_rank_is_cut_as_the_engine_says_on_logits(cross_encoder: Any) -> None:
    torch = importorskip("torch")
    documents = [f"w{i} w{(7 * i) % 200} w{(31 * i) % 200}" for i in range(120)]
    ranking = cross_encoder.rank("w5 w6", documents, activation_fn=torch.nn.Identity())
    assert len(ranking) == 120
    check(cut_rank(ranking, alpha=0.05), ranking, alpha=0.05)


def test_rank_with_its_default_sigmoid_is_warned_of(cross_encoder: Any) -> None:
    documents = [f"w{i} w{(7 * i) % 200} w{(31 * i) % 200}" for i in range(120)]
    ranking = cross_encoder.rank("w5 w6", documents)
    assert all(0 <= hit["score"] <= 1 for hit in ranking)
    with pytest.warns(ScoresWarning, match="cut_rank: scores are piled up at 0 or 1"):
        kept = cut_rank(ranking, alpha=0.05, max_k=3)
    assert "saturated_scores" in kept.cut.warnings
