"""An automaton that decides which texts can be part of one match of a split pattern, and proposes their surroundings.

The automaton accepts every text that the pattern matches, and more, since it ignores look-around, the order of
alternatives and possessive quantifiers. So a text that is part of none of its texts is never part of one pre-token,
in any context; surroundings that it proposes must still be tried.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tokbench.lint.reachability.pattern_syntax import (
    CharacterClass,
    Choice,
    Repetition,
    Sequence,
    UnknownSyntaxError,
    parse_pattern,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.lint.reachability.pattern_syntax import Node

_POOL = "aqzxsAQZé𝓐Яяאبहक中한ʰ019٣½'.,!_/-(#€©\u0301\u200d😀\x01\ue000\U000e0001 \t\n\r\u00a0\u3000"
"""Representative characters for classes: of several scripts and kinds, frequent and rare."""


class PatternAutomaton:
    """A nondeterministic automaton of a pattern, with character classes on its transitions.

    Args:
        pattern: a regular expression for the `regex` package.

    Raises:
        UnknownSyntaxError: the pattern has syntax that is not supported.
    """

    def __init__(self, pattern: str) -> None:
        tree = parse_pattern(pattern)
        self._certain = tuple(_certain_ways(tree))
        self._moves: list[list[tuple[CharacterClass, int]]] = [[]]
        self._silent: list[set[int]] = [set()]
        self._end = self._add(tree, 0)
        self._closures = [self._closure(state) for state in range(len(self._moves))]

    def holds(self, text: str) -> bool:
        """Whether a text is part of a text that the automaton accepts."""
        return bool(self._after(text, frozenset(range(len(self._moves)))))

    def matches_certainly(self, character: str) -> bool:
        """Whether a character is part of a match in every context, and so never between two matches."""
        return any(
            _matches(leaf, character) and not any(_matches(before, character) for before in skipped)
            for skipped, leaf in self._certain
        )

    def like(self, characters: str) -> dict[frozenset[CharacterClass], str]:
        """Group characters by the classes of the pattern that contain them; `holds` treats those of a group alike."""
        leaves = {leaf for moves in self._moves for leaf, _ in moves}
        groups: dict[str, set[CharacterClass]] = {character: set() for character in characters}
        for leaf in leaves:
            for found in _compiled(leaf).findall(characters):
                groups[found].add(leaf)
        made: dict[frozenset[CharacterClass], list[str]] = {}
        for character, classes in groups.items():
            made.setdefault(frozenset(classes), []).append(character)
        return {classes: "".join(several) for classes, several in made.items()}

    def surroundings(self, text: str, *, most: int = 8) -> Iterator[tuple[str, str]]:
        """Yield possible texts before and after a text within one match, the shortest first.

        Args:
            text: a text for which `holds` is true.
            most: number of choices of characters for each path.
        """
        befores, afters = self._paths_to(), self._paths_from()
        found: set[tuple[tuple[CharacterClass, ...], tuple[CharacterClass, ...]]] = set()
        for state, before in befores.items():
            for end in self._after(text, self._closures[state]):
                if end in afters:
                    found.add((before, afters[end]))
        for before, after in sorted(found, key=lambda way: (len(way[0]) + len(way[1]), repr(way))):
            for number in range(most if before or after else 1):
                yield _characters_for(before, number), _characters_for(after, number * 5 + 1)
                yield _characters_for(before, number), _characters_for(after, number)

    # --- building -----------------------------------------------------------------------------

    def _new_state(self) -> int:
        self._moves.append([])
        self._silent.append(set())
        return len(self._moves) - 1

    def _add(self, node: Node, start: int) -> int:
        """Add the transitions of a node after a state, and return their final state."""
        match node:
            case CharacterClass():
                end = self._new_state()
                self._moves[start].append((node, end))
                return end
            case Sequence(parts):
                for part in parts:
                    start = self._add(part, start)
                return start
            case Choice(options):
                ends = [self._add(option, self._branch(start)) for option in options]
                return self._join(ends)
            case Repetition(part, least, most):
                return self._add_repeated(part, least, most, start)

    def _add_repeated(self, part: Node, least: int, most: int | None, start: int) -> int:
        for _ in range(least):
            start = self._add(part, start)
        if most is None:
            loop = self._branch(start)
            self._silent[self._add(part, loop)].add(loop)
            return self._join([loop])
        ends = [start]
        for _ in range(most - least):
            start = self._add(part, start)
            ends.append(start)
        return self._join(ends)

    def _branch(self, state: int) -> int:
        made = self._new_state()
        self._silent[state].add(made)
        return made

    def _join(self, states: list[int]) -> int:
        made = self._new_state()
        for state in states:
            self._silent[state].add(made)
        return made

    def _closure(self, state: int) -> frozenset[int]:
        reached, todo = {state}, [state]
        while todo:
            for following in self._silent[todo.pop()] - reached:
                reached.add(following)
                todo.append(following)
        return frozenset(reached)

    # --- running ------------------------------------------------------------------------------

    def _after(self, text: str, states: frozenset[int]) -> frozenset[int]:
        for character in text:
            states = self._step(character, states)
            if not states:
                break
        return states

    def _step(self, character: str, states: frozenset[int]) -> frozenset[int]:
        reached: set[int] = set()
        for state in states:
            for leaf, following in self._moves[state]:
                if following not in reached and _matches(leaf, character):
                    reached |= self._closures[following]
        return frozenset(reached)

    def _paths_to(self) -> dict[int, tuple[CharacterClass, ...]]:
        """Return state → the shortest path of classes from the start to it."""
        ways: dict[int, tuple[CharacterClass, ...]] = dict.fromkeys(self._closures[0], ())
        layer = list(ways)
        while layer:
            following: list[int] = []
            for state in layer:
                for leaf, target in self._moves[state]:
                    for reached in self._closures[target]:
                        if reached not in ways:
                            ways[reached] = (*ways[state], leaf)
                            following.append(reached)
            layer = following
        return ways

    def _paths_from(self) -> dict[int, tuple[CharacterClass, ...]]:
        """Return state → the shortest path of classes from it to the end."""
        states = range(len(self._moves))
        ways: dict[int, tuple[CharacterClass, ...]] = {
            s: () for s in states if self._end in self._closures[s]
        }
        while True:
            found = {
                state: (leaf, *ways[target])
                for state in states
                if state not in ways
                for inner in self._closures[state]
                for leaf, target in self._moves[inner]
                if target in ways
            }
            if not found:
                return ways
            ways |= found


def _certain_ways(tree: Node) -> Iterator[tuple[tuple[CharacterClass, ...], CharacterClass]]:
    """Yield the alternatives that certainly match a text that begins with a character of a class.

    These are sequences of classes of which exactly one is mandatory, without look-around or groups. Each is returned as
    the optional classes before the mandatory one, and the mandatory class.
    """
    for option in tree.options if isinstance(tree, Choice) else (tree,):
        parts = option.parts if isinstance(option, Sequence) else (option,)
        skipped: list[CharacterClass] = []
        needed: CharacterClass | None = None
        for part in parts:
            leaf, least = (part.part, part.least) if isinstance(part, Repetition) else (part, 1)
            if not isinstance(leaf, CharacterClass) or least > 1 or (least and needed is not None):
                break
            if least:
                needed = leaf
            elif needed is None:
                skipped.append(leaf)
        else:
            if needed is not None:
                yield tuple(skipped), needed


@lru_cache(maxsize=256)
def _compiled(leaf: CharacterClass) -> Any:
    import regex

    return regex.compile(leaf.text, regex.IGNORECASE if leaf.ignores_case else 0)


@lru_cache(maxsize=1 << 16)
def _matches(leaf: CharacterClass, character: str) -> bool:
    return _compiled(leaf).fullmatch(character) is not None


@lru_cache(maxsize=256)
def _members(leaf: CharacterClass) -> str:
    likely = dict.fromkeys(_POOL + leaf.text)
    found = "".join(character for character in likely if _matches(leaf, character))
    return found or next((chr(point) for point in range(0x3000) if _matches(leaf, chr(point))), "")


def _characters_for(way: tuple[CharacterClass, ...], number: int) -> str:
    """Return characters for a path of classes; different numbers give different characters, if possible."""
    members = map(_members, way)
    return "".join(
        found[(number + place) % len(found)] if found else "" for place, found in enumerate(members)
    )


@lru_cache(maxsize=16)
def automaton_of(pattern: str) -> PatternAutomaton | None:
    r"""Return the automaton of a pattern; None if its syntax is not supported.

    >>> gpt2 = automaton_of(r"'s| ?\p{L}+| ?\p{N}+|\s+")
    >>> gpt2.holds(" the"), gpt2.holds("the cat"), gpt2.holds("  ")
    (True, False, True)
    """
    from tokbench.formats.set_operations import without_set_operations

    try:
        return PatternAutomaton(without_set_operations(pattern))
    except UnknownSyntaxError:
        return None


def pretokens(pattern: str, text: str) -> list[str]:
    r"""Return the matches of a pattern in a text.

    >>> pretokens(r" ?\p{L}+| ?\p{N}+", "a1")
    ['a', '1']
    """
    import regex

    from tokbench.formats.set_operations import without_set_operations

    return [match.group() for match in regex.finditer(without_set_operations(pattern), text)]
