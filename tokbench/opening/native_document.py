"""`tokenizer.json` documents on our kernel, with their library for texts on which the two may differ."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, cast

import numpy as np

from tokbench.backends.bpe.kernel import current_kernel
from tokbench.core.kernel_or_library import KernelOrLibrary, KernelUse, NormalizedFirst
from tokbench.core.kernel_spans import KernelSpans, preferring, spans_by_places
from tokbench.core.token_arrays import TiledSpans
from tokbench.core.tokens import Encoded, Span, SpecialPolicy, Token
from tokbench.core.weak_methods import weakly
from tokbench.files.garbage_collection import paused_garbage_collection
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.opening.compiled_steps import compiled_steps
from tokbench.opening.document_encoder import ChangingDocumentEncoder, DocumentEncoder
from tokbench.opening.found_tokens import WholeWords, rows_of
from tokbench.opening.kernel_vocabulary import KernelVocabulary
from tokbench.opening.split_steps import byte_masks, disputed_by_sets
from tokbench.opening.text_normalization import TextNormalization
from tokbench.opening.unicode_agreement import UnicodeAgreement, tokenizers_members
from tokbench.opening.word_fallback.encoder import WordEncoder
from tokbench.opening.word_fallback.models import word_model
from tokbench.opening.word_places import WordPlaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokbench.core.tokens import EncodedSpans
    from tokbench.opening.document_encoder import CompiledEncoder
    from tokbench.opening.kernel_document import KernelDocument
    from tokbench.opening.word_places import PlacingEncoder
    from tokbench.opening.word_vocabulary import WordVocabulary

    _Encoder = CompiledEncoder | WordEncoder


class NativeDocument(KernelOrLibrary, HuggingFaceTokenizer):
    """A tokenizer with its library's ids for every text, encoded by our kernel where the two agree.

    Everything but encoding is left to the library.

    Args:
        library: the tokenizer on its library.
        plan: the same document as the kernel runs it.
    """

    def __init__(self, library: HuggingFaceTokenizer, *, plan: KernelDocument) -> None:
        vars(self).update(vars(library))  # parsing the file again would take as long as the first time
        self._plan = plan
        self.info = replace(self.info, kernel=current_kernel().name)
        self._agreement = UnicodeAgreement(
            tokenizers_members,
            kernel=self.info.kernel,
            nfc=plan.normalization.is_normal_form,
            becomes=_becomes(plan.normalization),
            further=weakly(self._disputed),
        )

    def make_ready(self) -> None:
        """Build the encoder of ordinary texts in advance; see `MakesReady`."""
        _ = self._encoder

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse:
        return self._use_where_all_is_known(special)._replace(refused=self._plan.refused)

    def _use_where_all_is_known(self, special: SpecialPolicy) -> KernelUse:
        if special is SpecialPolicy.RAISE:
            return KernelUse(self._covers_without_specials, self._finds_no_specials)
        finds_specials = special is SpecialPolicy.ENCODE
        encoder = self._finds_specials if finds_specials else self._finds_no_specials
        on_kernel = self._encoder_with_specials if finds_specials else self._encoder
        if (
            isinstance(on_kernel, WordEncoder)
            or self._whole_words
            or self._may_write_disputed
            or not encoder.takes_texts_as_they_are
        ):
            return KernelUse(
                weakly(self._covers),
                encoder,
                weakly(self._covers_all),
                normalized_first=self._normalized_first(encoder),
            )
        encode_marked = partial(on_kernel.encode_marked_batch, specials=finds_specials)
        encode_covered = partial(self._agreement.encoded, encode_marked)
        return KernelUse(weakly(self._covers), encoder, weakly(self._covers_all), encode_covered)

    def _normalized_first(self, encoder: DocumentEncoder) -> NormalizedFirst | None:
        if not encoder.normalizes_in_python:
            return None
        return NormalizedFirst(partial(weakly(self._normal_if_covered), encoder), encoder.encode_normalized)

    def _normal_if_covered(self, encoder: DocumentEncoder, text: str) -> str | None:
        """Return the normalized text if the kernel covers a text in which no added token is found before."""
        if not self._stays_covered(text) or self._whole_words.may_be_beside_letters(text):
            return None
        normal = encoder.normalized(text)
        if normal is None or (self._may_write_disputed and not self._agreement.covers(normal)):
            return None
        return normal

    @cached_property
    def _finds_no_specials(self) -> DocumentEncoder:
        return self._document_encoder(self._encoder, specials=False)

    @cached_property
    def _finds_specials(self) -> DocumentEncoder:
        return self._document_encoder(self._encoder_with_specials, specials=True)

    @cached_property
    def _encoder(self) -> _Encoder:
        return self._encoder_for(self._plan.vocabulary)

    @cached_property
    def _encoder_with_specials(self) -> _Encoder:
        plan = self._plan
        is_same = plan.with_specials is plan.vocabulary
        return self._encoder if is_same else self._encoder_for(plan.with_specials)

    def _encoder_for(self, vocabulary: KernelVocabulary | WordVocabulary) -> _Encoder:
        plan = self._plan
        if self.info.kernel != "native" and not isinstance(vocabulary, KernelVocabulary):
            return WordEncoder(word_model(vocabulary), splitting=plan.splitting, added=plan.added)
        return _compiled_encoder(plan, vocabulary)

    def _document_encoder(self, encoder: _Encoder, *, specials: bool) -> DocumentEncoder:
        normalization = self._plan.normalization
        first_mark = self._plan.first_mark
        if isinstance(encoder, WordEncoder):
            return DocumentEncoder(encoder, normalization, added=self._plan.added, specials=specials)
        in_python = TextNormalization(()) if normalization.is_nfc and not first_mark else normalization
        return ChangingDocumentEncoder(
            encoder, in_python, added=self._plan.added, specials=specials, first_mark=first_mark
        )

    @property
    def _kernel_spans(self) -> KernelSpans | None:
        tiled = KernelSpans(self._tiles, self._tiled_spans, self._tiled_tokens) if self._plan.tiles else None
        places = self._places
        if places is None or self._plan.refused is not None:
            return tiled
        by_places = partial(spans_by_places, spans=self._owned, token=self._ordinary_token)
        placed = preferring(
            by_places(places.are_from_kernel, places.from_kernel),
            by_places(
                lambda text: self._covers(text) and places.know_origins_of(text), places.from_normalized
            ),
        )
        return placed if tiled is None else preferring(tiled, placed)

    @cached_property
    def _places(self) -> WordPlaces | None:
        """The spans of tokens; None if only the library knows them."""
        plan = self._plan
        if plan.first_mark or not plan.normalization.knows_origins:
            return None
        return WordPlaces(cast("PlacingEncoder", self._encoder), plan.normalization)

    def _tiled_spans(self, texts: Sequence[str], *, threads: int | None) -> EncodedSpans:
        encoded = self._finds_no_specials.encode_batch(list(texts), threads or os.cpu_count() or 1)
        return TiledSpans(Encoded(*encoded), self._piece_table)

    def _tiled_tokens(self, text: str) -> Iterator[Token]:
        start = 0
        for id in self._finds_no_specials.encode(text):
            stop = start + len(self._laid_out.pieces[id])
            yield self._ordinary_token(id, Span(start, stop))
            start = stop

    # --- which texts the kernel runs ------------------------------------------------------------

    def _covers(self, text: str) -> bool:
        """Whether the kernel is known to give the library's ids for a text."""
        covered = self._stays_covered(text)
        normalization = self._plan.normalization
        if covered and self._may_write_disputed and not normalization.leaves(text):
            covered = self._agreement.covers(normalization(text))  # the normalized text may hold others
        return covered and not self._whole_words.may_be_beside_letters(text)

    def _stays_covered(self, text: str) -> bool:
        """Whether a text is covered if its normalized form is."""
        return self._agreement.covers(text) and self._gets_same_mark(text)

    def _covers_all(self, texts: Sequence[str], threads: int) -> bool:
        """Whether all texts are covered, judging by their characters alone."""
        if self._whole_words or not self._agreement.covers_all(texts, threads):
            return False
        if not all(map(self._gets_same_mark, texts)):
            return False
        return not self._may_write_disputed or all(map(self._plan.normalization.leaves, texts))

    def _gets_same_mark(self, text: str) -> bool:
        """Whether the library puts the same mark in front of a text; it may not if normalization moves its start."""
        return not self._plan.first_mark or self._plan.normalization.keeps_first(text)

    @cached_property
    def _may_write_disputed(self) -> bool:
        """Whether normalization may write characters whose agreement has to be checked, too."""
        normalization = self._plan.normalization
        if normalization.is_normal_form and not (
            normalization.begins_with_nfc or normalization.is_by_character
        ):
            return True
        return not self._agreement.covers("".join(normalization.written))

    def _covers_without_specials(self, text: str) -> bool:
        """Whether a text without special tokens is covered. Raises `SpecialTokenError` for others."""
        self._engine_for([text], special=SpecialPolicy.RAISE)
        return self._covers(text)

    def _tiles(self, text: str) -> bool:
        """Whether the kernel runs a text, and its tokens concatenated are its bytes."""
        return self._covers(text) and self._plan.normalization(text) == text

    @cached_property
    def _whole_words(self) -> WholeWords:
        return WholeWords(self._plan.added, normalization=self._plan.normalization)

    def _disputed(self, characters: set[str]) -> set[str]:
        """Return the characters on which the kernel and the library may disagree for any reason."""
        return (
            self._with_missing_bytes(characters)
            | self._plan.normalization.disputed(characters)
            | disputed_by_sets(self._plan.splitting, characters)
        )

    def _with_missing_bytes(self, characters: set[str]) -> set[str]:
        """Return the characters that need a byte missing from the vocabulary, as they are or normalized."""
        vocabulary = self._plan.vocabulary
        if not isinstance(vocabulary, KernelVocabulary) or not vocabulary.missing_bytes:
            return set()
        missing = vocabulary.missing_bytes
        texts = {character: character + self._plan.normalization(character) for character in characters}
        return {character for character in characters if not missing.isdisjoint(texts[character].encode())}


def _becomes(normalization: TextNormalization) -> Callable[[set[str]], dict[str, frozenset[str]]] | None:
    changes_characters = normalization.is_by_character or normalization.begins_with_nfc
    return normalization.becomes if changes_characters and not normalization.is_nfc else None


@paused_garbage_collection()
def _compiled_encoder(plan: KernelDocument, vocabulary: KernelVocabulary | WordVocabulary) -> CompiledEncoder:
    from tokbench.native._bpe import PreparedEncoder

    splitting = plan.splitting
    added = rows_of(plan.added, specials=False)
    added_with_specials = rows_of(plan.added, specials=True)
    masks = splitting.sets.masks()
    if not isinstance(vocabulary, KernelVocabulary):
        return vocabulary.encoder(
            added=added,
            added_with_specials=added_with_specials,
            steps=splitting.rows(),
            sets=masks,
            byte_sets=byte_masks(masks),
            makes_nfc=plan.normalization.begins_with_nfc,
        )
    # A table of changes is applied to parts between spaces, which only steps cut.
    may_compile = (not plan.normalization or plan.normalization.is_nfc) and not vocabulary.marks_ends
    pattern = splitting.pattern or (compiled_steps(splitting, masks) if may_compile else None)
    in_steps = pattern is None or vocabulary.marks_ends
    has_sets = in_steps and bool(splitting.sets.members)
    return PreparedEncoder(
        list(vocabulary.tokens),
        np.fromiter(chain.from_iterable(vocabulary.merges), np.uint32).reshape(-1, 3),
        whole_tokens_first=vocabulary.whole_tokens_first,
        pattern=pattern,
        added=added,
        added_with_specials=added_with_specials,
        steps=splitting.rows() if in_steps else None,
        sets=masks if has_sets else None,
        byte_sets=byte_masks(masks) if has_sets else None,
        marks_ends=vocabulary.marks_ends,
        makes_nfc=plan.normalization.begins_with_nfc,
    )
