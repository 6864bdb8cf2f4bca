"""Open SentencePiece models, on our kernel or on the `sentencepiece` library."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.core.post_processing import NOTHING
from tokbench.core.wording import counted, is_or_are
from tokbench.errors import ModelFormatError
from tokbench.formats.llama2c import DOMAIN, model_of_llama2c
from tokbench.formats.protobuf import length_field, varint_field
from tokbench.formats.sentencepiece.model import NORMALIZER_FIELDS, ModelType, parse_model, special_tokens_of
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.libraries.sentencepiece.models import KernelModel, open_model
from tokbench.opening.added_tokens import extended
from tokbench.opening.class_tokens import (
    CLASS_ROLES,
    with_chatglm_tokens,
    with_class_roles,
    with_sentinels,
)
from tokbench.opening.contradictions import contradicted_model, unsaid_begin
from tokbench.opening.files import read_file
from tokbench.opening.piece_classes import (
    changed_text,
    class_of_folder,
    class_of_pieces,
    drops_prefix,
    space_before_mask,
    spaces_after_tokens,
)
from tokbench.opening.piece_documents import changes_left_out, document_of_class, versions_differ
from tokbench.opening.piece_order import in_order, piece_order
from tokbench.opening.recognition import Format
from tokbench.opening.request import Composition, Opened
from tokbench.opening.sentencepiece_classes import template_beside
from tokbench.opening.tokenizer_classes import json_beside, refuse_rules
from tokbench.opening.tokenizer_json import open_tokenizer_json
from tokbench.opening.vocabulary_beside import other_ids, table_beside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tokbench.core.descriptions import PostProcessing
    from tokbench.core.interfaces import Tokenizer
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.formats.sentencepiece.pieces import ModelPiece
    from tokbench.libraries.sentencepiece.renumbered import PieceTable
    from tokbench.opening.recognition import Source
    from tokbench.opening.request import OpenRequest

_TRAINER, _NORMALIZER = 2, 3
"""Field numbers in `ModelProto` of the messages that follow the pieces."""


def open_file(source: Source, request: OpenRequest) -> Opened:
    """Open a `.model` file. Raises as `open_pieces`."""
    return open_pieces(read_file(source.files[0]), source=source, request=request)


def open_llama2c(source: Source, request: OpenRequest) -> Opened:
    """Open llama2.c's `tokenizer.bin` as the SentencePiece model that it was exported from. Raises as `open_pieces`."""
    path = source.files[0]
    proto = model_of_llama2c(read_file(path), path=path)
    return open_pieces(proto, source=source, request=request, warnings=(f"as llama2.c encodes {DOMAIN}",))


def open_pieces(
    proto: bytes,
    *,
    source: Source,
    request: OpenRequest,
    warnings: tuple[str, ...] = (),
    around: PostProcessing = NOTHING,
    finds_unknown: bool = False,
) -> Opened:
    """Open the tokenizer of a serialized `ModelProto`.

    Args:
        proto: the serialized model.
        source: the file that the model comes from.
        request: what the user asks for.
        warnings: warnings already found.
        around: the template of a file that is no `.model`; that of a `.model` depends on the files beside it.
        finds_unknown: whether the text of the unknown token is that token where special tokens are encoded.

    Raises:
        ModelFormatError: the model is damaged.
        ConfigError: an option sets what the model already defines, or the demanded engine cannot run it.
    """
    request.refuse_options("a SentencePiece model")
    given = proto
    template = around
    tokenizer = open_model(
        proto,
        name=source.name,
        path=source.files[0],
        post_processing=template,
        engine=request.engine,
        finds_unknown=finds_unknown,
    )
    _check_whole(tokenizer.model, source.files[0])
    engine, reason = _engine(tokenizer, request)
    pieces = tokenizer.model.pieces
    if source.format is Format.SENTENCEPIECE:
        refuse_rules(class_of_folder(source), path=source.files[0])
        order = piece_order(source, [piece.text for piece in pieces])
        has_prefix = tokenizer.model.normalizer["add_dummy_prefix"]
        if order is not None:
            proto, source = in_order(proto, source, order)
        elif has_prefix and drops_prefix(source):
            option = varint_field(NORMALIZER_FIELDS["add_dummy_prefix"].number, 0)
            proto += length_field(_NORMALIZER, option)  # protobuf merges this with the message already there
        if proto is not given:
            tokenizer = open_model(proto, name=source.name, path=source.files[0], engine=request.engine)
            pieces = tokenizer.model.pieces
        table = table_beside(source)
        if table is not None:
            return _renumbered(tokenizer, table, source=source, engine=engine, reason=reason)
    texts = {piece.text for piece in pieces}
    folder = source.files[0].parent
    name = class_of_pieces(folder, source.config)
    config = with_sentinels(source.config, name=name, folder=folder, pieces=texts)
    if source.format is Format.SENTENCEPIECE:
        name = class_of_folder(source)
        config = with_chatglm_tokens(config, name=name, pieces=texts)
        config = with_class_roles(config, CLASS_ROLES.get(name or "", {}), folder=folder, pieces=texts)
    source = replace(source, config=config)
    whole, contradictions = extended(proto, config, pieces=pieces)
    if source.format is Format.SENTENCEPIECE:
        other = other_ids(source, (piece.text for piece in pieces))
        warnings = warnings if other is None else (*warnings, other)
        template = template_beside(
            config,
            folder=folder,
            usual={role: tokenizer.model.trainer[f"{role}_piece"] for role in ("bos", "eos")},
            ids=_symbols_of(tokenizer.model if whole is proto else parse_model(whole)),
        )
        document = document_of_class(source, tokenizer.model, around=template)
        if document is not None:
            warnings = (*warnings, *versions_differ(source, pieces))
            return open_tokenizer_json(document, source=source, request=request, warnings=warnings)
    if whole is not proto or template != around:
        tokenizer = open_model(
            whole,
            name=source.name,
            path=source.files[0],
            post_processing=template,
            engine=request.engine,
            finds_unknown=finds_unknown,
        )
    changing = _changing(tokenizer, source)
    return Opened(
        tokenizer=changing or tokenizer,
        source=source,
        engine=engine,
        reason=reason,
        compose=lambda: _composition(tokenizer, first="" if changing is None else "the rules of its class"),
        find_warnings=lambda: (
            *warnings,
            *contradictions,
            *_contradicted(source, tokenizer.model, pieces=pieces),
        ),
    )


def _symbols_of(model: SentencePieceFile) -> dict[str, int]:
    """Return the symbols that a template may hold, text → id: control symbols, and those that the user defined."""
    defined = {
        piece.text: id for id, piece in enumerate(model.pieces) if piece.type is PieceType.USER_DEFINED
    }
    return defined | special_tokens_of(model)


def _changing(tokenizer: KernelModel, source: Source) -> Tokenizer | None:
    """Return the tokenizer of a class that changes texts before its model encodes them; None for other classes."""
    if source.format is not Format.SENTENCEPIECE or not source.path.is_dir():
        return None
    from tokbench.opening.text_rules import rules_of_class

    settings = json_beside(source.files[0].parent / "tokenizer_config.json")
    unknown = source.config.roles.get("unk", tokenizer.model.trainer["unk_piece"])
    rules = rules_of_class(class_of_folder(source), settings, unknown=unknown)
    if rules is None:
        return None
    from tokbench.libraries.sentencepiece.changed import ChangedModel

    return ChangedModel(tokenizer, rules)


def _renumbered(model: KernelModel, table: PieceTable, *, source: Source, engine: str, reason: str) -> Opened:
    """Open a model whose tokenizer class numbers its pieces by another file."""
    from tokbench.libraries.sentencepiece.renumbered import RenumberedModel

    missing = sum(
        piece.type is PieceType.NORMAL and piece.text not in table.ids for piece in model.model.pieces
    )
    said = f"{counted(missing, 'piece')} of {source.files[0].name} {is_or_are(missing)} unknown to the model"
    unknown = [said] if missing else []
    return Opened(
        tokenizer=RenumberedModel(model, table),
        source=source,
        engine=engine,
        reason=reason,
        compose=lambda: replace(_composition(model), model=f"{_composition(model).model}, ids of its class"),
        find_warnings=lambda: (*unknown, *changed_text(source)),
    )


def _composition(tokenizer: KernelModel, *, first: str = "") -> Composition:
    """Return the components of a model, in words, with a step before its own normalization, if any."""
    normalizer, trainer = tokenizer.model.normalizer, tokenizer.model.trainer
    steps = [
        first,
        normalizer["name"] or ("a table" if normalizer["precompiled_charsmap"] else "identity"),
        "a space in front" if normalizer["add_dummy_prefix"] else "",
        "no extra spaces" if normalizer["remove_extra_whitespaces"] else "",
    ]
    fallback = ", with byte fallback" if trainer["byte_fallback"] else ""
    return Composition(
        model=f"SentencePiece {tokenizer.model.model_type.name.lower()}{fallback}",
        parts={"normalizer": ", ".join(filter(None, steps))},
    )


def _engine(tokenizer: KernelModel, request: OpenRequest) -> tuple[str, str]:
    """Return the engine of a model and the reason. Raises `ConfigError` if our kernel is demanded and cannot run it."""
    if tokenizer.library_reason:
        request.refuse_engine("native", tokenizer.library_reason)
        return "library", tokenizer.library_reason
    done = {
        ModelType.UNIGRAM: "scores are added up as sentencepiece rounds them",
        ModelType.BPE: "pieces are merged as by sentencepiece",
        ModelType.WORD: "words are looked up as by sentencepiece",
        ModelType.CHAR: "characters are looked up as by sentencepiece",
    }
    return "native", f"its {done[tokenizer.model.model_type]}, so that every text has the same ids"


def _contradicted(source: Source, model: SentencePieceFile, *, pieces: Sequence[ModelPiece]) -> Iterator[str]:
    """Yield how the files beside a model of some pieces contradict it; other formats define everything themselves."""
    path = source.files[0]
    if source.format is Format.SENTENCEPIECE:
        add_dummy_prefix = model.normalizer["add_dummy_prefix"]
        yield from changed_text(source)
        yield from changes_left_out(source, model)
        if add_dummy_prefix:
            yield from spaces_after_tokens(source, pieces=pieces)
        removes_spaces = bool(model.normalizer["remove_extra_whitespaces"])
        yield from space_before_mask(source, pieces=pieces, removes_spaces=removes_spaces)
        if source.path.is_dir():
            yield from unsaid_begin(source.config, folder=path.parent, usual=model.trainer["bos_piece"])
        yield from contradicted_model(add_dummy_prefix=add_dummy_prefix, folder=path.parent, name=path.name)


def _check_whole(model: SentencePieceFile, path: Path) -> None:
    """Refuse a model cut off between two pieces: a valid protobuf message, but an incomplete model."""
    if not model.is_whole:
        raise ModelFormatError(
            path,
            "a SentencePiece model with its trainer's and normalizer's options",
            "pieces alone",
            hint="the file was cut short: download it again",
        )
