"""Run a benchmark: open all entrants, check that their ids are equal, measure."""

from __future__ import annotations

import json
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.bench import measurements
from tokbench.bench.entrants import entrant_of, first_line, is_of_library, peer_of
from tokbench.bench.measurements import Expected
from tokbench.bench.results import MEASURES, PARTS, Bench, Entry, Figure, LeftOut, leader_of, this_machine
from tokbench.core.module_process import end_process, start_module
from tokbench.core.progress import no_progress
from tokbench.core.time_and_memory import Spread, ratios
from tokbench.distributed.engines.open import usable_processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tokbench.bench.entrants import Entrant, Subject
    from tokbench.bench.measurements import Rounds, Sample
    from tokbench.bench.peers import Peer
    from tokbench.core.progress import Progress

_PATIENCE_SECONDS = 600


def run_bench(
    subjects: Sequence[Subject],
    sample: Sample,
    *,
    peers: Sequence[Peer] = (),
    parts: Sequence[str] = PARTS,
    runs: int = 5,
    seconds: float = 5.0,
    threads: int | None = None,
    progress: Progress = no_progress,
) -> Bench:
    """Time tokenizers, and the same tokenizers in other libraries, on the same texts.

    Args:
        subjects: the tokenizers, at least one; the first is the baseline.
        sample: the texts to encode.
        peers: the libraries; one that is not installed, or cannot run a tokenizer, is left out and reported.
        parts: which of `PARTS` to measure.
        runs: the maximum number of rounds.
        seconds: the time for each entrant in one measurement; each has at least one round.
        threads: the number of threads for batches; None for all processors.
        progress: called with the progress of the work.

    Raises:
        StoreError, ModelFormatError, ConfigError: a tokenizer cannot be opened.
        TextError: a tokenizer cannot encode the texts.
    """
    processors = usable_processors()
    budget = measurements.Budget(runs, seconds, threads or processors, processors)
    with tempfile.TemporaryDirectory(prefix="tokbench-bench-") as folder:
        run = _BenchRun(subjects, sample, peers, Path(folder), budget=budget, progress=progress)
        found = run.measured([part for part in PARTS if part in parts])
    return Bench(
        entries=tuple(_entry(entrant, found, baseline=subjects[0].name) for entrant in run.entrants),
        baseline=subjects[0].name,
        parts=tuple(part for part in PARTS if part in parts),
        documents=len(sample.texts),
        num_bytes=sample.num_bytes,
        prompts=len(sample.prompts),
        prompt_characters=sample.prompt_characters,
        threads=budget.threads,
        runs=runs,
        machine=this_machine(),
        left_out=tuple(run.left_out),
        leaders={
            name: leader
            for name, rounds in found.items()
            if (leader := leader_of(rounds, MEASURES[name])) is not None
        },
    )


class _BenchRun:
    """The entrants of one benchmark, and their measurements.

    Attributes:
        entrants: all entrants, including those whose ids differ.
        left_out: the peers that are not available.
    """

    def __init__(
        self,
        subjects: Sequence[Subject],
        sample: Sample,
        peers: Sequence[Peer],
        folder: Path,
        *,
        budget: measurements.Budget,
        progress: Progress,
    ) -> None:
        self.entrants: list[Entrant] = []
        self.left_out = [
            LeftOut(None, peer.name, f"not installed: pip install {peer.name}")
            for peer in peers
            if not peer.is_installed
        ]
        self._sample, self._budget, self._progress, self._folder = sample, budget, progress, folder
        self._ids: dict[str, list[int]] = {}
        installed = [peer for peer in peers if peer.is_installed]
        total = len(subjects) * (1 + len(installed))
        for number, subject in enumerate(subjects):
            progress("checking", number * (1 + len(installed)), total, "tokenizers")
            ours, tokenizer = entrant_of(subject)
            expected = Expected(ours.runner, sample)
            self._ids[subject.name] = expected.ids
            self._enter(ours, expected)
            for position, peer in enumerate(installed, 1):
                progress("checking", number * (1 + len(installed)) + position, total, "tokenizers")
                entrant = peer_of(subject, tokenizer, peer, folder / f"{number}-{peer.name}")
                if isinstance(entrant, str):
                    self.left_out.append(LeftOut(subject.name, peer.name, entrant))
                else:
                    self._enter(entrant, expected)

    def measured(self, parts: Sequence[str]) -> dict[str, Rounds]:
        """Return name of a measure → entrant → one number for each round."""
        equal = [entrant for entrant in self.entrants if entrant.difference is None]
        found: dict[str, Rounds] = {}
        steps = self._steps(equal, parts)
        for number, (name, step) in enumerate(steps):
            self._progress(name, number, len(steps), "measurements")
            found |= step()
        return found

    def _steps(
        self, equal: list[Entrant], parts: Sequence[str]
    ) -> list[tuple[str, Callable[[], dict[str, Rounds]]]]:
        sample, budget = self._sample, self._budget
        steps: dict[str, Callable[[], dict[str, Rounds]]] = {
            "encode": partial(measurements.encoding, equal, sample, budget),
            "batch": partial(measurements.batches, equal, sample, budget),
            "latency": partial(measurements.latencies, equal, sample, budget),
            "lookup": partial(measurements.lookups, equal, self._ids, budget),
            "memory": partial(self._peaks, equal),
        }
        chosen = [(part, steps[part]) for part in parts if part in steps]
        if {"encode", "load"} & set(parts):
            chosen.insert(0, ("load", partial(self._openings, equal, parts)))
        return chosen

    def _openings(self, equal: list[Entrant], parts: Sequence[str]) -> dict[str, Rounds]:
        found = measurements.opening(equal, self._sample, self._budget)
        part_of = {"load": "load", "cold": "encode"}
        return {name: rounds for name, rounds in found.items() if part_of[name] in parts}

    def _peaks(self, equal: Iterable[Entrant]) -> dict[str, Rounds]:
        texts = self._folder / "texts.jsonl"
        with texts.open(
            "w", encoding="utf-8", newline=""
        ) as file:  # by line, as a reader keeps one in memory
            file.writelines(f"{json.dumps(text)}\n" for text in self._sample.texts)
        peaks = {entrant.name: _peak_of(entrant, texts) for entrant in equal}
        return {"memory": {name: [peak / 1e6] for name, peak in peaks.items() if peak is not None}}

    def _enter(self, entrant: Entrant, expected: Expected) -> None:
        threads = sorted({1, self._budget.threads})
        counts = [
            count for count in threads if entrant.runner.can_batch(count, processors=self._budget.processors)
        ]
        try:
            entrant.difference = expected.difference(entrant.runner, threads=counts)
        except BaseException as error:
            if entrant.peer is None or not is_of_library(error):
                raise
            entrant.difference = f"it fails: {first_line(error)}"
        self.entrants.append(entrant)


def _peak_of(entrant: Entrant, texts: Path) -> int | None:
    """Return the peak resident bytes of a process that opens the tokenizer and encodes the texts once.

    This includes the interpreter, the library and one text at a time. Return None if the system does not report it.
    """
    job = json.dumps({"recipe": dict(entrant.recipe), "texts": str(texts)})
    process = start_module("tokbench.bench.worker", encoding="utf-8")
    try:
        answer, _ = process.communicate(job, timeout=_PATIENCE_SECONDS)
        return int(answer) or None
    except (subprocess.SubprocessError, OSError, ValueError):
        return None
    finally:
        end_process(process)  # also after Ctrl-C, when `subprocess.run` would not wait


def _entry(entrant: Entrant, found: dict[str, Rounds], *, baseline: str) -> Entry:
    figures = {}
    for name, rounds in found.items():
        if values := rounds.get(entrant.name):
            base = rounds.get(baseline)
            ratio = ratios(values, base) if base and entrant.name != baseline else None
            figures[name] = Figure(Spread.of(values), ratio)
    return Entry(
        name=entrant.name,
        tokenizer=entrant.tokenizer,
        peer=entrant.peer,
        version=entrant.runner.version,
        vocab_size=entrant.vocab_size,
        figures=figures,
        difference=entrant.difference,
    )
