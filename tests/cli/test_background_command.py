"""``paretocut background``: a gate for queries without an answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import json_lines

import paretocut as pc
from paretocut.cli import main
from paretocut.truncators import Consensus, Gated


def test_a_background_empties_queries_without_an_answer(
    folder: Path, unanswered: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["background", unanswered, "-o", "bg.json"]) == 0
    assert "40 queries without an answer: 5 % of such queries have a best score above 0." in (
        capsys.readouterr().err
    )
    background = pc.load("bg.json")
    assert background == pc.Background.fit(pc.read_trec(unanswered))
    assert main(["cut", "run.txt", "--background", "bg.json", "--json"]) == 0
    decisions = json_lines(capsys.readouterr().out)
    gated = Gated(Consensus(), background)
    cuts = gated.cut_batch(pc.read_trec("run.txt"))
    assert [row["k"] for row in decisions] == cuts.k.tolist()
    assert [row["k"] > 0 for row in decisions] == [True, True, False]
    assert decisions[2]["reason"].endswith(
        "of queries without an answer reach a best score as high"
    )
    # The two kinds of files are told from each other.
    gated.save("model.json")
    assert main(["cut", "run.txt", "--model", "bg.json"]) == 2
    assert main(["cut", "run.txt", "--background", "model.json"]) == 2
    told = capsys.readouterr().err
    assert "--model must name a saved truncator, got Background in bg.json" in told
    assert "--background must name a saved background, got Gated in model.json" in told
