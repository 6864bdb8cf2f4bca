"""Convert to a `vocab.txt`: the pieces of a WordPiece tokenizer, one per line, as BERT's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokbench.convert.conversion import Product, Source, kind_of, undescribed
from tokbench.convert.post_processing import kept, lost, post_processing_of
from tokbench.convert.proof import Peer
from tokbench.convert.proof_inputs import InputCall
from tokbench.convert.targets.tokenizers import input_of_encoding, undecoded_ids
from tokbench.core.descriptions import HuggingFaceModel, PostProcessing
from tokbench.errors import ConversionError
from tokbench.formats.post_processors import parse_post_processing, spelled_template
from tokbench.libraries.huggingface.tokenizer_json import model_type, parse_tokenizer_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.descriptions import Template

_MODEL = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
_WHITE_SPACE = "\t\v\f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""The white space that the library strips from lines; Python would strip U+001C to U+001F, too."""
_HARMLESS_READINGS = ("", "##")
_SPECIAL = ("[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]")


def make(source: Source, *, configured: bool = False) -> Product:
    """Convert a source to a `vocab.txt`.

    Args:
        source: the source of the conversion.
        configured: whether a `tokenizer_config.json` beside the file lists special tokens other than BERT's.

    Raises:
        ConversionError: a `vocab.txt` cannot hold the tokenizer.
    """
    if source.description is None:
        raise undescribed(source)
    if not isinstance(source.description, HuggingFaceModel):
        raise ConversionError(
            f"a vocab.txt contains the pieces of a WordPiece tokenizer, and this is {kind_of(source.description)}"
        )
    document = parse_tokenizer_json(source.description.document, source=source.tokenizer.info.name)
    if model_type(document) != "WordPiece":
        raise ConversionError(
            f"a vocab.txt contains the pieces of a WordPiece tokenizer, and this is {model_type(document)}"
        )
    model, options = document["model"], _options(document)
    for name, value in _MODEL.items():
        if model.get(name) != value:
            raise ConversionError(
                f"readers of a vocab.txt assume {name} = {value!r}; here it is {model.get(name)!r}"
            )
    added = _added(document, configured=configured)
    pieces = _pieces(model["vocab"])
    post_processing, template = post_processing_of(source.description), bert_template(model["vocab"])

    def opened(path: Path) -> Peer:
        import tokenizers
        from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

        # One tokenizer finds special tokens in texts, the other treats them as text.
        ordinary, special = (BertWordPieceTokenizer.from_file(str(path), **options) for _ in range(2))
        for tokenizer in (ordinary, special):
            tokenizer.add_special_tokens(
                [tokenizers.AddedToken(text, **flags) for text, flags in added.items()]
            )
        ordinary._tokenizer.encode_special_tokens = True
        # Truncation and padding are left to the user.
        call = InputCall(
            name="encode(text)",
            call=lambda text, pair: input_of_encoding(special.encode(text, pair)),
            limits=False,
        )
        return Peer(
            name=f"tokenizers {tokenizers.__version__}",
            encode=lambda text: ordinary.encode(text, add_special_tokens=False).ids,
            encode_special=lambda text: special.encode(text, add_special_tokens=False).ids,
            decode=lambda ids: ordinary.decode(list(ids), skip_special_tokens=False),
            undecoded=undecoded_ids(source),
            inputs=(call,) if template == post_processing.template else (),
        )

    return Product(
        files={"": "".join(f"{piece}\n" for piece in pieces).encode()},
        open=opened,
        notes=(*_notes(options, pieces, added), *_template_notes(post_processing, template)),
        post_processing=PostProcessing(template=template),
    )


def bert_template(vocabulary: Mapping[str, int]) -> Template | None:
    """Return the template of BERT's tokenizers for a vocabulary; None if it lacks one of the two tokens.

    >>> bert_template({"[CLS]": 0, "[SEP]": 1}).single[0].tokens
    ('[CLS]',)
    """
    if "[CLS]" not in vocabulary or "[SEP]" not in vocabulary:
        return None
    processor = {
        "type": "BertProcessing",
        "cls": ["[CLS]", vocabulary["[CLS]"]],
        "sep": ["[SEP]", vocabulary["[SEP]"]],
    }
    return parse_post_processing({"post_processor": processor}).template


def _template_notes(done: PostProcessing, written: Template | None) -> tuple[str, ...]:
    """Return notes on the template, truncation and padding of the source."""
    limits = lost(replace(done, template=None), who="a vocab.txt")
    if written == done.template:
        return (*kept(PostProcessing(template=written)), *limits)
    source = "nothing" if done.template is None else spelled_template(done.template.single)
    does = "nothing" if written is None else spelled_template(written.single)
    return (f"readers of a vocab.txt write {does} around a text; the source writes {source}", *limits)


def _options(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the normalizer options to pass when the vocabulary is opened."""
    normalizer, splitter = document.get("normalizer") or {}, document.get("pre_tokenizer") or {}
    for part, step, expected in (
        ("normalizer", normalizer, "BertNormalizer"),
        ("pre-tokenizer", splitter, "BertPreTokenizer"),
    ):
        if (found := step.get("type")) != expected:
            raise ConversionError(
                f"readers of a vocab.txt prepare text as BERT does, with a {expected}; this tokenizer has "
                f"{f'the {part} {found}' if found else f'no {part}'}"
            )
    return {
        "clean_text": bool(normalizer.get("clean_text", True)),
        "handle_chinese_chars": bool(normalizer.get("handle_chinese_chars", True)),
        "strip_accents": normalizer.get("strip_accents"),
        "lowercase": bool(normalizer.get("lowercase", True)),
    }


def _added(document: Mapping[str, Any], *, configured: bool) -> dict[str, dict[str, bool]]:
    """Return the flags of the special tokens to name when the vocabulary is opened; BERT's tokens are built in."""
    vocabulary, tokens = document["model"]["vocab"], {}
    for token in document.get("added_tokens", []):
        text = token["content"]
        sayable = text in _SPECIAL or (configured and token["special"])
        if not sayable or vocabulary.get(text) != token["id"]:
            raise ConversionError(f"a vocab.txt cannot mark {text!r} as an added token")
        if text not in _SPECIAL:
            tokens[text] = {flag: token[flag] for flag in ("single_word", "lstrip", "rstrip", "normalized")}
    return tokens


def _pieces(vocabulary: Mapping[str, int]) -> list[str]:
    """Return the pieces in the order of their ids, which are their line numbers."""
    by_id = {id: piece for piece, id in vocabulary.items()}
    if sorted(by_id) != list(range(len(vocabulary))):
        raise ConversionError("the ids have a gap, and a vocab.txt has a line for each")
    for piece in vocabulary:
        _check_line(piece)
    return [by_id[id] for id in range(len(by_id))]


def _check_line(piece: str) -> None:
    """Refuse a piece that readers of the file would read as a different one.

    A line ends only at U+000A; the library strips white space before it. Pieces of white space alone become empty; that
    is harmless, as no text becomes such a piece: BERT splits at white space.
    """
    if not piece or "\n" in piece or "\r" in piece:
        raise ConversionError(f"the piece {piece!r} {'contains a line end' if piece else 'is an empty line'}")
    read = piece.rstrip(_WHITE_SPACE)
    if read != piece and read not in _HARMLESS_READINGS:
        raise ConversionError(f"the piece {piece!r} ends in white space, and would be read as {read!r}")


def _notes(options: Mapping[str, Any], pieces: Sequence[str], added: Iterable[str]) -> tuple[str, ...]:
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    blank = [piece for piece in pieces if piece != piece.rstrip(_WHITE_SPACE)]
    notes = [f"a vocab.txt contains only pieces; open it with {given}"]
    if added:
        listed = ", ".join(map(repr, added))
        notes.append(f"special tokens that tokenizer_config.json lists and a vocab.txt cannot: {listed}")
    if blank:
        listed = ", ".join(map(repr, blank))
        notes.append(
            f"of {listed}, which no text becomes, the library strips the white space when it reads them"
        )
    return tuple(notes)
