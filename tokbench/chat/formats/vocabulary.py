"""Fit a built-in template to a vocabulary: check its control tokens, and avoid doubled prefix spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.guarded import control_tokens, encode_guarded
from tokbench.core.tokens import TokenKind
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.chat.formats.format import Format
    from tokbench.chat.rendered import Rendered
    from tokbench.core.interfaces import Tokenizer


def fitted(format: Format, tokenizer: Tokenizer) -> Format:
    """Return the template without the spaces that the tokenizer inserts itself.

    SentencePiece inserts a space before a text, and some libraries before each text after a control token.
    """
    spaceless = format.with_dummy_prefix
    if spaceless is None or not _writes_space(tokenizer, format.turn_end[0]):
        return format
    return spaceless


def _writes_space(tokenizer: Tokenizer, token: str) -> bool:
    """Whether the tokenizer inserts a space before the text after a control token."""
    if token not in control_tokens(tokenizer):
        return False
    ids = encode_guarded(tokenizer, [f"{token}a"], [[(0, len(token))]], threads=1).spans.encoded.ids.tolist()
    return b"".join(tokenizer.token_bytes(id) for id in ids[1:]).startswith(b" ")


def merges_bytes(tokenizer: Tokenizer) -> bool:
    """Whether the tokenizer merges bytes, so that even a character outside every vocabulary becomes ordinary tokens."""
    return all(token.kind is TokenKind.NORMAL for token in tokenizer.segment("\ue0ff").tokens)


def check_vocabulary(format: Format, tokenizer: Tokenizer, rendered: Iterable[Rendered]) -> None:
    """Raise if a vocabulary lacks control tokens that conversations need.

    Raises:
        TemplateError: control tokens would become ordinary text, which no model recognizes.
    """
    known = control_tokens(tokenizer)
    absent = [token for token in (*format.control_tokens, *format.optional_tokens) if token not in known]
    if not absent:
        return
    missing = [token for token in absent if token in format.control_tokens]
    missing += [
        token
        for token in absent
        if token not in missing and any(_writes(conversation, token) for conversation in rendered)
    ]
    if missing:
        raise TemplateError(
            f"{tokenizer.info.name} does not have {_listed(missing)}, which {format.name} needs as special tokens",
            hint="choose the template that the vocabulary is made for, or add them with --special-token",
        )


def _listed(tokens: list[str]) -> str:
    return tokens[0] if len(tokens) == 1 else f"{', '.join(tokens[:-1])} and {tokens[-1]}"


def _writes(rendered: Rendered, token: str) -> bool:
    """Whether the template itself has written a token."""
    if token not in rendered.text:
        return False
    own = (rendered.text[start:stop] for start, stop, origin in rendered.runs if origin.is_template)
    return any(token in text for text in own)
