"""The entrants of a benchmark: each tokenizer, and the same tokenizer in other libraries."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.bench.runner import runner_of
from tokbench.convert.conversion import Source
from tokbench.core.descriptions import DescribesItself
from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokbench.bench.peers import Peer
    from tokbench.bench.runner import Runner
    from tokbench.core.interfaces import Tokenizer

_ENDINGS = (".tiktoken", ".json", ".model", ".gguf", ".tokbin", ".txt")


@dataclass(frozen=True, slots=True)
class Subject:
    """A tokenizer that the user named.

    Attributes:
        name: its name, unique within the benchmark.
        options: the arguments of `tokbench.load`, as plain data, so that another process can open it, too.
    """

    name: str
    options: Mapping[str, Any]

    def opened(self) -> Tokenizer:
        """Open the tokenizer. Raises what `load` raises."""
        from tokbench.workbench.open import load

        tokenizer: Tokenizer = load(**self.options)
        return tokenizer


@dataclass(slots=True)
class Entrant:
    """A tokenizer in one library, to be timed.

    Attributes:
        name: its name, unique within the benchmark.
        tokenizer: the name of the subject.
        peer: the library, or None for ours.
        vocab_size: the size of the vocabulary.
        open: opens it again.
        recipe: how another process opens it, as plain data; see `worker.py`.
        runner: the open tokenizer.
        difference: the first difference from the subject, in words; None if there is none.
    """

    name: str
    tokenizer: str
    peer: str | None
    vocab_size: int
    open: Callable[[], Runner]
    recipe: Mapping[str, Any]
    runner: Runner
    difference: str | None = field(default=None)


def entrant_of(subject: Subject) -> tuple[Entrant, Tokenizer]:
    """Open a named tokenizer. Raises what `load` raises."""
    tokenizer = subject.opened()
    entrant = Entrant(
        name=subject.name,
        tokenizer=subject.name,
        peer=None,
        vocab_size=tokenizer.info.vocab_size,
        open=lambda: runner_of(subject.opened()),
        recipe={"tokenizer": dict(subject.options)},
        runner=runner_of(tokenizer),
    )
    return entrant, tokenizer


def peer_of(subject: Subject, tokenizer: Tokenizer, peer: Peer, folder: Path) -> Entrant | str:
    """Open the same tokenizer in another library, or return the reason why that is impossible."""
    if not peer.is_installed:
        return f"not installed: pip install {peer.name}"
    description = tokenizer.description() if isinstance(tokenizer, DescribesItself) else None
    if description is None:
        return f"tokenizers of the backend {tokenizer.info.backend!r} do not describe their model"
    try:
        folder.mkdir(parents=True)
        peer.prepare(Source(tokenizer=tokenizer, description=description), folder)
        runner = peer.opened(folder)
    except ConversionError as error:
        return error.reason
    except BaseException as error:  # a foreign library may raise anything; panics are not `Exception`
        if not is_of_library(error):
            raise
        return f"it cannot open it: {first_line(error)}"
    return Entrant(
        name=f"{subject.name} · {peer.name}",
        tokenizer=subject.name,
        peer=peer.name,
        vocab_size=tokenizer.info.vocab_size,
        open=lambda: peer.opened(folder),
        recipe={"peer": peer.name, "folder": str(folder)},
        runner=runner,
    )


def subjects_of(names: Sequence[str], **options: Any) -> list[Subject]:
    """Return subjects for the values of `-t`, with unique names."""
    from tokbench.core.wording import unique_names

    return [
        Subject(name, {"path": given, **options})
        for given, name in zip(names, unique_names(list(map(_short, names))), strict=True)
    ]


def _short(name: str) -> str:
    """Return the last component of a path without its suffix, or the name itself; for a generic name, its folder's.

    >>> _short("vocab/cl100k_base.tiktoken"), _short("tokenizers/v1.2/"), _short("tiktoken:gpt2")
    ('cl100k_base', 'v1.2', 'tiktoken:gpt2')
    >>> _short("vocab/gpt2/tokenizer.json")
    'gpt2'
    """
    from tokbench.opening.cached_models import cached_model_name
    from tokbench.opening.recognition import GENERIC_NAMES  # imported here, for `tokbench bench --help`

    path = Path(name)
    if path.suffix in _ENDINGS and path.name.partition(".")[0] in GENERIC_NAMES:
        folder = path.parent
        return cached_model_name(folder) or folder.resolve().name or path.stem
    last = name.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or name
    for ending in _ENDINGS:
        last = last.removesuffix(ending) or last
    return last


def is_of_library(error: BaseException) -> bool:
    """Whether an exception is a failure of the library, rather than an interrupt or an exit."""
    return not isinstance(error, KeyboardInterrupt | SystemExit | MemoryError)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
