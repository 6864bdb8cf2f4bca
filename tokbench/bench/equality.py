"""Check that entrants give equal ids before they are timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.bench.measurements import Sample
    from tokbench.bench.runner import Runner

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
