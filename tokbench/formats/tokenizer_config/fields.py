"""A tokenizer's configuration for a model, as in `tokenizer_config.json`: roles, added tokens, chat templates.

These files come with a vocabulary and are read by `transformers` and by model servers. A file is untrusted until it is
checked: invalid values are left out, and reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.core.interfaces import Tokenizer

ROLES = ("bos", "eos", "unk", "pad", "sep", "cls", "mask")
"""The roles of special tokens under transformers' names."""

GENERATION_IDS = ("bos", "eos", "pad", "decoder_start")
"""The purposes of the ids in a `generation_config.json`."""

DEFAULT_TEMPLATE = "default"
"""The name of the chat template that is used by default."""

MAX_ID = 1 << 24

_ENDLESS = 10**20
"""The smallest model_max_length that means no limit."""
ADDED_TOKEN_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedToken:
    """A token that is matched in texts before they are processed further.

    Attributes:
        id: its id.
        content: its text.
        special: whether decoding may skip it.
        single_word: whether it matches only where no letter touches it.
        lstrip: whether it absorbs the white space before it.
        rstrip: whether it absorbs the white space after it.
        normalized: whether it is matched in the normalized text.
    """

    id: int
    content: str
    special: bool = True
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False

    def flags(self) -> dict[str, bool]:
        """Return its flags under their names in the files."""
        return {name: getattr(self, name) for name in ADDED_TOKEN_FLAGS}

    def listed(self) -> dict[str, Any]:
        """Return the token as a `tokenizer.json` lists it."""
        return {"id": self.id, "content": self.content, **self.flags()}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerConfig:
    """A tokenizer's configuration for a model; None or empty for values that are not given.

    Attributes:
        roles: role of `ROLES` → text of the token.
        named_tokens: tokens under names of the model's own, such as "image_token" → text.
        additional_special_tokens: the special tokens without a role.
        added_tokens: the added tokens by ascending id.
        token_flags: text → its flags, if they are written where a role or another field names the token.
        add_bos_token: whether a text begins with the token of the role bos.
        add_eos_token: whether a text ends with the token of the role eos.
        chat_templates: name → Jinja template; `DEFAULT_TEMPLATE` is used by default.
        generation_ids: "bos", "eos", "pad", "decoder_start" → the ids for generation; those of "eos" end a turn.
        model_max_length: the most tokens that the model accepts.
        tokenizer_class: the class in transformers.
        clean_up_tokenization_spaces: whether decoding drops spaces before punctuation.
        split_special_tokens: whether the texts of special tokens are ordinary text.
        padding_side: "left" or "right".
        truncation_side: "left" or "right".
        unread_files: those of the problems that are files which cannot be read, with their paths.
        lost_templates: those of the problems because of which a chat template is missing.
        problems: invalid or contradictory values in the source, one sentence each.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    named_tokens: Mapping[str, str] = field(default_factory=dict)
    additional_special_tokens: tuple[str, ...] | None = None
    added_tokens: tuple[AddedToken, ...] = ()
    token_flags: Mapping[str, Mapping[str, bool]] = field(default_factory=dict, compare=False)
    add_bos_token: bool | None = None
    add_eos_token: bool | None = None
    chat_templates: Mapping[str, str] = field(default_factory=dict)
    generation_ids: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    model_max_length: int | None = None
    tokenizer_class: str | None = None
    clean_up_tokenization_spaces: bool | None = None
    split_special_tokens: bool | None = None
    padding_side: str | None = None
    truncation_side: str | None = None
    unread_files: tuple[str, ...] = field(default=(), compare=False)
    lost_templates: tuple[str, ...] = field(default=(), compare=False)
    problems: tuple[str, ...] = field(default=(), compare=False)

    @property
    def special_texts(self) -> tuple[str, ...]:
        """The texts of all special tokens, without duplicates.

        >>> TokenizerConfig(roles={"eos": "</s>"}, additional_special_tokens=("<|a|>", "</s>")).special_texts
        ('</s>', '<|a|>')
        """
        listed = self.additional_special_tokens or ()
        marked = (token.content for token in self.added_tokens if token.special)
        return tuple(dict.fromkeys([*self.roles.values(), *self.named_tokens.values(), *listed, *marked]))

    def __bool__(self) -> bool:
        return self != TokenizerConfig()


def config_of(tokenizer: object) -> TokenizerConfig:
    """Return a tokenizer's configuration for a model; empty if it has none.

    >>> bool(config_of(object()))
    False
    """
    config = getattr(tokenizer, "tokenizer_config", None)
    return config if isinstance(config, TokenizerConfig) else TokenizerConfig()


def token_id(tokenizer: Tokenizer, text: str) -> int | None:
    """Return the id of a special token, or of another token with this spelling; None if there is none."""
    id = tokenizer.info.special_tokens.get(text)
    return tokenizer.token_id(text.encode()) if id is None else id


# --- reading ----------------------------------------------------------------------------------


def parse_tokenizer_config(document: Mapping[str, Any], *, name: str) -> TokenizerConfig:
    """Parse a `tokenizer_config.json`; invalid values are left out and reported.

    Args:
        document: the JSON.
        name: the name of the file, for `problems`.

    >>> parse_tokenizer_config({"eos_token": {"content": "</s>"}, "bos_token": 7}, name="x.json").problems
    ('x.json: bos_token is no token and left out',)
    """
    fields = _Fields(document, name)
    named = {key: value for key, value in document.items() if _is_named(key, value)}
    extra = document.get("extra_special_tokens")
    if isinstance(extra, dict):
        named = {**named, **extra}
    additional = document.get("additional_special_tokens") if not extra or isinstance(extra, dict) else extra
    return TokenizerConfig(
        roles=dict(fields.tokens({role: document.get(f"{role}_token") for role in ROLES}, suffix="_token")),
        named_tokens=dict(fields.tokens(named)),
        additional_special_tokens=fields.token_list(additional),
        added_tokens=fields.added_tokens(),
        token_flags=_written_flags([*document.values(), *_items(additional), *named.values()]),
        add_bos_token=fields.flag("add_bos_token"),
        add_eos_token=fields.flag("add_eos_token"),
        chat_templates=fields.chat_templates(),
        model_max_length=fields.length("model_max_length"),
        tokenizer_class=fields.text("tokenizer_class"),
        clean_up_tokenization_spaces=fields.flag("clean_up_tokenization_spaces"),
        split_special_tokens=fields.flag("split_special_tokens"),
        padding_side=fields.side("padding_side"),
        truncation_side=fields.side("truncation_side"),
        lost_templates=tuple(fields.lost_templates),
        problems=tuple(fields.problems),
    )


def parse_generation_config(document: Mapping[str, Any], *, name: str) -> TokenizerConfig:
    """Parse the ids in a `generation_config.json`.

    >>> parse_generation_config({"eos_token_id": [1, 2]}, name="generation_config.json").generation_ids
    {'eos': (1, 2)}
    """
    ids: dict[str, tuple[int, ...]] = {}
    problems = []
    for role in GENERATION_IDS:
        value = document.get(f"{role}_token_id")
        listed: list[Any] = value if isinstance(value, list) else [value]
        if value is None or listed == []:
            continue
        if all(is_id(id) for id in listed):
            ids[role] = tuple(dict.fromkeys(listed))
        else:
            problems.append(f"{name}: {role}_token_id is not an id, and is left out")
    return TokenizerConfig(generation_ids=ids, problems=tuple(problems))


def is_id(value: object) -> bool:
    """Whether a JSON value is a valid id.

    >>> is_id(5), is_id(True), is_id(-1), is_id(2**40)
    (True, False, False, False)
    """
    return type(value) is int and 0 <= value < MAX_ID


def is_text(value: object) -> TypeGuard[str]:
    r"""Whether a JSON value is a string with a UTF-8 form.

    >>> is_text("a"), is_text("\ud800"), is_text(None)
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def token_text(value: object) -> str | None:
    """Return the text of a token, written as a string or as an object with flags; None for other values.

    >>> token_text("<s>"), token_text({"content": "<s>", "lstrip": False}), token_text({"content": ""})
    ('<s>', '<s>', None)
    """
    text = value.get("content") if isinstance(value, dict) else value
    return text if is_text(text) and text else None


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _written_flags(values: Iterable[object]) -> dict[str, dict[str, bool]]:
    """Return text → flags of the tokens that are written as objects."""
    flags: dict[str, dict[str, bool]] = {}
    for value in values:
        if isinstance(value, dict) and (text := token_text(value)) is not None:
            named = ((name, value.get(name)) for name in ADDED_TOKEN_FLAGS if name != "special")
            flags[text] = {name: flag for name, flag in named if isinstance(flag, bool)}
    return flags


def _is_named(key: str, value: object) -> bool:
    """Whether a key names a token of the model's own, such as image_token."""
    return (
        key.endswith("_token")
        and key.removesuffix("_token") not in ROLES
        and (isinstance(value, str) or (isinstance(value, dict) and "content" in value))
    )


class _Fields:
    """The fields of a document, read by type; invalid values are noted in `problems`."""

    def __init__(self, document: Mapping[str, Any], name: str) -> None:
        self._document = document
        self._name = name
        self.problems: list[str] = []
        self.lost_templates: list[str] = []

    def flag(self, key: str) -> bool | None:
        value: bool | None = self._checked(
            key, "neither true nor false", lambda value: isinstance(value, bool)
        )
        return value

    def text(self, key: str) -> str | None:
        value: str | None = self._checked(key, "no text", is_text)
        return value

    def side(self, key: str) -> str | None:
        value: str | None = self._checked(key, "neither left nor right", _SIDES.__contains__)
        return value

    def length(self, key: str) -> int | None:
        value = self._document.get(key)
        if isinstance(value, float) and value >= _ENDLESS:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is None or (type(value) is int and value >= _ENDLESS):
            return None
        if type(value) is not int or value < 1:
            self._add_problem(key, "no length")
            return None
        return value

    def tokens(self, values: Mapping[str, Any], *, suffix: str = "") -> Iterator[tuple[str, str]]:
        for key, value in values.items():
            if value is None:
                continue
            text = token_text(value)
            if text is None or not is_text(key):
                self._add_problem(f"{key}{suffix}", "no token")
            else:
                yield key, text

    def token_list(self, value: object) -> tuple[str, ...] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            self._add_problem("additional_special_tokens", "no list of tokens")
            return None
        texts = [token_text(token) for token in value]
        if None in texts:
            self._add_problem("an element of additional_special_tokens", "no token")
        return tuple(dict.fromkeys(text for text in texts if text is not None))

    def added_tokens(self) -> tuple[AddedToken, ...]:
        listed = self._document.get("added_tokens_decoder")
        if listed is None:
            return ()
        if not isinstance(listed, dict):
            self._add_problem("added_tokens_decoder", "no object of ids and tokens")
            return ()
        tokens: dict[str, AddedToken] = {}
        for key, value in listed.items():
            token = _added_token(key, value)
            if token is None or token.content in tokens:
                self._add_problem(f"added_tokens_decoder[{key[:20]!a}]", "no token of its own")
            else:
                tokens[token.content] = token
        return tuple(sorted(tokens.values(), key=lambda token: token.id))

    def chat_templates(self) -> dict[str, str]:
        value = self._document.get("chat_template")
        if isinstance(value, str):
            value = {DEFAULT_TEMPLATE: value}
        elif isinstance(value, list) and all(
            isinstance(template, dict) and is_text(template.get("name")) for template in value
        ):
            value = {template["name"]: template.get("template") for template in value}
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(map(is_text, [*value, *value.values()])):
            self._add_problem("chat_template", "no template")
            self.lost_templates.append(self.problems[-1])
            return {}
        return value

    def _checked(self, key: str, wrong: str, is_right: Any) -> Any:
        value = self._document.get(key)
        if value is None:
            return None
        if isinstance(value, (list, dict)) or not is_right(value):
            self._add_problem(key, wrong)
            return None
        return value

    def _add_problem(self, what: str, wrong: str) -> None:
        self.problems.append(f"{self._name}: {what} is {wrong} and left out")


def _added_token(key: str, value: object) -> AddedToken | None:
    """Return a token of `added_tokens_decoder`; missing flags have the defaults of transformers."""
    if not (
        key.isdecimal() and key.isascii() and len(key) < 9 and is_id(int(key)) and isinstance(value, dict)
    ):
        return None
    text = token_text(value)
    flags = {name: value[name] for name in ADDED_TOKEN_FLAGS if name in value}
    if text is None or str(int(key)) != key or not all(isinstance(flag, bool) for flag in flags.values()):
        return None
    special = flags.setdefault("special", False)
    return AddedToken(id=int(key), content=text, **{"normalized": not special, **flags})
