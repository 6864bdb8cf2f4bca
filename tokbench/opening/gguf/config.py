"""Read the roles of tokens, chat templates and generation ids from the metadata of a GGUF file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.core.post_processing import lines_of_ends, templates_of
from tokbench.formats.tokenizer_config.fields import DEFAULT_TEMPLATE, TokenizerConfig
from tokbench.formats.tokenizer_config.roles import TURN_END_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.core.descriptions import PostProcessing

_TOKENS, _TEMPLATE = "tokenizer.ggml.", "tokenizer.chat_template"
_ROLES = {
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "unk": "unknown_token_id",
    "pad": "padding_token_id",
    "sep": "seperator_token_id",  # the format's own spelling
    "cls": "cls_token_id",
    "mask": "mask_token_id",
}
_BEGINNING = frozenset(
    b"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano tekken chameleon".split()
)
"""Pre-tokenizers with which llama.cpp puts bos in front of a text if the file does not say."""
_ALWAYS_BEGINNING = (b"gemma4", b"granite-embed-multi-311m")
"""Pre-tokenizers with which llama.cpp always puts bos in front of a text, whatever the file says."""
_ENDS = ("eos_token_id", "eot_token_id", "eom_token_id")
_MAX_TEMPLATE_BYTES = 2**20


def gguf_config(metadata: Mapping[str, Any]) -> TokenizerConfig:
    """Return roles, chat templates and the ids that end a turn; invalid values are left out and reported.

    Args:
        metadata: key → value for the keys below "tokenizer.", as returned by `formats.gguf.read_metadata`.

    >>> gguf_config({"tokenizer.ggml.tokens": [b"<s>", b"a"], "tokenizer.ggml.bos_token_id": 0}).roles
    {'bos': '<s>'}
    """
    problems: list[str] = []
    tokens = metadata.get(f"{_TOKENS}tokens")
    tokens = tokens if isinstance(tokens, list) else []
    roles: dict[str, str] = {}
    for role, key in _ROLES.items():
        if (id := _id(metadata, key, len(tokens), problems)) is not None:
            text = _text(tokens[id])
            if text:
                roles[role] = text
            else:
                problems.append(f"{key} is {id}, which is not a text token")
    end = _id(metadata, "eot_token_id", len(tokens), [])
    turn_end = None if end is None else _text(tokens[end])
    ends = [_id(metadata, key, len(tokens), []) for key in _ENDS]
    eos = tuple(dict.fromkeys(id for id in ends if id is not None))
    return TokenizerConfig(
        roles=roles,
        named_tokens={TURN_END_NAME: turn_end} if turn_end else {},
        add_bos_token=_begins(metadata),
        add_eos_token=_flag(metadata, "add_eos_token", default=True if _model(metadata) == b"t5" else None),
        chat_templates=_templates(metadata, problems),
        generation_ids={"eos": eos} if eos else {},
        problems=tuple(problems),
    )


def _id(metadata: Mapping[str, Any], key: str, size: int, problems: list[str]) -> int | None:
    value = metadata.get(f"{_TOKENS}{key}")
    if value in (None, 0xFFFFFFFF, -1):  # conventional values for "no token"
        return None
    if type(value) is not int or not 0 <= value < size:
        problems.append(f"{key} is not an id of its {size:,} tokens, and is left out")
        return None
    return value


def around_text(config: TokenizerConfig, ids: Mapping[str, int]) -> PostProcessing:
    """Return the template that puts bos and eos around a text, as far as the file asks for it.

    Args:
        config: the result of `gguf_config`.
        ids: text → id of the tokens that may stand there.
    """
    lines = lines_of_ends(begins=bool(config.add_bos_token), ends=bool(config.add_eos_token))
    return templates_of(*lines, texts=config.roles, ids=ids)


def _begins(metadata: Mapping[str, Any]) -> bool | None:
    """Whether llama.cpp puts bos in front of a text; None if neither the file nor its kind of tokenizer says so."""
    model, pre = _model(metadata), metadata.get(f"{_TOKENS}pre")
    if model == b"gemma4" or pre in _ALWAYS_BEGINNING:
        return True
    by_default = model == b"llama" or (model == b"gpt2" and pre in _BEGINNING)
    return _flag(metadata, "add_bos_token", default=True if by_default else None)


def _model(metadata: Mapping[str, Any]) -> object:
    return metadata.get(f"{_TOKENS}model")


def _flag(metadata: Mapping[str, Any], key: str, *, default: bool | None) -> bool | None:
    value = metadata.get(f"{_TOKENS}{key}")
    return value if isinstance(value, bool) else default


def _templates(metadata: Mapping[str, Any], problems: list[str]) -> dict[str, str]:
    templates: dict[str, str] = {}
    for key, value in metadata.items():
        if key != _TEMPLATE and not key.startswith(f"{_TEMPLATE}."):
            continue
        text = _text(value)
        if text is None or len(value) > _MAX_TEMPLATE_BYTES:
            problems.append(f"{key!a} is not a template, and is left out")
        else:
            templates[key.removeprefix(_TEMPLATE).removeprefix(".") or DEFAULT_TEMPLATE] = text
    return templates


def _text(value: object) -> str | None:
    try:
        return value.decode() if isinstance(value, bytes) else None
    except UnicodeDecodeError:
        return None
