"""Rules about tampering: differences between a tokenizer and its reference."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tokbench.core.wording import counted, quoted
from tokbench.inspection.contents import compare_merges, compare_tokens
from tokbench.inspection.settings import differing_settings
from tokbench.inspection.vocabulary_tokens import VocabularyTokens
from tokbench.lint.agreement import disagreement
from tokbench.lint.findings import Found, Severity
from tokbench.lint.rules import DoesNotApplyError, rules_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.inspection.contents import Merge, TokenDifferences
    from tokbench.lint.agreement import Disagreement
    from tokbench.lint.target import LintTarget

_SHOWN = 6
_MOST = 256
"""Maximum number of findings of a rule; beyond it, there is a single one."""

_rule = rules_of("reference", needs_reference=True)


def _pieces(target: LintTarget) -> dict[int, bytes]:
    return {id: piece for id, piece in enumerate(target.vocabulary.pieces) if piece is not None}


def _other(target: LintTarget) -> LintTarget:
    assert target.reference is not None  # the rules need one
    return target.reference


def _token_differences(target: LintTarget) -> TokenDifferences:
    return compare_tokens(_pieces(target), _pieces(_other(target)))


@_rule(
    name="swapped-id",
    severity=Severity.ERROR,
    breaks="A model reads one token as another: its answers change without any error.",
    found="Tokens of both vocabularies are compared by their bytes and ids.",
    remedy="Do not use the file; download the original again, and find out where this file comes from.",
)
def _swapped(target: LintTarget) -> Iterator[Found]:
    """Report tokens of both vocabularies with different ids."""
    moved = target.derived(_token_differences).moved
    if len(moved) > _MOST:
        yield Found(
            subject=f"{len(moved):,} tokens",
            evidence="they have different ids in the reference, as "
            + ", ".join(map(target.named, islice(moved, _SHOWN))),
            token_ids=tuple(moved),
        )
        return
    theirs = _pieces(_other(target))
    for id, there in moved.items():
        instead = theirs.get(id)
        yield Found(
            subject=target.named(id),
            evidence=f"the reference has it under the id {', '.join(map(str, there))}, and here has "
            + ("nothing" if instead is None else quoted(instead)),
            token_ids=(id, *there),
        )


@_rule(
    name="other-token",
    severity=Severity.WARNING,
    breaks="Added tokens have untrained embeddings; text with removed tokens is encoded differently.",
    found="Tokens of both vocabularies are compared by their bytes.",
    remedy="Check that the additions are intended, and that the model was trained with them.",
)
def _other_tokens(target: LintTarget) -> Iterator[Found]:
    """Report tokens of only one of the two vocabularies."""
    found = target.derived(_token_differences)
    if added := found.only_first:
        yield Found(
            subject=counted(len(added), "token"),
            evidence=f"the reference does not have them: {', '.join(map(target.named, added[:_SHOWN]))}",
            token_ids=added,
        )
    if found.only_second:
        theirs = _pieces(_other(target))
        missing = sorted({theirs[id] for id in found.only_second})
        yield Found(
            subject=f"{counted(len(missing), 'token')} of the reference",
            evidence=f"they are missing here: {', '.join(map(quoted, missing[:_SHOWN]))}",
        )


@_rule(
    name="changed-merge",
    severity=Severity.ERROR,
    breaks="With different merges, or in a different order, the same text gets different ids.",
    found="The lists of merges are compared in order.",
    remedy="Do not use the file; download the original again, and find out where this file comes from.",
)
def _changed_merges(target: LintTarget) -> Iterator[Found]:
    """Report missing, added and moved merges, with the first rank at which the lists differ."""
    ours, theirs = _merges(target), _merges(_other(target))
    if (found := compare_merges(ours, theirs)) is None:
        return
    rank, added, missing = found.rank, len(found.only_first), len(found.only_second)
    yield Found(
        subject=f"merges from rank {rank:,} on",
        evidence=f"there is {_shown(ours, rank)}, and in the reference {_shown(theirs, rank)}; "
        f"{counted(added, 'merge')} added, {missing:,} missing, {found.moved:,} others moved",
        details={"rank": rank, "added": added, "missing": missing, "moved": found.moved},
    )


def _merges(target: LintTarget) -> Sequence[Merge]:
    merges = target.merges
    if merges is None:
        raise DoesNotApplyError("one of the two has no list of merges")
    return merges


def _shown(merges: Sequence[Merge], rank: int) -> str:
    if rank >= len(merges):
        return "no merge"
    return " + ".join(map(quoted, merges[rank]))


@_rule(
    name="changed-setting",
    severity=Severity.ERROR,
    breaks="A different pattern, normalizer, template or flag changes ids, with the same vocabulary.",
    found="The settings of both are compared; a note if no text with different ids was found.",
    remedy="Do not use the file; download the original again, and find out where this file comes from.",
)
def _changed_settings(target: LintTarget) -> Iterator[Found]:
    """Report different settings: errors if texts get different ids, otherwise notes."""
    severity = None if target.derived(_disagreement) else Severity.NOTE
    for name, (here, there) in differing_settings(target, _other(target)).items():
        yield Found(
            subject=f"the {name}",
            evidence=f"it is {_value(here)} here, and {_value(there)} in the reference",
            severity=severity,
            details={"here": _plain(here), "there": _plain(there)},
        )


def _value(value: object) -> str:
    if value is None:
        return "not there"
    if isinstance(value, str):
        return value if value.startswith('"') else quoted(value)
    return str(value).lower()


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | None) else str(value)


@_rule(
    name="other-ids",
    severity=Severity.ERROR,
    breaks="Texts get different ids than with the reference, for any reason: the model reads different text.",
    found="Both encode texts in many languages, code, hard cases and special tokens; one difference is minimized.",
    remedy="Do not use the file; download the original again, and find out where this file comes from.",
)
def _other_ids(target: LintTarget) -> Iterator[Found]:
    found = target.derived(_disagreement)
    if found is not None:
        theirs = ", ".join(map(_other(target).named, found.theirs[:_SHOWN]))
        yield Found(
            subject=f"{found.differing:,} of {found.tried:,} texts that were tried",
            evidence=f"{quoted(found.text)} becomes {_tokens(target, found.ours)}, and in the reference "
            + (theirs or "nothing"),
            details={"text": found.text, "here": found.ours, "there": found.theirs},
        )


def _tokens(target: LintTarget, ids: Sequence[int]) -> str:
    return ", ".join(map(target.named, ids[:_SHOWN])) or "nothing"


def _disagreement(target: LintTarget) -> Disagreement | None:
    return disagreement(target.tokenizer, _other(target).tokenizer)


@_rule(
    name="changed-score",
    severity=Severity.ERROR,
    breaks="With different scores, the same text gets different ids from the same vocabulary.",
    found="The scores of shared pieces are compared.",
    remedy="Do not use the file; download the original again, and find out where this file comes from.",
)
def _changed_scores(target: LintTarget) -> Iterator[Found]:
    ours, theirs = _scores(target), _scores(_other(target))
    changed = [piece for piece, score in ours.items() if piece in theirs and theirs[piece] != score]
    if changed:
        shown = ", ".join(
            f"{quoted(piece)} {ours[piece]:g} here and {theirs[piece]:g} there" for piece in changed[:_SHOWN]
        )
        yield Found(
            subject=counted(len(changed), "score"),
            evidence=f"other in the reference: {shown}",
            details={"pieces": changed[:1000]},
        )


def _scores(target: LintTarget) -> dict[str, float]:
    vocabulary = VocabularyTokens(target)
    if not vocabulary.scores:
        raise DoesNotApplyError("one of the two has no scores")
    return {vocabulary.spellings[id]: score for id, score in vocabulary.scores.items()}


RULES = (_swapped, _other_tokens, _changed_merges, _changed_scores, _changed_settings, _other_ids)
