"""Reports as JSON: schema tokbench.report/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import token_fields
from tokbench.evaluation.comparison_json import comparison_document
from tokbench.evaluation.costs import cost_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.evaluation.report import Report, Use
    from tokbench.metrics.metric import Metric


def report_document(report: Report, *, metrics: Sequence[Metric] | None = None) -> dict[str, Any]:
    """As `--json` prints it: schema tokbench.report/1, the comparison's figures with all that follows.

    With `metrics`, the same with these metrics alone.
    """
    compared = comparison_document(report.comparison, metrics=metrics)
    return {
        **{key: value for key, value in compared.items() if key not in ("baseline", "tokenizers", "summary")},
        "schema": "tokbench.report/1",
        "tokenizer": compared["tokenizers"][0],
        "most_used": [_use(use) for use in report.most_used],
        "least_used": [_use(use) for use in report.least_used],
        "unused": report.unused,
        "deciles": report.deciles,
        "lengths": report.lengths,
        "vocabulary_usage": [asdict(one) for one in report.vocabulary_usage],
        "intermediate_tokens": report.intermediate_tokens,
        "numbers": [
            {
                "digits": one.digits,
                "or_more": one.or_more,
                "numbers": one.numbers,
                "tokens": one.tokens,
            }
            for one in report.numbers
        ],
        "worst_words": {
            group: [
                {"word": word.decode(errors="replace"), "tokens": tokens, "occurrences": count}
                for word, tokens, count in words
            ]
            for group, words in report.evaluated.evaluation.worst_words.items()
        },
        "robustness": [asdict(one) for one in report.robustness],
        "cost": cost_document(report.cost),
    }


def _use(use: Use) -> dict[str, Any]:
    return {
        "id": use.id,
        **token_fields(use.piece),
        "count": use.count,
    }
