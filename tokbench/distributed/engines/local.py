"""The engine on local processes; a killed process is replaced, and its slice runs again."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections import Counter, deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.core.module_process import module_environment, start_module
from tokbench.distributed.tasks import Engine, Ledger
from tokbench.errors import DistributedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.progress import Progress
    from tokbench.distributed.tasks import Finished, Slice

MOST_ATTEMPTS = 3
"""The most workers that one slice may lose: after that the slice itself is assumed to kill them."""

_SECONDS_TO_END = 3.0
_LAST_WORDS = 400


class _Message(NamedTuple):
    """A message of a worker, or None after the worker has ended."""

    worker: _Worker
    message: dict[str, Any] | None


class LocalEngine(Engine):
    """Runs tasks in local processes, which are reused by the next run.

    A task runs again if its process was killed, up to three times. Closing the engine, or any exception during a run
    (such as Ctrl-C), ends the processes.
    """

    name = "local"
    workers = 1

    def __init__(self, *, workers: int, threads: int) -> None:
        """See `open_engine`; each task may use `threads` threads."""
        self.workers = workers
        self._threads = threads
        self._messages: SimpleQueue[_Message] = SimpleQueue()
        self._idle: list[_Worker] = []
        self._busy: dict[_Worker, int] = {}

    def run(
        self, task: str, slices: Sequence[Slice], *, phase: str, progress: Progress
    ) -> Iterator[Finished]:
        """See `Engine.run`."""
        ledger = Ledger(slices, phase=phase, workers=min(self.workers, len(slices)), progress=progress)
        waiting = deque(range(len(slices)))
        lost: Counter[int] = Counter()
        try:
            while waiting or self._busy:
                while waiting and len(self._busy) < self.workers:
                    self._start(waiting.popleft(), task, slices)
                worker, message = self._next_message()
                number = self._busy.get(worker)
                if number is None:  # it ended while idle
                    self._idle.remove(worker)
                    worker.end()
                    continue
                if message is not None and "done" in message:
                    ledger.tell(number, message["done"])
                    continue
                del self._busy[worker]
                if message is not None:
                    self._idle.append(worker)
                else:
                    message = worker.end()
                    lost[number] += 1
                    if lost[number] < MOST_ATTEMPTS:
                        waiting.appendleft(number)
                        ledger.tell(number, 0)
                        continue
                if (finished := ledger.settle(number, message)) is not None:
                    yield finished
        except BaseException:
            self.close()
            raise
        ledger.raise_failures()

    def close(self) -> None:
        """Stop running tasks and end the processes."""
        idle, busy = list(self._idle), list(self._busy)
        self._idle.clear()
        self._busy.clear()
        self._messages = SimpleQueue()  # ignore further messages
        for worker in (*idle, *busy):
            worker.dismiss()
        for worker in (*idle, *busy):
            worker.end()

    def _start(self, number: int, task: str, slices: Sequence[Slice]) -> None:
        """Give a slice to a worker; if the worker has ended, a message reports it, as for one that ends later."""
        worker = self._idle.pop() if self._idle else _Worker(self._messages, threads=self._threads)
        self._busy[worker] = number
        worker.send({"task": task, "arguments": dict(slices[number].arguments), "threads": self._threads})

    def _next_message(self) -> _Message:
        while True:
            with suppress(Empty):  # a wait without a timeout cannot be interrupted on every system
                return self._messages.get(timeout=1.0)


class _Worker:
    """One process, and the thread that reads its messages."""

    def __init__(self, messages: SimpleQueue[_Message], *, threads: int) -> None:
        self._messages = messages
        self._temporary = tempfile.mkdtemp(prefix="tokbench-worker-")
        # NumPy's BLAS starts its threads on import, and each spins for a while.
        environment = {
            "OPENBLAS_NUM_THREADS": str(threads),
            **module_environment(),
            "TMPDIR": self._temporary,
        }
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = start_module(
                "tokbench.distributed.engines.local_worker",
                self._temporary,
                stderr=self._stderr,
                env=environment,
                encoding="utf-8",
                start_new_session=True,  # so that Ctrl-C reaches only this process
            )
        except BaseException as error:
            self._stderr.close()
            shutil.rmtree(self._temporary, ignore_errors=True)
            if not isinstance(error, OSError):
                raise
            raise DistributedError(
                f"no worker could be started: {error.strerror or error}", hint="run fewer --workers"
            ) from error
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, message: dict[str, Any]) -> None:
        """Write a line to the process; if it has ended, a message on the queue reports it."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines, suppress(ValueError):  # a line truncated by a kill
            for line in lines:
                self._messages.put(_Message(self, json.loads(line)))
        self._process.wait()
        self._messages.put(_Message(self, None))

    def dismiss(self) -> None:
        """Let the process stop its task, clean up and end; SIGTERM would kill it before it can do so."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def end(self) -> dict[str, Any]:
        """Wait briefly for the process to end, else kill it; return the outcome for a slice that kills its workers."""
        try:
            code = self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._reader.join()
        shutil.rmtree(self._temporary, ignore_errors=True)  # what a killed process left behind
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        with self._stderr as stderr:
            stderr.seek(0)
            words = stderr.read().decode(errors="replace").strip()[-_LAST_WORDS:]
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return {
            "error": f"its worker ended {how}, {MOST_ATTEMPTS} times" + (f": {words}" if words else ""),
            "hint": "did memory run out? run fewer --workers, or smaller parts",
        }
