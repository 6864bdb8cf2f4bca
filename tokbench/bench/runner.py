"""The calls of one tokenizer in one library that are timed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.core.interfaces import Tokenizer

Threads = Literal["any", "one or all", "all"]
"""On how many threads a library can be asked to encode a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """An open tokenizer, by the calls that are timed.

    Attributes:
        version: the library that runs it, with its version.
        encode: a text → its ids, in whatever holds them there.
        encode_batch: texts and a number of threads → what the library returns; None where it has no such call.
        batch_ids: what `encode_batch` returned → the ids of each text; never timed.
        threads: on how many threads `encode_batch` can run.
        token_bytes: an id → the bytes it stands for; None where the library does not tell.
    """

    version: str
    encode: Callable[[str], Sequence[int]]
    encode_batch: Callable[[list[str], int], Any] | None = None
    batch_ids: Callable[[Any], list[Sequence[int]]] = list
    threads: Threads = "any"
    token_bytes: Callable[[int], bytes] | None = None

    def can_batch(self, threads: int, *, processors: int) -> bool:
        """Whether it encodes a batch on this many threads."""
        if self.encode_batch is None:
            return False
        return (
            self.threads == "any" or threads == processors or (self.threads == "one or all" and threads == 1)
        )


def runner_of(tokenizer: Tokenizer) -> Runner:
    """The runner of a tokenizer of tokbench, on whichever engine."""
    from tokbench import __version__

    return Runner(
        version=f"tokbench {__version__}, {tokenizer.info.kernel}",
        encode=tokenizer.encode,
        encode_batch=lambda texts, threads: tokenizer.encode_batch(texts, threads=threads),
        batch_ids=lambda encoded: [encoded[number] for number in range(len(encoded))],
        token_bytes=tokenizer.token_bytes,
    )
