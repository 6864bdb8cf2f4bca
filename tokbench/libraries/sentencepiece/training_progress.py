"""How far SentencePiece's training is, as its log tells it."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIZE = re.compile(rb"\b(?:merges|freq=\d+ size)=(\d+)")
_ROUND = re.compile(rb"\bsub_iter=(\d+) size=(\d+)")

_MORE_THAN_WANTED = 1.1
"""The library prunes to a tenth more pieces than are wanted, and takes the best of them."""
_ROUNDS, _KEPT = "2", "0.75"
"""The default of the library."""


class AddedPieces:
    """The training of a BPE, which adds pieces until there are this many.

    >>> steps = AddedPieces(700)
    >>> steps.read(b"Added: freq=36 size=620 all=100 active=70 piece=ab")
    >>> steps.place, steps.unit
    ((620, 700), 'pieces')
    """

    unit = "pieces"

    def __init__(self, total: int) -> None:
        self.place: tuple[int, int | None] = (0, total)
        self._total = total

    def read(self, line: bytes) -> None:
        """A line of the log."""
        if found := _SIZE.search(line):
            done = int(found[1])
            self.place = done, self._total if done <= self._total else None


class PruningRounds:
    """The training of a Unigram: some rounds of EM, then a share of the pieces is taken away, and so on.

    How many pieces there are at first is known from the first round on; how many rounds are left is computed anew
    with each, because more pieces than that share fall away where they are not used.

    >>> steps = PruningRounds(1000, {"num_sub_iterations": "2", "shrinking_factor": "0.75"})
    >>> steps.place
    (0, None)
    >>> steps.read(b"EM sub_iter=0 size=2000 obj=15.4")
    >>> steps.place, steps.unit
    ((1, 6), 'rounds')
    """

    unit = "rounds"

    def __init__(self, vocab_size: int, arguments: Mapping[str, str]) -> None:
        """A training that has not begun, by the options of the library."""
        self.place: tuple[int, int | None] = (0, None)
        self._wanted = max(int(vocab_size * _MORE_THAN_WANTED), 1)
        self._rounds = int(arguments.get("num_sub_iterations", _ROUNDS))
        self._kept = float(arguments.get("shrinking_factor", _KEPT))

    def read(self, line: bytes) -> None:
        """A line of the log."""
        if found := _ROUND.search(line):
            self.end_round(int(found[1]), size=int(found[2]))

    def end_round(self, number: int, *, size: int) -> None:
        """Round `number` since the last pruning has left this many pieces."""
        done = self.place[0] + 1
        left = self._rounds_left(number, size=size)
        self.place = done, None if left is None else done + left

    def _rounds_left(self, number: int, *, size: int) -> int | None:
        """Those after round `number` since the last pruning; None where nothing is ever taken away."""
        if not 0 < self._kept < 1:
            return None
        prunings = math.ceil(math.log(max(size / self._wanted, 1)) / -math.log(self._kept))
        # After the last pruning there is none.
        return max(self._rounds - 1 - number, 0) + self._rounds * max(prunings - 1, 0)
