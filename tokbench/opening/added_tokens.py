"""Tokens that stand beside a vocabulary become a part of it, as `transformers` does it when it opens a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.core.wording import counted
from tokbench.formats.protobuf import float_field, length_field, varint_field
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.tokenizer_config.fields import ADDED_TOKEN_FLAGS, AddedToken, TokenizerConfig

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.token_table import TokenTable
    from tokbench.formats.sentencepiece.pieces import ModelPiece

_SHOWN = 3
"""Sentences that are alike, of which a folder may have hundreds."""


def completed(
    data: bytes, document: dict[str, Any], config: TokenizerConfig
) -> tuple[bytes, dict[str, Any], tuple[str, ...]]:
    """A `tokenizer.json` with the added tokens that only the files beside it list.

    What the document says itself counts; a token with an id that it could not get is left out.

    Args:
        data: the file.
        document: the same, parsed.
        config: of the files beside it.

    Returns:
        Both, as they are where nothing is missing; and what contradicts the document, a sentence each.
    """
    import orjson

    if not config.added_tokens and not config.special_texts:
        return data, document, ()
    try:
        vocabulary, added = _vocabulary(document), _added(document)
    except (AttributeError, KeyError, TypeError, ValueError):
        return data, document, ()  # whoever opens it says what is wrong with it
    made, problems = _missing(config, vocabulary, added)
    flags = {token.content: token for token in added}
    flagged = [
        sentence
        for token in config.added_tokens
        for sentence in _other_flags(flags.get(token.content), token)
    ]
    problems = (*problems, *_first_of(flagged))
    if not made:
        return data, document, problems
    listed = [
        *document.get("added_tokens", []),
        *({"id": t.id, "content": t.content} | t.flags() for t in made),
    ]
    document = {**document, "added_tokens": sorted(listed, key=lambda token: token["id"])}
    return orjson.dumps(document), document, problems


def without_empty(data: bytes, document: Mapping[str, Any]) -> tuple[bytes, Mapping[str, Any]]:
    """A `tokenizer.json` without added tokens of no text, which its library leaves out, too: later ones move up.

    Args:
        data: the document, which stays byte for byte where there is none.
        document: the same, parsed.
    """
    import json

    listed = document.get("added_tokens")
    if not isinstance(listed, list) or not any(map(_is_empty, listed)):
        return data, document
    left = {**document, "added_tokens": [token for token in listed if not _is_empty(token)]}
    return json.dumps(left).encode(), left


def _is_empty(token: object) -> bool:
    return isinstance(token, dict) and token.get("content") == ""


def extended(
    proto: bytes, config: TokenizerConfig, *, pieces: Sequence[ModelPiece]
) -> tuple[bytes, tuple[str, ...]]:
    """A SentencePiece model with added tokens, whose ids follow those of its pieces.

    A special token becomes a control symbol, another one a user-defined symbol, which is found in every
    text. Flags that the model cannot hold are reported.

    Returns:
        The model, byte for byte where nothing is missing; and what contradicts it, a sentence each.
    """
    ids = {piece.text: id for id, piece in enumerate(pieces)}
    made, problems = _missing(config, ids, [AddedToken(id=id, content=text) for text, id in ids.items()])
    said = {token.content: token for token in (*made, *config.added_tokens)}
    flagged = [text for text, token in said.items() if token.lstrip or token.rstrip or token.single_word]
    if flagged:
        problems = (
            *problems,
            f"a SentencePiece model knows no white space around tokens, as {flagged[0]!r} asks for",
        )
    return proto + b"".join(map(_piece, made)) if made else proto, problems


def _piece(token: AddedToken) -> bytes:
    """A piece of the model, appended to its bytes: fields may come in any order."""
    kind = PieceType.CONTROL if token.special else PieceType.USER_DEFINED
    return length_field(
        1, length_field(1, token.content.encode()) + float_field(2, 0.0) + varint_field(3, int(kind))
    )


def beside_ranks(
    config: TokenizerConfig, tokens: TokenTable, *, usual: Mapping[str, int], every_kind: bool
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The special tokens that the files beside a rank file list, which has none itself.

    Args:
        config: of these files.
        tokens: the ranks.
        usual: text → id of the special tokens that such ranks are known to have.
        every_kind: whether their class takes each added token for a special one.

    Returns:
        Text → id; and what cannot be, a sentence each.
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
    problems = [*_first_of(taken), *_first_of(left_out)]
    has = {*usual, *(token.content for token in config.added_tokens)}
    missing = [text for text in config.special_texts if text not in has]
    problems += [f"the vocabulary has no {text!r}, which {_use(config, text)}" for text in missing]
    return specials, tuple(problems)


def _missing(
    config: TokenizerConfig, vocabulary: Mapping[str, int], added: Sequence[AddedToken]
) -> tuple[list[AddedToken], tuple[str, ...]]:
    """The tokens to add, and what cannot be."""
    known = {token.content: token.id for token in added}
    made: list[AddedToken] = []
    moved: list[str] = []
    unplaced: list[str] = []
    following = max([len(vocabulary), *(id + 1 for id in known.values())])
    for token in config.added_tokens:
        has = known.get(token.content, vocabulary.get(token.content))
        if has is not None and has != token.id:
            moved.append(
                f"the added token {token.content!r} has the id {has}, not {token.id} as the files beside it say"
            )
        if token.content in known:
            continue
        if has is None and token.id != following:
            unplaced.append(
                f"the added token {token.content!r} cannot get the id {token.id}: the next one is {following}"
            )
            continue
        id = following if has is None else has
        made.append(AddedToken(id=id, content=token.content, **token.flags()))
        following = max(following, id + 1)
        known[token.content] = id
    problems = [sentence for alike in (moved, unplaced) for sentence in _first_of(alike)]
    listed = {token.content for token in config.added_tokens}
    for text in config.special_texts:
        if text in known:
            continue
        if text in vocabulary:
            made.append(AddedToken(id=vocabulary[text], content=text, **config.token_flags.get(text, {})))
        elif text not in listed:
            problems.append(f"the vocabulary has no {text!r}, which {_use(config, text)}")
    return made, tuple(problems)


def _first_of(alike: Sequence[str]) -> Iterator[str]:
    """A few of the sentences that say the same of different added tokens, and how many there are besides."""
    yield from alike[:_SHOWN]
    if (left := len(alike) - _SHOWN) > 0:
        yield f"so it is with {counted(left, 'more added token')}"


def _other_flags(inside: AddedToken | None, beside: AddedToken) -> Iterator[str]:
    """What a `tokenizer.json` and a file beside it say differently of one token."""
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


def _use(config: TokenizerConfig, text: str) -> str:
    """What a token is said to be, as the end of a sentence."""
    uses = {**config.roles, **config.named_tokens}
    return next((f"is to be {role}" for role, its in uses.items() if its == text), "is said to be special")


def _vocabulary(document: Mapping[str, Any]) -> dict[str, int]:
    vocabulary = document["model"]["vocab"]
    if isinstance(vocabulary, list):
        return {piece: id for id, (piece, _) in enumerate(vocabulary)}
    return dict(vocabulary)


def _added(document: Mapping[str, Any]) -> list[AddedToken]:
    return [
        AddedToken(
            id=int(each["id"]),
            content=str(each["content"]),
            **{name: bool(each.get(name, False)) for name in ADDED_TOKEN_FLAGS},
        )
        for each in document.get("added_tokens") or []
    ]
