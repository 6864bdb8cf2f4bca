"""The roles of a tokenizer's special tokens: from its configuration, its files, or the user."""

from __future__ import annotations

import shlex
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from tokbench.core.roles import ROLES, check_given_roles, known_turn_end
from tokbench.core.wording import near_names
from tokbench.errors import ConfigError
from tokbench.formats.tokenizer_config.fields import DEFAULT_TEMPLATE, TokenizerConfig, token_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tokbench.core.interfaces import Tokenizer

TURN_END_NAME = "eot_token"
"""The name of the token that ends a turn among a configuration's named tokens: transformers has no role for it."""

_NONE: Mapping[str, str] = MappingProxyType({})


class TellsRoles:
    """A tokenizer that knows the roles of its tokens; see `tokbench.core.roles.SupportsRoles`.

    Attributes:
        tokenizer_config: its configuration for a model, as far as it is known.
        file_roles: role → text, from the manifest of its folder, or the file that it was opened from.
    """

    tokenizer_config: TokenizerConfig = TokenizerConfig()
    file_roles: Mapping[str, str] = _NONE

    @property
    def roles(self: Tokenizer) -> Mapping[str, str]:
        """A mapping from role to the text of its token, for the known roles of `tokbench.core.roles.ROLES`."""
        return {role: text for role, (text, _) in _tokens_with_roles(self).items()}

    @property
    def role_ids(self: Tokenizer) -> Mapping[str, int]:
        """A mapping from role to the id of its token."""
        return {role: id for role, (_, id) in _tokens_with_roles(self).items()}

    def own_roles(self) -> Mapping[str, str]:
        """Return role → text, as defined by the vocabulary's own file; texts that are not tokens are ignored."""
        return _NONE

    def spelled_id(self: Tokenizer, text: str) -> int | None:
        """Return the id of a token by its text as in files; None if there is none."""
        return token_id(self, text)


def roles_said(config: TokenizerConfig) -> dict[str, str]:
    """Return the roles that a configuration defines, including turn_end.

    >>> roles_said(TokenizerConfig(roles={"eos": "</s>"}, named_tokens={"eot_token": "<|im_end|>"}))
    {'eos': '</s>', 'turn_end': '<|im_end|>'}
    """
    end = config.named_tokens.get(TURN_END_NAME)
    return {**config.roles, **({} if end is None else {"turn_end": end})}


def _tokens_with_roles(tokenizer: Tokenizer) -> dict[str, tuple[str, int]]:
    assert isinstance(tokenizer, TellsRoles)
    by_name = known_turn_end(tokenizer.info.special_tokens)
    said = {
        **({} if by_name is None else {"turn_end": by_name}),
        **tokenizer.own_roles(),
        **tokenizer.file_roles,
        **roles_said(tokenizer.tokenizer_config),
    }
    ids = {role: tokenizer.spelled_id(said[role]) for role in ROLES if role in said}
    return {role: (said[role], id) for role, id in ids.items() if id is not None}


def check_roles(roles: Mapping[str, str], config: object) -> None:
    """Reject an unknown role, or a role of a text that training does not make a special token.

    Args:
        roles: role → text.
        config: the training configuration; if it does not list special tokens, `with_roles` checks after training.

    Raises:
        ConfigError: a role or text is rejected.

    >>> from tokbench.backends.bpe.config import BpeConfig
    >>> check_roles({"eos": "</s>"}, BpeConfig(special_tokens=("</s>",)))
    """
    special = getattr(config, "all_special_tokens", getattr(config, "special_tokens", None))
    check_given_roles(roles)
    for role, text in roles.items():
        if special is not None and text not in special:
            adding = f"--special-token {shlex.quote(text)} adds it"
            raise _no_token(role, text, special, of="this training", adding=adding)


def with_roles(
    tokenizer: Tokenizer, *, roles: Mapping[str, str], chat_template: str | None = None
) -> Tokenizer:
    """Assign roles to a tokenizer's tokens as the user says, so that they are saved with it; return the tokenizer.

    The token of turn_end joins that of eos in the ids at which a model stops.

    Args:
        tokenizer: is modified.
        roles: role → text.
        chat_template: a Jinja template, or None.

    Raises:
        ConfigError: an unknown role; a text that is not a token; or a backend that does not support this.
    """
    if not roles and chat_template is None:
        return tokenizer
    check_given_roles(roles)
    if not isinstance(tokenizer, TellsRoles):
        raise ConfigError(f"the backend {tokenizer.info.backend!r} keeps neither roles nor chat templates")
    for role, text in roles.items():
        if tokenizer.spelled_id(text) is None:
            adding = "--special-token adds one to a bare vocabulary, `tokbench extend` to others"
            special = tokenizer.info.special_tokens
            raise _no_token(role, text, special, of=repr(tokenizer.info.name), adding=adding)
    eos = roles.get("eos", tokenizer.roles.get("eos"))
    tokenizer.tokenizer_config = with_given(
        tokenizer.tokenizer_config,
        roles=roles,
        chat_template=chat_template,
        id_of=tokenizer.spelled_id,
        eos=eos,
    )
    return tokenizer


def with_given(
    config: TokenizerConfig,
    *,
    roles: Mapping[str, str],
    chat_template: str | None,
    id_of: Callable[[str], int | None],
    eos: str | None,
) -> TokenizerConfig:
    """Return a configuration with the roles and the chat template that a user gives.

    The token of turn_end is added to the ids at which a model stops, beside that of eos.

    Args:
        config: the known configuration.
        roles: role → text.
        chat_template: a Jinja template, or None.
        id_of: returns the id of a token by its text.
        eos: the text of the role eos, if any.
    """
    templates = {} if chat_template is None else {DEFAULT_TEMPLATE: chat_template}
    config = replace(
        config,
        roles={**config.roles, **{role: text for role, text in roles.items() if role != "turn_end"}},
        chat_templates={**config.chat_templates, **templates},
    )
    if "turn_end" not in roles:
        return config
    end = roles["turn_end"]
    stopping = [
        *config.generation_ids.get("eos", ()),
        *(id_of(text) for text in (eos, end) if text is not None),
    ]
    return replace(
        config,
        named_tokens={**config.named_tokens, TURN_END_NAME: end},
        generation_ids={
            **config.generation_ids,
            "eos": tuple(dict.fromkeys(id for id in stopping if id is not None)),
        },
    )


def _no_token(role: str, text: str, special: Iterable[str], *, of: str, adding: str) -> ConfigError:
    near = near_names(text, special)
    shown = list(special)[:12]
    shown_texts = ", ".join(map(repr, shown)) or "none"
    return ConfigError(
        f"{text!r}, given as {role}, is not a special token of {of}",
        hint=f"did you mean {near[0]!r}?" if near else f"it has {shown_texts}; {adding}",
    )
