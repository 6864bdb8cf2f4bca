"""Other libraries that run the same tokenizers: one module per library that opens vocabularies, imported on use.

Each module has two functions. `prepare(source, folder)` writes the files that the library opens, or raises
`ConversionError` with the reason why it cannot run this tokenizer; `opened(folder)` opens them. So the files can be
opened again, even by another process, and timing includes only opening them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from tokbench.core.wording import meant
from tokbench.errors import ConfigError, ConversionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokbench.bench.runner import Runner
    from tokbench.convert.conversion import Source

INSTALLED = "installed"
"""The default of `--peers`."""
_ALL, _NONE = "all", "none"


@dataclass(frozen=True, slots=True)
class Peer:
    """A library to compare with.

    Attributes:
        name: its name for `--peers`, under which it is also imported and installed.
        module: our module for it.
        opens_nothing: why it opens no vocabulary and has no module; None if it has.
    """

    name: str
    module: str
    opens_nothing: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether the library is installed; it is not imported."""
        return find_spec(self.name) is not None

    def prepare(self, source: Source, folder: Path) -> None:
        """Write the files for the library. Raises `ConversionError` with the reason why it cannot run the tokenizer."""
        if self.opens_nothing is not None:
            raise ConversionError(self.opens_nothing)
        prepare = cast("Callable[[Source, Path], None]", import_module(self.module).prepare)
        prepare(source, folder)

    def opened(self, folder: Path) -> Runner:
        """Open the files. Raises whatever the library raises."""
        opened = cast("Callable[[Path], Runner]", import_module(self.module).opened)
        return opened(folder)


PEERS = {
    **{
        name: Peer(name, f"{__name__}.{name}")
        for name in (
            "tiktoken",
            "tokenizers",
            "gigatoken",
            "fastokens",
            "snaptokens",
            "nanotoken",
            "quicktok",
        )
    },
    "rustbpe": Peer(
        "rustbpe", "", opens_nothing="it opens no vocabulary: it encodes only with what it has trained itself"
    ),
    "gigabpe": Peer(
        "gigabpe", "", opens_nothing="it only trains: it opens no vocabulary and encodes nothing"
    ),
    "sentencepiece": Peer("sentencepiece", f"{__name__}.sentencepiece"),
}
"""Name → library."""


def peers_named(names: str) -> tuple[Peer, ...]:
    """Parse the value of `--peers`: names separated by commas, "installed", "all" or "none".

    Raises:
        ConfigError: a name is not known (the hint gives the nearest names), or "all", "installed" or "none" is combined
            with others.

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
        if name in (_ALL, INSTALLED, _NONE):
            raise ConfigError(
                f"--peers {name} cannot be combined with other names",
                hint=f"give --peers {name} alone, or only the names of peers",
            )
        if name not in PEERS:
            hint = meant(name, [*PEERS, INSTALLED, _ALL, _NONE])
            raise ConfigError(f"there is no peer {name!r}", hint=hint)
    return tuple(PEERS[name] for name in wanted)
