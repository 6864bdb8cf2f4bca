"""Capabilities: optional Protocols that a tokenizer or a backend may implement, and callers ask for by isinstance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tokbench.core.tokens import ModelInput, SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.descriptions import PostProcessing
    from tokbench.core.documents import TextIdentity
    from tokbench.core.encoded import EncodedSpans
    from tokbench.core.interfaces import TrainingRecord
    from tokbench.explain.derivation import Derivation
    from tokbench.explain.records import MergeRecord


class Decoding(Enum):
    """What the text of a token depends on, besides itself."""

    JOINED = "joined"
    """On nothing: the bytes of ids are those of each, joined."""
    FROM_LEFT = "from left"
    """On whether a text begins with it, or does so but for what gives no text, also after a special token; and
    on the token before. What follows only adds to the text."""
    WHOLE = "whole"
    """On anything."""


@runtime_checkable
class TellsDecoding(Protocol):
    """A tokenizer that says how its ids may be decoded in parts; nothing is known of other tokenizers."""

    @property
    def decoding(self) -> Decoding:
        """What the text of a token depends on."""


@runtime_checkable
class SupportsSpans(Protocol):
    """A tokenizer that computes the spans of many texts faster than by `segment`.

    `tokbench.core.token_arrays.encode_spans` asks any tokenizer.
    """

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """The tokens of many texts in arrays: the ids, spans and kinds that `segment` gives."""


@runtime_checkable
class SupportsCounts(Protocol):
    """A tokenizer that counts the tokens of texts faster than it encodes them."""

    def count_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> NDArray[np.int64]:
        """How many ids `encode_batch` would give for each text: int64[len(texts)]."""


@runtime_checkable
class SupportsExplanation(Protocol):
    """A tokenizer that can explain, step by step, how a text becomes its tokens; used by `tokbench.explain`."""

    def derivation(self, text: str) -> Derivation:
        """The steps for a text in which nothing is a special token; their ids are those of `encode`."""


@runtime_checkable
class KnowsMerges(Protocol):
    """A tokenizer whose merges are a list, in the order in which they were learned."""

    @property
    def num_merges(self) -> int:
        """How many there are; 0 where only the ranks of tokens are known."""

    def merge_record(self, rank: int) -> MergeRecord:
        """A merge by its rank, from 0: what it joins, and what is known of how it was learned."""


@runtime_checkable
class SupportsSampling(Protocol):
    """A tokenizer that can segment at random, for regularisation."""

    def sample(
        self, text: str, *, seed: int, alpha: float | None = None, nbest_size: int | None = None
    ) -> list[int]:
        """The ids of one random segmentation; the same for the same arguments.

        `alpha` is how far it may stray: for Unigram the smoothing of Kudo 2018 (smaller is wilder),
        for BPE the dropout probability of Provilkov et al. 2020 (larger is wilder). None takes 0.1.
        """


@runtime_checkable
class SupportsTemplate(Protocol):
    """A tokenizer that knows what a model wants around its texts, and how long they may be."""

    def with_template(
        self, text: str, pair: str | None = None, *, special: SpecialPolicy = SpecialPolicy.TEXT
    ) -> list[int]:
        """The ids of one text, or of two, with the template's special tokens, as [CLS] … [SEP] … [SEP]."""

    def model_input(
        self,
        text: str,
        pair: str | None = None,
        *,
        special: SpecialPolicy = SpecialPolicy.TEXT,
        template: bool = True,
        limits: bool = True,
    ) -> ModelInput:
        """The same with type ids, truncated and padded as the file asks, unless `template` or `limits` is False."""


@runtime_checkable
class KnowsPostProcessing(Protocol):
    """A tokenizer that can describe what is done to the ids of its texts before a model gets them."""

    @property
    def post_processing(self) -> PostProcessing:
        """The template, truncation and padding. Raises `ConfigError` where they cannot be described."""


@runtime_checkable
class RecordsTraining(Protocol):
    """A tokenizer with a record of its training."""

    @property
    def training(self) -> TrainingRecord | None:
        """The record of the training; None for one that was opened."""


@runtime_checkable
class KnowsTrainingText(Protocol):
    """A tokenizer that can tell which text it was trained on."""

    @property
    def training_text(self) -> TextIdentity | None:
        """Which documents that text is made of; None where it is not known."""


@runtime_checkable
class KnowsLoadingTime(Protocol):
    """A tokenizer that can tell how long it took to open it."""

    loading_seconds: float | None
    """Wall seconds, of which the first tokenizer's include the import of its library; None if trained here."""


@runtime_checkable
class MakesReady(Protocol):
    """A tokenizer that prepares for fast encoding only when there is much text, or on request."""

    def make_ready(self) -> None:
        """Prepare now, so that the first texts do not take longer."""


@runtime_checkable
class AdvisesTrainingSize(Protocol):
    """A backend that trains slowly, so that comparisons give it a sample of a large text."""

    @property
    def advised_bytes(self) -> int:
        """The most UTF-8 bytes to train on while somebody waits: about a minute's work."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that `doctor` checked; `passed` is None for mere information."""

    subject: str
    found: str
    passed: bool | None = None
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {"subject": self.subject, "found": self.found, "passed": self.passed, "hint": self.hint}
