"""Samples as the data of the page's token viewer: every text is made visible here, the page only places it.

A token is three numbers: its look, and where it starts and stops, in bytes. Looks are kept once for each
tokenizer, as most of them come again and again.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.evaluation.candidates import BASELINES
from tokbench.render.glyphs import visible
from tokbench.render.token_view import visible_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tokbench.core.tokens import Segmentation
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.evaluation.samples import Sample

UNCOVERED = -1
"""Stands for the id where no token covers the text."""

_STAND_IN, _CUT = 1, 2
_LABEL_LENGTH = 48
_LONGEST_HEX = 48

Look = tuple[int, str, bool, tuple[str | int, ...]]
"""Id, kind, whether it covers no text, and its runs: text and flags by turns."""


def samples_document(comparison: Comparison, samples: Sequence[Sample]) -> dict[str, Any]:
    """What the viewer shows.

    Args:
        comparison: its tokenizers, in the order of the samples' segmentations.
        samples: the lines.

    Returns:
        `tokenizers`, each with its `looks` and its `tokens` (id → bytes in hexadecimal, occurrences in the
        text, rank by them); `samples`, each with a row of tokens for each tokenizer; and `first`, the sample
        that is shown at the beginning.
    """
    viewers = [_Viewer(one) for one in comparison.tokenizers]
    documents = [_sample(sample, viewers) for sample in samples]
    known = {one.fairness.reference for one in comparison.tokenizers if one.fairness is not None}
    first = next((place for place, sample in enumerate(samples) if sample.group in known), 0)
    return {
        "tokenizers": [viewer.to_json() for viewer in viewers],
        "samples": documents,
        "first": first,
    }


def _sample(sample: Sample, viewers: Sequence[_Viewer]) -> dict[str, Any]:
    return {
        "group": visible(sample.group),
        "source": visible(sample.source),
        "label": _label(sample.text),
        "direction": direction_of(sample.text),
        "characters": len(sample.text),
        "bytes": len(sample.text.encode()),
        "rows": [
            viewer.row(segmentation)
            for viewer, segmentation in zip(viewers, sample.segmentations, strict=True)
        ],
    }


def direction_of(text: str) -> str:
    """The direction of the first letter that has one, as HTML calls it.

    >>> direction_of("1. hello"), direction_of("(שלום)")
    ('ltr', 'rtl')
    """
    strong = (unicodedata.bidirectional(character) for character in text)
    first = next((found for found in strong if found in {"L", "R", "AL"}), "L")
    return "ltr" if first == "L" else "rtl"


def _label(text: str) -> str:
    """The beginning of a line, for a list of them."""
    start = text.strip()
    return visible(start if len(start) <= _LABEL_LENGTH else f"{start[: _LABEL_LENGTH - 1]}…")


class _Viewer:
    """One tokenizer: what its tokens look like, gathered while the samples go by."""

    def __init__(self, evaluated: EvaluatedTokenizer) -> None:
        self._evaluated = evaluated
        self._looks: dict[Look, int] = {}
        self._pieces: dict[int, bytes] = {}

    def row(self, segmentation: Segmentation) -> list[int]:
        """Look, start, stop; look, start, stop; …"""
        row: list[int] = []
        for start, stop, look in _looks(segmentation):
            row += [self._looks.setdefault(look, len(self._looks)), start, stop]
        self._pieces.update((token.id, token.piece) for token in segmentation.tokens)
        return row

    def to_json(self) -> dict[str, Any]:
        info, frequencies = self._evaluated.candidate.tokenizer.info, self._evaluated.evaluation.frequencies
        ids = sorted(self._pieces)
        ranks = _ranks(frequencies, ids)
        return {
            "name": visible(self._evaluated.name),
            "about": visible(f"{info.backend}, {info.vocab_size:,} tokens"),
            "is_baseline": info.backend in BASELINES,
            "tokens": {
                str(id): [_hexadecimal(self._pieces[id]), int(frequencies[id]), ranks[id]] for id in ids
            },
            "looks": list(self._looks),
        }


def _ranks(frequencies: NDArray[np.int64], ids: Sequence[int]) -> dict[int, int]:
    """Each token's place by occurrences; those that occur alike share one.

    >>> _ranks(np.array([1, 5, 1, 0]), [0, 1, 2])
    {0: 2, 1: 1, 2: 2}
    """
    ascending = np.sort(frequencies)
    more = len(ascending) - np.searchsorted(ascending, frequencies[list(ids)], side="right")
    return dict(zip(ids, (more + 1).tolist(), strict=True))


def _hexadecimal(piece: bytes) -> str:
    return piece[:_LONGEST_HEX].hex(" ") + (" …" if len(piece) > _LONGEST_HEX else "")


def _looks(segmentation: Segmentation) -> Iterator[tuple[int, int, Look]]:
    """The tokens, and between them the text that none covers, in reading order."""
    for each in visible_tokens(segmentation):
        runs = tuple(
            part for run in each.strip.runs for part in (run.text, _STAND_IN * run.stand_in + _CUT * run.cut)
        )
        if each.token is None:
            yield each.start, each.stop, (UNCOVERED, "uncovered", False, runs)
        else:
            look = (each.token.id, each.token.kind.value, not each.covers_text, runs)
            yield each.start, each.stop, look
