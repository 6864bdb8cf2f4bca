"""Jobs that one other thread does, one after another, while the thread that gives them goes on."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

_MOST_AHEAD = 2


class OrderedJobs:
    """Runs jobs in one other thread, one after another, and only a few ahead of the thread that gives them.

    Once one fails, none is run any more, and the next that is given raises its error.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._pending: deque[Future[None]] = deque()
        self._stopped = False

    def __enter__(self) -> OrderedJobs:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            while kind is None and self._pending:
                self._pending.popleft().result()
        finally:
            self._stopped = True
            self._pool.shutdown(wait=True, cancel_futures=True)

    def do(self, job: Callable[..., None], *arguments: Any) -> None:
        """Give a job; waits while too many are waiting."""
        while len(self._pending) > _MOST_AHEAD:
            self._pending.popleft().result()
        self._pending.append(self._pool.submit(self._run, job, *arguments))

    def _run(self, job: Callable[..., None], *arguments: Any) -> None:
        if self._stopped:
            return
        try:
            job(*arguments)
        except BaseException:
            self._stopped = True
            raise
