"""Open the tokenizer in a GGUF file, rewritten as the tokenizer.json or SentencePiece model that it once was."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.core.post_processing import NOTHING
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.files.untrusted import first_repeated
from tokbench.formats.gguf import read_metadata
from tokbench.formats.post_processors import dump_post_processing
from tokbench.formats.protobuf import float_field, length_field, varint_field
from tokbench.formats.sentencepiece.model import ModelType, dump_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.opening.gguf.config import around_text, gguf_config
from tokbench.opening.gguf.pretokenizers import PreTokenizer, known_names, pre_tokenizer_named
from tokbench.opening.known_ranks import TAKES_PATTERN
from tokbench.opening.patterns import checked_pattern
from tokbench.opening.request import OpenRequest
from tokbench.opening.sentencepiece import open_pieces
from tokbench.opening.tokenizer_json import open_tokenizer_json
from tokbench.opening.vocab_txt import (
    bert_tokenizer_json,
    byte_level_tokenizer_json,
    character_tokenizer_json,
    dumped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.descriptions import PostProcessing
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.opening.recognition import Source
    from tokbench.opening.request import Opened

_PREFIX = "tokenizer.ggml."

_CHARACTER_PRE_TOKENIZERS = {b"gemma4", b"granite-embed-multi-311m", b"sarvam-moe"}
"""Pre-tokenizers of vocabularies over characters, which converters call "gpt2" like byte-level ones."""
_CONTROLS = frozenset(
    text.encode()
    for text in """
        </s> <eos> <EOT> _<EOT> [EOT] [EOS] <turn|> <|tool_response> [e~[ <end_of_turn> <end_of_utterance>
        <|eot_id|> <|eom_id|> <|im_end|> <|end|> <|return|> <|call|> <|calls|> <|flush|> <|endoftext|>
        <|end_of_text|> <｜end▁of▁sentence｜>
        <|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|> <|prefix|>
        <|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|> <|suffix|>
        <|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|> <|middle|>
        <|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD] <|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame>
        <|file_sep|>
    """.split()  # noqa: SIM905 -- it is a table
)
"""Tokens that end texts or turns, and fill-in-the-middle tokens: control tokens to llama.cpp in any file."""
_END = b"</s>"
_BESIDE_AN_ORDINARY_END = {b"<|tool_response>", b"<|plamo:eos|>"}
"""If a vocabulary has one of these, as Gemma 4's and PLaMo's do, "</s>" is an ordinary token."""
_UNNAMED = (
    "the file names no pre-tokenizer: text is split by llama.cpp's default, which may not be the model's"
)


def open_gguf(source: Source, request: OpenRequest) -> Opened:
    """Open the tokenizer of a GGUF file.

    Raises:
        ModelFormatError: the file holds no tokenizer, or a damaged one.
        ConfigError: the pre-tokenizer is unknown and no pattern is given.
    """
    path = source.files[0]
    metadata = read_metadata(path)
    fields = {key.removeprefix(_PREFIX): value for key, value in metadata.items() if key.startswith(_PREFIX)}
    model = _text(fields.get("model", b""), path)
    openers: dict[str, Callable[..., Opened]] = {
        "gpt2": _open_bpe,
        "llama": _open_sentencepiece,
        "t5": _open_sentencepiece,
        "bert": _open_word_piece,
        "gemma4": _open_character_bpe,
    }
    if model not in openers:
        raise ModelFormatError(
            path, f"a tokenizer of the model {', '.join(openers)}", repr(model) if model else "none"
        )
    is_of_characters = model == "gpt2" and fields.get("pre") in _CHARACTER_PRE_TOKENIZERS
    opener = _open_character_bpe if is_of_characters else openers[model]
    config = gguf_config(metadata)
    opened = opener(fields, source=source, request=request, config=config)
    return replace(opened, source=replace(opened.source, config=config))


def _open_bpe(
    fields: Mapping[str, Any], *, source: Source, request: OpenRequest, config: TokenizerConfig
) -> Opened:
    path = source.files[0]
    pieces = _pieces(fields, path)
    types = _token_types(fields, path)
    if request.special_tokens or request.special_preset:
        option = "--special-token" if request.special_tokens else "--special-preset"
        raise ConfigError("a GGUF file defines its special tokens itself", hint=f"leave {option} out")
    splitting = _splitting(fields, path, asked=request.pattern)
    vocab = {piece: id for id, piece in enumerate(pieces)}
    document = byte_level_tokenizer_json(
        vocab,
        _merges(fields, path),
        specials={pieces[id]: id for id, kind in enumerate(types) if kind == PieceType.CONTROL},
        others=[pieces[id] for id, kind in enumerate(types) if kind == PieceType.USER_DEFINED],
        patterns=splitting.expressions,
        normalize_nfc=request.pattern == "qwen2",
        whole_tokens_first=splitting.whole_tokens_first,
    )
    document = _with_template(document, around_text(config, vocab))
    return open_tokenizer_json(
        dumped(document),
        source=source,
        request=OpenRequest(engine=request.engine),
        parsed=document,
        warnings=tuple(_warnings(fields, splitting, asked=request.pattern)),
    )


def _open_character_bpe(
    fields: Mapping[str, Any], *, source: Source, request: OpenRequest, config: TokenizerConfig
) -> Opened:
    """Open a BPE over characters such as Gemma 4's and Sarvam's: spaces are "▁", unknown characters become bytes.

    llama.cpp splits a text at line ends first, and a run of line ends that is a piece becomes that piece. No merge
    crosses the ends of such a run, so plain merging gives the same tokens.
    """
    path = source.files[0]
    request.refuse_options("a GGUF file")
    pieces = _pieces(fields, path)
    types = _token_types(fields, path)
    unknown = fields.get("unknown_token_id")
    vocab = {piece: id for id, piece in enumerate(pieces)}
    document = character_tokenizer_json(
        vocab,
        _merges(fields, path),
        specials=[pieces[id] for id, kind in enumerate(types) if kind == PieceType.CONTROL],
        others=[pieces[id] for id, kind in enumerate(types) if kind == PieceType.USER_DEFINED],
        unknown=pieces[unknown] if isinstance(unknown, int) and 0 <= unknown < len(pieces) else None,
    )
    document = _with_template(document, around_text(config, vocab))
    return open_tokenizer_json(dumped(document), source=source, request=request, parsed=document)


def _with_template(document: dict[str, Any], around: PostProcessing) -> dict[str, Any]:
    return document if around == NOTHING else document | dump_post_processing(around)


def _splitting(fields: Mapping[str, Any], path: Path, *, asked: str | None) -> PreTokenizer:
    """Return how a text is split. Raises `ConfigError`."""
    name = _text(fields.get("pre", b"default"), path)
    known = pre_tokenizer_named(name)
    if asked is not None:
        return PreTokenizer((checked_pattern(asked),), known is not None and known.whole_tokens_first)
    if known is None:
        raise ConfigError(
            f"{path} names the unknown pre-tokenizer {name!r}",
            hint=f"{TAKES_PATTERN}; known are {', '.join(known_names())}",
        )
    return known


def _warnings(fields: Mapping[str, Any], splitting: PreTokenizer, *, asked: str | None) -> Iterator[str]:
    """Yield what a user may not expect of llama.cpp's splitting."""
    if asked is None and "pre" not in fields:
        yield _UNNAMED
    if splitting.differs:
        yield (
            "text is split as by llama.cpp, which differs from the model's own tokenizer: "
            + splitting.differs
        )


def _open_word_piece(
    fields: Mapping[str, Any], *, source: Source, request: OpenRequest, config: TokenizerConfig
) -> Opened:
    """Open BERT's vocabulary, which GGUF spells with "▁" at the beginning of words instead of "##" inside them."""
    del config  # llama.cpp always puts [CLS] and [SEP] around a text, as BERT's template does
    path = source.files[0]
    types = _token_types(fields, path)
    vocab: dict[str, int] = {}
    for id, (piece, kind) in enumerate(zip(_pieces(fields, path), types, strict=True)):
        if piece.startswith("▁"):
            spelled = piece[1:]
        else:
            is_whole = kind != PieceType.NORMAL or (piece.startswith("[") and piece.endswith("]"))
            spelled = piece if is_whole else f"##{piece}"
        if vocab.setdefault(spelled, id) != id:
            raise ModelFormatError(f"{path}, token {id}", "each piece once", f"{piece!a} again")
    lowercase = _flag(fields, "normalizer.lowercase")
    if lowercase is None:  # most files do not say
        lowercase = not any(word.lower() != word for word in vocab if not word.startswith("["))
    strip_accents = _flag(fields, "normalizer.strip_accents")
    document = bert_tokenizer_json(vocab, lowercase=lowercase, strip_accents=strip_accents)
    return open_tokenizer_json(dumped(document), source=source, request=request)


def _open_sentencepiece(
    fields: Mapping[str, Any], *, source: Source, request: OpenRequest, config: TokenizerConfig
) -> Opened:
    """Open a SentencePiece model, rebuilt from its pieces, scores and types."""
    path = source.files[0]
    pieces = _strings(fields, "tokens", path)
    types = _with_one_unknown(_token_types(fields, path), fields.get("unknown_token_id", 0))
    scores = fields.get("scores")
    if not isinstance(scores, list) or len(scores) != len(pieces):
        raise ModelFormatError(path, f"{len(pieces):,} scores", "another number")
    try:
        messages = [
            length_field(1, piece) + float_field(2, score) + varint_field(3, kind)
            for piece, score, kind in zip(pieces, scores, types, strict=True)
        ]
    except (OverflowError, struct.error):
        raise ModelFormatError(path, f"{len(pieces):,} scores in single precision", "other values") from None
    is_unigram = _text(fields["model"], path) == "t5"
    options = dump_model(
        [], trainer=_trainer(fields, types, is_unigram=is_unigram), normalizer=_normalizer(fields, path)
    )
    proto = b"".join(length_field(1, message) for message in messages) + options
    symbols = {
        piece.decode(errors="replace"): id
        for id, (piece, kind) in enumerate(zip(pieces, types, strict=True))
        if kind in (PieceType.CONTROL, PieceType.USER_DEFINED)
    }
    around = around_text(config, symbols)
    return open_pieces(proto, source=source, request=request, around=around, finds_unknown=True)


def _trainer(fields: Mapping[str, Any], types: Sequence[int], *, is_unigram: bool) -> dict[str, int]:
    options = {
        "model_type": int(ModelType.UNIGRAM if is_unigram else ModelType.BPE),
        "byte_fallback": int(PieceType.BYTE in types),
    }
    for role, key in (("unk", "unknown"), ("bos", "bos"), ("eos", "eos"), ("pad", "padding")):
        id = fields.get(f"{key}_token_id", -1)
        options[f"{role}_id"] = id if isinstance(id, int) and 0 <= id < len(types) else -1
    return options


def _normalizer(fields: Mapping[str, Any], path: Path) -> dict[str, Any]:
    try:
        table = bytes(value & 0xFF for value in fields.get("precompiled_charsmap", []))
    except TypeError:
        raise ModelFormatError(path, "a normalization table of bytes", "other values") from None
    return {
        "name": "" if table else "identity",
        **({"precompiled_charsmap": table} if table else {}),
        "add_dummy_prefix": bool(fields.get("add_space_prefix", True)),
        "remove_extra_whitespaces": bool(fields.get("remove_extra_whitespaces", False)),
        "escape_whitespaces": True,
    }


def _token_types(fields: Mapping[str, Any], path: Path) -> list[int]:
    """Return the type of each token as llama.cpp uses it, which overrides some of the file's own types.

    Raises:
        ModelFormatError: the types in the file are not one valid type per token.
    """
    tokens = _strings(fields, "tokens", path)
    types = fields.get("token_type", [int(PieceType.NORMAL)] * len(tokens))
    known = {int(kind) for kind in PieceType}
    is_valid = isinstance(types, list) and set(map(type, types)) == {int} and known.issuperset(types)
    if not is_valid or len(types) != len(tokens):
        raise ModelFormatError(path, f"{len(tokens):,} token types from 1 to 6", "different ones")
    special = dict.fromkeys(_CONTROLS, int(PieceType.CONTROL))
    if not _BESIDE_AN_ORDINARY_END.isdisjoint(tokens):
        special[_END] = int(PieceType.NORMAL)
    return [special.get(token, kind) for token, kind in zip(tokens, types, strict=True)]


def _with_one_unknown(types: list[int], unknown: object) -> list[int]:
    """Return the types with exactly one unknown piece, as SentencePiece requires: the one that the file names.

    Tokens that only pad a vocabulary have this type too, such as 53 of Phi-3's, whose <unk> is a control piece.
    llama.cpp treats them like control pieces: text becomes them only where special tokens are searched.

    >>> _with_one_unknown([3, 1, 2, 2], 0)
    [2, 1, 3, 3]
    """
    if types.count(PieceType.UNKNOWN) == 1 or not isinstance(unknown, int):
        return types
    if not 0 <= unknown < len(types) or types[unknown] not in (PieceType.UNKNOWN, PieceType.CONTROL):
        return types
    replaced = [int(PieceType.CONTROL) if kind == PieceType.UNKNOWN else kind for kind in types]
    replaced[unknown] = int(PieceType.UNKNOWN)
    return replaced


def _pieces(fields: Mapping[str, Any], path: Path) -> list[str]:
    """Return the tokens as texts; a repeated one is refused."""
    tokens = _strings(fields, "tokens", path)
    try:
        pieces = [token.decode() for token in tokens]
    except UnicodeDecodeError:
        pieces = [_text(token, f"{path}, token {id}") for id, token in enumerate(tokens)]
    if (again := first_repeated(pieces)) is not None:
        raise ModelFormatError(path, "each token once", f"{again!a} twice")
    return pieces


def _flag(fields: Mapping[str, Any], key: str) -> bool | None:
    """Return a flag, or None if it is not set."""
    value = fields.get(key)
    return value if isinstance(value, bool) else None


def _strings(fields: Mapping[str, Any], key: str, path: Path) -> list[bytes]:
    values = fields.get(key)
    if isinstance(values, list) and values and isinstance(values[0], bytes):
        return values if key != "tokens" or all(values) else _named_tokens(values)
    raise ModelFormatError(path, f"a list {_PREFIX}{key}", "none")


def _named_tokens(tokens: list[bytes]) -> list[bytes]:
    """Return the tokens with the names that llama.cpp gives to empty ones.

    >>> _named_tokens([b"a", b"", b""])
    [b'a', b'[EMPTY_1]', b'[EMPTY_2]']
    """
    return [token or b"[EMPTY_%d]" % id for id, token in enumerate(tokens)]


def _merges(fields: Mapping[str, Any], path: Path) -> list[list[str]]:
    """Return the merges as pairs of pieces."""
    merges = _strings(fields, "merges", path)
    try:
        pairs = [merge.decode().split(" ") for merge in merges]
    except UnicodeDecodeError:
        pairs = []
    if set(map(len, pairs)) == {2} and all(chain.from_iterable(pairs)):
        return pairs
    return [_merge(merge, number, path) for number, merge in enumerate(merges)]


def _merge(merge: bytes, number: int, path: Path) -> list[str]:
    parts = _text(merge, f"{path}, merge {number}").split(" ")
    if len(parts) != 2 or not all(parts):
        raise ModelFormatError(f"{path}, merge {number}", "two pieces with a space between", f"{merge!r:.60}")
    return parts


def _text(value: object, place: Path | str) -> str:
    try:
        if isinstance(value, bytes):
            return value.decode()
    except UnicodeDecodeError:
        pass
    raise ModelFormatError(place, "UTF-8", f"{value!r:.60}")
