"""Sessions of `tokbench play`, driven by Textual's pilot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tokbench.core.tokens import SpecialPolicy
from tokbench.play.app import Names, PlayApp

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.pilot import Pilot

    from tokbench.play.columns import OpenTokenizer

NO_NAMES = Names(open=pytest.fail, complete=lambda begun: [])


def session(
    drive: Callable[[PlayApp, Pilot[None]], Awaitable[None]],
    *tokenizers: OpenTokenizer,
    text: str = "",
    size: tuple[int, int] = (80, 24),
    names: Names | None = None,
) -> None:
    """Run a session and drive it."""

    async def run() -> None:
        app = PlayApp(tokenizers, text, special=SpecialPolicy.TEXT, dark=True, names=names or NO_NAMES)
        async with app.run_test(size=size, notifications=True) as pilot:
            await settled(app, pilot)
            await drive(app, pilot)

    asyncio.run(run())


async def settled(app: PlayApp, pilot: Pilot[None]) -> None:
    """Wait until no work is pending."""
    for _ in range(2):  # handling a result may start further work
        await pilot.pause()
        await app.workers.wait_for_complete()
    await pilot.pause()


def screen_of(app: PlayApp) -> str:
    """Return the text on the screen."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in line) for line in lines)
