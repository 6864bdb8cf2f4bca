"""Rules about tampering: a tokenizer that should be like another one, and is not."""

from __future__ import annotations

from bisect import bisect_left
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from tokbench.lint.findings import Found, Severity
from tokbench.lint.rules import DoesNotApplyError, Rule
from tokbench.lint.target import spelled_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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


def _swapped(target: LintTarget) -> Iterator[Found]:
    """Tokens of both that have other ids."""
    ours, theirs = _pieces(target), _pieces(_other(target))
    places: dict[bytes, set[int]] = {}
    for id, piece in theirs.items():
        places.setdefault(piece, set()).add(id)
    moved = [id for id, piece in ours.items() if theirs.get(id) != piece and piece in places]
    if len(moved) > _MOST:
        yield Found(
            subject=f"{len(moved):,} tokens",
            evidence=f"they have other ids in the reference, as {', '.join(map(target.named, moved[:_SHOWN]))}",
            token_ids=tuple(moved),
        )
        return
    for id in moved:
        there = sorted(places[ours[id]])
        instead = theirs.get(id)
        yield Found(
            subject=target.named(id),
            evidence=f"the reference has it under the id {', '.join(map(str, there))}, and here has "
            + ("nothing" if instead is None else spelled_bytes(instead)),
            token_ids=(id, *there),
        )


def _other_tokens(target: LintTarget) -> Iterator[Found]:
    """Tokens that only one of the two has."""
    ours, theirs = _pieces(target), _pieces(_other(target))
    ours_alone = set(ours.values()) - set(theirs.values())
    theirs_alone = set(theirs.values()) - set(ours.values())
    added = [id for id, piece in ours.items() if piece in ours_alone]
    if added:
        yield Found(
            subject=f"{len(added):,} tokens",
            evidence=f"the reference does not have them: {', '.join(map(target.named, added[:_SHOWN]))}",
            token_ids=tuple(added),
        )
    if theirs_alone:
        shown = ", ".join(map(spelled_bytes, sorted(theirs_alone)[:_SHOWN]))
        yield Found(
            subject=f"{len(theirs_alone):,} tokens of the reference",
            evidence=f"they are not here: {shown}",
        )


def _changed_merges(target: LintTarget) -> Iterator[Found]:
    """Merges that are missing, added or elsewhere; the first place where the lists part."""
    ours, theirs = _merges(target), _merges(_other(target))
    if ours == theirs:
        return
    rank = next(rank for rank, pair in enumerate(zip_longest(ours, theirs)) if pair[0] != pair[1])
    added, missing = set(ours) - set(theirs), set(theirs) - set(ours)
    moved = _moved(ours, theirs)
    yield Found(
        subject=f"merges from rank {rank:,} on",
        evidence=f"there is {_shown(ours, rank)}, and in the reference {_shown(theirs, rank)}; {len(added):,} "
        f"merges are added, {len(missing):,} missing, {moved:,} others moved",
        details={"rank": rank, "added": len(added), "missing": len(missing), "moved": moved},
    )


_Merge = tuple[Any, Any]


def _merges(target: LintTarget) -> Sequence[_Merge]:
    bpe = target.bpe
    if bpe is not None and bpe.merges is not None:
        return [(bpe.tokens[left], bpe.tokens[right]) for left, right, _ in bpe.merges]
    model: Mapping[str, Any] = {} if target.document is None else target.document["model"]
    if "merges" not in model:
        raise DoesNotApplyError("one of the two has no list of merges")
    from tokbench.opening.native_bpe import merge_pairs

    return merge_pairs(model, path=target.opened.source.path)


def _moved(ours: Sequence[_Merge], theirs: Sequence[_Merge]) -> int:
    """The fewest merges of both that have to change their places for the order to be the same."""
    places = {merge: place for place, merge in enumerate(theirs)}
    kept: list[int] = []  # of rising places so far, the smallest last one of each length
    common = [places[merge] for merge in ours if merge in places]
    for place in common:
        at = bisect_left(kept, place)
        kept[at : at + 1] = [place]
    return len(common) - len(kept)


def _shown(merges: Sequence[_Merge], rank: int) -> str:
    if rank >= len(merges):
        return "no merge"
    parts = (part.encode() if isinstance(part, str) else part or b"" for part in merges[rank])
    return " + ".join(map(spelled_bytes, parts))


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
