"""What the user asks for when a tokenizer is opened, and what is found out on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from tokbench.core.roles import check_given_roles
from tokbench.core.special_presets import special_preset
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
        special_preset: a well-known set of special tokens, where the file does not say its own; its roles come
            after `roles`.

    Raises:
        ConfigError: there is no such engine, set or role.
    """

    pattern: str | None = None
    special_tokens: Mapping[str, int | None] = field(default_factory=dict)
    engine: str = "auto"
    roles: Mapping[str, str] = field(default_factory=dict)
    special_preset: str | None = None

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ConfigError(
                f"there is no engine {self.engine!r}", hint=f"the engines are {', '.join(ENGINES)}"
            )
        if self.roles != {}:
            check_given_roles(self.roles)
        if self.special_preset is not None:
            special_preset(self.special_preset)

    @property
    def all_roles(self) -> Mapping[str, str]:
        """The roles that the user gives, one by one or by a set."""
        of_set = {} if self.special_preset is None else special_preset(self.special_preset).roles
        return {**of_set, **self.roles}

    def asked_tokens(self, *, num_tokens: int, known: Mapping[str, int]) -> Mapping[str, int | None]:
        """Text → id of the special tokens that the user adds; None for the next free id.

        Args:
            num_tokens: how many tokens the vocabulary has: a set may have ids of its own beside it.
            known: text → id of special tokens that are known already; those of a set keep these ids.
        """
        if self.special_preset is None:
            return self.special_tokens
        of_set = special_preset(self.special_preset).ids(num_tokens)
        return {**{text: known.get(text, id) for text, id in of_set.items()}, **self.special_tokens}

    def takes_nothing(self, what: str) -> None:
        """Refuse options for a file that defines everything itself. Raises `ConfigError`."""
        given = [
            name
            for name, value in (
                ("--pattern", self.pattern),
                ("--special-token", self.special_tokens),
                ("--special-preset", self.special_preset),
            )
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
class Composition:
    """What a file is made of, for those who ask.

    Attributes:
        model: the algorithm, in words.
        parts: the file's parts ("normalizer", "pre_tokenizer", …), in words; None for none.
        merges: how many merges are listed; None where there are none to list.
        pattern: name and text of the split pattern, where it is known.
    """

    model: str
    parts: Mapping[str, str | None] = field(default_factory=dict)
    merges: int | None = None
    pattern: tuple[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A tokenizer and what was found in its files.

    Attributes:
        tokenizer: ready for use.
        source: the format and the files.
        engine: "native" or "library".
        reason: why that engine.
        compose: finds out what the file is made of, once somebody asks.
        added_tokens: text → id of the added tokens that are not special.
        find_warnings: finds out what a user should know of: for `tokbench inspect`, as it takes its time.
    """

    tokenizer: Tokenizer
    source: Source
    engine: str
    reason: str
    compose: Callable[[], Composition]
    added_tokens: Mapping[str, int] = field(default_factory=dict)
    find_warnings: Callable[[], tuple[str, ...]] = tuple

    @property
    def composition(self) -> Composition:
        """What the file is made of."""
        return self.compose()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know of."""
        return self.find_warnings()
