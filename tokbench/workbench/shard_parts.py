"""Encode a corpus into shards in parts, on an engine; `tokbench.shards.parts` describes the result."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.chat.template import AUTO
from tokbench.core.progress import no_progress
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import first_of
from tokbench.corpus.file_spans import FileSpan
from tokbench.corpus.opening import without_folder
from tokbench.corpus.text import Problems
from tokbench.distributed.corpus_plan import PART_BYTES, can_be_cut, cut_of, divided, refuse_unshared
from tokbench.distributed.plan_folder import resume_reported
from tokbench.distributed.tasks import Slice, results_in_order
from tokbench.errors import ConfigError, CorpusError, StoreError
from tokbench.files.storage.folder_lock import locked
from tokbench.files.storage.open import place_of, refuse_unwritable
from tokbench.shards.journal import JOURNAL_NAME
from tokbench.shards.layout import INDEX_NAME, MAX_INDEX_BYTES, OWN_FILE, ShardIndex
from tokbench.shards.parts import (
    PART_FOLDER,
    PLAN_NAME,
    dump_parts,
    joined,
    part_folder,
)
from tokbench.shards.plan import make_plan
from tokbench.shards.writing import SHARD_TOKENS
from tokbench.workbench.earlier_shard_parts import refuse_other_document, refuse_other_parts
from tokbench.workbench.finished_shard_parts import (
    keep_unchanged,
    parts_of_finished,
    parts_of_unfinished,
    refuse_changed,
)
from tokbench.workbench.shard_part_task import file_document, template_document, version_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.chat.shards import ConversationShards
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus.corpus import Corpus
    from tokbench.corpus.document import CorpusOptions
    from tokbench.corpus.files import CorpusFile
    from tokbench.distributed.corpus_plan import FilePart
    from tokbench.distributed.tasks import Engine
    from tokbench.files.storage.place import Place
    from tokbench.shards.plan import Plan
    from tokbench.workbench.open import NamedTokenizer

_TASK = "tokbench.workbench.shard_part_task:write_part"
_PLAN_SCHEMA = "tokbench.shards.plan/1"
_LINES = {".jsonl", ".ndjson"}


def write_shard_parts(
    named: NamedTokenizer,
    tokenizer: Tokenizer,
    corpus: Corpus,
    out: str | Path,
    *,
    engine: Engine,
    format: str = "npy",
    dtype: str = "auto",
    eos: str | bool | None = None,
    shard_tokens: int = SHARD_TOKENS,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    part_bytes: int = PART_BYTES,
    resume: bool = False,
    overwrite: bool = False,
    chat: ConversationShards | None = None,
    template: str | None = None,
    progress: Progress = no_progress,
) -> ShardIndex:
    """Encode a corpus into a folder of parts, each written by one worker.

    The bytes depend only on the corpus, the tokenizer and the options: not on the engine, the number of workers, or
    their failures. The concatenated ids are those of `write_shards`.

    Args:
        named: how workers open the tokenizer, which must be the same there.
        tokenizer: the opened tokenizer.
        corpus: files that every worker can read; those in `out` are ignored.
        out: a folder or a URL that every worker can write to.
        engine: runs the parts.
        format: as for `write_shards`, like the following options.
        dtype: the type of ids.
        eos: the token that ends each document.
        shard_tokens: tokens per shard.
        special: what the text of a special token becomes.
        part_bytes: size of a part in bytes; a larger file is cut between documents, unless it is compressed.
        resume: write the parts that are missing after an interrupted run, or were changed since.
        overwrite: replace an existing folder.
        chat: encodes documents that are conversations, and collects what workers found. Packed rows never span parts.
        template: with `chat`, the name of its template, or its file, which every worker can read.
        progress: called with how much of the work is done.

    Returns:
        The index of all shards, whose names include their folders.

    Raises:
        ConfigError, CorpusError: as `write_shards`.
        StoreError: the folder is in use, or cannot be written.
        ModelFormatError: with `resume`, the folder is finished and a file of it is damaged or missing.
        DistributedError: parts failed, after all others were written.
    """
    if resume and overwrite:
        raise ConfigError("resume and overwrite contradict each other", hint="give --resume or --force")
    for file in corpus.files:
        if file.stream:
            raise CorpusError(
                f"{file.name} can be read only once, and not in parts", hint="save it to a file and name that"
            )
    refuse_unwritable(out, is_for_others=not engine.is_in_process)
    refuse_unshared(corpus, engine)
    given, corpus = corpus, without_folder(corpus, out)
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
    folder = place_of(Path(out).absolute() if place_of(out).local is not None else out)
    parts = _parts_of(corpus, part_bytes, of_conversations=chat is not None)
    versions = [[version_of(file) for file in part] for part in parts]
    document = _plan_document(plan, corpus, parts, versions)
    common = {
        "tokenizer": named.document(plan.tokenizer),
        "reading": asdict(corpus.options),
        "settings": {
            "format": plan.format,
            "dtype": plan.dtype,
            "eos": None if plan.eos is None else plan.eos.text,
            "shard_tokens": shard_tokens,
        },
        "special": special.value,
        "chat": None if chat is None else template_document(chat, template or AUTO),
        "out": str(folder),
    }
    with locked(folder, is_shared=False):
        if resume and (folder / INDEX_NAME).exists():
            finished = parts_of_finished(folder)
            refuse_other_parts(finished, plan, corpus, parts, chat=chat)
            refuse_changed(folder, finished, progress=progress)
            return joined(finished)
        _prepare(folder, document, resume=resume, overwrite=overwrite)
        if resume:
            keep_unchanged(folder, len(parts), progress=progress)
        kept = parts_of_unfinished(folder, len(parts))
        earlier = [asdict(file) for part in kept for file in part.index.files]
        results = _encode(folder, common, parts, versions, engine=engine, progress=progress)
        given.problems = corpus.problems = Problems.total([*earlier, *results])
        index = _finish(folder, corpus, count=len(parts))
    if chat is not None:
        for result in results:
            chat.count(**{name: result.get(name, 0) for name in ("findings", "tokens", "learned")})
    return index


def _encode(
    folder: Place,
    common: Mapping[str, Any],
    parts: Sequence[Sequence[CorpusFile]],
    versions: Sequence[Sequence[Any]],
    *,
    engine: Engine,
    progress: Progress,
) -> list[dict[str, Any]]:
    """Write the missing parts, and return the results of their tasks. Raises `DistributedError`."""
    slices = [
        Slice(
            name=f"part {number + 1} of {len(parts)}",
            arguments={
                **common,
                "part": number,
                "files": [file_document(file) for file in part],
                "versions": versions[number],
            },
            size=sum(file.size for file in part),
            contents=first_of([file.name for file in part]),
            files=[file.name for file in part],
        )
        for number, part in enumerate(parts)
        if not (folder / part_folder(number) / INDEX_NAME).exists()
    ]
    with resume_reported():
        return results_in_order(engine, _TASK, slices, phase="encoding", progress=progress)


def _finish(folder: Place, corpus: Corpus, *, count: int) -> ShardIndex:
    """Write the index after the parts. Raises `CorpusError` if no part has a document."""
    written = parts_of_unfinished(folder, count)
    if not written:
        (folder / PLAN_NAME).remove()
        raise corpus.no_document()
    (folder / INDEX_NAME).write(dump_parts(written))
    (folder / PLAN_NAME).remove()
    _remove_staging(folder)
    return joined(written)


def _parts_of(corpus: Corpus, part_bytes: int, *, of_conversations: bool) -> list[tuple[CorpusFile, ...]]:
    """Divide files into parts of at most `part_bytes`; a document is in one part.

    For conversations only JSON lines files are cut, as another file may be a single JSON value.
    """
    if part_bytes < 1:
        raise ConfigError(f"--part-bytes must be at least 1, not {part_bytes}")
    files, options = corpus.files, corpus.options
    can_cut = [
        can_be_cut(file, options, cuts_at_lines=False)
        and (not of_conversations or file.path.suffix in _LINES)
        for file in files
    ]
    parts = divided([file.size for file in files], can_cut, part_bytes)
    return [
        tuple(_part_of(files[file_part.file], file_part, options) for file_part in part) for part in parts
    ]


def _part_of(file: CorpusFile, part: FilePart, options: CorpusOptions) -> CorpusFile:
    if (part.start, part.stop) == (0, file.size):
        return file
    span = FileSpan(part.start, part.stop, file.size, cut_of(file.kind, options))
    name = f"{file.name}, bytes {part.start:,} to {part.stop:,}"
    return replace(file, name=name, size=part.stop - part.start, span=span)


def _plan_document(
    plan: Plan, corpus: Corpus, parts: Sequence[Sequence[CorpusFile]], versions: Sequence[Sequence[Any]]
) -> bytes:
    """Serialize what two runs into one folder must have in common; files are identified by names below their root."""
    settings = {name: value for name, value in plan.to_json().items() if name != "files"}
    files = [
        [
            {
                "name": "/".join(file.below),
                "version": version,
                "span": None if file.span is None else asdict(file.span),
            }
            for file, version in zip(*part_and_versions, strict=True)
        ]
        for part_and_versions in zip(parts, versions, strict=True)
    ]
    document = {"schema": _PLAN_SCHEMA, **settings, "corpus": asdict(corpus.options), "parts": files}
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def _prepare(folder: Place, document: bytes, *, resume: bool, overwrite: bool) -> None:
    """Prepare the folder, or refuse if files would be lost. Raises `StoreError`."""
    names = _sizes_in(folder)
    for name in names:
        head, _, rest = name.partition("/")
        is_own = (
            PART_FOLDER.fullmatch(head)
            if rest
            else name in (INDEX_NAME, PLAN_NAME, JOURNAL_NAME) or OWN_FILE.fullmatch(name)
        )
        if not is_own:
            raise StoreError(
                f"{folder} contains {name}, which is not part of the shards",
                hint="name another folder with --out",
            )
    plan = folder / PLAN_NAME
    if resume and PLAN_NAME in names:
        with plan.open() as stream:
            before = stream.read(MAX_INDEX_BYTES)
        if before != document:
            refuse_other_document(before, document)
        return
    if not overwrite and PLAN_NAME in names:
        raise StoreError(
            f"{folder} contains a run that is unfinished or still running",
            hint="--resume continues it, --force starts again",
        )
    if not overwrite and names:
        raise StoreError(f"{folder} exists", hint="--force replaces it; --out names another folder")
    (folder / INDEX_NAME).remove()
    for name in names:
        (folder / name).remove()
    _remove_staging(folder)
    plan.write(document)


def _sizes_in(folder: Place) -> dict[str, int]:
    """Return the sizes of all files below a folder by their names. Raises `StoreError`."""
    try:
        return {str(file.place).removeprefix(f"{folder}/"): file.size for file in folder.files()}
    except OSError as error:
        raise StoreError(f"{folder} cannot be listed: {error.strerror or error}") from error


def _remove_staging(folder: Place) -> None:
    """Remove what killed workers left behind, on this machine only."""
    if folder.local is not None:
        for path in folder.local.glob(".part-*.tmp-*"):
            shutil.rmtree(path, ignore_errors=True)
        for path in folder.local.glob("part-*"):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
