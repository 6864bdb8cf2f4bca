"""A tokenizer of any `tokenizer.json` on the `tokenizers` library, with tokbench's spans, kinds and special policies.

This module corrects the following behaviour of the library:

- It finds special tokens in every text. So there are two copies of the tokenizer, one of which
  spells the special tokens as no text does.
- Its offsets count characters, and each token of a character's bytes gets the whole character.
- It applies the truncation, padding and dropout of a file, which change ids. They are removed.
- It decodes bytes that are not whole characters to U+FFFD, and skips unknown ids.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.core.base import utf8
from tokbench.core.descriptions import HuggingFaceModel
from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.special_tokens import check_policy
from tokbench.core.token_arrays import KIND_NUMBERS, PieceTable
from tokbench.core.tokens import (
    Encoded,
    EncodedSpans,
    Segmentation,
    Span,
    SpecialPolicy,
    Token,
    TokenKind,
)
from tokbench.errors import ConversionError, SpecialTokenError
from tokbench.libraries.huggingface import tokenizer_json as reading
from tokbench.libraries.huggingface.decoding import DecodesDocument
from tokbench.libraries.huggingface.derivation import ExplainsDocument
from tokbench.libraries.huggingface.engines import Engines, library_errors, limits_of, runnable, text_errors
from tokbench.libraries.huggingface.model_input import POST_PROCESSING_PARTS, GivesModelInput
from tokbench.libraries.huggingface.offsets import byte_offsets, byte_ranges, own_places, own_spans
from tokbench.libraries.huggingface.pieces import laid_out
from tokbench.store.saveable import SaveableTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import tokenizers
    from numpy.typing import NDArray

    from tokbench.core.guarded import GuardedTexts
    from tokbench.core.interfaces import TrainingRecord
    from tokbench.libraries.huggingface.guarded import GuardedEncoder
    from tokbench.libraries.huggingface.pieces import EntryLayout

_BATCH = 1024


class HuggingFaceTokenizer(DecodesDocument, ExplainsDocument, GivesModelInput, SaveableTokenizer):
    """A tokenizer from the content of a `tokenizer.json`: BPE, WordPiece, Unigram or WordLevel.

    Added tokens that are not special belong to the tokenizer and are found in every text. The token
    bytes of a piece are the bytes of its text: the byte-level alphabet, `<0x41>`, "▁", "##" and "</w>"
    are undone, as far as the file's components say so. The unknown token has the kind UNKNOWN and is
    not one of the special tokens, even if a text contains "[UNK]" under `SpecialPolicy.ENCODE`.

    Args:
        document: the content of the file.
        name: the name that the user gives the tokenizer.
        backend: the registered backend that trained it, or the closest one for an opened file.
        training: the record of its training.
        source: the name of the file in error messages; by default `name`.
        parsed: the parsed file, if the caller has it and has checked its vocabulary and merges as the library does;
            its merges may be pairs.

    Raises:
        ModelFormatError: the document is not a tokenizer, or the library does not accept it.

    Usage:

        tokenizer = HuggingFaceTokenizer(Path("tokenizer.json").read_bytes(), name="bert", backend="wordpiece")
        tokenizer.segment("Wörter").tokens
    """

    def __init__(
        self,
        document: bytes,
        *,
        name: str,
        backend: str,
        training: TrainingRecord | None = None,
        source: Path | str | None = None,
        parsed: Mapping[str, Any] | None = None,
    ) -> None:
        import tokenizers

        self.document = document
        self._source = source if source is not None else name
        is_checked = parsed is not None and not reading.is_read_by_python_alone(document)
        if parsed is None or not is_checked:
            parsed = reading.parse_tokenizer_json(document, source=self._source)
        else:
            parsed = reading.checked_document(parsed, source=self._source)
        with library_errors(self._source):
            self._parsed = runnable(parsed)
            self._post_processing_parts = {part: parsed.get(part) for part in POST_PROCESSING_PARTS}
            self._engines = Engines(self._parsed, limits=limits_of(parsed), source=self._source)
            vocabulary = self._engines.vocabulary(is_checked=is_checked)
        reading.check_ids(vocabulary, source=self._source)
        unknown = reading.unknown_piece(parsed)
        belongs_to_texts = {unknown, *reading.fallback_bytes(parsed)}
        specials = {
            text: vocabulary[text]
            for text in reading.special_contents(parsed)
            if text in vocabulary and text not in belongs_to_texts
        }
        info = TokenizerInfo(
            name=name,
            backend=backend,
            vocab_size=max(vocabulary.values()) + 1,
            special_tokens=specials,
            lossless=reading.is_lossless(parsed, vocabulary),
            kernel=f"tokenizers {tokenizers.__version__}",
        )
        super().__init__(info, training=training)
        self._spelled, self._unknown = vocabulary, unknown
        self._own_roles = reading.own_roles(parsed)

    def own_roles(self) -> Mapping[str, str]:
        """Return the special tokens by role, as the file specifies them."""
        return self._own_roles

    def spelled_id(self, text: str) -> int | None:
        """Return the id of a token by its spelling in the file; None if there is no such token."""
        return self._spelled.get(text)

    @cached_property
    def _laid_out(self) -> EntryLayout:
        """The bytes and kind of each id, computed on first use, as encoding does not need them."""
        return laid_out(self._parsed, self._spelled, unknown=self._unknown)

    @property
    def spelled_ids(self) -> Mapping[str, int]:
        """The spelling of every token in the file → its id."""
        return self._spelled

    # --- encoding -----------------------------------------------------------------------------

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """Return the ids of a text.

        Raises:
            SpecialTokenError: the text contains a special token under `SpecialPolicy.RAISE`.
            TextError: the text contains a lone surrogate.
        """
        utf8(text)
        engine = self._engine_for([text], special=special)
        with text_errors(self._source):
            ids: list[int] = engine.encode_batch_fast([text], add_special_tokens=False)[0].ids
        return ids

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text. Raises `TextError` for surrogates."""
        return self.encode(text)

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """Encode many texts into arrays, on one thread or as many as the library chooses. Raises as `encode`."""
        import numpy as np

        engine = self._engine_for(texts, special=special)
        ids = array("I")
        offsets = [0]
        for encoding in self._encodings(engine.encode_batch_fast, texts, threads=threads):
            ids.fromlist(encoding.ids)
            offsets.append(len(ids))
        return Encoded(ids=np.array(ids, np.uint32), offsets=np.array(offsets, np.int64))

    def _encodings(
        self, encode: Callable[..., list[tokenizers.Encoding]], texts: Sequence[str], *, threads: int | None
    ) -> Iterator[tokenizers.Encoding]:
        """Yield the library's encoding of each text; the library uses threads for batches of several texts."""
        for text in texts:
            utf8(text)
        step = 1 if threads == 1 else _BATCH
        for first in range(0, len(texts), step):
            with text_errors(self._source):
                encodings = encode(list(texts[first : first + step]), add_special_tokens=False)
            yield from encodings

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """Return the tokens of many texts with their spans, in arrays. Raises `TextError` for surrogates."""
        return self._spans_of_ranges(texts, *self._encode_with_ranges(texts, threads=threads))

    def _encode_with_ranges(
        self, texts: Sequence[str], *, threads: int | None, engine: tokenizers.Tokenizer | None = None
    ) -> tuple[Encoded, NDArray[np.int64]]:
        """Return the library's ids of texts, and the character range of each token in its text as int64[N, 2]."""
        import numpy as np

        engine = self._engines.plain if engine is None else engine
        ids, places = array("I"), array("q")
        offsets = [0]
        for encoding in self._encodings(engine.encode_batch, texts, threads=threads):
            ids.fromlist(encoding.ids)
            places.fromlist(list(chain.from_iterable(encoding.offsets)))
            offsets.append(len(ids))
        encoded = Encoded(ids=np.array(ids, np.uint32), offsets=np.array(offsets, np.int64))
        return encoded, np.array(places, np.int64).reshape(-1, 2)

    def _spans_of_ranges(
        self, texts: Sequence[str], encoded: Encoded, ranges: NDArray[np.int64]
    ) -> EncodedSpans:
        return self._owned(texts, encoded, *byte_ranges(texts, encoded, ranges))

    def _owned(
        self, texts: Sequence[str], encoded: Encoded, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> EncodedSpans:
        """Return the tokens of texts with non-overlapping spans, from byte ranges at character boundaries."""
        kinds = self._kind_numbers[encoded.ids]
        is_silent = kinds == KIND_NUMBERS[TokenKind.UNKNOWN]
        starts, stops = own_places(
            texts, encoded, starts, stops, pieces=self._piece_table, is_silent=is_silent
        )
        return EncodedSpans(encoded, starts, stops, kinds)

    @cached_property
    def _piece_table(self) -> PieceTable:
        return PieceTable.of([self._laid_out.pieces.get(id, b"") for id in range(self.info.vocab_size)])

    @cached_property
    def _kind_numbers(self) -> NDArray[np.uint8]:
        """The kind of each id in texts without special tokens."""
        import numpy as np

        kinds = np.full(self.info.vocab_size, KIND_NUMBERS[TokenKind.NORMAL], np.uint8)
        for id, kind in self._laid_out.kinds.items():
            kinds[id] = KIND_NUMBERS[kind]
        return kinds

    @cached_property
    def control_tokens(self) -> Mapping[str, int]:
        """The control tokens, which give a text its structure, special or not: text → id."""
        return {text: self._spelled[text] for text in self._engines.disguises if text in self._spelled}

    def encode_guarded(
        self,
        texts: Sequence[str],
        trusted: Sequence[Sequence[tuple[int, int]]],
        *,
        threads: int | None = None,
    ) -> GuardedTexts:
        """Encode texts, recognizing control tokens only in trusted ranges; see `tokbench.core.guarded`."""
        return self._guarded_encoder.encode(texts, trusted, threads=threads)

    @cached_property
    def _guarded_encoder(self) -> GuardedEncoder:
        from tokbench.libraries.huggingface.guarded import GuardedEncoder

        engines = self._engines

        def run_library(
            texts: Sequence[str], *, isolated: bool, threads: int | None
        ) -> tuple[EncodedSpans, NDArray[np.int64]]:
            engine = engines.isolated if isolated else engines.with_specials
            encoded, ranges = self._encode_with_ranges(texts, threads=threads, engine=engine)
            return self._spans_of_ranges(texts, encoded, ranges), ranges

        return GuardedEncoder(self.control_tokens, engines.disguises, run_library, unknown=self._unknown)

    def segment(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> Segmentation:
        """Return the tokens of a text with their bytes and spans; the ids are those of `encode`."""
        utf8(text)
        engine = self._engine_for([text], special=special)
        return Segmentation(
            text=text, tokens=tuple(self._tokens(text, engine, specials=special is SpecialPolicy.ENCODE))
        )

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        """Yield the tokens of a text, treating special tokens as ordinary text; spans are relative to its start."""
        return self._tokens(text, self._engines.plain, specials=False)

    def _tokens(self, text: str, engine: tokenizers.Tokenizer, *, specials: bool) -> Iterator[Token]:
        with text_errors(self._source):
            encoding = engine.encode(text, add_special_tokens=False)
        data, places, ids = text.encode(), byte_offsets(text), encoding.ids
        end = len(text)  # beyond which the library says that bytes of an end of word suffix are
        ranges = [(places[min(start, end)], places[min(stop, end)]) for start, stop in encoding.offsets]
        kinds = [self._kind(id, specials=specials) for id in ids]
        known = self._laid_out.pieces
        pieces = [
            None if kind is TokenKind.UNKNOWN else known[id] for id, kind in zip(ids, kinds, strict=True)
        ]
        for id, span, kind in zip(ids, own_spans(data, ranges, pieces), kinds, strict=True):
            yield Token(id, known[id], span, kind)

    def _ordinary_token(self, id: int, span: Span) -> Token:
        return Token(id, self._laid_out.pieces[id], span, self._kind(id, specials=False))

    def _kind(self, id: int, *, specials: bool) -> TokenKind:
        if specials and id in self._special_bytes:
            return TokenKind.SPECIAL
        return self._laid_out.kinds.get(id, TokenKind.NORMAL)

    def _engine_for(self, texts: Sequence[str], *, special: SpecialPolicy) -> tokenizers.Tokenizer:
        """Return the library's tokenizer for a special policy. Raises `SpecialTokenError`."""
        check_policy(special)
        if special is SpecialPolicy.TEXT or not self._engines.unspeakable:
            return self._engines.plain
        if special is SpecialPolicy.RAISE:
            for text in texts:
                utf8(text)
                for token in self._tokens(text, self._engines.with_specials, specials=True):
                    if token.kind is TokenKind.SPECIAL:
                        raise SpecialTokenError(self._special_bytes[token.id].decode(), token.span)
            return self._engines.plain
        return self._engines.with_specials

    def ordinary_bytes(self, id: int) -> bytes | None:
        """Return the bytes of a token that is not special, or None if the vocabulary has no such id."""
        return self._laid_out.pieces.get(id)

    def token_id(self, piece: bytes) -> int | None:
        """Return the id of a token by its bytes, or by its spelling in the file ("##ing"), or None.

        If several tokens have the same bytes, a special token takes precedence, then a token that may
        begin a word, then the smallest id.
        """
        return self._ids.get(piece)

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        ids = {text: id for id, text in self._special_bytes.items()}
        layout = self._laid_out
        for id, piece in layout.pieces.items():
            if id not in layout.inside_words:
                ids.setdefault(piece, id)
        for id, piece in layout.pieces.items():
            ids.setdefault(piece, id)
        for spelling, id in self._spelled.items():
            ids.setdefault(spelling.encode(), id)
        return ids

    # --- components and saving ----------------------------------------------------------------

    def description(self) -> HuggingFaceModel:
        """Return the components of the tokenizer; see `tokbench.core.descriptions`."""
        return HuggingFaceModel(document=self.document, special_tokens=self.info.special_tokens)

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Raise `ConversionError`: only tokenizers that tokbench trained can be saved as a folder."""
        del directory, overwrite
        raise ConversionError(
            f"{self.info.name!r} was opened from a tokenizer.json, and cannot be saved as a folder",
            hint="copy that file, or convert it to another format",
        )
