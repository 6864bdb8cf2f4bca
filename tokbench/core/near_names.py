"""What was probably meant by a name that there is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def meant(name: str, known: Iterable[str], *, otherwise: str = "there are {}") -> str:
    """The hint for a name that is none of those there are: the nearest, or all of them.

    Args:
        name: as it was given.
        known: those that there are.
        otherwise: what is said where none is near; "{}" stands for all of them.

    >>> meant("bep", ["bpe", "wordpiece"]), meant("x", ["bpe", "wordpiece"])
    ("did you mean 'bpe'?", 'there are bpe, wordpiece')
    """
    import difflib  # here, as only mistakes need it

    names = list(known)
    lowered = {each.lower(): each for each in reversed(names)}
    close = difflib.get_close_matches(name.lower(), lowered, n=1)
    return f"did you mean {lowered[close[0]]!r}?" if close else otherwise.format(", ".join(names))
