"""Roles of special tokens for a model, as `bos` or `turn_end`, for any tokenizer.

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
"""Begin and end of a text, padding, unknown, masked, classification, separator, end of a turn."""

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
"""The names that model makers give the token that ends a turn; if a vocabulary has several, the first one counts."""

_NONE: Mapping[str, str] = MappingProxyType({})


@runtime_checkable
class SupportsRoles(Protocol):
    """A tokenizer that knows the roles of its special tokens; `roles_of` works for any tokenizer."""

    @property
    def roles(self) -> Mapping[str, str]:
        """A mapping from role to the text of its token, for the known roles, in the order of `ROLES`."""

    @property
    def role_ids(self) -> Mapping[str, int]:
        """A mapping from role to the id of its token."""


def roles_of(tokenizer: object) -> Mapping[str, str]:
    """Return the roles of a tokenizer's special tokens, role → text; empty if it knows none.

    Every text is that of a token of the vocabulary; one token may have several roles. The first source that defines
    a role counts: the user's arguments, the files beside the vocabulary, the manifest of a saved folder, the
    vocabulary's own file (SentencePiece, GGUF, WordPiece's names), and for turn_end a name of `TURN_ENDS`.
    """
    return tokenizer.roles if isinstance(tokenizer, SupportsRoles) else _NONE


def role_ids_of(tokenizer: object) -> Mapping[str, int]:
    """Return the ids of the tokens with roles, role → id; empty if the tokenizer knows none."""
    return tokenizer.role_ids if isinstance(tokenizer, SupportsRoles) else {}


def check_role(role: object) -> None:
    """Reject a value that is not a role. Raises `ConfigError`.

    >>> check_role("eos")
    """
    if role not in ROLES:
        name = role if isinstance(role, str) else repr(role)
        raise ConfigError(
            f"there is no role {role!r:.40}", hint=meant(name, ROLES, otherwise="the roles are {}")
        )


def check_given_roles(roles: object) -> None:
    """Reject a user's `roles` that are not a mapping from roles to texts. Raises `ConfigError`.

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
    """Return the special token that ends a turn, by its name; None if no token is in `TURN_ENDS`.

    >>> known_turn_end(["<|im_start|>", "<|im_end|>"])
    '<|im_end|>'
    """
    known = set(special_tokens)
    return next((text for text in TURN_ENDS if text in known), None)
