"""Tokenizers in tokbin files: opened without parsing, encoded by the kernel or library that the file is for."""

from __future__ import annotations

import threading
from functools import cached_property
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.core.base import TakesTemplate, decoded
from tokbench.core.batches import post_processing_of
from tokbench.core.capabilities import Decoding, KnowsMerges, SupportsExplanation, TellsDecoding
from tokbench.core.convenience import PlainUse
from tokbench.core.descriptions import ByteLevelBpe, HuggingFaceModel, SentencePieceModel
from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.post_processing import input_of
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ModelFormatError, TokbenchError, UnknownIdError
from tokbench.formats.tokbin.layout import Kind, Model
from tokbench.formats.tokbin.reading import TokbinFile
from tokbench.formats.tokenizer_config.roles import TellsRoles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.descriptions import Description, PostProcessing
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import Encoded, EncodedSpans, ModelInput, Segmentation
    from tokbench.explain.derivation import Derivation
    from tokbench.explain.records import MergeRecord
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

_BPE = (Model.RANKS, Model.MERGES)


def open_tokbin(path: Path | str) -> TokbinTokenizer:
    """Open the tokenizer of a tokbin file.

    Raises:
        ModelFormatError: the file is not a tokbin file, or is damaged.
        StoreError: the file cannot be read.

    Usage:

        open_tokbin("cl100k.tokbin").token_bytes(50_000)
    """
    return TokbinTokenizer(TokbinFile.open(path))


class TokbinTokenizer(TellsRoles, PlainUse, TakesTemplate):
    """A tokenizer over a mapped file; see `tokbench.core.interfaces.Tokenizer` for the contract.

    Token bytes are looked up in the file. The engine that encodes is built with the first text: the byte-level kernel
    from the file's tables, or a library from its payload.

    Attributes:
        file: the mapped file.
    """

    def __init__(self, file: TokbinFile) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._engine: Tokenizer | None = None

    @cached_property
    def info(self) -> TokenizerInfo:
        """Name, size and properties."""
        file = self.file
        return TokenizerInfo(
            name=self._name,
            backend=self._backend,
            vocab_size=file.num_ids,
            special_tokens=file.special_tokens,
            lossless=file.lossless,
            kernel=self._kernel,
        )

    @property
    def _name(self) -> str:
        return Path(self.file.path).stem

    @property
    def _backend(self) -> str:
        return self.file.texts.backend or "tokbin"

    @property
    def _kernel(self) -> str:
        if self.file.model not in _BPE:
            return self.engine.info.kernel  # the payload decides
        from tokbench.backends.bpe.kernel import current_kernel

        return current_kernel().name

    # --- answered by the file --------------------------------------------------------------------

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes of one token. Raises `UnknownIdError`."""
        data = self.file.token_bytes(id)
        if data is None:
            raise UnknownIdError(id, 0, self.file.num_ids)
        return data

    @cached_property
    def tokenizer_config(self) -> TokenizerConfig:  # type: ignore[override]
        """The tokenizer configuration, as far as the file holds it. Raises `ModelFormatError`."""
        return self.file.config()

    def own_roles(self) -> Mapping[str, str]:
        """Return role → text, as the payload says; byte-level BPE has none."""
        engine = self.engine if self.file.model not in _BPE else None
        return engine.own_roles() if isinstance(engine, TellsRoles) else {}

    def spelled_id(self, text: str) -> int | None:
        """Return the id of a token by its text as the file spells it, or None."""
        return self.engine.spelled_id(text) if isinstance(self.engine, TellsRoles) else None

    def score(self, id: int) -> float | None:
        """Return -ln(rank + 1) of the merge that makes a token, or its log probability; None for a special token.

        Raises:
            UnknownIdError: the vocabulary has no such id.
        """
        self.token_bytes(id)
        return None if self.file.kinds[id] == Kind.SPECIAL else float(self.file.scores[id])

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids. Raises `UnknownIdError`."""
        if self._engine is not None or self.file.model not in _BPE:
            return self.engine.decode_bytes(ids)
        parts = []
        for position, id in enumerate(ids):
            data = self.file.token_bytes(index(id))
            if data is None:
                raise UnknownIdError(id, position, self.file.num_ids)
            parts.append(data)
        return b"".join(parts)

    @property
    def decoding(self) -> Decoding:
        """What the text of a token depends on."""
        if self.file.model in _BPE:
            return Decoding.JOINED
        return self.engine.decoding if isinstance(self.engine, TellsDecoding) else Decoding.WHOLE

    def decode(self, ids: Sequence[int], *, errors: str = "replace") -> str:
        """Return the text of ids; incomplete characters become U+FFFD, or raise `DecodeError` under errors="strict"."""
        if self.file.model not in _BPE:
            return self.engine.decode(ids, errors=errors)
        return decoded(self.decode_bytes(ids), errors=errors)

    def description(self) -> Description:
        """Return the components of the tokenizer; see `tokbench.core.descriptions`."""
        file = self.file
        match file.model:
            case Model.SENTENCEPIECE:
                _, post_processing = file.input()
                return SentencePieceModel(file.payload(), file.special_tokens, post_processing)
            case Model.TOKENIZER_JSON:
                return HuggingFaceModel(file.payload(), file.special_tokens)
            case Model.RANKS | Model.MERGES:
                return self._byte_level_bpe()

    # --- answered by the engine ------------------------------------------------------------------

    @property
    def engine(self) -> Tokenizer:
        """The tokenizer that encodes, built on first use. Raises `ModelFormatError`."""
        with self._lock:
            if self._engine is None:
                self._engine = self._make_engine()
            return self._engine

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """Return the ids of a text. Raises `SpecialTokenError` if the policy is `RAISE`, `TextError` for surrogates."""
        return self.engine.encode(text, special=special)

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """Return the ids of many texts in arrays; the result does not depend on `threads`."""
        return self.engine.encode_batch(texts, special=special, threads=threads)

    def segment(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> Segmentation:
        """Return the tokens of a text with their bytes and spans; the ids equal those of `encode`."""
        return self.engine.segment(text, special=special)

    def derivation(self, text: str) -> Derivation:
        """Return the steps from a text to its ids, with special tokens as ordinary text. Raises `TextError`."""
        assert isinstance(self.engine, SupportsExplanation)  # every engine of `tokenizer_of` does
        return self.engine.derivation(text)

    @property
    def num_merges(self) -> int:
        """The number of merges; 0 if there is no list of them."""
        return self.engine.num_merges if isinstance(self.engine, KnowsMerges) else 0

    def merge_record(self, rank: int) -> MergeRecord:
        """Return a merge by its rank."""
        assert isinstance(self.engine, KnowsMerges)  # it has merges
        return self.engine.merge_record(rank)

    @property
    def post_processing(self) -> PostProcessing:
        """The processing of a text's ids before a model gets them. Raises `ConfigError`."""
        return post_processing_of(self.engine)

    def input_of_texts(
        self, texts: Sequence[str], *, special: SpecialPolicy, template: bool, limits: bool
    ) -> ModelInput:
        """Return the model input of one text or two; see `TakesTemplate`."""
        return input_of(self.engine, *texts, special=special, template=template, limits=limits)

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """Return the tokens of many texts with their spans, in arrays. Raises `TextError` for surrogates."""
        from tokbench.core.token_arrays import encode_spans

        return encode_spans(self.engine, texts, threads=threads)

    def token_id(self, piece: bytes) -> int | None:
        """Return the id of a token, or None; special tokens are found by the bytes of their text."""
        return self.engine.token_id(piece)

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens, if the engine supports that. Raises `ConversionError`."""
        self.engine.save(directory, overwrite=overwrite)

    def _make_engine(self) -> Tokenizer:
        self.file.verify()
        try:
            return tokenizer_of(self.description(), name=self._name, backend=self._backend)
        except (TokbenchError, ValueError) as error:
            raise ModelFormatError(
                self.file.path,
                "a consistent tokenizer",
                str(error),
                hint="the file is damaged: convert again, or restore it",
            ) from error

    def _byte_level_bpe(self) -> ByteLevelBpe:
        file = self.file
        token_flags, post_processing = file.input()
        return ByteLevelBpe(
            tokens=file.tokens().without(file.special_tokens.values()),
            merges=None if file.model is Model.RANKS else file.merges,
            pattern=file.texts.pattern,
            pattern_name=file.texts.pattern_name or "custom",
            normalization=file.texts.normalization,
            special_tokens=file.special_tokens,
            whole_tokens_first=file.whole_tokens_first,
            token_flags=token_flags,
            post_processing=post_processing,
        )


def tokenizer_of(description: Description, *, name: str, backend: str) -> Tokenizer:
    """Build the tokenizer of a description, on the kernel or library that runs its model.

    Raises:
        ModelFormatError: the library rejects it.
        ConfigError: the split pattern cannot be used.
        ValueError: its components contradict each other.
    """
    match description:
        case ByteLevelBpe():
            from tokbench.backends.bpe.kernel import current_kernel
            from tokbench.backends.bpe.split_patterns import resolve_pattern
            from tokbench.backends.bpe.tokenizer import BpeTokenizer

            named = resolve_pattern(
                description.pattern or "none"
                if description.pattern_name == "custom"
                else description.pattern_name
            )
            if named.regex != description.pattern:
                raise ValueError(
                    f"the pattern {description.pattern_name!r} was different when the file was written"
                )
            return BpeTokenizer.from_description(description, name=name, kernel=current_kernel())
        case SentencePieceModel():
            from tokbench.libraries.sentencepiece.models import open_model

            return open_model(
                description.proto, name=name, backend=backend, post_processing=description.post_processing
            )
        case HuggingFaceModel():
            from tokbench.opening.tokenizer_json import run_tokenizer_json

            return run_tokenizer_json(description.document, name=name, path=Path(name))
