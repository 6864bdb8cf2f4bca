"""The positions of the labels and lines of a drawing, and the labels that touch."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOVED = re.compile(r"translate\(([-\d.]+)[, ]?([-\d.]*)\)")
_WIDTH, _ASCENT, _DESCENT = 0.5, 0.75, 0.2
"""The size of a letter, as shares of the font size."""


class Label(NamedTuple):
    """A text and its bounding box."""

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

    def is_over(self, x: float, y: float) -> bool:
        """Whether the label covers a point."""
        return self.left < x < self.right and self.top < y < self.bottom


def labels(svg: str) -> list[Label]:
    """Return the texts of a drawing, without the invisible ones."""
    return list(_labels(ElementTree.fromstring(svg), 0.0, 0.0))


def touching(svg: str, *, gap: float = 0) -> list[tuple[str, str]]:
    """Return the pairs of labels that touch, or whose horizontal gap is smaller than `gap`."""
    widened = [label._replace(right=label.right + gap) for label in labels(svg)]
    return [(one.text, other.text) for one, other in combinations(widened, 2) if one.touches(other)]


def lines(svg: str) -> Iterator[list[tuple[float, float]]]:
    """Yield closely spaced points of each curve and each rule of a drawing."""
    for x, y, ends in _lines(ElementTree.fromstring(svg), 0.0, 0.0, kind=""):
        yield [
            (x + x0 + (x1 - x0) * step / 50, y + y0 + (y1 - y0) * step / 50)
            for (x0, y0), (x1, y1) in pairwise(ends)
            for step in range(51)
        ]


def _lines(
    node: ElementTree.Element, x: float, y: float, *, kind: str
) -> Iterator[tuple[float, float, list[tuple[float, float]]]]:
    x, y = _moved(node, x, y)
    classes = node.get("class", "")
    kind = classes if "mark" in classes else kind
    if node.tag.endswith("}path") and "mark-line role-mark" in kind:
        pairs = [point.split(",") for point in node.get("d", "").removeprefix("M").split("L")]
        yield x, y, [(float(across), float(down)) for across, down in pairs]
    elif node.tag.endswith("}line") and "mark-rule role-mark" in kind:
        yield x, y, [(0.0, 0.0), (float(node.get("x2", "0")), float(node.get("y2", "0")))]
    for child in node:
        yield from _lines(child, x, y, kind=kind)


def _moved(node: ElementTree.Element, x: float, y: float) -> tuple[float, float]:
    for across, down in _MOVED.findall(node.get("transform", "")):
        x, y = x + float(across), y + float(down or 0)
    return x, y


def _labels(node: ElementTree.Element, x: float, y: float) -> Iterator[Label]:
    x, y = _moved(node, x, y)
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
