"""The use cases: each takes plain arguments, does its work and returns a result to be shown."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench import store
from tokbench.core.interfaces import (
    KnowsLoadingTime,
    RecordsTraining,
    SupportsCounts,
    TrainingRecord,
    no_progress,
)
from tokbench.core.sampling import sample_ids, sample_segmentation
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError, StoreError
from tokbench.opening.default_tokenizer import DEFAULT_NAME, default_directory, default_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Backend, Progress, Tokenizer
    from tokbench.core.sampling import Sampling
    from tokbench.core.tokens import Segmentation
    from tokbench.corpus import Corpus
    from tokbench.corpus.inputs import TextInput
    from tokbench.inspection import InspectResult
    from tokbench.opening import Opened, OpenRequest
    from tokbench.results import CountResult, DecodeResult, EncodeResult, TrainResult, VizResult

TOKENIZERS = Path("tokenizers")
"""Where trained tokenizers are kept and found by name, below the current folder."""

DEFAULT_BACKEND = "bpe"
_LEARNED_SHOWN = 12
_SHORT_TEXT = 1 << 18


# --- training ---------------------------------------------------------------------------------


def train(
    texts: Iterable[str] | str | Path,
    *,
    backend: str | None = None,
    preset: str | None = None,
    progress: Progress = no_progress,
    **options: Any,
) -> Tokenizer:
    """Learn a tokenizer.

    Args:
        texts: any iterable of strings, read once and streamed; or a corpus (`tokbench.open_corpus`),
            whose files the native kernel reads itself; or its path: a string is one, never a text.
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
    from tokbench.corpus.arguments import texts_of

    chosen, config = _configured(backend, preset, options)
    return chosen.train(texts_of(texts), config, progress=progress)


def train_and_save(
    corpus: Corpus,
    *,
    backend: str | None = None,
    preset: str | None = None,
    options: Mapping[str, Any],
    directory: Path | None = None,
    overwrite: bool = False,
    roles: Mapping[str, str] | None = None,
    chat_template: str | None = None,
    progress: Progress = no_progress,
) -> TrainResult:
    """Learn a tokenizer from a corpus and save it, by default as `tokenizers/<backend>-<size>`.

    Args:
        corpus: the text.
        backend: as for `train`.
        preset: as for `train`.
        options: as for `train`.
        directory: the folder to make.
        overwrite: whether to replace a saved tokenizer.
        roles: what a special token is to a model ("bos", "eos", …) → its text; saved with the tokenizer.
        chat_template: a Jinja template, saved with it too.
        progress: told how far it is.

    Raises:
        StoreError: the folder exists or cannot be written; found out before training where possible.
        ConfigError: also for a role that there is not, or one of a text that is no special token.
        UnknownBackendError, CorpusError, TrainingError: as `train`.
    """
    from tokbench.formats.tokenizer_config.roles import check_roles, with_roles
    from tokbench.results import TrainResult

    chosen, config = _configured(backend, preset, options)
    check_roles(roles or {}, config)
    if directory is not None:
        store.check_place(directory, overwrite=overwrite)
    started = time.perf_counter()
    tokenizer = with_roles(
        chosen.train(corpus, config, progress=progress), roles=roles or {}, chat_template=chat_template
    )
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


def parsed_options(
    texts: Iterable[str], *, backend: str | None = None, preset: str | None = None
) -> dict[str, Any]:
    """Options written as `key=value`, read by their types in the backend that `train` would choose.

    Raises:
        ConfigError: an option that the backend does not have, or a value of another type.
        UnknownBackendError: no backend of that name.

    >>> parsed_options(["vocab_size=32k"], backend="bpe")
    {'vocab_size': 32000}
    """
    from tokbench.config import load_preset, parse_options
    from tokbench.registry import get_backend

    name = backend or (load_preset(preset).backend if preset is not None else DEFAULT_BACKEND)
    return parse_options(get_backend(name).config_type, texts, where=f"the backend {name!r}")


def _configured(backend: str | None, preset: str | None, options: Mapping[str, Any]) -> tuple[Backend, Any]:
    from tokbench.config import build_config, load_preset
    from tokbench.registry import get_backend

    base: Mapping[str, Any] = {}
    for what, name in (("backend", backend), ("preset", preset)):
        if not isinstance(name, str | None):
            raise ConfigError(f"a {what} is named by a text, and this is {type(name).__name__}")
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


def load(
    path: str | Path,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int | None] | None = None,
    engine: str = "auto",
) -> Tokenizer:
    """Open a tokenizer by its path or name: one that was saved, or that of another tool.

    Args:
        path: a saved folder, `.tiktoken` ranks, `tokenizer.json`, a SentencePiece model, `vocab.json` with
            `merges.txt`, `vocab.txt`, GGUF, tokbin, or a folder with one of them; told by content. A string may
            be any name that `-t` takes: one below `tokenizers/`, "default", "tiktoken:NAME", "hf:ORG/MODEL".
        pattern: how text is split, a name or a regular expression, where the file does not say.
        special_tokens: text → id where the file does not say; None for the next free id.
        engine: "native", "library", or "auto": native where that is provably the same.

    Raises:
        StoreError: there is nothing of that path or name.
        ModelFormatError: it is damaged, or not a tokenizer.
        ConfigError: an option that cannot be used, or a pattern that is needed and not given; or
            an engine was demanded that cannot run it exactly.

    Usage:

        tokenizer = load("ranks.tiktoken", pattern="gpt4o", special_tokens={"<|eot|>": 200000})
    """
    if isinstance(path, str):
        return open_tokenizer(path, pattern=pattern, special_tokens=special_tokens, engine=engine)
    if not isinstance(path, Path):
        raise ConfigError(f"a tokenizer is opened by a path or a name, not by {path!r:.60}")
    from tokbench.opening import open_path

    return open_path(path, pattern=pattern, special_tokens=special_tokens, engine=engine)


def open_tokenizer(
    name: str,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int | None] | None = None,
    engine: str = "auto",
    progress: Progress = no_progress,
    tell: Callable[[str], None] = lambda _: None,
) -> Tokenizer:
    """The tokenizer that `-t NAME` means.

    That is a path, a name below `tokenizers/`, the built-in `default`, `tiktoken:NAME` or `hf:ORG/MODEL`;
    only the last two may fetch something. The options are those of `load`; `tell` is called with each damaged
    file that was passed over for another one of its folder.

    Raises:
        StoreError: nothing of that name, or it cannot be fetched.
        ModelFormatError, ConfigError: as `load`.
    """
    from tokbench.opening import OpenRequest

    request = OpenRequest(pattern=pattern, special_tokens=special_tokens or {}, engine=engine)
    started = time.perf_counter()
    opened = _opened(name, request, progress=progress)
    for message in opened.source.passed_over:
        tell(message)
    tokenizer = opened.tokenizer
    if isinstance(tokenizer, KnowsLoadingTime):
        tokenizer.loading_seconds = time.perf_counter() - started
    return tokenizer


def inspect(
    name: str,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int | None] | None = None,
    engine: str = "auto",
    progress: Progress = no_progress,
) -> InspectResult:
    """What is found behind a name: format, files, parts, special tokens, engine. As `open_tokenizer`."""
    from tokbench.inspection import inspect_opened
    from tokbench.opening import OpenRequest

    request = OpenRequest(pattern=pattern, special_tokens=special_tokens or {}, engine=engine)
    return inspect_opened(_opened(name, request, progress=progress))


def _opened(name: str, request: OpenRequest, *, progress: Progress) -> Opened:
    from tokbench.opening import Format, Source, open_found, recognise
    from tokbench.opening.remote import is_remote, open_remote
    from tokbench.opening.saved import opened_as_saved

    if not name:
        raise StoreError("the name of the tokenizer is empty", hint="`tokbench list` shows those there are")
    if store.is_saved_tokenizer(Path(name)):
        return open_found(recognise(Path(name)), request)
    if (TOKENIZERS / name).exists():
        return open_found(recognise(TOKENIZERS / name), request)
    if name == DEFAULT_NAME:
        source = Source(Format.SAVED, default_directory(), ())
        return opened_as_saved(default_tokenizer(progress=progress), source, request)
    if Path(name).exists():
        return open_found(recognise(Path(name)), request)
    if is_remote(name):
        return open_remote(name, request)
    raise _no_tokenizer(name)


def _no_tokenizer(name: str) -> StoreError:
    """Nothing has the name: what it needs if it is a model's, else what was probably meant, and what there is."""
    from tokbench.opening.known_models import nearest, where_to_get

    if (found := where_to_get(name)) is not None:
        tokenizer, hint = found
        return StoreError(
            f"there is no tokenizer {name!r} here: the model of that name has {tokenizer}", hint=hint
        )
    saved = store.saved_tokenizers(TOKENIZERS)
    known = [*(one.directory.name for one in saved if one.error is None), DEFAULT_NAME]
    close = nearest(name, known) or _path_near(name)
    meant = "" if close is None else f"did you mean {close!r}? "
    return StoreError(
        f"there is no tokenizer {name!r}",
        hint=f"{meant}there are {', '.join(known)}; a path, tiktoken:NAME and hf:ORG/MODEL work too",
    )


def _path_near(name: str) -> str | None:
    """Of a path that is not there, the nearest name in the same folder."""
    import difflib

    path = Path(name)
    if path.name == name or not path.parent.is_dir():
        return None
    close = difflib.get_close_matches(path.name, sorted(each.name for each in path.parent.iterdir()), n=1)
    return str(path.parent / close[0]) if close else None


# --- using ------------------------------------------------------------------------------------


def encode(
    tokenizer: Tokenizer,
    inputs: Iterable[TextInput],
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    sampling: Sampling | None = None,
) -> Iterator[EncodeResult]:
    """Each text as tokens, at random where a `sampling` says how.

    Raises:
        SpecialTokenError, TextError: as `Tokenizer.segment`.
        ConfigError: the tokenizer cannot sample.
    """
    from tokbench.results import EncodeResult

    for item in inputs:
        segmentation = _segment(tokenizer, item.text, special=special, sampling=sampling)
        yield EncodeResult(source=item.source, info=tokenizer.info, segmentation=segmentation)


def encode_ids(
    tokenizer: Tokenizer,
    inputs: Iterable[TextInput],
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    sampling: Sampling | None = None,
) -> Iterator[list[int]]:
    """The ids of each text; otherwise as `encode`."""
    if sampling is None:
        return (tokenizer.encode(item.text, special=special) for item in inputs)
    return (sample_ids(tokenizer, item.text, sampling, special=special) for item in inputs)


def _segment(
    tokenizer: Tokenizer, text: str, *, special: SpecialPolicy, sampling: Sampling | None
) -> Segmentation:
    if sampling is None:
        return tokenizer.segment(text, special=special)
    return sample_segmentation(tokenizer, text, sampling, special=special)


def decode(tokenizer: Tokenizer, ids: Sequence[int], *, errors: str = "replace") -> DecodeResult:
    """The bytes of ids, as they are under "replace".

    Raises:
        UnknownIdError: an id that the vocabulary does not have.
        DecodeError: bytes that are no whole characters, under "strict".
    """
    from tokbench.results import DecodeResult

    data = (
        tokenizer.decode(ids, errors="strict").encode() if errors == "strict" else tokenizer.decode_bytes(ids)
    )
    return DecodeResult(info=tokenizer.info, tokens=len(ids), data=data)


def count(
    tokenizers: Sequence[Tokenizer],
    inputs: Iterable[TextInput],
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    per_line: bool = False,
) -> tuple[CountResult, ...]:
    """How many tokens, bytes and characters each text has.

    Args:
        tokenizers: each counts every text, which is read once.
        inputs: the texts; those that are parts of one file are counted together.
        special: what the text of a special token becomes.
        per_line: whether each line of a text, and each part of a file, is counted by itself.

    Returns:
        One for each tokenizer.

    Raises:
        SpecialTokenError, TextError: as `Tokenizer.encode`.
    """
    from tokbench.results import Count, CountResult

    counts: list[list[Count]] = [[] for _ in tokenizers]
    for item in _lines(inputs) if per_line else inputs:
        size, characters = len(item.text.encode()), len(item.text)
        joins = item.continues and not per_line
        for tokenizer, found in zip(tokenizers, counts, strict=True):
            tokens = _num_tokens(tokenizer, item.text, special=special)
            one = Count(item.source if per_line else item.file, tokens, size, characters)
            found.append(found.pop().joined(one) if joins else one)
    return tuple(
        CountResult(info=tokenizer.info, counts=tuple(found))
        for tokenizer, found in zip(tokenizers, counts, strict=True)
    )


def _lines(inputs: Iterable[TextInput]) -> Iterator[TextInput]:
    """Each line as a text, without its end; a text without a line end is one, as it is."""
    for item in inputs:
        lines = item.text.removesuffix("\n").split("\n")
        for number, line in enumerate(lines, start=1):
            source = item.source if len(lines) == 1 else f"{item.source}:{number}"
            yield dataclasses.replace(item, source=source, text=line.removesuffix("\r"))


def _num_tokens(tokenizer: Tokenizer, text: str, *, special: SpecialPolicy) -> int:
    """How many tokens a text has: a short one needs no array, and NumPy is slow to import."""
    if len(text) <= _SHORT_TEXT:
        return len(tokenizer.encode(text, special=special))
    if isinstance(tokenizer, SupportsCounts):
        return int(tokenizer.count_batch([text], special=special, threads=1)[0])
    return len(tokenizer.encode_batch([text], special=special, threads=1).ids)


def viz(
    tokenizers: Iterable[Tokenizer],
    text: str,
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    sampling: Sampling | None = None,
) -> VizResult:
    """A text as each tokenizer sees it, at random where a `sampling` says how; raises as `encode`."""
    from tokbench.results import VizResult, VizTokenizer

    views = (
        VizTokenizer(
            info=tokenizer.info,
            segmentation=_segment(tokenizer, text, special=special, sampling=sampling),
        )
        for tokenizer in tokenizers
    )
    return VizResult(text=text, views=tuple(views))
