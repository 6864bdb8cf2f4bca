"""The checks of the BPE kernel for `tokbench doctor`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tokbench.backends.bpe import reference
from tokbench.backends.bpe.kernel import current_kernel, has_native_kernel
from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern, split, split_offsets
from tokbench.core.capabilities import Check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.backends.bpe.kernel import Kernel

_SAMPLE = (
    "It's 12345 o'clock:\n\n    return x_1  # HTTPServer, naïve café 안녕 亚洲AV 👩\u200d👧 e\u0301 \u00a0\t\r\n"
    * 3
)


def examine() -> Iterator[Check]:
    """Yield which kernel runs, whether it splits and trains like the reference, and the version of its tables."""
    kernel = current_kernel()
    yield Check(
        "  kernel",
        kernel.name,
        passed=True if kernel.name == "native" else None,
        hint=None if has_native_kernel() else _INSTALL,
    )
    wrong = [name for name in PATTERN_NAMES if not _splits_alike(kernel, name)]
    found = (
        f"differ from their definition: {', '.join(wrong)}" if wrong else f"{len(PATTERN_NAMES)} as defined"
    )
    yield Check("  split patterns", found, passed=not wrong, hint=_REINSTALL)
    trains = _trains_alike(kernel)
    yield Check("  training", "as the textbook" if trains else "differs", passed=trains, hint=_REINSTALL)
    if has_native_kernel():
        yield from _tables()


def _splits_alike(kernel: Kernel, name: str) -> bool:
    offsets: list[int] = kernel.split(name, _SAMPLE.encode()).tolist()
    return offsets == split_offsets(resolve_pattern(name), _SAMPLE)


def _trains_alike(kernel: Kernel) -> bool:
    counter = kernel.new_counter(pattern="gpt4", special_tokens=[], threads=2, seed=1)
    counter.add_texts([_SAMPLE])
    counter.finish()
    pairs, counts, _ = kernel.train(
        counter, num_merges=64, min_frequency=2, max_token_length=0, seed=1, progress=None
    )
    pretokens = Counter(pretoken.encode() for pretoken in split(resolve_pattern("gpt4"), _SAMPLE))
    expected = reference.train(pretokens, num_merges=64)
    return expected == [
        reference.Merge(left, right, count)
        for (left, right), count in zip(pairs.tolist(), counts.tolist(), strict=True)
    ]


def _tables() -> Iterator[Check]:
    import regex

    from tokbench.native import _bpe

    yield Check("  character tables", f"from {_bpe.UNICODE_TABLES}; installed is regex {regex.__version__}")


_REINSTALL = "pip install --force-reinstall --no-cache-dir tokbench"
_INSTALL = f"with a C++20 compiler installed: {_REINSTALL}"
