"""Assess the exchange of a model's tokenizer for another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.core.truncation import check_number
from tokbench.corpus import bundled_corpus
from tokbench.errors import ConfigError
from tokbench.evaluation.candidates import Candidate
from tokbench.evaluation.comparison import compare_candidates
from tokbench.evaluation.corpus_scan import CorpusScan
from tokbench.evaluation.holdout import Documents
from tokbench.files.atomic import write_folder
from tokbench.metrics.bootstrap import Interval
from tokbench.surgery.id_map import InitialRows
from tokbench.surgery.losing_texts import losing_texts
from tokbench.surgery.model_files import check_place, config_patch, model_files
from tokbench.surgery.shared_tokens import OldTokens, shared_tokens
from tokbench.workbench.compare import alignment_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.costs import Model
    from tokbench.opening.request import Opened, OpenRequest
    from tokbench.surgery.losing_texts import LosingText
    from tokbench.surgery.shared_tokens import SharedTokens

FIGURES = ("bytes_per_token", "tokens_per_word", "character_coverage", "unk_rate", "renyi_efficiency")


@dataclass(frozen=True, slots=True)
class GroupChange:
    """The tokens of a group of texts before and after.

    Attributes:
        group: a language, a programming language, a folder.
        old_tokens: before.
        new_tokens: after.
        interval: 95 % of their ratio, over the same resamples of both; None where the texts are too few.
        old_context: characters that fit into the context before; None where no context is given.
        new_context: the same after.
    """

    group: str
    old_tokens: int
    new_tokens: int
    interval: Interval | None
    old_context: float | None
    new_context: float | None

    @property
    def ratio(self) -> float | None:
        """New tokens over old ones."""
        return self.new_tokens / self.old_tokens if self.old_tokens else None

    def to_json(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {
            "old_tokens": self.old_tokens,
            "new_tokens": self.new_tokens,
            "ratio": self.ratio,
            "ratio_interval": None if self.interval is None else list(self.interval),
            "old_context_chars": self.old_context,
            "new_context_chars": self.new_context,
        }


@dataclass(frozen=True, slots=True)
class MigrateResult:
    """What changes with the tokenizer.

    Attributes:
        shared: the tokens that mean the same.
        decomposed: new tokens whose rows begin from the old tokens that spell them.
        unknown: new tokens of which nothing is known.
        groups: the change of each, what grows most first.
        texts: the documents that grow most.
        comparison: figures before and after.
        patch: of the model's configuration.
        out: the folder that was written; None where none was asked for.
        files: name → bytes.
    """

    shared: SharedTokens
    decomposed: int
    unknown: int
    groups: tuple[GroupChange, ...]
    texts: tuple[LosingText, ...]
    comparison: Comparison
    patch: Mapping[str, Any]
    out: Path | None
    files: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        from tokbench.evaluation.comparison_json import comparison_document
        from tokbench.metrics.catalogue import metrics_named

        return {
            "schema": "tokbench.migrate/1",
            "tokens": self.shared.to_json(),
            "rows": {
                "copied": self.shared.same_id + self.shared.moved + len(self.shared.by_role),
                "decomposed": self.decomposed,
                "unknown": self.unknown,
            },
            "groups": {change.group: change.to_json() for change in self.groups},
            "texts": [text.to_json() for text in self.texts],
            "comparison": comparison_document(self.comparison, metrics=metrics_named(FIGURES)),
            "config_patch": dict(self.patch),
            "out": None if self.out is None else str(self.out),
            "files": dict(self.files),
        }


def migrate(
    old: str | Path,
    new: str | Path,
    *,
    corpus: Corpus | None = None,
    model: Model | None = None,
    request: OpenRequest | None = None,
    out: Path | None = None,
    pad_multiple: int = 64,
    overwrite: bool = False,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> MigrateResult:
    """Compare a model's tokenizer with the one to change to.

    Args:
        old: what `-t` takes.
        new: likewise.
        corpus: the text that they are compared on, by default the bundled texts.
        model: what is known of the model: its context, its price.
        request: how they are opened; what is for bare vocabularies goes to the one that needs it.
        out: a folder for the files that the model needs; None writes nothing.
        pad_multiple: the embedding that config_patch.json asks for has a multiple of this many rows.
        overwrite: whether to replace a folder that this wrote.
        threads: for encoding; None takes every processor.
        seed: draws the resamples.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: options that cannot be used.
        CorpusError, TextError: the corpus cannot be read or encoded.
        StoreError, ModelFormatError: a tokenizer cannot be opened, or the folder not written.
    """
    check_number("seed", seed, smallest=0, optional=False)
    if out is not None:
        check_place(out, overwrite=overwrite)
    before, after = open_both((old, new), request, progress=progress)
    shared = shared_tokens(before.tokenizer, after.tokenizer)
    special = set(after.tokenizer.info.special_tokens.values())
    made = OldTokens(before.tokenizer).making(
        {id: after.tokenizer.token_bytes(id) for id in shared.only_new if id not in special}
    )
    rows = InitialRows.of(shared.id_map, made)
    patch = config_patch(before, after.tokenizer, shared.id_map, pad_multiple=pad_multiple)
    text = corpus or bundled_corpus()
    with text.in_memory():
        scan = CorpusScan(Documents(text))
        comparison = compare_candidates(
            [Candidate(before.tokenizer), Candidate(after.tokenizer)],
            scan,
            alignment=alignment_of(text, scan, progress=progress),
            model=model,
            times=False,
            threads=threads,
            seed=seed,
            progress=progress,
        )
        texts = losing_texts(before.tokenizer, after.tokenizer, scan, threads=threads, progress=progress)
    files = {} if out is None else model_files(shared.id_map, rows, patch)
    if out is not None:
        write_folder(out, files, replace=overwrite)
    decomposed = sum(map(bool, made.values()))
    return MigrateResult(
        shared=shared,
        decomposed=decomposed,
        unknown=len(shared.only_new) - decomposed,
        groups=_changes(comparison),
        texts=texts,
        comparison=comparison,
        patch=patch,
        out=out,
        files={name: len(data) for name, data in files.items()},
    )


def open_both(
    names: Sequence[str | Path], request: OpenRequest | None, *, progress: Progress
) -> list[Opened]:
    """Open two tokenizers; options for bare vocabularies are not applied to one that defines everything itself.

    Raises:
        ConfigError: neither takes what was added, or one needs it and cannot use it.
    """
    from tokbench.opening.request import OpenRequest
    from tokbench.workbench.open import find_and_open

    asked = request or OpenRequest()
    bare = OpenRequest(engine=asked.engine)
    opened, refused = [], []
    for name in names:
        try:
            opened.append(find_and_open(name, asked, progress=progress))
        except ConfigError as error:
            refused.append(error)
            if asked == bare or len(refused) == len(names):
                raise
            try:
                opened.append(find_and_open(name, bare, progress=progress))
            except ConfigError:
                raise error from None
    return opened


def _changes(comparison: Comparison) -> tuple[GroupChange, ...]:
    """The change of each group, what grows most first."""
    before, after = comparison.tokenizers
    found = []
    for group, tally in before.evaluation.groups.items():
        # Bytes are the same, so that tokens change as the inverse of bytes per token.
        relative = after.groups[group]["bytes_per_token"].difference_interval
        costs = (one.cost.groups[group].context_chars for one in (before, after))
        found.append(
            GroupChange(
                group,
                int(tally["tokens"]),
                int(after.evaluation.groups[group]["tokens"]),
                None if relative is None else Interval(1 / (1 + relative.high), 1 / (1 + relative.low)),
                *costs,
            )
        )
    return tuple(sorted(found, key=lambda change: (-(change.ratio or 0), change.group)))
