"""Draw one picture for each recipe: the decision that its notebook ends with.

The code of each recipe runs in a folder with what `paretocut example` writes.

    python scripts/make_gallery_pictures.py docs/images [NAME ...]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from make_readme_picture import drawn

from paretocut.cli import main as command
from paretocut.show.drawing import of_cut

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))
from beside import SHOWN, notebook


def decision(name: str) -> Any:
    """Return the value of the last line of a recipe's notebook."""
    names: dict[str, Any] = {"__name__": name}
    for cell in notebook(ROOT / "docs" / "recipes" / f"{name}.md")["cells"]:
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


def main() -> None:
    """Write the pictures of the gallery."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(SHOWN))
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    with tempfile.TemporaryDirectory() as prepared:
        command(["example", prepared, "--quiet"])
        os.chdir(prepared)
        sys.path.insert(0, prepared)
        for name in arguments.names:
            cut = decision(name)
            title = f"Scores of {cut.n} results by rank, and the cut after {cut.k}"
            picture = drawn(title, [("", cut.reason, of_cut(cut))])
            (folder / f"recipe-{name}.svg").write_text(picture, encoding="utf-8")
            print(f"{name}: {cut.reason}")


if __name__ == "__main__":
    main()
