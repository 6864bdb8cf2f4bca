"""The special tokens that a chat template refers to by name, such as `bos_token`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.core.roles import roles_of
from tokbench.formats.tokenizer_config.fields import config_of

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer


def template_tokens(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return `bos_token`, `eos_token` and the other names that Jinja templates get in `transformers`."""
    config = config_of(tokenizer)
    roles = {role: text for role, text in roles_of(tokenizer).items() if role != "turn_end"}
    tokens: dict[str, Any] = {f"{role}_token": text for role, text in {**roles, **config.roles}.items()}
    tokens |= config.named_tokens
    if config.additional_special_tokens:
        tokens["additional_special_tokens"] = list(config.additional_special_tokens)
    return tokens
