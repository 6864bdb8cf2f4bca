"""Rules about the training of a BPE, whose merges are replayed on the training text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import counted, quoted
from tokbench.lint.findings import Found, Severity
from tokbench.lint.rules import DoesNotApplyError, rules_of
from tokbench.lint.training import replay, trained_bpe, training_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.lint.target import LintTarget
    from tokbench.lint.training import Turn

_TRIED = 200
"""Number of merges after which to decide whether the text is the training text at all."""
_MOST_WRONG = 0.2
_COUNTER_LIMIT = 2**31 - 1

_rule = rules_of("training")


@dataclass(frozen=True, slots=True)
class _Audit:
    """The result of a replay.

    Attributes:
        turns: the merges that were not the best, or whose counts exceed 32 bits.
        replayed: number of merges replayed.
        is_training_text: whether most of the merges were the best at their turns.
    """

    turns: tuple[Turn, ...]
    replayed: int
    is_training_text: bool


def _audit(target: LintTarget) -> _Audit:
    words = training_words(target)
    bpe = target.derived(trained_bpe)
    merges = bpe.merges
    if not merges:
        raise DoesNotApplyError("it has no merges")
    kept: list[Turn] = []
    wrong = 0
    for turn in replay(words, merges, sizes=bpe.sizes, longest=bpe.longest):
        wrong += not turn.is_best
        if not turn.is_best or turn.count > _COUNTER_LIMIT:
            kept.append(turn)
        if turn.rank + 1 == _TRIED and wrong > _MOST_WRONG * _TRIED:
            return _Audit(tuple(kept), turn.rank + 1, is_training_text=False)
    few = len(merges) < _TRIED
    return _Audit(tuple(kept), len(merges), is_training_text=few or wrong <= _MOST_WRONG * len(merges))


def _trained(target: LintTarget) -> _Audit:
    audit = target.derived(_audit)
    if not audit.is_training_text:
        wrong = sum(not turn.is_best for turn in audit.turns)
        raise DoesNotApplyError(
            f"the corpus is not the one it was trained on: {wrong:,} of its first {audit.replayed:,} merges were not "
            "the best there"
        )
    return audit


def _figures(target: LintTarget) -> Mapping[str, Any]:
    audit = _trained(target)
    return {"merges_replayed": audit.replayed, "not_the_best": sum(not turn.is_best for turn in audit.turns)}


@_rule(
    name="merge-not-best",
    severity=Severity.WARNING,
    breaks="Training on this text does not give this vocabulary: the trainer has a bug, or merges were edited.",
    found="The merges are replayed on the training text, and each is compared with the most frequent pair.",
    remedy="Train again with an exact trainer, and compare the merges.",
    figures=_figures,
)
def _not_the_best(target: LintTarget) -> Iterator[Found]:
    for turn in _trained(target).turns:
        if turn.count and not turn.is_best and turn.best is not None:
            yield _found(
                target,
                turn,
                f"its pair occurred {counted(turn.count, 'time')}, "
                f"{_pair(target, turn.best)} {counted(turn.best_count, 'time')}",
            )


@_rule(
    name="merge-without-count",
    severity=Severity.ERROR,
    breaks="A merge whose pair does not occur in the training text at its turn was inserted or moved, not learned.",
    found="The merges are replayed on the training text; the pair does not occur at the merge's turn.",
    remedy="Find out where the merge comes from before using the vocabulary.",
)
def _without_count(target: LintTarget) -> Iterator[Found]:
    for turn in _trained(target).turns:
        if not turn.count:
            yield _found(target, turn, "its pair did not occur in the training text when its turn came")


@_rule(
    name="merge-count-overflow",
    severity=Severity.ERROR,
    breaks="A pair that occurs more often than a 32-bit counter can hold is taken for a rare one.",
    found="The merges are replayed on the training text with exact counts.",
    remedy="Use a trainer with 64-bit counters, or train on less text.",
)
def _overflowed(target: LintTarget) -> Iterator[Found]:
    for turn in _trained(target).turns:
        if turn.count > _COUNTER_LIMIT:
            yield _found(target, turn, f"its pair occurred {turn.count:,} times, more than 32 bits hold")


def _found(target: LintTarget, turn: Turn, evidence: str) -> Found:
    return Found(
        subject=f"merge {turn.rank} {_pair(target, turn.merge[:2])}",
        evidence=evidence,
        token_ids=(turn.merge[2],),
        details={"rank": turn.rank, "count": turn.count, "best_count": turn.best_count, "best": turn.best},
    )


def _pair(target: LintTarget, pair: tuple[int, int]) -> str:
    spellings = (target.derived(trained_bpe).spellings[id] for id in pair)
    return " + ".join(
        quoted(spelling.encode() if isinstance(spelling, str) else spelling) for spelling in spellings
    )


RULES = (_not_the_best, _without_count, _overflowed)
