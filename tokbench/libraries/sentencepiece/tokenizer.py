"""A tokenizer of a SentencePiece model on the `sentencepiece` library, with tokbench's spans, kinds and policies.

Surprising behaviour of the library, and what this module does about it:

- A space and ▁ (U+2581) are the same to a model, so a text with ▁ decodes to a space: no SentencePiece
  model is lossless. A model with identity normalization, byte fallback and no removal of white space
  decodes every other text exactly.
- A text gets a prefix space (the dummy prefix). If that becomes a piece by itself, the span of the
  piece is empty.
- Byte fallback splits a character into byte tokens, and the library reports a span only for the last
  one. Here each byte token has the span of its own byte.
- A run of unknown characters is one piece.
- User-defined symbols are found in every text, whatever the special policy. They nevertheless have
  the kind SPECIAL.
- The library drops control symbols in decoding. Here they decode to their text, and a new text begins
  after each of them, as in encoding.
- A few models have a denormalizer, which rewrites decoded text. It is applied to each such text.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from functools import cached_property, partial
from importlib.metadata import version
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.core.base import TakesTemplate, utf8
from tokbench.core.capabilities import Decoding
from tokbench.core.guarded import is_control
from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.post_processing import NOTHING, model_input
from tokbench.core.token_arrays import offsets_of, segmented
from tokbench.core.tokens import Encoded, ModelInput, SpecialPolicy, Token, TokenKind
from tokbench.errors import ModelFormatError
from tokbench.formats.sentencepiece.model import (
    SPACE,
    ModelType,
    piece_bytes,
    roles_of_model,
    special_tokens_of,
)
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.tokenizer_json import dump_json
from tokbench.libraries.sentencepiece.sampling import Lexicon
from tokbench.libraries.sentencepiece.serialized import Found, found_pieces, own_spans, without_prefixes
from tokbench.store.saveable import SaveableTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from sentencepiece import SentencePieceProcessor

    from tokbench.core.descriptions import PostProcessing, SentencePieceModel
    from tokbench.core.documents import TextIdentity
    from tokbench.core.guarded import GuardedTexts
    from tokbench.core.interfaces import TrainingRecord
    from tokbench.core.tokens import EncodedSpans
    from tokbench.explain.derivation import Derivation
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.libraries.sentencepiece.denormalizer import Denormalizer
    from tokbench.libraries.sentencepiece.derivation import ModelExplainer
    from tokbench.libraries.sentencepiece.guarded import GuardedEncoder
    from tokbench.libraries.sentencepiece.offsets import SpanFinder

MODEL_NAME = "tokenizer.model"
TEMPLATE_NAME = "post_processing.json"
"""The file of the post-processing of ids, in the form of a `tokenizer.json`, since a `.model` file cannot hold it."""

_KINDS = {
    PieceType.NORMAL: TokenKind.NORMAL,
    PieceType.UNUSED: TokenKind.NORMAL,
    PieceType.UNKNOWN: TokenKind.UNKNOWN,
    PieceType.CONTROL: TokenKind.SPECIAL,
    PieceType.USER_DEFINED: TokenKind.SPECIAL,
    PieceType.BYTE: TokenKind.BYTE,
}
_NEVER_STRIPPED = (PieceType.CONTROL, PieceType.UNKNOWN, PieceType.BYTE)


def library() -> str:
    """Return the name of the library with its version: the `kernel` of tokenizers and results."""
    return f"sentencepiece {version('sentencepiece')}"


class EncodesOrdinaryBatches(TakesTemplate, SaveableTokenizer):
    """A tokenizer that encodes many texts at once if no special token is searched, and post-processes their ids.

    Attributes:
        post_processing: the post-processing of the ids of a text before a model gets them; not part of the model.
    """

    post_processing: PostProcessing = NOTHING

    @abstractmethod
    def _encode_ordinary_batch(self, texts: Sequence[str], *, threads: int | None) -> Encoded:
        """Return the ids of many texts, treating special tokens as ordinary text."""

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """Return the ids of many texts in arrays; the result does not depend on `threads`. Raises as `encode`."""
        if self._searches_specials(special):
            return super().encode_batch(texts, special=special, threads=threads)
        return self._encode_ordinary_batch(texts, threads=threads)

    def input_of_texts(
        self, texts: Sequence[str], *, special: SpecialPolicy, template: bool, limits: bool
    ) -> ModelInput:
        """Return the model input for one text or a pair of texts; see `TakesTemplate`."""
        ids = [self.encode(text, special=special) for text in texts]
        return model_input(self.post_processing, ids, template=template, limits=limits)


class SentencePieceTokenizer(EncodesOrdinaryBatches):
    """A tokenizer of a SentencePiece model of any type; `models.open_model` creates the right subclass.

    Attributes:
        proto: the serialized `ModelProto`.
        model: the parsed model.
        config: the training options, as plain data.
    """

    def __init__(
        self,
        *,
        proto: bytes,
        model: SentencePieceFile,
        name: str,
        backend: str,
        path: Path | str = "the model",
        config: Mapping[str, Any] | None = None,
        training: TrainingRecord | None = None,
        identify_text: Callable[[], TextIdentity] | None = None,
        post_processing: PostProcessing = NOTHING,
        finds_unknown: bool = False,
    ) -> None:
        self.proto = proto
        self.post_processing = post_processing
        self.model = model
        self.config = dict(config or {})
        self.identify_text = identify_text
        self._processor = _processor(proto, path=path)
        self._kinds = [_KINDS[piece.type] for piece in model.pieces]
        info = TokenizerInfo(
            name=name,
            backend=backend,
            vocab_size=len(model.pieces),
            special_tokens=special_tokens_of(model, with_unknown=finds_unknown),
            lossless=False,
            kernel=library(),
        )
        super().__init__(info, training=training)

    @cached_property
    def _surfaces(self) -> list[bytes]:
        """The bytes of each id."""
        surface = self.model.trainer["unk_surface"]
        return [piece_bytes(piece, unk_surface=surface) for piece in self.model.pieces]

    @cached_property
    def _strippable(self) -> set[int]:
        """The ids of pieces whose first byte may be a prefix space."""
        return {
            id
            for id, piece in enumerate(self.model.pieces)
            if piece.text.startswith(SPACE) and piece.type not in _NEVER_STRIPPED
        }

    def own_roles(self) -> Mapping[str, str]:
        """Return the special tokens by role, as the model specifies them."""
        return roles_of_model(self.model)

    def spelled_id(self, text: str) -> int | None:
        """Return the id of a piece by its spelling in the model, or of a token by its bytes; None if there is none."""
        return self._spelled.get(text, self.token_id(text.encode()))

    @cached_property
    def _spelled(self) -> dict[str, int]:
        return {piece.text: id for id, piece in enumerate(self.model.pieces)}

    # --- encoding -----------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text. Raises `TextError` for surrogates."""
        ids: list[int] = self._processor.encode(utf8(text), out_type=int)
        return ids

    def _encode_ordinary_batch(self, texts: Sequence[str], *, threads: int | None) -> Encoded:
        encoded: list[NDArray[np.int32]] = self._processor.encode(
            [utf8(text) for text in texts], return_type="numpy", num_threads=threads or os.cpu_count() or 1
        )
        ids = np.concatenate([np.zeros(0, np.int32), *encoded])
        return Encoded(ids=ids.astype(np.uint32), offsets=offsets_of(list(map(len, encoded))))

    def segment_ordinary(self, text: str) -> Iterable[Token]:
        """Return the tokens of a text, treating special tokens as ordinary text; spans are relative to its start."""
        data = utf8(text)
        pieces, _ = found_pieces(self._processor.encode(data, out_type="serialized_proto"))
        return self._tokens(pieces, data)

    def spelled_pieces(self, text: str) -> list[str]:
        """Return the pieces of a text in the model's spelling; unknown pieces are parts of the normalized text."""
        spelled: list[str] = self._processor.encode(text, out_type=str)
        return spelled

    def _tokens(self, pieces: Sequence[Found], data: bytes) -> Iterator[Token]:
        """Yield the tokens of the library's pieces, with the own byte of each byte token as its span."""
        spans = own_spans(pieces, data, surfaces=self._surfaces, kinds=self._kinds)
        for (id, _, _), span in zip(pieces, spans, strict=True):
            yield Token(id, self._surfaces[id], span, self._kinds[id])

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """Return the tokens of many texts with their spans, in arrays. Raises `TextError` for surrogates."""
        if self.model.model_type not in (ModelType.UNIGRAM, ModelType.BPE):
            # If a word falls back to bytes, the last byte token gets the whole word.
            return segmented(self, texts)
        encoded = self.encode_batch(texts, threads=threads)
        return self._span_finder.find(texts, encoded, threads=threads)

    @cached_property
    def _span_finder(self) -> SpanFinder:
        from tokbench.libraries.sentencepiece.offsets import SpanFinder

        return SpanFinder(self.model, self._processor, kinds=self._kinds)

    @cached_property
    def control_tokens(self) -> Mapping[str, int]:
        """The control tokens, which structure a text: control symbols, and user-defined ones such as `<tool>`."""
        symbols = {
            piece.text: id
            for id, piece in enumerate(self.model.pieces)
            if piece.type is PieceType.USER_DEFINED and is_control(piece.text, special=False)
        }
        return {**symbols, **self.info.special_tokens}

    def encode_guarded(
        self,
        texts: Sequence[str],
        trusted: Sequence[Sequence[tuple[int, int]]],
        *,
        threads: int | None = None,
    ) -> GuardedTexts:
        """Encode texts, recognizing control tokens only in trusted ranges; see `tokbench.core.guarded`."""
        if len(self.control_tokens) == len(self.info.special_tokens):
            return super().encode_guarded(texts, trusted, threads=threads)
        for text in texts:
            utf8(text)
        return self._guarded_encoder.encode(texts, trusted, threads=threads)

    @cached_property
    def _guarded_encoder(self) -> GuardedEncoder:
        from tokbench.libraries.sentencepiece.guarded import GuardedEncoder

        def open_disguised(proto: bytes, model: SentencePieceFile) -> SentencePieceTokenizer:
            return SentencePieceTokenizer(
                proto=proto, model=model, name=self.info.name, backend=self.info.backend
            )

        return GuardedEncoder(self, open_disguised)

    # --- decoding -----------------------------------------------------------------------------

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of the text of ids, without the dummy prefix. Raises `UnknownIdError`.

        A control symbol decodes to its text, and a new text begins after it. If the model has a denormalizer,
        it rewrites each such text.
        """
        parts = without_prefixes(
            self._pieces_of(ids),
            ids,
            specials=self._special_bytes,
            strippable=self._strippable,
            normalizer=self.model.normalizer,
        )
        if self._denormalizer is None:
            return b"".join(parts)
        texts: list[bytes] = []
        for is_special, run in groupby(
            zip(ids, parts, strict=True), lambda pair: pair[0] in self._special_bytes
        ):
            text = b"".join(part for _, part in run)
            texts.append(text if is_special else self._denormalizer.apply(text))
        return b"".join(texts)

    @cached_property
    def _denormalizer(self) -> Denormalizer | None:
        from tokbench.libraries.sentencepiece.denormalizer import denormalizer_of

        open_processor = partial(_processor, path="its denormalizer")
        return denormalizer_of(self.proto, self.model, open_processor=open_processor)

    @property
    def decoding(self) -> Decoding:
        """How ids are decoded: only the start of a text drops the dummy prefix; a denormalizer needs all ids."""
        return Decoding.FROM_LEFT if self._denormalizer is None else Decoding.WHOLE

    def ordinary_bytes(self, id: int) -> bytes | None:
        """Return the bytes of a token, with ▁ as a space; the unknown token has the bytes that it decodes to."""
        return self._surfaces[id]

    def token_id(self, piece: bytes) -> int | None:
        """Return the id of a token, or None; a special token is looked up by the bytes of its text.

        If a character is both a piece and a byte token, the result is the piece, as in encoding.
        """
        return self._ids.get(piece)

    def score(self, id: int) -> float | None:
        """Return the log probability of a token (Unigram), or its negative rank (BPE); None if it has no score.

        Raises:
            UnknownIdError: the vocabulary has no such id.
        """
        self._known_bytes(id, 0)
        piece = self.model.pieces[id]
        return piece.score if piece.type is PieceType.NORMAL else None

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        found_in_text = (TokenKind.NORMAL, TokenKind.SPECIAL)
        first_wanted = sorted(
            range(len(self._surfaces)),
            key=lambda piece_id: (self._kinds[piece_id] not in found_in_text, piece_id),
        )
        ids = {self._surfaces[id]: id for id in reversed(first_wanted)}
        return ids | {text: id for id, text in self._special_bytes.items()}

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon.of(self.model)

    def _normalized(self, text: str) -> str:
        """Return the normalized text, with ▁ for spaces. Raises `TextError` for surrogates."""
        utf8(text)
        normalized: str = self._processor.normalize(text)
        return normalized

    def derivation(self, text: str) -> Derivation:
        """Return the steps from a text to its ids, treating special tokens as ordinary text. Raises `TextError`."""
        utf8(text)
        return self._explainer.derivation(text)

    @cached_property
    def _explainer(self) -> ModelExplainer:
        from tokbench.libraries.sentencepiece.derivation import ModelExplainer

        return ModelExplainer(self.model, self._processor, self._lexicon)

    # --- saving and conversion ----------------------------------------------------------------

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens; its `tokenizer.model` is the file for the library.

        Raises:
            StoreError: the folder exists, or cannot be written.
        """
        self.write(
            directory,
            {MODEL_NAME: self.proto, **_template_file(self.post_processing)},
            overwrite=overwrite,
            config=self.config,
            versions={"sentencepiece": version("sentencepiece")},
            seed=int(self.config.get("seed", 0)),
        )

    def description(self) -> SentencePieceModel:
        """Return the components of the tokenizer; see `tokbench.core.descriptions`."""
        from tokbench.core.descriptions import SentencePieceModel

        return SentencePieceModel(
            proto=self.proto,
            special_tokens=self.info.special_tokens,
            post_processing=self.post_processing,
        )


def _template_file(post_processing: PostProcessing) -> dict[str, bytes]:
    """Return the file of the post-processing by its name; empty if there is no post-processing."""
    if post_processing == NOTHING:
        return {}
    from tokbench.formats.post_processors import dump_post_processing

    return {TEMPLATE_NAME: dump_json(dump_post_processing(post_processing))}


def _processor(proto: bytes, *, path: Path | str) -> SentencePieceProcessor:
    import sentencepiece

    sentencepiece.set_min_log_level(2)  # no log of errors, which are raised below
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=proto)
    except (RuntimeError, ValueError, IndexError) as error:
        raise ModelFormatError(path, "a model that sentencepiece accepts", str(error)) from None
