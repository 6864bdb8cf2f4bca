"""The folder that shards are written to: what may be replaced there, and what an earlier run left."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokbench.errors import CorpusError, ModelFormatError, StoreError
from tokbench.files.storage.folder_lock import LOCK_NAME
from tokbench.shards.journal import JOURNAL_NAME, refuse_other_plan
from tokbench.shards.layout import INDEX_NAME, OWN_FILE, ShardEntry
from tokbench.shards.parts import PART_FOLDER, PLAN_NAME
from tokbench.shards.reading import Shards, open_shards
from tokbench.shards.shard_file import sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.shards.plan import Plan


def check_folder(folder: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse a place where something would be lost. Raises `StoreError`."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StoreError(f"{folder} is a file", hint="--out names a folder")
    names = {path.name for path in folder.iterdir()} - {LOCK_NAME}
    own = {name for name in names if OWN_FILE.fullmatch(name) or PART_FOLDER.fullmatch(name)}
    own |= {INDEX_NAME, JOURNAL_NAME, PLAN_NAME} & names
    if strangers := sorted(names - own):
        more = f" and {len(strangers) - 1} more" if len(strangers) > 1 else ""
        raise StoreError(
            f"{folder} holds {strangers[0]}{more}, which is not a shard",
            hint="name another folder with --out",
        )
    if overwrite or not own or (resume and {INDEX_NAME, JOURNAL_NAME} & own):
        return
    if JOURNAL_NAME in own and INDEX_NAME not in own:
        raise StoreError(
            f"{folder} holds an interrupted run", hint="--resume continues it, --force starts again"
        )
    if PLAN_NAME in own:
        raise StoreError(
            f"{folder} holds an interrupted run in parts",
            hint="--resume with the same --engine continues it, --force starts again",
        )
    raise StoreError(f"{folder} exists", hint="--force replaces it; --out names another folder")


def remove_parts(folder: Path) -> None:
    """Delete what a run in parts left."""
    (folder / PLAN_NAME).unlink(missing_ok=True)
    for path in list(folder.iterdir()):
        if PART_FOLDER.fullmatch(path.name):
            shutil.rmtree(path)


def clear_folder(folder: Path, *, keep: list[ShardEntry]) -> None:
    """Delete what an earlier run left, but for shards that are whole."""
    kept = {name for shard in keep for name in shard.sums}
    for path in list(folder.iterdir()):
        if OWN_FILE.fullmatch(path.name) and path.name not in kept:
            path.unlink()


def finished_before(folder: Path, plan: Plan, *, progress: Progress) -> Shards:
    """The shards of a run that came to its end, if it was this one and they are what it wrote."""
    shards = open_shards(folder)
    refuse_other_plan(shards.index.to_json(), plan.to_json())
    done = 0
    for shard in shards.index.shards:
        progress("checking", done, shards.tokens, "tokens")
        for name, recorded in shard.sums.items():
            if sha256_of(folder / name) != recorded:
                raise ModelFormatError(
                    folder / name, f"the sha256 {recorded[:8]}…", "another one", hint="--force encodes again"
                )
        done += shard.tokens
    (folder / JOURNAL_NAME).unlink(missing_ok=True)
    return shards


def refuse_streams(corpus: Corpus) -> None:
    """Refuse to go on with what can be read only once. Raises `CorpusError`."""
    for file in corpus.files:
        if file.stream:
            raise CorpusError(
                f"{file.name} cannot be read again, so this run cannot be resumed",
                hint="save it to a file and name that, with --force",
            )


@contextmanager
def errors_named(folder: Path) -> Iterator[None]:
    """What the system says while writing, as an error that tells how to go on. Raises `StoreError`."""
    try:
        yield
    except OSError as error:
        hint = "finished shards are kept: free some space and continue with --resume, or name another folder with --out"
        raise StoreError(f"{folder} was not finished: {error.strerror or error}", hint=hint) from error
