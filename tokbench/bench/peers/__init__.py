"""Libraries that run the same tokenizer: one module per library, imported when it is asked for.

Each has two functions. `prepare(source, folder)` writes the files that the library opens, or raises
`ConversionError` with the reason why it cannot run this tokenizer; `opened(folder)` opens them. So
the same files can be opened again, and in another process, and only opening is timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from tokbench.core.wording import meant
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokbench.bench.runner import Runner
    from tokbench.convert.conversion import Source

INSTALLED = "installed"
"""What `--peers` is by default."""
_ALL, _NONE = "all", "none"


@dataclass(frozen=True, slots=True)
class Peer:
    """A library to compare with.

    Attributes:
        name: what `--peers` takes; the library is imported, and installed, by the same name.
        module: the module of tokbench that knows it.
    """

    name: str
    module: str

    @property
    def is_installed(self) -> bool:
        """Whether the library is there; it is not imported."""
        return find_spec(self.name) is not None

    def prepare(self, source: Source, folder: Path) -> None:
        """Write what the library opens. Raises `ConversionError` with the reason why it cannot run it."""
        prepare = cast("Callable[[Source, Path], None]", import_module(self.module).prepare)
        prepare(source, folder)

    def opened(self, folder: Path) -> Runner:
        """Open what was written. Raises whatever the library raises."""
        opened = cast("Callable[[Path], Runner]", import_module(self.module).opened)
        return opened(folder)


PEERS = {
    name: Peer(name, f"tokbench.bench.peers.{name}")
    for name in (
        "tiktoken",
        "tokenizers",
        "gigatoken",
        "fastokens",
        "snaptokens",
        "nanotoken",
        "quicktok",
        "rustbpe",
        "gigabpe",
        "sentencepiece",
    )
}
"""Every library that is known, by its name."""


def peers_named(names: str) -> tuple[Peer, ...]:
    """The peers of `--peers`: names with commas between them, "installed", "all" or "none".

    Raises:
        ConfigError: one that is not known; the hint has the nearest names.

    >>> [peer.name for peer in peers_named("tiktoken, tokenizers")], peers_named("none")
    (['tiktoken', 'tokenizers'], ())
    """
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if wanted == [_ALL]:
        return tuple(PEERS.values())
    if wanted == [INSTALLED]:
        return tuple(peer for peer in PEERS.values() if peer.is_installed)
    if wanted == [_NONE]:
        return ()
    for name in wanted:
        if name not in PEERS:
            hint = meant(name, [*PEERS, INSTALLED, _ALL, _NONE])
            raise ConfigError(f"there is no peer {name!r}", hint=hint)
    return tuple(PEERS[name] for name in wanted)
