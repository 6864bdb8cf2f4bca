"""Where the labels of a drawing stand, and which of them touch."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOVED = re.compile(r"translate\(([-\d.]+)[, ]?([-\d.]*)\)")
_WIDTH, _ASCENT, _DESCENT = 0.5, 0.75, 0.2
"""Of a letter, as shares of the size of the font."""


class Label(NamedTuple):
    """A text and the box around it."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def touches(self, other: Label) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def labels(svg: str) -> list[Label]:
    """The texts of a drawing, those that are not shown left out."""
    return list(_labels(ElementTree.fromstring(svg), 0.0, 0.0))


def touching(svg: str) -> list[tuple[str, str]]:
    """The pairs of labels that touch."""
    return [(one.text, other.text) for one, other in combinations(labels(svg), 2) if one.touches(other)]


def _labels(node: ElementTree.Element, x: float, y: float) -> Iterator[Label]:
    for across, down in _MOVED.findall(node.get("transform", "")):
        x, y = x + float(across), y + float(down or 0)
    text = "".join(node.itertext()).strip()
    if not node.tag.endswith("}text"):
        for child in node:
            yield from _labels(child, x, y)
    elif text and node.get("opacity") != "0":
        size = float(node.get("font-size", "11px").removesuffix("px"))
        width = len(text) * size * _WIDTH
        before = {"middle": width / 2, "end": width}.get(node.get("text-anchor", "start"), 0.0)
        if "rotate" in node.get("transform", ""):
            yield Label(text, x - size, y - width / 2, x, y + width / 2)
        else:
            yield Label(text, x - before, y - size * _ASCENT, x - before + width, y + size * _DESCENT)
