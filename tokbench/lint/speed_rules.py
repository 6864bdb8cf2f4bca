"""Rules about speed: inputs whose encoding takes more than linear time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tokbench.core.wording import quoted
from tokbench.lint.findings import Found, Severity
from tokbench.lint.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.core.interfaces import Tokenizer
    from tokbench.lint.target import LintTarget

_UNITS = ("a", " ", "\n", ".", "ab", "é", "中", "a ", "\t ", "0")
_FIRST, _LAST = 1 << 12, 1 << 18
_MEASURABLE = 0.02
"""Minimum time in seconds of a run that is compared with one of four times its length."""
_LINEAR, _QUADRATIC = 4, 16
_LIMIT = 9.0
"""Threshold on the time ratio for four times the length, between linear and quadratic growth."""
_ROUNDS = 3


def _slow_inputs(target: LintTarget) -> Iterator[Found]:
    for unit in _UNITS:
        found = growth(target.tokenizer, unit)
        if found is not None and found[1] > _LIMIT:
            size, ratio, seconds = found
            yield Found(
                subject=f"{quoted(unit)} repeated",
                evidence=f"{size * _LINEAR:,} characters take {seconds:.2f} s, {ratio:.1f} times what {size:,} take",
                details={
                    "characters": size * _LINEAR,
                    "seconds": round(seconds, 4),
                    "ratio": round(ratio, 2),
                },
            )


def growth(tokenizer: Tokenizer, unit: str) -> tuple[int, float, float] | None:
    """Measure how the time to encode a repeated text grows.

    Args:
        tokenizer: the tokenizer.
        unit: the text to repeat.

    Returns:
        (characters, ratio of the times for four times as many and for this many characters, seconds for four times as
        many); None if even the longest text takes too little time to measure.
    """
    size = _FIRST
    while (seconds := _seconds(tokenizer, unit * (size // len(unit)))) < _MEASURABLE:
        size *= 2
        if size > _LAST:
            return None
    ratios = []
    for _ in range(_ROUNDS):
        few = _seconds(tokenizer, unit * (size // len(unit)))
        seconds = _seconds(tokenizer, unit * (_LINEAR * size // len(unit)))
        ratios.append(seconds / max(few, 1e-9))
        if ratios[-1] <= _LIMIT:
            break
    return size, min(ratios), seconds


def _seconds(tokenizer: Tokenizer, text: str) -> float:
    started = time.process_time()
    tokenizer.encode(text)
    return time.process_time() - started


RULES = (
    Rule(
        name="slow-input",
        group="speed",
        severity=Severity.WARNING,
        breaks="A few hundred kilobytes of repeated characters take seconds or minutes, which can stall a service.",
        found="Runs of a character at two lengths, one four times the other, are encoded and timed in turns.",
        remedy="Limit the length of inputs, or of runs in them, before encoding; or use another engine.",
        check=_slow_inputs,
    ),
)
