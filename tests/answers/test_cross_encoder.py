"""sentence-transformers: a real, untrained `CrossEncoder`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import importorskip

import paretocut as pc
from paretocut.adapters import ScoresWarning

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]


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
    kept = pc.keep(ranking, alpha=0.05)
    assert kept == ranking[: pc.fit_tail([hit["score"] for hit in ranking]).cut(alpha=0.05).k]


def test_rank_with_its_default_sigmoid_is_warned_of(cross_encoder: Any) -> None:
    documents = [f"w{i} w{(7 * i) % 200} w{(31 * i) % 200}" for i in range(120)]
    ranking = cross_encoder.rank("w5 w6", documents)
    assert all(0 <= hit["score"] <= 1 for hit in ranking)
    with pytest.warns(ScoresWarning, match="keep: scores are piled up at 0 or 1"):
        kept = pc.keep(ranking, alpha=0.05, max_k=3)
    assert "saturated_scores" in kept.cut.warnings
