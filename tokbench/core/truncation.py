"""Where texts are truncated, and the windows that slide over what is cut off.

Strategies, stride and sides mean what they mean to `tokenizers` and `transformers`; the order of the windows is theirs.
Type ids are always those of the template, which `tokenizers` forgets in the windows of a second text.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from tokbench.core.post_processing import longest_first
from tokbench.core.wording import counted, meant
from tokbench.errors import ConfigError, TextError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STRATEGIES = ("longest_first", "only_first", "only_second")
SIDES = ("left", "right")


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncationPlan:
    """How much of a text, or of two, is given to a model.

    Attributes:
        max_length: the most tokens, those of the template included; None for any number.
        strategy: what is cut of two texts, one of `STRATEGIES`.
        side: the end that is cut, "left" or "right".
        stride: how many tokens a window has in common with the one before it.
        overflow: whether what is cut off follows as further windows.

    Raises:
        ConfigError: values that mean nothing together.
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
                "a stride has no meaning where what is cut off is dropped",
                hint="give overflow=True (--overflow), too, or leave the stride out",
            )

    def check_room(self, added: int) -> None:
        """Refuse a length that the template's tokens alone exceed, or that leaves no step from window to window.

        Args:
            added: how many tokens the template adds.

        Raises:
            ConfigError: as said.
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
                f"a stride of {self.stride} is too large: a window has {room} tokens of text",
                hint=f"the largest stride is {room - 1}",
            )


def check_number(
    name: str, value: object, *, smallest: int, largest: int | None = None, optional: bool = True
) -> None:
    """Raise `ConfigError` for anything but a whole number in range or, where it is optional, None."""
    if value is None and optional:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
        raise ConfigError(f"{name} is {value!r:.40}", hint=f"it is a whole number of at least {smallest}")
    if largest is not None and value > largest:
        raise ConfigError(f"{name} is {value:,}", hint=f"it must be at most {largest:,}")


def check_side(side: object) -> None:
    """Raise `ConfigError` for what is not a side."""
    if side not in SIDES:
        raise ConfigError(f"there is no side {side!r:.40}", hint="the sides are left and right")


def text_windows(size: int, *, length: int, stride: int, side: str) -> list[range]:
    """The windows over a text of some tokens, the first being what truncation keeps.

    Args:
        size: tokens of the text.
        length: tokens of a window, at least 1.
        stride: tokens that a window has in common with the one before, less than `length`.
        side: the end that is cut: on the right, windows go from the beginning; on the left, from the end.

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
    """What is taken of one text or two, window after window: for each text a range of its tokens.

    Where windows slide over both of two texts, each of one is paired with each of the other. Their order depends on
    which one the template writes first, as it does in `tokenizers`.

    Args:
        sizes: tokens of each text.
        plan: how they are truncated; its room has been checked.
        added: how many tokens the template adds.
        written_first: which of two texts the template writes first.

    Raises:
        TextError: the text that may be cut is not there, or too short for it.

    >>> list(input_windows([5], TruncationPlan(max_length=3, overflow=True), added=1))
    [(range(0, 2),), (range(2, 4),), (range(4, 5),)]
    """
    whole = tuple(map(range, sizes))
    if plan.max_length is None or sum(sizes) + added <= plan.max_length:
        yield whole
        return
    kept = _kept(sizes, plan, room=plan.max_length - added)
    if not plan.overflow:
        yield tuple(_end(size, length, plan.side) for size, length in zip(sizes, kept, strict=True))
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
    yield from paired if written_first == 0 else ((two, one) for one, two in paired)


def _kept(sizes: Sequence[int], plan: TruncationPlan, *, room: int) -> list[int]:
    """How many tokens a window has of each text."""
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


def _end(size: int, length: int, side: str) -> range:
    return range(size - length, size) if side == "left" else range(length)
