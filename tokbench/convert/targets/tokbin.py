"""Convert to tokbin, our own file format for inference."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.convert.conversion import Product, Source, undescribed
from tokbench.convert.post_processing import post_processing_of
from tokbench.convert.proof import peer_of, vocabulary_of
from tokbench.convert.proof_inputs import InputCall
from tokbench.core.descriptions import ByteLevelBpe, HuggingFaceModel, SentencePieceModel
from tokbench.core.post_processing import NOTHING
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConversionError
from tokbench.formats.merges import listed_merges
from tokbench.formats.tokbin.layout import Kind, Model, Texts
from tokbench.formats.tokbin.writing import TokbinContents, dump_tokbin, merge_scores
from tokbench.formats.tokenizer_config.fields import config_of
from tokbench.formats.tokenizer_config.files import dump_config

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.convert.proof import Peer
    from tokbench.core.descriptions import PostProcessing
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig


def make(source: Source) -> Product:
    """Convert a source to a tokbin file. Raises `ConversionError`."""
    match source.description:
        case ByteLevelBpe() as description:
            contents = _byte_level(source, description)
        case SentencePieceModel() as description:
            contents = _sentencepiece(source, description)
        case HuggingFaceModel() as description:
            contents = _tokenizer_json(source, description)
        case None:
            raise undescribed(source)
    config = config_of(source.tokenizer)
    if config:
        contents = replace(contents, config=dump_config(config))
    done = post_processing_of(source.description)
    return Product(
        files={"": dump_tokbin(contents)},
        open=lambda path: _opened(path, config),
        notes=_notes(done),
        post_processing=done,
    )


def _notes(done: PostProcessing) -> tuple[str, ...]:
    """Return notes on settings that the file holds and `encode` does not apply."""
    if done == NOTHING:
        return ()
    return (
        "the file has the template, truncation and padding of its source, for with_template and model_input",
    )


def _opened(path: Path, config: TokenizerConfig) -> Peer:
    from tokbench.opening.tokbin import open_tokbin

    tokenizer = open_tokbin(path)
    tokenizer.file.verify()
    if tokenizer.tokenizer_config != config:
        raise ConversionError("roles, added tokens or chat templates differ when the file is read back")
    calls = (
        InputCall(
            name="model_input(text)",
            call=lambda text, pair: tokenizer.model_input(text, pair, special=SpecialPolicy.ENCODE),
        ),
        InputCall(
            name="model_input(text, template=False)",
            call=lambda text, pair: tokenizer.model_input(text, pair, template=False),
            template=False,
            special=SpecialPolicy.TEXT,
        ),
    )
    return replace(peer_of(tokenizer, name="tokbin"), inputs=calls)


def _byte_level(source: Source, description: ByteLevelBpe) -> TokbinContents:
    tokens = vocabulary_of(source.tokenizer)
    listed = description.merges
    merged_ids = [merge[2] for merge in listed_merges(description)]
    return TokbinContents(
        model=Model.RANKS if listed is None else Model.MERGES,
        texts=Texts(
            source.tokenizer.info.backend,
            source.tokenizer.info.name,
            description.pattern_name,
            description.pattern,
            description.normalization,
        ),
        tokens=tokens,
        kinds=_kinds(source, tokens),
        scores=merge_scores(merged_ids, num_ids=len(tokens)),
        special_tokens=source.special_tokens,
        merges=listed or (),
        lossless=source.tokenizer.info.lossless,
        whole_tokens_first=description.whole_tokens_first,
        token_flags=description.token_flags,
        post_processing=description.post_processing,
    )


def _sentencepiece(source: Source, description: SentencePieceModel) -> TokbinContents:
    from tokbench.formats.sentencepiece.model import parse_model
    from tokbench.formats.sentencepiece.pieces import PieceType

    model = parse_model(description.proto)
    named = {PieceType.BYTE: Kind.BYTE, PieceType.UNKNOWN: Kind.UNKNOWN}
    kinds = {id: named[piece.type] for id, piece in enumerate(model.pieces) if piece.type in named}
    return _with_payload(
        source,
        Model.SENTENCEPIECE,
        description.proto,
        kinds=kinds,
        scores=[piece.score for piece in model.pieces],
        post_processing=description.post_processing,
    )


def _tokenizer_json(source: Source, description: HuggingFaceModel) -> TokbinContents:
    import tokenizers

    from tokbench.libraries.huggingface.pieces import piece_spelling
    from tokbench.libraries.huggingface.tokenizer_json import model_type, parse_tokenizer_json, unknown_piece

    document = parse_tokenizer_json(description.document, source=source.tokenizer.info.name)
    spelling, unknown = piece_spelling(document), unknown_piece(document)
    vocabulary = tokenizers.Tokenizer.from_buffer(description.document).get_vocab()
    kinds = {id: Kind.BYTE for text, id in vocabulary.items() if spelling.is_byte(text)}
    if unknown is not None and unknown in vocabulary:
        kinds[vocabulary[unknown]] = Kind.UNKNOWN
    scores = [0.0] * source.tokenizer.info.vocab_size
    if model_type(document) == "Unigram":
        for id, (_, score) in enumerate(document["model"]["vocab"]):
            scores[id] = score
    return _with_payload(source, Model.TOKENIZER_JSON, description.document, kinds=kinds, scores=scores)


def _with_payload(
    source: Source,
    model: Model,
    payload: bytes,
    *,
    kinds: dict[int, Kind],
    scores: list[float],
    post_processing: PostProcessing = NOTHING,
) -> TokbinContents:
    tokens = vocabulary_of(source.tokenizer)
    return TokbinContents(
        model=model,
        texts=Texts(source.tokenizer.info.backend, source.tokenizer.info.name, None, None, None),
        tokens=tokens,
        kinds=_kinds(source, tokens, kinds),
        scores=scores,
        special_tokens=source.special_tokens,
        payload=payload,
        lossless=source.tokenizer.info.lossless,
        post_processing=post_processing,
    )


def _kinds(source: Source, tokens: list[bytes | None], others: dict[int, Kind] | None = None) -> list[Kind]:
    kinds = [Kind.NONE if token is None else Kind.NORMAL for token in tokens]
    for id, kind in (others or {}).items():
        kinds[id] = kind
    for id in source.special_tokens.values():
        kinds[id] = Kind.SPECIAL
    return kinds
