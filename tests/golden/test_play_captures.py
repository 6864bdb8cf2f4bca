"""The captures of sessions in docs/play.md show the actual screen.

`python tests/golden/test_play_captures.py` rewrites the captures.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # so that this file also runs as a script

from support.pages import DOCS, Clone

PAGE = DOCS / "play.md"
TEXT = "Hello, wörld! Unbelievable 日本語"
TRAINING = "train --backend unigram --vocab-size 4000 --name pieces"
CAPTURES = (
    ((80, 21), ("tab", *["right"] * 4)),
    ((80, 24), ("tab", *["right"] * 4, "f2", "end")),
)
"""The size of each capture, and the keys pressed before it."""
_CAPTURE = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def captures(folder: Path) -> list[str]:
    """Return the text of each screen, without trailing spaces."""
    from support.play_sessions import screen_of, session, settled

    from tokbench.core.progress import no_progress
    from tokbench.opening.request import OpenRequest
    from tokbench.play.columns import OpenTokenizer
    from tokbench.workbench.open import find_and_open

    Clone(folder).shell(f"tokbench {TRAINING}")
    names = ("default", str(folder / "tokenizers" / "pieces"))
    tokenizers = [
        OpenTokenizer(name, find_and_open(name, OpenRequest(), progress=no_progress)) for name in names
    ]
    made: list[str] = []
    for size, keys in CAPTURES:

        async def drive(app, pilot, keys=keys):
            await pilot.press(*keys)
            await settled(app, pilot)
            rows = [row.rstrip() for row in screen_of(app).splitlines()]
            made.append("\n".join(rows) + "\n")

        session(drive, *tokenizers, text=TEXT, size=size)
    return made


@pytest.mark.slow
def test_captures_equal_the_screen(tmp_path):
    pytest.importorskip("textual")
    assert _CAPTURE.findall(PAGE.read_text(encoding="utf-8")) == captures(tmp_path)


def test_page_shows_the_command_of_the_session():
    page = PAGE.read_text(encoding="utf-8")
    assert f"tokbench {TRAINING}" in page
    assert f'tokbench play "{TEXT}" -t default -t pieces' in page


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        drawn = iter(captures(Path(folder)))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_CAPTURE.sub(lambda _: f"```text\n{next(drawn)}```", page), encoding="utf-8")
