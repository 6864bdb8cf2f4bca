"""Parse merges from a text file, and infer properties of the vocabulary that they belong to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokbench.errors import ModelFormatError
from tokbench.formats.tokenizer_json import decoded_bytes, is_byte_level, to_byte_level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_WITH_COUNT = re.compile(r"[^ ]+ [^ ]+ [0-9]+")
_BYTE_PIECE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_SUPERWORD = re.compile(r"\S +\S")

_MERGES_PER_GAP = 1000
"""One in this many merges may use a piece that no merge makes."""

_CLIP_MERGES = 49152 - 256 - 2

END_OF_WORD = "</w>"
"""The suffix at the end of words of CLIP and most tokenizers before GPT-2."""


def parse_merges(text: str, *, path: Path) -> list[list[str]]:
    r"""Return the pairs of a merges file, one per line after an optional `#version` line.

    Raises:
        ModelFormatError: a line is not two pieces.

    >>> parse_merges("#version: 0.2\na b\nab c\n", path="merges.txt")
    [['a', 'b'], ['ab', 'c']]
    """
    merges = []
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")  # noqa: PLW2901 -- line ends are not part of it
        if not line or (number == 1 and line.startswith("#version")):
            continue
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts):
            raise _no_merge(f"{path}, line {number}", line)
        merges.append(parts)
    return merges


def parse_clip_list(text: str, *, path: Path) -> tuple[dict[str, int], list[list[str]]]:
    """Return the vocabulary and merges of CLIP's one file; CLIP uses only the first fifth of its lines.

    Ids go to the bytes in the order of their characters, to the bytes at the end of words, to the pieces that merges
    make, and to the two special tokens.

    Raises:
        ModelFormatError: a line is not two pieces.

    Source: `simple_tokenizer.py` of CLIP.
    """
    lines = text.split("\n")[1 : 1 + _CLIP_MERGES]
    merges = parse_merges("\n".join(["#version", *lines]), path=path)
    bytes_ = sorted(to_byte_level(bytes(range(256))))
    pieces = [
        *bytes_,
        *(f"{byte}{END_OF_WORD}" for byte in bytes_),
        *(left + right for left, right in merges),
    ]
    return {piece: id for id, piece in enumerate([*pieces, "<|startoftext|>", "<|endoftext|>"])}, merges


def _no_merge(place: str, line: str) -> ModelFormatError:
    if _WITH_COUNT.fullmatch(line):
        return ModelFormatError(
            place,
            "two pieces with a space between",
            f"{line!a:.60}, with a count, as fastBPE writes merges (XLM, FlauBERT, BioGPT, CTRL, PhoBERT)",
            hint="such models split words by language-specific rules, which no tokenizer here has",
        )
    return ModelFormatError(place, "two pieces with a space between", f"{line!a:.60}")


def against_byte_level(vocab: Mapping[str, int], merges: Sequence[Sequence[str]]) -> str | None:
    """Return evidence that a vocabulary is not spelled in GPT-2's byte-level alphabet, or None.

    In that alphabet, merging begins with characters that stand for bytes, so a part that no merge makes must be one. A
    few of many merges may be missing, for example if lines that begin with # were taken for comments.

    >>> against_byte_level({"l": 0, "o</w>": 1, "lo</w>": 2}, [["l", "o</w>"]])
    "merges that begin with 'o</w>', at the end of a word"
    """
    merged = {left + right for left, right in merges}
    begun = [
        part
        for part in dict.fromkeys(part for pair in merges for part in pair)
        if part not in merged and part in vocab and not (len(part) == 1 and is_byte_level(part))
    ]
    if len(begun) * _MERGES_PER_GAP > len(merges) or not all(map(is_byte_level, begun)):
        return f"merges that begin with {begun[0]!r}{_kind(begun[0])}"
    fallback = next((piece for piece in vocab if _BYTE_PIECE.fullmatch(piece)), None)
    return None if fallback is None else f"the piece {fallback!r} for a byte, as SentencePiece has them"


def _kind(part: str) -> str:
    """Describe how a part looks that byte-level merging cannot begin with, as the end of a sentence."""
    if part.endswith(END_OF_WORD):
        return ", at the end of a word"
    if part.startswith("##"):
        return ", inside a word, as WordPiece has them"
    if part.endswith("@@"):
        return ", with more of the word after it, as fastBPE has them"
    if "\u2581" in part:
        return ", with SentencePiece's sign for a space"
    return ", which is not a byte in the byte-level alphabet" if len(part) == 1 else ""


def superwords(merges: Sequence[Sequence[str]]) -> list[str]:
    """Return the merged pieces that have a space between other characters, where most patterns would split.

    >>> superwords([["Ġ", "by"], ["Ġby", "Ġthe"], ["Ġ", "Ġ"]])
    ['ĠbyĠthe']
    """
    merged = (left + right for left, right in merges)
    return [
        piece
        for piece in merged
        if "Ġ" in piece[1:] and _SUPERWORD.search(decoded_bytes(piece).decode(errors="replace"))
    ]


def missing_bytes(vocab: Mapping[str, int]) -> int:
    """Return how many of the 256 bytes have no piece in a byte-level vocabulary."""
    return 256 - sum(len(piece) == 1 and is_byte_level(piece) for piece in vocab)
