"""Assess replacing a model's tokenizer with another one."""

from __future__ import annotations

import heapq
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress, reading_of
from tokbench.core.truncation import check_number
from tokbench.corpus import bundled_corpus
from tokbench.errors import ConfigError
from tokbench.evaluation.counting_pass import batches
from tokbench.evaluation.holdout import Documents
from tokbench.files.atomic import write_folder
from tokbench.metrics.bootstrap import Interval
from tokbench.opening.request import OpenRequest
from tokbench.surgery.id_map import InitialRows
from tokbench.surgery.model_config import config_patch
from tokbench.surgery.model_files import check_place, model_files
from tokbench.surgery.shared_tokens import OldTokens, shared_tokens
from tokbench.workbench.compare import compare
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus, Document
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.costs import Model
    from tokbench.opening.request import Opened
    from tokbench.surgery.shared_tokens import SharedTokens

FIGURES = ("bytes_per_token", "tokens_per_word", "character_coverage", "unk_rate", "renyi_efficiency")


@dataclass(frozen=True, slots=True)
class GroupChange:
    """The tokens of a group of texts before and after the change.

    Attributes:
        group: a language, a programming language, a folder.
        old_tokens: number of tokens before.
        new_tokens: number of tokens after.
        interval: 95 % interval of their ratio, on the same resamples of both; None if there are too few texts.
        old_context: characters that fit into the context before; None without a context size.
        new_context: characters that fit into the context after.
    """

    group: str
    old_tokens: int
    new_tokens: int
    interval: Interval | None
    old_context: float | None
    new_context: float | None

    @property
    def ratio(self) -> float | None:
        """New tokens divided by old ones."""
        return self.new_tokens / self.old_tokens if self.old_tokens else None

    def to_json(self) -> dict[str, Any]:
        """Return this part of the JSON document."""
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
    """The effects of a new tokenizer.

    Attributes:
        shared: the tokens that mean the same in both.
        decomposed: number of new tokens whose rows are initialized from the old tokens that spell them.
        unknown: number of new tokens without such a decomposition.
        groups: the change of each group, the largest growth first.
        texts: the documents that grow most.
        comparison: figures before and after.
        patch: the patch of the model's configuration.
        out: the folder that was written; None if nothing was written.
        files: file name → size in bytes.
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
        """Return the JSON document that `--json` prints."""
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
    """Compare a model's tokenizer with its replacement.

    Args:
        old: the model's tokenizer, as `-t` takes it.
        new: the replacement, likewise.
        corpus: the text to compare them on, by default the bundled texts.
        model: facts about the model, such as its context size and price.
        request: how to open them; options for bare vocabularies apply only to a tokenizer that needs them.
        out: a folder for the files that the model needs; None writes nothing.
        pad_multiple: the number of embedding rows in config_patch.json is rounded up to a multiple of this.
        overwrite: whether to replace a folder that an earlier run wrote.
        threads: threads for encoding; None uses every processor.
        seed: seed of the resamples.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: an option cannot be used.
        CorpusError, TextError: the corpus cannot be read or encoded.
        StoreError, ModelFormatError: a tokenizer cannot be opened, or the folder cannot be written.
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
        comparison = compare(
            text,
            tokenizers=[before.tokenizer, after.tokenizer],
            model=model,
            times=False,
            threads=threads,
            seed=seed,
            progress=progress,
        )
        texts = losing_texts(
            before.tokenizer, after.tokenizer, Documents(text), threads=threads, progress=progress
        )
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
    """Open two tokenizers; options for bare vocabularies are not applied to a file that defines everything itself.

    Raises:
        ConfigError: neither tokenizer takes the options, or one needs them and cannot use them.
    """
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
    """Return the change of each group, the largest growth first."""
    before, after = comparison.tokenizers
    changes = []
    for group, tally in before.evaluation.groups.items():
        # The bytes are the same, so tokens change as the inverse of bytes per token.
        relative = after.groups[group]["bytes_per_token"].difference_interval
        costs = (tokenizer.cost.groups[group].context_chars for tokenizer in (before, after))
        changes.append(
            GroupChange(
                group,
                int(tally["tokens"]),
                int(after.evaluation.groups[group]["tokens"]),
                None if relative is None else Interval(1 / (1 + relative.high), 1 / (1 + relative.low)),
                *costs,
            )
        )
    return tuple(sorted(changes, key=lambda change: (-(change.ratio or 0), change.group)))


FEWEST_TOKENS = 8
"""Minimum number of old tokens of a text: two tokens instead of one are not a notable loss."""
_MOST = 10
_CHARACTERS_KEPT = 200


@dataclass(frozen=True, slots=True)
class LosingText:
    """A text that has more tokens under a new tokenizer.

    Attributes:
        source: its source, as messages name it.
        group: its group, such as a language.
        text: its beginning.
        old_tokens: number of its old tokens.
        new_tokens: number of its new tokens.
    """

    source: str
    group: str
    text: str
    old_tokens: int
    new_tokens: int

    @property
    def ratio(self) -> float:
        """Ratio of new tokens to old tokens."""
        return self.new_tokens / self.old_tokens

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of the text."""
        return asdict(self)


def losing_texts(
    old: Tokenizer,
    new: Tokenizer,
    documents: Iterable[Document],
    *,
    threads: int | None = None,
    progress: Progress = no_progress,
) -> tuple[LosingText, ...]:
    """Find the documents whose number of tokens grows most, by ratio; documents with few tokens are skipped.

    Args:
        old: the old tokenizer.
        new: the new tokenizer.
        documents: the documents, read once.
        threads: number of threads for encoding; None uses every processor.
        progress: called with the amount of work done.

    Returns:
        Up to ten documents with more tokens than before, in descending order of the ratio.
    """
    found: list[LosingText] = []
    read, num_bytes = reading_of(documents), 0
    for batch in batches(documents):
        texts = [document.text for document in batch]
        before, after = (
            tokenizer.encode_batch(texts, threads=threads).counts.tolist() for tokenizer in (old, new)
        )
        found += [
            LosingText(document.source, document.group, document.text[:_CHARACTERS_KEPT], was, becomes)
            for document, was, becomes in zip(batch, before, after, strict=True)
            if becomes > was >= FEWEST_TOKENS
        ]
        found = heapq.nlargest(_MOST, found, key=lambda text: (text.ratio, text.new_tokens - text.old_tokens))
        num_bytes += sum(len(text.encode()) for text in texts)
        progress("comparing texts", *read(num_bytes), "bytes")
    return tuple(found)
