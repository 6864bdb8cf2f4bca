"""Truncation of texts: for model inputs, with sliding windows over the truncated rest, and to whole characters.

Strategies, stride, sides and the order of windows are those of `tokenizers` and `transformers`. Type ids are always
those of the template; `tokenizers` loses them in the windows of a second text.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from tokbench.core.post_processing import longest_first
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import counted, meant
from tokbench.errors import ConfigError, TextError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer


STRATEGIES = ("longest_first", "only_first", "only_second")
SIDES = ("left", "right")


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncationPlan:
    """How one text or two are truncated for a model.

    Attributes:
        max_length: the most tokens, including those of the template; None for no limit.
        strategy: which of two texts is truncated, one of `STRATEGIES`.
        side: the end that is truncated, "left" or "right".
        stride: the number of tokens that a window shares with the one before it.
        overflow: whether the truncated rest follows in further windows.

    Raises:
        ConfigError: a value is invalid, or contradicts another.
    """

    max_length: int | None = None
    strategy: str = "longest_first"
    side: str = "right"
    stride: int = 0
    overflow: bool = False

    def __post_init__(self) -> None:
        check_number("max_length", self.max_length, smallest=0)
        check_number("stride", self.stride, smallest=0)
        check_side(self.side)
        if self.strategy not in STRATEGIES:
            raise ConfigError(
                f"there is no strategy {self.strategy!r}",
                hint=meant(str(self.strategy), STRATEGIES, otherwise="the strategies are {}"),
            )
        if self.max_length is None and (self.stride or self.overflow):
            raise ConfigError(
                "stride and overflow need a length to truncate to", hint="give max_length (--truncate N), too"
            )
        if self.stride and not self.overflow:
            raise ConfigError(
                "a stride has no effect without overflow: the tokens cut off are dropped",
                hint="give overflow=True (--overflow), too, or leave the stride out",
            )

    def check_room(self, added: int) -> None:
        """Reject a length that the template's tokens exceed, or that leaves no step between windows.

        Args:
            added: the number of tokens that the template adds.

        Raises:
            ConfigError: there is no room, or the stride is too large.
        """
        if self.max_length is None:
            return
        room = self.max_length - added
        if room < 0 or (room == 0 and self.overflow):
            raise ConfigError(
                f"there is no room for text in {counted(self.max_length, 'token')}: the template alone adds {added}",
                hint=f"truncate to at least {added + 1}, or leave the template out",
            )
        if self.overflow and self.stride >= room:
            raise ConfigError(
                f"a stride of {self.stride} is too large: a window has {counted(room, 'token')} of text",
                hint=f"the largest stride is {room - 1}",
            )


def check_number(
    name: str, value: object, *, smallest: int, largest: int | None = None, optional: bool = True
) -> None:
    """Raise `ConfigError` unless the value is an integer in range or, if it is optional, None."""
    if value is None and optional:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
        raise ConfigError(f"{name} is {value!r:.40}", hint=f"it is a whole number of at least {smallest}")
    if largest is not None and value > largest:
        raise ConfigError(f"{name} is {value:,}", hint=f"it must be at most {largest:,}")


def check_side(side: object) -> None:
    """Raise `ConfigError` for a value that is not a side."""
    if side not in SIDES:
        raise ConfigError(f"there is no side {side!r:.40}", hint="the sides are left and right")


def text_windows(size: int, *, length: int, stride: int, side: str) -> list[range]:
    """Return the windows over a text; the first is the part that truncation keeps.

    Args:
        size: the number of tokens of the text.
        length: the number of tokens of a window, at least 1.
        stride: the number of tokens that a window shares with the one before it, less than `length`.
        side: the end that is truncated: with "right", windows go from the beginning; with "left", from the end.

    >>> text_windows(7, length=4, stride=1, side="right"), text_windows(7, length=4, stride=1, side="left")
    ([range(0, 4), range(3, 7)], [range(3, 7), range(0, 4)])
    """
    if size <= length:
        return [range(size)]
    step = length - stride
    count = 1 + -(-(size - length) // step)
    starts = range(0, count * step, step)
    windows = [range(start, min(start + length, size)) for start in starts]
    if side == "left":
        return [range(size - window.stop, size - window.start) for window in windows]
    return windows


def input_windows(
    sizes: Sequence[int], plan: TruncationPlan, *, added: int, written_first: int = 0
) -> Iterator[tuple[range, ...]]:
    """Yield for each window the ranges of tokens that it takes of one text or two.

    If windows slide over both of two texts, each window of one is paired with each of the other. Their order depends on
    which text the template writes first, as in `tokenizers`.

    Args:
        sizes: the number of tokens of each text.
        plan: how to truncate; its room has been checked.
        added: the number of tokens that the template adds.
        written_first: the index of the text that the template writes first.

    Raises:
        TextError: the text to truncate is missing, or too short.

    >>> list(input_windows([5], TruncationPlan(max_length=3, overflow=True), added=1))
    [(range(0, 2),), (range(2, 4),), (range(4, 5),)]
    """
    whole = tuple(map(range, sizes))
    if plan.max_length is None or sum(sizes) + added <= plan.max_length:
        yield whole
        return
    kept = _kept_sizes(sizes, plan, room=plan.max_length - added)
    if not plan.overflow:
        firsts = [
            size - length if plan.side == "left" else 0 for size, length in zip(sizes, kept, strict=True)
        ]
        yield tuple(range(first, first + length) for first, length in zip(firsts, kept, strict=True))
        return
    lists = [
        text_windows(size, length=length, stride=plan.stride if length < size else 0, side=plan.side)
        if length or not size
        else [range(0)]
        for size, length in zip(sizes, kept, strict=True)
    ]
    if len(lists) == 1:
        yield from ((window,) for window in lists[0])
        return
    first, second = lists[written_first], lists[1 - written_first]
    paired = [(first[0], second[0]), *product(first[1:], second), *product(first[:1], second[1:])]
    yield from paired if written_first == 0 else ((later, earlier) for earlier, later in paired)


def _kept_sizes(sizes: Sequence[int], plan: TruncationPlan, *, room: int) -> list[int]:
    """Return the number of tokens that a window has of each text."""
    if plan.strategy == "longest_first":
        kept = longest_first(sizes, room)
    else:
        place = STRATEGIES.index(plan.strategy) - 1
        surplus = sum(sizes) - room
        if place >= len(sizes) or sizes[place] <= surplus:
            raise TextError(
                f"the {('first', 'second')[place]} text has too few tokens to be truncated alone: "
                f"{surplus} are too many",
                hint="truncate to more tokens, or with the strategy longest_first",
            )
        kept = list(sizes)
        kept[place] -= surplus
    if plan.overflow and any(
        plan.stride >= length for size, length in zip(sizes, kept, strict=True) if length < size
    ):
        raise TextError(
            f"a stride of {plan.stride} is too large: windows of the two texts have {kept} tokens",
            hint="truncate to more tokens, or choose a smaller stride",
        )
    return kept


def truncated_text(
    tokenizer: Tokenizer,
    text: str,
    max_tokens: int,
    *,
    side: str = "right",
    special: SpecialPolicy = SpecialPolicy.TEXT,
) -> str:
    """Return the longest prefix, or suffix, of a text that its first, or last, `max_tokens` tokens cover.

    A character is left out unless all of its tokens are kept. Encoded by itself, the result has at most `max_tokens`
    tokens: where it would have more, it is shortened by further tokens.

    Args:
        tokenizer: any tokenizer.
        text: the text.
        max_tokens: the number of tokens to keep, at least 0.
        side: the end that is truncated: "right" keeps the beginning.
        special: what the text of a special token becomes.

    Raises:
        ConfigError: an invalid number or side.
        TextError: a lone surrogate.

    >>> from tokbench.backends.baseline import ByteBackend
    >>> truncated_text(ByteBackend().train([], ByteBackend.config_type()), "naïve", 3)
    'na'
    """
    check_number("max_tokens", max_tokens, smallest=0, optional=False)
    check_side(side)
    starts, stops = token_places(tokenizer, text, special=special)
    data, size = text.encode(), len(starts)
    if size <= max_tokens:
        return text
    for kept in range(max_tokens, 0, -1):
        if side == "right":
            part = data[: _boundary(data, int(starts[kept]))]
        else:
            part = data[_boundary(data, int(stops[size - kept - 1]), forward=True) :]
        kept_text = part.decode()
        if len(tokenizer.encode(kept_text, special=special)) <= max_tokens:
            return kept_text
    return ""


def ending_of(
    tokenizer: Tokenizer, text: str, tokens: int, *, special: SpecialPolicy = SpecialPolicy.TEXT
) -> str:
    """Return the suffix of a text that its last `tokens` tokens cover; a character that it cuts is included whole.

    >>> from tokbench.backends.baseline import ByteBackend
    >>> ending_of(ByteBackend().train([], ByteBackend.config_type()), "naïve", 3)
    'ïve'
    """
    starts, _ = token_places(tokenizer, text, special=special)
    if len(starts) <= tokens:
        return text
    data = text.encode()
    return data[_boundary(data, int(starts[len(starts) - tokens])) :].decode()


def token_places(
    tokenizer: Tokenizer, text: str, *, special: SpecialPolicy
) -> tuple[Sequence[int] | NDArray[np.int64], Sequence[int] | NDArray[np.int64]]:
    """Return the starts and the stops of the tokens."""
    from tokbench.core.token_arrays import encode_spans

    if special is SpecialPolicy.TEXT:
        spans = encode_spans(tokenizer, [text])
        return spans.starts, spans.stops
    tokens = tokenizer.segment(text, special=special).tokens
    return [token.span.start for token in tokens], [token.span.stop for token in tokens]


def _boundary(data: bytes, place: int, *, forward: bool = False) -> int:
    """Return the nearest character boundary at or before a position, or at or after it."""
    while 0 < place < len(data) and data[place] & 0xC0 == 0x80:
        place += 1 if forward else -1
    return place
