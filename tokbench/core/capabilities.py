"""Capabilities: optional Protocols that a tokenizer or a backend may implement; callers check with isinstance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tokbench.core.tokens import ModelInput, ScoredSegmentation, SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.descriptions import PostProcessing
    from tokbench.core.documents import TextIdentity
    from tokbench.core.interfaces import TrainingRecord
    from tokbench.core.tokens import EncodedSpans
    from tokbench.explain.derivation import Derivation
    from tokbench.explain.records import MergeRecord


class Decoding(Enum):
    """What the text of a token depends on, besides itself."""

    JOINED = "joined"
    """On nothing: the bytes of ids are the joined bytes of each id."""
    FROM_LEFT = "from left"
    """On whether the token begins the text (tokens without text may stand before it), also after a special token, and
    on the token before it. The tokens after it only append to the text."""
    WHOLE = "whole"
    """On any other token."""


@runtime_checkable
class TellsDecoding(Protocol):
    """A tokenizer that says how its ids may be decoded in parts; nothing may be assumed of other tokenizers."""

    @property
    def decoding(self) -> Decoding:
        """What the text of a token depends on."""


@runtime_checkable
class SupportsSpans(Protocol):
    """A tokenizer that computes the spans of many texts faster than through `segment`.

    `tokbench.core.token_arrays.encode_spans` works for any tokenizer.
    """

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """Encode many texts into arrays with the ids, spans and kinds that `segment` gives."""


@runtime_checkable
class SupportsCounts(Protocol):
    """A tokenizer that counts the tokens of texts faster than it encodes them."""

    def count_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> NDArray[np.int64]:
        """Return the number of ids that `encode_batch` would give for each text: int64[len(texts)]."""


@runtime_checkable
class SupportsExplanation(Protocol):
    """A tokenizer that can explain, step by step, how a text becomes its tokens; used by `tokbench.explain`."""

    def derivation(self, text: str) -> Derivation:
        """Return the steps for a text in which nothing is a special token; their ids equal those of `encode`."""


@runtime_checkable
class KnowsMerges(Protocol):
    """A tokenizer whose merges are a list, in the order in which they were learned."""

    @property
    def num_merges(self) -> int:
        """The number of merges; 0 if only the ranks of tokens are known."""

    def merge_record(self, rank: int) -> MergeRecord:
        """Return the merge of a rank, from 0: the tokens that it joins, and what is known about how it was learned."""


@runtime_checkable
class SupportsSampling(Protocol):
    """A tokenizer that can segment at random, for regularisation."""

    def sample(
        self, text: str, *, seed: int, alpha: float | None = None, nbest_size: int | None = None
    ) -> list[int]:
        """Return the ids of one random segmentation; the same arguments give the same ids.

        `alpha` controls how far it departs from `encode`: for Unigram the smoothing of Kudo 2018 (smaller is wilder),
        for BPE the dropout probability of Provilkov et al. 2020 (larger is wilder). None takes 0.1.
        """


@runtime_checkable
class SupportsNBest(Protocol):
    """A tokenizer that can list the most probable segmentations of a text: Unigram."""

    def n_best(self, text: str, *, n: int) -> list[ScoredSegmentation]:
        """Return the `n` most probable segmentations, the best first; fewer if the text has fewer."""


@runtime_checkable
class SupportsScores(Protocol):
    """A tokenizer whose tokens have scores: the pieces of a SentencePiece model."""

    def score(self, id: int) -> float | None:
        """Return the log probability of a token (Unigram) or its negative rank (BPE); None if it has no score.

        Raises `UnknownIdError`.
        """


@runtime_checkable
class SupportsPreTokens(Protocol):
    """A tokenizer that splits a text into pre-tokens before it encodes them: byte-level BPE."""

    def pretokens(self, text: str) -> list[str]:
        """Return the pre-tokens of a text, treating special tokens as ordinary text."""


@runtime_checkable
class SupportsTemplate(Protocol):
    """A tokenizer that knows the template and the length limits of a model's input."""

    def with_template(
        self, text: str, pair: str | None = None, *, special: SpecialPolicy = SpecialPolicy.TEXT
    ) -> list[int]:
        """Encode one text or a pair with the template's special tokens, such as [CLS] … [SEP] … [SEP]."""

    def model_input(
        self,
        text: str,
        pair: str | None = None,
        *,
        special: SpecialPolicy = SpecialPolicy.TEXT,
        template: bool = True,
        limits: bool = True,
    ) -> ModelInput:
        """Return ids and type ids; by default with the template, and truncated and padded as the file says."""


@runtime_checkable
class KnowsPostProcessing(Protocol):
    """A tokenizer that can describe how the ids of its texts are post-processed for a model."""

    @property
    def post_processing(self) -> PostProcessing:
        """The template, truncation and padding. Raises `ConfigError` if they cannot be described."""


@runtime_checkable
class RecordsTraining(Protocol):
    """A tokenizer with a record of its training."""

    @property
    def training(self) -> TrainingRecord | None:
        """The record of the training; None for a tokenizer that was opened from a file."""


@runtime_checkable
class KnowsTrainingText(Protocol):
    """A tokenizer that can tell which text it was trained on."""

    @property
    def training_text(self) -> TextIdentity | None:
        """The identity of the training text's documents; None if it is not known."""


@runtime_checkable
class KnowsLoadingTime(Protocol):
    """A tokenizer that can tell how long opening it took."""

    loading_seconds: float | None
    """Wall seconds, including the import of the library for its first tokenizer; None if trained in this process."""


@runtime_checkable
class MakesReady(Protocol):
    """A tokenizer that prepares for fast encoding only on request, or once there is much text."""

    def make_ready(self) -> None:
        """Prepare now, so that the first texts are not slower."""


@runtime_checkable
class AdvisesTrainingSize(Protocol):
    """A backend that trains slowly, so that comparisons train it on a sample of a large text."""

    @property
    def advised_bytes(self) -> int:
        """The most UTF-8 bytes to train on while a user waits: about a minute of training."""


@dataclass(frozen=True, slots=True)
class Check:
    """One item that `doctor` checked; `passed` is None for an item that is only informative."""

    subject: str
    found: str
    passed: bool | None = None
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the check as part of the `--json` output."""
        return {"subject": self.subject, "found": self.found, "passed": self.passed, "hint": self.hint}
