"""Mistral's `tekken.json`: ranks and a split pattern as in tiktoken, with special tokens before them.

Unexpected behaviour of `mistral_common`:

- only the first ranks are used, as many as the vocabulary size leaves besides the special tokens;
- an id is a rank plus the number of special tokens, whether or not each of these has a text;
- files before version 8 do not list their special tokens: they have those of Mistral NeMo.
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.token_table import check_largest_id
from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ROLES = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>"}
"""The roles of special tokens, as far as the vocabulary has them."""
_UNLISTED = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]"),
    *("[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
_BYTES = 256


@dataclass(frozen=True, slots=True)
class Tekken:
    """The contents of a file.

    Attributes:
        pattern: the split pattern in the dialect of tiktoken.
        ranks: the tokens with their ids, which follow those of all special tokens.
        special_tokens: text → id.
    """

    pattern: str
    ranks: list[tuple[bytes, int]]
    special_tokens: Mapping[str, int]


def parse_tekken(document: Mapping[str, Any], *, path: Path | str) -> Tekken:
    """Parse the vocabulary of a loaded file.

    Raises:
        ModelFormatError: a field is missing or has the wrong type, a token occurs twice, or a rank differs from its
            index.
    """
    config = document.get("config")
    if not isinstance(config, dict):
        raise ModelFormatError(path, "an object as config", f"{config!a:.40}")
    pattern = config.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        raise ModelFormatError(path, "a split pattern as config.pattern", f"{pattern!a:.40}")
    num_special = _count(config, "default_num_special_tokens", path=path)
    num_tokens = _count(config, "default_vocab_size", path=path) - num_special
    vocab = document.get("vocab")
    if not isinstance(vocab, list) or not _BYTES <= num_tokens <= len(vocab):
        found = f"{len(vocab):,}" if isinstance(vocab, list) else "none"
        raise ModelFormatError(path, f"a list of {max(num_tokens, _BYTES):,} tokens as vocab", found)
    check_largest_id(num_special + num_tokens - 1, num_entries=num_tokens, path=path)
    return Tekken(
        pattern=pattern,
        ranks=_ranks(vocab[:num_tokens], first_id=num_special, path=path),
        special_tokens=_special_tokens(document, num_special, path=path),
    )


def _count(config: Mapping[str, Any], name: str, *, path: Path | str) -> int:
    value = config.get(name)
    if type(value) is not int or value < 0:
        raise ModelFormatError(path, f"a whole number as config.{name}", f"{value!a:.40}")
    return value


def _ranks(vocab: list[Any], *, first_id: int, path: Path | str) -> list[tuple[bytes, int]]:
    ranks: list[tuple[bytes, int]] = []
    rank_of: dict[bytes, int] = {}
    for rank, entry in enumerate(vocab):
        token = _token(entry, rank)
        if token is None or (rank < _BYTES and token != bytes([rank])):
            expected = f"the byte {rank} as its token" if rank < _BYTES else "a token in base64 with its rank"
            raise ModelFormatError(f"{path}, token {rank}", expected, f"{entry!a:.80}")
        if (first := rank_of.setdefault(token, rank)) != rank:
            raise ModelFormatError(
                f"{path}, token {rank}", "each token once", f"{token!r} again (first at rank {first})"
            )
        ranks.append((token, rank + first_id))
    return ranks


def _token(entry: object, rank: int) -> bytes | None:
    """Return the bytes of an entry; None if it is not a valid entry of this rank."""
    if not isinstance(entry, dict) or entry.get("rank") != rank:
        return None
    try:
        return binascii.a2b_base64(entry["token_bytes"], strict_mode=True) or None
    except (KeyError, TypeError, ValueError):
        return None


def _special_tokens(document: Mapping[str, Any], num_special: int, *, path: Path | str) -> dict[str, int]:
    """Return text → id of the special tokens, including the placeholders that fill up their number."""
    listed = document.get("special_tokens")
    if listed is None:
        listed = [{"rank": id, "token_str": text} for id, text in enumerate(_UNLISTED)]
    if not isinstance(listed, list) or len(listed) > num_special:
        raise ModelFormatError(path, f"at most {num_special:,} special_tokens", f"{listed!a:.60}")
    special_tokens: dict[str, int] = {}
    used_ids: set[int] = set()
    for number, entry in enumerate(listed):
        text, id = (entry.get("token_str"), entry.get("rank")) if isinstance(entry, dict) else (None, None)
        if not isinstance(text, str) or not text or type(id) is not int or not 0 <= id < num_special:
            raise ModelFormatError(f"{path}, special token {number}", "a text and its rank", f"{entry!a:.80}")
        if text in special_tokens or id in used_ids:
            raise ModelFormatError(
                f"{path}, special token {number}", "each text and each rank once", f"{entry!a:.80} again"
            )
        special_tokens[text] = id
        used_ids.add(id)
    return special_tokens | {f"<SPECIAL_{id}>": id for id in range(len(listed), num_special)}
