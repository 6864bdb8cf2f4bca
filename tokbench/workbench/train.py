"""Train a tokenizer and save it."""

from __future__ import annotations

import dataclasses
import os
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from tokbench import store
from tokbench.core.capabilities import RecordsTraining
from tokbench.core.counted_words import TrainsOnWords
from tokbench.core.interfaces import TrainingRecord
from tokbench.core.progress import no_progress
from tokbench.core.result_json import token_fields, tokenizer_fields
from tokbench.errors import ConfigError
from tokbench.formats.tokenizer_config.roles import TellsRoles, check_roles, with_roles
from tokbench.workbench.open import TOKENIZERS
from tokbench.workbench.training_config import configured, configured_on_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tokbench.core.convenience import OpenedTokenizer
    from tokbench.core.interfaces import Backend, Tokenizer, TokenizerInfo
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.workbench.count_words import TrainingWords


@dataclass(frozen=True, slots=True)
class TrainResult:
    """A trained and saved tokenizer.

    Attributes:
        info: what it is.
        training: the record of the training.
        directory: the folder that it is saved in.
        first_learned: the first tokens that were learned.
        last_learned: the last ones.
        saving_seconds: wall seconds that saving took.
        fingerprint: the identity of the training text; None if it is not known.
        left_out: files that could not be written → the reason.
        unchanged: whether the folder already contained this tokenizer, the same to the byte, and was left as it is.
    """

    info: TokenizerInfo
    training: TrainingRecord
    directory: Path
    first_learned: tuple[bytes, ...]
    last_learned: tuple[bytes, ...]
    saving_seconds: float
    fingerprint: str | None
    left_out: Mapping[str, str]
    unchanged: bool

    @property
    def seconds(self) -> float:
        """Wall seconds from the first byte read to the saved folder."""
        return sum(self.training.seconds.values()) + self.saving_seconds

    @property
    def megabytes_per_second(self) -> float | None:
        """Millions of bytes of text per second of training, without saving; None if training took no time."""
        seconds = sum(self.training.seconds.values())
        num_bytes = self.training.num_bytes
        return num_bytes / seconds / 1e6 if num_bytes is not None and seconds > 0 else None

    @property
    def bytes_per_token(self) -> float | None:
        """UTF-8 bytes of the training text divided by its tokens; None if the backend does not record them."""
        num_bytes, tokens = self.training.num_bytes, self.training.tokens
        return num_bytes / tokens if num_bytes is not None and tokens else None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        training = self.training
        return {
            "schema": "tokbench.train/1",
            **tokenizer_fields(self.info),
            "directory": str(self.directory),
            "unchanged": self.unchanged,
            "left_out": dict(self.left_out),
            "special_tokens": dict(self.info.special_tokens),
            "requested_vocab_size": training.requested_vocab_size,
            "merges": len(training.learned_ids),
            "stopped_early": training.stopped_early,
            "notes": list(training.notes),
            "documents": training.documents,
            "bytes": training.num_bytes,
            "pretokens": training.pretokens,
            "distinct_pretokens": training.distinct_pretokens,
            "tokens": training.tokens,
            "bytes_per_token": self.bytes_per_token,
            "fingerprint": self.fingerprint,
            "threads": training.threads,
            "seconds": {**training.seconds, "saving": self.saving_seconds, "total": self.seconds},
            "megabytes_per_second": self.megabytes_per_second,
            "first_learned": [token_fields(piece) for piece in self.first_learned],
            "last_learned": [token_fields(piece) for piece in self.last_learned],
        }


_LEARNED_SHOWN = 12


def train(
    texts: Iterable[str] | str | Path,
    *,
    backend: str | None = None,
    preset: str | None = None,
    roles: Mapping[str, str] | None = None,
    special_preset: str | None = None,
    progress: Progress = no_progress,
    **options: Any,
) -> OpenedTokenizer:
    """Train a tokenizer.

    Args:
        texts: an iterable of strings, read once and streamed; or a corpus (`tokbench.open_corpus`), whose files the
            native kernel reads itself; or the path of one: a string is a path, never a text.
        backend: name of a registered backend; by default the preset's, else "bpe".
        preset: a preset's name or path; `options` take precedence over it.
        roles: role of a special token in a model ("bos", "turn_end", …; see `tokbench.core.roles`) → its text.
        special_preset: a well-known set of special tokens with its roles ("chatml", "llama3", …; `tokbench backends`
            lists them), placed before those of `special_tokens`.
        progress: called with how much of the work is done.
        options: the backend's options, such as `vocab_size=32_000`, `pattern="gpt4"`,
            `special_tokens=["<|endoftext|>"]`, `threads=2`; `tokbench backends` lists them.

    Raises:
        ConfigError: an option cannot be used, or a role names a text that is not a special token.
        UnknownBackendError: no backend has that name.
        CorpusError: a text cannot be read.
        TrainingError: the training cannot succeed.

    >>> tokenizer = train(["low lower lowest"] * 2, vocab_size=260)
    >>> [tokenizer.token_bytes(id) for id in tokenizer.encode("lower")]
    [b'low', b'e', b'r']
    """
    from tokbench.corpus.opening import texts_of

    chosen, config = configured(backend, preset, options, special_preset=special_preset)
    check_roles(roles or {}, config)
    tokenizer = chosen.train(texts_of(texts), config, progress=progress)
    return cast("OpenedTokenizer", with_roles(tokenizer, roles=_roles(tokenizer, special_preset, roles)))


def train_and_save(
    corpus: Corpus | TrainingWords,
    *,
    backend: str | None = None,
    preset: str | None = None,
    options: Mapping[str, Any],
    directory: Path | None = None,
    overwrite: bool = False,
    roles: Mapping[str, str] | None = None,
    special_preset: str | None = None,
    chat_template: str | None = None,
    memory: int | None = None,
    min_count: int = 1,
    progress: Progress = no_progress,
) -> TrainResult:
    """Train a tokenizer on a corpus and save it, by default as `tokenizers/<backend>-<size>`.

    Without a folder of the caller's choice, the same tokenizer that is already there is left as it is, so that the
    same training can be run again.

    Args:
        corpus: the text, or its word counts as `tokbench.workbench.count_words.training_words` opens them.
        backend: as for `train`.
        preset: as for `train`.
        options: as for `train`.
        directory: the folder to create.
        overwrite: whether to replace a saved tokenizer.
        roles: role of a special token in a model ("bos", "eos", …) → its text; saved with the tokenizer.
        special_preset: as for `train`.
        chat_template: a Jinja template, saved with the tokenizer.
        memory: memory limit of this process in bytes (bpe); words that do not fit are spilled to a temporary file.
        min_count: with `memory`, drop words that occur fewer times, which changes the result.
        progress: called with how much of the work is done.

    Raises:
        StoreError: the folder exists with other contents, or cannot be written; checked before training where
            possible.
        ConfigError: as `train`; also for an unknown role.
        UnknownBackendError, CorpusError, TrainingError: as `train`.
    """
    from tokbench.corpus import Corpus
    from tokbench.corpus.identified import IdentifiedDocuments

    learn: Callable[..., Tokenizer]
    if not isinstance(corpus, Corpus):
        chosen, config = configured_on_words(
            corpus, backend=backend, preset=preset, options=options, special_preset=special_preset
        )
        learn = partial(chosen.train_on_words, corpus)
    else:
        chosen, config = configured(backend, preset, options, special_preset=special_preset)
        learn = partial(chosen.train, IdentifiedDocuments(corpus))
        if memory is not None:
            learn = partial(
                learn_within, chosen, IdentifiedDocuments(corpus), memory=memory, min_count=min_count
            )
    check_roles(roles or {}, config)
    _check_target(directory, chosen.name, getattr(config, "vocab_size", None), overwrite=overwrite)
    started = time.perf_counter()
    tokenizer = learn(config, progress=progress)
    merged_roles = _roles(tokenizer, special_preset, roles)
    tokenizer = with_roles(tokenizer, roles=merged_roles, chat_template=chat_template)
    trained = time.perf_counter()
    training = _training_record(tokenizer, seconds=trained - started)
    progress("saving", 0, None, "bytes")
    target = directory or TOKENIZERS / f"{chosen.name}-{tokenizer.info.vocab_size}"
    unchanged = directory is None and not overwrite and _is_saved_in(target, tokenizer)
    if not unchanged:
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
        unchanged=unchanged,
    )


def _check_target(directory: Path | None, backend: str, vocab_size: int | None, *, overwrite: bool) -> None:
    """Raise `StoreError` before the training if the tokenizer could not be saved after it.

    Without a folder and a size the name is not known yet, and the same holds for a training that stops early.
    """
    if directory is None and vocab_size is None:
        store.check_parent(TOKENIZERS / backend)
    else:
        store.check_place(directory or TOKENIZERS / f"{backend}-{vocab_size}", overwrite=overwrite)


def _is_saved_in(directory: Path, tokenizer: Tokenizer) -> bool:
    """Whether a folder already contains what saving the tokenizer there would write."""
    if not store.is_saved_tokenizer(directory):
        return False
    with TemporaryDirectory() as folder:
        again = Path(folder) / directory.name
        tokenizer.save(again)
        return store.contain_the_same(again, directory)


def _training_record(tokenizer: Tokenizer, *, seconds: float) -> TrainingRecord:
    """Return the tokenizer's record of its training, or one with only the duration if it has none."""
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


def _roles(
    tokenizer: Tokenizer, special_preset: str | None, roles: Mapping[str, str] | None
) -> dict[str, str]:
    """Merge the roles of the user with those of the preset that the backend does not define itself."""
    from tokbench.core.special_presets import special_preset as preset_named

    preset_roles = {} if special_preset is None else preset_named(special_preset).roles
    own = tokenizer.own_roles() if isinstance(tokenizer, TellsRoles) else {}
    return {**{role: text for role, text in preset_roles.items() if role not in own}, **(roles or {})}


def learn_within(
    backend: Backend,
    documents: Iterable[str],
    config: Any,
    *,
    memory: int,
    min_count: int = 1,
    progress: Progress,
) -> Tokenizer:
    """Train a tokenizer as `backend.train` does, within a memory limit: words that do not fit are spilled to a file.

    Args:
        backend: bpe, on the native kernel.
        documents: the texts, read once.
        config: configuration of the backend.
        memory: memory limit of this process in bytes.
        min_count: drop words that occur fewer times, which changes the result.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: the backend cannot do it, or the limit is too small for anything.
        TrainingError: as `backend.train`; also if merging the words would exceed the limit, raised before merging.
        CorpusError, StoreError, BackendUnavailableError: as `count_within`.
    """
    from tokbench.counting.spilled_words import count_within

    if not isinstance(backend, TrainsOnWords) or not backend.bounds_memory:
        raise ConfigError(
            f"--memory needs the backend bpe on its native kernel, and this is {backend.name} ({backend.kernel})",
            hint="`tokbench count-words` counts the words of other backends in little memory",
        )
    with count_within(
        documents,
        backend.word_counting(config),
        memory=memory,
        min_count=min_count,
        threads=config.threads or os.cpu_count() or 1,
        progress=progress,
    ) as words:
        return backend.train_on_words(words, config, progress=progress)
