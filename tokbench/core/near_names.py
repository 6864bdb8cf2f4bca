"""What was probably meant by an unknown name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def near_names(name: str, known: Iterable[str], *, most: int = 1) -> list[str]:
    """The known names that are like a name, the nearest first, whatever their case.

    Args:
        name: as it was given.
        known: the names to choose from; of names that differ in case alone the first one counts.
        most: how many to return at most.

    >>> near_names("gpt5", ["gpt4", "gpt2", "none"], most=2), near_names("x", ["gpt4"])
    (['gpt4', 'gpt2'], [])
    """
    import difflib  # here, as only mistakes need it

    lowered = {each.lower(): each for each in reversed(list(known))}
    return [lowered[near] for near in difflib.get_close_matches(name.lower(), lowered, n=most)]


def meant(name: str, known: Iterable[str], *, otherwise: str = "there are {}") -> str:
    """The hint for an unknown name: the nearest known name, or all of them.

    Args:
        name: as it was given.
        known: the names that there are.
        otherwise: the hint where none is near; "{}" stands for all of them.

    >>> meant("bep", ["bpe", "wordpiece"]), meant("x", ["bpe", "wordpiece"])
    ("did you mean 'bpe'?", 'there are bpe, wordpiece')
    """
    names = list(known)
    near = near_names(name, names)
    return f"did you mean {near[0]!r}?" if near else otherwise.format(", ".join(names))
