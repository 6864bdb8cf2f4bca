"""What the template writes between contents: the parts of a rendered text, and the special tokens in it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tokbench.chat.rendered import COMPUTED, ROLES
from tokbench.core.alternatives import longest_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tokbench.chat.rendered import Rendered


_MOST_GAPS = 4
"""Maximum number of ranges between contents in which the start or stop of a turn is looked for."""

_BETWEEN_MARKS = re.compile(r"[^\w/]+(\w+)[^\w/]+")
"""A word such as that in `<|user|>`, but not in `</user>`."""

_END = re.compile(r"(?<![A-Za-z])end(?![A-Za-z])")
"""The word in a token such as `<|tool_call_end|>`."""


class Surroundings(NamedTuple):
    """Ranges of the template's text around the content of a message, in which its turn may start and stop.

    Attributes:
        before: those before its first content, after that of other messages, the nearest one first.
        after: those after its last content, and those before the first content of a later message.
    """

    before: Sequence[tuple[int, int]]
    after: Sequence[tuple[int, int]]


class Contents:
    """The parts of a rendered text that come from messages and other fields, in order.

    Attributes:
        text: the text.
        extents: message → where its content begins and ends.
        written: message and field → number of its characters in the text.
    """

    def __init__(self, rendered: Rendered) -> None:
        self.text = rendered.text
        runs = [run for run in rendered.runs if run.origin.field is not None]
        self._starts, self._stops = [run.start for run in runs], [run.stop for run in runs]
        self._origins = [run.origin for run in runs]
        self.written: Counter[tuple[int | None, str | None]] = Counter()
        for run in runs:
            self.written[run.origin] += run.stop - run.start
        self._places: dict[int, tuple[int, int]] = {}
        for place, (message, _) in enumerate(self._origins):
            if message is not None:
                first, _ = self._places.get(message, (place, place))
                self._places[message] = first, place
        self._following: dict[int, int] = {}
        following = len(runs)
        for message, (first, _) in sorted(self._places.items(), reverse=True):
            self._following[message] = following if following > first else len(runs)
            following = min(following, first)
        self.extents = {
            message: (self._starts[first], self._stops[last])
            for message, (first, last) in self._places.items()
        }

    def around(self, message: int) -> Surroundings | None:
        """Return the template's text around the content of a message; None if it has no content."""
        if message not in self._places:
            return None
        first, last = self._places[message]
        following = self._following[message]
        before = self._gaps(range(first, -1, -1))
        after = self._gaps(range(last + 1, following + 1))
        own = range(following, max(following - _MOST_GAPS, first), -1)
        return Surroundings(before, [*after, *map(self._gap, own)])

    def gaps_after(self, message: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the template's text after the content of a message, and after computed text there.

        What a template computes from a value that cannot be traced, such as `true`, may be the end of that content.
        """
        place = self._places[message][1] + 1
        yield self._gap(place)
        while place < len(self._origins) and self._origins[place] == COMPUTED:
            place += 1
            yield self._gap(place)

    def _gaps(self, places: range) -> list[tuple[int, int]]:
        """Return gaps up to the content of the next message."""
        found: list[tuple[int, int]] = []
        for place in places[:_MOST_GAPS]:
            passed = place - 1 if places.step > 0 else place
            if found and self._origins[passed].message is not None:
                break
            found.append(self._gap(place))
        return found

    def _gap(self, place: int) -> tuple[int, int]:
        """Return the range of the template's text before the content of that number."""
        return self._end(place - 1), self._start(place)

    def _end(self, place: int) -> int:
        return self._stops[place] if place >= 0 else 0

    def _start(self, place: int) -> int:
        return self._starts[place] if place < len(self._starts) else len(self.text)

    def stop_before(self, position: int) -> int:
        """Return the end of the last content that ends at a position or before it; 0 if there is none."""
        return self._end(bisect_right(self._stops, position) - 1)

    def gaps_before(self, stop: int, start: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the template's text within a range of the text, the last one first."""
        place = bisect_left(self._starts, stop)
        low = stop
        while low > start:
            low, high = self._gap(place)
            yield max(low, start), min(high, stop)
            place -= 1

    def without_white_space(self, start: int, stop: int) -> int:
        """Return the end of a turn without the template's white space after it."""
        place = bisect_left(self._starts, stop)
        least = max(start, min(stop, self._stops[place - 1]) if place else 0)
        end = stop
        while end > least and self.text[end - 1].isspace():
            end -= 1
        return end


def _names_role(token: str) -> bool:
    """Whether a token is a role between marks, as `<|user|>` is; `</user>` is not, as it ends a message."""
    name = _BETWEEN_MARKS.fullmatch(token)
    return name is not None and name[1].lower() in ROLES


def _openings(token: str) -> list[str]:
    """Return the tokens that may open what a token closes.

    >>> _openings("</tool_call>"), _openings("<|call_end|>")
    (['<tool_call>'], ['<|call_begin|>', '<|call_start|>'])
    """
    openings = [token.replace("/", "", 1)] if "/" in token else []
    return openings + [_END.sub(word, token) for word in ("begin", "start") if _END.search(token)]


class SpecialTokens:
    """The texts of a tokenizer's special tokens, for searching in what a template writes."""

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = frozenset(text for text in texts if text)
        self._lengths = sorted({len(text) for text in self._texts}, reverse=True)
        self._pattern = re.compile(longest_first(self._texts))

    def first_end(self, text: str, *, inside: str = "", header: str = "") -> int | None:
        r"""Return where a message that is followed by a text ends; None if there is no special token in it.

        That is after the first special token, or before it if it names a role, as it begins the next message. If it
        closes a part of the message, such as a call, a token right after it ends the message, too.

        Args:
            text: what the template writes after the message.
            inside: what the template writes in the message before.
            header: what the template writes before the message; a token of it begins the next message, too.

        >>> SpecialTokens(["<|end|>", "<|user|>"]).first_end("</r><|end|><|user|>")
        11
        >>> SpecialTokens(["<|end|>", "<|user|>"]).first_end("</r>\n<|user|>")
        4
        >>> SpecialTokens(["</call>", "<|end|>"]).first_end("</call>\n<|end|>", inside="<call>")
        15
        """
        end: int | None = None
        openings: list[str] = []
        for match in self._pattern.finditer(text):
            token = match.group()
            if end is not None and (
                text[end : match.start()].strip() or token in header or token in openings
            ):
                break
            if _names_role(token):
                return len(text[: match.start()].rstrip())
            end, openings = match.end(), _openings(token)
            if not any(opening in inside for opening in openings):
                break
        return end

    def at_end(self, text: str) -> str | None:
        """Return the longest special token that a text ends with."""
        return next((text[-size:] for size in self._lengths if text[-size:] in self._texts), None)
