"""Add up the counts of a corpus' parts in a tree: a task adds up a few files, others the sums of these.

Sums are of whole numbers, and what is kept of documents is kept in their order: the figures do not depend on the tree.
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
"""That one task adds up."""


class Range(NamedTuple):
    """Parts that follow one another, whose counts are in one file: those from `first` to before `last`."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """The file, in the folder of the plan.

        >>> Range(3, 4).name, Range(0, 8).name
        ('counts/part-00003.zip', 'sums/parts-00000-00007.zip')
        """
        if self.last - self.first == 1:
            return f"counts/part-{self.first:05}.zip"
        return f"sums/parts-{self.first:05}-{self.last - 1:05}.zip"

    @property
    def facts(self) -> dict[str, Any]:
        """What tells in the file which parts it is of."""
        return {"part": self.first} if self.last - self.first == 1 else {"parts": list(self)}

    @property
    def is_sum(self) -> bool:
        """Whether its file is made of others."""
        return self.last - self.first > 1

    def divided(self) -> tuple[Range, ...]:
        """The ranges whose files are added up to this one's: the fewest, of equal powers of `MOST_FILES` parts.

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
    """The ranges that are left to be added up at the end.

    >>> [len(whole(number)) for number in (1, 8, 9, 64, 65)]
    [1, 8, 2, 8, 2]
    """
    return Range(0, num_parts).divided()


def missing_sums(num_parts: int, is_there: Callable[[Range], bool]) -> list[list[Range]]:
    """The files of sums that are to be made, level by level: those of each need the ones before."""
    levels: list[list[Range]] = []
    wanted = [one for one in whole(num_parts) if one.is_sum]
    while wanted := [one for one in wanted if not is_there(one)]:
        levels.append(wanted)
        wanted = [inner for one in wanted for inner in one.divided() if inner.is_sum]
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
    """What was counted of some parts.

    Args:
        folder: where their files are.
        ranges: the parts, in order.
        tokenizers: what was counted of each, in order.
        plan: of the parts.
        means: whether means over documents were counted.
        languages: those whose lines were counted apart, each by itself; None where no lines were.
        tell: called with the bytes of the corpus added up.

    Returns:
        Of each tokenizer; after these, where lines were counted apart, the same of lines.

    Raises:
        ModelFormatError: a file is damaged, or of other tokenizers.
    """
    countings = [Counting(one, means=means) for one in tokenizers]
    if languages is not None:
        countings += [Counting(one, means=means, whole_groups=languages) for one in tokenizers]
    sizes = [one.info.vocab_size for one in tokenizers] * (len(countings) // len(tokenizers))
    done = 0
    for one in ranges:
        place = folder / one.name
        with place.open() as stream:
            states = read_states(stream, path=str(place), vocab_sizes=sizes, means=means)
        for counting, state in zip(countings, states, strict=True):
            try:
                counting.take(state)
            except ValueError as error:
                raise ModelFormatError(
                    str(place), "what was counted of these tokenizers", str(error)
                ) from None
        done += size_of(plan, one)
        tell(done)
    return countings


def size_of(plan: CorpusPlan, parts: Range) -> int:
    """About how many bytes some parts have."""
    return sum(map(plan.size_of, range(*parts)))


def has_counts(folder: Place, parts: Range, plan: CorpusPlan) -> bool:
    """Whether the file of some parts of a plan is there."""
    place = folder / parts.name
    if not place.exists():
        return False
    try:
        with place.open() as stream:
            facts = read_facts(stream, path=str(place))
    except ModelFormatError:
        return False
    return {"plan": plan.id, **parts.facts}.items() <= facts.items()
