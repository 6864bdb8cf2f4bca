"""The timed calls of a tokenizer in one library."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.core.interfaces import Tokenizer

Threads = Literal["any", "one or all", "all"]
"""The numbers of threads on which a library can encode a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """An open tokenizer, represented by its timed calls.

    Attributes:
        version: the library that runs it, with its version.
        encode: text → ids, in the library's own container.
        encode_batch: texts, number of threads → the library's result; None if it has no such call.
        batch_ids: result of `encode_batch` → the ids of each text; never timed.
        threads: the numbers of threads that `encode_batch` supports.
        token_bytes: id → bytes; None if the library does not offer it.
    """

    version: str
    encode: Callable[[str], Sequence[int]]
    encode_batch: Callable[[list[str], int], Any] | None = None
    batch_ids: Callable[[Any], list[Sequence[int]]] = list
    threads: Threads = "any"
    token_bytes: Callable[[int], bytes] | None = None

    def can_batch(self, threads: int, *, processors: int) -> bool:
        """Whether it can encode a batch on this number of threads."""
        if self.encode_batch is None:
            return False
        return (
            self.threads == "any" or threads == processors or (self.threads == "one or all" and threads == 1)
        )


def ids_of_buffers(encoded: Any) -> list[Sequence[int]]:
    """Return the ids of each text from two buffers: all ids as uint32, and the offsets of the texts as uint64."""
    ids, offsets = memoryview(encoded[0]).cast("I"), memoryview(encoded[1]).cast("Q").tolist()
    return [ids[start:stop].tolist() for start, stop in pairwise(offsets)]


def runner_of(tokenizer: Tokenizer) -> Runner:
    """Return the runner of one of our tokenizers, on whichever engine."""
    from tokbench import __version__

    return Runner(
        version=f"tokbench {__version__}, {tokenizer.info.kernel}",
        encode=tokenizer.encode,
        encode_batch=lambda texts, threads: tokenizer.encode_batch(texts, threads=threads),
        batch_ids=lambda encoded: [encoded[number] for number in range(len(encoded))],
        token_bytes=tokenizer.token_bytes,
    )
