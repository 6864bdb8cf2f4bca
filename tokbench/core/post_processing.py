"""Post-processing of ids into model input: truncation, template, padding.

Follows the rules of post-processing in `tokenizers`, in its order: truncation comes first and leaves room for the
template's tokens, padding comes last. Templates may be written in one line, as in "cls A sep B:1 sep:1": A and B are
the texts, other words are roles; ":1" is a type id, by default 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.core.capabilities import SupportsTemplate
from tokbench.core.descriptions import PostProcessing, Template, TemplatePart
from tokbench.core.tokens import ModelInput, SpecialPolicy
from tokbench.errors import TextError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.descriptions import Padding, Truncation
    from tokbench.core.interfaces import Tokenizer


NOTHING = PostProcessing()
"""No template and no limits."""


def input_of(
    tokenizer: Tokenizer,
    text: str,
    pair: str | None = None,
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    template: bool = True,
    limits: bool = True,
) -> ModelInput:
    """Return the model input of a text from any tokenizer; only the ids if the tokenizer has no template.

    Raises:
        SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.
        TextError: a text holds a lone surrogate, or cannot be truncated as the tokenizer's file says.
    """
    if isinstance(tokenizer, SupportsTemplate):
        return tokenizer.model_input(text, pair, special=special, template=template, limits=limits)
    texts = [text] if pair is None else [text, pair]
    return model_input(NOTHING, [tokenizer.encode(content, special=special) for content in texts])


def model_input(
    post_processing: PostProcessing,
    ids: Sequence[Sequence[int]],
    *,
    template: bool = True,
    limits: bool = True,
) -> ModelInput:
    """Return the model input of one text or two.

    Args:
        post_processing: the post-processing to apply.
        ids: the ids of each text.
        template: whether to add the special tokens of the template.
        limits: whether to truncate and pad.

    Raises:
        TextError: the text to truncate is missing, or too short.

    >>> from tokbench.core.descriptions import PostProcessing, Template, TemplatePart
    >>> begin, text = TemplatePart(None, ("<s>",), (1,)), TemplatePart(0)
    >>> model_input(PostProcessing(template=Template((begin, text), (begin, text))), [[7, 8]]).ids
    (1, 7, 8)
    """
    texts = [list(text_ids) for text_ids in ids]
    parts = parts_of(post_processing.template, pair=len(texts) == 2)
    if limits and post_processing.truncation is not None:
        room = sum(len(part.ids) for part in parts) if template else 0
        allowed = replace(post_processing.truncation, max_length=post_processing.truncation.max_length - room)
        texts = _truncate(texts, allowed)
    written = _apply_template(parts, texts, template=template)
    if limits and post_processing.padding is not None:
        return _pad(written, post_processing.padding)
    return written


def template_size(template: Template | None, *, pair: bool) -> int:
    """Return the number of special tokens that a template adds around one text or two."""
    return sum(len(part.ids) for part in parts_of(template, pair=pair))


def parts_of(template: Template | None, *, pair: bool) -> tuple[TemplatePart, ...]:
    """Return the template's parts for one text or two; without a template only the texts."""
    if template is not None:
        return template.pair if pair else template.single
    return tuple(TemplatePart(text, type_id=text) for text in range(2 if pair else 1))


def _apply_template(
    parts: Sequence[TemplatePart], texts: Sequence[list[int]], *, template: bool
) -> ModelInput:
    ids: list[int] = []
    type_ids: list[int] = []
    for part in parts:
        special = part.ids if template else ()
        added = special if part.text is None else texts[part.text]
        ids += added
        type_ids += [part.type_id] * len(added)
    return ModelInput(tuple(ids), tuple(type_ids), (1,) * len(ids))


def _truncate(texts: list[list[int]], truncation: Truncation) -> list[list[int]]:
    """Truncate the texts to `max_length` tokens in total."""
    sizes = [len(text) for text in texts]
    surplus = sum(sizes) - truncation.max_length
    if surplus <= 0:
        return texts
    kept = list(sizes)
    if truncation.max_length == 0:
        kept = [0] * len(sizes)
    elif truncation.strategy == "LongestFirst":
        kept = longest_first(sizes, truncation.max_length)
    else:
        place = 0 if truncation.strategy == "OnlyFirst" else 1
        if place >= len(texts) or sizes[place] <= surplus:
            raise TextError(
                f"the {('first', 'second')[place]} text has too few tokens to be truncated to "
                f"{truncation.max_length} with the other",
                hint="the tokenizer's file truncates this text only",
            )
        kept[place] -= surplus
    is_left = truncation.direction == "Left"
    return [
        text[len(text) - size :] if is_left else text[:size] for text, size in zip(texts, kept, strict=True)
    ]


def longest_first(sizes: Sequence[int], most: int) -> list[int]:
    """Return the lengths to keep of one text or two; the shorter is truncated only if both are longer than half."""
    if len(sizes) == 1:
        return [most]
    shorter, longer = sorted(sizes)
    longer = shorter if shorter > most else max(shorter, most - shorter)
    if shorter + longer > most:
        shorter = most // 2
        longer = shorter + most % 2
    return [longer, shorter] if sizes[0] > sizes[1] else [shorter, longer]


def _pad(written: ModelInput, padding: Padding) -> ModelInput:
    length = len(written.ids) if padding.length is None else padding.length
    if padding.multiple:
        length = -(-length // padding.multiple) * padding.multiple
    missing = max(0, length - len(written.ids))
    fillings = (padding.pad_id, padding.pad_type_id, 0)
    if padding.direction == "Left":
        return ModelInput(
            *((filling,) * missing + row for filling, row in zip(fillings, written, strict=True))
        )
    return ModelInput(*(row + (filling,) * missing for filling, row in zip(fillings, written, strict=True)))


_TEXTS = {"A": 0, "B": 1}


def templates_of(
    single: str, pair: str, *, texts: Mapping[str, str], ids: Mapping[str, int]
) -> PostProcessing:
    """Return the post-processing by a template for one text and for two; `NOTHING` if it adds nothing to one text.

    Args:
        single: the line for one text.
        pair: the line for two texts.
        texts: role → text of its special token; other roles are skipped.
        ids: text → id; tokens that are missing here are skipped.

    >>> templates_of("cls A", "cls A B:1", texts={"cls": "<s>"}, ids={"<s>": 0}).template.single
    (TemplatePart(text=None, tokens=('<s>',), ids=(0,), type_id=0), TemplatePart(text=0, tokens=(), ids=(), type_id=0))
    """
    template = Template(tuple(_parts(single, texts, ids)), tuple(_parts(pair, texts, ids)))
    return NOTHING if template.single == (TemplatePart(0),) else PostProcessing(template=template)


def lines_of_ends(*, begins: bool, ends: bool) -> tuple[str, str]:
    """Return the lines for one text and for two that put bos in front of each text, or eos after it.

    >>> lines_of_ends(begins=True, ends=False)
    ('bos A', 'bos A bos:1 B:1')
    """
    begin, end = "bos " * begins, " eos" * ends
    first, second = f"{begin}A{end}", f"{begin}B{end}"
    return first, " ".join([first, *(f"{part}:1" for part in second.split())])


def roles_in(line: str) -> set[str]:
    """Return the roles in a line.

    >>> sorted(roles_in("cls A sep B:1 sep:1"))
    ['cls', 'sep']
    """
    return {name for name, _ in _words(line)} - _TEXTS.keys()


def _parts(line: str, texts: Mapping[str, str], ids: Mapping[str, int]) -> Iterator[TemplatePart]:
    for name, type_id in _words(line):
        if name in _TEXTS:
            yield TemplatePart(_TEXTS[name], type_id=type_id)
        elif (text := texts.get(name, "")) in ids:
            yield TemplatePart(None, (text,), (ids[text],), type_id)


def _words(line: str) -> Iterator[tuple[str, int]]:
    for word in line.split():
        name, _, kind = word.partition(":")
        yield name, int(kind or 0)
