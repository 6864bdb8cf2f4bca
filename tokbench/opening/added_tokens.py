"""Add tokens listed beside a vocabulary to it, as `transformers` does when it opens a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.core.wording import counted
from tokbench.formats.sentencepiece.model import dump_piece
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.formats.tokenizer_config.fields import ADDED_TOKEN_FLAGS, AddedToken, TokenizerConfig

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.token_table import TokenTable

_SHOWN = 3
"""The number of similar sentences to show; a folder may have hundreds."""


def completed(
    data: bytes, document: dict[str, Any], config: TokenizerConfig
) -> tuple[bytes, dict[str, Any], tuple[str, ...]]:
    """Add to a `tokenizer.json` the added tokens that only the files beside it list.

    The document takes precedence; a token whose id the library could not assign is left out.

    Args:
        data: the bytes of the document.
        document: the parsed document.
        config: the configuration from the files beside it.

    Returns:
        Both, unchanged if nothing is missing; and one sentence for each contradiction of the document.
    """
    import orjson

    from tokbench.libraries.huggingface.tokenizer_json import model_ids

    if not config.added_tokens and not config.special_texts:
        return data, document, ()
    try:
        vocabulary, added = dict(model_ids(document)), _added(document)
    except (AttributeError, KeyError, TypeError, ValueError):
        return data, document, ()  # opening it will report what is wrong with it
    missing, problems = _missing(config, vocabulary, {token.content: token.id for token in added})
    flags = {token.content: token for token in added}
    flagged = [
        sentence
        for token in config.added_tokens
        for sentence in _other_flags(flags.get(token.content), token)
    ]
    problems = (*problems, *_first_sentences(flagged))
    if not missing:
        return data, document, problems
    listed = [
        *document.get("added_tokens", []),
        *(token.listed() for token in missing),
    ]
    document = {**document, "added_tokens": sorted(listed, key=lambda token: token["id"])}
    return orjson.dumps(document), document, problems


def without_empty(data: bytes, document: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Remove added tokens of no text from a `tokenizer.json`, as its library does, so that later ones move up.

    Args:
        data: the bytes of the document, returned unchanged if there are none.
        document: the parsed document.
    """
    import json

    listed = document.get("added_tokens")
    if not isinstance(listed, list) or not any(map(_is_empty, listed)):
        return data, document
    cleaned = {**document, "added_tokens": [token for token in listed if not _is_empty(token)]}
    return json.dumps(cleaned).encode(), cleaned


def _is_empty(token: object) -> bool:
    return isinstance(token, dict) and token.get("content") == ""


def extended(
    proto: bytes, config: TokenizerConfig, *, pieces: Sequence[ModelPiece]
) -> tuple[bytes, tuple[str, ...]]:
    """Add tokens to a SentencePiece model, with ids that follow those of its pieces.

    Special tokens become control symbols, other tokens user-defined symbols, which are found in every text. Flags that
    the model cannot hold are reported.

    Returns:
        The model, byte for byte the same if nothing is missing; and one sentence for each contradiction.
    """
    if not config.added_tokens and not config.special_texts:
        return proto, ()
    ids = {piece.text: id for id, piece in enumerate(pieces)}
    missing, problems = _missing(config, ids, ids)
    tokens = {token.content: token for token in (*missing, *config.added_tokens)}
    flagged = [text for text, token in tokens.items() if token.lstrip or token.rstrip or token.single_word]
    if flagged:
        problems = (
            *problems,
            f"a SentencePiece model cannot match white space around tokens, which {flagged[0]!r} requires",
        )
    return proto + b"".join(map(_piece, missing)) if missing else proto, problems


def _piece(token: AddedToken) -> bytes:
    """Serialize a token as a piece to append to the model's bytes: protobuf fields may come in any order."""
    kind = PieceType.CONTROL if token.special else PieceType.USER_DEFINED
    return dump_piece(ModelPiece(token.content, 0.0, kind))


def beside_ranks(
    config: TokenizerConfig, tokens: TokenTable, *, usual: Mapping[str, int], every_kind: bool
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the special tokens that the files beside a rank file list; the rank file itself has none.

    Args:
        config: the configuration from these files.
        tokens: the rank table.
        usual: text → id of the special tokens that these ranks are known to have.
        every_kind: whether their class makes every added token a special token.

    Returns:
        Text → id; and one sentence for each token that cannot be added.
    """
    specials: dict[str, int] = {}
    taken, left_out = [], []
    for token in config.added_tokens:
        if tokens.holds(token.id):
            taken.append(
                f"the added token {token.content!r} cannot get the id {token.id} of an ordinary token"
            )
        elif not every_kind and (not token.special or token.lstrip or token.rstrip or token.single_word):
            left_out.append(
                f"the added token {token.content!r} is left out: rank files only take special ones"
            )
        else:
            specials[token.content] = token.id
    problems = [*_first_sentences(taken), *_first_sentences(left_out)]
    present = {*usual, *(token.content for token in config.added_tokens)}
    missing = [text for text in config.special_texts if text not in present]
    problems += [f"the vocabulary has no {text!r}, which {_declared_use(config, text)}" for text in missing]
    return specials, tuple(problems)


def _missing(
    config: TokenizerConfig, vocabulary: Mapping[str, int], added: Mapping[str, int]
) -> tuple[list[AddedToken], tuple[str, ...]]:
    """Return the tokens to add, and one sentence for each that cannot be added."""
    known = dict(added)
    missing: list[AddedToken] = []
    moved: list[str] = []
    unplaced: list[str] = []
    following = max([len(vocabulary), *(id + 1 for id in known.values())])
    for token in config.added_tokens:
        current = known.get(token.content, vocabulary.get(token.content))
        if current is not None and current != token.id:
            moved.append(
                f"the added token {token.content!r} has the id {current}, not {token.id} as the files beside it say"
            )
        if token.content in known:
            continue
        if current is None and token.id != following:
            unplaced.append(
                f"the added token {token.content!r} cannot get the id {token.id}: the next one is {following}"
            )
            continue
        id = following if current is None else current
        missing.append(AddedToken(id=id, content=token.content, **token.flags()))
        following = max(following, id + 1)
        known[token.content] = id
    problems = [sentence for alike in (moved, unplaced) for sentence in _first_sentences(alike)]
    listed = {token.content for token in config.added_tokens}
    for text in config.special_texts:
        if text in known:
            continue
        if text in vocabulary:
            missing.append(AddedToken(id=vocabulary[text], content=text, **config.token_flags.get(text, {})))
        elif text not in listed:
            problems.append(f"the vocabulary has no {text!r}, which {_declared_use(config, text)}")
    return missing, tuple(problems)


def _first_sentences(alike: Sequence[str]) -> Iterator[str]:
    """Yield the first of similar sentences about different added tokens, and the number of the others."""
    yield from alike[:_SHOWN]
    if (remaining := len(alike) - _SHOWN) > 0:
        yield f"the same holds for {counted(remaining, 'more added token')}"


def _other_flags(inside: AddedToken | None, beside: AddedToken) -> Iterator[str]:
    """Report flags of one token that differ between a `tokenizer.json` and a file beside it."""
    if inside is None:
        return
    here, there = inside.flags(), beside.flags()
    names = [name for name in here if here[name] != there[name]]
    if names:
        yield (
            f"the added token {inside.content!r} has {_spelled(here, names)} in tokenizer.json, which count, "
            f"and {_spelled(there, names)} beside it"
        )


def _spelled(flags: Mapping[str, bool], names: Sequence[str]) -> str:
    return ", ".join(f"{name}={str(flags[name]).lower()}" for name in names)


def _declared_use(config: TokenizerConfig, text: str) -> str:
    """Return what a token is declared to be, as the end of a sentence."""
    uses = {**config.roles, **config.named_tokens}
    return next(
        (f"is to be {role}" for role, role_text in uses.items() if role_text == text), "is said to be special"
    )


def _added(document: Mapping[str, Any]) -> list[AddedToken]:
    return [
        AddedToken(
            id=int(token["id"]),
            content=str(token["content"]),
            **{name: bool(token.get(name, False)) for name in ADDED_TOKEN_FLAGS},
        )
        for token in document.get("added_tokens") or []
    ]
