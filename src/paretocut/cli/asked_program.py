"""Another program as the judge: it reads one JSON line for each question and writes one back."""

from __future__ import annotations

import json
import queue
import shlex
import subprocess
import threading
from collections.abc import Mapping
from typing import IO, Any, Self

from paretocut.errors import InvalidParameterError, ParetocutError

_HIGHEST_GRADE = 1e9


class AskedProgram:
    """A program that runs beside us and answers questions; no shell reads its command."""

    def __init__(self, command: str, seconds: float) -> None:
        self._command, self._seconds = command, seconds
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise InvalidParameterError(
                f"--ask must be a command, got {command!r}: {error}"
            ) from None
        if not words:
            raise InvalidParameterError("--ask must be a command, got an empty one")
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._questions = self._process.stdin
        self._listener = threading.Thread(
            target=self._listen, args=(self._process.stdout,), daemon=True
        )
        self._listener.start()

    def _listen(self, answers: IO[bytes]) -> None:
        with answers:
            for line in answers:
                self._lines.put(line)
        self._lines.put(b"")  # the program has ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._questions.close()
            self._process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._listener.join(5)  # a child of the program may hold its output open

    def __call__(self, question: Mapping[str, str]) -> bool | int | None:
        """Return the program's judgement of one result."""
        try:
            self._questions.write(json.dumps(dict(question)).encode() + b"\n")
            self._questions.flush()
            line = self._lines.get(timeout=self._seconds)
        except BrokenPipeError:
            line = b""
        except queue.Empty:
            raise ParetocutError(
                f"{self._command!r} must answer within {self._seconds:g} s, got nothing "
                f"for {question['query_id']!r}, {question['doc_id']!r}"
            ) from None
        if not line:
            code = self._process.wait()
            raise ParetocutError(
                f"{self._command!r} must answer until its input ends, but it exited with code "
                f"{code}"
            )
        return self._answer(line)

    def _answer(self, line: bytes) -> bool | int | None:
        try:
            row: Any = json.loads(line)
            said = row["relevant"]
        except (ValueError, TypeError, KeyError, RecursionError):
            said = line
        if said is None or isinstance(said, bool):
            return said
        if isinstance(said, (int, float)) and abs(said) < _HIGHEST_GRADE and said == int(said):
            return int(said)
        raise ParetocutError(
            f"{self._command!r} must write lines such as "
            '{"relevant": true}, with true, false, a whole grade or null, got '
            f"{line[:80]!r}"
        )
