"""Answers: whatever a search returned, recognised without importing the library it came from."""

from paretocut.answers.answer import Answer, direction_of
from paretocut.answers.hosts import HOSTS, Host, register
from paretocut.answers.reading import read

__all__ = ["HOSTS", "Answer", "Host", "direction_of", "read", "register"]
