"""A SentencePiece model, run by the `sentencepiece` library and held to our rules.

What the library does that a reader would not guess:

- A space and ▁ (U+2581) become the same thing, so that a text with ▁ in it comes back with a space:
  no SentencePiece model is lossless. One with identity normalization, byte fallback and no removal of
  white space gives back every other text exactly.
- A text gets a space in front (the dummy prefix). Where it makes a piece of its own, that piece covers
  nothing: its span is empty.
- Byte fallback writes a character as its bytes and says of the last one only what it covers; here
  each covers its own byte.
- Unknown characters side by side are one piece.
- User-defined symbols are found in every text, whatever the caller says of special tokens. They are
  pieces of the kind SPECIAL all the same.
- Decoding drops control symbols. Here they give their text, and what follows one is a text of its own,
  as it was when it was encoded.
- Few models change text when they decode (a denormalizer). It is applied to each such text.
"""

from __future__ import annotations

import os
from functools import cached_property, partial
from importlib.metadata import version
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.core.base import TakesTemplate, utf8
from tokbench.core.capabilities import Decoding
from tokbench.core.encoded import Encoded
from tokbench.core.guarded import is_control
from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.post_processing import NOTHING, model_input
from tokbench.core.token_arrays import offsets_of, segmented
from tokbench.core.tokens import ModelInput, SpecialPolicy, Token, TokenKind
from tokbench.errors import ModelFormatError
from tokbench.formats.json_files import dump_json
from tokbench.formats.sentencepiece.model import (
    SPACE,
    ModelType,
    piece_bytes,
    roles_of_model,
    special_tokens_of,
)
from tokbench.formats.sentencepiece.pieces import PieceType
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
    from tokbench.core.encoded import EncodedSpans
    from tokbench.core.guarded import GuardedTexts
    from tokbench.core.interfaces import TrainingRecord
    from tokbench.explain.derivation import Derivation
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.libraries.sentencepiece.denormalizer import Denormalizer
    from tokbench.libraries.sentencepiece.derivation import ModelExplainer
    from tokbench.libraries.sentencepiece.guarded import GuardedEncoder
    from tokbench.libraries.sentencepiece.offsets import SpanFinder

MODEL_NAME = "tokenizer.model"
TEMPLATE_NAME = "post_processing.json"
"""What is done to the ids of a text before a model gets them, as a `tokenizer.json` says it; a `.model` file cannot."""

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
    """What runs a model, with its version: the `kernel` of tokenizers and results."""
    return f"sentencepiece {version('sentencepiece')}"


class SentencePieceTokenizer(TakesTemplate, SaveableTokenizer):
    """A SentencePiece model of any type; see `sentencepiece_models.open_model`, which makes them.

    Attributes:
        proto: the serialized `ModelProto`.
        model: what it says.
        config: the options it was trained with, as plain data.
        post_processing: what is done to the ids of a text before a model gets them, where that stands beside it.
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
    ) -> None:
        self.proto = proto
        self.post_processing = post_processing
        self.model = model
        self.config = dict(config or {})
        self.identify_text = identify_text
        self._processor = _processor(proto, path=path)
        self._kinds = [_KINDS[piece.type] for piece in model.pieces]
        surface = model.trainer["unk_surface"]
        self._surfaces = [piece_bytes(piece, unk_surface=surface) for piece in model.pieces]
        self._strippable = {
            id
            for id, piece in enumerate(model.pieces)
            if piece.text.startswith(SPACE) and piece.type not in _NEVER_STRIPPED
        }
        info = TokenizerInfo(
            name=name,
            backend=backend,
            vocab_size=len(model.pieces),
            special_tokens=special_tokens_of(model),
            lossless=False,
            kernel=library(),
        )
        super().__init__(info, training=training)

    def own_roles(self) -> Mapping[str, str]:
        """Role → text, as the model says."""
        return roles_of_model(self.model)

    def spelled_id(self, text: str) -> int | None:
        """The id of a piece as the model spells it, or of a token by its bytes; None where there is none."""
        return self._spelled.get(text, self.token_id(text.encode()))

    @cached_property
    def _spelled(self) -> dict[str, int]:
        return {piece.text: id for id, piece in enumerate(self.model.pieces)}

    # --- encoding -----------------------------------------------------------------------------

    def input_of_texts(
        self, texts: Sequence[str], *, special: SpecialPolicy, template: bool, limits: bool
    ) -> ModelInput:
        """What a model gets of one text or two; see `TakesTemplate`."""
        ids = [self.encode(text, special=special) for text in texts]
        return model_input(self.post_processing, ids, template=template, limits=limits)

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text. Raises `TextError` for surrogates."""
        ids: list[int] = self._processor.encode(utf8(text), out_type=int)
        return ids

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """The ids of many texts in arrays; the result does not depend on `threads`.

        Raises:
            SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.
            TextError: a text holds a lone surrogate.
        """
        if special is not SpecialPolicy.TEXT and self._special_ids:
            return super().encode_batch(texts, special=special, threads=threads)
        return self._library_batch(texts, threads=threads)

    def _library_batch(self, texts: Sequence[str], *, threads: int | None = None) -> Encoded:
        encoded: list[NDArray[np.int32]] = self._processor.encode(
            [utf8(text) for text in texts], return_type="numpy", num_threads=threads or os.cpu_count() or 1
        )
        ids = np.concatenate([np.zeros(0, np.int32), *encoded])
        return Encoded(ids=ids.astype(np.uint32), offsets=offsets_of(list(map(len, encoded))))

    def segment_ordinary(self, text: str) -> Iterable[Token]:
        """Segment text, treating special tokens as ordinary text; spans count from its beginning."""
        data = utf8(text)
        found, _ = found_pieces(self._processor.encode(data, out_type="serialized_proto"))
        return self._tokens(found, data)

    def spelled_pieces(self, text: str) -> list[str]:
        """The pieces of a text as the model spells them, and what is unknown as the normalized text has it."""
        spelled: list[str] = self._processor.encode(text, out_type=str)
        return spelled

    def _tokens(self, found: Sequence[Found], data: bytes) -> Iterator[Token]:
        """Tokens from what the library found, each byte of a byte fallback with its own place."""
        spans = own_spans(found, data, surfaces=self._surfaces, kinds=self._kinds)
        for (id, _, _), span in zip(found, spans, strict=True):
            yield Token(id, self._surfaces[id], span, self._kinds[id])

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """The tokens of many texts with their spans, in arrays. Raises `TextError` for surrogates."""
        if self.model.model_type not in (ModelType.UNIGRAM, ModelType.BPE):
            return segmented(self, texts)  # of a word that falls back to bytes, the last one gets all
        encoded = self.encode_batch(texts, threads=threads)
        return self._span_finder.find(texts, encoded, threads=threads)

    @cached_property
    def _span_finder(self) -> SpanFinder:
        from tokbench.libraries.sentencepiece.offsets import SpanFinder

        return SpanFinder(self.model, self._processor, kinds=self._kinds)

    @cached_property
    def control_tokens(self) -> Mapping[str, int]:
        """The tokens that give a text its structure: control symbols, and user-defined ones such as `<tool>`."""
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
        """The bytes of ids: the text's, without the dummy prefix. Raises `UnknownIdError`.

        A control symbol gives its text, and after it a text begins anew. Where the model has a table for
        what it decodes, they are the bytes of each such text after the table, not those of the tokens.
        """
        parts = self._stripped(ids)
        if self._denormalizer is None:
            return b"".join(parts)
        made: list[bytes] = []
        for is_special, run in groupby(
            zip(ids, parts, strict=True), lambda pair: pair[0] in self._special_bytes
        ):
            text = b"".join(part for _, part in run)
            made.append(text if is_special else self._denormalizer.apply(text))
        return b"".join(made)

    def _stripped(self, ids: Sequence[int]) -> list[bytes]:
        """The bytes of each id, without what was put before each text."""
        return without_prefixes(
            self._pieces_of(ids),
            ids,
            specials=self._special_bytes,
            strippable=self._strippable,
            normalizer=self.model.normalizer,
        )

    @cached_property
    def _denormalizer(self) -> Denormalizer | None:
        from tokbench.libraries.sentencepiece.denormalizer import Denormalizer, has_denormalizer

        if not has_denormalizer(self.model):
            return None
        return Denormalizer(
            self.proto, self.model, open_processor=partial(_processor, path="its denormalizer")
        )

    @property
    def decoding(self) -> Decoding:
        """What is dropped depends on whether a text has begun; a table may match over several tokens."""
        return Decoding.FROM_LEFT if self._denormalizer is None else Decoding.WHOLE

    def ordinary_bytes(self, id: int) -> bytes | None:
        """The bytes a token stands for: ▁ is a space, the unknown piece is what decoding shows for it."""
        return self._surfaces[id]

    def token_id(self, piece: bytes) -> int | None:
        """The id of a token, or None; special tokens are found by the bytes of their text.

        A character that is both a piece and a byte is found as the piece, as the library encodes it.
        """
        return self._ids.get(piece)

    def score(self, id: int) -> float | None:
        """The token's log probability (Unigram), or the negative of its rank (BPE); None for one without.

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
            range(len(self._surfaces)), key=lambda each: (self._kinds[each] not in found_in_text, each)
        )
        ids = {self._surfaces[id]: id for id in reversed(first_wanted)}
        return ids | {text: id for id, text in self._special_bytes.items()}

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon.of(self.model)

    def _normalized(self, text: str) -> str:
        """A text as the pieces see it: normalized, with ▁ for spaces. Raises `TextError` for surrogates."""
        utf8(text)
        normalized: str = self._processor.normalize(text)
        return normalized

    def derivation(self, text: str) -> Derivation:
        """The steps by which a text becomes ids, in which nothing is a special token. Raises `TextError`."""
        utf8(text)
        return self._explainer.derivation(text)

    @cached_property
    def _explainer(self) -> ModelExplainer:
        from tokbench.libraries.sentencepiece.derivation import ModelExplainer

        return ModelExplainer(self.model, self._processor, self._lexicon)

    # --- the forms in which others open it ----------------------------------------------------

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens; `tokenizer.model` in it is for the library.

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
        """The components of the tokenizer; see `tokbench.core.descriptions`."""
        from tokbench.core.descriptions import SentencePieceModel

        return SentencePieceModel(
            proto=self.proto,
            special_tokens=self.info.special_tokens,
            post_processing=self.post_processing,
        )


def _template_file(post_processing: PostProcessing) -> dict[str, bytes]:
    """The file that says what a model's own does not; none where there is nothing to say."""
    if post_processing == NOTHING:
        return {}
    from tokbench.formats.post_processors import dump_post_processing

    return {TEMPLATE_NAME: dump_json(dump_post_processing(post_processing))}


def _processor(proto: bytes, *, path: Path | str) -> SentencePieceProcessor:
    import sentencepiece

    sentencepiece.set_min_log_level(2)  # what it would log of a model it refuses is raised here
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=proto)
    except (RuntimeError, ValueError, IndexError) as error:
        raise ModelFormatError(path, "a model that sentencepiece accepts", str(error)) from None
