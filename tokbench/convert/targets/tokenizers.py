"""Convert to a `tokenizer.json` for tokenizers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokbench.convert.conversion import Product, Source, undescribed
from tokbench.convert.post_processing import kept, post_processing_of, unwritten
from tokbench.convert.proof import Peer
from tokbench.convert.proof_inputs import InputCall
from tokbench.convert.score_rounding import Rounding, no_rounding, rounding_of
from tokbench.core.descriptions import ByteLevelBpe, HuggingFaceModel, SentencePieceModel
from tokbench.core.tokens import ModelInput
from tokbench.formats.tokenizer_config.fields import config_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_SPECIAL_NOTE = (
    "tokenizers recognizes special tokens in any text, where tokbench encodes them as ordinary text; for "
    "untrusted text set encode_special_tokens = True on the opened tokenizer: the file cannot contain this setting"
)
_PIECES_NOTE = (
    "special tokens are pieces of this vocabulary: tokenizers recognizes them in any text, whatever its settings, "
    "where tokbench encodes them as ordinary text; remove them from untrusted text"
)


def make(source: Source) -> Product:
    """Convert a source to a `tokenizer.json`. Raises `ConversionError`."""
    rounding, done = scores_of(source), post_processing_of(source.description)
    return Product(
        files={"": tokenizer_json_of(source, rounding=rounding)},
        open=lambda path: rounding.tolerant(restricted(opened(path), source)),
        notes=(
            *special_note(source),
            *unknown_note(source),
            *kept(done),
            *unwritten(done, config_of(source.tokenizer)),
        ),
        limits=rounding.limits,
        rounding=rounding.accepted,
        post_processing=done,
    )


def special_note(source: Source, otherwise: str = _SPECIAL_NOTE) -> tuple[str, ...]:
    """Say how the library treats the texts of special tokens; nothing for a tokenizer without any.

    Args:
        source: the tokenizer to convert.
        otherwise: the note where the library finds special tokens only if its settings say so.
    """
    if not source.special_tokens:
        return ()
    if isinstance(source.description, HuggingFaceModel):
        import tokenizers

        library = tokenizers.Tokenizer.from_buffer(source.description.document)
        library.encode_special_tokens = True
        if _always_finds_specials(lambda text: library.encode(text, add_special_tokens=False).ids, source):
            return (_PIECES_NOTE,)
    return (otherwise,)


def unknown_note(source: Source) -> tuple[str, ...]:
    """Say how the library decodes the unknown piece of a SentencePiece model, if some text gets it."""
    if not isinstance(source.description, SentencePieceModel):
        return ()
    from tokbench.formats.sentencepiece.model import parse_model
    from tokbench.formats.sentencepiece.pieces import PieceType

    model = parse_model(source.description.proto)
    if any(piece.type is PieceType.BYTE for piece in model.pieces):
        return ()
    there, decoded = model.pieces[model.unknown_id].text, source.tokenizer.decode([model.unknown_id])
    return (f"an unknown character is decoded as {there!r} there, and as {decoded!r} by the source",)


def tokenizer_json_of(source: Source, *, rounding: Rounding | None = None) -> bytes:
    """Return the `tokenizer.json` of any description, with a note of accepted rounding. Raises `ConversionError`."""
    match source.description:
        case HuggingFaceModel(document=document):
            return document
        case ByteLevelBpe() as description:
            return _byte_level(description)
        case SentencePieceModel(proto=proto, post_processing=done):
            from tokbench.formats.sentencepiece.model import parse_model
            from tokbench.formats.sentencepiece.tokenizer_json import dump_sentencepiece

            return dump_sentencepiece(
                parse_model(proto),
                rounding=rounding.accepted if rounding else None,
                post_processing=done,
            )
        case None:
            raise undescribed(source)


def scores_of(source: Source) -> Rounding:
    """Determine how tokenizers adds up the scores of a SentencePiece model. Raises `ConversionError`, `ConfigError`."""
    if isinstance(source.description, SentencePieceModel):
        from tokbench.formats.sentencepiece.model import ModelType, parse_model

        model = parse_model(source.description.proto)
        if model.model_type is ModelType.UNIGRAM:
            return rounding_of(model.pieces, source)
    return no_rounding(source)


def restricted(peer: Peer, source: Source) -> Peer:
    """Restrict the comparison with the library's tokenizer to what both can do.

    The library decodes special tokens and the unknown piece in its own way. If special tokens are pieces of the
    vocabulary, as in some Unigram or WordLevel models not trained here, it always finds them in texts, whatever its
    settings.
    """
    peer = replace(peer, undecoded=undecoded_ids(source))
    if excluded := _excluded(source):
        names = ", ".join(f"U+{ord(character):04X}" for character in excluded)
        without = f"texts without {names}, which it would normalize otherwise"
        peer = replace(
            peer, excluded=excluded, domain=without if peer.domain is None else f"{peer.domain}; {without}"
        )
    if (
        isinstance(source.description, HuggingFaceModel)
        and peer.encode is not None
        and _always_finds_specials(peer.encode, source)
    ):
        return replace(
            peer, encode=None, domain="there, the text of a special token always becomes that token"
        )
    return peer


def _always_finds_specials(encode: Callable[[str], Sequence[int]], source: Source) -> bool:
    """Whether a library that is told to treat special tokens as text makes them of their texts nevertheless."""
    return any(id in encode(text) for text, id in source.special_tokens.items())


def _excluded(source: Source) -> str:
    """Return the characters that serve as placeholders in the target's normalizer."""
    if not isinstance(source.description, SentencePieceModel):
        return ""
    from tokbench.formats.sentencepiece.model import parse_model
    from tokbench.formats.sentencepiece.tokenizer_json import normalization_in

    return normalization_in(parse_model(source.description.proto)).excluded


def opened(path: Path) -> Peer:
    """Open a `tokenizer.json` with tokenizers: once with special tokens, once without, and once unmodified."""
    import tokenizers

    whole = tokenizers.Tokenizer.from_buffer(path.read_bytes())
    has_limits = whole.truncation is not None or whole.padding is not None
    ordinary, special = _unlimited_tokenizer(path), _unlimited_tokenizer(path) if has_limits else whole
    ordinary.encode_special_tokens = True

    def decode(ids: Sequence[int]) -> str:
        text: str = ordinary.decode(list(ids), skip_special_tokens=False)
        return text

    return Peer(
        name=f"tokenizers {tokenizers.__version__}",
        encode=lambda text: ordinary.encode(text, add_special_tokens=False).ids,
        encode_special=lambda text: special.encode(text, add_special_tokens=False).ids,
        decode=decode,
        inputs=(
            InputCall(
                name="encode(text)", call=lambda text, pair: input_of_encoding(whole.encode(text, pair))
            ),
            InputCall(
                name="encode(text, add_special_tokens=False)",
                call=lambda text, pair: input_of_encoding(whole.encode(text, pair, add_special_tokens=False)),
                template=False,
            ),
        ),
    )


def input_of_encoding(encoding: Any) -> ModelInput:
    """Return the model input in an encoding of the library."""
    return ModelInput(tuple(encoding.ids), tuple(encoding.type_ids), tuple(encoding.attention_mask))


def undecoded_ids(source: Source) -> frozenset[int]:
    """Return the ids that each library decodes in its own way: special tokens and the unknown piece."""
    special = frozenset(source.special_tokens.values())
    match source.description:
        case SentencePieceModel(proto=proto):
            from tokbench.formats.sentencepiece.model import parse_model

            return special | {parse_model(proto).unknown_id}
        case _:
            return special


def _unlimited_tokenizer(path: Path) -> Any:
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_buffer(path.read_bytes())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _byte_level(description: ByteLevelBpe) -> bytes:
    from tokbench.formats.merges import listed_merges, needs_whole_tokens_first, ordinary_tokens
    from tokbench.formats.tokenizer_json import dump_byte_level_bpe, for_oniguruma

    merges = listed_merges(description)
    return dump_byte_level_bpe(
        tokens=ordinary_tokens(description),
        merges=[(left, right) for left, right, _ in merges],
        special_tokens=description.special_tokens,
        pattern=None if description.pattern is None else for_oniguruma(description.pattern),
        normalization=description.normalization,
        whole_tokens_first=needs_whole_tokens_first(description, merges),
        token_flags=description.token_flags,
        post_processing=description.post_processing,
    )
