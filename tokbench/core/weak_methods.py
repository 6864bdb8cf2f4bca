"""Methods that do not keep their object alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")


def weakly(method: Callable[..., _Result]) -> Callable[..., _Result]:
    """Return a function that calls a bound method as long as its object exists.

    For what an object holds itself: with the method, it would be freed only when Python looks for cycles, which it
    seldom does, and an encoder takes up to hundreds of megabytes.

    >>> class Counter:
    ...     def __init__(self) -> None:
    ...         self.count_words = weakly(self._count)
    ...
    ...     def _count(self, text: str) -> int:
    ...         return len(text.split())
    >>> counter = Counter()
    >>> counter.count_words("some words")
    2
    """
    owner: ref[Any] = ref(method.__self__)  # type: ignore[attr-defined]
    function = method.__func__  # type: ignore[attr-defined]

    def call(*arguments: Any, **options: Any) -> _Result:
        result: _Result = function(owner(), *arguments, **options)
        return result

    return call
