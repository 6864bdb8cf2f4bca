"""Parse templates written in one line: "cls A sep B:1 sep:1".

A and B are the texts, other words are roles; ":1" is a type id, by default 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.descriptions import PostProcessing, Template, TemplatePart
from tokbench.core.post_processing import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
