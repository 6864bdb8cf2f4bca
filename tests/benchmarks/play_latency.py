"""Latency of `tokbench play` for a paste and for keys in a long text: `python tests/benchmarks/play_latency.py`

A text of `--megabytes` (the bundled texts, repeated) is pasted into a session without a screen, 80 by 24, with the
tokenizers of `-t`. Three times are printed for the paste and for each key: until the tokens around the cursor are
drawn, until all tokens are, and the longest time for which the thread that reads keys was busy.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from itertools import cycle, islice
from typing import TYPE_CHECKING

from textual.events import Paste

from tokbench.core.progress import no_progress
from tokbench.core.tokens import SpecialPolicy
from tokbench.files.bundled import bundled_files
from tokbench.opening.request import OpenRequest
from tokbench.play.app import Names, PlayApp
from tokbench.play.columns import OpenTokenizer
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

KEYS = ("x", "backspace", "up", "ctrl+home", "a", "ctrl+end", "z", "tab", "right", "pageup", "home", "end")
_BEAT = 0.002


async def measured(app: PlayApp, do: Callable[[], Awaitable[object]]) -> tuple[float, float, float]:
    """Return the seconds until new tokens are drawn, until all is done, and the longest gap of the screen's thread."""
    gaps = [0.0]
    [first, *_] = app.panes
    before, drawn = first.column, 0.0

    async def beat() -> None:
        nonlocal drawn
        last = time.perf_counter()
        while True:
            await asyncio.sleep(_BEAT)
            now = time.perf_counter()
            gaps.append(now - last - _BEAT)
            if not drawn and first.column is not before:
                drawn = now - started
            last = now

    started = time.perf_counter()
    beating = asyncio.create_task(beat())
    await do()
    await app.workers.wait_for_complete()
    seconds = time.perf_counter() - started
    beating.cancel()
    return drawn or seconds, seconds, max(gaps)


async def run(tokenizers: list[OpenTokenizer], text: str) -> None:
    names = Names(lambda name: tokenizers[0], lambda begun: [])
    app = PlayApp(tokenizers, "", special=SpecialPolicy.TEXT, dark=True, names=names)
    async with app.run_test(size=(80, 24)) as pilot:

        async def paste() -> None:
            app.editor.post_message(Paste(text))
            await pilot.pause()

        print(f"{'':12}{'drawn':>9}{'all':>9}{'longest wait':>14}")
        for name, do in (("paste", paste), *((key, lambda key=key: pilot.press(key)) for key in KEYS)):
            drawn, seconds, gap = await measured(app, do)
            print(f"{name:12}{drawn:9.3f}{seconds:9.3f}{gap:14.3f}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("-t", "--tokenizer", action="append", help="repeatable; by default `default`")
    arguments.add_argument("--megabytes", type=float, default=5)
    given = arguments.parse_args()
    size = int(given.megabytes * 1_000_000)
    texts = [file.path.read_bytes() for file in bundled_files()]
    once = b"".join(texts)
    text = b"".join(islice(cycle(texts), len(texts) * (size // len(once) + 1)))[:size]
    opened = [
        OpenTokenizer(name, find_and_open(name, OpenRequest(), progress=no_progress))
        for name in given.tokenizer or ["default"]
    ]
    asyncio.run(run(opened, text.decode(errors="ignore")))


if __name__ == "__main__":
    main()
