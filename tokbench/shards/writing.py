"""Writing of a corpus as shards.

The journal records where documents end in a shard, what is on disk, and where a killed run continues. The result has
the same bytes whether or not a run was interrupted.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokbench.core.argument_types import opened
from tokbench.core.progress import no_progress
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import first_of
from tokbench.corpus.opening import corpus_of, without_folder
from tokbench.errors import ConfigError, CorpusError, ModelFormatError, StoreError
from tokbench.files.atomic import write_file
from tokbench.files.storage.folder_lock import LOCK_NAME, locked
from tokbench.files.storage.open import place_of
from tokbench.shards.journal import JOURNAL_NAME, START_AGAIN, Journal, refuse_other_plan
from tokbench.shards.layout import INDEX_NAME, OWN_FILE, ShardEntry, dump_index
from tokbench.shards.parts import PART_FOLDER, PLAN_NAME
from tokbench.shards.plan import in_order, make_plan
from tokbench.shards.reading import Shards, folder_of, open_shards
from tokbench.shards.run import Run
from tokbench.shards.shard_file import sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.core.argument_types import GivenTokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.shards.plan import Plan
    from tokbench.shards.run import ConversationEncoder

SHARD_TOKENS = 100_000_000


def write_shards(
    tokenizer: GivenTokenizer,
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
    """Encode a corpus into a folder of shards; `tokbench.shards.layout` describes its contents.

    Args:
        tokenizer: the tokenizer, or its path or name.
        corpus: read once, as a stream, except for files in `folder`; each document is held in memory. Or its path.
        folder: created if it is missing.
        format: "npy" for `numpy.load(mmap_mode="r")`, "bin" for the ids alone.
        dtype: "uint16", "uint32", or "auto" for the smaller one that fits every id.
        eos: the text of the special token to write after each document; True takes the tokenizer's own.
        shard_tokens: the most tokens of a shard, unless a single document has more.
        special: what the text of a special token becomes.
        threads: for encoding; None takes every processor.
        resume: whether to continue an interrupted run in the folder, if there is one: its shards are read and
            checked, and the first one that has changed is written again, with all after it.
        overwrite: whether to replace existing shards.
        chat: encodes documents that are conversations; `tokbench.chat.shards` builds it.
        progress: called with the share of the work that is done.

    Returns:
        The opened shards.

    Raises:
        ConfigError: an option is invalid, or there is no such special token.
        CorpusError: a text cannot be read, or a file changed since the run began.
        StoreError: the folder is in use, or cannot be written.
        ModelFormatError: the journal, or the shards of a finished run, were changed.
        SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.

    Usage:

        shards = write_shards(tokenizer, open_corpus("data/*.jsonl.zst"), "shards", eos=True)
        shards[0]  # the ids of the first document, as a view of the file
    """
    folder, given, tokenizer = folder_of(folder), corpus_of(corpus), opened(tokenizer)
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
            if not journal.finished.shards:  # nothing to resume: the corpus may be different next time
                journal.close()
                clear_folder(folder, keep=[])
                (folder / JOURNAL_NAME).unlink(missing_ok=True)
            raise
        finally:
            journal.close()
            given.problems = corpus.problems
    return open_shards(folder)


def check_folder(folder: Path, *, resume: bool, overwrite: bool) -> None:
    """Raise `StoreError` for a folder in which something would be lost."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StoreError(f"{folder} is a file", hint="--out names a folder")
    names = {path.name for path in folder.iterdir()} - {LOCK_NAME}
    own = {name for name in names if OWN_FILE.fullmatch(name) or PART_FOLDER.fullmatch(name)}
    own |= {INDEX_NAME, JOURNAL_NAME, PLAN_NAME} & names
    if strangers := sorted(names - own):
        raise StoreError(
            f"{folder} contains {first_of(strangers)}, which is not a shard",
            hint="name another folder with --out",
        )
    if overwrite or not own or (resume and {INDEX_NAME, JOURNAL_NAME} & own):
        return
    if JOURNAL_NAME in own and INDEX_NAME not in own:
        raise StoreError(
            f"{folder} contains an interrupted run", hint="--resume continues it, --force starts again"
        )
    if PLAN_NAME in own:
        raise StoreError(
            f"{folder} contains an interrupted run in parts",
            hint="--resume with the same --engine continues it, --force starts again",
        )
    raise StoreError(f"{folder} exists", hint="--force replaces it; --out names another folder")


def remove_parts(folder: Path) -> None:
    """Delete the files of a run in parts."""
    (folder / PLAN_NAME).unlink(missing_ok=True)
    for path in list(folder.iterdir()):
        if PART_FOLDER.fullmatch(path.name):
            shutil.rmtree(path)


def clear_folder(folder: Path, *, keep: list[ShardEntry]) -> None:
    """Delete the files of an earlier run, except the complete shards."""
    kept = {name for shard in keep for name in shard.sums}
    for path in list(folder.iterdir()):
        if OWN_FILE.fullmatch(path.name) and path.name not in kept:
            path.unlink()


def finished_before(folder: Path, plan: Plan, *, progress: Progress) -> Shards:
    """Return the shards of a finished run, if it had the same plan and its shards are unchanged."""
    shards = open_shards(folder)
    if any(PART_FOLDER.match(shard.file) for shard in shards.index.shards):
        raise StoreError(
            f"{folder} contains shards that were written in parts",
            hint=f"give the same --engine; {START_AGAIN}",
        )
    refuse_other_plan(shards.index.to_json(), plan.to_json())
    done = 0
    for shard in shards.index.shards:
        progress("checking", done, shards.tokens, "tokens")
        for name, recorded in shard.sums.items():
            if sha256_of(folder / name) != recorded:
                raise ModelFormatError(
                    folder / name,
                    f"the sha256 {recorded[:8]}…",
                    "a different one",
                    hint="--force encodes again",
                )
        done += shard.tokens
    (folder / JOURNAL_NAME).unlink(missing_ok=True)
    return shards


def refuse_streams(corpus: Corpus) -> None:
    """Refuse to resume with files that can be read only once. Raises `CorpusError`."""
    for file in corpus.files:
        if file.stream:
            raise CorpusError(
                f"{file.name} cannot be read again, so this run cannot be resumed",
                hint="save it to a file and name that, with --force",
            )


@contextmanager
def errors_named(folder: Path) -> Iterator[None]:
    """Turn OSErrors into a `StoreError` that says how to continue."""
    try:
        yield
    except OSError as error:
        if (folder / JOURNAL_NAME).exists():
            hint = (
                "finished shards are kept: free some space and continue with --resume, "
                "or name another folder with --out"
            )
        else:
            hint = "free some space, or name another folder with --out"
        raise StoreError(f"{folder} was not finished: {error.strerror or error}", hint=hint) from error
