"""What the build writes beside the pages: recipes as notebooks, and llms.txt for tools.

The name is not `site`, because that is a module of Python's own.
"""

import doctest
import json
import re
from pathlib import Path

DOCS = Path(__file__).parent
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

SHOWN = {
    "chunks": "cuts[0]",
    "no-answer": 'gate.cut(search("symptoms of the flu in young children")[0][0])',
    "reranker": 'pc.keep(ranked("median of the data"), expect="few", explain=True)[1]',
    "memory": 'pc.keep(recall("median of the data"), truncator=gate, explain=True)[1]',
    "tools": (
        'found = tools.similarity_search_with_score("convert an object to JSON", k=20)\n'
        'pc.keep(found, expect="few", max_k=10, explain=True)[1]'
    ),
    "cache": 'accept.cut(find("how would I rename a table")[1])',
    "records": "link.cut(lists[0])",
    "stop-reading": (
        'lists = pc.read_trec("run.txt", "so-far.txt")\n'
        "pc.truncators.FixedK(130).cut_batch(lists)[0]"
    ),
    "two-retrievers": 'pc.keep(answer, expect="few", explain=True)[1]',
}
"""For each recipe, the code whose last line is the decision to draw."""

EXAMPLE = """\
import os

if not os.path.exists("notes.py"):
    !paretocut example . --quiet
"""


def notebook(page):
    """Return a recipe as a notebook: prose, code, and at the end the picture of its cut."""
    text = page.read_text(encoding="utf-8")
    cells, at = [], 0
    for block in FENCE.finditer(text):
        language, code = block.groups()
        if language in CODE:
            cells += [_prose(text[at : block.start()]), *map(_code, CODE[language](code))]
            at = block.end()
    cells += [_prose(text[at:]), _prose("## See the cut"), _code(SHOWN[page.stem])]
    if "paretocut example" in text:
        cells.insert(1, _code(EXAMPLE))
    cells = [cell for cell in cells if cell["source"]]
    for number, cell in enumerate(cells, 1):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _commands(code):
    """Return the lines after `$`, without the output that follows them."""
    found = re.findall(r"^\$ ((?:.*\\\n)*.*)$", code, re.MULTILINE)
    return ["%%bash\n" + "\n".join(found)]


CODE = {
    "python": lambda code: [code],
    # Each example has a cell of its own, so that the notebook shows its value.
    "pycon": lambda code: [one.source for one in doctest.DocTestParser().get_examples(code)],
    "console": _commands,
}


def _prose(text):
    return _cell("markdown", re.sub(r"^<!--.*-->\n", "", _linked(text), flags=re.MULTILINE))


def _code(text):
    return _cell("code", text) | {"execution_count": None, "outputs": []}


def _cell(kind, text):
    lines = text.strip("\n").splitlines(keepends=True)
    return {"cell_type": kind, "id": "", "metadata": {}, "source": lines}


def _linked(text, folder=""):
    """Return Markdown whose links lead to the pages of the site, seen from its top or a folder."""
    return re.sub(r"\]\((?!\w+:)([^)#\s]*)\.md(#[^)\s]*)?\)", rf"]({folder}\1.html\2)", text)


def linked_to_notebook(app, docname, source):
    """Put a link to the notebook at the end of a recipe."""
    folder, _, name = docname.rpartition("/")
    if folder == "recipes":
        source[0] += f'\n<a href="{name}.ipynb" download>This recipe as a notebook</a>\n'


def contents():
    """Return the pages of each part of the site, in the order of its sidebar."""
    parts = {}
    for caption, pages in _toctrees("index"):
        parts[caption] = [inner for page in pages for inner in _with_children(page)]
    return parts


def _toctrees(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    for language, inside in FENCE.findall(text):
        if language == "{toctree}":
            caption = re.search(r"^:caption: (.*)$", inside, re.MULTILINE)
            names = inside.partition("\n\n")[2].split()
            yield caption and caption[1], [(Path(page).parent / name).as_posix() for name in names]


def _with_children(page):
    yield page
    for _, pages in _toctrees(page):
        for child in pages:
            yield from _with_children(child)


def described(page):
    """Return a page as one line of llms.txt: its title as a link, and what its first lines say."""
    text = FENCE.sub("", (DOCS / f"{page}.md").read_text(encoding="utf-8"))
    title, *blocks = text.removeprefix("# ").split("\n\n")
    first = next((block for block in blocks if re.match(r"[A-Za-z`*]", block)), "")
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(first.split()))
    # A page that begins with a question answers it in the next sentence.
    sentence = re.match(r"(?:.*?\?(?= ))?.*?(?:\.(?= |$)|$)", plain)[0]
    return f"- [{title.strip()}]({page}.html)" + f": {sentence}" * bool(sentence)


def for_tools():
    """Return llms.txt, and llms-full.txt with the guides and the recipes whole."""
    head, parts = (DOCS / "llms.txt").read_text(encoding="utf-8"), contents()
    short = [head]
    for caption, pages in parts.items():
        short.append(f"## {caption}\n\n" + "\n".join(map(described, pages)) + "\n")
    whole = [head]
    for page in [*parts["Start here"], *parts["Guides"]]:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        text = re.sub(r"^```\{.*?^```\n", "", text, flags=re.MULTILINE | re.DOTALL)
        folder = "".join(f"{part}/" for part in Path(page).parts[:-1])
        linked = _linked(text, folder).replace(f"{folder}../", "") if folder else _linked(text)
        linked = linked.replace("](images/", "](_images/")
        whole.append(f"<!-- {page}.html -->\n\n{linked}")
    return {"llms.txt": "\n".join(short), "llms-full.txt": "\n".join(whole)}


def written(app, exception):
    """Write the files when the pages are there."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for page in sorted((DOCS / "recipes").glob("*.md")):
        made = json.dumps(notebook(page), indent=1, ensure_ascii=False)
        (out / "recipes" / f"{page.stem}.ipynb").write_text(made + "\n", encoding="utf-8")
    for name, text in for_tools().items():
        (out / name).write_text(text, encoding="utf-8")


def setup(app):
    """Tell Sphinx of the hooks above."""
    app.connect("source-read", linked_to_notebook)
    app.connect("build-finished", written)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
