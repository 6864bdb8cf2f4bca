"""The built-in chat templates by name, the one that fits a vocabulary, and the fit: control tokens, doubled spaces."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tokbench.core.guarded import control_tokens, encode_guarded
from tokbench.core.tokens import TokenKind
from tokbench.core.wording import enumerated, meant
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tokbench.chat.formats.format import Format
    from tokbench.chat.rendered import Rendered
    from tokbench.core.interfaces import Tokenizer


@cache
def _by_name() -> dict[str, Format]:
    from tokbench.chat.formats import chatml, gemma, harmony, llama2, llama3, mistral, nanochat, qwen

    formats = (
        chatml.CHATML,
        *qwen.QWEN,
        *llama3.LLAMA_3,
        llama2.LLAMA_2,
        *mistral.MISTRAL,
        gemma.GEMMA,
        nanochat.NANOCHAT,
        harmony.HARMONY,
    )
    return {template.name: template for template in formats}


def all_formats() -> tuple[Format, ...]:
    """Return all built-in templates in listing order."""
    return tuple(_by_name().values())


def named(name: str) -> Format:
    """Return a built-in template.

    Raises:
        TemplateError: no template has that name; the hint suggests a similar one.

    >>> named("chatml").turn_end
    ('<|im_end|>',)
    """
    formats = _by_name()
    if name not in formats:
        raise TemplateError(
            f"there is no built-in chat template {name!r}",
            hint=meant(name, formats, otherwise="available: {}; the name of a template file ends in .jinja"),
        )
    return formats[name]


def near_template(name: str, own: Iterable[str] = ()) -> str | None:
    """Return a hint with the templates whose names are near to an unknown name, or with all.

    Args:
        name: the unknown name.
        own: the names of the tokenizer's own templates.

    >>> near_template("chat-ml")
    "did you mean 'chatml'?"
    """
    known = [*own, *(template.name for template in all_formats())]
    return meant(name, known, otherwise="available: {}; or name a file in Jinja")


def recognized(tokens: Collection[str], *, merges_bytes: bool | None = None) -> list[Format]:
    """Return the templates that fit a vocabulary: it has every token that they always write.

    Templates that separate speakers by ordinary text are never returned, as no token identifies them.

    Args:
        tokens: the vocabulary's special and added tokens.
        merges_bytes: whether it merges bytes rather than characters; None if unknown.

    Returns:
        The templates, sorted by how many of its tokens they use, then by having few other tokens, then by merging
        bytes or characters as it does; empty if none fits.

    >>> [each.name for each in recognized({"<bos>", "<start_of_turn>", "<end_of_turn>"})]
    ['gemma']
    """
    own = set(tokens)
    fitting = [
        template
        for template in all_formats()
        if own.issuperset(template.control_tokens) and not template.text_marks
    ]

    def order(template: Format) -> tuple[int, int, bool]:
        is_for_others = (
            None not in (merges_bytes, template.merges_bytes) and merges_bytes != template.merges_bytes
        )
        return -len(own & template.known_tokens), len(template.known_tokens), is_for_others

    return sorted(fitting, key=order)


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
            f"{tokenizer.info.name} does not have {enumerated(missing)}, which {format.name} needs as special tokens",
            hint="choose the template that the vocabulary is made for, or add them: by --special-token to a bare rank "
            "file, by `tokbench extend` to other vocabularies",
        )


def _writes(rendered: Rendered, token: str) -> bool:
    """Whether the template itself has written a token."""
    if token not in rendered.text:
        return False
    own = (rendered.text[start:stop] for start, stop, origin in rendered.runs if origin.is_template)
    return any(token in text for text in own)
