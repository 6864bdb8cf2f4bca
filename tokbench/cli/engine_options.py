"""The options that say where the parts of a step run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tokbench.cli.options import parse_bytes
from tokbench.distributed.engines.open import EngineName, open_engine
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from tokbench.distributed.tasks import Engine

PARTS = "Parts and engines"
"""Where help lists them."""

OnOption = Annotated[
    EngineName | None,
    typer.Option(
        rich_help_panel=PARTS,
        help="Write in parts, on an engine: processes of this machine, or workers of Dask or Ray.",
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
class PartChoices:
    """Whether a step is done in parts, and where."""

    on: OnOption = None
    scheduler: SchedulerOption = None
    workers: WorkersOption = None
    part_bytes: PartBytesOption = None

    @property
    def are_given(self) -> bool:
        """Whether it is done in parts. Raises `ConfigError` for options that need that."""
        given = {"--scheduler": self.scheduler, "--workers": self.workers, "--part-bytes": self.part_bytes}
        option = next((name for name, value in given.items() if value is not None), None)
        if self.on is None and option:
            raise ConfigError(f"{option} needs --on", hint="add --on local, or leave it out")
        return self.on is not None

    def open(self) -> Engine:
        """The engine. Raises as `open_engine`."""
        return open_engine(self.on or "local", workers=self.workers, scheduler=self.scheduler)

    def num_bytes(self, default: int) -> int:
        """Of a part. Raises `ConfigError`."""
        return default if self.part_bytes is None else parse_bytes(self.part_bytes, option="--part-bytes")
