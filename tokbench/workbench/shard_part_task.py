"""The task that writes one part of a corpus as shards on a worker."""

from __future__ import annotations

import errno
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.core.tokens import SpecialPolicy
from tokbench.corpus.corpus import Corpus
from tokbench.corpus.document import CorpusOptions
from tokbench.corpus.file_spans import FileSpan
from tokbench.corpus.files import CorpusFile, LeftOut
from tokbench.corpus.paths import unreadable
from tokbench.errors import CorpusError, StoreError
from tokbench.files.storage.open import place_of
from tokbench.shards.layout import INDEX_NAME, ChatOptions
from tokbench.shards.parts import part_folder
from tokbench.shards.writing import write_shards
from tokbench.workbench.open import opened_alike

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.chat.shards import ConversationShards
    from tokbench.core.interfaces import Tokenizer
    from tokbench.distributed.tasks import TaskContext
    from tokbench.files.storage.place import Place


def write_part(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Write one part, atomically; a `Task`."""
    tokenizer = opened_alike(arguments["tokenizer"])
    corpus = Corpus(
        tuple(_file_of(document) for document in arguments["files"]),
        options=_options_of(arguments["reading"]),
        left_out=LeftOut(),
    )
    _check_unchanged(corpus, arguments["versions"])
    chat = None if arguments["chat"] is None else _encoder(tokenizer, arguments["chat"])
    folder = place_of(arguments["out"])
    name = part_folder(arguments["part"])

    def progress(phase: str, done: int, total: int | None, unit: str) -> None:  # noqa: ARG001 - as all are
        context.tell(done)

    with _staging(folder, name) as staging:
        try:
            shards = write_shards(
                tokenizer,
                corpus,
                staging,
                special=SpecialPolicy(arguments["special"]),
                threads=context.threads,
                chat=chat,
                progress=progress,
                **arguments["settings"],
            )
        except CorpusError as error:
            if error.message == corpus.no_document().message:
                return {"documents": 0, **corpus.problems.counters()}
            raise
        _check_unchanged(corpus, arguments["versions"])
        _publish(staging, folder / name)
    found = (
        {} if chat is None else {"findings": chat.findings, "tokens": chat.tokens, "learned": chat.learned}
    )
    numbers = {"documents": shards.index.documents, "tokens": shards.index.tokens}
    return {**numbers, **found, **corpus.problems.counters()}


def template_document(chat: ConversationShards, name: str) -> dict[str, Any]:
    """Describe how conversations are encoded, as the argument of a task.

    Args:
        chat: the encoder of this process.
        name: name of the template as the user gave it; a file is named by its absolute path.
    """
    path = Path(name)
    return {"template": str(path.absolute()) if path.is_file() else name, "options": chat.options.to_json()}


def _encoder(tokenizer: Tokenizer, document: dict[str, Any]) -> ConversationShards:
    """Build the encoder of conversations on the worker. Raises `ConfigError` if the template differs there."""
    from tokbench.chat.shards import ConversationShards

    fields = document["options"]
    options = ChatOptions(
        **{**fields, "train_on": tuple(fields["train_on"]), "tools": tuple(fields["tools"])}
    )
    return ConversationShards.recorded(tokenizer, options, template=document["template"])


def file_document(file: CorpusFile) -> dict[str, Any]:
    """Describe a file of a corpus as the argument of a task, independent of the worker's current folder."""
    path = file.path if file.url else file.path.absolute()
    return {**asdict(file), "path": str(path)}


def _file_of(document: dict[str, Any]) -> CorpusFile:
    span = None if document["span"] is None else FileSpan(**document["span"])
    path, below = Path(document["path"]), tuple(document["below"])
    return CorpusFile(**{**document, "path": path, "below": below, "span": span})


def _options_of(document: dict[str, Any]) -> CorpusOptions:
    options = CorpusOptions(**document)
    field = options.text_field
    return options if isinstance(field, str) else replace(options, text_field=tuple(field))


def version_of(file: CorpusFile) -> list[Any]:
    """Return the size of a file and its version, which changes with its contents. Raises `CorpusError`."""
    try:
        stored = place_of(file.address).stat()
    except OSError as error:
        raise unreadable(file.name, error) from error
    return [stored.size, stored.version]


def _check_unchanged(corpus: Corpus, versions: list[list[Any]]) -> None:
    for file, version in zip(corpus.files, versions, strict=True):
        if version_of(file) != version:
            raise CorpusError(
                f"{file.name} has changed since the run began",
                hint="encode again with --force when no other program writes to it",
            )


@contextmanager
def _staging(folder: Place, name: str) -> Iterator[Path]:
    """Yield a local folder to write a part in: next to its final place if that is local."""
    if folder.local is None:
        with tempfile.TemporaryDirectory(prefix="tokbench-") as temporary:
            yield Path(temporary) / name
        return
    staging = folder.local / f".{name}.tmp-{secrets.token_hex(6)}"
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _publish(staging: Path, place: Place) -> None:
    """Move a part to its final place: by one rename, or file by file with the index last."""
    if place.local is not None:
        try:
            staging.rename(place.local)
        except OSError as error:
            # Another worker has written the same part, with the same bytes.
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return
            raise StoreError(f"{place} was not written: {error.strerror or error}") from error
        return
    names = sorted(path.name for path in staging.iterdir())
    for name in sorted(names, key=lambda name: name == INDEX_NAME):
        (place / name).put(staging / name)
