"""The built-in chat templates by their names, and which of them a vocabulary is made for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tokbench.core.wording import meant
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Collection

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
    return {each.name: each for each in formats}


def all_formats() -> tuple[Format, ...]:
    """Every built-in template, in the order in which they are listed."""
    return tuple(_by_name().values())


def named(name: str) -> Format:
    """A built-in template.

    Raises:
        TemplateError: there is none of that name; the hint is a near one.

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


def recognized(tokens: Collection[str], *, merges_bytes: bool | None = None) -> list[Format]:
    """The templates that a vocabulary is made for: it has every token that they always write.

    Templates that tell speakers apart by ordinary text are never among them, as no token tells of these.

    Args:
        tokens: its special tokens and others that were added to it.
        merges_bytes: whether it merges bytes rather than characters; None where that is not known.

    Returns:
        Those that know most of its tokens first, of these those that know least besides, and of these those made for
        bytes or for characters, as it merges; none if none fits.

    >>> [each.name for each in recognized({"<bos>", "<start_of_turn>", "<end_of_turn>"})]
    ['gemma']
    """
    own = set(tokens)
    fitting = [each for each in all_formats() if own.issuperset(each.control_tokens) and not each.text_marks]

    def order(each: Format) -> tuple[int, int, bool]:
        is_for_others = None not in (merges_bytes, each.merges_bytes) and merges_bytes != each.merges_bytes
        return -len(own & each.known_tokens), len(each.known_tokens), is_for_others

    return sorted(fitting, key=order)
