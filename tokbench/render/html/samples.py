"""Samples as data of the page's token viewer: all text is made visible here, and the page only positions it.

A token is three numbers: its look, and its start and stop in bytes. Looks are stored once per tokenizer, as most
of them repeat.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.evaluation.candidates import BASELINES
from tokbench.render.glyphs import visible
from tokbench.render.visible_tokens import visible_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tokbench.core.tokens import Segmentation
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.evaluation.samples import Sample

UNCOVERED = -1
"""The id of text that no token covers."""

_STAND_IN, _CUT = 1, 2
_LABEL_LENGTH = 48
_LONGEST_HEX = 48

Look = tuple[int, str, bool, tuple[str | int, ...]]
"""Id, kind, whether it covers no text, and its runs: text and flags alternating."""


def samples_document(comparison: Comparison, samples: Sequence[Sample]) -> dict[str, Any]:
    """Return the data of the viewer.

    Args:
        comparison: the comparison; its tokenizers have the order of the samples' segmentations.
        samples: the lines.

    Returns:
        `tokenizers`, each with its `looks` and its `tokens` (id → bytes in hexadecimal, occurrences in the
        text, rank by occurrences); `samples`, each with a row of tokens per tokenizer; and `first`, the index of
        the sample that is shown initially.
    """
    viewers = [_Viewer(evaluated) for evaluated in comparison.tokenizers]
    documents = [_sample(sample, viewers) for sample in samples]
    known = {
        evaluated.fairness.reference for evaluated in comparison.tokenizers if evaluated.fairness is not None
    }
    first = next((place for place, sample in enumerate(samples) if sample.group in known), 0)
    return {"tokenizers": [viewer.to_json() for viewer in viewers], "samples": documents, "first": first}


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
    """Return the direction of the first character with a strong direction, as HTML names it.

    >>> direction_of("1. hello"), direction_of("(שלום)")
    ('ltr', 'rtl')
    """
    strong = (unicodedata.bidirectional(character) for character in text)
    first = next((found for found in strong if found in {"L", "R", "AL"}), "L")
    return "ltr" if first == "L" else "rtl"


def _label(text: str) -> str:
    """Return the beginning of a line, for the list of samples."""
    start = text.strip()
    return visible(start if len(start) <= _LABEL_LENGTH else f"{start[: _LABEL_LENGTH - 1]}…")


class _Viewer:
    """The looks of one tokenizer's tokens, collected from the samples."""

    def __init__(self, evaluated: EvaluatedTokenizer) -> None:
        self._evaluated = evaluated
        self._looks: dict[Look, int] = {}
        self._pieces: dict[int, bytes] = {}

    def row(self, segmentation: Segmentation) -> list[int]:
        """Return a flat list of look, start and stop of each token."""
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
    """Rank tokens by occurrences; equally frequent tokens share a rank.

    >>> _ranks(np.array([1, 5, 1, 0]), [0, 1, 2])
    {0: 2, 1: 1, 2: 2}
    """
    ascending = np.sort(frequencies)
    more = len(ascending) - np.searchsorted(ascending, frequencies[list(ids)], side="right")
    return dict(zip(ids, (more + 1).tolist(), strict=True))


def _hexadecimal(piece: bytes) -> str:
    return piece[:_LONGEST_HEX].hex(" ") + (" …" if len(piece) > _LONGEST_HEX else "")


def _looks(segmentation: Segmentation) -> Iterator[tuple[int, int, Look]]:
    """Yield the tokens, and the text between them that no token covers, in reading order."""
    for shown in visible_tokens(segmentation):
        runs = tuple(
            part for run in shown.strip.runs for part in (run.text, _STAND_IN * run.stand_in + _CUT * run.cut)
        )
        if shown.token is None:
            yield shown.start, shown.stop, (UNCOVERED, "uncovered", False, runs)
        else:
            look = (shown.token.id, shown.token.kind.value, not shown.covers_text, runs)
            yield shown.start, shown.stop, look
