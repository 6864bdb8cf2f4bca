"""Roles and a chat template for a tokenizer that was trained here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.core.near_names import meant
from tokbench.errors import ConfigError
from tokbench.formats.tokenizer_config.fields import DEFAULT_TEMPLATE, ROLES, config_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokbench.core.interfaces import Tokenizer


def check_roles(roles: Mapping[str, str], config: object) -> None:
    """Refuse an unknown role, or one of a text that training does not make a special token.

    Args:
        roles: role → text.
        config: of the training; where it does not say its special tokens, `with_roles` finds out afterwards.

    Raises:
        ConfigError: as said.

    >>> from tokbench.backends.bpe.config import BpeConfig
    >>> check_roles({"eos": "</s>"}, BpeConfig(special_tokens=("</s>",)))
    """
    special = getattr(config, "all_special_tokens", getattr(config, "special_tokens", None))
    for role, text in roles.items():
        if role not in ROLES:
            raise ConfigError(
                f"there is no role {role!r}", hint=meant(role, ROLES, otherwise="the roles are {}")
            )
        if special is not None and text not in special:
            raise _not_special(role, text, special, of="this training")


def with_roles(tokenizer: Tokenizer, *, roles: Mapping[str, str], chat_template: str | None) -> Tokenizer:
    """A tokenizer with roles for its special tokens, which saves them.

    Raises:
        ConfigError: a text that is no special token; or a backend that keeps none of this.
    """
    if not roles and chat_template is None:
        return tokenizer
    special = tokenizer.info.special_tokens
    for role, text in roles.items():
        if text not in special:
            raise _not_special(role, text, special, of=repr(tokenizer.info.name))
    config = config_of(tokenizer)
    templates = {} if chat_template is None else {DEFAULT_TEMPLATE: chat_template}
    made = replace(
        config,
        roles={**config.roles, **roles},
        chat_templates={**config.chat_templates, **templates},
    )
    try:
        tokenizer.tokenizer_config = made  # type: ignore[attr-defined]
    except AttributeError:
        raise ConfigError(
            f"the backend {tokenizer.info.backend!r} keeps neither roles nor chat templates"
        ) from None
    return tokenizer


def _not_special(role: str, text: str, special: Iterable[str], *, of: str) -> ConfigError:
    return ConfigError(
        f"{text!r}, given as {role}, is not a special token of {of}",
        hint=f"it has {', '.join(map(repr, special)) or 'none'}; --special-token adds one",
    )
