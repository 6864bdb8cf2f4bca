"""Rules about tampering: a tokenizer that should be like another one, and is not."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tokbench.core.quoting import quoted
from tokbench.inspection.differences import compare_merges, compare_tokens
from tokbench.lint.findings import Found, Severity
from tokbench.lint.rules import DoesNotApplyError, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.inspection.differences import Merge, TokenDifferences
    from tokbench.lint.target import LintTarget

_GROUP = "reference"
_SHOWN = 6
_MOST = 256
"""Findings of a rule: two tokenizers that have little in common are told so in one."""


def _pieces(target: LintTarget) -> dict[int, bytes]:
    return {id: piece for id, piece in enumerate(target.vocabulary.pieces) if piece is not None}


def _other(target: LintTarget) -> LintTarget:
    assert target.reference is not None  # the rules need one
    return target.reference


def _token_differences(target: LintTarget) -> TokenDifferences:
    return compare_tokens(_pieces(target), _pieces(_other(target)))


def _swapped(target: LintTarget) -> Iterator[Found]:
    """Tokens of both that have other ids."""
    moved = target.derived(_token_differences).moved
    if len(moved) > _MOST:
        yield Found(
            subject=f"{len(moved):,} tokens",
            evidence="they have other ids in the reference, as "
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


def _other_tokens(target: LintTarget) -> Iterator[Found]:
    """Tokens that only one of the two has."""
    found = target.derived(_token_differences)
    if added := found.only_first:
        yield Found(
            subject=f"{len(added):,} tokens",
            evidence=f"the reference does not have them: {', '.join(map(target.named, added[:_SHOWN]))}",
            token_ids=added,
        )
    if found.only_second:
        theirs = _pieces(_other(target))
        missing = sorted({theirs[id] for id in found.only_second})
        yield Found(
            subject=f"{len(missing):,} tokens of the reference",
            evidence=f"they are not here: {', '.join(map(quoted, missing[:_SHOWN]))}",
        )


def _changed_merges(target: LintTarget) -> Iterator[Found]:
    """Merges that are missing, added or elsewhere; the first place where the lists part."""
    ours, theirs = _merges(target), _merges(_other(target))
    if (found := compare_merges(ours, theirs)) is None:
        return
    rank, added, missing = found.rank, len(found.only_first), len(found.only_second)
    yield Found(
        subject=f"merges from rank {rank:,} on",
        evidence=f"there is {_shown(ours, rank)}, and in the reference {_shown(theirs, rank)}; {added:,} "
        f"merges are added, {missing:,} missing, {found.moved:,} others moved",
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
    parts = (part.encode() if isinstance(part, str) else part or b"" for part in merges[rank])
    return " + ".join(map(quoted, parts))


RULES = (
    Rule(
        name="swapped-id",
        group=_GROUP,
        severity=Severity.ERROR,
        breaks="A model reads one token as another: its answers change, and nothing else tells.",
        found="Tokens of both vocabularies are compared by their bytes and ids.",
        remedy="Do not use the file; fetch the original again, and ask where this one is from.",
        check=_swapped,
        needs_reference=True,
    ),
    Rule(
        name="other-token",
        group=_GROUP,
        severity=Severity.WARNING,
        breaks="Tokens that were added have untrained embeddings; text that needs those taken away is cut otherwise.",
        found="Tokens of both vocabularies are compared by their bytes.",
        remedy="Check that the additions are meant, and that the model was trained with them.",
        check=_other_tokens,
        needs_reference=True,
    ),
    Rule(
        name="changed-merge",
        group=_GROUP,
        severity=Severity.ERROR,
        breaks="With other merges, or another order, the same text gets other ids from the same vocabulary.",
        found="The lists of merges are compared from the first to the last.",
        remedy="Do not use the file; fetch the original again, and ask where this one is from.",
        check=_changed_merges,
        needs_reference=True,
    ),
)
