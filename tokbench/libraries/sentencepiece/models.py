"""The tokenizers of SentencePiece models by algorithm, with sampling for BPE, and n-best and sampling for Unigram."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokbench import store
from tokbench.core.base import utf8
from tokbench.core.kernel_or_library import KernelOrLibrary, KernelUse
from tokbench.core.kernel_spans import KernelSpans, spans_in_arrays
from tokbench.core.post_processing import NOTHING
from tokbench.core.tokens import Encoded, ScoredSegmentation, Segmentation, Span, SpecialPolicy, Token
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.files.untrusted_json import load_json
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.libraries.sentencepiece.kernel import LateEncoder, kernel_or_reason
from tokbench.libraries.sentencepiece.sampling import bpe_dropout, sampled_index, unigram_sample
from tokbench.libraries.sentencepiece.serialized import found_segmentations
from tokbench.libraries.sentencepiece.tokenizer import MODEL_NAME, TEMPLATE_NAME, SentencePieceTokenizer
from tokbench.libraries.sentencepiece.unigram import new_normalizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.descriptions import PostProcessing
    from tokbench.core.documents import TextIdentity
    from tokbench.core.interfaces import TrainingRecord
    from tokbench.core.manifest import Manifest
    from tokbench.core.tokens import EncodedSpans
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.native._unigram import Normalizer as KernelNormalizer


_RETRAIN = "the folder is damaged: restore it, or train again"


def open_model(
    proto: bytes,
    *,
    name: str,
    backend: str | None = None,
    path: Path | str = "the model",
    config: Mapping[str, Any] | None = None,
    training: TrainingRecord | None = None,
    identify_text: Callable[[], TextIdentity] | None = None,
    post_processing: PostProcessing = NOTHING,
    engine: str = "auto",
    model: SentencePieceFile | None = None,
    finds_unknown: bool = False,
) -> KernelModel:
    """Return the tokenizer of a serialized model, with the capabilities of its algorithm.

    Args:
        proto: a `ModelProto`, the content of a `.model` file.
        name: the name that the user gives the tokenizer.
        backend: the name of the backend that trains such models; by default chosen by the model's type.
        path: the name of the file in error messages.
        config: the training options, as plain data.
        training: the record of its training.
        identify_text: returns the identity of the text it was trained on.
        post_processing: the post-processing of ids before a model gets them; a `.model` file cannot hold it.
        engine: "auto", or "library" to use the library alone.
        model: the parsed model, if the caller has it.
        finds_unknown: whether the text of the unknown token is that token where special tokens are encoded.

    Raises:
        ModelFormatError: the bytes are not a model, or the library does not accept it.
    """
    model = model or parse_model(proto, path=path)
    classes = {ModelType.UNIGRAM: UnigramTokenizer, ModelType.BPE: SentencePieceBpeTokenizer}
    tokenizer_class = classes.get(model.model_type, KernelModel)
    return tokenizer_class(
        proto=proto,
        model=model,
        name=name,
        backend=backend or ("unigram" if model.model_type is ModelType.UNIGRAM else "sentencepiece"),
        path=path,
        config=config,
        training=training,
        identify_text=identify_text,
        post_processing=post_processing,
        engine=engine,
        finds_unknown=finds_unknown,
    )


class KernelModel(KernelOrLibrary, SentencePieceTokenizer):
    """A model that our kernel encodes if it gives the library's ids for every text.

    Args:
        engine: "auto", or "library" to use the library alone.
        arguments: the arguments of `SentencePieceTokenizer`.

    Attributes:
        library_reason: why the library runs all texts; "" if the kernel runs.
    """

    def __init__(self, *, engine: str = "auto", **arguments: Any) -> None:
        super().__init__(**arguments)
        kernel, self.library_reason = (
            kernel_or_reason(self.model) if engine != "library" else ("", "asked for")
        )
        if kernel:
            self.info = replace(self.info, kernel=kernel)
            self._late_encoder = LateEncoder(self.model)

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if self.library_reason or special is not SpecialPolicy.TEXT:
            return None
        return KernelUse(self._late_encoder.covers, self._late_encoder, self._late_encoder.covers_all)

    @property
    def _kernel_spans(self) -> KernelSpans | None:
        if self.info.kernel != "native":
            return None
        return spans_in_arrays(self._late_encoder.covers, self._spans_on_kernel, token=self._token)

    def _spans_on_kernel(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        num_threads = threads or os.cpu_count() or 1
        ids, offsets, sizes = self._late_encoder.sized_batch(list(texts), num_threads)
        encoded = Encoded(ids, offsets)
        return self._span_finder.find_on_kernel(self._normalizer, texts, encoded, sizes, threads=num_threads)

    @cached_property
    def _normalizer(self) -> KernelNormalizer:
        normalizer: KernelNormalizer = new_normalizer(self.model)
        return normalizer

    def _token(self, id: int, span: Span) -> Token:
        return Token(id, self._surfaces[id], span, self._kinds[id])


class SentencePieceBpeTokenizer(KernelModel):
    """A BPE model on characters, with BPE dropout."""

    def sample(
        self, text: str, *, seed: int, alpha: float | None = None, nbest_size: int | None = None
    ) -> list[int]:
        """Return the ids of a segmentation in which each merge is dropped with the probability `alpha`.

        Equal arguments give equal ids, unlike the library's own sampling, whose generator belongs to
        the thread.

        Args:
            text: the text; special tokens in it are ordinary text.
            seed: the seed that decides the segmentation.
            alpha: from 0 (the result of `encode`) to 1 (characters); None means 0.1.
            nbest_size: must be None; only tokenizers that rank segmentations support it.

        Raises:
            ConfigError: `alpha` is not a probability, or `nbest_size` is given.

        Source: Provilkov et al. 2020, "BPE-Dropout: Simple and Effective Subword Regularization".
        """
        if nbest_size is not None:
            raise ConfigError(
                "BPE does not rank segmentations, so nbest_size has no meaning", hint="leave it out"
            )
        dropout = 0.1 if alpha is None else alpha
        if not 0 <= dropout <= 1:
            raise ConfigError(f"alpha is {dropout}", hint="for BPE it is a probability, from 0 to 1")
        pieces = bpe_dropout(self._normalized(text), self._lexicon, dropout=dropout, seed=seed)
        return self._lexicon.ids(pieces)


class UnigramTokenizer(KernelModel):
    """A Unigram model, which can enumerate and sample segmentations by their probability."""

    def n_best(self, text: str, *, n: int) -> list[ScoredSegmentation]:
        """Return the `n` most probable segmentations, the best first; fewer if the text has fewer.

        A score is the sum of the log probabilities of the pieces.

        Raises:
            ConfigError: `n` is below 1.
        """
        if n < 1:
            raise ConfigError(f"n is {n}", hint="it must be at least 1")
        data = utf8(text)
        if not data:
            return [ScoredSegmentation(Segmentation(text, ()), 0.0)]
        at_least = max(n, 2)  # the library reports no score for a single segmentation
        answer = self._processor.nbest_encode(data, nbest_size=at_least, out_type="serialized_proto")
        return [
            ScoredSegmentation(Segmentation(text, tuple(self._tokens(pieces, data))), score)
            for pieces, score in found_segmentations(answer)[:n]
        ]

    def sample(
        self, text: str, *, seed: int, alpha: float | None = None, nbest_size: int | None = None
    ) -> list[int]:
        """Return the ids of a random segmentation, drawn with its probability to the power `alpha`, normalized.

        Equal arguments give equal ids, unlike the library's own sampling, whose generator belongs to
        the thread.

        Args:
            text: the text; special tokens in it are ordinary text.
            seed: the seed that decides the segmentation.
            alpha: 0 gives all segmentations the same probability, larger values prefer probable ones; None means 0.1.
            nbest_size: the number of best segmentations to draw from; None or -1 for all segmentations.

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
            scores = [smoothing * scored.score for scored in best]
            return best[sampled_index(scores, seed=seed)].segmentation.ids
        pieces = unigram_sample(self._normalized(text), self._lexicon, alpha=smoothing, seed=seed)
        return self._lexicon.ids(pieces)


def load(directory: Path, manifest: Manifest) -> SentencePieceTokenizer:
    """Open a folder that `SentencePieceTokenizer.save` wrote, and check every file.

    Raises:
        ModelFormatError: a file is damaged, or the manifest describes another model.
        SelfTestError: the tokenizer gives different ids than when it was saved.
    """
    files = store.read_files(directory, manifest)
    if MODEL_NAME not in files:
        raise ModelFormatError(directory, f"a file {MODEL_NAME}", "none in the manifest", hint=_RETRAIN)
    model = parse_model(files[MODEL_NAME], path=directory / MODEL_NAME)
    unknown = {piece.text for piece in model.pieces if piece.type is PieceType.UNKNOWN}
    tokenizer = open_model(
        files[MODEL_NAME],
        model=model,
        finds_unknown=not unknown.isdisjoint(manifest.special_tokens),
        name=manifest.name,
        backend=manifest.backend,
        path=directory / MODEL_NAME,
        config=manifest.config,
        post_processing=_saved_post_processing(files, directory),
    )
    info = tokenizer.info
    if (manifest.vocab_size, dict(manifest.special_tokens)) != (info.vocab_size, info.special_tokens):
        raise ModelFormatError(
            directory / store.MANIFEST_NAME,
            f"{info.vocab_size} tokens and the special tokens of {MODEL_NAME}",
            f"{manifest.vocab_size} tokens, or other special tokens",
            hint=_RETRAIN,
        )
    tokenizer.verify_against(manifest, path=directory)
    return tokenizer


def _saved_post_processing(files: Mapping[str, bytes], directory: Path) -> PostProcessing:
    """Return the post-processing of ids that the folder contains. Raises `ModelFormatError`."""
    if TEMPLATE_NAME not in files:
        return NOTHING
    from tokbench.formats.post_processors import UnknownPostProcessingError, parse_post_processing

    path = directory / TEMPLATE_NAME
    document = load_json(files[TEMPLATE_NAME], path=path, hint=_RETRAIN)
    if not isinstance(document, dict):
        raise ModelFormatError(path, "a template around texts", type(document).__name__, hint=_RETRAIN)
    try:
        return parse_post_processing(document)
    except UnknownPostProcessingError as error:
        raise ModelFormatError(path, "a template around texts", str(error), hint=_RETRAIN) from None
