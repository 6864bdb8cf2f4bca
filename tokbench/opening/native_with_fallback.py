"""Byte-level BPE of other tools on our kernel, with the original library as fallback."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.base import utf8
from tokbench.core.capabilities import SupportsExplanation
from tokbench.core.kernel_or_library import KernelOrLibrary, KernelUse, NormalizedTexts
from tokbench.core.kernel_spans import KernelSpans
from tokbench.core.tokens import SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.backends.bpe.kernel import Kernel
    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.core.kernel_or_library import OnLibrary
    from tokbench.explain.derivation import Derivation
    from tokbench.opening.unicode_agreement import UnicodeAgreement


class NativeBpeWithFallback(KernelOrLibrary, BpeTokenizer):
    """A tokenizer with its library's ids for every text, run on our kernel where the two agree.

    A text with a character that library and kernel classify differently goes to the library, which is loaded with the
    first such text.
    """

    _agreement: UnicodeAgreement
    _open_library: Callable[[], OnLibrary]
    _opened: OnLibrary | None = None

    @classmethod
    def build(
        cls,
        description: ByteLevelBpe,
        *,
        name: str,
        kernel: Kernel,
        agreement: UnicodeAgreement,
        library: Callable[[], OnLibrary],
    ) -> NativeBpeWithFallback:
        """Build a tokenizer from a description.

        Args:
            description: the byte-level BPE.
            name: the user's name for the tokenizer.
            kernel: our kernel.
            agreement: decides which texts the kernel may run.
            library: opens the same tokenizer on its library.
        """
        tokenizer = cls.from_description(description, name=name, kernel=kernel)
        tokenizer._agreement = agreement
        tokenizer._open_library = staticmethod(library)
        return tokenizer

    def derivation(self, text: str) -> Derivation:
        """Return the steps from a text to its ids, with special tokens as ordinary text. Raises `TextError`."""
        utf8(text)
        if self._agreement.covers(text) or not isinstance(self._library, SupportsExplanation):
            return super().derivation(text)
        return self._library.derivation(text)

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if special is not SpecialPolicy.TEXT and self._special_ids:
            # Special tokens are cut out first; the parts between them come back as ordinary text.
            return None
        encoder, agreement = self._encoder, self._agreement
        if self.pattern.normalization is not None:
            normalized = NormalizedTexts(encoder, self.pattern.normalized)
            return KernelUse(agreement.covers, normalized, agreement.covers_all)
        encode_marked = getattr(encoder, "encode_marked_batch", None)
        if encode_marked is None:  # the kernel in Python has no such method
            return KernelUse(agreement.covers, encoder, agreement.covers_all)
        encode_covered = partial(agreement.encoded, encode_marked)
        return KernelUse(agreement.covers, encoder, agreement.covers_all, encode_covered)

    @property
    def _kernel_spans(self) -> KernelSpans:
        encode_spans = partial(BpeTokenizer.encode_spans, self)
        return KernelSpans(self._covers_places, encode_spans, partial(BpeTokenizer.segment_ordinary, self))

    def _covers_places(self, text: str) -> bool:
        """Whether the kernel's spans are the library's, which maps a character composed by NFC to its first part."""
        return self._agreement.covers(text) and self.pattern.normalized(text) == text

    @property
    def _library(self) -> OnLibrary:
        if self._opened is None:
            self._opened = self._open_library()
        return self._opened
