"""The use cases: each takes plain arguments, does its work and returns a result to be shown."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench import store
from tokbench.config import build_config, load_preset, preset_names
from tokbench.defaults import DEFAULT_NAME, default_directory, default_tokenizer
from tokbench.errors import ConfigError, ModelFormatError, StoreError
from tokbench.interfaces import BackendInfo, BackendOption, RecordsTraining, TrainingRecord, no_progress
from tokbench.registry import backend_names, get_backend
from tokbench.results import (
    BackendsResult,
    CorpusGroup,
    CorpusResult,
    Count,
    CountResult,
    DecodeResult,
    EncodeResult,
    ListedTokenizer,
    ListResult,
    TrainResult,
    VizResult,
    VizTokenizer,
)
from tokbench.tokens import SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.corpus import Corpus, Document
    from tokbench.inputs import TextInput
    from tokbench.interfaces import Backend, Progress, Tokenizer

TOKENIZERS = Path("tokenizers")
"""Where trained tokenizers are kept and found by name, below the current folder."""

DEFAULT_BACKEND = "bpe"
_LEARNED_SHOWN = 12


# --- training ---------------------------------------------------------------------------------


def train(
    texts: Iterable[str],
    *,
    backend: str | None = None,
    preset: str | None = None,
    progress: Progress = no_progress,
    **options: Any,
) -> Tokenizer:
    """Learn a tokenizer.

    Args:
        texts: any iterable of strings, read once and streamed; or a corpus (`tokbench.open_corpus`),
            whose files the native kernel reads itself.
        backend: a registered backend; by default the preset's, else "bpe".
        preset: a preset's name or path; what stands in `options` takes precedence.
        progress: told how far it is.
        options: the backend's options, such as `vocab_size=32_000`, `pattern="gpt4"`,
            `special_tokens=["<|endoftext|>"]`, `threads=2`; `tokbench backends` lists them.

    Raises:
        ConfigError: an option that cannot be used.
        UnknownBackendError: no backend of that name.
        CorpusError: a text that cannot be read.
        TrainingError: a training that cannot succeed.

    >>> tokenizer = train(["low lower lowest"] * 2, vocab_size=260)
    >>> [tokenizer.token_bytes(id) for id in tokenizer.encode("lower")]
    [b'low', b'e', b'r']
    """
    chosen, config = _configured(backend, preset, options)
    return chosen.train(texts, config, progress=progress)


def train_and_save(
    corpus: Corpus,
    *,
    backend: str | None = None,
    preset: str | None = None,
    options: Mapping[str, Any],
    directory: Path | None = None,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> TrainResult:
    """Learn a tokenizer from a corpus and save it, by default as `tokenizers/<backend>-<size>`.

    Raises:
        StoreError: the folder exists or cannot be written; found out before training where possible.
        ConfigError, UnknownBackendError, CorpusError, TrainingError: as `train`.
    """
    chosen, config = _configured(backend, preset, options)
    if directory is not None:
        store.check_place(directory, overwrite=overwrite)
    started = time.perf_counter()
    tokenizer = chosen.train(corpus, config, progress=progress)
    trained = time.perf_counter()
    training = _training_record(tokenizer, seconds=trained - started)
    progress("saving", 0, None, "bytes")
    target = directory or TOKENIZERS / f"{chosen.name}-{tokenizer.info.vocab_size}"
    tokenizer.save(target, overwrite=overwrite)
    saving_seconds = time.perf_counter() - trained
    learned = training.learned_ids
    manifest = store.read_manifest(target)
    return TrainResult(
        info=dataclasses.replace(tokenizer.info, name=target.name),
        training=training,
        directory=target,
        first_learned=tuple(tokenizer.token_bytes(id) for id in learned[:_LEARNED_SHOWN]),
        last_learned=tuple(tokenizer.token_bytes(id) for id in learned[_LEARNED_SHOWN:][-_LEARNED_SHOWN:]),
        saving_seconds=saving_seconds,
        fingerprint=(manifest.training or {}).get("fingerprint"),
        left_out=manifest.config.get("left_out", {}),
    )


def _training_record(tokenizer: Tokenizer, *, seconds: float) -> TrainingRecord:
    """What the tokenizer knows of its training; of one that tells nothing, how long it took."""
    if isinstance(tokenizer, RecordsTraining) and tokenizer.training is not None:
        return tokenizer.training
    return TrainingRecord(
        documents=None,
        num_bytes=None,
        pretokens=None,
        distinct_pretokens=None,
        tokens=None,
        learned_ids=range(0),
        seconds={"training": seconds},
        threads=1,
        kernel=tokenizer.info.kernel,
    )


def _configured(backend: str | None, preset: str | None, options: Mapping[str, Any]) -> tuple[Backend, Any]:
    base: Mapping[str, Any] = {}
    if preset is not None:
        found = load_preset(preset)
        if backend not in (None, found.backend):
            raise ConfigError(
                f"the preset {found.name!r} is for the backend {found.backend!r}, not {backend!r}",
                hint="leave out --backend, or choose another preset",
            )
        backend, base = found.backend, found.options
    chosen = get_backend(backend or DEFAULT_BACKEND)
    return chosen, build_config(chosen.config_type, {**base, **options}, where=f"the backend {chosen.name!r}")


# --- opening ----------------------------------------------------------------------------------


def load(path: str | Path) -> Tokenizer:
    """Open a tokenizer that was saved, by the path of its folder.

    Raises:
        StoreError: there is nothing of that path.
        ModelFormatError: it is damaged, or not a tokenizer.
    """
    directory = Path(path)
    if not directory.exists():
        raise StoreError(
            f"there is no tokenizer at {directory}", hint="`tokbench list` shows those there are"
        )
    if not store.is_saved_tokenizer(directory):
        raise ModelFormatError(
            directory,
            f"a folder with {store.MANIFEST_NAME}",
            "a folder without one" if directory.is_dir() else "a file",
            hint="name the folder that `tokbench train` made",
        )
    return get_backend(store.read_manifest(directory).backend).load(directory)


def open_tokenizer(name: str, *, progress: Progress = no_progress) -> Tokenizer:
    """The tokenizer that `-t NAME` means: a path, a name below `tokenizers/`, or the built-in `default`.

    Raises:
        StoreError: nothing of that name.
        ModelFormatError: it is damaged, or not a tokenizer.
    """
    if not name:
        raise StoreError("the name of the tokenizer is empty", hint="`tokbench list` shows those there are")
    for directory in (Path(name), TOKENIZERS / name):
        if store.is_saved_tokenizer(directory):
            return load(directory)
    if name == DEFAULT_NAME:
        return default_tokenizer(progress=progress)
    if Path(name).exists():
        return load(name)
    known = [entry.name for entry in list_tokenizers().tokenizers if entry.error is None]
    raise StoreError(
        f"there is no tokenizer {name!r}", hint=f"there are {', '.join(known)}; a path works too"
    )


# --- using ------------------------------------------------------------------------------------


def encode(
    tokenizer: Tokenizer, inputs: Iterable[TextInput], *, special: SpecialPolicy = SpecialPolicy.TEXT
) -> Iterator[EncodeResult]:
    """Each text as tokens. Raises `SpecialTokenError`, `TextError`."""
    for item in inputs:
        segmentation = tokenizer.segment(item.text, special=special)
        yield EncodeResult(source=item.source, info=tokenizer.info, segmentation=segmentation)


def encode_ids(
    tokenizer: Tokenizer, inputs: Iterable[TextInput], *, special: SpecialPolicy = SpecialPolicy.TEXT
) -> Iterator[list[int]]:
    """The ids of each text. Raises `SpecialTokenError`, `TextError`."""
    return (tokenizer.encode(item.text, special=special) for item in inputs)


def decode(tokenizer: Tokenizer, ids: Sequence[int], *, errors: str = "replace") -> DecodeResult:
    """The bytes of ids, as they are under "replace".

    Raises:
        UnknownIdError: an id that the vocabulary does not have.
        DecodeError: bytes that are no whole characters, under "strict".
    """
    data = (
        tokenizer.decode(ids, errors="strict").encode() if errors == "strict" else tokenizer.decode_bytes(ids)
    )
    return DecodeResult(info=tokenizer.info, tokens=len(ids), data=data)


def count(
    tokenizer: Tokenizer, inputs: Iterable[TextInput], *, special: SpecialPolicy = SpecialPolicy.TEXT
) -> CountResult:
    """How many tokens, bytes and characters each text has. Raises `SpecialTokenError`, `TextError`."""
    counts = tuple(
        Count(
            source=item.source,
            tokens=len(tokenizer.encode_batch([item.text], special=special, threads=1).ids),
            num_bytes=len(item.text.encode()),
            characters=len(item.text),
        )
        for item in inputs
    )
    return CountResult(info=tokenizer.info, counts=counts)


def viz(
    tokenizers: Iterable[Tokenizer], text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT
) -> VizResult:
    """A text as each tokenizer sees it. Raises `SpecialTokenError`, `TextError`."""
    views = (
        VizTokenizer(info=tokenizer.info, segmentation=tokenizer.segment(text, special=special))
        for tokenizer in tokenizers
    )
    return VizResult(text=text, views=tuple(views))


# --- listing ----------------------------------------------------------------------------------


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
    return f"trained on {training['num_bytes']:,} bytes in {training.get('documents', 0):,} documents"


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
