"""Cut long texts into chunks of at most N tokens, at paragraphs, lines, sentences or words."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.batches import post_processing_of
from tokbench.core.graphemes import clusters
from tokbench.core.post_processing import template_size
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.truncation import check_number, token_places
from tokbench.core.wording import counted, meant
from tokbench.errors import ConfigError, TextError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer

RESPECTED = ("paragraphs", "lines", "sentences")
_LOOKAHEAD_BYTES = 256
"""Bytes after a position that are searched for the end of its grapheme cluster, which may have any length."""

UNITS = ("paragraphs", "lines", "sentences", "words")
"""The units from coarse to fine."""

_CLOSING = "[\"')\\]}]|" + "|".join("”’»」』）】")
_RULES = {
    "paragraphs": r"(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))+",
    "lines": r"\r\n|\n|\r",
    "sentences": rf"(?:[.!?]|…)+(?:{_CLOSING})*\s+|(?:{'|'.join('。！？｡।॥؟۔')})+(?:{_CLOSING})*\s*|\n\s*",
    "words": r"(?<=\S)(?=\s)",
}
_PATTERNS = {unit: re.compile(rule.encode()) for unit, rule in _RULES.items()}


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text.

    Attributes:
        text: the text of the chunk, including the overlap with the previous chunk.
        num_tokens: the number of its tokens when encoded by itself, including those of the template if requested.
        start: the UTF-8 byte offset in the text where it begins.
        stop: the UTF-8 byte offset where it ends.
        overlap: the number of its first bytes that the previous chunk has, too.
    """

    text: str
    num_tokens: int
    start: int
    stop: int
    overlap: int


def chunks_of(
    tokenizer: Tokenizer,
    text: str,
    *,
    max_tokens: int,
    overlap: int = 0,
    respect: str | None = None,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    template: bool = False,
) -> Iterator[Chunk]:
    """Cut a text into chunks; without their overlaps, they join to the text, byte for byte.

    A chunk ends at the last paragraph, line or sentence end that fits, as `respect` says; where a single unit is too
    long, at the last end of the next finer unit that fits: line, sentence, word, character. Encoded by itself, a chunk
    never has more than `max_tokens` tokens, and no character is cut. Time is linear in the text.

    Args:
        tokenizer: any tokenizer.
        text: the text; an empty one has no chunks.
        max_tokens: the most tokens of a chunk, including its overlap.
        overlap: the most tokens of the previous chunk that a chunk repeats; it may repeat slightly fewer.
        respect: "paragraphs", "lines" or "sentences"; None for words.
        special: what the text of a special token becomes.
        template: whether to count the special tokens that the tokenizer's files put around a text, such as [CLS] and
            [SEP].

    Raises:
        ConfigError: a number or unit is invalid; the template is not known.
        TextError: a character has more than `max_tokens` tokens; a lone surrogate.

    >>> from tokbench.backends.baseline import ByteBackend
    >>> tokenizer = ByteBackend().train([], ByteBackend.config_type())
    >>> [chunk.text for chunk in chunks_of(tokenizer, "One. Two three.", max_tokens=11, respect="sentences")]
    ['One. ', 'Two three.']
    """
    check_number("max_tokens", max_tokens, smallest=1, optional=False)
    check_number("overlap", overlap, smallest=0, optional=False)
    added = template_size(post_processing_of(tokenizer).template, pair=False) if template else 0
    if added >= max_tokens:
        raise ConfigError(
            f"the template has {counted(added, 'token')} and leaves no room in chunks of {max_tokens}",
            hint=f"the smallest chunk has {added + 1}",
        )
    if overlap >= max_tokens - added:
        around = f", {added} of them of the template" if added else ""
        raise ConfigError(
            f"an overlap of {overlap} leaves no room in chunks of {counted(max_tokens, 'token')}{around}",
            hint=f"the largest overlap is {max_tokens - added - 1}",
        )
    if respect is not None and respect not in RESPECTED:
        raise ConfigError(
            f"unknown respect {respect!r}",
            hint=meant(str(respect), RESPECTED, otherwise="choose one of {}"),
        )
    starts, _ = token_places(tokenizer, text, special=special)
    plan = _Plan(max_tokens - added, UNITS[UNITS.index(respect or "words") :], special, added)
    return _Cutter(tokenizer, text, starts, plan).chunks(overlap)


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a text is cut.

    `max_tokens` is the most tokens of a chunk without the `added` ones of the template; `units` are the units at whose
    ends a chunk may end, the coarsest first.
    """

    max_tokens: int
    units: tuple[str, ...]
    special: SpecialPolicy
    added: int


class _Cutter:
    """Cuts one text, given the starts of its tokens and the ends of its units."""

    def __init__(
        self, tokenizer: Tokenizer, text: str, starts: Sequence[int] | NDArray[np.int64], plan: _Plan
    ) -> None:
        self._tokenizer = tokenizer
        self._data = text.encode()
        self._starts: Any = starts
        self._plan = plan
        self._ends: dict[str, list[int]] = {}

    def chunks(self, overlap: int) -> Iterator[Chunk]:
        """Yield the chunks in order."""
        position, begun = 0, 0
        while position < len(self._data):
            start = self._overlap_start(position, overlap, begun=begun) if position else 0
            chunk = self._chunk(start, position)
            if chunk is None:  # too long with its overlap
                start = position
                chunk = self._chunk(start, position)
            if chunk is None:
                raise self._too_long(position)
            yield chunk
            begun, position = position, chunk.stop

    def _chunk(self, start: int, position: int) -> Chunk | None:
        """Return the longest chunk that begins at `start` and extends past `position`; None if none fits."""

        def chunk_to(stop: int) -> tuple[Chunk, int]:
            text = self._data[start:stop].decode()
            num_tokens = len(self._tokenizer.encode(text, special=self._plan.special))
            chunk = Chunk(text, num_tokens + self._plan.added, start, stop, position - start)
            return chunk, num_tokens - self._plan.max_tokens

        first = bisect_left(self._starts, start)
        room = self._plan.max_tokens
        while room > 0:
            stop = self._best_end(position, self._limit(first + room))
            if stop is None:
                if start < position:
                    return None
                break  # tokens without characters, such as a space put in front, take the room in the whole text
            chunk, surplus = chunk_to(stop)
            if surplus <= 0:
                return chunk
            # By itself, the chunk has other tokens at its ends: retry with as many tokens fewer, and end at least one
            # earlier.
            room = min(room - surplus, bisect_left(self._starts, stop) - first - 1)
        chunk, surplus = chunk_to(self._character_end(position))
        return chunk if surplus <= 0 else None

    def _limit(self, token: int) -> int:
        """Return the latest end of a chunk: the start of a token."""
        return int(self._starts[token]) if token < len(self._starts) else len(self._data)

    def _best_end(self, position: int, limit: int) -> int | None:
        """Return the best end of a chunk after `position`, up to `limit`; None if there is none."""
        if limit >= len(self._data):
            return len(self._data)
        if limit <= position:
            return None
        for unit in self._plan.units:
            ends = self._unit_ends(unit)
            found = bisect_right(ends, limit) - 1
            if found >= 0 and ends[found] > position:
                return ends[found]
        return self._last_cluster(position, limit)

    def _unit_ends(self, unit: str) -> list[int]:
        if unit not in self._ends:
            self._ends[unit] = unit_ends(self._data, unit)
        return self._ends[unit]

    def _last_cluster(self, position: int, limit: int) -> int | None:
        """Return the last end of a grapheme cluster, or else of a code point, up to `limit`; None if there is none."""
        end, best = position, None
        for cluster in clusters(self._data[position : limit + _LOOKAHEAD_BYTES].decode(errors="ignore")):
            end += len(cluster.encode())
            if end > limit:
                break
            best = end
        if best is None:
            best = limit
            while best > position and self._is_inside_character(best):
                best -= 1
        return best if best > position else None

    def _character_end(self, position: int) -> int:
        stop = position + 1
        while self._is_inside_character(stop):
            stop += 1
        return stop

    def _is_inside_character(self, place: int) -> bool:
        return place < len(self._data) and self._data[place] & 0xC0 == 0x80

    def _overlap_start(self, position: int, overlap: int, *, begun: int) -> int:
        """Return the start of a chunk that repeats `overlap` tokens of the last chunk, which starts at `begun`."""
        if not overlap:
            return position
        token = bisect_left(self._starts, position)
        wanted = max(int(self._starts[max(token - overlap, 0)]), begun)
        ends = self._unit_ends("words")
        found = bisect_left(ends, wanted)
        if found < len(ends) and ends[found] < position:
            return ends[found]
        place = begun
        for cluster in clusters(self._data[begun:position].decode()):
            if place >= wanted:
                break
            place += len(cluster.encode())
        return place

    def _too_long(self, position: int) -> TextError:
        character = self._data[position : self._character_end(position)].decode()
        num_tokens = len(self._tokenizer.encode(character, special=self._plan.special))
        return TextError(
            f"the character {character!r} at byte {position:,} has {counted(num_tokens, 'token')}, and a chunk at most "
            f"{self._plan.max_tokens}" + (" besides the template's" if self._plan.added else ""),
            hint=f"it fits into chunks of at least {counted(num_tokens + self._plan.added, 'token')}",
        )


def unit_ends(data: bytes, unit: str) -> list[int]:
    r"""Return the byte offsets at which units of a UTF-8 text end, ascending; the end of the text is left out.

    A paragraph ends after blank lines, a line after its line end. A sentence ends after ".", "!", "?" or "…" with
    the closing quotes and brackets after it, where white space follows, and after the full stops of Chinese,
    Japanese and Indian scripts; the white space after it belongs to it. A word ends before white space.

    Args:
        data: the text.
        unit: one of `UNITS`.

    >>> data = "One. Two!\n\nThree".encode()
    >>> [unit_ends(data, unit) for unit in UNITS]
    [[11], [10, 11], [5, 11], [4, 9]]
    """
    ends = [match.end() for match in _PATTERNS[unit].finditer(data)]
    return ends[:-1] if ends and ends[-1] == len(data) else ends
