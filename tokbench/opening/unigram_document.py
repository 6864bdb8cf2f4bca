"""Unigram models of a `tokenizer.json` on our kernel, with their library for whatever the kernel does not do.

unigram_description.py parses what a document asks for; this module decides on which texts kernel and library agree.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast
from weakref import proxy

import numpy as np

from tokbench.core.kernel_or_library import KernelOrLibrary, KernelUse, NormalizedFirst
from tokbench.core.kernel_spans import KernelSpans, preferring, spans_by_places
from tokbench.core.special_tokens import WHITE_SPACE
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.weak_methods import weakly
from tokbench.files.garbage_collection import paused_garbage_collection
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.native.kernel_choice import is_installed
from tokbench.opening.document_encoder import DocumentEncoder
from tokbench.opening.found_tokens import WholeWords, rows_of
from tokbench.opening.replacement_table import joining
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.opening.unicode_agreement import UnicodeAgreement, tokenizers_members
from tokbench.opening.unigram_description import unigram_description
from tokbench.opening.unigram_places import UnigramPlaces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokbench.core.kernel_spans import Places
    from tokbench.native._unigram import DocumentEncoder as CompiledEncoder
    from tokbench.opening.unigram_description import UnigramDescription

COMPILED = "tokbench.native._unigram"

_SCORES = re.compile(r'\["[^"\\]*(?:\\.[^"\\]*)*",([^\]]+)\]')
"""The score of each piece of a Unigram model, as its library writes it."""
_ENOUGH_TEXT = 1 << 14
"""Characters of text before an encoder is built; for less text, building one takes longer than the library needs."""


class UnigramDocument(KernelOrLibrary, HuggingFaceTokenizer):
    """A Unigram with its library's ids for every text, run on our kernel where the two agree.

    Args:
        document: the bytes of the `tokenizer.json`.
        name: the user's name for the tokenizer.
        source: the file as error messages name it; by default the name.
        engine: "auto", or "library" for the library alone.
        parsed: as for a `HuggingFaceTokenizer`.

    Attributes:
        library_reason: why the library runs all texts; "" if the kernel runs some.

    Raises:
        ModelFormatError: the document is not a tokenizer, or the library rejects it.
    """

    def __init__(
        self,
        document: bytes,
        *,
        name: str,
        source: Path | str | None = None,
        engine: str = "auto",
        parsed: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(document, name=name, backend="unigram", source=source, parsed=parsed)
        self._missing = _ENOUGH_TEXT
        self._seen_ends: dict[str, bool] = {}
        self.library_reason = "" if engine == "auto" else "asked for"
        if not self.library_reason and (
            os.environ.get("TOKBENCH_KERNEL") == "python" or not is_installed(COMPILED)
        ):
            self.library_reason = "only the compiled kernel runs it"
        if self.library_reason:
            return
        try:
            self._described  # noqa: B018
        except NotNativeError as error:
            self.library_reason = str(error)
            return
        self.info = replace(self.info, kernel="native")

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if self.library_reason or (special is not SpecialPolicy.TEXT and not self._described.finds_specials):
            return None
        if special is SpecialPolicy.ENCODE:
            encoder, first = self._finds_specials, self._normalized_first(specials=True)
            return KernelUse(lambda text: self._covers(text, specials=True), encoder, normalized_first=first)
        encoder = self._finds_no_specials
        if special is SpecialPolicy.RAISE:
            return KernelUse(self._covers_without_specials, encoder)
        return KernelUse(
            weakly(self._covers), encoder, normalized_first=self._normalized_first(specials=False)
        )

    def _normalized_first(self, *, specials: bool) -> NormalizedFirst | None:
        normalization = self._described.normalization
        encoder = self._finds_specials if specials else self._finds_no_specials
        if not normalization:
            return None
        normal_if_covered = weakly(self._normal_if_covered)

        def normalized(text: str) -> str | None:
            # An added token in an unchanged text is found before, which `encode_normalized` does not do.
            return None if normalization.leaves(text) else normal_if_covered(text, specials=specials)

        return NormalizedFirst(normalized, encoder.encode_normalized)

    @cached_property
    def _finds_no_specials(self) -> DocumentEncoder:
        return self._encoder_of(specials=False)

    @cached_property
    def _finds_specials(self) -> DocumentEncoder:
        return self._encoder_of(specials=True)

    def _encoder_of(self, *, specials: bool) -> DocumentEncoder:
        described = self._described
        return DocumentEncoder(
            _LazyEncoder(self), described.normalization, added=described.added, specials=specials
        )

    @property
    def _kernel_spans(self) -> KernelSpans | None:
        if self.library_reason or not self._described.knows_places:
            return None
        by_places = partial(spans_by_places, spans=self._owned, token=self._ordinary_token)
        return preferring(
            by_places(self._stays_as_it_is, self._place_unchanged),
            by_places(self._covers_places, self._place),
        )

    def _place_unchanged(self, texts: list[str], threads: int) -> Places:
        return self._places.from_kernel(texts, threads)

    def _place(self, texts: list[str], threads: int) -> Places:
        return self._places.from_normalized(texts, threads)

    @cached_property
    def _places(self) -> UnigramPlaces:
        """The spans of tokens; only after a text was covered, as the encoder may not exist."""
        return UnigramPlaces(
            self.compiled_encoder(specials=False),
            self._described.normalization,
            without_last_spaces=weakly(self.without_last_spaces),
            ids_of_last_space=self.ids_of_last_space,
        )

    # --- which texts the kernel runs ------------------------------------------------------------

    def _expect(self, texts: Sequence[str]) -> None:
        # Otherwise the first texts of a large batch would be left to the library, and all ids copied to join both.
        if "encoder" not in vars(self) and sum(map(len, texts)) >= self._missing:
            self._missing = 0

    def _covers(self, text: str, *, specials: bool = False) -> bool:
        return self._normal_if_covered(text, specials=specials) is not None

    def _normal_if_covered(self, text: str, *, specials: bool) -> str | None:
        """Return a text, normalized up to the table of replacements, if the kernel covers it."""
        normalization = self._described.normalization
        if not self._may_cover(text, specials=specials) or (
            normalization and not self._agreement.covers(text)
        ):
            return None
        normal = normalization(text)
        if normalization.is_normal_form and not self._agreement.covers(normal):
            return None
        return normal if self._covers_normal(normal) else None

    def _may_cover(self, text: str, *, specials: bool) -> bool:
        """Whether the kernel covers a text if it agrees on its characters."""
        if "encoder" not in vars(self):
            self._missing -= len(text)
            if self._missing > 0:
                return False
        encoder = self._encoder_with_specials if specials else self.encoder
        if encoder is None or self._whole_words.may_be_beside_letters(text):
            return False
        is_same_in_parts = self._described.normalization.leaves(text) and self._ends_alike
        return is_same_in_parts or not encoder.added_places(text.encode())

    def _covers_without_specials(self, text: str) -> bool:
        """Whether the kernel covers a text; False if it has special tokens, as the library names these in its error."""
        if not self._covers(text, specials=True):
            return False
        return self._special_bytes.keys().isdisjoint(self._finds_specials.encode(text))

    def _stays_as_it_is(self, text: str) -> bool:
        """Whether the spans of a text, which are known, need not be mapped back."""
        return self._places.leaves(text)

    def _covers_places(self, text: str) -> bool:
        """Whether the kernel knows the library's spans of a text's tokens."""
        normal = self._normal_if_covered(text, specials=False)
        return normal is not None and self._places.know(text, normal)

    @property
    def _ends_alike(self) -> bool:
        """Whether trailing spaces of a part of a text never change its ids."""
        return not self._described.only_spaces or self._described.trims_ends

    def without_last_spaces(self, text: str) -> str:
        """Return a text without trailing spaces if these become a word of their own, else unchanged."""
        return text if self._ends_alike or self._ids_of_space is None else text.rstrip(self._spaces)

    @property
    def ids_of_last_space(self) -> list[int]:
        """The ids that follow those of a text whose trailing spaces were removed."""
        return self._ids_of_space or []

    @cached_property
    def _spaces(self) -> str:
        """The white space that the table replaces by spaces."""
        return "".join(character for character in WHITE_SPACE if set(self._replaced(character)) == {" "})

    @cached_property
    def _ids_of_space(self) -> list[int] | None:
        """The ids of the word ▁; None if ▁ is a special token."""
        if SPACE in self.info.special_tokens:
            return None
        return [token.id for token in self._engines.plain.model.tokenize(SPACE)]

    @cached_property
    def _whole_words(self) -> WholeWords:
        return WholeWords(self._described.added, normalization=self._described.normalization)

    def _covers_normal(self, text: str) -> bool:
        """Whether the kernel covers a text that is normalized up to the table of replacements."""
        assert self.encoder is not None  # `_covers` checked it
        if not text.isascii() and not self.encoder.covers(text):
            return False
        if not self._described.only_spaces:
            return True
        text = self.without_last_spaces(text)
        ends = self._ends_alike or not text or not self._ends_in_space(text[-1])
        return ends and not any(character in text for character in self._ascii_boundaries)

    @cached_property
    def _agreement(self) -> UnicodeAgreement:
        normalization = self._described.normalization
        return UnicodeAgreement(
            tokenizers_members,
            kernel="native",
            nfc=normalization.is_normal_form,
            further=normalization.disputed,
        )

    def _replaced(self, character: str) -> str:
        """Return the result of the table of replacements for a character."""
        if not self._described.charsmap:
            return character
        replaced: str = self._table.normalize_str(character)
        return replaced

    @cached_property
    def _table(self) -> Any:
        from tokenizers.normalizers import Precompiled

        return Precompiled(self._described.charsmap)

    def _ends_in_space(self, character: str) -> bool:
        """Whether a text that ends in this character may end in a space after normalization."""
        if character not in self._seen_ends:
            replaced = self._replaced(character)
            self._seen_ends[character] = not replaced or replaced.endswith(" ")
        return self._seen_ends[character]

    @cached_property
    def _boundaries(self) -> str:
        """White space that the table does not replace by spaces: it ends words for the kernel, not for the document."""
        return "".join(character for character in sorted(WHITE_SPACE) if self._replaced(character).strip(" "))

    @cached_property
    def _ascii_boundaries(self) -> str:
        return "".join(filter(str.isascii, self._boundaries))

    @cached_property
    def encoder(self) -> CompiledEncoder | None:
        """The compiled encoder of covered texts; None if it cannot use the table of replacements."""
        return self._compiled(specials=False)

    @cached_property
    def _encoder_with_specials(self) -> CompiledEncoder | None:
        """The encoder that finds special tokens; its vocabulary includes them, as normalized text may spell one."""
        return self._compiled(specials=True)

    def compiled_encoder(self, *, specials: bool) -> CompiledEncoder:
        """Return the compiled encoder of covered texts."""
        encoder = self._encoder_with_specials if specials else self.encoder
        assert encoder is not None  # a text was covered, so it exists
        return encoder

    @paused_garbage_collection()
    def _compiled(self, *, specials: bool) -> CompiledEncoder | None:
        from tokbench.native._unigram import DocumentEncoder as CompiledEncoder

        described = self.described
        joins = joining()
        if described.only_spaces:
            if not {"\t", "\n", "\r", " "}.isdisjoint(self._ascii_boundaries):
                return None
            joins = joins.copy()
            joins[[ord(character) for character in self._boundaries + SPACE if not character.isascii()]] = 2
        pieces = {**described.pieces, **described.special_pieces} if specials else described.pieces
        ids = np.fromiter(pieces.values(), np.uint32, len(pieces))
        try:
            return CompiledEncoder(
                [piece.encode() for piece in pieces],
                ids,
                np.array(described.scores, np.float64)[ids],
                unknown=described.unknown,
                unknown_score=described.unknown_score,
                bytes=None if described.byte_ids is None else np.array(described.byte_ids, np.uint32),
                charsmap=described.charsmap,
                joining=joins,
                only_spaces=described.only_spaces,
                prepend_scheme=described.prepend_scheme,
                added=rows_of(described.added, specials=specials),
            )
        except ValueError:
            return None

    @cached_property
    def described(self) -> UnigramDescription:
        """The parsed document, with the scores as the library reads them. Raises `NotNativeError`."""
        return replace(self._described, scores=self.scores_as_read())

    @cached_property
    def _described(self) -> UnigramDescription:
        """The same, with the nearest doubles to the scores as they are written."""
        normalizer = self._engines.plain.normalizer
        return unigram_description(
            self._parsed,
            ids=self._spelled,
            normalize=str if normalizer is None else normalizer.normalize_str,
        )

    def scores_as_read(self) -> list[float]:
        """Return the scores as the library reads them, by id: it does not round every number to the nearest double."""
        written = self._engines.plain.to_str()
        # Without a list for each piece, of which Python would look for garbage in all that the process holds.
        return list(map(float, _SCORES.findall(written, written.index('"vocab":['))))


class _LazyEncoder:
    """The encoders of a document, built when the first text is covered; trailing spaces are encoded here."""

    def __init__(self, document: UnigramDocument) -> None:
        self._document = cast("UnigramDocument", proxy(document))  # it holds this encoder

    def added_places(self, text: bytes, *, specials: bool) -> list[tuple[int, int, int]]:
        return self._document.compiled_encoder(specials=specials).added_places(text)

    def encode(self, text: str, *, specials: bool = False, normalized: bool = False) -> list[int]:
        rest = self._document.without_last_spaces(text)
        ids = self._document.compiled_encoder(specials=specials).encode(rest, normalized=normalized)
        return ids if len(rest) == len(text) else ids + self._document.ids_of_last_space

    def encode_batch(
        self, texts: list[str], threads: int, *, specials: bool = False, normalized: bool = False
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        encoder = self._document.compiled_encoder(specials=specials)
        rests = list(map(self._document.without_last_spaces, texts))
        ids, offsets = encoder.encode_batch(rests, threads, normalized=normalized)
        added_counts = self._ids_after(texts, rests)
        if not added_counts.any():
            return ids, offsets
        places, counts = np.repeat(offsets[1:], added_counts), np.cumsum([0, *added_counts])
        added = self._document.ids_of_last_space * np.count_nonzero(added_counts)
        return np.insert(ids, places, np.array(added, np.uint32)), offsets + counts

    def count_batch(
        self, texts: list[str], threads: int, *, specials: bool = False, normalized: bool = False
    ) -> NDArray[np.int64]:
        encoder = self._document.compiled_encoder(specials=specials)
        rests = list(map(self._document.without_last_spaces, texts))
        counts: NDArray[np.int64] = encoder.count_batch(rests, threads, normalized=normalized)
        return counts + self._ids_after(texts, rests)

    def _ids_after(self, texts: list[str], rests: list[str]) -> NDArray[np.int64]:
        """Return how many ids follow those of each text because of its removed trailing spaces."""
        size = len(self._document.ids_of_last_space)
        return np.array([size * (text != rest) for text, rest in zip(texts, rests, strict=True)], np.int64)
