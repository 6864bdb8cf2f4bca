"""Tokenizers that run on our kernel where it gives their library's ids, and otherwise on that library.

To put a family of tokenizers on the kernel, derive from `KernelOrLibrary` and from the family's class on its library,
in this order, and implement

- `_kernel_use`: which texts the kernel may encode, and the encoder that encodes them: one of `native/encoding` as bound
  to Python, or `NormalizedTexts` around it. A text whose ids are not provably the same is not covered
  (`core/character_agreement.py` tracks the characters on which two Unicode tables may differ). The method returns None
  where the library encodes everything, as for a model with features that the kernel lacks. An encoder in Python, the
  reference or the fallback, is an `EncodesOneByOne`;
- `_kernel_spans`, if the kernel knows the spans of tokens: how to get them; without it the library computes them;
- `_library`, if the class derives from our tokenizer rather than the library's: the object that encodes the other
texts.

All else (decoding, explaining, guarding control tokens, saving) is inherited from the other base class, and so is
encoding under policies for which `_kernel_use` returns None. `opening/native_with_fallback.py` is the shortest example.

These tests check a family; add a case for it to each:

- `tests/contract/test_arguments.py`, `ADAPTERS`: arguments that are not text are rejected as by the library;
- `tests/unit/core/test_token_arrays.py`: `encode_spans` agrees with `segment`;
- `tests/unit/core/test_weak_methods.py`: it is freed with its last reference (what it holds calls it by `weakly`);
- a Hypothesis test in `tests/parity` or `tests/properties`: ids, counts and spans equal those of the class on its
  library for texts of all kinds, under every policy, and most texts are covered.

The choice between kernel and library is tested once for all families in `tests/unit/core/test_kernel_or_library.py`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from tokbench.core.base import BaseTokenizer, surrogate_error, surrogates_named, utf8
from tokbench.core.special_tokens import check_policy
from tokbench.core.tokens import Encoded, Segmentation, SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.kernel_spans import KernelSpans
    from tokbench.core.tokens import Batch, EncodedSpans, Token


class KernelEncoder(Protocol):
    """Encodes texts, as the encoders of `native/encoding` do; knows no special tokens."""

    def encode(self, text: str) -> list[int]:
        """Encode a text. Raises UnicodeEncodeError for lone surrogates, as all methods do."""

    def encode_batch(self, texts: list[str], threads: int) -> Batch:
        """Encode many texts; return their ids and int64[len(texts) + 1] offsets."""

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        """Return the number of ids of each text, without producing the ids."""


class EncodesOneByOne(ABC):
    """A `KernelEncoder` in Python that encodes texts one at a time."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Encode a text. Raises UnicodeEncodeError for lone surrogates."""

    def encode_batch(self, texts: list[str], threads: int) -> Batch:
        """Encode many texts; return their ids and int64[len(texts) + 1] offsets."""
        import numpy as np

        del threads
        encoded = list(map(self.encode, texts))
        offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(texts) + 1)
        return np.array([id for ids in encoded for id in ids], dtype=np.uint32), offsets

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        """Return the number of ids of each text."""
        import numpy as np

        del threads
        return np.fromiter((len(self.encode(text)) for text in texts), np.int64, len(texts))


class NormalizedFirst(NamedTuple):
    """An encoder of texts that are normalized in Python to decide whether they are covered.

    Attributes:
        normalized: a text → the normalized text if it is covered and encoded by `encode_batch`; else None.
        encode_batch: normalized texts and threads → their ids and int64[len(texts) + 1] offsets.
    """

    normalized: Callable[[str], str | None]
    encode_batch: Callable[[list[str], int], Batch]


class KernelUse(NamedTuple):
    """The kernel's encoder under one policy, and the texts that it may encode.

    Attributes:
        covers: whether the kernel gives the library's ids for a text. For a text with a lone surrogate it returns
            False or raises UnicodeEncodeError.
        encoder: encodes the texts that are covered.
        covers_all: texts and threads → whether all of them are covered, where this can be decided faster than text by
            text; False also where it is not known. It may overlook lone surrogates: the encoder raises for them.
        encode_covered: texts and threads → the result of `encoder.encode_batch` if all of them are covered, for an
            encoder that checks coverage while it encodes; None if they are not covered, or it is not known.
        refused: an id that the encoder gives where the library may refuse the text: the kernel runs no text that
            gets it. None if there is no such id.
        normalized_first: encodes most of the covered texts, normalizing each only once; None if there is nothing to
            save.
    """

    covers: Callable[[str], bool]
    encoder: KernelEncoder
    covers_all: Callable[[Sequence[str], int], bool] | None = None
    encode_covered: Callable[[list[str], int], Batch | None] | None = None
    refused: int | None = None
    normalized_first: NormalizedFirst | None = None

    def runs(self, text: str) -> bool:
        """Whether the kernel runs a text, which it has to encode if there is an id that is refused."""
        return self.covers(text) and (self.refused is None or self.refused not in self.encoder.encode(text))

    def encoded_at_once(self, texts: Sequence[str], threads: int) -> Batch | None:
        """Encode the texts if the kernel runs all of them; return None if that is not known at once."""
        if not len(texts):
            return None
        batch = None if self.encode_covered is None else self.encode_covered(list(texts), threads)
        if batch is None and self.runs_all(texts, threads):
            batch = self.encoder.encode_batch(list(texts), threads)
        is_refused = batch is not None and self.refused is not None and (batch[0] == self.refused).any()
        return None if is_refused else batch

    def runs_all(self, texts: Sequence[str], threads: int) -> bool:
        """Whether the kernel covers all of the texts; False also where that is not known at once."""
        return self.covers_all is not None and len(texts) > 0 and self.covers_all(texts, threads)


class OnLibrary(Protocol):
    """The methods of the library, with the contracts of `BaseTokenizer` and `SupportsSpans`."""

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """Encode a text."""

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text."""

    def segment_ordinary(self, text: str) -> Iterable[Token]:
        """Segment text, treating special tokens as ordinary text."""

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """Encode many texts into arrays."""

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """Encode many texts into arrays with spans."""


class KernelOrLibrary(BaseTokenizer):
    """A tokenizer with its library's ids for every text, encoded by our kernel where both agree."""

    @abstractmethod
    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        """Return the use of the kernel under a policy; None if the other base class encodes."""

    @property
    def _kernel_spans(self) -> KernelSpans | None:
        """How the kernel computes spans; None if the library does."""
        return None

    @property
    def _library(self) -> OnLibrary:
        """The object that encodes the texts that the kernel does not cover; accessed only when such a text occurs."""
        return cast("OnLibrary", super())

    @cached_property
    def _ordinary_use(self) -> KernelUse | None:
        return self._kernel_use(SpecialPolicy.TEXT)

    def _use_for(self, special: SpecialPolicy) -> KernelUse | None:
        if special is SpecialPolicy.TEXT:
            return self._ordinary_use
        check_policy(special)
        return self._kernel_use(special)

    def _expect(self, texts: Sequence[str]) -> None:
        """Prepare for a batch, before it is decided which of its texts the kernel runs."""

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """Encode a text. Raises `SpecialTokenError` under `SpecialPolicy.RAISE`, `TextError` for surrogates."""
        use = self._use_for(special)
        if use is None:
            return super().encode(text, special=special)
        if _is_covered(text, use.covers):
            ids = use.encoder.encode(text)
            if use.refused is None or use.refused not in ids:
                return ids
        return self._library.encode(text, special=special)

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text. Raises `TextError` for surrogates."""
        use = self._ordinary_use
        if use is None:
            return super().encode_ordinary(text)
        if _is_covered(text, use.covers):
            ids = use.encoder.encode(text)
            if use.refused is None or use.refused not in ids:
                return ids
        return self._library.encode_ordinary(text)

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """Encode many texts into arrays, on `threads` threads (None: one a processor). Raises as `encode`."""
        from tokbench.core.token_arrays import changed_ids, divided_ids

        use = self._use_for(special)
        if use is None:
            return super().encode_batch(texts, special=special, threads=threads)
        self._expect(texts)
        with surrogates_named(texts):
            encoded = use.encoded_at_once(texts, _num_threads(threads))
            if encoded is not None:
                return Encoded(*encoded)
            divide = partial(
                divided_ids,
                where=use.runs,
                then=lambda texts: Encoded(*use.encoder.encode_batch(list(texts), _num_threads(threads))),
                otherwise=lambda texts: self._library.encode_batch(texts, special=special, threads=threads),
            )
            if use.normalized_first is None or use.refused is not None:
                return divide(texts)
            normalized, encode_batch = use.normalized_first
            return changed_ids(
                texts,
                change=normalized,
                then=lambda texts: Encoded(*encode_batch(texts, _num_threads(threads))),
                otherwise=divide,
            )

    def count_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> NDArray[np.int64]:
        """Return how many ids `encode_batch` would give, without building them where possible. Raises as it does."""
        use = self._use_for(special)
        self._expect(texts)
        with surrogates_named(texts):
            if (
                use is not None
                and use.refused is None  # which only encoding finds
                and len(texts)
                and (
                    use.runs_all(texts, _num_threads(threads))
                    # Otherwise, covered texts are normalized already, and encoding them takes no longer than that.
                    or (use.normalized_first is None and all(map(use.covers, texts)))
                )
            ):
                return use.encoder.count_batch(list(texts), _num_threads(threads))
        return self.encode_batch(texts, special=special, threads=threads).counts

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """Encode many texts into arrays with spans. Raises `TextError` for surrogates."""
        from tokbench.core.token_arrays import divided

        kernel = self._kernel_spans
        if kernel is None:
            return self._library.encode_spans(texts, threads=threads)
        self._expect(texts)
        with surrogates_named(texts):
            return divided(
                texts,
                where=kernel.covers,
                then=partial(kernel.encode_spans, threads=threads),
                otherwise=lambda texts: self._library.encode_spans(texts, threads=threads),
            )

    def segment(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> Segmentation:
        """Return the tokens of a text with their bytes and spans; their ids equal those of `encode`."""
        if special is not SpecialPolicy.TEXT:
            return super().segment(text, special=special)
        utf8(text)
        return Segmentation(text=text, tokens=tuple(self.segment_ordinary(text)))

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        """Segment text, treating special tokens as ordinary text; spans are relative to its beginning."""
        kernel = self._kernel_spans
        if kernel is None or not _is_covered(text, kernel.covers):
            return iter(self._library.segment_ordinary(text))
        return kernel.segment(text)


class NormalizedTexts:
    """An encoder that normalizes texts before it passes them to the kernel.

    Args:
        encoder: encodes normalized texts.
        normalize: normalizes a text.
    """

    def __init__(self, encoder: KernelEncoder, normalize: Callable[[str], str]) -> None:
        self._encoder = encoder
        self._normalize = normalize

    def encode(self, text: str) -> list[int]:
        """Encode a text."""
        return self._encoder.encode(self._normalize(text))

    def encode_batch(self, texts: list[str], threads: int) -> Batch:
        """Encode many texts; return their ids and int64[len(texts) + 1] offsets."""
        return self._encoder.encode_batch(list(map(self._normalize, texts)), threads)

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        """Return the number of ids of each text."""
        return self._encoder.count_batch(list(map(self._normalize, texts)), threads)


def _is_covered(text: str, covers: Callable[[str], bool]) -> bool:
    """Whether the kernel covers a text. Raises `TextError` for lone surrogates and for arguments that are not text."""
    if type(text) is not str:
        utf8(text)
    try:
        return covers(text)
    except UnicodeEncodeError as error:
        raise surrogate_error(error) from None


def _num_threads(threads: int | None) -> int:
    return threads or os.cpu_count() or 1
