"""A Unigram of a `tokenizer.json` on our kernel, with its library for all that the kernel does not do.

Our kernel does what SentencePiece's table of replacements, `WhitespaceSplit` with `Metaspace`, and `Unigram` do. What
else a document asks for that could change an id is a reason to leave it to its library. The checks mirror these files
of Hugging Face's `tokenizers`, below `tokenizers/src`: models/unigram/model.rs, normalizers/precompiled.rs,
pre_tokenizers/metaspace.rs.
"""

from __future__ import annotations

import base64
import binascii
import os
import unicodedata
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokbench.core.kernel_or_library import KernelOrLibrary, KernelUse, NormalizedTexts
from tokbench.core.special_tokens import WHITE_SPACE
from tokbench.core.tokens import SpecialPolicy
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.huggingface.tokenizer_json import special_contents, steps
from tokbench.native.kernel_choice import is_installed
from tokbench.opening.text_normalization import TextNormalization
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.opening.unicode_agreement import UnicodeAgreement, tokenizers_members

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokbench.core.kernel_or_library import KernelEncoder
    from tokbench.native._unigram import DocumentEncoder

COMPILED = "tokbench.native._unigram"

_UNKNOWN_PENALTY = 10.0
_MOST_EVERYWHERE = 16
"""Each text is searched for so many added tokens at most."""
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


class LeftToLibraryError(Exception):
    """Why a document is left to its library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnigramDescription:
    """A Unigram as our kernel runs it, where no text is a special token.

    Attributes:
        pieces: each piece that a text can become → its id and its score.
        unknown: the id of what is no piece.
        unknown_score: the score of a character that is none.
        byte_ids: the ids of the 256 bytes, where characters that are no piece become bytes.
        normalization: what is done to a text in Python, before the table.
        charsmap: the table of replacements; empty for none.
        only_spaces: whether words are what stands between spaces, other white space being as other characters.
        trims_ends: whether a text loses the spaces that it ends in; else one that ends in any is left to the library.
        everywhere: added tokens that the library finds in every text: one that holds any of them is left to it.
        specials: the special tokens, which it finds where it is asked to; None where they may be spelled otherwise.
    """

    pieces: Mapping[str, tuple[int, float]]
    unknown: int
    unknown_score: float
    byte_ids: tuple[int, ...] | None
    normalization: TextNormalization
    charsmap: bytes
    only_spaces: bool
    trims_ends: bool
    everywhere: tuple[str, ...]
    specials: tuple[str, ...] | None


def unigram_description(document: Mapping[str, Any]) -> UnigramDescription:
    """A document as our kernel runs it.

    Args:
        document: a `tokenizer.json` of a Unigram that its library takes.

    Raises:
        LeftToLibraryError: it does something that our kernel does not.
    """
    model = document["model"]
    if any(model.get(name) is not None for name in ("alpha", "nbest_size")):
        raise LeftToLibraryError("it draws tokens at random")
    if model.get("unk_id") is None:
        raise LeftToLibraryError("it has no unknown token")
    only_spaces = _words_between_spaces(document)
    before, charsmap, behind = _normalizers(document)
    trims_ends = _trims_ends(behind, only_spaces=only_spaces)
    try:
        normalization = TextNormalization(before)
    except NotNativeError as error:
        raise LeftToLibraryError(str(error)) from None
    scored = {piece: (id, float(score)) for id, (piece, score) in enumerate(model["vocab"])}
    special = [token for token in document["added_tokens"] if token.get("special")]
    everywhere = [token for token in document["added_tokens"] if not token.get("special")]
    for token in everywhere:
        if token.get("normalized", True) or not token["content"]:
            raise LeftToLibraryError(
                f"its added token {token['content']!r} is matched in the normalised text"
            )
    if len(everywhere) > _MOST_EVERYWHERE:
        raise LeftToLibraryError(f"it finds {len(everywhere)} added tokens in every text")
    as_spelled = not any(token.get("normalized", True) or not token["content"] for token in special)
    spelled_otherwise = {"", *special_contents(document)}
    return UnigramDescription(
        pieces={piece: each for piece, each in scored.items() if piece not in spelled_otherwise},
        unknown=model["unk_id"],
        unknown_score=min(score for _, score in scored.values()) - _UNKNOWN_PENALTY,
        byte_ids=_byte_ids(scored) if model.get("byte_fallback") else None,
        normalization=normalization,
        charsmap=charsmap,
        only_spaces=only_spaces,
        trims_ends=trims_ends,
        everywhere=tuple(token["content"] for token in everywhere),
        specials=tuple(token["content"] for token in special) if as_spelled else None,
    )


def _words_between_spaces(document: Mapping[str, Any]) -> bool:
    """Whether words are what stands between spaces, and not between white space of all kinds."""
    splitters = steps(document.get("pre_tokenizer"))
    kinds = [step.get("type") for step in splitters]
    if kinds not in (["WhitespaceSplit", "Metaspace"], ["Metaspace"]):
        raise LeftToLibraryError("it does not split by WhitespaceSplit and Metaspace")
    metaspace = splitters[-1]
    always = metaspace.get("prepend_scheme", "always") == "always" and metaspace.get("add_prefix_space", True)
    if metaspace.get("replacement") != SPACE or not always or metaspace.get("split", True) is not True:
        raise LeftToLibraryError(f"its Metaspace does not put {SPACE} in front of each word")
    return kinds == ["Metaspace"]


def _normalizers(
    document: Mapping[str, Any],
) -> tuple[list[Mapping[str, Any]], bytes, list[Mapping[str, Any]]]:
    """The steps before the table of replacements, the table, and what is done to spaces behind it."""
    normalizers = steps(document.get("normalizer"))
    tables = [number for number, step in enumerate(normalizers) if step.get("type") == "Precompiled"]
    if len(tables) > 1:
        raise LeftToLibraryError("it has two tables of replacements")
    if not tables:
        behind = 0
        while behind < len(normalizers) and _is_run_of_spaces(normalizers[-1 - behind]):
            behind += 1
        at = len(normalizers) - behind
        at -= bool(behind and at and normalizers[at - 1].get("type") == "Strip")
        return normalizers[:at], b"", normalizers[at:]
    table = normalizers[tables[0]]
    try:
        charsmap = base64.b64decode(table.get("precompiled_charsmap") or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise LeftToLibraryError("its table of replacements is not base64") from None
    return normalizers[: tables[0]], charsmap, normalizers[tables[0] + 1 :]


def _is_run_of_spaces(step: Mapping[str, Any]) -> bool:
    """Whether a step replaces several spaces by one, or by the ▁ that it becomes."""
    match step:
        case {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " " | "▁"}:
            return True
    return False


def _trims_ends(behind: Sequence[Mapping[str, Any]], *, only_spaces: bool) -> bool:
    """Whether a text loses the spaces that it ends in, where runs of them become one."""
    if not only_spaces:
        # How many spaces there are is all the same to words between white space.
        if all(step.get("type") == "Strip" or step.get("content") == " " for step in behind) and all(
            step.get("type") == "Strip" or _is_run_of_spaces(step) for step in behind
        ):
            return True
        raise LeftToLibraryError("it normalises behind its table of replacements")
    match behind:
        case [{"type": "Strip", "strip_right": True}, runs] if _is_run_of_spaces(runs):
            return True
        case [runs] if _is_run_of_spaces(runs):
            return False
    raise LeftToLibraryError("it does not make one space of several, which Metaspace would cut")


def _byte_ids(scored: Mapping[str, tuple[int, float]]) -> tuple[int, ...]:
    spelled = [f"<0x{byte:02X}>" for byte in range(256)]
    if any(each not in scored for each in spelled):
        raise LeftToLibraryError("byte fallback without a piece for each byte")
    return tuple(scored[each][0] for each in spelled)


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

        described = unigram_description({**self._parsed, "model": self._model_as_read()})
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
