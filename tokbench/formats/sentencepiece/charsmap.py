"""SentencePiece's normalization table, `precompiled_charsmap`: replacements of characters.

Layout: the size of a double array (uint32), the array (a trie in the layout of Darts-clone, uint32 each), and the
replacements, each terminated by a NUL. At each position of a text the longest matching key is replaced.
"""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_HAS_LEAF, _LABEL, _VALUE = 1 << 8, 0xFF, 0x7FFF_FFFF
_ROOT = 0
# NFKC's trie has 400,000 nodes; branches with equal suffixes are stored once.
_MOST_NODES, _LONGEST_KEY = 1 << 22, 128


@lru_cache(maxsize=2)  # NFKC's table, which most models have, takes half a second
def rules_of(charsmap: bytes) -> Mapping[str, str]:
    """Return key → replacement of a table that `parse_model` has validated.

    Raises:
        ConversionError: its keys or replacements are not UTF-8, or the trie is too large.
    """
    size = int.from_bytes(charsmap[:4], "little")
    replacements = charsmap[4 + size :]
    try:
        rules = {
            key.decode(): replacements[value : replacements.index(0, value)].decode()
            for key, value in _entries(charsmap[4 : 4 + size])
        }
    except UnicodeDecodeError:
        raise ConversionError("its normalization table replaces parts of characters") from None
    return MappingProxyType(rules)


def _entries(array: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the keys of a double array with their values."""
    import numpy as np

    units = np.frombuffer(array, "<u4").astype(np.int64)
    offsets = (units >> 10) << ((units & (1 << 9)) >> 6)
    labels = (units & _LABEL).tolist()
    bases = (np.arange(units.size) ^ offsets).tolist()
    # A child is at its parent's base xor its own label; units without the value mark have a label.
    children: dict[int, list[int]] = {}
    for place in np.flatnonzero((units >> 31 == 0) & (units & _LABEL != 0)).tolist():
        children.setdefault(place ^ labels[place], []).append(place)
    numbers = units.tolist()
    pending, visited = [(_ROOT, b"")], 0
    while pending:
        place, key = pending.pop()
        visited += 1
        if visited > _MOST_NODES or len(key) > _LONGEST_KEY:
            raise ConversionError("its normalization table contains a cycle, or is too large")
        base = bases[place]
        if numbers[place] & _HAS_LEAF:
            yield key, numbers[base] & _VALUE
        pending += [(child, key + bytes([labels[child]])) for child in children.get(base, ()) if child]
