"""Remove tokens from a vocabulary: choose them, prove the result, and measure the cost on text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.core.truncation import check_number
from tokbench.core.wording import counted
from tokbench.corpus import bundled_corpus
from tokbench.errors import ConfigError
from tokbench.evaluation.candidates import Candidate
from tokbench.evaluation.comparison import compare_candidates
from tokbench.evaluation.corpus_scan import CorpusScan
from tokbench.evaluation.holdout import Documents
from tokbench.surgery.id_map import IdMap, InitialRows
from tokbench.surgery.model_files import check_place
from tokbench.surgery.pruning import pruning_of
from tokbench.surgery.selection import of_scripts
from tokbench.surgery.token_usage import TokenUsage
from tokbench.workbench.changed_vocabulary import Clock, samples, write_changed
from tokbench.workbench.compare import alignment_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.evaluation.comparison import Comparison
    from tokbench.opening.request import OpenRequest
    from tokbench.surgery.contents import Algorithm
    from tokbench.surgery.leaves import Removal
    from tokbench.surgery.pruned_tokenizer import PruningProofs
    from tokbench.workbench.changed_vocabulary import ChangedVocabulary

FIGURES = ("bytes_per_token", "tokens_per_word", "vocab_utilization", "renyi_efficiency")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which tokens to remove; selected ones go first.

    Attributes:
        size: how many tokens stay, special tokens included.
        min_count: tokens that occur less often go.
        drop_scripts: tokens with a letter of these scripts go.
        keep_scripts: tokens with a letter of another script go.
        ids: these go.

    Raises:
        ConfigError: nothing is chosen.
    """

    size: int | None = None
    min_count: int | None = None
    drop_scripts: Collection[str] = ()
    keep_scripts: Collection[str] | None = None
    ids: Collection[int] = ()

    def __post_init__(self) -> None:
        if not (self.by_frequency or self.drop_scripts or self.keep_scripts is not None or self.ids):
            raise ConfigError(
                "nothing selects tokens to remove",
                hint="--size or --min-count with --corpus, --script, --keep-script or --list",
            )

    @property
    def by_frequency(self) -> bool:
        """Whether it needs to be known how often each token occurs."""
        return self.size is not None or self.min_count is not None

    def selected(self, tokens: Mapping[int, bytes]) -> frozenset[int]:
        """The tokens that it names, whatever their frequency. Raises `ConfigError` for an id that there is not."""
        for id in self.ids:
            if id not in tokens:
                raise ConfigError(
                    f"there is no ordinary token {id}", hint="--list names ids of the vocabulary"
                )
        by_script = of_scripts(tokens, drop=self.drop_scripts, keep=self.keep_scripts)
        return by_script | frozenset(self.ids)


@dataclass(frozen=True, slots=True)
class PruneResult:
    """A vocabulary that was pruned, proved and written.

    Attributes:
        change: the tokenizer before and after, and what was written.
        algorithm: what the tokenizer is, as `surgery.contents` calls it.
        kept: how many tokens always stay.
        removal: what went, and what was selected and stays.
        comparison: figures before and after.
        proofs: what was checked before anything was written.
    """

    change: ChangedVocabulary
    algorithm: Algorithm
    kept: int
    removal: Removal
    comparison: Comparison
    proofs: PruningProofs

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        from tokbench.evaluation.comparison_json import comparison_document
        from tokbench.metrics.catalogue import metrics_named

        return self.change.to_json(
            "tokbench.prune/1",
            algorithm=self.algorithm,
            removed=len(self.removal.ids),
            kept=self.kept,
            needed=list(self.removal.needed),
            fixed=list(self.removal.fixed),
            comparison=comparison_document(self.comparison, metrics=metrics_named(FIGURES)),
            proofs=self.proofs.to_json(),
        )


def prune(
    name: str | Path,
    out: Path,
    choice: Choice,
    *,
    corpus: Corpus | None = None,
    request: OpenRequest | None = None,
    pad_multiple: int = 64,
    overwrite: bool = False,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> PruneResult:
    """Remove tokens from a vocabulary, prove what is left, and write it with a map of the ids.

    Args:
        name: what `-t` takes.
        out: the folder to write.
        choice: which tokens go.
        corpus: on which tokens are counted, and both tokenizers evaluated; by default the bundled texts, and for
            those nothing is counted.
        request: how the tokenizer is opened.
        pad_multiple: the embedding that config_patch.json asks for has a multiple of this many rows.
        overwrite: whether to replace a folder that this wrote.
        threads: for encoding; None takes every processor.
        seed: draws resamples and the generated texts of the proof.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: nothing to go by, or fewer tokens than must stay.
        ConversionError: nothing is known to take the place of its tokens, or a proof does not hold.
        CorpusError, TextError: the corpus cannot be read or encoded.
        StoreError, ModelFormatError: the tokenizer cannot be opened, or the folder not written.
    """
    from tokbench.opening.request import OpenRequest
    from tokbench.workbench.open import find_and_open

    check_number("seed", seed, smallest=0, optional=False)
    if choice.by_frequency and corpus is None:
        raise ConfigError(
            "--size and --min-count remove what is rare in a text, and none is named",
            hint="add --corpus PATH",
        )
    check_place(out, overwrite=overwrite)
    clock = Clock()
    opened = find_and_open(name, request or OpenRequest(), progress=progress)
    pruning = pruning_of(opened)
    selected = choice.selected(pruning.token_bytes)
    clock.lap("opening")
    text = corpus or bundled_corpus()
    with text.in_memory():
        usage = TokenUsage()
        if choice.by_frequency:
            progress("counting", 0, None, "bytes")
            usage = pruning.count(text, threads=threads)
            clock.lap("counting")
        removal = pruning.choose(usage, selected=selected, size=choice.size, min_count=choice.min_count)
        if not removal.ids:
            raise ConfigError("no token would be removed", hint=_why_none(removal))
        id_map = IdMap.closing_up(removal.frequencies.keys(), size=opened.tokenizer.info.vocab_size)
        clock.lap("choosing")
        pruned = pruning.prune(id_map, name=out.name, texts=samples(text), seed=seed, progress=progress)
        clock.lap("proving")
        scan = CorpusScan(Documents(text))
        comparison = compare_candidates(
            [Candidate(opened.tokenizer), Candidate(pruned.tokenizer)],
            scan,
            alignment=alignment_of(text, scan, progress=progress),
            times=False,
            threads=threads,
            seed=seed,
            progress=progress,
        )
        clock.lap("evaluating")
    return PruneResult(
        change=write_changed(
            opened,
            pruned.tokenizer,
            pruned.files,
            id_map,
            InitialRows.of(id_map),
            out=out,
            pad_multiple=pad_multiple,
            overwrite=overwrite,
            notes=(*_size_missed(removal, choice), *pruned.notes),
            seconds=clock.laps,
        ),
        algorithm=pruning.algorithm,
        kept=len(pruning.kept),
        removal=removal,
        comparison=comparison,
        proofs=pruned.proofs,
    )


def _size_missed(removal: Removal, choice: Choice) -> Iterator[str]:
    """That more tokens are left than were wanted, where they are."""
    left = len(removal.frequencies)
    if choice.size is not None and left > choice.size:
        yield f"{left:,} tokens stay, more than the {choice.size:,} asked for: the text needs each of them"


def _why_none(removal: Removal) -> str:
    if removal.needed:
        return f"the remaining tokens need the {len(removal.needed):,} tokens that were selected"
    if removal.fixed:
        always = "bytes, single characters of pieces, and special tokens always stay"
        return f"the {counted(len(removal.fixed), 'token')} that were selected cannot go: {always}"
    return f"of {len(removal.frequencies):,} tokens none matches the options"
