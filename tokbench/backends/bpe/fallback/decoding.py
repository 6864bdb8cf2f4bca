"""Decoding: the bytes of ids, one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Decoder:
    """See `tokbench.backends.bpe.kernel.Decoder`."""

    def __init__(self, entries: list[bytes]) -> None:
        self._known = {id: entry for id, entry in enumerate(entries) if entry}

    def decode(self, ids: NDArray[np.uint32], threads: int = 1) -> bytes:
        del threads
        try:
            return b"".join(map(self._known.__getitem__, ids.tolist()))
        except KeyError:
            position, id = next((i, id) for i, id in enumerate(ids.tolist()) if id not in self._known)
            raise ValueError(f"id {id} at position {position} is not in the vocabulary") from None
