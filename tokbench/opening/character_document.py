"""A BPE over characters of a `tokenizer.json` on our kernel, with its library for the texts they may differ on.

What a document asks for is in character_bpe.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokbench.core.kernel_or_library import KernelOrLibrary, KernelUse
from tokbench.core.tokens import SpecialPolicy
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.opening.document_encoder import DocumentEncoder
from tokbench.opening.unicode_agreement import UnicodeAgreement, tokenizers_members

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.native._character_bpe import DocumentEncoder as CompiledEncoder
    from tokbench.opening.character_bpe import CharacterBpe

_ENOUGH_TEXT = 1 << 14
"""Characters: for fewer, to make an encoder takes longer than the library does."""


class CharacterDocument(KernelOrLibrary, HuggingFaceTokenizer):
    """A tokenizer with its library's ids for every text, encoded by our kernel once there has been some text.

    Args:
        library: the tokenizer on its library.
        description: the same as the kernel runs it.
    """

    def __init__(self, library: HuggingFaceTokenizer, *, description: CharacterBpe) -> None:
        vars(self).update(vars(library))  # reading the file again would take as long as before
        self._description = description
        self._missing = _ENOUGH_TEXT
        self.info = replace(self.info, kernel="native")

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if special is SpecialPolicy.TEXT:
            return KernelUse(self._covers, _Late(self, specials=False))
        if not self._description.finds_specials:
            return None
        if special is SpecialPolicy.ENCODE:
            return KernelUse(self._covers, _Late(self, specials=True))
        return KernelUse(self._covers_without_specials, _Late(self, specials=False))

    @cached_property
    def kernel_encoder(self) -> CompiledEncoder:
        """What encodes the texts that are covered, once they are normalised."""
        return self._description.encoder()

    def document_encoder(self, *, specials: bool) -> DocumentEncoder:
        """What encodes the texts that are covered."""
        described = self._description
        return DocumentEncoder(
            self.kernel_encoder, described.spaces.normalization, added=described.added, specials=specials
        )

    def _covers(self, text: str) -> bool:
        if not text.isascii():
            text.encode()  # raises for lone surrogates
        self._missing -= len(text)
        return self._missing <= 0 and (text.isascii() or self._agrees_on(text))

    def _covers_without_specials(self, text: str) -> bool:
        """The same of a text without special tokens. Raises `SpecialTokenError` for others."""
        self._engine_for([text], special=SpecialPolicy.RAISE)
        return self._covers(text)

    @cached_property
    def _agrees_on(self) -> Callable[[str], bool]:
        """Whether the kernel knows of the characters of a text what it has to, which it does of ASCII."""
        normalization = self._description.spaces.normalization
        # The kernel knows of letters beyond ASCII only what split patterns need.
        single = tuple(token.text for token in self._description.added if token.single_word)
        agreement = UnicodeAgreement(
            tokenizers_members,
            kernel="native",
            nfc=normalization.is_normal_form,
            further=normalization.disputed,
        )

        def agrees(text: str) -> bool:
            if any(map(text.__contains__, single)):
                return False
            covered = not normalization or agreement.covers(text)
            return covered and (not normalization.is_normal_form or agreement.covers(normalization(text)))

        return agrees


class _Late:
    """The encoder of a tokenizer, made when a first text is covered."""

    def __init__(self, tokenizer: CharacterDocument, *, specials: bool) -> None:
        self._tokenizer = tokenizer
        self._specials = specials

    @cached_property
    def _made(self) -> DocumentEncoder:
        return self._tokenizer.document_encoder(specials=self._specials)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)
