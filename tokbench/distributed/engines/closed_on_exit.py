"""What all engines are as context managers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType


class ClosedOnExit(ABC):
    """Closes itself at the end of a `with` statement, however that ends."""

    @abstractmethod
    def close(self) -> None:
        """Stop what runs and let the workers go."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
