"""What the template writes between contents: the parts of a rendered text, and the special tokens in it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from tokbench.core.alternatives import longest_first

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokbench.chat.rendered import Rendered


class Contents:
    """The parts of a rendered text that come from messages and other fields, in order.

    Attributes:
        text: the text.
        extents: message → where its content begins and ends.
    """

    def __init__(self, rendered: Rendered) -> None:
        self.text = rendered.text
        runs = [run for run in rendered.runs if run.origin.field is not None]
        self._starts, self._stops = [run.start for run in runs], [run.stop for run in runs]
        self.extents: dict[int, tuple[int, int]] = {}
        for run in runs:
            if (message := run.origin.message) is not None:
                first, _ = self.extents.get(message, (run.start, run.stop))
                self.extents[message] = first, run.stop

    def stop_before(self, position: int) -> int:
        """Return the end of the last content that ends at a position or before it; 0 if there is none."""
        place = bisect_right(self._stops, position)
        return self._stops[place - 1] if place else 0

    def start_after(self, position: int) -> int:
        """Return the start of the first content from a position on; the end of the text if there is none."""
        place = bisect_left(self._starts, position)
        return self._starts[place] if place < len(self._starts) else len(self.text)

    def without_white_space(self, start: int, stop: int) -> int:
        """Return the end of a turn without the template's white space after it."""
        place = bisect_left(self._starts, stop)
        least = max(start, min(stop, self._stops[place - 1]) if place else 0)
        end = stop
        while end > least and self.text[end - 1].isspace():
            end -= 1
        return end


class SpecialTokens:
    """The texts of a tokenizer's special tokens, for searching in what a template writes."""

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = frozenset(text for text in texts if text)
        self._lengths = sorted({len(text) for text in self._texts}, reverse=True)
        self._pattern = re.compile(longest_first(self._texts))

    def first_end(self, text: str) -> int | None:
        """Return the end of the first special token in a text; None if there is none."""
        match = self._pattern.search(text)
        return None if match is None else match.end()

    def at_end(self, text: str) -> str | None:
        """Return the longest special token that a text ends with."""
        return next((text[-size:] for size in self._lengths if text[-size:] in self._texts), None)
