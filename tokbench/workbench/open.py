"""Open tokenizers by path or name."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tokbench import store
from tokbench.core.capabilities import KnowsLoadingTime, MakesReady
from tokbench.core.convenience import PlainUse
from tokbench.core.progress import no_progress
from tokbench.core.wording import near_names
from tokbench.errors import ConfigError, StoreError, TokbenchError
from tokbench.files.garbage_collection import paused_garbage_collection
from tokbench.opening.request import OpenRequest
from tokbench.opening.saved import DEFAULT_NAME, default_directory, default_tokenizer, opened_as_saved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokbench.core.convenience import OpenedTokenizer
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.pickled import Pickled
    from tokbench.core.progress import Progress
    from tokbench.opening.request import Opened
    from tokbench.shards.layout import TokenizerIdentity

TOKENIZERS = Path("tokenizers")
"""The folder of trained tokenizers, where names are looked up, relative to the current folder."""

_MOST_OPEN = 8
"""Number of tokenizers that a worker keeps open between parts."""
_ENDINGS = {".json", ".model", ".spm", ".tiktoken", ".gguf", ".tokbin", ".bin"}
_MOST_BYTES = 1 << 28
_MOST_FILES = 4096
_MOST_JSON_FILES = 16
_OF_A_MODEL = re.compile(
    r"README.*|LICENSE.*|NOTICE.*|USE_POLICY.*|.*\.(model|model\.v.*|spm|tiktoken|gguf|tokbin|bin|jinja|safetensors|onnx)"
    r"|.*(token|config|vocab|index|encoder|template|tekken|params).*\.json|(vocab|.*merges)\.txt|vocab\.bpe"
    r"|(tokenization|modeling|configuration|processing|image_processing)_.*\.py"
)
"""The names of files in the folder of a model."""
"""Maximum size of a file that may be a tokenizer where text is expected; larger files are corpora."""


def load(
    path: str | os.PathLike[str],
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int | None] | None = None,
    engine: str = "auto",
    roles: Mapping[str, str] | None = None,
    special_preset: str | None = None,
) -> OpenedTokenizer:
    """Open a tokenizer by its path or name: a saved folder, or a file of another tool.

    Args:
        path: a saved folder, `.tiktoken` ranks, `tokenizer.json`, a SentencePiece model, `vocab.json` with
            `merges.txt`, `vocab.txt`, GGUF, `tekken.json`, tokbin, or a folder with one of them; recognized by content.
            A string may also be any name that `-t` takes: one below `tokenizers/`, "default", "tiktoken:NAME",
            "hf:ORG/MODEL".
        pattern: the split pattern, by name or as a regular expression, if the file has none.
        special_tokens: text → id of special tokens, if the file has none; None assigns the next free id.
        engine: "native", "library", or "auto": native if it certainly gives the same ids.
        roles: role of a token in a model ("pad", "turn_end", …) → its text; takes precedence over the files.
        special_preset: a well-known set of special tokens ("llama3", "chatml", …; `tokbench backends` lists them)
            if the file has none.

    Raises:
        StoreError: nothing has that path or name.
        ModelFormatError: the file is damaged, or not a tokenizer.
        ConfigError: an option cannot be used, a pattern is needed and not given, or the engine that was asked for
            cannot run the tokenizer exactly.

    Usage:

        tokenizer = load("ranks.tiktoken", pattern="gpt4o", special_tokens={"<|eot|>": 200000})
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"a tokenizer is opened by a path or a name, not by {path!r:.60}")
    request = OpenRequest(
        pattern=pattern,
        special_tokens=special_tokens or {},
        engine=engine,
        roles=roles or {},
        special_preset=special_preset,
    )
    tokenizer = open_tokenizer(path if isinstance(path, str) else Path(path), request)
    # Commands skip this step until they have more than a short text.
    if isinstance(tokenizer, MakesReady):
        with paused_garbage_collection():
            tokenizer.make_ready()
    return cast("OpenedTokenizer", tokenizer)


def open_tokenizer(
    name: str | Path,
    request: OpenRequest,
    *,
    progress: Progress = no_progress,
    tell: Callable[[str], None] = lambda _: None,
) -> Tokenizer:
    """Open the tokenizer that `-t NAME` means.

    Args:
        name: a path, a name below `tokenizers/`, the built-in `default`, `tiktoken:NAME` or `hf:ORG/MODEL`; only the
            last two may download. A `Path` is never looked up as a name.
        request: the options of the user.
        progress: called with how much of the training of `default` is done.
        tell: called with a message for each damaged file that was skipped in favour of another one of its folder.

    Raises:
        StoreError: nothing has that name, or it cannot be fetched.
        ModelFormatError, ConfigError: as `load`.
    """
    started = time.perf_counter()
    opened = find_and_open(name, request, progress=progress)
    for message in opened.source.passed_over:
        tell(message)
    tokenizer = opened.tokenizer
    if isinstance(tokenizer, KnowsLoadingTime):
        tokenizer.loading_seconds = time.perf_counter() - started
    if isinstance(tokenizer, PlainUse):
        tokenizer.origin = NamedTokenizer.of(str(name), request)
    return tokenizer


def find_and_open(name: str | Path, request: OpenRequest, *, progress: Progress) -> Opened:
    """Find and open what a name of `-t` means; raises as `open_tokenizer`."""
    if isinstance(name, Path):
        from tokbench.opening.open import open_path

        opened = open_path(name, request)
    else:
        opened = _open_named(name, request, progress=progress)
    if request.all_roles:
        from tokbench.formats.tokenizer_config.roles import with_roles

        with_roles(opened.tokenizer, roles=request.all_roles)
    return opened


def _open_named(name: str, request: OpenRequest, *, progress: Progress) -> Opened:
    from tokbench.opening.open import open_path
    from tokbench.opening.recognition import Format, Source
    from tokbench.opening.remote import is_remote, open_remote

    if not name:
        raise StoreError("the name of the tokenizer is empty", hint="`tokbench list` shows those there are")
    if store.is_saved_tokenizer(Path(name)):
        return open_path(Path(name), request)
    if _is_name(name) and (TOKENIZERS / name).exists():
        return open_path(TOKENIZERS / name, request)
    if name == DEFAULT_NAME:
        source = Source(Format.SAVED, default_directory(), ())
        return opened_as_saved(default_tokenizer(progress=progress), source, request)
    if Path(name).exists() or Path(name).is_symlink():
        return open_path(Path(name), request)
    if is_remote(name):
        return open_remote(name, request)
    raise _unknown_name_error(name)


def _is_name(name: str) -> bool:
    """Whether the name leads below `tokenizers/`: "." and "../a" are paths relative to the current folder."""
    parts = Path(name).parts
    return bool(parts) and ".." not in parts


def _unknown_name_error(name: str) -> StoreError:
    """Build the error for an unknown name, with the tokenizer of a known model or the nearest names in the hint."""
    from tokbench.opening.remote import nearest, where_to_get

    if (known_model := where_to_get(name)) is not None:
        tokenizer, hint = known_model
        used = "" if tokenizer == name.lower() else f": the model of that name uses {tokenizer}"
        return StoreError(f"there is no tokenizer {name!r} here{used}", hint=hint)
    saved = store.saved_tokenizers(TOKENIZERS)
    known = [*(entry.directory.name for entry in saved if entry.error is None), DEFAULT_NAME]
    close = nearest(name, known) or _similar_path(name)
    meant = "" if close is None else f"did you mean {close!r}? "
    return StoreError(
        f"there is no tokenizer {name!r}",
        hint=f"{meant}available: {', '.join(dict.fromkeys(known))}; a path, tiktoken:NAME or hf:ORG/MODEL works, too",
    )


def _similar_path(name: str) -> str | None:
    """Return the path of the nearest name in the same folder as a missing path."""
    path = Path(name)
    if path.name == name or not path.parent.is_dir():
        return None
    close = near_names(path.name, sorted(entry.name for entry in path.parent.iterdir()))
    return str(path.parent / close[0]) if close else None


def tokenizers_among(paths: Sequence[str]) -> Iterator[Path]:
    """Yield the paths that are tokenizers, by name and content; word lists and merges are not, as they may be text.

    >>> list(tokenizers_among(["README.md", "-", "https://example.com/x.json"]))
    []
    """
    from tokbench.opening.recognition import Format, recognize

    line_formats = {Format.WORDPIECE_VOCAB, Format.VOCAB_AND_MERGES}  # ordinary text may look like these
    for path in map(Path, paths):
        try:
            if store.is_saved_tokenizer(path) or (
                _is_candidate(path) and recognize(path).format not in line_formats
            ):
                yield path
        except (TokbenchError, OSError, ValueError):
            continue


def tokenizer_folders(path: Path) -> list[Path]:
    """Return what to name instead of a folder of nothing but files of models; empty for any other path.

    These are the folders of tokenizers in it, or the files, where a folder has several or they have unusual names.
    Texts in vocabularies are no documents: a folder with other files is a corpus, even if a tokenizer is among them.
    """
    from tokbench.corpus.paths import files_below

    if not path.is_dir():
        return []
    files = list(islice(files_below(path, hidden=set(), results=set()), _MOST_FILES))
    if len(files) == _MOST_FILES:
        return []
    others = [file for file in files if not _OF_A_MODEL.fullmatch(file.name)]
    if any(file.suffix != ".json" for file in others) or len(others) > _MOST_JSON_FILES:
        return []
    if len(list(tokenizers_among(list(map(str, others))))) != len(others):
        return []
    folders = dict.fromkeys(file.parent for file in sorted(files))
    return [path for folder in folders for path in _to_name(folder)]


def _to_name(folder: Path) -> list[Path]:
    """Return what opens a tokenizer of a folder: the folder itself, or several or unusual files; empty if nothing."""
    from tokbench.opening.recognition import otherwise_named, recognize, tokenizer_files

    files = tokenizer_files(folder)
    if not files:
        return otherwise_named(folder)
    try:
        recognize(folder)
    except TokbenchError:
        return [folder] if len(files) == 1 else files
    return [folder]


def _is_candidate(path: Path) -> bool:
    from tokbench.opening.files import plain_name

    return plain_name(path).suffix in _ENDINGS and path.is_file() and path.stat().st_size <= _MOST_BYTES


@dataclass(frozen=True, slots=True)
class NamedTokenizer:
    """A tokenizer as workers open it: its name, or its absolute path if it is on disk, and the options of the user."""

    name: str
    request: OpenRequest

    @classmethod
    def of(cls, name: str, request: OpenRequest) -> NamedTokenizer:
        """Return a description that does not depend on the worker's current folder."""
        near = [path for path in (Path(name), TOKENIZERS / name) if path.exists()]
        return cls(str(near[0].absolute()) if near else name, request)

    def document(self, identity: TokenizerIdentity) -> dict[str, Any]:
        """Return the description for tasks that `opened_alike` takes."""
        return {
            "name": self.name,
            "request": asdict(self.request),
            "vocabulary": identity.vocabulary,
            "behaviour": identity.behaviour,
        }

    def pickled(self, tokenizer: Tokenizer) -> Pickled:
        """Pickle by name, see `tokbench.core.pickled.Origin`: its files must be unchanged when it is reopened."""
        from tokbench.shards.plan import identity_of

        return opened_alike, (self.document(identity_of(tokenizer)),)


def opened_alike(document: Mapping[str, Any]) -> Tokenizer:
    """Open the tokenizer of a task or a pickle; a worker opens it once.

    Raises:
        ConfigError: the tokenizer differs on the worker, or cannot be opened there.
    """
    return _open_cached(
        document["name"], json.dumps(document["request"]), document["vocabulary"], document["behaviour"]
    )


@lru_cache(maxsize=_MOST_OPEN)
def _open_cached(name: str, request: str, vocabulary: str, behaviour: str) -> Tokenizer:
    from tokbench.shards.plan import identity_of

    tokenizer = open_tokenizer(name, OpenRequest(**json.loads(request)))
    found = identity_of(tokenizer)
    if (found.vocabulary, found.behaviour) != (vocabulary, behaviour):
        raise ConfigError(
            f"{name} is a different tokenizer on the worker",
            hint="copy it to where the workers read it",
        )
    return tokenizer
