"""Kernels by name, and one-line counting and learning with a kernel."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest

from tokbench.backends.bpe import reference
from tokbench.backends.bpe.kernel import current_kernel, has_native_kernel
from tokbench.backends.bpe.reference import Merge
from tokbench.backends.bpe.split_patterns import resolve_pattern, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.backends.bpe.kernel import CountedPretokens, Kernel, PretokenCounter

KERNEL_NAMES = ("native", "python")


def kernel_named(name: str) -> Kernel:
    """Return the kernel of a name; skip the test if the native one is missing, or fail under TOKBENCH_KERNEL=native."""
    demanded = os.environ.get("TOKBENCH_KERNEL") == "native"
    if name == "native" and not demanded and not has_native_kernel():
        pytest.skip("the compiled kernel is not installed")
    with chosen(name):
        return current_kernel()


@contextmanager
def chosen(name: str) -> Iterator[None]:
    """Run the body of the context on the kernel of a name, as TOKBENCH_KERNEL does for a user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKBENCH_KERNEL", name)
        yield


def new_counter(
    kernel: Kernel,
    *,
    pattern: str | None = "gpt4",
    special_tokens: Sequence[str] = (),
    threads: int = 1,
    seed: int = 0,
) -> PretokenCounter:
    """Return a counter that has not counted anything yet."""
    return kernel.new_counter(
        pattern=pattern, special_tokens=list(special_tokens), threads=threads, seed=seed
    )


def counted(
    kernel: Kernel,
    texts: Iterable[str],
    *,
    pattern: str = "gpt4",
    special_tokens: Sequence[str] = (),
    threads: int = 1,
    seed: int = 0,
) -> PretokenCounter:
    """Return a finished counter of whole documents."""
    counter = new_counter(kernel, pattern=pattern, special_tokens=special_tokens, threads=threads, seed=seed)
    counter.add_texts(list(texts))
    counter.finish()
    return counter


def counted_words(kernel: Kernel, words: Mapping[str, int], *, seed: int = 0) -> PretokenCounter:
    """Return a finished counter of pre-tokens that were split and counted elsewhere."""
    counter = new_counter(kernel, pattern=None, seed=seed)
    for word, count in words.items():
        counter.add_counted(word, count)
    counter.finish()
    return counter


def counted_by_definition(
    texts: Iterable[str], *, pattern: str = "gpt4", special_tokens: Sequence[str] = ()
) -> Counter[bytes]:
    """Count each pre-token by the reference and the `regex` package."""
    resolved = resolve_pattern(pattern)
    counts: Counter[str] = Counter()
    for text in texts:
        for part in _ordinary_parts(text, tuple(special_tokens)):
            counts.update(split(resolved, part))
    return Counter({pretoken.encode(): count for pretoken, count in counts.items()})


@lru_cache(maxsize=1)
def _ordinary_parts(text: str, special_tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Return what is between the special tokens of a text: once, where it is counted with one pattern after another."""
    parts = reference.cut_at_special_tokens(text, special_tokens)
    return tuple(part.text for part in parts if not part.is_special)


def learn(
    kernel: Kernel,
    counter: CountedPretokens,
    *,
    num_merges: int,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    seed: int = 0,
    threads: int = 1,
) -> tuple[list[Merge], int]:
    """Return the merges that a kernel learns from counted pre-tokens, and the number of tokens in the merged text."""
    pairs, counts, num_tokens = kernel.train(
        counter,
        num_merges=num_merges,
        min_frequency=min_frequency,
        max_token_length=max_token_length or 0,
        seed=seed,
        progress=None,
        threads=threads,
    )
    merges = [
        Merge(left, right, count)
        for (left, right), count in zip(pairs.tolist(), counts.tolist(), strict=True)
    ]
    return merges, num_tokens


def learned(kernel: Kernel, corpus: Mapping[str, int]) -> list[Merge]:
    """Return the first 80 merges that a kernel learns from counted words."""
    merges, _ = learn(kernel, counted_words(kernel, corpus), num_merges=80)
    return merges
