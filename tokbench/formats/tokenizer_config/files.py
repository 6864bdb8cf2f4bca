"""Writing of a tokenizer's configuration for a model: `tokenizer_config.json`, and the files beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokbench.formats.tokenizer_config.fields import (
    DEFAULT_TEMPLATE,
    GENERATION_IDS,
    ROLES,
    AddedToken,
    TokenizerConfig,
    parse_generation_config,
    parse_tokenizer_config,
)
from tokbench.formats.tokenizer_json import dump_json

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG_NAME = "tokenizer_config.json"

_SIDES = ("padding_side", "truncation_side")
_PLAIN_FIELDS = ("add_bos_token", "add_eos_token", "model_max_length", "split_special_tokens", *_SIDES)


def with_special_tokens(config: TokenizerConfig, special_tokens: Mapping[str, int]) -> TokenizerConfig:
    """Return a configuration completed with special tokens that it does not list.

    >>> made = with_special_tokens(TokenizerConfig(roles={"eos": "</s>"}), {"</s>": 2, "<pad>": 3})
    >>> [token.id for token in made.added_tokens], made.additional_special_tokens
    ([2, 3], ('<pad>',))
    """
    listed = {token.content for token in config.added_tokens}
    missing = [AddedToken(id=id, content=text) for text, id in special_tokens.items() if text not in listed]
    added = tuple(sorted([*config.added_tokens, *missing], key=lambda token: token.id))
    additional = config.additional_special_tokens
    if additional is None:
        named = {*config.roles.values(), *config.named_tokens.values()}
        additional = tuple(
            token.content for token in added if token.content in special_tokens and token.content not in named
        )
    return replace(config, added_tokens=added, additional_special_tokens=additional)


def prefixes_space(document: Mapping[str, Any]) -> bool:
    """Whether a `tokenizer.json` puts a space in front of a text only if its configuration says so, too.

    transformers 4 sets this option of a ByteLevel pre-tokenizer that stands alone to the configuration's, by default
    false.

    >>> prefixes_space({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}})
    True
    """
    step = document.get("pre_tokenizer")
    return isinstance(step, dict) and step.get("type") == "ByteLevel" and step.get("add_prefix_space") is True


def dump_tokenizer_config(
    config: TokenizerConfig, *, token_types: bool = False, add_prefix_space: bool = False
) -> bytes:
    """Return the `tokenizer_config.json` with which `transformers` opens the `tokenizer.json` beside it.

    It makes `AutoTokenizer` choose the class that uses the file unchanged, and keeps `transformers` from cleaning up
    spaces on decoding and, unless requested, from feeding type ids to a model. A chat template that has a file of its
    own (`template_file`) is not repeated here.

    Args:
        config: the configuration to write.
        token_types: whether the model expects type ids, which tell two texts apart.
        add_prefix_space: whether the `tokenizer.json` needs this option, as `prefixes_space` determines.
    """
    document = _document(config)
    if add_prefix_space:
        document["add_prefix_space"] = True
    if token_types:
        document["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    return dump_json(document)


def config_files(
    config: TokenizerConfig, *, token_types: bool = False, add_prefix_space: bool = False
) -> dict[str, bytes]:
    """Return the configuration files for a `tokenizer.json`, by name; the options are those of `dump_tokenizer_config`.

    >>> made = TokenizerConfig(chat_templates={"default": "{{ messages }}"}, generation_ids={"eos": (2,)})
    >>> list(config_files(made))
    ['tokenizer_config.json', 'chat_template.jinja', 'generation_config.json']
    """
    written = dump_tokenizer_config(config, token_types=token_types, add_prefix_space=add_prefix_space)
    files = {CONFIG_NAME: written}
    if (template := template_file(config)) is not None:
        files["chat_template.jinja"] = template
    if config.generation_ids:
        files["generation_config.json"] = dump_json(_generation_document(config))
    return files


def without_class(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the `tokenizer_config.json` of such files without a class, for a folder that has no `tokenizer.json`.

    The class would make `transformers` look for that file, whichever model is beside it.

    >>> without_class(config_files(TokenizerConfig()))["tokenizer_config.json"].count(b"tokenizer_class")
    0
    """
    import orjson

    document = orjson.loads(files[CONFIG_NAME])
    del document["tokenizer_class"]
    return {CONFIG_NAME: dump_json(document)}


def _generation_document(config: TokenizerConfig) -> dict[str, Any]:
    """Return the ids for generation as a `generation_config.json`.

    >>> _generation_document(TokenizerConfig(generation_ids={"eos": (2,)}))
    {'eos_token_id': 2}
    """
    ids = config.generation_ids
    return {
        f"{role}_token_id": list(ids[role]) if len(ids[role]) > 1 else ids[role][0]
        for role in GENERATION_IDS
        if ids.get(role)
    }


def template_file(config: TokenizerConfig) -> bytes | None:
    r"""Return the `chat_template.jinja` of a configuration with one template; None if its text would not survive.

    `transformers` reads the file as text, and so turns a carriage return into a line end; and it supports several
    named templates in such files only since version 4.52.

    >>> template_file(TokenizerConfig(chat_templates={"default": "{{ messages }}"}))
    b'{{ messages }}'
    >>> template_file(TokenizerConfig(chat_templates={"default": "a\r\n"})) is None
    True
    """
    text = config.chat_templates.get(DEFAULT_TEMPLATE)
    if text is None or len(config.chat_templates) > 1 or "\r" in text:
        return None
    return text.encode()


def dump_config(config: TokenizerConfig) -> bytes:
    """Return the whole configuration as JSON for `load_config`."""
    import orjson

    document = _document(config) | {
        "tokenizer_class": config.tokenizer_class,
        "clean_up_tokenization_spaces": config.clean_up_tokenization_spaces,
        "chat_template": [{"name": name, "template": text} for name, text in config.chat_templates.items()],
    }
    if config.additional_special_tokens is None:
        del document["additional_special_tokens"]
    return orjson.dumps({"tokenizer_config": document, "generation_config": _generation_document(config)})


def load_config(data: bytes, *, name: str) -> TokenizerConfig:
    """Load the output of `dump_config`.

    Args:
        data: the JSON.
        name: the name in `problems`.

    Raises:
        ValueError: the data is invalid.

    >>> load_config(dump_config(TokenizerConfig(roles={"eos": "</s>"})), name="mine").roles
    {'eos': '</s>'}
    """
    import orjson

    document = orjson.loads(data)
    named = document if isinstance(document, dict) else {}
    parts = [named.get(part) for part in ("tokenizer_config", "generation_config")]
    if not all(isinstance(part, dict) for part in parts):
        raise ValueError("no object with a tokenizer_config and a generation_config")
    config = parse_tokenizer_config(named["tokenizer_config"], name=name)
    generation = parse_generation_config(named["generation_config"], name=name)
    return replace(
        config,
        generation_ids=generation.generation_ids,
        problems=(*config.problems, *generation.problems),
    )


def _document(config: TokenizerConfig) -> dict[str, Any]:
    # A token written only by its text is a token without flags to transformers, even if flags are listed elsewhere.
    flagged = {
        token.content: {"__type": "AddedToken", "content": token.content, **token.flags()}
        for token in config.added_tokens
        if token != AddedToken(id=token.id, content=token.content)
    }
    # transformers 5 calls this list extra_special_tokens and reads both names, 4 only this name.
    document: dict[str, Any] = {
        "added_tokens_decoder": {
            str(token.id): {
                "content": token.content,
                **{name: flag for name, flag in token.flags().items() if name != "special"},
                "special": token.special,
            }
            for token in config.added_tokens
        },
        "additional_special_tokens": [
            flagged.get(text, text) for text in config.additional_special_tokens or ()
        ],
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    document |= {f"{role}_token": config.roles[role] for role in ROLES if role in config.roles}
    if config.named_tokens:
        document["extra_special_tokens"] = {
            name: flagged.get(text, text) for name, text in config.named_tokens.items()
        }
    for name in _PLAIN_FIELDS:
        if (value := getattr(config, name)) is not None:
            document[name] = value
    if config.chat_templates and template_file(config) is None:
        document["chat_template"] = _templates(config)
    return document


def _templates(config: TokenizerConfig) -> str | list[dict[str, str]]:
    if list(config.chat_templates) == [DEFAULT_TEMPLATE]:
        return config.chat_templates[DEFAULT_TEMPLATE]
    return [{"name": name, "template": text} for name, text in config.chat_templates.items()]
