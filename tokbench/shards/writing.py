"""A corpus becomes shards.

Where documents end in a shard, what is on the disk first, and what a run that was killed goes on with: the
journal tells. The result is the same bytes whether or not a run was interrupted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.progress import no_progress
from tokbench.core.tokens import SpecialPolicy
from tokbench.corpus.opening import corpus_of
from tokbench.corpus.written_folder import without_folder
from tokbench.errors import ConfigError
from tokbench.files.atomic_file import write_file
from tokbench.files.storage.folder_lock import locked
from tokbench.files.storage.open import place_of
from tokbench.shards.journal import JOURNAL_NAME, Journal
from tokbench.shards.layout import INDEX_NAME, dump_index
from tokbench.shards.output_folder import (
    check_folder,
    clear_folder,
    errors_named,
    finished_before,
    refuse_streams,
    remove_parts,
)
from tokbench.shards.plan import in_order, make_plan
from tokbench.shards.reading import Shards, folder_of, open_shards
from tokbench.shards.run import Run

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.shards.run import ConversationEncoder

SHARD_TOKENS = 100_000_000


def write_shards(
    tokenizer: Tokenizer,
    corpus: Corpus | str | Path,
    folder: Path | str,
    *,
    format: str = "npy",
    dtype: str = "auto",
    eos: str | bool | None = None,
    shard_tokens: int = SHARD_TOKENS,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    threads: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    chat: ConversationEncoder | None = None,
    progress: Progress = no_progress,
) -> Shards:
    """Encode a corpus into a folder of shards; see `tokbench.shards.layout` for what is in it.

    Args:
        tokenizer: encodes.
        corpus: read once, as a stream, but for files in `folder`; a document is held whole. Or its path.
        folder: made where it is missing.
        format: "npy" for `numpy.load(mmap_mode="r")`, "bin" for the bare ids.
        dtype: "uint16", "uint32", or "auto": the smaller one where it holds every id.
        eos: the special token to write behind each document, by its text; True takes the tokenizer's own.
        shard_tokens: a shard has no more, unless one document has.
        special: what the text of a special token becomes.
        threads: for encoding; None takes every processor.
        resume: go on with the run that was interrupted there, if there is one: its shards are read and
            checked, and the first that is not what was written is written again, with all behind it.
        overwrite: replace shards that are there.
        chat: encodes documents that are conversations; `tokbench.chat.shards` makes it, and reads them.
        progress: told how far it is.

    Returns:
        The shards, open.

    Raises:
        ConfigError: an option that cannot be used, or no such special token.
        CorpusError: a text that cannot be read, or a file that changed since the run began.
        StoreError: the folder is in use, or cannot be written.
        ModelFormatError: the journal, or shards of a run that came to its end, were changed.
        SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.

    Usage:

        shards = write_shards(tokenizer, open_corpus("data/*.jsonl.zst"), "shards", eos=True)
        shards[0]  # the ids of the first document, as a view of the file
    """
    folder, given = folder_of(folder), corpus_of(corpus)
    if resume and overwrite:
        raise ConfigError("resume and overwrite contradict each other", hint="give --resume or --force")
    corpus = without_folder(given, folder)
    plan = make_plan(
        tokenizer,
        corpus,
        format=format,
        dtype=dtype,
        eos=eos,
        shard_tokens=shard_tokens,
        special=special,
        chat=None if chat is None else chat.options,
    )
    with errors_named(folder), locked(place_of(folder), is_shared=False):
        check_folder(folder, resume=resume, overwrite=overwrite)
        if resume and (folder / INDEX_NAME).exists():
            refuse_streams(corpus)
            return finished_before(folder, plan, progress=progress)
        if resume and (folder / JOURNAL_NAME).exists():
            refuse_streams(corpus)
            journal = Journal.resume(folder, plan, progress=progress)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / INDEX_NAME).unlink(missing_ok=True)
            remove_parts(folder)
            journal = Journal.begin(folder, plan)
        try:
            clear_folder(folder, keep=journal.finished.shards)
            files = in_order(corpus.files, plan, journal.plan)
            index = Run(
                tokenizer,
                corpus,
                folder,
                journal,
                files=files,
                threads=threads,
                chat=chat,
                progress=progress,
            ).write()
            write_file(folder / INDEX_NAME, dump_index(index))
            (folder / JOURNAL_NAME).unlink()
        except KeyboardInterrupt:
            is_stream = any(file.stream for file in corpus.files)
            hint = "--force starts again" if is_stream else "--resume continues after the last finished shard"
            raise KeyboardInterrupt(hint) from None
        except Exception:
            if not journal.finished.shards:  # nothing to go on with: the text may be another one next time
                journal.close()
                clear_folder(folder, keep=[])
                (folder / JOURNAL_NAME).unlink(missing_ok=True)
            raise
        finally:
            journal.close()
            given.problems = corpus.problems
    return open_shards(folder)
