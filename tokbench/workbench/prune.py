"""Remove tokens from a vocabulary: choose them, prove the result, and measure the cost on text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.core.truncation import check_number
from tokbench.core.wording import counted
from tokbench.corpus import bundled_corpus
from tokbench.errors import ConfigError
from tokbench.opening.request import OpenRequest
from tokbench.surgery.id_map import IdMap, InitialRows
from tokbench.surgery.model_files import check_place
from tokbench.surgery.pruning import TokenUsage, pruning_of
from tokbench.surgery.selection import of_scripts
from tokbench.workbench.changed_vocabulary import Clock, samples, write_changed
from tokbench.workbench.compare import compare
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.evaluation.comparison import Comparison
    from tokbench.surgery.contents import Algorithm
    from tokbench.surgery.leaves import Removal
    from tokbench.surgery.pruning import PruningProofs
    from tokbench.workbench.changed_vocabulary import ChangedVocabulary

FIGURES = ("bytes_per_token", "tokens_per_word", "vocab_utilization", "renyi_efficiency")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which tokens to remove; selected tokens are removed first.

    Attributes:
        size: number of tokens to keep, including special tokens.
        min_count: remove tokens that occur less often.
        drop_scripts: remove tokens with a letter of these scripts.
        keep_scripts: remove tokens with a letter of another script.
        ids: remove these tokens.

    Raises:
        ConfigError: no criterion is given.
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
        """Whether the frequencies of tokens are needed."""
        return self.size is not None or self.min_count is not None

    def selected(self, tokens: Mapping[int, bytes]) -> frozenset[int]:
        """Return the tokens selected regardless of frequency. Raises `ConfigError` for an unknown id."""
        for id in self.ids:
            if id not in tokens:
                raise ConfigError(
                    f"there is no ordinary token {id}",
                    hint="--list names ids of the vocabulary; special and added tokens are never removed",
                )
        by_script = of_scripts(tokens, drop=self.drop_scripts, keep=self.keep_scripts)
        return by_script | frozenset(self.ids)


@dataclass(frozen=True, slots=True)
class PruneResult:
    """A pruned vocabulary that was proved and written.

    Attributes:
        change: the tokenizer before and after, and what was written.
        algorithm: the algorithm, as `surgery.contents` names it.
        kept: number of tokens that can never be removed.
        removal: the removed tokens, and the selected tokens that had to stay.
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
        """Return the JSON document that `--json` prints."""
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
    """Remove tokens from a vocabulary, prove the result, and write it with a map of the ids.

    Args:
        name: the tokenizer, as `-t` takes it.
        out: the folder to write.
        choice: the tokens to remove.
        corpus: the text to count tokens on and to evaluate both tokenizers on; by default the bundled texts, which are
            only evaluated on.
        request: how to open the tokenizer.
        pad_multiple: the number of embedding rows in config_patch.json is rounded up to a multiple of this.
        overwrite: whether to replace a folder that an earlier run wrote.
        threads: threads for encoding; None uses every processor.
        seed: seed of the resamples and of the generated texts of the proof.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: frequencies are needed but no corpus is given, or nothing can be removed.
        ConversionError: the tokenizer cannot be pruned, or a proof fails.
        CorpusError, TextError: the corpus cannot be read or encoded.
        StoreError, ModelFormatError: the tokenizer cannot be opened, or the folder cannot be written.
    """
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
    selected = choice.selected(pruning.vocabulary.token_bytes)
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
            raise ConfigError("no token would be removed", hint=_why_none(removal, choice))
        id_map = IdMap.closing_up(removal.frequencies.keys(), size=opened.tokenizer.info.vocab_size)
        clock.lap("choosing")
        pruned = pruning.prune(id_map, name=out.name, texts=samples(text), seed=seed, progress=progress)
        clock.lap("proving")
        comparison = compare(
            text,
            tokenizers=[opened.tokenizer, pruned.tokenizer],
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
            notes=(*_note_on_size(removal, choice), *pruned.notes),
            seconds=clock.laps,
        ),
        algorithm=pruning.algorithm,
        kept=len(pruning.vocabulary.kept),
        removal=removal,
        comparison=comparison,
        proofs=pruned.proofs,
    )


def _note_on_size(removal: Removal, choice: Choice) -> Iterator[str]:
    """Yield a note if more tokens are left than requested."""
    left = len(removal.frequencies)
    if choice.size is not None and left > choice.size:
        yield f"{left:,} tokens remain, more than the {choice.size:,} asked for: the text needs each of them"


def _why_none(removal: Removal, choice: Choice) -> str:
    if removal.needed:
        return f"the remaining tokens need the {counted(len(removal.needed), 'selected token')}"
    if removal.fixed:
        always = "bytes, single characters of pieces, and special tokens always stay"
        return f"the {counted(len(removal.fixed), 'selected token')} cannot be removed: {always}"
    if choice.size is not None:
        return f"--size must be below the {len(removal.frequencies):,} tokens that it has"
    return f"of {len(removal.frequencies):,} tokens none matches the options"
