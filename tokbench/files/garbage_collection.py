"""A pause of Python's garbage collection, while the many objects of a vocabulary are created or work is timed."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Pause the collection, if it is not paused, until the block ends.

    A collection looks at every list and dictionary. The half million merges of a large vocabulary, each of them a list,
    are looked at again and again while others are created: that takes as long as parsing them.

    >>> with paused_garbage_collection():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
