"""Detection of special tokens that the model itself produces from plain text, by model family."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from tokbench.core.wording import quoted
from tokbench.errors import TokbenchError
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.tokenizer_json import to_byte_level
from tokbench.lint.findings import Severity, findings_on_tokens
from tokbench.lint.rules import DoesNotApplyError
from tokbench.opening.native_bpe import merge_pairs
from tokbench.opening.recognition import Format, Source
from tokbench.opening.request import OpenRequest
from tokbench.opening.tokenizer_json import open_tokenizer_json
from tokbench.opening.vocab_txt import dumped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.lint.findings import Found
    from tokbench.lint.target import LintTarget

_MARKED = re.compile(r"[<\[{(|｜].*[>\]})|｜]", re.DOTALL)
"""Matches pieces that look like special tokens but are not declared as such."""
_AS_ADDED = (
    "Nothing, if every library finds added tokens first; do not encode with split_special_tokens=True."
)
_CONTROLS = "Make it a control symbol, which text never becomes, and keep its text out of the training text."


def special_tokens_from_text(target: LintTarget) -> Iterator[Found]:
    """Yield findings on the special tokens that the model itself produces from a text.

    Raises:
        DoesNotApplyError: there are no special tokens, or the model is unknown.
    """
    special = target.tokenizer.info.special_tokens
    if target.sentencepiece is not None:
        yield from _from_sentencepiece(target, special)
        return
    if not special:
        raise DoesNotApplyError("it has no special tokens")
    if target.document is not None:
        yield from _from_document(target, special)
    elif target.bpe is not None:
        yield from _from_merges(target, special)
    else:
        raise DoesNotApplyError("its files do not define how its model makes tokens")


# --- tokenizer.json, and formats converted to it -----------------------------------------------


def _from_document(target: LintTarget, special: Mapping[str, int]) -> Iterator[Found]:
    """Run the model without added tokens, like a library that treats special tokens as text."""
    pieces = _pieces(target)
    texts = [text for text in special if not pieces.isdisjoint((text, to_byte_level(text.encode())))]
    if not texts:
        return
    encode = _without_added_tokens(target).encode
    contexts = {special[text]: _text_giving(encode, text, special[text]) for text in texts}
    is_listed = isinstance((target.document or {})["model"].get("vocab"), list)
    yield from findings_on_tokens(
        target,
        {id: f"the model itself produces it from {quoted(text)}" for id, text in contexts.items() if text},
        # A list of scored pieces contains every id, including those used by added tokens only.
        severity=Severity.NOTE if is_listed else None,
        remedy=_AS_ADDED if is_listed else None,
    )


def _pieces(target: LintTarget) -> frozenset[str]:
    """Return the spellings of the tokens that the model can produce; for a BPE, only characters and merged pieces."""
    model = (target.document or {}).get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, dict):
        assert isinstance(model, dict)
        if (
            "merges" in model
            and not model.get("ignore_merges")
            and not model.get("continuing_subword_prefix")
        ):
            merges = merge_pairs(model, path=target.opened.source.path)
            single = (piece for piece in vocab if len(piece) == 1)
            return frozenset(chain(single, (left + right for left, right in merges)))
        return frozenset(vocab)
    return frozenset(piece for piece, _ in vocab) if isinstance(vocab, list) else frozenset()


def _without_added_tokens(target: LintTarget) -> Tokenizer:
    """Open the tokenizer without its added tokens."""
    path = target.opened.source.path
    document = {**(target.document or {}), "added_tokens": [], "post_processor": None}
    source = Source(Format.TOKENIZER_JSON, path, (path,))
    try:
        return open_tokenizer_json(dumped(document), source=source, request=OpenRequest()).tokenizer
    except TokbenchError:
        raise DoesNotApplyError("its model cannot be run without the special tokens") from None


def _text_giving(encode: Callable[[str], Sequence[int]], text: str, id: int) -> str | None:
    """Return a text with a special token that encodes to the token's id; None if there is none."""
    return next((context for context in (text, f" {text}", f"a{text}b") if id in encode(context)), None)


# --- merges of bytes ---------------------------------------------------------------------------


def _from_merges(target: LintTarget, special: Mapping[str, int]) -> Iterator[Found]:
    """Report merges that result in a special token; ranked vocabularies have none, as special tokens have no rank."""
    bpe = target.bpe
    assert bpe is not None
    ids = frozenset(special.values())
    made_by = {made: rank for rank, (_, _, made) in enumerate(bpe.merges or ()) if made in ids}
    reasons = {id: f"merge {rank:,} makes it of its text" for id, rank in made_by.items()}
    yield from findings_on_tokens(target, reasons)


# --- SentencePiece -----------------------------------------------------------------------------


def _from_sentencepiece(target: LintTarget, special: Mapping[str, int]) -> Iterator[Found]:
    """Report user-defined and normal pieces that are special tokens; text never becomes control symbols."""
    import sentencepiece

    file = target.sentencepiece
    assert file is not None
    by_type = {piece.text: (id, piece.type) for id, piece in enumerate(file.pieces)}
    suspects = {
        text: by_type[text][0]
        for text in special
        if text in by_type and by_type[text][1] in (PieceType.NORMAL, PieceType.USER_DEFINED)
    }
    looks: dict[str, int] = {
        piece.text: id
        for id, piece in enumerate(file.pieces)
        if piece.type is PieceType.USER_DEFINED and _MARKED.fullmatch(piece.text)
    }
    if not suspects and not looks:
        return
    description = target.description
    engine = sentencepiece.SentencePieceProcessor(model_proto=getattr(description, "proto", b""))
    for found, severity in ((suspects, None), (looks.items() - suspects.items(), Severity.WARNING)):
        contexts = {id: _text_giving(engine.encode, text, id) for text, id in dict(found).items()}
        reasons = {
            id: f"SentencePiece makes it of {quoted(text)}, whatever the caller asks for"
            for id, text in contexts.items()
            if text
        }
        yield from findings_on_tokens(target, reasons, severity=severity, remedy=_CONTROLS)
