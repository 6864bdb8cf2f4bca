"""A byte-level BPE from elsewhere on our kernel, with the library it came from behind it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.base import surrogate_error, utf8
from tokbench.core.capabilities import SupportsExplanation
from tokbench.core.tokens import SpecialPolicy
from tokbench.store.saveable import SaveableTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.backends.bpe.kernel import Kernel
    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.core.encoded import Encoded, EncodedSpans
    from tokbench.core.tokens import Token
    from tokbench.explain.derivation import Derivation
    from tokbench.opening.unicode_agreement import UnicodeAgreement


class NativeBpeWithFallback(BpeTokenizer):
    """A tokenizer with its library's ids for every text, run on our kernel where the two agree.

    A text with a character that the library and the kernel put into different classes goes to the
    library, which is opened when the first such text comes.
    """

    _agreement: UnicodeAgreement
    _open_library: Callable[[], SaveableTokenizer]
    _library: SaveableTokenizer | None = None

    @classmethod
    def build(
        cls,
        description: ByteLevelBpe,
        *,
        name: str,
        kernel: Kernel,
        agreement: UnicodeAgreement,
        library: Callable[[], SaveableTokenizer],
    ) -> NativeBpeWithFallback:
        """A tokenizer of a description.

        Args:
            description: what it is made of.
            name: how the user calls it.
            kernel: ours.
            agreement: tells which texts it may run.
            library: opens the same tokenizer on its library.
        """
        made = cls.from_description(description, name=name, kernel=kernel)
        made._agreement = agreement
        made._open_library = staticmethod(library)
        return made

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text in which nothing is a special token. Raises `TextError` for surrogates."""
        return super().encode_ordinary(text) if self._covers(text) else self._peer.encode_ordinary(text)

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        """The tokens of a text in which nothing is a special token; spans count from its beginning."""
        yield from super().segment_ordinary(text) if self._covers(text) else self._peer.segment_ordinary(text)

    def derivation(self, text: str) -> Derivation:
        """The steps by which a text becomes ids, in which nothing is a special token. Raises `TextError`."""
        if self._covers(text) or not isinstance(self._peer, SupportsExplanation):
            return super().derivation(text)
        return self._peer.derivation(text)

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """The ids of many texts in arrays, whatever the number of threads.

        Raises:
            SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.
            TextError: a text holds a lone surrogate.
        """
        from tokbench.core.token_arrays import divided_ids

        return divided_ids(
            texts,
            where=self._covers,
            then=partial(super().encode_batch, special=special, threads=threads),
            otherwise=partial(SaveableTokenizer.encode_batch, self, special=special, threads=threads),
        )

    def count_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> NDArray[np.int64]:
        """How many ids `encode_batch` would give for each text."""
        if all(map(self._covers, texts)):
            return super().count_batch(texts, special=special, threads=threads)
        return self.encode_batch(texts, special=special, threads=threads).counts

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """The tokens of many texts with their places, in arrays. Raises `TextError` for surrogates."""
        from tokbench.core.token_arrays import divided, encode_spans

        return divided(
            texts,
            where=self._covers,
            then=partial(super().encode_spans, threads=threads),
            otherwise=lambda texts: encode_spans(self._peer, texts, threads=threads),
        )

    def _covers(self, text: str) -> bool:
        try:
            return self._agreement.covers(text)
        except UnicodeEncodeError as error:
            raise surrogate_error(error) from None
        except (AttributeError, TypeError):
            utf8(text)  # raises for what is no text
            raise

    @property
    def _peer(self) -> SaveableTokenizer:
        if self._library is None:
            self._library = self._open_library()
        return self._library
