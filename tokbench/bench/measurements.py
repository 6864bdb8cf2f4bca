"""The measurements: entrants give equal ids first, then each times all of them in turn, one number per round."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tokbench.core.time_and_memory import in_turns, microseconds_of_each, percentile, seconds_of
from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokbench.bench.entrants import Entrant
    from tokbench.bench.runner import Runner
    from tokbench.corpus import Document

Rounds = dict[str, list[float]]
"""Name of an entrant → one number for each of its rounds."""
_Item = TypeVar("_Item")
_PERCENTILES = {"p50": 0.50, "p90": 0.90, "p99": 0.99}
_LOOKUPS = 10_000

_PROMPTS = 1000
_PROMPT_CHARACTERS = (20, 200)
_SEED = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a measurement.

    Attributes:
        runs: the maximum number of rounds.
        seconds: the time of one entrant for one measurement, over all rounds.
        threads: the number of threads for batches.
        processors: the number of processors.
    """

    runs: int
    seconds: float
    threads: int
    processors: int


def opening(entrants: Iterable[Entrant], sample: Sample, budget: Budget) -> dict[str, Rounds]:
    """Measure the milliseconds that opening takes, and the MB/s of the first pass after it."""

    def opened(entrant: Entrant) -> tuple[float, float]:
        runners: list[Runner] = []
        loading = seconds_of(lambda: runners.append(entrant.open()))
        return loading, seconds_of(partial(_call_for_each, runners[0].encode, sample.texts))

    found = in_turns(
        {entrant.name: partial(opened, entrant) for entrant in entrants},
        runs=budget.runs,
        seconds=budget.seconds,
    )
    return {
        "load": {name: [loading * 1e3 for loading, _ in rounds] for name, rounds in found.items()},
        "cold": {
            name: [sample.num_bytes / 1e6 / cold for _, cold in rounds] for name, rounds in found.items()
        },
    }


def encoding(entrants: Iterable[Entrant], sample: Sample, budget: Budget) -> dict[str, Rounds]:
    """Measure the MB/s of a pass, text by text; the equality check has filled the caches before."""
    calls = {
        entrant.name: partial(_call_for_each, entrant.runner.encode, sample.texts) for entrant in entrants
    }
    return {"encode": _rates(calls, sample.num_bytes / 1e6, budget)}


def batches(entrants: Iterable[Entrant], sample: Sample, budget: Budget) -> dict[str, Rounds]:
    """Measure the MB/s of all texts in one call, on one thread and on the requested number."""
    entrants, texts = list(entrants), list(sample.texts)
    counts = {"batch_one": 1, "batch": budget.threads} if budget.threads > 1 else {"batch_one": 1}
    return {
        name: _rates(
            {
                entrant.name: partial(entrant.runner.encode_batch, texts, threads)
                for entrant in entrants
                if entrant.runner.encode_batch is not None
                and entrant.runner.can_batch(threads, processors=budget.processors)
            },
            sample.num_bytes / 1e6,
            budget,
        )
        for name, threads in counts.items()
    }


def latencies(entrants: Iterable[Entrant], sample: Sample, budget: Budget) -> dict[str, Rounds]:
    """Measure the microseconds for a short prompt: percentiles over the prompts, for each round."""
    found: dict[str, list[list[float]]] = in_turns(
        {
            entrant.name: partial(microseconds_of_each, entrant.runner.encode, sample.prompts)
            for entrant in entrants
        },
        runs=budget.runs,
        seconds=budget.seconds,
    )
    return {
        percent: {name: [percentile(taken, share) for taken in rounds] for name, rounds in found.items()}
        for percent, share in _PERCENTILES.items()
    }


def lookups(
    entrants: Iterable[Entrant], ids: Mapping[str, Sequence[int]], budget: Budget
) -> dict[str, Rounds]:
    """Measure how many ids per second are turned into bytes, with the ids in the order of the texts.

    Args:
        entrants: the entrants; those without lookups are skipped.
        ids: name of a tokenizer → the ids of the texts.
        budget: the limits.
    """
    calls = {}
    for entrant in entrants:
        if entrant.runner.token_bytes is not None and ids[entrant.tokenizer]:
            repeated = _repeated(ids[entrant.tokenizer], _LOOKUPS)
            calls[entrant.name] = partial(_call_for_each, entrant.runner.token_bytes, repeated)
    return {"lookups": _rates(calls, _LOOKUPS, budget)}


def _rates(calls: Mapping[str, Callable[[], object]], amount: float, budget: Budget) -> Rounds:
    """Return the amount per second, for each round."""
    taken = in_turns(
        {name: partial(seconds_of, call) for name, call in calls.items()},
        runs=budget.runs,
        seconds=budget.seconds,
    )
    return {name: [amount / seconds for seconds in rounds] for name, rounds in taken.items()}


def _call_for_each(call: Callable[[_Item], object], items: Sequence[_Item]) -> None:
    for item in items:
        call(item)


def _repeated(ids: Sequence[int], number: int) -> list[int]:
    """Return the first ids, repeated until there are `number`.

    >>> _repeated([1, 2], 5)
    [1, 2, 1, 2, 1]
    """
    return [*ids[:number], *(ids[position % len(ids)] for position in range(len(ids), number))]


@dataclass(frozen=True, slots=True)
class Sample:
    """The texts to encode, and prompts cut from them.

    Attributes:
        texts: the first documents, the last one possibly truncated.
        num_bytes: their size in UTF-8.
        prompts: parts of them, of 20 to 200 characters if the texts are that long.
    """

    texts: tuple[str, ...]
    num_bytes: int
    prompts: tuple[str, ...]

    @property
    def prompt_characters(self) -> tuple[int, int]:
        """The lengths of the shortest and of the longest prompt."""
        lengths = list(map(len, self.prompts))
        return min(lengths), max(lengths)


def sample_of(documents: Iterable[Document], *, max_bytes: int) -> Sample:
    """Return the first documents, up to this many bytes.

    Raises:
        CorpusError: there is no text.
    """
    texts: list[str] = []
    left = max_bytes
    for document in documents:
        data = document.text.encode()[:left]
        text = data.decode(errors="ignore")  # truncation may split the last character
        if text:
            texts.append(text)
        left -= len(data)
        if left <= 0:
            break
    if not texts:
        raise CorpusError("there is no text to encode", hint="name files with text in them")
    return Sample(tuple(texts), sum(len(text.encode()) for text in texts), _prompts(texts))


def _prompts(texts: list[str]) -> tuple[str, ...]:
    """Cut prompts at random places; longer texts are chosen more often."""
    source = random.Random(_SEED)  # noqa: S311 -- a sample, not a secret
    chosen = source.choices(texts, weights=list(map(len, texts)), k=_PROMPTS)
    prompts = []
    for text in chosen:
        length = source.randint(*_PROMPT_CHARACTERS)
        start = source.randrange(max(len(text) - length, 0) + 1)
        prompts.append(text[start : start + length])
    return tuple(prompts)


_SHOWN = 4


class Expected:
    """The ids of a tokenizer for a sample, which its peers must give, too."""

    def __init__(self, runner: Runner, sample: Sample) -> None:
        self._sample = sample
        self._texts = [_as_list(runner.encode(text)) for text in sample.texts]
        self._prompts = [_as_list(runner.encode(prompt)) for prompt in sample.prompts]
        self._bytes = runner.token_bytes

    @property
    def num_tokens(self) -> int:
        """The total number of ids of the texts."""
        return sum(map(len, self._texts))

    @property
    def ids(self) -> list[int]:
        """The ids of all texts, concatenated."""
        return [id for ids in self._texts for id in ids]

    def difference(self, runner: Runner, *, threads: Sequence[int]) -> str | None:
        """Return the first difference of a runner from the expected ids, in words, or None."""
        parts = (
            ("document", self._sample.texts, self._texts),
            ("prompt", self._sample.prompts, self._prompts),
        )
        for kind, texts, expected in parts:
            for number, (text, ids) in enumerate(zip(texts, expected, strict=True), 1):
                if found := _difference(_as_list(runner.encode(text)), ids):
                    return f"{kind} {number}: {found}"
        return self._batch_difference(runner, threads) or self._byte_difference(runner)

    def _batch_difference(self, runner: Runner, threads: Sequence[int]) -> str | None:
        if runner.encode_batch is None:
            return None
        for count in threads:
            batch = runner.batch_ids(runner.encode_batch(list(self._sample.texts), count))
            if len(batch) != len(self._texts):
                return f"a batch of {len(self._texts)} documents became {len(batch)}"
            for number, (found, ids) in enumerate(zip(batch, self._texts, strict=True), 1):
                if difference := _difference(_as_list(found), ids):
                    return f"document {number} in a batch: {difference}"
        return None

    def _byte_difference(self, runner: Runner) -> str | None:
        if runner.token_bytes is None or self._bytes is None:
            return None
        for id in sorted({id for ids in self._texts for id in ids}):
            if runner.token_bytes(id) != self._bytes(id):
                return f"id {id}: {runner.token_bytes(id)!r} instead of {self._bytes(id)!r}"
        return None


def _as_list(ids: Sequence[int]) -> list[int]:
    return ids if isinstance(ids, list) else list(map(int, ids))


def _difference(found: list[int], expected: list[int]) -> str | None:
    """Return the first position at which two lists of ids differ, in words, or None.

    >>> _difference([1, 2, 9], [1, 2, 3])
    'at token 3 it gives 9 instead of 3'
    """
    if found == expected:
        return None
    position = next(
        (
            index
            for index, (found_id, expected_id) in enumerate(zip(found, expected, strict=False))
            if found_id != expected_id
        ),
        min(len(found), len(expected)),
    )
    return (
        f"at token {position + 1} it gives {_shown(found, position)} instead of {_shown(expected, position)}"
    )


def _shown(ids: list[int], position: int) -> str:
    return " ".join(map(str, ids[position : position + _SHOWN])) or "nothing"
