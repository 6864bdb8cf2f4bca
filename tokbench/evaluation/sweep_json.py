"""Sweeps as JSON: schema tokbench.sweep/1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.evaluation.comparison_json import figure_document, mix_document
from tokbench.evaluation.costs import cost_document
from tokbench.evaluation.recommendation import METHOD

if TYPE_CHECKING:
    from tokbench.evaluation.sweep import Sweep


def sweep_document(sweep: Sweep) -> dict[str, Any]:
    """As `--json` prints it: schema tokbench.sweep/1."""
    return {
        "schema": "tokbench.sweep/1",
        "backend": sweep.backend,
        "trainings": sweep.trainings,
        "corpus": sweep.corpus_document(),
        "points": [
            {
                "vocab_size": point.vocab_size,
                "tokens": point.tokens,
                "bytes_per_token": point.bytes_per_token,
                "filled": point.is_filled,
                "keeps_text": point.keeps_text,
                "metrics": {name: figure_document(figure) for name, figure in point.figures.items()},
                "embedding_parameters": None
                if sweep.model.dim is None
                else point.vocab_size * sweep.model.dim,
                "cost": None if point.cost is None or not point.cost.is_known else cost_document(point.cost),
                "mix": None if point.mixed is None else figure_document(point.mixed.tokens_per_byte),
                "groups": {group: figure_document(figure) for group, figure in point.groups.items()},
            }
            for point in sweep.points
        ],
        "knee": sweep.knee,
        "method": METHOD,
        "recommended": sweep.recommended,
        "reason": sweep.reason,
        "missing": list(sweep.missing),
        "interval_gap": sweep.interval_gap,
        "group_interval_gaps": dict(sweep.group_interval_gaps),
        "mix": None if sweep.mix is None else mix_document(sweep.mix, sweep.mix_summary),
    }
