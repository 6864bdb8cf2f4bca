"""The measurements: each times all entrants in turns and returns one number for each round."""

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
"""Name of an entrant → a number for each round that it was in."""
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
        runs: rounds at most.
        seconds: what one entrant may take for one measurement, in all rounds.
        threads: of a batch.
        processors: how many there are.
    """

    runs: int
    seconds: float
    threads: int
    processors: int


def opening(entrants: Iterable[Entrant], sample: Sample, budget: Budget) -> dict[str, Rounds]:
    """Milliseconds that opening takes, and MB/s of the first pass after it."""

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
    """MB/s of a pass, text by text; the check before it was the pass that fills caches."""
    calls = {
        entrant.name: partial(_call_for_each, entrant.runner.encode, sample.texts) for entrant in entrants
    }
    return {"encode": _rates(calls, sample.num_bytes / 1e6, budget)}


def batches(entrants: Iterable[Entrant], sample: Sample, budget: Budget) -> dict[str, Rounds]:
    """MB/s of all texts in one call, on one thread and on as many as are wanted."""
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
    """Microseconds for a short prompt: percentiles over the prompts, round by round."""
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
    """Ids turned into bytes a second, of ids as they stand in the text.

    Args:
        entrants: those that can.
        ids: tokenizer → the ids of the texts.
        budget: how much.
    """
    calls = {}
    for entrant in entrants:
        if entrant.runner.token_bytes is not None and ids[entrant.tokenizer]:
            some = _repeated(ids[entrant.tokenizer], _LOOKUPS)
            calls[entrant.name] = partial(_call_for_each, entrant.runner.token_bytes, some)
    return {"lookups": _rates(calls, _LOOKUPS, budget)}


def _rates(calls: Mapping[str, Callable[[], object]], amount: float, budget: Budget) -> Rounds:
    """How much of something is done in a second, round by round."""
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
    """The first ids, again from the beginning until there are enough.

    >>> _repeated([1, 2], 5)
    [1, 2, 1, 2, 1]
    """
    return [*ids[:number], *(ids[position % len(ids)] for position in range(len(ids), number))]


@dataclass(frozen=True, slots=True)
class Sample:
    """The texts to encode, and prompts cut from them.

    Attributes:
        texts: the first documents, the last one cut.
        num_bytes: their UTF-8 bytes.
        prompts: pieces of them, of 20 to 200 characters where the texts are that long.
    """

    texts: tuple[str, ...]
    num_bytes: int
    prompts: tuple[str, ...]


def sample_of(documents: Iterable[Document], *, max_bytes: int) -> Sample:
    """The first documents, as they are, up to this many bytes.

    Raises:
        CorpusError: there is no text.
    """
    texts: list[str] = []
    left = max_bytes
    for document in documents:
        data = document.text.encode()[:left]
        text = data.decode(errors="ignore")  # the last one may be cut inside a character
        if text:
            texts.append(text)
        left -= len(data)
        if left <= 0:
            break
    if not texts:
        raise CorpusError("there is no text to encode", hint="name files with text in them")
    return Sample(tuple(texts), sum(len(text.encode()) for text in texts), _prompts(texts))


def _prompts(texts: list[str]) -> tuple[str, ...]:
    """Cut anywhere; long texts are cut more often."""
    source = random.Random(_SEED)  # noqa: S311 -- a sample, not a secret
    chosen = source.choices(texts, weights=list(map(len, texts)), k=_PROMPTS)
    prompts = []
    for text in chosen:
        length = source.randint(*_PROMPT_CHARACTERS)
        start = source.randrange(max(len(text) - length, 0) + 1)
        prompts.append(text[start : start + length])
    return tuple(prompts)
