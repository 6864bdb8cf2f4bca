"""Add up the counts of the parts of a corpus in a tree: a task adds up a few files, further tasks add up those sums.

Sums are of integers, and values kept per document stay in document order, so the figures do not depend on the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.errors import ModelFormatError
from tokbench.evaluation.counting_pass import Counting
from tokbench.evaluation.counting_state_file import read_facts, read_states

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.distributed.corpus_plan import CorpusPlan
    from tokbench.files.storage.place import Place

MOST_FILES = 8
"""Number of files that one task adds up at most."""


class Range(NamedTuple):
    """Consecutive parts whose counts are in one file: from `first` up to but excluding `last`."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """Name of the file in the folder of the plan.

        >>> Range(3, 4).name, Range(0, 8).name
        ('counts/part-00003.zip', 'sums/parts-00000-00007.zip')
        """
        if self.last - self.first == 1:
            return f"counts/part-{self.first:05}.zip"
        return f"sums/parts-{self.first:05}-{self.last - 1:05}.zip"

    @property
    def facts(self) -> dict[str, Any]:
        """The metadata that identifies the parts in the file."""
        return {"part": self.first} if self.last - self.first == 1 else {"parts": list(self)}

    @property
    def is_sum(self) -> bool:
        """Whether its file is a sum of other files."""
        return self.last - self.first > 1

    def divided(self) -> tuple[Range, ...]:
        """Return the fewest ranges, of equal powers of `MOST_FILES` parts, whose files add up to this one's.

        >>> Range(0, 74).divided()
        (Range(first=0, last=64), Range(first=64, last=74))
        """
        width = 1
        while width * MOST_FILES < self.last - self.first:
            width *= MOST_FILES
        return tuple(
            Range(start, min(start + width, self.last)) for start in range(self.first, self.last, width)
        )


def whole(num_parts: int) -> tuple[Range, ...]:
    """Return the ranges whose files are added up last.

    >>> [len(whole(number)) for number in (1, 8, 9, 64, 65)]
    [1, 8, 2, 8, 2]
    """
    return Range(0, num_parts).divided()


def missing_sums(num_parts: int, is_there: Callable[[Range], bool]) -> list[list[Range]]:
    """Return the missing files of sums, level by level; the files of a level need those of the levels before."""
    levels: list[list[Range]] = []
    wanted = [parts for parts in whole(num_parts) if parts.is_sum]
    while wanted := [parts for parts in wanted if not is_there(parts)]:
        levels.append(wanted)
        wanted = [inner for parts in wanted for inner in parts.divided() if inner.is_sum]
    return levels[::-1]


def add_up(
    folder: Place,
    ranges: Sequence[Range],
    tokenizers: Sequence[Tokenizer],
    *,
    plan: CorpusPlan,
    means: bool,
    languages: Sequence[str] | None,
    tell: Callable[[int], None],
) -> list[Counting]:
    """Add up the counts of some parts.

    Args:
        folder: the folder of their files.
        ranges: the ranges of parts, in order.
        tokenizers: the tokenizers that were counted, in order.
        plan: the plan of the parts.
        means: whether means over documents were counted.
        languages: the languages whose lines were counted separately; None if no lines were.
        tell: called with the bytes of the corpus added up so far.

    Returns:
        The counts of each tokenizer; then, if lines were counted separately, the counts of the lines by tokenizer.

    Raises:
        ModelFormatError: a file is damaged, or has the counts of other tokenizers.
    """
    countings = [Counting(tokenizer, means=means) for tokenizer in tokenizers]
    if languages is not None:
        countings += [Counting(tokenizer, means=means, whole_groups=languages) for tokenizer in tokenizers]
    sizes = [tokenizer.info.vocab_size for tokenizer in tokenizers] * (len(countings) // len(tokenizers))
    done = 0
    for parts in ranges:
        place = folder / parts.name
        with place.open() as stream:
            states = read_states(stream, path=str(place), vocab_sizes=sizes, means=means)
        for counting, state in zip(countings, states, strict=True):
            try:
                counting.take(state)
            except ValueError as error:
                raise ModelFormatError(str(place), "the counts of these tokenizers", str(error)) from None
        done += size_of(plan, parts)
        tell(done)
    return countings


def size_of(plan: CorpusPlan, parts: Range) -> int:
    """Return the approximate size of some parts in bytes."""
    return sum(map(plan.size_of, range(*parts)))


def has_counts(folder: Place, parts: Range, plan: CorpusPlan) -> bool:
    """Whether the file with the counts of some parts of a plan exists and is valid."""
    place = folder / parts.name
    if not place.exists():
        return False
    try:
        with place.open() as stream:
            facts = read_facts(stream, path=str(place))
    except ModelFormatError:
        return False
    return {"plan": plan.id, **parts.facts}.items() <= facts.items()
