"""Roles: what a special token is to a model, asked of any tokenizer.

>>> from tokbench.backends.baseline import ByteBackend
>>> tokenizer = ByteBackend().train([], ByteBackend.config_type(special_tokens=("</s>", "<|im_end|>")))
>>> dict(roles_of(tokenizer)), role_ids_of(tokenizer)["turn_end"]
({'turn_end': '<|im_end|>'}, 257)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tokbench.core.wording import meant
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

ROLES = ("bos", "eos", "pad", "unk", "mask", "cls", "sep", "turn_end")
"""Begin and end of a text, filling, unknown, masked, what classifies, what separates, the end of a turn."""

TURN_ENDS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|eot|>",
    "<end_of_turn>",
    "<turn|>",
    "<|assistant_end|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|end_of_turn|>",
    "<|turn_end|>",
    "<|return|>",
    "<|end|>",
)
"""What makers of models call the token that ends a turn; of two in one vocabulary the first counts."""

_NONE: Mapping[str, str] = MappingProxyType({})


@runtime_checkable
class SupportsRoles(Protocol):
    """A tokenizer that knows what its special tokens are to a model; ask any tokenizer by `roles_of`."""

    @property
    def roles(self) -> Mapping[str, str]:
        """One of `ROLES` → text of its token, for the roles that it has, in the order of `ROLES`."""

    @property
    def role_ids(self) -> Mapping[str, int]:
        """The same with ids."""


def roles_of(tokenizer: object) -> Mapping[str, str]:
    """The roles of a tokenizer's special tokens: one of `ROLES` → text; empty where it knows none.

    Every text is that of a token of the vocabulary; one token may have several roles. What a role comes from, the
    first that says it: what the user gave, the files beside the vocabulary, the manifest of a saved folder, the
    vocabulary's own file (SentencePiece, GGUF, WordPiece's names), for turn_end a name of `TURN_ENDS`.
    """
    return tokenizer.roles if isinstance(tokenizer, SupportsRoles) else _NONE


def role_ids_of(tokenizer: object) -> Mapping[str, int]:
    """The ids of the tokens with a role: one of `ROLES` → id; empty where a tokenizer knows none."""
    return tokenizer.role_ids if isinstance(tokenizer, SupportsRoles) else {}


def check_role(role: object) -> None:
    """Refuse what is not a role. Raises `ConfigError`.

    >>> check_role("eos")
    """
    if role not in ROLES:
        name = role if isinstance(role, str) else repr(role)
        raise ConfigError(
            f"there is no role {role!r:.40}", hint=meant(name, ROLES, otherwise="the roles are {}")
        )


def check_given_roles(roles: object) -> None:
    """Refuse what a user gives as roles and is not a mapping of roles to texts. Raises `ConfigError`.

    >>> check_given_roles({"eos": "</s>"})
    """
    if not isinstance(roles, Mapping):
        raise ConfigError(
            f"roles must be a mapping from their names, not {type(roles).__name__}",
            hint='write them as {"eos": "</s>"}',
        )
    for role, text in roles.items():
        check_role(role)
        if not isinstance(text, str):
            raise ConfigError(f"the role {role} is given the token {text!r:.40}, which is not a string")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ConfigError(f"the token {text!a:.40}, given as {role}, has no UTF-8 form") from None


def known_turn_end(special_tokens: Iterable[str]) -> str | None:
    """The special token that ends a turn by its name; None where there is none of `TURN_ENDS`.

    >>> known_turn_end(["<|im_start|>", "<|im_end|>"])
    '<|im_end|>'
    """
    having = set(special_tokens)
    return next((text for text in TURN_ENDS if text in having), None)
