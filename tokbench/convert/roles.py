"""The configuration of a converted tokenizer: roles, added tokens and templates from its files and the user."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from tokbench.core.descriptions import ByteLevelBpe, HuggingFaceModel, SentencePieceModel, TokenFlags
from tokbench.formats.tokenizer_config.fields import (
    ADDED_TOKEN_FLAGS,
    AddedToken,
    TokenizerConfig,
    config_of,
    token_id,
)
from tokbench.formats.tokenizer_config.files import with_special_tokens
from tokbench.formats.tokenizer_config.roles import with_given

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokbench.convert.conversion import Source


def model_config(source: Source) -> TokenizerConfig:
    """Return the configuration of a converted tokenizer, with all added tokens; `problems` says what is left out.

    A role is taken from the user, else from the files beside the tokenizer, else from the tokenizer itself. A token
    that is missing from the vocabulary is left out: it would become a new one.
    """
    id_of = _ids_by_text(source)
    configured = config_of(source.tokenizer)
    roles = known_roles(source) | dict(configured.roles)
    beside = with_given(
        replace(configured, roles=roles),
        roles=source.roles,
        chat_template=source.chat_template,
        id_of=id_of,
        eos=source.roles.get("eos", roles.get("eos")),
    )
    roles = dict(beside.roles)
    additional = (
        () if beside and beside.additional_special_tokens is None else beside.additional_special_tokens
    )
    missing = [text for text in (*roles.values(), *beside.special_texts) if id_of(text) is None]
    config = replace(
        beside,
        roles={role: text for role, text in roles.items() if id_of(text) is not None},
        named_tokens={name: text for name, text in beside.named_tokens.items() if id_of(text) is not None},
        additional_special_tokens=None
        if additional is None
        else tuple(text for text in additional if id_of(text) is not None),
        added_tokens=added_tokens(source),
        problems=(
            *beside.problems,
            *(f"{text!r} is left out: the vocabulary has no such token" for text in dict.fromkeys(missing)),
        ),
    )
    named = {text: id_of(text) for text in (*config.special_texts, *config.roles.values())}
    known = {text: id for text, id in named.items() if id is not None}
    return with_special_tokens(config, {**source.special_tokens, **known})


def unsaid(source: Source) -> tuple[str, ...]:
    """Return a note on configuration that a format of one file cannot hold.

    >>> from types import SimpleNamespace as Made
    >>> config = TokenizerConfig(roles={"eos": "</s>"}, chat_templates={"default": "{{ messages }}"})
    >>> print(*unsaid(Made(tokenizer=Made(tokenizer_config=config))))
    the file does not contain roles (eos '</s>') or a chat template, unlike the source: --to transformers keeps them
    """
    config = config_of(source.tokenizer)
    roles = ", ".join(f"{role} {text!r}" for role, text in config.roles.items())
    parts = [f"roles ({roles})"] if roles else []
    if config.chat_templates:
        parts.append("a chat template" if len(config.chat_templates) == 1 else "chat templates")
    if not parts:
        return ()
    said = " or ".join(parts)
    return (f"the file does not contain {said}, unlike the source: --to transformers keeps them",)


def added_tokens(source: Source) -> tuple[AddedToken, ...]:
    """Return the added tokens of a source by ascending id, with their flags as far as the source has them."""
    match source.description:
        case HuggingFaceModel(document=document):
            return listed_tokens(document)
        case description:
            flags = description.token_flags if isinstance(description, ByteLevelBpe) else {}
            return tuple(
                AddedToken(id=id, content=text, **asdict(flags.get(text, TokenFlags())))
                for text, id in sorted(source.special_tokens.items(), key=lambda item: item[1])
            )


def listed_tokens(document: bytes) -> tuple[AddedToken, ...]:
    """Return the added tokens of a `tokenizer.json`, with the ids and flags that its library assigns."""
    import tokenizers

    opened = tokenizers.Tokenizer.from_buffer(document).get_added_tokens_decoder()
    return tuple(
        AddedToken(id=id, content=token.content, **{flag: getattr(token, flag) for flag in ADDED_TOKEN_FLAGS})
        for id, token in sorted(opened.items())
    )


def _ids_by_text(source: Source) -> Callable[[str], int | None]:
    """Return a function that returns the id of a token by its text, as the vocabulary's file spells it, or None."""
    spelled: dict[str, int] = {}
    if isinstance(source.description, SentencePieceModel):
        from tokbench.formats.sentencepiece.model import parse_model

        pieces = parse_model(source.description.proto).pieces
        spelled = {piece.text: id for id, piece in enumerate(pieces)}
    return lambda text: spelled[text] if text in spelled else token_id(source.tokenizer, text)


def known_roles(source: Source) -> dict[str, str]:
    """Return role → special token, as a SentencePiece model or a `tokenizer.json` with its template and padding says.

    The role unk is omitted unless BERT's names imply it: a library would match the text of an added unknown token.

    >>> from types import SimpleNamespace as Made
    >>> added = b'{"id": 1, "content": "[SEP]", "special": true}'
    >>> document = b'{"model": {"type": "WordPiece"}, "added_tokens": [%s]}' % added
    >>> known_roles(Made(description=HuggingFaceModel(document)))
    {'sep': '[SEP]'}
    """
    match source.description:
        case SentencePieceModel(proto=proto):
            return _without_unk(_roles_of_sentencepiece(proto))
        case HuggingFaceModel(document=document):
            return _roles_of_document(document)
        case _:
            file_roles = getattr(source.tokenizer, "file_roles", {})
            return _without_unk({role: text for role, text in file_roles.items() if role != "turn_end"})


def _without_unk(roles: Mapping[str, str]) -> dict[str, str]:
    return {role: text for role, text in roles.items() if role != "unk"}


def _roles_of_sentencepiece(proto: bytes) -> Mapping[str, str]:
    from tokbench.formats.sentencepiece.model import parse_model, roles_of_model

    return roles_of_model(parse_model(proto))


def _roles_of_document(data: bytes) -> dict[str, str]:
    from tokbench.libraries.huggingface.tokenizer_json import own_roles, parse_tokenizer_json, roles_of_names

    document = parse_tokenizer_json(data, source="the tokenizer")
    return {**_without_unk(own_roles(document)), **roles_of_names(document)}
