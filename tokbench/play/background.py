"""Work off the thread that draws: one piece at a time, of those that wait the newest alone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App

Result = TypeVar("Result")


class Background:
    """Runs what it is asked for on a thread.

    While something runs, only the newest request is kept: of ten key strokes during an encoding, the text after
    the last one is encoded next.

    Args:
        app: on whose thread results are handed over.
        tell: called there with what goes wrong.
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
        """Run work on a thread and hand its result over; what has waited until now is given up.

        Args:
            work: must not touch a widget.
            then: is called with its result, on the thread of the app.
            pause_seconds: how long nothing else is asked for before it begins.
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
