"""The regular expression of the units of a text that a normalization table replaces, or leaves as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def unit_pattern(joined: Sequence[str], symbols: Sequence[str] = ()) -> str:
    r"""Match the ends of units: a symbol, a key of several characters, or a character; not between ASCII characters.

    >>> print(unit_pattern(["e\u0301"]).partition("|")[0])
    (?>(?=[\x{0}-\x{10FFFF}]\x{301})\x{65}\x{301}
    >>> print(unit_pattern([], ["<a>"]).partition("|")[0])
    (?>\x{3C}\x{61}\x{3E}
    """
    units = [_Trie(symbols).expression()] if symbols else []
    if joined:
        seconds = character_class({key[1] for key in joined})
        units.append(rf"(?=[\x{{0}}-\x{{10FFFF}}]{seconds}){_Trie(joined).expression()}")
    units.append(r"[^\x{0}-\x{7F}]|\r|[\x{0}-\x{7F}](?=[^\x{0}-\x{7F}])")
    return rf"(?>{'|'.join(units)})\K"


_END: dict[str, Any] = {}
_LEAF = {"": _END}


class _Trie:
    """The minimal automaton of the keys: nodes with equal continuations are merged."""

    def __init__(self, keys: Iterable[str]) -> None:
        root: dict[str, Any] = {}
        for key in keys:
            node = root
            for character in key[:-1]:
                child = node.get(character, _LEAF)
                if child is _LEAF:
                    child = node[character] = dict(_LEAF) if character in node else {}
                node = child
            if node.setdefault(key[-1], _LEAF) is not _LEAF:
                node[key[-1]][""] = _END
        self._numbers: dict[tuple[bool, tuple[tuple[int, str], ...]], int] = {}
        self._root = self._number(root)
        self._nodes = {number: node for node, number in self._numbers.items()}
        self._expressions: dict[int, str] = {}

    def expression(self) -> str:
        """Return a regular expression that matches the longest key."""
        return self._expression(self._root)

    def _number(self, node: Mapping[str, Any]) -> int:
        groups: dict[int, list[str]] = {}
        leaf = None
        for character in sorted(node):
            if character:
                child = node[character]
                if child is _LEAF:  # the case of nearly all nodes
                    leaf = self._numbered((True, ())) if leaf is None else leaf
                    groups.setdefault(leaf, []).append(character)
                else:
                    groups.setdefault(self._number(child), []).append(character)
        return self._numbered(
            ("" in node, tuple((child, "".join(group)) for child, group in sorted(groups.items())))
        )

    def _numbered(self, node: tuple[bool, tuple[tuple[int, str], ...]]) -> int:
        return self._numbers.setdefault(node, len(self._numbers))

    def _expression(self, number: int) -> str:
        if number not in self._expressions:
            may_end, groups = self._nodes[number]
            parts = [character_class(characters) + self._expression(child) for child, characters in groups]
            several = f"(?:{'|'.join(parts)})" if len(parts) > 1 or (parts and may_end) else "".join(parts)
            self._expressions[number] = several + ("?" if may_end and parts else "")
        return self._expressions[number]


def character_class(characters: Iterable[str]) -> str:
    r"""Return a class of characters, with ranges.

    >>> character_class("cab"), character_class("a")
    ('[\\x{61}-\\x{63}]', '\\x{61}')
    """
    codes = sorted(map(ord, characters))
    starts = [code for place, code in enumerate(codes) if not place or codes[place - 1] != code - 1]
    stops = [code for place, code in enumerate(codes) if codes[place + 1 : place + 2] != [code + 1]]
    ranges = [
        rf"\x{{{start:X}}}" + (rf"-\x{{{stop:X}}}" if stop > start else "")
        for start, stop in zip(starts, stops, strict=True)
    ]
    return ranges[0] if len(codes) == 1 else f"[{''.join(ranges)}]"
