"""A byte-level BPE from elsewhere on our kernel, with the library it came from for the rest."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.base import utf8
from tokbench.core.capabilities import SupportsExplanation
from tokbench.core.kernel_or_library import KernelOrLibrary, KernelSpans, KernelUse, NormalizedTexts
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

    A text with a character that the library and the kernel put into different classes goes to the
    library, which is opened when the first such text comes.
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

    def make_ready(self) -> None:
        """Find out which pairs merge, as it happens by itself when much text comes; see `MakesReady`."""
        self._encoder.complete()

    def derivation(self, text: str) -> Derivation:
        """The steps by which a text becomes ids, in which nothing is a special token. Raises `TextError`."""
        utf8(text)
        if self._agreement.covers(text) or not isinstance(self._library, SupportsExplanation):
            return super().derivation(text)
        return self._library.derivation(text)

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if special is not SpecialPolicy.TEXT and self._special_ids:
            return (
                None  # special tokens are cut out first, and what is between them comes back as ordinary text
            )
        encoder, agreement = self._encoder, self._agreement
        if self.pattern.normalization is not None:
            normalized = NormalizedTexts(encoder, self.pattern.normalized)
            return KernelUse(agreement.covers, normalized, agreement.covers_all)
        encode_marked = getattr(encoder, "encode_marked_batch", None)
        if encode_marked is None:  # which the kernel in Python has not
            return KernelUse(agreement.covers, encoder, agreement.covers_all)
        encode_covered = partial(agreement.encoded, encode_marked)
        return KernelUse(agreement.covers, encoder, agreement.covers_all, encode_covered)

    @property
    def _kernel_spans(self) -> KernelSpans:
        encode_spans = partial(BpeTokenizer.encode_spans, self)
        return KernelSpans(self._covers_places, encode_spans, partial(BpeTokenizer.segment_ordinary, self))

    def _covers_places(self, text: str) -> bool:
        """Whether tokens are where the library says; it gives a character that NFC composed its first part alone."""
        return self._agreement.covers(text) and self.pattern.normalized(text) == text

    @property
    def _library(self) -> OnLibrary:
        if self._opened is None:
            self._opened = self._open_library()
        return self._opened
