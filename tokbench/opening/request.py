"""What the user asks for when a tokenizer is opened, and what is found out on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokbench.core.interfaces import Tokenizer
    from tokbench.opening.recognition import Source

Engine = Literal["auto", "native", "library"]
ENGINES: tuple[str, ...] = get_args(Engine)


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """What the user adds to a file.

    Attributes:
        pattern: a name or a regular expression, where the file does not say how text is split.
        special_tokens: text → id where the file does not say; None for the next free id.
        engine: one of `ENGINES`.
        roles: what a special token is to a model → its text; before what the files say.

    Raises:
        ConfigError: there is no such engine.
    """

    pattern: str | None = None
    special_tokens: Mapping[str, int | None] = field(default_factory=dict)
    engine: str = "auto"
    roles: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ConfigError(
                f"there is no engine {self.engine!r}", hint=f"the engines are {', '.join(ENGINES)}"
            )

    def takes_nothing(self, what: str) -> None:
        """Refuse options for a file that defines everything itself. Raises `ConfigError`."""
        given = [
            name
            for name, value in (("--pattern", self.pattern), ("--special-token", self.special_tokens))
            if value
        ]
        if given:
            raise ConfigError(
                f"{what} already defines what {' and '.join(given)} would set",
                hint="leave the option out: it is for rank files and other bare vocabularies",
            )

    def refuses(self, engine: str, reason: str) -> None:
        """Raise `ConfigError` where the user demands an engine that cannot be had."""
        if self.engine == engine:
            other = "library" if engine == "native" else "native"
            raise ConfigError(
                f"--engine {engine} cannot run this tokenizer: {reason}",
                hint=f"--engine {other} can run it; auto chooses an engine that can",
            )


@dataclass(frozen=True, slots=True)
class Opened:
    """A tokenizer and what was found in its files.

    Attributes:
        tokenizer: ready for use.
        source: the format and the files.
        model: the algorithm, in words.
        engine: "native" or "library".
        reason: why that engine.
        parts: the file's parts ("normalizer", "pre_tokenizer", …), in words; None for none.
        merges: how many merges are listed; None where there are none to list.
        added_tokens: text → id of the added tokens that are not special.
        pattern: name and text of the split pattern, where it is known.
        find_warnings: finds out what a user should know of: for `tokbench inspect`, as it takes its time.
    """

    tokenizer: Tokenizer
    source: Source
    model: str
    engine: str
    reason: str
    parts: Mapping[str, str | None] = field(default_factory=dict)
    merges: int | None = None
    added_tokens: Mapping[str, int] = field(default_factory=dict)
    pattern: tuple[str, str | None] | None = None
    find_warnings: Callable[[], tuple[str, ...]] = tuple

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know of."""
        return self.find_warnings()
