"""The progress of SentencePiece's training, tracked by its log."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIZE = re.compile(rb"\b(?:merges|freq=\d+ size)=(\d+)")
_ROUND = re.compile(rb"\bsub_iter=(\d+) size=(\d+)")

_MORE_THAN_WANTED = 1.1
"""The factor by which the library's pruning leaves more pieces than requested; it keeps the best of them."""
_ROUNDS, _KEPT = "2", "0.75"
"""The library's defaults."""


class AddedPieces:
    """The progress of a BPE training, which adds pieces until there are `total` of them.

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
        """Update the progress by a line of the log."""
        if match := _SIZE.search(line):
            done = int(match[1])
            self.place = done, self._total if done <= self._total else None


class PruningRounds:
    """The progress of a Unigram training, which alternates some rounds of EM with pruning a share of the pieces.

    The initial number of pieces is known after the first round. The number of remaining rounds is recomputed after each
    round, because unused pieces are removed in addition to that share.

    >>> steps = PruningRounds(1000, {"num_sub_iterations": "2", "shrinking_factor": "0.75"})
    >>> steps.place
    (0, None)
    >>> steps.read(b"EM sub_iter=0 size=2000 obj=15.4")
    >>> steps.place, steps.unit
    ((1, 6), 'rounds')
    """

    unit = "rounds"

    def __init__(self, vocab_size: int, arguments: Mapping[str, str]) -> None:
        """Create the progress of a training with the library's options that has not begun."""
        self.place: tuple[int, int | None] = (0, None)
        self._wanted = max(int(vocab_size * _MORE_THAN_WANTED), 1)
        self._rounds = int(arguments.get("num_sub_iterations", _ROUNDS))
        self._kept = float(arguments.get("shrinking_factor", _KEPT))

    def read(self, line: bytes) -> None:
        """Update the progress by a line of the log."""
        if match := _ROUND.search(line):
            self.end_round(int(match[1]), size=int(match[2]))

    def end_round(self, number: int, *, size: int) -> None:
        """Update the progress after round `number` since the last pruning, which left `size` pieces."""
        done = self.place[0] + 1
        left = self._rounds_left(number, size=size)
        self.place = done, None if left is None else done + left

    def _rounds_left(self, number: int, *, size: int) -> int | None:
        """Return the number of rounds after round `number` since the last pruning; None if pruning removes nothing."""
        if not 0 < self._kept < 1:
            return None
        prunings = math.ceil(math.log(max(size / self._wanted, 1)) / -math.log(self._kept))
        # No rounds follow the last pruning.
        return max(self._rounds - 1 - number, 0) + self._rounds * max(prunings - 1, 0)
