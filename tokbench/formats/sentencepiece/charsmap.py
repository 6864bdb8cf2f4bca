"""SentencePiece's normalization table, `precompiled_charsmap`: its rules, and equivalent normalizers of `tokenizers`.

Layout: the size of a double array (uint32), the array (a trie in the layout of Darts-clone, uint32 each), and the
replacements, each terminated by a NUL. At each position of a text the longest matching key is replaced.

The normalizer of `tokenizers` for the table, `Precompiled`, behaves differently: it replaces a whole grapheme cluster
of up to five bytes by the replacement of its prefix, and the characters of a longer cluster one by one. So texts are
prepared for it:

1. A separator is inserted after each key of the table that SentencePiece would replace, and after each character
   outside of keys. It keeps these units apart: no grapheme cluster or composition spans two of them.
2. NFKC composes the characters inside a unit; `Precompiled` maps the resulting single characters.
3. Separators are removed: by the table itself, if it drops control characters.

This is not assumed, but verified: each key and each character of Unicode is tried in the library when the steps are
built.
"""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.symbols import overlap
from tokbench.formats.sentencepiece.unit_pattern import character_class, unit_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_HAS_LEAF, _LABEL, _VALUE = 1 << 8, 0xFF, 0x7FFF_FFFF
_ROOT = 0
# NFKC's trie has 400,000 nodes; branches with equal suffixes are stored once.
_MOST_NODES, _LONGEST_KEY = 1 << 22, 128

SEPARATOR = "\U000e0001"
"""The separator if the table drops no control character: the language tag, a control character long out of use."""

_CONTROLS = [chr(code) for code in (*range(1, 9), 11, *range(14, 32), 127)]
_PLACEHOLDERS = [chr(code) for code in range(0xFDD1, 0xFDF0)]
"""Noncharacters, which occur in no text."""
_MOST_STEPS = 200
_MOST_EXCLUDED = 3
_AT_ONCE = 500
_UNSUPPORTED = "its normalization table joins characters as tokenizers cannot"


@dataclass(frozen=True, slots=True)
class Normalization:
    """A normalization table as normalizers of `tokenizers`.

    Attributes:
        steps: the normalizers, in order.
        excluded: the characters that they treat differently.
    """

    steps: tuple[dict[str, Any], ...]
    excluded: str


@lru_cache(maxsize=2)  # NFKC's table, which most models have, takes a fifth of a second
def rules_of(charsmap: bytes) -> Mapping[str, str]:
    """Return key → replacement of a table that `parse_model` has validated.

    Raises:
        ConversionError: its keys or replacements are not UTF-8, or the trie is too large.
    """
    size = int.from_bytes(charsmap[:4], "little")
    replacements = charsmap[4 + size :]

    @cache
    def replacement(start: int) -> str:
        return replacements[start : replacements.index(0, start)].decode()

    rules: dict[str, str] = {}
    try:
        for keys, starts in _entries(charsmap[4 : 4 + size]):
            rules.update(zip(keys.decode().split("\0"), map(replacement, starts), strict=False))
    except UnicodeDecodeError:
        raise ConversionError("its normalization table replaces parts of characters") from None
    return MappingProxyType(rules)


@lru_cache(maxsize=8)
def normalization_of(charsmap: bytes, symbols: tuple[str, ...] = ()) -> Normalization:
    """Return normalizers that are equivalent to a table.

    Args:
        charsmap: the table.
        symbols: texts that remain as they are, wherever they begin outside of a key, the longest at each position.

    Raises:
        ConversionError: there are no such normalizers.
    """
    rules = rules_of(charsmap)
    plan = _plan(rules, symbols)
    steps = plan.steps(charsmap)
    hidden = _hidden(symbols, steps, rules)
    composed = [character for character in plan.composed if character not in rules]
    failing = _failing(steps, rules, [*rules, *composed])
    patched = {key: rules[key] for key in failing if len(key) > 1 and rules[key] not in rules}
    if patched:
        steps = plan.steps(charsmap, patched=patched)
        touched = {character for key in patched for character in key}
        failing = _failing(steps, rules, [key for key in rules if not touched.isdisjoint(key)]) + [
            key for key in failing if touched.isdisjoint(key)
        ]
    excluded = "" if plan.drops else plan.separator
    excluded += "".join(_common_characters(failing))
    excluded += "".join(hidden.values())
    steps = [
        *(replaced({"String": symbol}, placeholder) for symbol, placeholder in hidden.items()),
        *steps,
        *(replaced({"String": placeholder}, symbol) for symbol, placeholder in hidden.items()),
    ]
    if len(steps) > _MOST_STEPS:
        raise ConversionError(_UNSUPPORTED)
    return Normalization(tuple(steps), excluded=excluded)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The data from which the steps are built.

    Attributes:
        rules: the table.
        joined: its keys of several characters.
        separator: the character that ends units.
        composed: single characters and their NFKC in the library, if the table has keys of several characters.
        stand_ins: character that NFKC must not change → the character that replaces it meanwhile.
        units: a regular expression that matches at the ends of units.
    """

    rules: Mapping[str, str]
    joined: Sequence[str]
    separator: str
    composed: Mapping[str, str]
    stand_ins: Mapping[str, str]
    units: str

    @property
    def drops(self) -> bool:
        """Whether the table itself removes separators."""
        return self.rules.get(self.separator) == ""

    def steps(self, charsmap: bytes, *, patched: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """Return the normalizers; `patched` maps keys that the library does not compose to their replacements."""
        firsts = {key[0] for key in self.joined}
        later = {
            character: self.rules[character]
            for character in firsts - set(self.composed)
            if character in self.rules
        }
        stand_ins = self.stand_ins.items()
        return [
            *(replaced({"String": stand_in}, self.separator) for _, stand_in in stand_ins),
            *(replaced({"String": character}, stand_in) for character, stand_in in stand_ins),
            replaced({"Regex": self.units}, self.separator),
            *(
                replaced({"String": key}, (patched or {})[key])
                for key in sorted(patched or {}, key=lambda key: (-len(key), key))
            ),
            *_replacements(later),
            *([{"type": "NFKC"}] if self.joined else []),
            *(replaced({"String": stand_in}, character) for character, stand_in in stand_ins),
            {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
            *([] if self.drops else [replaced({"String": self.separator}, "")]),
        ]


def _entries(array: bytes) -> Iterator[tuple[bytes, list[int]]]:
    """Yield the keys of a double array by their length, each with a NUL after it, and their values."""
    import numpy as np

    units = np.frombuffer(array, "<u4").astype(np.int64)
    offsets = (units >> 10) << ((units & (1 << 9)) >> 6)
    bases = np.arange(units.size) ^ offsets
    labels = units & _LABEL
    # A child is at its parent's base xor its own label; units without the value mark have a label.
    children = np.flatnonzero((units >> 31 == 0) & (labels != 0))
    children = children[children != _ROOT]
    bases_of_parents = children ^ labels[children]
    order = np.argsort(bases_of_parents, kind="stable")
    children, bases_of_parents = children[order], bases_of_parents[order]
    nodes, keys, visited = np.array([_ROOT]), np.empty((1, 0), np.uint8), 1
    while nodes.size:
        ends = units[nodes] & _HAS_LEAF != 0
        terminated = np.zeros((np.count_nonzero(ends), keys.shape[1] + 1), np.uint8)
        terminated[:, :-1] = keys[ends]
        yield terminated.tobytes(), (units[bases[nodes[ends]]] & _VALUE).tolist()
        first, last = (np.searchsorted(bases_of_parents, bases[nodes], side) for side in ("left", "right"))
        counts = last - first
        visited += int(counts.sum())
        if visited > _MOST_NODES or keys.shape[1] >= _LONGEST_KEY:
            raise ConversionError("its normalization table contains a cycle, or is too large")
        places = np.arange(counts.sum()) + np.repeat(first - counts.cumsum() + counts, counts)
        nodes = children[places]
        labels_of_nodes = labels[nodes].astype(np.uint8)
        keys = np.concatenate([np.repeat(keys, counts, axis=0), labels_of_nodes[:, None]], axis=1)


def _hidden(
    symbols: Sequence[str], steps: Sequence[Mapping[str, Any]], rules: Mapping[str, str]
) -> dict[str, str]:
    """Return the symbols that the steps would change, each with a placeholder for the time that they take.

    Raises:
        ConversionError: there are too many, or one may begin inside of a key or of another symbol.
    """
    changed = _failing(steps, {**rules, **{symbol: symbol for symbol in symbols}}, symbols)
    later = {character for key in rules for character in key[1:]}
    for symbol in changed:
        others = [other for other in symbols if other != symbol]
        overlaps = any(overlap(other, symbol) or overlap(symbol, other) for other in others)
        if overlaps or symbol[0] in later or len(changed) > len(_PLACEHOLDERS):
            raise ConversionError(
                f"its normalization table would change the user-defined symbol {symbol!r}, which SentencePiece keeps"
            )
    hidden = dict(zip(sorted(changed), _PLACEHOLDERS, strict=False))
    if _failing(steps, rules, list(hidden.values())):
        raise ConversionError(_UNSUPPORTED)
    return hidden


def _plan(rules: Mapping[str, str], symbols: Sequence[str]) -> _Plan:
    joined = [key for key in rules if len(key) > 1]
    in_keys = {character for key in joined for character in key}
    if " " in rules or "\n" in in_keys or " " in in_keys:
        raise ConversionError("its normalization table changes spaces")
    dropped = [
        character for character in _CONTROLS if rules.get(character) == "" and character not in in_keys
    ]
    separator = dropped.pop(0) if dropped else SEPARATOR
    composed = _composed() if joined else {}
    kept = [character for character in composed if character not in rules]
    if len(kept) > len(dropped) or in_keys.intersection([*kept, separator]) or rules.get(separator):
        raise ConversionError(_UNSUPPORTED)
    stand_ins = dict(zip(kept, dropped, strict=False))
    return _Plan(rules, joined, separator, composed, stand_ins, units=unit_pattern(joined, symbols))


def _replacements(values: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield steps that map characters of keys which the library's Unicode version does not know."""
    by_value: dict[str, list[str]] = {}
    for character in sorted(values):
        by_value.setdefault(values[character], []).append(character)
    return (replaced({"Regex": character_class(group)}, value) for value, group in by_value.items())


@cache
def _composed() -> Mapping[str, str]:
    """Return each character that the library's NFKC changes, with its result."""
    from tokenizers.normalizers import NFKC

    # U+0001 joins with nothing, and NFKC does not change it; nor does it change the planes that are left out, of tags,
    # variation selectors and private use, or without any characters.
    characters = [chr(code) for code in range(2, 0x40000) if not 0xD800 <= code < 0xE000]
    normalized = NFKC().normalize_str("\1".join(characters)).split("\1")
    return {
        character: result
        for character, result in zip(characters, normalized, strict=True)
        if character != result
    }


def _failing(steps: Sequence[Mapping[str, Any]], rules: Mapping[str, str], texts: Sequence[str]) -> list[str]:
    """Return the keys and characters that the library normalizes differently; many are tried in one text."""
    import orjson
    from tokenizers import Tokenizer

    document = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": list(steps)},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0]]},
    }
    normalizer = Tokenizer.from_str(orjson.dumps(document).decode()).normalizer
    between = rules.get("\n", "\n")
    failing: list[str] = []
    for start in range(0, len(texts), _AT_ONCE):
        some = texts[start : start + _AT_ONCE]
        if normalizer.normalize_str("\n".join(some)) != between.join(rules.get(text, text) for text in some):
            failing += [text for text in some if normalizer.normalize_str(text) != rules.get(text, text)]
    return failing


def _common_characters(failing: Sequence[str]) -> list[str]:
    """Return a few characters such that every failing key contains one. Raises `ConversionError` if there are none."""
    chosen: list[str] = []
    left = list(failing)
    while left:
        counts = Counter(character for key in left for character in set(key) if len(key) > 1)
        if len(chosen) == _MOST_EXCLUDED or not counts:
            raise ConversionError(f"{_UNSUPPORTED}: {left[0]!a}")
        chosen.append(max(counts, key=lambda character: (counts[character], character)))
        left = [key for key in left if chosen[-1] not in key]
    return chosen


def replaced(pattern: Mapping[str, str], content: str) -> dict[str, Any]:
    """Return the normalizer that replaces a pattern."""
    return {"type": "Replace", "pattern": dict(pattern), "content": content}
