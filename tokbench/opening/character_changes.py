"""Character-wise normalization, by a map in Python or a table for the kernel.

The table (native/normalization/character_changes.hpp) holds the results of the Python steps for each character, so the
kernel normalizes exactly as they do, but many times as fast. It covers the blocks of characters that have occurred so
far: computing it for all characters takes seconds.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.character_agreement import NUM_CODE_POINTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tokbench.native._bpe import CharacterChanges

    Step = Callable[[str], str]

APART = "\u0905"
"""A separator between characters: a letter that no step may change, reorder or produce."""
_SURROGATES = 0xD800, 0xE000
_BLOCK = 256
_MOST_REPLACEMENTS = 16


def each_by_itself(characters: Iterable[str], steps: Sequence[Step]) -> list[str]:
    """Return the result of the steps for each character, computed on one joined text.

    >>> each_by_itself("ÀΣ", [str.lower])
    ['à', 'σ']
    """
    text = APART.join(characters)
    for step in steps:
        text = step(text)
    return text.split(APART)


class EachCharacter(dict[int, str]):
    """A lazily filled map from each character to its normalized form.

    Args:
        normalize: normalizes a text character by character.

    >>> EachCharacter(str.swapcase).of("Ab")
    'aB'
    """

    def __init__(self, normalize: Callable[[str], str]) -> None:
        super().__init__()
        self._normalize = normalize
        self._seen: set[str] = set()
        self._changed: set[str] = set()

    def of(self, text: str) -> str:
        """Return the normalized text."""
        changed = self.changed_in(text)
        if not changed:
            return text
        written = {character: self[ord(character)] for character in changed}
        if len(changed) > _MOST_REPLACEMENTS or not changed.isdisjoint("".join(written.values())):
            return text.translate(self)
        # No replacement writes a character that another one replaces.
        for character, normalized in written.items():
            text = text.replace(character, normalized)
        return text

    def changed_in(self, text: str) -> set[str]:
        """Return the characters of a text that are changed."""
        characters = set(text)
        if missing := characters - self._seen:
            self._ask_about(missing)
        return self._changed & characters

    def _ask_about(self, characters: set[str]) -> None:
        asked = list(_without_surrogates(characters - {APART}))
        normalized = dict(zip(asked, each_by_itself(asked, [self._normalize]) if asked else [], strict=True))
        self._changed.update(character for character, result in normalized.items() if result != character)
        self.update((ord(character), normalized.get(character, character)) for character in characters)
        self._seen.update(characters)  # last, because other threads take these as known


def _begins_character(text: str) -> NDArray[np.bool_]:
    """Return for each UTF-8 byte of a text whether it is the first one of a character."""
    begins: NDArray[np.bool_] = np.frombuffer(text.encode(), np.uint8) & 0xC0 != 0x80
    return begins


def _text_of(block: int) -> str:
    """Return the characters of a block that texts may contain, without the separator."""
    codes = np.arange(block * _BLOCK, (block + 1) * _BLOCK, dtype="<u4")
    first_surrogate, after = _SURROGATES
    codes = codes[(codes != ord(APART)) & ((codes < first_surrogate) | (codes >= after))]
    text: str = codes.tobytes().decode("utf-32-le")
    return text


def _characters_of(blocks: Iterable[int]) -> list[str]:
    return list("".join(map(_text_of, blocks)))


def _without_surrogates(characters: Iterable[str]) -> Iterator[str]:
    first, after = map(chr, _SURROGATES)
    return (character for character in characters if not first <= character < after)


class ChangesByNeed:
    """The table of normalization steps, extended as new characters occur in texts.

    Args:
        ordered: the steps up to and including the one that puts marks into canonical order.
        after: the steps that follow.
        orders: whether there is such a step, the last of `ordered`.
        before: returns characters and all those that they may become before these steps.
    """

    def __init__(
        self,
        ordered: Sequence[Step],
        after: Sequence[Step],
        *,
        orders: bool,
        before: Callable[[set[str]], set[str]] | None = None,
    ) -> None:
        self._ordered = ordered
        self._after = after
        self._orders = orders
        self._before = before
        self._blocks: set[int] = set()
        self._known = bytearray(NUM_CODE_POINTS)
        """1 for each code point for which the table covers all that it may become."""
        self._unchanged = bytearray(NUM_CODE_POINTS)
        """1 for each code point of the known blocks that stays as it is."""
        self._learned = self._changes_of(())
        self._table = self._learned.table()
        self._growing = Lock()

    def of(self, texts: list[str], threads: int = 1) -> CharacterChanges:
        """Return a table that covers the characters of the texts, which are scanned on threads."""
        from tokbench.native._bpe import unmarked

        if missing := unmarked(texts, self._known, threads):
            self._learn({ord(character) // _BLOCK for character in missing})
        return self._table

    def applied(self, text: str) -> str:
        """Return what a text becomes.

        >>> ChangesByNeed([str.swapcase], (), orders=False).applied("Ab")
        'aB'
        """
        return self.of([text]).of(text)

    def origins(self, text: str) -> NDArray[np.int64]:
        """Return the index of each character's original character, as `tokenizers` tracks it.

        >>> ChangesByNeed([str.upper], (), orders=False).origins("aßc").tolist()
        [0, 1, 1, 2]
        """
        table = self.of([text])
        made, origins = table.of(text), table.origins(text).astype(np.int64)
        if not made.isascii():
            origins = origins[_begins_character(made)]
        return origins if text.isascii() else (np.cumsum(_begins_character(text)) - 1)[origins]

    def leaves(self, text: str) -> bool:
        """Whether every character of a text stays as it is.

        >>> capitals = ChangesByNeed([str.upper], (), orders=False)
        >>> capitals.leaves("A-B"), capitals.leaves("a")
        (True, False)
        """
        from tokbench.native._bpe import unmarked

        self.of([text])
        return not unmarked([text], self._unchanged, 1)

    def _learn(self, blocks: set[int]) -> None:
        with self._growing:
            asked = sorted(block for block in blocks if not self._known[block * _BLOCK])
            new = sorted(self._needed(asked) - self._blocks)
            found = self._changes_of(_characters_of(filter(self._may_change, new)))
            self._learned = self._learned.joined(found)
            self._table = self._learned.table()
            self._blocks.update(new)
            for block in new:
                self._unchanged[block * _BLOCK : (block + 1) * _BLOCK] = bytes([1]) * _BLOCK
            for code in found.characters.tolist():
                self._unchanged[code] = 0
            for block in asked:  # other threads must not see a block as known before the table has it
                self._known[block * _BLOCK : (block + 1) * _BLOCK] = bytes([1]) * _BLOCK

    def _needed(self, blocks: Sequence[int]) -> set[int]:
        """Return these blocks and those of the characters that theirs may become before the steps."""
        if self._before is None:
            return set(blocks)
        characters = self._before(set(_characters_of(blocks)))
        return {*blocks, *(ord(character) // _BLOCK for character in characters)}

    def _may_change(self, block: int) -> bool:
        """Whether a character of a block may change: none of most blocks of ideographs do, which is seen at once."""
        text = changed = APART.join(_text_of(block))
        for step in (*self._ordered, *self._after):
            changed = step(changed)
        return changed != text or (self._orders and any(map(unicodedata.combining, text)))

    def _changes_of(self, characters: Sequence[str]) -> _Changes:
        parts = each_by_itself(characters, self._ordered) if characters else []
        distinct = sorted({*chain.from_iterable(parts)} - {APART})
        spelled = dict(zip(distinct, each_by_itself(distinct, self._after), strict=True)) if distinct else {}
        spelled[APART] = APART
        order = {part: unicodedata.combining(part) if self._orders else 0 for part in spelled}
        changed = {
            character: whole
            for character, whole in zip(characters, parts, strict=True)
            if whole != character or spelled[whole] != whole or order[whole]
        }
        all_parts = [part for whole in changed.values() for part in whole]
        texts = [spelled[part].encode() for part in all_parts]
        return _Changes(
            characters=np.fromiter(map(ord, changed), np.uint32, len(changed)),
            num_parts=np.fromiter(map(len, changed.values()), np.uint32, len(changed)),
            orders=np.fromiter((order[part] for part in all_parts), np.uint8, len(all_parts)),
            inserted=np.frombuffer(
                self._inserted(list(changed)) if self._orders else bytes(len(all_parts)), np.uint8
            ),
            sizes=np.fromiter(map(len, texts), np.uint32, len(texts)),
            text=b"".join(texts),
        )

    def _inserted(self, characters: Sequence[str]) -> bytes:
        """Return a byte for each part of the decomposed characters: 1 if it follows another part, else 0."""
        *before, takes_apart = self._ordered
        whole = each_by_itself(characters, before)
        distinct = sorted(set().union(*whole))
        if not distinct:
            return b""
        sizes = dict(zip(distinct, map(len, each_by_itself(distinct, [takes_apart])), strict=True))
        return bytes(place > 0 for text in whole for part in text for place in range(sizes[part]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """The normalized forms of some characters.

    Attributes:
        characters: their code points.
        num_parts: the number of parts of each character's form.
        orders: the combining class of each part.
        inserted: whether each part follows another part of its character.
        sizes: the number of bytes of each part.
        text: the bytes of all parts.
    """

    characters: NDArray[np.uint32]
    num_parts: NDArray[np.uint32]
    orders: NDArray[np.uint8]
    inserted: NDArray[np.uint8]
    sizes: NDArray[np.uint32]
    text: bytes

    def joined(self, more: _Changes) -> _Changes:
        """Return these changes and those of other characters."""
        return _Changes(
            characters=np.concatenate([self.characters, more.characters]),
            num_parts=np.concatenate([self.num_parts, more.num_parts]),
            orders=np.concatenate([self.orders, more.orders]),
            inserted=np.concatenate([self.inserted, more.inserted]),
            sizes=np.concatenate([self.sizes, more.sizes]),
            text=self.text + more.text,
        )

    def table(self) -> CharacterChanges:
        """Return the kernel's table."""
        from tokbench.native._bpe import CharacterChanges

        return CharacterChanges(
            self.characters, _ends(self.num_parts), self.orders, self.inserted, _ends(self.sizes), self.text
        )


def _ends(sizes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return np.concatenate([np.zeros(1, np.uint32), np.cumsum(sizes, dtype=np.uint32)])
