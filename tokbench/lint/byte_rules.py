"""Rules about text that a vocabulary cannot spell: bytes without a token, and lost characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.descriptions import SentencePieceModel
from tokbench.core.wording import counted, first_of
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.lint.findings import Found, Severity
from tokbench.lint.reachability.models import WordPieceModel, model_of
from tokbench.lint.reachability.steps import DocumentSteps
from tokbench.lint.rules import DoesNotApplyError, rules_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.lint.target import LintTarget

_NEVER = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))
"""Bytes that never occur in UTF-8."""
_NOT_PRINTED = frozenset((*range(0x20), 0x7F, 0xF1, 0xF2)) - frozenset(b"\t\n\r")
"""Bytes of control characters, and lead bytes of unassigned characters only."""
_SHOWN = 12

_PROBES = (
    "aZéßñÅΩЖאعहคབ中あア한ሀᎠ𐍈𝔸"
    "09٣½Ⅷ²"
    ".,;:!?'\"()[]{}<>/\\|@#$%^&*_-+=~`"
    "€£¥©®°§¶•…“”‘’«»–—"
    "😀👍🏽❤️🇩🇪👩‍👧"
    "\u0301\u0327\u200d\ufe0f\u00ad\u200b\u200e\u2028\ufeff\u00a0\u3000\u2003"
    "\x00\x07\x1b\x7f\ue000\U000f0000\ufffd"
)
"""Characters of many scripts and kinds, each of which is encoded between two letters."""

_rule = rules_of("bytes")


@_rule(
    name="missing-byte",
    severity=Severity.ERROR,
    breaks="A character that contains a byte without a token is lost, although every text should be encodable.",
    found="Each of the 256 bytes is looked up if the tokenizer is byte-level or has byte fallback; a warning if no "
    "printable character contains the missing bytes.",
    remedy="Train with all 256 bytes as the initial alphabet, or add the missing bytes.",
)
def _missing_bytes(target: LintTarget) -> Iterator[Found]:
    if not _promises_bytes(target):
        raise DoesNotApplyError("it does not claim to have a token for each byte")
    single = {piece for piece in target.vocabulary.pieces if piece is not None and len(piece) == 1}
    lost = [byte for byte in range(256) if bytes([byte]) not in single and byte not in _NEVER]
    if lost:
        yield Found(
            subject=f"{len(lost)} of the 243 bytes that texts have",
            evidence=f"{first_of([f'0x{byte:02X}' for byte in lost], _SHOWN)} have no token: characters with them are "
            "unknown",
            details={"bytes": lost},
            severity=Severity.WARNING if _NOT_PRINTED.issuperset(lost) else None,
        )


def _promises_bytes(target: LintTarget) -> bool:
    """Whether the tokenizer claims to have a token for every byte."""
    if target.bpe is not None:
        return True
    if target.document is not None:
        return (
            bool(target.document["model"].get("byte_fallback"))
            or DocumentSteps(target.document).is_byte_level
        )
    if isinstance(target.description, SentencePieceModel):
        return bool(parse_model(target.description.proto).trainer["byte_fallback"])
    return False


@_rule(
    name="missing-continuation",
    severity=Severity.WARNING,
    breaks="A whole word becomes unknown if one of its inner characters only has a piece for the start of words.",
    found="For each letter and digit with a piece for the start of words, the piece inside words is looked up.",
    remedy="Add the missing pieces, or train with an alphabet that has both forms of each character.",
)
def _missing_continuations(target: LintTarget) -> Iterator[Found]:
    model = target.derived(model_of)
    if not isinstance(model, WordPieceModel):
        raise DoesNotApplyError("only WordPiece has pieces that stand inside words")
    letters = [piece for piece in model.pieces if len(piece) == 1 and piece.isalnum()]
    steps = None if target.document is None else DocumentSteps(target.document)
    missing = sorted(
        letter
        for letter in letters
        # Some characters, such as Chinese ones, continue no word: they are words of their own.
        if f"{model.prefix}{letter}" not in model.pieces and (steps is None or not steps.cut_after(letter))
    )
    if missing:
        yield Found(
            subject=counted(len(missing), "character"),
            evidence=f"{first_of(missing, _SHOWN)} begin words but have no piece inside words: such words are unknown",
            details={"characters": missing},
        )


@_rule(
    name="vanishing-character",
    severity=Severity.WARNING,
    breaks="Text with such a character has the ids of text without it, and decodes to different text.",
    found="Characters of many kinds are encoded between two letters; those without any effect are reported.",
    remedy="Change the normalizer, or give the tokenizer an unknown token or byte fallback; if the characters are "
    "dropped on purpose, remove them from the data, too.",
)
def _vanishing_characters(target: LintTarget) -> Iterator[Found]:
    if not target.spells("ab"):
        raise DoesNotApplyError("it cannot encode the letters to put around the characters")
    characters = list(dict.fromkeys(_PROBES))
    plain = target.tokenizer.encode("ab")
    found = target.tokenizer.encode_batch(
        [f"a{character}b" for character in characters], threads=target.threads
    )
    gone = [character for number, character in enumerate(characters) if found[number].tolist() == plain]
    if gone:
        yield Found(
            subject=f"{len(gone)} of {len(characters)} characters tried",
            evidence=f"{first_of([f'U+{ord(character):04X}' for character in gone], _SHOWN)} between two letters give "
            "the ids of the letters alone",
            details={"code_points": [ord(character) for character in gone]},
        )


RULES = (_missing_bytes, _missing_continuations, _vanishing_characters)
