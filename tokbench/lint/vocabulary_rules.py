"""Rules about the use of a vocabulary: duplicates, junk, parts of characters, rarely used tokens."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.core.wording import counted, quoted
from tokbench.inspection.vocabulary_tokens import text_of_bytes
from tokbench.lint.findings import Found, Severity, findings_on_tokens
from tokbench.lint.reachability.models import model_of
from tokbench.lint.rules import DoesNotApplyError, rules_of
from tokbench.lint.training import merges_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.lint.target import LintTarget

_SHOWN = 8
_APART = 3
"""Maximum number of groups of duplicates that get a finding each."""
_LEAST_TOKENS = 100_000
"""Minimum number of token occurrences for a corpus to be evidence that tokens are unused."""
_LEAST_FORMED = 100
_HARDLY = 0.01

_RUN = re.compile(r"(?P<unit>[^\s\d]{1,4}?)(?P=unit){11,}")
_HEXADECIMAL = re.compile(
    r"(?=[0-9a-f]*[a-f])(?=(?:[a-f]*\d){4})[0-9a-f]{12,}|(?=[0-9A-F]*[A-F])(?=(?:[A-F]*\d){4})[0-9A-F]{12,}"
)
_ENCODED = re.compile(r"(?=(?:[^a-z]*[a-z]){4})(?=(?:[^A-Z]*[A-Z]){4})(?=(?:\D*\d){2})[A-Za-z0-9+/_-]{16,}")
_LONGEST_WORD = 40
_SHORTEST_JUNK = 12

_rule = rules_of("vocabulary")


@_rule(
    name="duplicate-token",
    severity=Severity.WARNING,
    breaks="Two tokens stand for the same text: a model learns it twice, and the bytes decide which one is used.",
    found="Tokens are compared by their text and by its NFC form.",
    remedy="Normalize the training text, and the input, to NFC.",
)
def _duplicates(target: LintTarget) -> Iterator[Found]:
    """Report tokens with equal spellings after NFC; the file's spelling counts, so `##ing` differs from `ing`."""
    groups: dict[str, list[int]] = {}
    for id, spelling in target.derived(model_of).spellings.items():
        if id not in target.ordinary:
            continue
        if text := _text(spelling):
            groups.setdefault(text if text.isascii() else unicodedata.normalize("NFC", text), []).append(id)
    alike = [ids for ids in groups.values() if len(ids) > 1]
    is_same = {ids[0]: len({target.ordinary[id] for id in ids}) == 1 for ids in alike}
    for sameness, words in ((True, "the same bytes"), (False, "the same characters, composed differently")):
        yield from _alike(target, [ids for ids in alike if is_same[ids[0]] == sameness], words=words)


def _alike(target: LintTarget, groups: Sequence[Sequence[int]], *, words: str) -> Iterator[Found]:
    """Yield a finding for each group of duplicates, or a single one for many groups."""
    shown = [" and ".join(f"token {id} {_composition(target, id)}" for id in ids) for ids in groups]
    if len(groups) <= _APART:
        for ids, names in zip(groups, shown, strict=True):
            yield Found(counted(len(ids), "token"), f"they have {words}: {names}", tuple(ids))
        return
    more = f"; and {len(groups) - _SHOWN:,} more" if len(groups) > _SHOWN else ""
    yield Found(
        subject=f"{len(groups):,} groups of tokens",
        evidence=f"those of a group have {words}: {'; '.join(shown[:_SHOWN])}{more}",
        token_ids=tuple(id for ids in groups for id in ids),
        details={"groups": [list(ids) for ids in groups]},
    )


def _composition(target: LintTarget, id: int) -> str:
    r"""Quote a token, with escapes for combining marks and characters that NFD changes: `" a\u0300"`."""
    text = target.ordinary[id].decode(errors="replace")
    return "".join(
        ascii(character)[1:-1]
        if unicodedata.combining(character) or unicodedata.normalize("NFD", character) != character
        else character
        for character in quoted(text)
    )


def _text(spelling: str | bytes) -> str | None:
    return spelling if isinstance(spelling, str) else text_of_bytes(spelling)


@_rule(
    name="straddling-token",
    severity=Severity.NOTE,
    breaks="A token that contains part of a character next to another one decodes to replacement characters.",
    found="Tokens that are not complete UTF-8 are searched for a second character, complete or not.",
    remedy="Use a trainer that builds complete characters before it merges them with others.",
)
def _incomplete(target: LintTarget) -> Iterator[Found]:
    """Report tokens that join a part of one character to another character."""
    found = [id for id, piece in target.ordinary.items() if _straddles(piece)]
    if found:
        yield Found(
            subject=counted(len(found), "token"),
            evidence="they join a part of one character to another character: "
            + ", ".join(map(target.named, found[:_SHOWN])),
            token_ids=tuple(found),
        )


def _straddles(piece: bytes) -> bool:
    r"""Whether bytes are not valid UTF-8 and belong to more than one character.

    >>> _straddles(b"\xbd\xe5"), _straddles(b"a\xe5"), _straddles(b"\xe4\xb8"), _straddles(b"ab")
    (True, True, False, False)
    """
    try:
        piece.decode()
    except UnicodeDecodeError:
        begins = sum(not 0x80 <= byte < 0xC0 for byte in piece[1:])
        return begins > 0
    return False


@_rule(
    name="junk-token",
    severity=Severity.NOTE,
    breaks="Separators, hashes and boilerplate of the training text take the ids of words, and are hardly trained.",
    found="Tokens are searched for long repetitions, hexadecimal numbers, encoded data, and very long texts.",
    remedy="Clean or deduplicate the training text, or limit the length of tokens.",
)
def _junk(target: LintTarget) -> Iterator[Found]:
    kinds: dict[str, dict[int, str]] = {}
    for id, piece in target.ordinary.items():
        found = _junk_reason(piece) if len(piece) >= _SHORTEST_JUNK else None
        if found is not None:
            of_many, reason = found
            kinds.setdefault(of_many, {})[id] = reason
    for of_many, reasons in kinds.items():
        yield from findings_on_tokens(target, reasons, of_many=of_many)


def _junk_reason(piece: bytes) -> tuple[str, str] | None:
    """Return why a token looks like debris of its training text, for a group and for itself; None if it does not.

    >>> _junk_reason(b"-" * 40), _junk_reason(b" understanding")
    (('they repeat a few characters', 'it repeats "-" 40 times'), None)
    """
    try:
        text = piece.decode().strip()
    except UnicodeDecodeError:
        return None
    if run := _RUN.search(text):
        unit = run["unit"]
        times = len(run[0]) // len(unit)
        return "they repeat a few characters", f"it repeats {quoted(unit)} {times} times"
    if _HEXADECIMAL.fullmatch(text):
        return "they look like hexadecimal numbers", "it looks like a hexadecimal number"
    if _ENCODED.fullmatch(text):
        return "they look like encoded data", "it looks like encoded data"
    if len(text) >= _LONGEST_WORD and not text.isspace():
        boilerplate = "boilerplate that the training text repeated"
        return f"they are very long: {boilerplate}", f"it is {len(text)} characters long: {boilerplate}"
    return None


def _unused_figures(target: LintTarget) -> Mapping[str, Any]:
    frequencies = target.counts.frequencies[list(target.ordinary)]
    return {"tokens": len(frequencies), "never_used": int((frequencies == 0).sum())}


@_rule(
    name="unused-token",
    severity=Severity.NOTE,
    breaks="A token that does not occur in text is not trained, and can cause odd answers: a glitch token.",
    found="Tokens in the first half of the vocabulary, which should be frequent, are counted on the corpus.",
    remedy="Look at the tokens: if they do not fit your text, train on text that is similar to it.",
    needs_corpus=True,
    figures=_unused_figures,
)
def _unused(target: LintTarget) -> Iterator[Found]:
    """Report tokens that were learned early and never occur; late ones are rare in any text."""
    counts = target.counts
    if counts.tokens < _LEAST_TOKENS:
        raise DoesNotApplyError(f"the corpus has fewer than {_LEAST_TOKENS:,} token occurrences")
    ids = list(target.ordinary)
    early = ids[: len(ids) // 2]
    unused = [id for id in early if counts.frequencies[id] == 0 and len(target.ordinary[id]) > 1]
    if unused:
        longest = sorted(unused, key=lambda token: -len(target.ordinary[token]))[:_SHOWN]
        yield Found(
            subject=f"{counted(len(unused), 'token')} of the first half of the vocabulary",
            evidence=f"they are not among {counts.tokens:,} token occurrences: {', '.join(map(target.named, longest))}",
            token_ids=tuple(unused),
        )


@_rule(
    name="intermediate-token",
    severity=Severity.NOTE,
    breaks="A token that is only a step towards longer ones is hardly ever seen by a model, and wastes its id.",
    found="On the corpus, occurrences after encoding are compared with all occurrences during merging.",
    remedy="Prune such tokens after training, as LiteToken does, or train with more merges and drop them.",
    needs_corpus=True,
)
def _intermediate(target: LintTarget) -> Iterator[Found]:
    """Report tokens that merging forms often, and nearly always merges further."""
    merges = merges_of(target)
    frequencies = target.counts.frequencies
    formed = formed_counts(frequencies, merges)
    hardly = np.flatnonzero((formed >= _LEAST_FORMED) & (frequencies < _HARDLY * formed))
    ids = sorted(
        (id for id in hardly.tolist() if len(target.ordinary.get(id, b"")) > 1),
        key=lambda token: -formed[token],
    )
    if ids:
        shown = ", ".join(
            f"{target.named(id)} ({frequencies[id]:,} of {formed[id]:,})" for id in ids[:_SHOWN]
        )
        yield Found(
            subject=counted(len(ids), "token"),
            evidence=f"less than {_HARDLY:.0%} of their occurrences survive the next merge: {shown}",
            token_ids=tuple(ids),
            details={"survival": {str(id): round(float(frequencies[id] / formed[id]), 6) for id in ids}},
        )


def formed_counts(frequencies: NDArray[np.int64], merges: list[tuple[int, int, int]]) -> NDArray[np.int64]:
    """Count how often each token was formed while merging, including the occurrences that were merged further.

    Args:
        frequencies: int64[V], final occurrences of each id.
        merges: (left id, right id, merged id) in rank order; the first merge that forms an id counts.

    >>> formed_counts(np.array([1, 0, 4]), [(0, 1, 2)]).tolist()
    [5, 4, 4]
    """
    formed = frequencies.copy()
    ways = {made: (left, right) for left, right, made in reversed(merges)}
    for _, _, made in reversed(merges):
        if made in ways:
            for part in ways.pop(made):
                formed[part] += formed[made]
    return formed


RULES = (_duplicates, _incomplete, _junk, _unused, _intermediate)
