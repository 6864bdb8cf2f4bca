"""The tokens that two unrelated vocabularies share, and the old tokens that spell the new ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokbench.core.roles import role_ids_of
from tokbench.errors import UnknownIdError
from tokbench.surgery.id_map import NONE, IdMap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer


@dataclass(frozen=True, slots=True)
class SharedTokens:
    """The tokens that two vocabularies share.

    Attributes:
        id_map: the map between their ids.
        same_id: number of tokens with the same id in both.
        moved: number of tokens with different ids.
        by_role: role → (old id, new id) of special tokens with different texts and the same role.
        only_old: number of old ids without a corresponding new token.
        only_new: the new ids without a corresponding old token.
    """

    id_map: IdMap
    same_id: int
    moved: int
    by_role: Mapping[str, tuple[int, int]]
    only_old: int
    only_new: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of the comparison."""
        return {
            "same_id": self.same_id,
            "moved": self.moved,
            "by_role": {role: list(ids) for role, ids in self.by_role.items()},
            "only_old": self.only_old,
            "only_new": len(self.only_new),
        }


def shared_tokens(old: Tokenizer, new: Tokenizer) -> SharedTokens:
    """Find the tokens that two vocabularies share.

    Ordinary tokens are the same if their bytes are equal, special tokens if their texts are equal or, failing that,
    their roles. Of several old tokens with the same bytes, the one that `token_id` returns is used.

    Args:
        old: a tokenizer of any algorithm.
        new: a tokenizer of any algorithm.

    >>> from tokbench.backends.baseline import ByteBackend
    >>> bytes_with = lambda *texts: ByteBackend().train([], ByteBackend.config_type(special_tokens=texts))
    >>> found = shared_tokens(bytes_with("<a>"), bytes_with("<b>", "<a>"))
    >>> found.same_id, found.moved, found.only_new
    (256, 1, (256,))
    """
    old_tokens, new_tokens = dict(tokens_of(old)), dict(tokens_of(new))
    forward = _same_ids(old, old_tokens, new)
    back = _same_ids(new, new_tokens, old)
    by_role: dict[str, tuple[int, int]] = {}
    old_roles, new_roles = role_ids_of(old), role_ids_of(new)
    for role, new_id in new_roles.items():
        if role in old_roles and new_id not in back and old_roles[role] not in forward:
            by_role[role] = old_roles[role], new_id
    for old_id, new_id in by_role.values():
        forward.setdefault(old_id, new_id)
        back.setdefault(new_id, old_id)
    ordered = (range(old.info.vocab_size), forward), (range(new.info.vocab_size), back)
    of_role = {new_id for _, new_id in by_role.values()}
    exact = [(old_id, new_id) for new_id, old_id in back.items() if new_id not in of_role]
    return SharedTokens(
        id_map=IdMap(*(tuple(found.get(id, NONE) for id in ids) for ids, found in ordered)),
        same_id=sum(old_id == new_id for old_id, new_id in exact),
        moved=sum(old_id != new_id for old_id, new_id in exact),
        by_role=by_role,
        only_old=len(old_tokens.keys() - forward.keys()),
        only_new=tuple(id for id in new_tokens if id not in back),
    )


def tokens_of(tokenizer: Tokenizer) -> Iterator[tuple[int, bytes]]:
    """Yield each id of a vocabulary that has a token, with its bytes."""
    for id in range(tokenizer.info.vocab_size):
        try:
            yield id, tokenizer.token_bytes(id)
        except UnknownIdError:
            continue


def _same_ids(one: Tokenizer, tokens: Mapping[int, bytes], other: Tokenizer) -> dict[int, int]:
    """Map the ids of one vocabulary to those of the same tokens in another."""
    special = {id: text for text, id in one.info.special_tokens.items()}
    others = other.info.special_tokens
    other_special = set(others.values())
    found: dict[int, int] = {}
    for id, data in tokens.items():
        if id in special:
            if (same := others.get(special[id])) is not None:
                found[id] = same
        elif (same := other.token_id(data)) is not None and same not in other_special:
            found[id] = same
    return found


class OldTokens:
    """The tokens of an old vocabulary, by which new tokens are spelled.

    Args:
        tokenizer: the old tokenizer.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def making(self, tokens: Mapping[int, bytes]) -> dict[int, list[int]]:
        """Map each new id to the old ids that spell its bytes: the old tokenizer's encoding of them as text.

        If the encoding has other bytes (because of a prefix space, for example) or the bytes are not valid text, the
        longest matching old tokens are taken from left to right, and bytes without an old token are skipped.

        Args:
            tokens: new id → bytes.

        >>> from tokbench.backends.baseline import ByteBackend
        >>> old = OldTokens(ByteBackend().train([], ByteBackend.config_type()))
        >>> old.making({0: b"ab", 1: bytes([0xC3])})
        {0: [97, 98], 1: [195]}
        """
        texts: dict[int, str] = {}
        for id, data in tokens.items():
            try:
                texts[id] = data.decode()
            except UnicodeDecodeError:
                continue
        encoded = self._tokenizer.encode_batch(list(texts.values()))
        made = {id: self._if_exact(encoded[place].tolist(), tokens[id]) for place, id in enumerate(texts)}
        return {id: made.get(id) or self._longest_matches(data) for id, data in tokens.items()}

    def _if_exact(self, ids: Sequence[int], data: bytes) -> list[int]:
        """Return the ids if their bytes equal `data`, otherwise an empty list."""
        return list(ids) if b"".join(self._bytes.get(id, b"") for id in ids) == data else []

    def _longest_matches(self, data: bytes) -> list[int]:
        made, place = [], 0
        while place < len(data):
            stops = range(min(len(data), place + self._longest_token), place, -1)
            stop = next((stop for stop in stops if data[place:stop] in self._ids), None)
            if stop is not None:
                made.append(self._ids[data[place:stop]])
            place = stop or place + 1
        return made

    @cached_property
    def _bytes(self) -> dict[int, bytes]:
        special = set(self._tokenizer.info.special_tokens.values())
        return {id: data for id, data in tokens_of(self._tokenizer) if id not in special and data}

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        return {data: id for id, data in self._bytes.items()}

    @cached_property
    def _longest_token(self) -> int:
        return max(map(len, self._ids), default=0)
