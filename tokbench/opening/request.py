"""The user's options for opening a tokenizer, and the result of opening it."""

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
    """Options that the user gives for a file.

    Attributes:
        pattern: name of a split pattern or a regular expression, for files that do not define how text is split.
        special_tokens: text → id of special tokens that the file does not define; None takes the next free id.
        engine: one of `ENGINES`.
        roles: role → text of its special token; overrides what the files say.
        special_preset: name of a well-known set of special tokens, for files that define none of their own; `roles`
            overrides its roles.

    Raises:
        ConfigError: the engine, preset or role does not exist.
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
        """Role → text of the preset's roles, overridden by those that the user assigns."""
        of_set = {} if self.special_preset is None else special_preset(self.special_preset).roles
        return {**of_set, **self.roles}

    def asked_tokens(self, *, num_tokens: int, known: Mapping[str, int]) -> Mapping[str, int | None]:
        """Return text → id of the special tokens that the user adds; None takes the next free id.

        Args:
            num_tokens: the size of the vocabulary; the ids of a preset may depend on it.
            known: text → id of the special tokens already known; tokens of the preset keep these ids.
        """
        if self.special_preset is None:
            return self.special_tokens
        of_set = special_preset(self.special_preset).ids(num_tokens)
        return {**{text: known.get(text, id) for text, id in of_set.items()}, **self.special_tokens}

    def refuse_options(self, what: str) -> None:
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

    def refuse_engine(self, engine: str, reason: str) -> None:
        """Raise `ConfigError` if the user demands this engine, which cannot run the tokenizer."""
        if self.engine == engine:
            other = "library" if engine == "native" else "native"
            raise ConfigError(
                f"--engine {engine} cannot run this tokenizer: {reason}",
                hint=f"--engine {other} can run it; auto chooses an engine that can",
            )


@dataclass(frozen=True, slots=True)
class Composition:
    """The components of an opened file, in words.

    Attributes:
        model: the algorithm, in words.
        parts: component ("normalizer", "pre_tokenizer", …) → its description; None if the file has no such component.
        merges: the number of merges; None if the file lists none.
        pattern: name and text of the split pattern, if known.
    """

    model: str
    parts: Mapping[str, str | None] = field(default_factory=dict)
    merges: int | None = None
    pattern: tuple[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened tokenizer with what was learned from its files.

    Attributes:
        tokenizer: the tokenizer.
        source: the recognized format and files.
        engine: "native" or "library".
        reason: why that engine runs it.
        compose: computes `composition` on demand.
        added_tokens: text → id of the added tokens that are not special.
        find_warnings: computes `warnings` on demand, as that takes time; used by `tokbench inspect`.
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
        """The components of the file."""
        return self.compose()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What users should know about the file, one sentence each."""
        return self.find_warnings()
