"""A SentencePiece model, run by the `sentencepiece` library and held to our rules.

What the library does that a reader would not guess:

- A space and ▁ (U+2581) become the same thing, so that a text with ▁ in it comes back with a space:
  no SentencePiece model is lossless. One with identity normalisation, byte fallback and no removal of
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
"""

from __future__ import annotations

import os
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.adapters.cutting import are_long, model_cut
from tokbench.adapters.sentencepiece_bytes import Found, found_pieces, found_segmentations, own_spans
from tokbench.adapters.sentencepiece_sampling import Lexicon, bpe_dropout, sampled_index, unigram_sample
from tokbench.base import BaseTokenizer, utf8
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.formats.sentencepiece_model import (
    SPACE,
    ModelType,
    PieceType,
    parse_model,
    piece_bytes,
    special_tokens_of,
)
from tokbench.interfaces import Decoding, Encoded, ScoredSegmentation, TokenizerInfo
from tokbench.spans import offsets_of, segmented
from tokbench.tokens import Segmentation, SpecialPolicy, Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from sentencepiece import SentencePieceProcessor

    from tokbench.adapters.sentencepiece_spans import SpanFinder
    from tokbench.adapters.stretches import StretchMemo
    from tokbench.formats.sentencepiece_model import SentencePieceFile
    from tokbench.interfaces import EncodedSpans, TextIdentity, TrainingRecord
    from tokbench.models import SentencePieceModel

MODEL_NAME = "tokenizer.model"

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


def open_model(
    proto: bytes,
    *,
    name: str,
    backend: str | None = None,
    path: Path | str = "the model",
    config: Mapping[str, Any] | None = None,
    training: TrainingRecord | None = None,
    identify_text: Callable[[], TextIdentity] | None = None,
) -> SentencePieceTokenizer:
    """The tokenizer of a serialised model, with the powers its algorithm has.

    Args:
        proto: a `ModelProto`, as a `.model` file holds it.
        name: how the user calls it.
        backend: what trained or would train such a model; by default found by the model's type.
        path: what error messages call it.
        config: the options it was trained with, as plain data.
        training: what its training saw and did.
        identify_text: tells which text it was trained on.

    Raises:
        ModelFormatError: the bytes are no model, or one that the library refuses.
    """
    model = parse_model(proto, path=path)
    made_by = {ModelType.UNIGRAM: UnigramTokenizer, ModelType.BPE: SentencePieceBpeTokenizer}
    made = made_by.get(model.model_type, SentencePieceTokenizer)
    return made(
        proto=proto,
        model=model,
        name=name,
        backend=backend or ("unigram" if model.model_type is ModelType.UNIGRAM else "sentencepiece"),
        path=path,
        config=config,
        training=training,
        identify_text=identify_text,
    )


class SentencePieceTokenizer(BaseTokenizer):
    """A SentencePiece model of any type; see `open_model`, which makes them.

    Attributes:
        proto: the serialised `ModelProto`.
        model: what it says.
        config: the options it was trained with, as plain data.
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
    ) -> None:
        self.proto = proto
        self.model = model
        self.config = dict(config or {})
        self.identify_text = identify_text
        self._processor = _processor(proto, path=path)
        self._kinds = [_KINDS[piece.type] for piece in model.pieces]
        surface = model.trainer["unk_surface"]
        self._entries = [piece_bytes(piece, unk_surface=surface) for piece in model.pieces]
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

    # --- encoding -----------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text in which nothing is a special token. Raises `TextError` for surrogates."""
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
        if self._memo is not None and are_long(texts):
            for text in texts:
                utf8(text)  # here, as an error counts characters without the prefix
            prefix = self._prefix
            return self._memo.encode_batch(
                [prefix + text if text else text for text in texts], threads=threads
            )
        return self._library_batch(texts, threads=threads)

    @cached_property
    def _memo(self) -> StretchMemo | None:
        from tokbench.adapters.side_by_side import SpacedWords
        from tokbench.adapters.stretches import StretchMemo, without_places

        cut = model_cut(self.model)
        if cut is None:
            return None
        # Each text begins with a space where the library would put one in front of it.
        skipped = len(self._prefix)
        words = SpacedWords(
            self.model,
            lambda texts, threads: self._library_batch([text[skipped:] for text in texts], threads=threads),
        )
        return StretchMemo(
            cut=cut,
            encode=lambda stretches, threads: without_places(words.encode_batch(stretches, threads=threads)),
        )

    @property
    def _prefix(self) -> str:
        return " " if self.model.normalizer["add_dummy_prefix"] else ""

    def _library_batch(self, texts: Sequence[str], *, threads: int | None = None) -> Encoded:
        encoded: list[NDArray[np.int32]] = self._processor.encode(
            [utf8(text) for text in texts], return_type="numpy", num_threads=threads or os.cpu_count() or 1
        )
        ids = np.concatenate([np.zeros(0, np.int32), *encoded])
        return Encoded(ids=ids.astype(np.uint32), offsets=offsets_of(list(map(len, encoded))))

    def segment_ordinary(self, text: str) -> Iterable[Token]:
        """The tokens of a text in which nothing is a special token; spans count from its beginning."""
        data = utf8(text)
        found, _ = found_pieces(self._processor.encode(data, out_type="serialized_proto"))
        return self._tokens(found, data)

    def _tokens(self, found: Sequence[Found], data: bytes) -> Iterator[Token]:
        """Tokens from what the library found, each byte of a byte fallback with its own place."""
        spans = own_spans(found, data, entries=self._entries, kinds=self._kinds)
        for (id, _, _), span in zip(found, spans, strict=True):
            yield Token(id, self._entries[id], span, self._kinds[id])

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """The tokens of many texts with their places, in arrays. Raises `TextError` for surrogates."""
        if self.model.model_type not in (ModelType.UNIGRAM, ModelType.BPE):
            return segmented(self, texts)  # of a word that falls back to bytes, the last one gets all
        encoded = self.encode_batch(texts, threads=threads)
        return self._span_finder.find(texts, encoded, threads=threads)

    @cached_property
    def _span_finder(self) -> SpanFinder:
        from tokbench.adapters.sentencepiece_spans import SpanFinder

        return SpanFinder(self.model, self._processor, kinds=self._kinds)

    # --- decoding -----------------------------------------------------------------------------

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes of ids: the text's, without the dummy prefix. Raises `UnknownIdError`.

        A control symbol gives its text, and after it a text begins anew. A denormalisation table,
        which next to no model has, is not applied.
        """
        normalizer = self.model.normalizer
        drops_all = normalizer["remove_extra_whitespaces"]
        drops_one = drops_all or normalizer["add_dummy_prefix"]
        parts = self._pieces_of(ids)
        has_specials = not self._special_bytes.keys().isdisjoint(ids)
        at_start = drops_one
        for position, id in enumerate(ids):
            if id in self._special_bytes:
                at_start = drops_one
            elif at_start:
                stripped = id in self._strippable
                if stripped:
                    parts[position] = parts[position][1:]
                at_start = not parts[position] and (drops_all or not stripped)
            elif not has_specials:  # nothing begins anew
                break
        return b"".join(parts)

    @property
    def decoding(self) -> Decoding:
        """What is dropped depends on whether a text has begun."""
        return Decoding.FROM_LEFT

    def entry(self, id: int) -> bytes | None:
        """The bytes an entry stands for: ▁ is a space, the unknown piece is what decoding shows for it."""
        return self._entries[id]

    def token_id(self, piece: bytes) -> int | None:
        """The id of an entry, or None; special tokens are found by the bytes of their text.

        A character that is both a piece and a byte is found as the piece, as the library encodes it.
        """
        return self._ids.get(piece)

    def score(self, id: int) -> float | None:
        """The entry's log probability (Unigram), or the negative of its rank (BPE); None for one without.

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
            range(len(self._entries)), key=lambda each: (self._kinds[each] not in found_in_text, each)
        )
        ids = {self._entries[id]: id for id in reversed(first_wanted)}
        return ids | {text: id for id, text in self._special_bytes.items()}

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon.of(self.model)

    def _normalized(self, text: str) -> str:
        """A text as the pieces see it: normalised, with ▁ for spaces. Raises `TextError` for surrogates."""
        utf8(text)
        normalized: str = self._processor.normalize(text)
        return normalized

    # --- the forms in which others open it ----------------------------------------------------

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens; `tokenizer.model` in it is for the library.

        Raises:
            StoreError: the folder exists, or cannot be written.
        """
        self.write(
            directory,
            {MODEL_NAME: self.proto},
            overwrite=overwrite,
            config=self.config,
            versions={"sentencepiece": version("sentencepiece")},
            seed=int(self.config.get("seed", 0)),
        )

    def description(self) -> SentencePieceModel:
        """What it is made of; see `tokbench.models`."""
        from tokbench.models import SentencePieceModel

        return SentencePieceModel(proto=self.proto, special_tokens=self.info.special_tokens)


class SentencePieceBpeTokenizer(SentencePieceTokenizer):
    """A model of BPE on characters: it can leave out merges at random."""

    def sample(
        self, text: str, *, seed: int, alpha: float | None = None, nbest_size: int | None = None
    ) -> list[int]:
        """The ids of a segmentation in which each merge is left out with the probability `alpha`.

        The same for the same arguments: the library's own sampling is not, as its generator belongs
        to the thread. `nbest_size` has no meaning here.

        Args:
            text: ordinary text.
            seed: chooses the segmentation.
            alpha: from 0 (what `encode` gives) to 1 (characters); None takes 0.1.
            nbest_size: ignored.

        Raises:
            ConfigError: `alpha` is no probability.

        Source: Provilkov et al. 2020, "BPE-Dropout: Simple and Effective Subword Regularization".
        """
        del nbest_size
        dropout = 0.1 if alpha is None else alpha
        if not 0 <= dropout <= 1:
            raise ConfigError(f"alpha is {dropout}", hint="for BPE it is a probability, from 0 to 1")
        pieces = bpe_dropout(self._normalized(text), self._lexicon, dropout=dropout, seed=seed)
        return self._lexicon.ids(pieces)


class UnigramTokenizer(SentencePieceTokenizer):
    """A Unigram model: it knows every segmentation of a text, and how probable each is."""

    def n_best(self, text: str, *, n: int) -> list[ScoredSegmentation]:
        """The `n` most probable segmentations, the best first; fewer where there are fewer.

        Scores are sums of the pieces' log probabilities.

        Raises:
            ConfigError: `n` is below 1.
        """
        if n < 1:
            raise ConfigError(f"n is {n}", hint="it is at least 1")
        data = utf8(text)
        if not data:
            return [ScoredSegmentation(Segmentation(text, ()), 0.0)]
        answer = self._processor.nbest_encode(data, nbest_size=n, out_type="serialized_proto")
        return [
            ScoredSegmentation(Segmentation(text, tuple(self._tokens(found, data))), score)
            for found, score in found_segmentations(answer)
        ]

    def sample(
        self, text: str, *, seed: int, alpha: float | None = None, nbest_size: int | None = None
    ) -> list[int]:
        """The ids of a segmentation drawn with a probability proportional to its own to the power `alpha`.

        The same for the same arguments: the library's own sampling is not, as its generator belongs
        to the thread.

        Args:
            text: ordinary text.
            seed: chooses the segmentation.
            alpha: 0 draws all alike, larger ones prefer the probable; None takes 0.1.
            nbest_size: draw among so many of the best; None or -1 among all there are.

        Raises:
            ConfigError: `alpha` is negative, or `nbest_size` is 0 or below -1.

        Source: Kudo 2018, "Subword Regularization", section 3.3.
        """
        smoothing = 0.1 if alpha is None else alpha
        if not 0 <= smoothing < float("inf"):
            raise ConfigError(f"alpha is {smoothing}", hint="for Unigram it is 0 or more")
        if nbest_size is not None and nbest_size < 1 and nbest_size != -1:
            raise ConfigError(f"nbest_size is {nbest_size}", hint="it is 1 or more, or -1 for all")
        if nbest_size not in (None, -1):
            best = self.n_best(text, n=nbest_size)
            scores = [smoothing * each.score for each in best]
            return best[sampled_index(scores, seed=seed)].segmentation.ids
        pieces = unigram_sample(self._normalized(text), self._lexicon, alpha=smoothing, seed=seed)
        return self._lexicon.ids(pieces)


def _processor(proto: bytes, *, path: Path | str) -> SentencePieceProcessor:
    import sentencepiece

    sentencepiece.set_min_log_level(2)  # what it would log of a model it refuses is raised here
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=proto)
    except (RuntimeError, ValueError, IndexError) as error:
        raise ModelFormatError(path, "a model that sentencepiece takes", str(error)) from None
