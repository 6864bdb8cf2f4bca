"""A Unigram of a `tokenizer.json` on our kernel, with its library for all that the kernel does not do.

What a document asks for is in unigram_description.py; here is which texts the two agree on.
"""

from __future__ import annotations

import os
import unicodedata
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokbench.core.kernel_or_library import KernelOrLibrary, KernelUse, NormalizedTexts
from tokbench.core.special_tokens import WHITE_SPACE
from tokbench.core.tokens import SpecialPolicy
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.native.kernel_choice import is_installed
from tokbench.opening.unicode_agreement import UnicodeAgreement, tokenizers_members
from tokbench.opening.unigram_description import LeftToLibraryError, unigram_description

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tokbench.core.kernel_or_library import KernelEncoder
    from tokbench.native._unigram import DocumentEncoder
    from tokbench.opening.unigram_description import UnigramDescription

COMPILED = "tokbench.native._unigram"

_ENOUGH_TEXT = 1 << 14
"""Characters: for fewer, to make an encoder takes longer than the library does."""

_MARKS = ("Mn", "Me", "Mc", "Cf", "Cn")
_OTHER_MARKS = (0x0E33, 0x0EB3, 0xFF9E, 0xFF9F, *range(0x1F3FB, 0x1F400))
"""What a reader may take for a part of the character before it: these, marks, formats, and what is not assigned."""
_JOINED_TO_NEXT = (
    *(*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x0D4E, 0x110BD, 0x110CD, 0x111C2),
    *(0x111C3, 0x113D1, 0x1193F, 0x11941, 0x11A3A, *range(0x11A84, 0x11A8A), 0x11D46, 0x11F02),
)
"""Grapheme_Cluster_Break=Prepend, which is not looked at any closer."""


@cache
def _joining() -> NDArray[np.uint8]:
    """Of each code point, as the compiled encoder has it: 0 stands alone, 1 may join the one before, 2 is left out."""
    joining = np.array([unicodedata.category(chr(one)) in _MARKS for one in range(0x110000)], np.uint8)
    joining[list(_OTHER_MARKS)] = 1
    joining[list(_JOINED_TO_NEXT)] = 2
    joining[0xD800:0xE000] = 2
    return joining


class UnigramDocument(KernelOrLibrary, HuggingFaceTokenizer):
    """A tokenizer with its library's ids for every text, run on our kernel where the two agree.

    Args:
        document: the `tokenizer.json`.
        name: how the user calls it.
        source: what error messages call the file; by default the name.
        engine: "auto", or "library" for the library alone.

    Attributes:
        left_because: why the library runs all texts; "" where the kernel runs.

    Raises:
        ModelFormatError: the document is not a tokenizer, or one that the library does not take.
    """

    def __init__(
        self, document: bytes, *, name: str, source: Path | str | None = None, engine: str = "auto"
    ) -> None:
        super().__init__(document, name=name, backend="unigram", source=source)
        self._missing = _ENOUGH_TEXT
        self.left_because = "" if engine == "auto" else "asked for"
        if not self.left_because and (
            os.environ.get("TOKBENCH_KERNEL") == "python" or not is_installed(COMPILED)
        ):
            self.left_because = "only the compiled kernel runs it"
        if self.left_because:
            return
        try:
            self._described = unigram_description(self._parsed)
        except LeftToLibraryError as error:
            self.left_because = str(error)
            return
        self.info = replace(self.info, kernel="native")

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if self.left_because:
            return None
        looked_for = self._described.everywhere
        if special is not SpecialPolicy.TEXT:
            if self._described.specials is None:
                return None
            looked_for = (*looked_for, *self._described.specials)
        encoder: KernelEncoder = _Late(self)
        if self._described.normalization:
            encoder = NormalizedTexts(encoder, self._described.normalization)
        return KernelUse(lambda text: self._covers(text, looked_for), encoder)

    def _covers(self, text: str, looked_for: tuple[str, ...]) -> bool:
        if "encoder" not in vars(self):
            self._missing -= len(text)
            if self._missing > 0:
                return False
        if self.encoder is None or any(each in text for each in looked_for):
            return False
        normalization = self._described.normalization
        if not normalization:
            return self._covers_normal(text)
        normal = normalization(text)
        agrees = self._agreement.covers(text) and (
            not normalization.is_normal_form or self._agreement.covers(normal)
        )
        return agrees and self._covers_normal(normal)

    def _covers_normal(self, text: str) -> bool:
        """The same of a text as the table is applied to it."""
        assert self.encoder is not None  # as it is asked after it
        if not text.isascii() and not self.encoder.covers(text):
            return False
        if not self._described.only_spaces:
            return True
        ends = self._described.trims_ends or not text or not self._ends_in_space(text[-1])
        return ends and not any(each in text for each in self._boundaries.ascii)

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
        """What the table makes of a character."""
        if not self._described.charsmap:
            return character
        made: str = self._table.normalize_str(character)
        return made

    @cached_property
    def _table(self) -> Any:
        from tokenizers.normalizers import Precompiled

        return Precompiled(self._described.charsmap)

    def _ends_in_space(self, character: str) -> bool:
        """Whether a text that ends in a character may end in a space when it is normalised."""
        if character not in self._seen_ends:
            made = self._replaced(character)
            self._seen_ends[character] = not made or made.endswith(" ")
        return self._seen_ends[character]

    @cached_property
    def _seen_ends(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _boundaries(self) -> _Boundaries:
        """The white space that the table makes something else of than spaces, and ▁."""
        others = [each for each in sorted(WHITE_SPACE) if self._replaced(each).strip(" ")]
        return _Boundaries(
            ascii=tuple(filter(str.isascii, others)),
            others=tuple(ord(each) for each in (*others, SPACE) if not each.isascii()),
        )

    @cached_property
    def encoder(self) -> DocumentEncoder | None:
        """What runs texts that are covered; None where the table of replacements is not one that it can take."""
        from tokbench.native._unigram import DocumentEncoder

        described = self.described
        joining = _joining()
        if described.only_spaces:
            if not {"\t", "\n", "\r", " "}.isdisjoint(self._boundaries.ascii):
                return None
            joining = joining.copy()
            joining[list(self._boundaries.others)] = 2
        try:
            return DocumentEncoder(
                [piece.encode() for piece in described.pieces],
                np.array([id for id, _ in described.pieces.values()], np.uint32),
                np.array([score for _, score in described.pieces.values()], np.float64),
                unknown=described.unknown,
                unknown_score=described.unknown_score,
                bytes=None if described.byte_ids is None else np.array(described.byte_ids, np.uint32),
                charsmap=described.charsmap,
                joining=joining,
                only_spaces=described.only_spaces,
            )
        except ValueError:
            return None

    @cached_property
    def described(self) -> UnigramDescription:
        """What the document asks for, with the library's scores. Raises `LeftToLibraryError`."""
        return unigram_description({**self._parsed, "model": self._model_as_read()})

    def _model_as_read(self) -> dict[str, Any]:
        """The model with the scores that the library has: it does not round all numbers of a file to the nearest."""
        import orjson

        model: dict[str, Any] = self._parsed["model"]
        read = orjson.loads(self._engines.plain.to_str())["model"]["vocab"]
        pieces = (piece for piece, _ in model["vocab"])
        return {**model, "vocab": [[piece, score] for piece, (_, score) in zip(pieces, read, strict=True)]}


class _Boundaries(NamedTuple):
    """Characters that bound words in one way and not in another.

    Attributes:
        ascii: those of ASCII.
        others: the code points of the others.
    """

    ascii: tuple[str, ...]
    others: tuple[int, ...]


class _Late:
    """The encoder of a document, which is there when its first text is covered."""

    def __init__(self, document: UnigramDocument) -> None:
        self._document = document

    @property
    def _made(self) -> DocumentEncoder:
        made = self._document.encoder
        assert made is not None  # as its text is covered
        return made

    def encode(self, text: str) -> list[int]:
        return self._made.encode(text)

    def encode_batch(self, texts: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        return self._made.encode_batch(texts, threads)

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        return self._made.count_batch(texts, threads)
