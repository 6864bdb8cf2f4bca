"""The results of a benchmark: frozen dataclasses that serialize to JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.core.time_and_memory import Spread

SCHEMA = "tokbench.bench/1"
PARTS = ("encode", "batch", "latency", "lookup", "load", "memory")
"""What can be measured, by the names that `--only` takes."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that is measured.

    Attributes:
        name: in JSON and CSV.
        title: of its column.
        unit: in words.
        part: one of `PARTS`.
        better: whether higher or lower is better.
    """

    name: str
    title: str
    unit: str
    part: str
    better: Literal["higher", "lower"]


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("encode", "MB/s", "MB/s, a text at a time, warm", "encode", "higher"),
        Measure("cold", "cold", "MB/s of the first pass of a freshly opened tokenizer", "encode", "higher"),
        Measure("batch_one", "batch, 1", "MB/s, all texts in one call, one thread", "batch", "higher"),
        Measure("batch", "batch", "MB/s, all texts in one call, on the threads", "batch", "higher"),
        Measure("p50", "p50 µs", "microseconds for a short prompt, the median", "latency", "lower"),
        Measure("p90", "p90 µs", "microseconds for a short prompt, the 90th percentile", "latency", "lower"),
        Measure("p99", "p99 µs", "microseconds for a short prompt, the 99th percentile", "latency", "lower"),
        Measure("lookups", "look-ups/s", "ids looked up as bytes, per second", "lookup", "higher"),
        Measure("load", "load ms", "milliseconds to load it, its library imported already", "load", "lower"),
        Measure("memory", "peak MB", "peak resident memory of a process", "memory", "lower"),
    )
}
"""Every figure by its name."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of one tokenizer.

    Attributes:
        value: over the runs.
        ratio: to the baseline, round by round; None for the baseline, and where that has no such figure.
    """

    value: Spread
    ratio: Spread | None

    def to_json(self) -> dict[str, Any]:
        """This as plain data for JSON."""
        return {**self.value.to_json(), "ratio": None if self.ratio is None else self.ratio.to_json()}


@dataclass(frozen=True, slots=True)
class Entry:
    """One tokenizer in one library.

    Attributes:
        name: unique among those compared.
        tokenizer: the tokenizer that it is, as it was named.
        peer: the library, where it is not tokbench; else None.
        version: what runs it, with its version.
        vocab_size: entries.
        figures: by the names of `MEASURES`; those that could not be had are missing.
        difference: where it first gave something else than the tokenizer; then nothing was timed.
    """

    name: str
    tokenizer: str
    peer: str | None
    version: str
    vocab_size: int
    figures: Mapping[str, Figure]
    difference: str | None = None

    def to_json(self) -> dict[str, Any]:
        """This as plain data for JSON."""
        return {
            "name": self.name,
            "tokenizer": self.tokenizer,
            "peer": self.peer,
            "version": self.version,
            "vocab_size": self.vocab_size,
            "equal": self.difference is None,
            "difference": self.difference,
            "figures": {name: figure.to_json() for name, figure in self.figures.items()},
        }


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A peer that was asked for and is not among the entries.

    Attributes:
        tokenizer: whose peer it would be; None where that does not matter.
        peer: its name.
        reason: why.
    """

    tokenizer: str | None
    peer: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        """This as plain data for JSON."""
        return {"tokenizer": self.tokenizer, "peer": self.peer, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine of the measurements."""

    cpu: str
    processors: int
    system: str
    python: str
    tokbench: str
    date: str

    def to_json(self) -> dict[str, Any]:
        """This as plain data for JSON."""
        return {
            "cpu": self.cpu,
            "processors": self.processors,
            "system": self.system,
            "python": self.python,
            "tokbench": self.tokbench,
            "date": self.date,
        }


@dataclass(frozen=True, slots=True)
class Bench:
    """Tokenizers and their peers, timed on the same text.

    Attributes:
        entries: each tokenizer with its peers after it, in the order in which they were named.
        baseline: the name of the one that ratios are taken to: the first.
        parts: which of `PARTS` were measured.
        documents: how many were encoded.
        num_bytes: their UTF-8 bytes.
        prompts: how many prompts were encoded for the latency.
        threads: of a batch.
        runs: rounds at most.
        machine: where.
        left_out: peers that were asked for and are not there, or cannot run a tokenizer.
    """

    entries: tuple[Entry, ...]
    baseline: str
    parts: tuple[str, ...]
    documents: int
    num_bytes: int
    prompts: int
    threads: int
    runs: int
    machine: Machine
    left_out: tuple[LeftOut, ...]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The figures of the measured parts, without those that no entrant has."""
        return tuple(
            measure
            for measure in MEASURES.values()
            if any(measure.name in entry.figures for entry in self.entries)
        )

    def best(self, measure: Measure) -> float | None:
        """The best median of a figure; None where there are not two to choose between."""
        values = [
            one.figures[measure.name].value.median for one in self.entries if measure.name in one.figures
        ]
        if len(values) < 2:
            return None
        return max(values) if measure.better == "higher" else min(values)

    def to_json(self) -> dict[str, Any]:
        """This as plain data for JSON."""
        return {
            "schema": SCHEMA,
            "machine": self.machine.to_json(),
            "text": {"documents": self.documents, "bytes": self.num_bytes, "prompts": self.prompts},
            "threads": self.threads,
            "runs": self.runs,
            "baseline": self.baseline,
            "units": {measure.name: measure.unit for measure in self.measures},
            "tokenizers": [entry.to_json() for entry in self.entries],
            "left_out": [one.to_json() for one in self.left_out],
        }
