"""Experiments: each folder is one command, ``python -m experiments.NAME``, and makes one page.

A folder holds its numbers (``results.json``, or ``results/`` for an experiment in parts) and the
words of its page (``page.md``). The pages are in ``docs/evidence``. Experiments use the public API
like any user, apart from the files that teach `Consensus` what it ships.
"""
