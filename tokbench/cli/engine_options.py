"""The options that say what runs a step: the tokenizer, and the parts of the work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from tokbench.cli.options import parse_bytes
from tokbench.cli.tokenizer_options import VocabularyChoices
from tokbench.distributed.engines.open import EngineName, open_engine
from tokbench.errors import ConfigError
from tokbench.opening.request import Engine as TokenizerEngine

if TYPE_CHECKING:
    from tokbench.distributed.tasks import Engine
    from tokbench.opening.request import OpenRequest

PARTS = "Work in parts"
"""Where help lists them."""


class EngineChoice(StrEnum):
    """The engines of tokenizers, and those of the work."""

    auto = "auto"
    native = "native"
    library = "library"
    local = "local"
    dask = "dask"
    ray = "ray"


EnginesOption = Annotated[
    list[EngineChoice] | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=PARTS,
        help="What runs it: auto, native or library for the tokenizer; local, dask or ray for the work in parts. "
        "Repeatable.",
    ),
]
WorkEngineOption = Annotated[
    EngineName | None,
    typer.Option(
        rich_help_panel=PARTS,
        help="What runs the parts: processes of this machine (local), Dask or Ray; by default this process, with "
        "all its threads.",
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        rich_help_panel=PARTS,
        help="The cluster, as tcp://host:8786 (dask) or host:6379 (ray); by default one is started here.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        rich_help_panel=PARTS,
        help="The number of processes to start here, by default one for each processor.",
    ),
]
PartBytesOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", rich_help_panel=PARTS, help="The size of a part, by default 1GB of the corpus' files."
    ),
]


@dataclass(frozen=True, slots=True)
class PartedOpeningChoices(VocabularyChoices):
    """How a tokenizer is opened by a command that can work in parts, and what runs both."""

    engine: EnginesOption = None

    def request(self) -> OpenRequest:
        """What is asked for of the tokenizer. Raises `ConfigError`."""
        engine = self._one_of(get_args(TokenizerEngine), what="the tokenizer")
        return replace(VocabularyChoices.request(self), engine=engine or "auto")

    @property
    def of_work(self) -> EngineName | None:
        """What runs the parts; None for work that is not done in parts. Raises `ConfigError`."""
        return cast("EngineName | None", self._one_of(get_args(EngineName), what="the work"))

    def _one_of(self, names: tuple[str, ...], *, what: str) -> str | None:
        found = [one.value for one in self.engine or () if one.value in names]
        if len(found) > 1:
            raise ConfigError(
                f"--engine {found[0]} and {found[1]} are both for {what}", hint="give one of them"
            )
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class PartChoices:
    """Where parts are worked on, and how large they are."""

    scheduler: SchedulerOption = None
    workers: WorkersOption = None
    part_bytes: PartBytesOption = None

    def refuse(self) -> None:
        """Raise `ConfigError` where one is given and the work is not done in parts."""
        given = {"--scheduler": self.scheduler, "--workers": self.workers, "--part-bytes": self.part_bytes}
        option = next((name for name, value in given.items() if value is not None), None)
        if option:
            raise ConfigError(
                f"{option} is for work in parts", hint="add --engine local, dask or ray, or leave it out"
            )

    def open(self, engine: EngineName) -> Engine:
        """The engine. Raises as `open_engine`."""
        return open_engine(engine, workers=self.workers, scheduler=self.scheduler)

    def num_bytes(self, default: int) -> int:
        """Of a part. Raises `ConfigError`."""
        return default if self.part_bytes is None else parse_bytes(self.part_bytes, option="--part-bytes")
