"""The parent's side of the process that renders a template."""

from __future__ import annotations

import json
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, BinaryIO

from tokbench.chat.jinja.frames import encode, read_frame, write_frame
from tokbench.core.module_process import end_process, start_module

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping, Sequence

_WAIT = 60
"""Seconds without a result after which the process is killed."""


class WorkerDiedError(Exception):
    """The process ended instead of answering; `killed` tells whether a limit ended it, rather than an error."""

    def __init__(self, *, killed: bool) -> None:
        super().__init__()
        self.killed = killed


class WorkerProcess:
    """A process that renders the conversations it receives; it ends with this object."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        """Start the process.

        Args:
            job: the first frame (see `worker`).
        """
        self._process = start_module(
            "tokbench.chat.jinja.worker",
            start_new_session=True,  # an interrupt at the terminal is for the parent
        )
        self.owner = os.getpid()
        self.close = weakref.finalize(self, _end, self._process, self.owner)
        self._answers = 0
        self._send(encode(job))

    def render(self, request: Mapping[str, Any], conversations: Sequence[bytes]) -> Iterator[dict[str, Any]]:
        """Yield the answers of the process: a frame about the template, then one per conversation or beginning.

        Args:
            request: `template`, `prompt`, and `beginnings` if these are rendered (see `worker`).
            conversations: the encoded conversations.

        Raises:
            WorkerDiedError: the process ended before the next frame.
        """
        finished = threading.Event()
        watch = threading.Thread(target=self._watch, args=(finished,), daemon=True)
        watch.start()
        try:
            self._send(encode({**request, "conversations": len(conversations)}), *conversations)
            beginnings = request.get("beginnings")
            answers = len(conversations) if beginnings is None else sum(map(len, beginnings))
            for _ in range(answers + 1):
                yield self._receive()
        finally:
            finished.set()

    def _watch(self, finished: threading.Event) -> None:
        seen = -1
        while not finished.wait(_WAIT):
            if seen == self._answers:
                self._process.kill()
                return
            seen = self._answers

    def _death(self) -> WorkerDiedError:
        code = self._process.wait()
        return WorkerDiedError(killed=code != 1)  # which is Python's for an exception

    def _send(self, *frames: bytes) -> None:
        stream = _stream(self._process.stdin)
        try:
            for frame in frames:
                write_frame(stream, frame)
            stream.flush()
        except OSError:
            raise self._death() from None

    def _receive(self) -> dict[str, Any]:
        try:
            frame: dict[str, Any] = json.loads(read_frame(_stream(self._process.stdout)))
        except EOFError:
            raise self._death() from None
        self._answers += 1
        return frame


def _stream(stream: Any) -> BinaryIO:
    result: BinaryIO = stream
    return result


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() == owner:  # a fork must not end the process of its parent
        end_process(process)
