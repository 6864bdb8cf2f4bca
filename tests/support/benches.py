"""Toy libraries for benchmarks: a peer that agrees, one that does not, one that fails."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

from tokbench.bench.peers import PEERS, Peer

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LIBRARY = """
from tokbench.bench.runner import Runner
from tokbench.errors import ConversionError

encoder = None

def prepare(source, folder):
    global encoder
    encoder = source.tokenizer
    {prepare}

def opened(folder):
    {opened}
    return Runner(version="{name} 1", encode={encode}, token_bytes=encoder.token_bytes)
"""


def add_peer(
    name: str,
    *,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    encode: str = "encoder.encode",
    prepare: str = "",
    opened: str = "",
) -> None:
    """Add an importable library of that name, registered as a peer, until the test ends."""
    folder.mkdir(exist_ok=True)
    text = textwrap.dedent(LIBRARY).format(name=name, encode=encode, prepare=prepare, opened=opened)
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.delitem(sys.modules, name, raising=False)  # another test may have imported its own
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(PEERS, name, Peer(name, name))
