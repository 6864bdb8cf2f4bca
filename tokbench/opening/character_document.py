"""BPE over characters of a `tokenizer.json` on our kernel, with its library for texts on which the two may differ.

character_bpe.py parses what a document asks for; character_places.py computes the spans of tokens.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast
from weakref import proxy

from tokbench.core.kernel_or_library import KernelOrLibrary, KernelUse, NormalizedFirst
from tokbench.core.kernel_spans import KernelSpans
from tokbench.core.tokens import Encoded, Span, SpecialPolicy
from tokbench.core.weak_methods import weakly
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.opening.character_origins import original_spans
from tokbench.opening.document_encoder import DocumentEncoder
from tokbench.opening.found_tokens import WholeWords
from tokbench.opening.unicode_agreement import UnicodeAgreement, tokenizers_members

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.tokens import Batch, EncodedSpans, Token
    from tokbench.native._character_bpe import DocumentEncoder as CompiledEncoder
    from tokbench.opening.character_bpe import CharacterBpe
    from tokbench.opening.character_places import CharacterPlaces


class CharacterDocument(KernelOrLibrary, HuggingFaceTokenizer):
    """A tokenizer with its library's ids for every text, encoded by our kernel where both agree.

    Args:
        library: the tokenizer on its library.
        description: the same document as the kernel runs it.
    """

    def __init__(self, library: HuggingFaceTokenizer, *, description: CharacterBpe) -> None:
        vars(self).update(vars(library))  # parsing the file again would take as long as the first time
        self._description = description
        self.info = replace(self.info, kernel="native")

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if special is SpecialPolicy.TEXT:
            return self._use_of(_LazyEncoder(self, specials=False))
        if not self._description.finds_specials:
            return None
        if special is SpecialPolicy.ENCODE:
            return self._use_of(_LazyEncoder(self, specials=True))
        return KernelUse(self._covers_without_specials, _LazyEncoder(self, specials=False))

    def _use_of(self, encoder: _LazyEncoder) -> KernelUse:
        first = None
        if self._description.spaces.normalization.is_normal_form:
            first = NormalizedFirst(
                partial(weakly(self._normal_if_covered), encoder), encoder.encode_normalized
            )
        return KernelUse(weakly(self._covers), encoder, weakly(self._covers_all), normalized_first=first)

    def _normal_if_covered(self, encoder: _LazyEncoder, text: str) -> str | None:
        """Return the normalized text if the kernel covers a text in which no added token is found before."""
        if not self._may_cover(text) or not (text.isascii() or self._agreement.covers(text)):
            return None
        normal: str | None = encoder.normalized(text)
        if normal is None or not (normal.isascii() or self._agreement.covers(normal)):
            return None
        return normal

    @property
    def _kernel_spans(self) -> KernelSpans | None:
        if self._places is None:
            return None
        return KernelSpans(self._covers_places, self._encode_spans, self._segment)

    @cached_property
    def _places(self) -> CharacterPlaces | None:
        from tokbench.opening.character_places import character_places

        return character_places(self._description)

    def _covers_places(self, text: str) -> bool:
        assert self._places is not None  # `_kernel_spans` checked it
        normalization = self._description.spaces.normalization
        if not self._covers(text) or not normalization.knows_origins_of(text):
            return False
        if normalization and self.kernel_encoder.added_places(text.encode(), specials=False):
            return False  # the parts between them are normalized by themselves
        return self._places.cover(normalization(text))

    def _encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        assert self._places is not None  # `_kernel_spans` checked it
        normalization = self._description.spaces.normalization
        traced = list(map(normalization.with_origins, texts)) if normalization else []
        normal = [made for made, _ in traced] if normalization else list(texts)
        num_threads = threads or os.cpu_count() or 1
        encoded = Encoded(
            *self.kernel_encoder.encode_batch(normal, num_threads, normalized=bool(normalization))
        )
        places = self._places.of(normal, encoded)
        if places is None:
            return self._library.encode_spans(texts, threads=threads)
        if normalization:
            origins = [origins for _, origins in traced]
            starts, stops = places
            places = original_spans(texts, normal, origins, starts=starts, stops=stops, counts=encoded.counts)
        return self._owned(texts, encoded, *places)

    def _segment(self, text: str) -> Iterator[Token]:
        placed = self._encode_spans([text], threads=1)
        spans = map(Span, placed.starts.tolist(), placed.stops.tolist())
        return map(self._ordinary_token, placed.encoded.ids.tolist(), spans)

    @cached_property
    def kernel_encoder(self) -> CompiledEncoder:
        """The compiled encoder of normalized texts."""
        return self._description.encoder()

    def document_encoder(self, *, specials: bool) -> DocumentEncoder:
        """Return the encoder of covered texts, which normalizes them."""
        described = self._description
        return DocumentEncoder(
            self.kernel_encoder, described.spaces.normalization, added=described.added, specials=specials
        )

    def _covers(self, text: str) -> bool:
        return self._may_cover(text) and (text.isascii() or self._agrees_on(text))

    def _may_cover(self, text: str) -> bool:
        """Whether the kernel covers a text if it agrees on its characters."""
        if not text.isascii():
            text.encode()  # raises for lone surrogates
        return not self._whole_words.may_be_beside_letters(text)

    def _covers_all(self, texts: Sequence[str], threads: int) -> bool:
        """Whether all texts are covered, if that does not depend on each single text."""
        if self._whole_words:
            return False
        normalization = self._description.spaces.normalization
        return not normalization or (
            not normalization.is_normal_form and self._agreement.covers_all(texts, threads)
        )

    def _covers_without_specials(self, text: str) -> bool:
        """Whether a text without special tokens is covered. Raises `SpecialTokenError` for others."""
        self._engine_for([text], special=SpecialPolicy.RAISE)
        return self._covers(text)

    def _agrees_on(self, text: str) -> bool:
        """Whether kernel and library agree on all characters of a text; on ASCII they always do."""
        normalization = self._description.spaces.normalization
        covered = not normalization or self._agreement.covers(text)
        return covered and (not normalization.is_normal_form or self._agreement.covers(normalization(text)))

    @cached_property
    def _whole_words(self) -> WholeWords:
        described = self._description
        return WholeWords(described.added, normalization=described.spaces.normalization)

    @cached_property
    def _agreement(self) -> UnicodeAgreement:
        normalization = self._description.spaces.normalization
        return UnicodeAgreement(
            tokenizers_members,
            kernel="native",
            nfc=normalization.is_normal_form,
            further=normalization.disputed,
        )


class _LazyEncoder:
    """The encoder of a tokenizer, built when it is first used."""

    def __init__(self, tokenizer: CharacterDocument, *, specials: bool) -> None:
        self._tokenizer = cast("CharacterDocument", proxy(tokenizer))  # it holds this encoder
        self._specials = specials

    @cached_property
    def _encoder(self) -> DocumentEncoder:
        return self._tokenizer.document_encoder(specials=self._specials)

    def encode_normalized(self, texts: list[str], threads: int) -> Batch:
        return self._encoder.encode_normalized(texts, threads)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)
