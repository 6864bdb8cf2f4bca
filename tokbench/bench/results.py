"""The results of a benchmark, with the machine that it ran on: frozen dataclasses that serialize to JSON."""

from __future__ import annotations

import datetime
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tokbench.distributed.engines.open import usable_processors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.time_and_memory import Spread


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine on which a benchmark ran."""

    cpu: str
    processors: int
    system: str
    python: str
    tokbench: str
    date: str


def this_machine() -> Machine:
    """Return a description of this machine."""
    from tokbench import __version__

    return Machine(
        cpu=_cpu(),
        processors=usable_processors(),
        system=f"{platform.system()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        tokbench=__version__,
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
    )


def _cpu() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine() or "unknown"


SCHEMA = "tokbench.bench/1"
PARTS = ("encode", "batch", "latency", "lookup", "load", "memory")
"""What can be measured, by the names for `--only`."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measured figure.

    Attributes:
        name: its name in JSON and CSV.
        title: the title of its column.
        unit: its unit, in words.
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
"""Name → measure."""


def leader_of(rounds: Mapping[str, Sequence[float]], measure: Measure) -> str | None:
    """Return the entry that is better than every other in each round; None if there is none.

    One round does not show how much a figure varies. An entry that was too slow for a second round is compared by its
    only one with every round of the other.

    Args:
        rounds: name of an entry → its figure in each round.
        measure: which figures are better.

    >>> leader_of({"a": [5.0, 6.0], "b": [4.0, 5.0], "c": [1.0]}, MEASURES["encode"])
    'a'
    >>> leader_of({"a": [5.0, 6.0], "b": [5.1, 4.0]}, MEASURES["encode"]) is None
    True
    """
    sign = 1 if measure.better == "higher" else -1

    def beats(one: Sequence[float], other: Sequence[float]) -> bool:
        others = other if len(other) > 1 else [other[0]] * len(one)
        return all(sign * value > sign * theirs for value, theirs in zip(one, others, strict=False))

    return next(
        (
            name
            for name, own in rounds.items()
            if len(own) > 1 < len(rounds)
            and all(beats(own, others) for other, others in rounds.items() if other != name)
        ),
        None,
    )


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of one entrant.

    Attributes:
        value: the distribution over the rounds.
        ratio: the ratio to the baseline, round by round; None for the baseline, or if that lacks the figure.
    """

    value: Spread
    ratio: Spread | None

    def to_json(self) -> dict[str, Any]:
        """Return the figure as plain data for JSON."""
        return {**self.value.to_json(), "ratio": None if self.ratio is None else self.ratio.to_json()}


@dataclass(frozen=True, slots=True)
class Entry:
    """A tokenizer in one library.

    Attributes:
        name: its name, unique within the benchmark.
        tokenizer: the name of the subject.
        peer: the library, or None for tokbench.
        version: the library that runs it, with its version.
        vocab_size: the size of the vocabulary.
        figures: name of a measure → figure; unavailable figures are missing.
        difference: the first difference from the subject, in words; if there is one, nothing was timed.
    """

    name: str
    tokenizer: str
    peer: str | None
    version: str
    vocab_size: int
    figures: Mapping[str, Figure]
    difference: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the entry as plain data for JSON."""
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
    """A requested peer that is not among the entries.

    Attributes:
        tokenizer: the name of the subject; None if it applies to all.
        peer: its name.
        reason: why it was left out.
    """

    tokenizer: str | None
    peer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Bench:
    """The result of timing tokenizers and their peers on the same texts.

    Attributes:
        entries: each tokenizer followed by its peers, in the order given.
        baseline: the name of the entry that ratios refer to: the first.
        parts: which of `PARTS` were measured.
        documents: the number of encoded texts.
        num_bytes: their size in UTF-8.
        prompts: the number of prompts encoded for the latency.
        prompt_characters: the lengths of the shortest and of the longest prompt.
        threads: the number of threads for batches.
        runs: the maximum number of rounds.
        machine: the machine.
        left_out: requested peers that are not installed or cannot run a tokenizer.
        leaders: name of a measure → name of the entry that is better than every other in each round, if there is one.
    """

    entries: tuple[Entry, ...]
    baseline: str
    parts: tuple[str, ...]
    documents: int
    num_bytes: int
    prompts: int
    prompt_characters: tuple[int, int]
    threads: int
    runs: int
    machine: Machine
    left_out: tuple[LeftOut, ...]
    leaders: Mapping[str, str] = field(default_factory=dict)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of the measured parts, without those that no entry has."""
        return tuple(
            measure
            for measure in MEASURES.values()
            if any(measure.name in entry.figures for entry in self.entries)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        return {
            "schema": SCHEMA,
            "machine": asdict(self.machine),
            "text": {"documents": self.documents, "bytes": self.num_bytes, "prompts": self.prompts},
            "threads": self.threads,
            "runs": self.runs,
            "baseline": self.baseline,
            "units": {measure.name: measure.unit for measure in self.measures},
            "leaders": dict(self.leaders),
            "tokenizers": [entry.to_json() for entry in self.entries],
            "left_out": [asdict(peer) for peer in self.left_out],
        }
