"""Draw the pictures of the gallery and of the page about charts, as notebooks draw them.

The code of each recipe runs in a folder with what `paretocut example` writes; its picture is that
of the decision its notebook ends with. The charts are of the same texts.

    python scripts/make_gallery_pictures.py docs/images [NAME ...]
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from make_readme_picture import drawn

import paretocut as pc
from paretocut.cli import main as command
from paretocut.show.drawing import of_cut
from paretocut.truncators import Consensus, FixedK

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "docs"))
from beside import DOCS, SHOWN, notebook


def decision(name: str) -> Any:
    """Return the value of the last line of a recipe's notebook."""
    names: dict[str, Any] = {"__name__": name}
    for cell in notebook(DOCS / "recipes" / f"{name}.md")["cells"]:
        code = "".join(cell["source"])
        if cell["cell_type"] != "code" or "!paretocut example" in code:
            continue
        if code.startswith("%%bash\n"):
            subprocess.run(["bash", "-euc", code.partition("\n")[2]], check=True)
        else:
            exec(code, names)
    *before, last = SHOWN[name].split("\n")
    exec("\n".join(before), names)
    return eval(last, names)


def charts() -> dict[str, Any]:
    """Return a value of each kind that draws itself: 50 questions to the docstrings of Python."""
    notes: Any = importlib.import_module("notes")
    lists = pc.read_trec("run.txt", "qrels.txt")
    background = pc.Background.fit(pc.read_trec("unanswered.txt"))
    return {
        "lists": lists,
        "list": lists[0],
        "cut": Consensus(expect="few").cut_batch(lists)[0],
        "cuts": pc.cut_batch(lists),
        "background": background,
        "calibrated": pc.calibrate(
            lambda question: notes.search_vectors(question)[1],
            notes.texts,
            queries=list(notes.questions),
        ),
        "truncator": Consensus().fit(lists),
        "evaluation": pc.evaluate([FixedK(10), Consensus()], lists, metrics=["f1"]),
    }


def main() -> None:
    """Write all pictures, or those of the recipes named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    with tempfile.TemporaryDirectory() as prepared:
        command(["example", prepared, "--quiet"])
        os.chdir(prepared)
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        sys.path.insert(0, prepared)
        for name, value in charts().items() if not arguments.names else ():
            html = f"{value._repr_html_()}\n"
            (folder / f"chart-{name}.html").write_text(html, encoding="utf-8")
        for name in arguments.names or SHOWN:
            cut = decision(name)
            title = f"Scores of {cut.n} results by rank, and the cut after {cut.k}"
            picture = drawn(title, [("", cut.reason, of_cut(cut))])
            (folder / f"recipe-{name}.svg").write_text(picture, encoding="utf-8")
            print(f"{name}: {cut.reason}")


if __name__ == "__main__":
    main()
