"""The manifest of a saved tokenizer; `tokbench.store` writes and reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SelfTestSample:
    """A text and the ids it had when the tokenizer was saved."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of `tokbench.json`, the manifest of a saved tokenizer.

    Attributes:
        name: the name that the user gave.
        backend: the registered backend that created it and can load it.
        kernel: the code that ran when it was created: "native", "python", or a library with its version.
        vocab_size: the number of ids, including those of special tokens; every id is below it.
        special_tokens: text → id.
        config: the backend's resolved options, plain JSON.
        training: documents, bytes, fingerprint … of the training text, plain JSON; None if unknown.
        versions: "tokbench", "python" and the libraries that the ids depend on → version.
        files: the other files of the folder → sha256 in hexadecimal; set by `store.write`.
        self_test: texts with the ids that they must have after loading.
        roles: role of a special token for a model ("bos", "turn_end", …) → its text.
    """

    name: str
    backend: str
    kernel: str
    vocab_size: int
    special_tokens: Mapping[str, int]
    config: Mapping[str, Any]
    training: Mapping[str, Any] | None
    versions: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    self_test: tuple[SelfTestSample, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
