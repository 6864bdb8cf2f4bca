"""Which texts of a set occur within others of it, in time linear in their characters."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def contained_texts(texts: Iterable[str]) -> set[str]:
    """The texts that occur within a longer one of the same set.

    By the automaton of Aho and Corasick, "Efficient string matching" (1975): a tree of all texts in which each node
    knows its longest proper suffix that is a node, too.

    Args:
        texts: of one character or more each.

    >>> sorted(contained_texts(["<a>", "a", "<b>", "b>"]))
    ['a', 'b>']
    """
    children: list[dict[str, int]] = [{}]
    ends: dict[int, str] = {}
    for text in texts:
        node = 0
        for character in text:
            if character not in children[node]:
                children[node][character] = len(children)
                children.append({})
            node = children[node][character]
        ends[node] = text

    # A text is within a longer one where it ends at a node that goes on, or at the longest suffix of a node. Shorter
    # suffixes need no look: they are the longest suffix of a suffix, which is a node itself.
    contained = {text for node, text in ends.items() if children[node]}
    suffixes = [0] * len(children)
    waiting = deque([0])
    while waiting:
        node = waiting.popleft()
        if suffixes[node] in ends:
            contained.add(ends[suffixes[node]])
        for character, child in children[node].items():
            waiting.append(child)
            suffix = suffixes[node]
            while suffix and character not in children[suffix]:
                suffix = suffixes[suffix]
            suffixes[child] = children[suffix].get(character, 0) if node else 0
    return contained
