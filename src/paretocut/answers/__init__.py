"""Answers: whatever a search returned, recognised without importing the library it came from.

`read` finds scores, ids and texts in an answer, and knows how to make the same answer shorter.
`Host` declares the answers of one library; `register` adds a declaration.
"""

from paretocut.answers.answer import Answer, direction_of
from paretocut.answers.hosts import HOSTS, Host, register
from paretocut.answers.reading import read

__all__ = ["HOSTS", "Answer", "Host", "direction_of", "read", "register"]
