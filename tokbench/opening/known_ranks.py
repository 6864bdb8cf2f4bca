"""Rank files that are known by the hash of their content: their patterns and special tokens.

The facts are those that `tiktoken` publishes with each file, hashes included, and Meta's of Llama 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokbench.core.special_presets import SPECIAL_PRESETS

if TYPE_CHECKING:
    from collections.abc import Mapping

_END = "<|endoftext|>"
_EOS = {"eos": _END}
"""As `tiktoken.Encoding.eot_token` says."""
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")


_LLAMA3 = SPECIAL_PRESETS["llama3"]


@dataclass(frozen=True, slots=True)
class KnownRanks:
    """What a rank file does not contain: its pattern and special tokens.

    Attributes:
        name: what its maker calls it.
        pattern: how text is split.
        special_tokens: text → id.
        roles: what a special token is to a model → its text.
        eos_ids: the ids that end a turn.
        note: what its user should know of.
    """

    name: str
    pattern: str
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    eos_ids: tuple[int, ...] = ()
    note: str | None = None


KNOWN_BY_SHA256 = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": KnownRanks(
        "r50k_base", "gpt2", {_END: 50256}, roles=_EOS
    ),
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": KnownRanks(
        "p50k_base", "gpt2", {_END: 50256}, roles=_EOS
    ),
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": KnownRanks(
        "cl100k_base",
        "gpt4",
        {
            _END: 100257,
            **dict(zip(_FIM, range(100258, 100261), strict=True)),
            "<|endofprompt|>": 100276,
        },
        roles=_EOS,
    ),
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": KnownRanks(
        "o200k_base", "gpt4o", {_END: 199999, "<|endofprompt|>": 200018}, roles=_EOS
    ),
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": KnownRanks(
        "llama3",
        "llama3",
        {text: id for id, text in enumerate(_LLAMA3.tokens, start=128_000)},
        roles={role: text for role, text in _LLAMA3.roles.items() if role != "turn_end"},
        eos_ids=(128001, 128008, 128009),
        note="the special tokens are those of Llama 3.1; Llama 3 has reserved ones for some of them",
    ),
}

_BY_SIZE = {
    50256: "gpt2",
    50257: "gpt2",
    50280: "gpt2",
    100256: "gpt4",
    128000: "llama3",
    151643: "qwen2",
    199998: "gpt4o",
}


def likely_pattern(num_ranks: int) -> str | None:
    """The pattern that vocabularies of this size are usually used with, to suggest it.

    >>> likely_pattern(100256)
    'gpt4'
    """
    return _BY_SIZE.get(num_ranks)
