"""The use cases that list what there is: tokenizers, backends and presets, the texts of a corpus by group."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tokbench import store
from tokbench.config import load_preset, preset_names
from tokbench.core.interfaces import BackendInfo, BackendOption
from tokbench.core.plurals import counted
from tokbench.listing_results import BackendsResult, CorpusGroup, CorpusResult, ListedTokenizer, ListResult
from tokbench.opening.default_tokenizer import DEFAULT_NAME, default_directory
from tokbench.registry import backend_names, get_backend
from tokbench.workbench import DEFAULT_BACKEND, TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.core.interfaces import Backend
    from tokbench.corpus import Corpus, Document


def list_tokenizers() -> ListResult:
    """Every tokenizer that can be named: those below `tokenizers/`, and the built-in one."""
    entries = []
    for saved in store.saved_tokenizers(TOKENIZERS):
        manifest = saved.manifest
        entries.append(
            ListedTokenizer(
                name=saved.directory.name,
                place=str(saved.directory),
                backend=manifest.backend if manifest else None,
                vocab_size=manifest.vocab_size if manifest else None,
                num_bytes=saved.num_bytes,
                note=_trained_on(manifest.training) if manifest else "",
                error=saved.error.message if saved.error else None,
            )
        )
    return ListResult(tokenizers=(*entries, _listed_default()))


def _listed_default() -> ListedTokenizer:
    directory = default_directory()
    saved = next(iter(store.saved_tokenizers(directory.parent)), None)
    manifest = saved.manifest if saved else None
    return ListedTokenizer(
        name=DEFAULT_NAME,
        place="built in" if manifest is None else str(directory),
        backend=DEFAULT_BACKEND,
        vocab_size=manifest.vocab_size if manifest else None,
        num_bytes=saved.num_bytes if saved else None,
        note=_trained_on(manifest.training) if manifest else "trained on the bundled texts at its first use",
    )


def _trained_on(training: Mapping[str, Any] | None) -> str:
    if not training or not isinstance(training.get("num_bytes"), int):
        return ""
    documents = counted(training.get("documents", 0), "document")
    return f"trained on {counted(training['num_bytes'], 'byte')} in {documents}"


def list_backends() -> BackendsResult:
    """Every backend with its options, and every preset."""
    return BackendsResult(
        backends=tuple(_backend_info(get_backend(name)) for name in backend_names()),
        presets=tuple(load_preset(name) for name in preset_names()),
    )


def _backend_info(backend: Backend) -> BackendInfo:
    options = (
        BackendOption(
            name=field.name,
            default=list(field.default) if isinstance(field.default, tuple) else field.default,
            help=field.metadata.get("help", ""),
        )
        for field in dataclasses.fields(backend.config_type)
    )
    return BackendInfo(backend.name, backend.summary, backend.kernel, tuple(options))


def describe_bundled_corpus() -> CorpusResult:
    """The bundled texts by group."""
    from tokbench.corpus import bundled_files

    groups = tuple(
        CorpusGroup(
            group=file.group,
            kind=file.kind,
            title=file.title,
            files=1,
            documents=1,
            num_bytes=file.bytes,
            characters=file.characters,
            lines=file.lines,
            licence=file.licence,
        )
        for file in bundled_files()
    )
    return CorpusResult(place="bundled with tokbench", groups=groups)


def describe_corpus(corpus: Corpus, *, place: str) -> CorpusResult:
    """A corpus by group, the largest first. Raises `CorpusError`."""
    groups: dict[str, CorpusGroup] = {}
    files: dict[str, set[str]] = {}
    for document in corpus.documents():
        before = groups.get(document.group) or CorpusGroup(document.group, None, None, 0, 0, 0, 0, 0, None)
        files.setdefault(document.group, set()).add(document.source.rpartition(":")[0] or document.source)
        groups[document.group] = _with(before, document, num_files=len(files[document.group]))
    ordered = sorted(groups.values(), key=lambda group: (-group.num_bytes, group.group))
    return CorpusResult(place=place, groups=tuple(ordered))


def _with(group: CorpusGroup, document: Document, *, num_files: int) -> CorpusGroup:
    text = document.text
    return dataclasses.replace(
        group,
        files=num_files,
        documents=group.documents + 1,
        num_bytes=group.num_bytes + len(text.encode()),
        characters=group.characters + len(text),
        lines=group.lines + text.count("\n") + (not text.endswith("\n")),
    )
