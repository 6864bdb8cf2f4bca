"""The subjects of the contract of `tokbench.core.interfaces.Tokenizer`: every backend on every kernel.

To add a backend, add a line to `SUBJECTS`.
"""

from __future__ import annotations

import atexit
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from support.kernels import chosen, kernel_named
from support.texts import bundled_texts, texts
from tokbench import store
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

SPECIAL_TOKENS = ("<|endoftext|>", "<pad>")


@dataclass(frozen=True)
class Subject:
    """A backend with options; `kernel` is the value of TOKBENCH_KERNEL while it is trained and opened."""

    backend: str
    kernel: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.backend, *filter(None, [self.kernel]), *map(str, self.options.values())])

    def running(self) -> AbstractContextManager[None]:
        if self.kernel is None:
            return nullcontext()
        kernel_named(self.kernel)  # skips the test where the kernel is absent
        return chosen(self.kernel)

    @property
    def trained(self) -> Tokenizer:
        """The tokenizer trained on the bundled documents, once per process; tests must not change it."""
        if str(self) not in _TRAINED:
            _TRAINED[str(self)] = self.train()
        return _TRAINED[str(self)]

    def train(self, documents: Sequence[str] | None = None) -> Tokenizer:
        """Train a tokenizer on documents, by default on the beginnings of the bundled ones."""
        backend = get_backend(self.backend)
        options = {"vocab_size": 700, "special_tokens": SPECIAL_TOKENS, **self.options}
        has = {field.name for field in fields(backend.config_type)}
        config = backend.config_type(**{name: value for name, value in options.items() if name in has})
        if documents is None:
            documents = [text[:6000] for name, text in bundled_texts().items() if not name.startswith("edge")]
        with self.running():
            return backend.train(documents, config)

    def open(self, directory: Path) -> Tokenizer:
        with self.running():
            return get_backend(self.backend).load(directory, store.read_manifest(directory))


_TRAINED: dict[str, Tokenizer] = {}
atexit.register(_TRAINED.clear)  # before nanobind looks for leaks

SUBJECTS = [
    Subject("bpe", "native"),
    Subject("bpe", "python"),
    Subject("bpe", "native", {"pattern": "qwen2"}),
    Subject("bpe", "python", {"pattern": "qwen2"}),
    Subject("bpe", "native", {"pattern": r"\w{1,9}|\s|[^\w\s]+"}),
    Subject("bpe", "native", {"pattern": "none"}),
    Subject("sentencepiece", options={"vocab_size": 4096, "bos_id": -1, "eos_id": -1}),
    Subject("unigram", options={"vocab_size": 4096, "bos_id": -1, "eos_id": -1}),
    Subject("wordpiece", options={"limit_alphabet": 200}),
    Subject("byte"),
    Subject("char"),
    Subject("word"),
]

texts_with_specials = st.lists(texts | st.sampled_from(SPECIAL_TOKENS), max_size=4).map("".join)


@cache
def sample_texts() -> tuple[str, ...]:
    """Return the beginning of every bundled file, an empty text, and one with special tokens."""
    return (*(text[:400] for text in bundled_texts().values()), "", "a<pad>b<|endoftext|>")
