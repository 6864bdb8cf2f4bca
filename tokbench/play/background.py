"""Work on a background thread: one task at a time, and only the newest waiting task is kept."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App

Result = TypeVar("Result")


class Background:
    """Runs tasks on a thread.

    While a task runs, only the newest request is kept: after ten key strokes during an encoding, the text after the
    last one is encoded next.

    Args:
        app: the app on whose thread results are delivered.
        tell: called on that thread with errors.
    """

    def __init__(self, app: App[Any], *, tell: Callable[[TokbenchError], None]) -> None:
        self._app = app
        self._tell = tell
        self._waiting: tuple[Callable[[], Any], Callable[[Any], None]] | None = None
        self._pause_seconds = 0.0
        self._is_running = False

    def ask(
        self, work: Callable[[], Result], then: Callable[[Result], None], *, pause_seconds: float = 0.0
    ) -> None:
        """Run work on a thread and deliver its result; a request that is still waiting is dropped.

        Args:
            work: the work, which must not touch a widget.
            then: called with the result, on the thread of the app.
            pause_seconds: time without other requests before it starts.
        """
        self._waiting = (work, then)
        self._pause_seconds = pause_seconds
        if not self._is_running:
            self._is_running = True
            self._app.run_worker(self._run(), exit_on_error=True)

    async def _run(self) -> None:
        try:
            while self._waiting is not None:
                if self._pause_seconds:
                    before = self._waiting
                    await asyncio.sleep(self._pause_seconds)
                    if self._waiting is not before:
                        continue
                work, then = self._waiting
                self._waiting = None
                try:
                    result = await asyncio.to_thread(work)
                except TokbenchError as error:
                    self._tell(error)
                else:
                    then(result)
        finally:
            self._is_running = False
