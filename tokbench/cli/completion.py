"""Shell completion of values, without slow imports and without opening files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SAVED = "tokbench.json"
_MOST_ENTRIES = 1_000
"""Of a folder: nobody looks through more."""


def tokenizers(incomplete: str) -> list[str]:
    """Tokenizers in ./tokenizers, the built-in one, prefixes of names to fetch, and paths."""
    saved = sorted(path.parent.name for path in Path("tokenizers").glob(f"*/{_SAVED}"))
    return _beginning(incomplete, [*saved, "default", "tiktoken:", "hf:", *_paths(incomplete)])


def backends(incomplete: str) -> list[str]:
    """The algorithms."""
    from tokbench.registry import backend_names

    return _beginning(incomplete, backend_names())


def presets(incomplete: str) -> list[str]:
    """The presets, and TOML files."""
    from tokbench.config import preset_names

    files = [path for path in _paths(incomplete) if path.endswith((".toml", "/"))]
    return _beginning(incomplete, [*preset_names(), *files])


def special_presets(incomplete: str) -> list[str]:
    """The sets of special tokens."""
    from tokbench.core.special_presets import SPECIAL_PRESETS

    return _beginning(incomplete, SPECIAL_PRESETS)


def patterns(incomplete: str) -> list[str]:
    """The named split patterns."""
    from tokbench.opening.patterns import pattern_names

    return _beginning(incomplete, pattern_names())


def metrics(incomplete: str) -> list[str]:
    """Metrics, for the last element of a comma-separated list."""
    from tokbench.metrics.catalogue import METRICS

    return _last_element(incomplete, METRICS, alone=("all", "help"))


def peers(incomplete: str) -> list[str]:
    """Libraries that `bench` compares with, likewise."""
    from tokbench.bench.peers import PEERS

    return _last_element(incomplete, PEERS, alone=("installed", "all", "none"))


def measurements(incomplete: str) -> list[str]:
    """What `bench` measures, likewise."""
    from tokbench.bench.results import PARTS

    return _last_element(incomplete, PARTS)


def bounds(incomplete: str) -> list[str]:
    """Metrics, optionally of a group, each followed by the sign before its bound."""
    from tokbench.metrics.catalogue import METRICS

    group, colon, metric = incomplete.rpartition(":")
    return [f"{group}{colon}{name}=" for name in _beginning(metric, METRICS)]


def formats(incomplete: str) -> list[str]:
    """The conversion targets."""
    from tokbench.convert.conversion import TARGETS

    return _beginning(incomplete, TARGETS)


def chat_templates(incomplete: str) -> list[str]:
    """The tokenizer's own chat template, the built-in ones, and files."""
    from tokbench.chat.formats.catalogue import all_formats

    names = ["auto", *(template.name for template in all_formats())]
    return _beginning(incomplete, [*names, *_paths(incomplete)])


def groupings(incomplete: str) -> list[str]:
    """The values of --group-by."""
    from tokbench.corpus.document import WAYS

    return _beginning(incomplete, [*WAYS, "field:"])


def _last_element(incomplete: str, names: Iterable[str], *, alone: Iterable[str] = ()) -> list[str]:
    """Complete the last element of a comma-separated list; names in `alone` are never part of a longer one."""
    before, comma, last = incomplete.rpartition(",")
    chosen = before.split(",")
    found = _beginning(last, names if comma else [*names, *alone])
    return [before + comma + name for name in found if name not in chosen]


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _paths(incomplete: str) -> Iterator[str]:
    """Files and folders that continue a path, folders with a slash; hidden ones only on request."""
    folder, slash, begun = incomplete.rpartition("/")
    try:
        entries = sorted(Path(folder + slash or ".").iterdir())[:_MOST_ENTRIES]
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(begun) and (begun.startswith(".") or not entry.name.startswith(".")):
            yield f"{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
