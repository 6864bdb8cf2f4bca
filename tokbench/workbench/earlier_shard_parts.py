"""Whether an earlier run that wrote shards in parts, finished or not, had the same corpus and the same options."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

from tokbench.corpus.text import Problems
from tokbench.distributed.plan_folder import changed_file, difference
from tokbench.errors import StoreError
from tokbench.shards.journal import START_AGAIN, refuse_other_plan
from tokbench.shards.parts import PLAN_NAME, joined, part_folder
from tokbench.shards.run import document_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tokbench.corpus.corpus import Corpus
    from tokbench.corpus.files import CorpusFile
    from tokbench.shards.layout import CorpusEntry
    from tokbench.shards.parts import Part
    from tokbench.shards.plan import Plan, PlannedFile
    from tokbench.shards.run import ConversationEncoder

_OTHER_PARTS = "the corpus was divided into other parts, by another --part-bytes or more files"

_Contents = tuple[int, str | None]


def refuse_other_parts(
    written: Sequence[Part],
    plan: Plan,
    corpus: Corpus,
    parts: Sequence[Sequence[CorpusFile]],
    *,
    chat: ConversationEncoder | None,
) -> None:
    """Raise an error that says what differs, if shards were written from other files or with other options.

    Files are compared by their sizes and samples, and in their order; names and times may differ, as without an engine.
    The index lacks the files of parts without a document, so that files which it lacks are searched for one.

    Args:
        written: the parts of the finished folder.
        plan: what this run would write.
        corpus: the files of the plan.
        parts: the parts that this run would write.
        chat: reads documents that are conversations.

    Raises:
        StoreError, CorpusError: as `refuse_other_plan`, or the order or the parts differ.
    """

    def has_documents(files: Iterable[CorpusFile]) -> bool:
        return any(any(document_batches(corpus, file, Problems(), chat=chat)) for file in files)

    index = joined(written)
    documents: Counter[_Contents] = Counter()
    for entry in index.files:
        documents[_contents_of(entry)] += entry.documents
    before = _each_once(entry for entry in index.files if documents[_contents_of(entry)])
    now = _each_once(
        entry
        for file, entry in zip(corpus.files, plan.files, strict=True)
        if documents[_contents_of(entry)] or (_contents_of(entry) not in documents and has_documents([file]))
    )
    refuse_other_plan(
        {**index.to_json(), "files": list(map(asdict, before.values()))},
        {**plan.to_json(), "files": list(map(asdict, now.values()))},
    )
    if list(before) != list(now):
        raise _other_run("the files were in another order")
    planned = {
        file.address: _contents_of(entry) for file, entry in zip(corpus.files, plan.files, strict=True)
    }
    if not _are_parts(written, parts, planned=planned, has_documents=has_documents):
        raise _other_run(_OTHER_PARTS)


def refuse_other_document(before: bytes, now: bytes) -> NoReturn:
    """Raise a `StoreError` that says how the plans of two runs differ, of which the first was not finished."""
    try:
        old, new = json.loads(before), json.loads(now)
        change = difference(old["corpus"], new["corpus"])
        change = change or changed_file(_versions(old["parts"]), _versions(new["parts"]))
        refuse_other_plan({**old, "files": []}, {**new, "files": []})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _other_run(f"its {PLAN_NAME} is damaged") from None
    raise _other_run(change or _OTHER_PARTS)


def _versions(parts: Iterable[Any]) -> dict[str, Any]:
    return {file["name"]: file["version"] for part in parts for file in part}


def _are_parts(
    written: Sequence[Part],
    parts: Sequence[Sequence[CorpusFile]],
    *,
    planned: dict[str, _Contents],
    has_documents: Callable[[Iterable[CorpusFile]], bool],
) -> bool:
    """Whether the written parts are exactly those that have documents."""
    known = {part.folder: [_contents_of(entry) for entry in part.index.files] for part in written}
    for number, part in enumerate(parts):
        contents = known.pop(part_folder(number), None)
        if contents is None and has_documents(part):
            return False
        if contents is not None and contents != [planned[file.address] for file in part]:
            return False
    return not known


def _each_once(
    files: Iterable[CorpusEntry | PlannedFile],
) -> dict[_Contents, CorpusEntry | PlannedFile]:
    """Return files by their contents: a file that is cut is in several parts."""
    return {_contents_of(file): file for file in files}


def _contents_of(file: CorpusEntry | PlannedFile) -> _Contents:
    return file.bytes, file.sample


def _other_run(change: str) -> StoreError:
    return StoreError(
        f"this run cannot be resumed: {change}",
        hint=f"use the same arguments as the first run; {START_AGAIN}",
    )
