"""Options for the engine of a tokenizer, and for work in parts."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from tokbench.cli.options import first_given, parse_bytes
from tokbench.cli.tokenizer_options import VocabularyChoices
from tokbench.distributed.corpus_plan import PART_BYTES
from tokbench.distributed.engines.open import EngineName, InProcessEngine, open_engine
from tokbench.distributed.plan_folder import parse_share, resume_reported
from tokbench.errors import ConfigError
from tokbench.opening.request import Engine as TokenizerEngine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.distributed.tasks import Engine
    from tokbench.opening.request import OpenRequest
    from tokbench.workbench.evaluation_parts import EvaluationWork
    from tokbench.workbench.open import NamedTokenizer

PARTS = "Work in parts"
"""Where help lists them."""
_OF_PARTS = {"engine", "scheduler", "workers", "part_bytes", "parts", "part", "resume"}


class EngineChoice(StrEnum):
    """The engines of tokenizers and of work in parts."""

    auto = "auto"
    native = "native"
    library = "library"
    local = "local"
    dask = "dask"
    ray = "ray"


WorkEngineOption = Annotated[
    EngineName | None,
    typer.Option(
        rich_help_panel=PARTS,
        help="What runs the parts: processes of this machine (local), Dask or Ray; by default this process, with "
        "all its threads.",
    ),
]


@dataclass(frozen=True, slots=True)
class PartedOpeningChoices(VocabularyChoices):
    """Options for opening a tokenizer in commands that can work in parts."""

    engine: Annotated[
        list[EngineChoice] | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=PARTS,
            help="What runs the tokenizer (auto, native or library) or the parts (local, dask or ray); repeatable.",
        ),
    ] = None

    def request(self) -> OpenRequest:
        """Return the request for opening the tokenizer. Raises `ConfigError`."""
        engine = self._one_of(get_args(TokenizerEngine), what="the tokenizer")
        return replace(VocabularyChoices.request(self), engine=engine or "auto")

    @property
    def of_work(self) -> EngineName | None:
        """Return the engine for parts; None if the work is not done in parts. Raises `ConfigError`."""
        return cast("EngineName | None", self._one_of(get_args(EngineName), what="the work"))

    def named(self, names: Sequence[str]) -> list[NamedTokenizer]:
        """Return the tokenizers as workers open them. Raises `ConfigError`."""
        from tokbench.workbench.open import NamedTokenizer

        return [NamedTokenizer.of(name, self.request()) for name in names]

    def without_work(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a command without those for parts, on which figures do not depend."""
        engine = self._one_of(get_args(TokenizerEngine), what="the tokenizer")
        others = {name: value for name, value in arguments.items() if name not in _OF_PARTS}
        return others if engine is None else {**others, "engine": engine}

    def _one_of(self, names: tuple[str, ...], *, what: str) -> str | None:
        found = [one.value for one in self.engine or () if one.value in names]
        if len(found) > 1:
            raise ConfigError(
                f"--engine {found[0]} and {found[1]} are both for {what}", hint="give one of them"
            )
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class PartChoices:
    """Where parts are processed, and their size."""

    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=PARTS,
            help="The cluster, as tcp://host:8786 (dask) or host:6379 (ray); by default one is started here.",
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=PARTS,
            help="The number of processes to start here, by default one for each processor.",
        ),
    ] = None
    part_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            rich_help_panel=PARTS,
            help="The size of a part, by default 1GB of the corpus files.",
        ),
    ] = None

    def refuse(self) -> None:
        """Raise `ConfigError` if one of these options is given without work in parts."""
        given = {"--scheduler": self.scheduler, "--workers": self.workers, "--part-bytes": self.part_bytes}
        if option := first_given(given):
            raise ConfigError(
                f"{option} is for work in parts", hint="add --engine local, dask or ray, or leave it out"
            )

    def open(self, engine: EngineName | None, *, threads: int | None = None) -> Engine:
        """Open an engine, or this process with its threads. Raises like `open_engine`."""
        if engine is None:
            return InProcessEngine(threads=threads or os.cpu_count() or 1)
        return open_engine(engine, workers=self.workers, scheduler=self.scheduler)

    def num_bytes(self, default: int) -> int:
        """Return the size of a part in bytes. Raises `ConfigError`."""
        return default if self.part_bytes is None else parse_bytes(self.part_bytes, option="--part-bytes")


@dataclass(frozen=True, slots=True)
class EvaluationChoices(PartChoices):
    """Options for evaluations in parts, whose counts can be kept and computed by several processes."""

    parts: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=PARTS,
            help="The folder or URL for the counts of each part, writable by all workers; by default a "
            "temporary folder on this machine.",
        ),
    ] = None
    part: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            rich_help_panel=PARTS,
            help="Count only every N-th part, from the I-th on, into --parts and without an engine: for "
            "job arrays. Afterwards, add up all parts with --resume.",
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            rich_help_panel=PARTS,
            help="Continue a run with --parts that was interrupted, or was made with --part.",
        ),
    ] = False

    @contextmanager
    def work(
        self, engine: EngineName | None, named: Sequence[NamedTokenizer], *, threads: int | None
    ) -> Iterator[EvaluationWork | None]:
        """Return the options for work in parts, or None if it is not done in parts.

        Args:
            engine: what runs the parts, where that was said.
            named: how workers open the tokenizers.
            threads: for this process.

        Raises:
            ConfigError: options that contradict each other.
            BackendUnavailableError, DistributedError: as `open_engine`.
        """
        if engine is None and self.parts is None:
            self._refuse_without_folder()
            self.refuse()
            yield None
            return
        from tokbench.workbench.evaluation_parts import EvaluationWork

        share = None if self.part is None else parse_share(self.part)
        self._refuse_contradictions(engine, threads=threads)
        # Counts are also kept while figures are computed and drawn; those in a temporary folder are not.
        reported = nullcontext() if self.parts is None else resume_reported(share=share)
        with reported, self.open(engine, threads=threads) as running:
            yield EvaluationWork(
                running,
                tuple(named),
                folder=self.parts,
                part_bytes=self.num_bytes(PART_BYTES),
                resume=self.resume,
                share=share,
            )

    def refuse_several(self) -> None:
        """Raise `ConfigError` if several tokenizers are evaluated separately but share one folder of parts."""
        if self.parts is not None:
            raise ConfigError("--parts keeps the counts of one tokenizer", hint="name one tokenizer with -t")

    def _refuse_without_folder(self) -> None:
        if option := first_given({"--part": self.part, "--resume": self.resume}):
            raise ConfigError(f"{option} needs a folder of parts", hint="name it with --parts")

    def _refuse_contradictions(self, engine: EngineName | None, *, threads: int | None) -> None:
        if self.parts is None:
            self._refuse_without_folder()
        if self.parts is None and self.scheduler is not None:
            raise ConfigError(
                "workers of a cluster need a folder that all of them can write to",
                hint="name it with --parts",
            )
        if engine is None and (self.scheduler, self.workers) != (None, None):
            raise ConfigError(
                "--scheduler and --workers are for an engine", hint="add --engine local, dask or ray"
            )
        if engine is not None:
            refuse_threads(threads)
        if self.part is not None:
            refuse_beside_share({"an engine": engine, "--resume": self.resume})


def refuse_threads(threads: int | None) -> None:
    """Raise `ConfigError` if threads are chosen for parts that other processes count."""
    if threads is not None:
        raise ConfigError(
            "--threads does not apply to the processes that count the parts",
            hint="set the number of processes with --workers",
        )


def refuse_beside_share(options: Mapping[str, object]) -> None:
    """Raise `ConfigError` if one of these options is given, by its name with its value, beside --part."""
    if given := first_given(options):
        raise ConfigError(
            f"--part counts some parts in this process, and {given} is for all of them",
            hint="leave one of them out; after the last --part, --resume adds up all parts",
        )


def reading_once(corpus: Corpus, work: EvaluationWork | None) -> AbstractContextManager[None]:
    """Keep a corpus in memory if it is read by this process, because pictures read it again."""
    return corpus.in_memory() if work is None else nullcontext()


def counts_share(
    work: EvaluationWork | None,
    corpus: Corpus,
    tokenizers: Sequence[Tokenizer],
    *,
    means: bool,
    progress: Progress,
) -> bool:
    """Count the parts of --part, and report them on stderr with the next step; False without that option.

    Raises as `tokbench.workbench.evaluation_parts.evaluate_share`.
    """
    if work is None or work.share is None:
        return False
    from tokbench.workbench.evaluation_parts import evaluate_share

    num_parts = evaluate_share(corpus, tokenizers, work, means=means, progress=progress)
    counted = sum(map(work.share.has, range(num_parts)))
    print(
        f"note: {counted} of {num_parts} parts are counted in {work.folder}; --resume adds up all parts",
        file=sys.stderr,
    )
    return True
