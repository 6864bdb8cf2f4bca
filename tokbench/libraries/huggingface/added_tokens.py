"""What the tokens of a `tokenizer.json` stand for: the bytes, where in a word, and of which kind they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.tokens import TokenKind
from tokbench.libraries.huggingface.tokenizer_json import piece_spelling

if TYPE_CHECKING:
    from collections.abc import Mapping, Set


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """The tokens of a document by their ids.

    Attributes:
        pieces: id → the bytes it stands for.
        inside_words: the ids of tokens that never begin a word.
        kinds: id → kind, of those that are no ordinary tokens; special tokens are not among them.
    """

    pieces: Mapping[int, bytes]
    inside_words: Set[int]
    kinds: Mapping[int, TokenKind]


def laid_out(
    document: Mapping[str, Any], vocabulary: Mapping[str, int], *, unknown: str | None
) -> EntryLayout:
    """The tokens of a document.

    Args:
        document: a parsed `tokenizer.json`.
        vocabulary: every token, added tokens included, as the file spells it → its id.
        unknown: the token for what the vocabulary does not cover, or None.
    """
    spelling = piece_spelling(document)
    added = {token["content"] for token in document["added_tokens"]}
    kinds = {
        id: TokenKind.BYTE for text, id in vocabulary.items() if text not in added and spelling.is_byte(text)
    }
    if unknown is not None and unknown in vocabulary:
        kinds[vocabulary[unknown]] = TokenKind.UNKNOWN
    prefix = spelling.prefix
    return EntryLayout(
        pieces={
            id: text.encode() if text in added else spelling.bytes_of(text) for text, id in vocabulary.items()
        },
        inside_words={id for text, id in vocabulary.items() if prefix and text.startswith(prefix)},
        kinds=kinds,
    )
