"""The types of tokens in a GGUF file, as llama.cpp uses them: it overrides some of the file's own types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import ModelFormatError
from tokbench.formats.sentencepiece.pieces import PieceType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_CONTROLS = frozenset(
    text.encode()
    for text in """
        </s> <eos> <EOT> _<EOT> [EOT] [EOS] <turn|> <|tool_response> [e~[ <end_of_turn> <end_of_utterance>
        <|eot_id|> <|eom_id|> <|im_end|> <|end|> <|return|> <|call|> <|calls|> <|flush|> <|endoftext|>
        <|end_of_text|> <｜end▁of▁sentence｜>
        <|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|> <|prefix|>
        <|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|> <|suffix|>
        <|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|> <|middle|>
        <|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD] <|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame>
        <|file_sep|>
    """.split()  # noqa: SIM905 -- it is a table
)
"""Tokens that end texts or turns, and fill-in-the-middle tokens: control tokens to llama.cpp in any file."""
_END = b"</s>"
_BESIDE_AN_ORDINARY_END = {b"<|tool_response>", b"<|plamo:eos|>"}
"""If a vocabulary has one of these, as Gemma 4's and PLaMo's do, "</s>" is an ordinary token."""


def token_types(fields: Mapping[str, Any], tokens: Sequence[bytes], path: Path) -> list[int]:
    """Return the type of each token, as numbers of `PieceType`.

    Args:
        fields: the tokenizer metadata of the file.
        tokens: the tokens as the file spells them.
        path: the file as error messages name it.

    Raises:
        ModelFormatError: the types in the file are not one valid type per token.
    """
    types = fields.get("token_type", [int(PieceType.NORMAL)] * len(tokens))
    known = {int(kind) for kind in PieceType}
    if not isinstance(types, list) or len(types) != len(tokens) or not known.issuperset(types):
        raise ModelFormatError(path, f"{len(tokens):,} token types from 1 to 6", "different ones")
    special = dict.fromkeys(_CONTROLS, int(PieceType.CONTROL))
    if not _BESIDE_AN_ORDINARY_END.isdisjoint(tokens):
        special[_END] = int(PieceType.NORMAL)
    return [special.get(token, kind) for token, kind in zip(tokens, types, strict=True)]


def with_one_unknown(types: list[int], unknown: object) -> list[int]:
    """Return the types with exactly one unknown piece, as SentencePiece requires: the one that the file names.

    Tokens that only pad a vocabulary have this type too, such as 53 of Phi-3's, whose <unk> is a control piece.
    llama.cpp treats them like control pieces: text becomes them only where special tokens are searched.

    >>> with_one_unknown([3, 1, 2, 2], 0)
    [2, 1, 3, 3]
    """
    if types.count(PieceType.UNKNOWN) == 1 or not isinstance(unknown, int):
        return types
    if not 0 <= unknown < len(types) or types[unknown] not in (PieceType.UNKNOWN, PieceType.CONTROL):
        return types
    replaced = [int(PieceType.CONTROL) if kind == PieceType.UNKNOWN else kind for kind in types]
    replaced[unknown] = int(PieceType.UNKNOWN)
    return replaced
