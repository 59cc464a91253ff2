"""A judge for ``paretocut judge --ask``: a model behind any OpenAI-compatible endpoint.

    export JUDGE_URL=http://localhost:8000/v1 JUDGE_MODEL=my-model JUDGE_KEY=secret
    paretocut judge run.txt --query-texts queries.jsonl --corpus corpus.jsonl \
        --ask 'python examples/judge_with_endpoint.py' -o qrels.txt

It reads one JSON object per line (``query``, ``text``) and writes one: ``{"relevant": true}``,
false, or null if the model said neither. It needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import urllib.error
import urllib.request

PROMPT = """Question: {query}

Passage: {text}

Does the passage answer the question, or a part of it? A passage that is merely about the same
topic does not. Reply with one word: yes or no."""
ATTEMPTS = 5
LONGEST = 6000  # characters of a passage


def judged(query: str, text: str) -> bool | None:
    """Return what the model says; None where it said neither yes nor no."""
    body = {
        "model": os.environ["JUDGE_MODEL"],
        "messages": [{"role": "user", "content": PROMPT.format(query=query, text=text[:LONGEST])}],
        "temperature": 0,
        "max_tokens": 3,
    }
    answer = posted(os.environ["JUDGE_URL"].rstrip("/") + "/chat/completions", body)
    said = re.findall(r"[a-z]+", str(answer["choices"][0]["message"]["content"]).lower())
    return {"yes": True, "no": False}.get(said[0]) if said else None


def posted(url: str, body: dict[str, object]) -> dict[str, list[dict[str, dict[str, str]]]]:
    """Return the server's answer; a busy server is asked again."""
    headers = {"Content-Type": "application/json"}
    if "JUDGE_KEY" in os.environ:
        headers["Authorization"] = f"Bearer {os.environ['JUDGE_KEY']}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                found: dict[str, list[dict[str, dict[str, str]]]] = json.load(response)
                return found
        except urllib.error.HTTPError as error:
            if error.code not in (429, 500, 502, 503) or attempt == ATTEMPTS:
                raise
            time.sleep(float(error.headers.get("Retry-After") or 2**attempt))
    raise AssertionError("the last attempt returns or raises")


def main() -> None:
    """Answer every line of standard input."""
    for line in sys.stdin:
        question = json.loads(line)
        relevant = judged(question["query"], question["text"])
        sys.stdout.write(json.dumps({"relevant": relevant}) + "\n")
        sys.stdout.flush()  # the one who asked is waiting


if __name__ == "__main__":
    main()
