"""The built-in chat templates by name, and the recognition of the template that fits a vocabulary."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tokbench.core.wording import meant
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tokbench.chat.formats.format import Format


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
            hint=meant(name, formats, otherwise="there are {}; a file of another one ends in .jinja"),
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
    return meant(name, known, otherwise="there are {}; or name a file in Jinja")


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
