"""What writing and verifying shards returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import tokenizer_fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.core.interfaces import TokenizerInfo


@dataclass(frozen=True, slots=True)
class ShardsResult:
    """A corpus that was written as shards.

    Attributes:
        info: the tokenizer.
        folder: where they are.
        index: what its `index.json` holds.
        seconds: that this run took; less than all where it resumed another.
    """

    info: TokenizerInfo
    folder: Path | str
    index: Mapping[str, Any]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        index = self.index
        return {
            "schema": "tokbench.shards-write/1",
            **tokenizer_fields(self.info),
            "folder": str(self.folder),
            "format": index["format"],
            "dtype": index["dtype"],
            "eos": index["eos"],
            **index["total"],
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """What is wrong with a folder of shards.

    Attributes:
        folder: the folder.
        shards: how many there are.
        documents: in all of them.
        tokens: in all of them.
        compared: documents that were encoded anew.
        problems: a sentence each; none where all is well.
    """

    folder: str
    shards: int
    documents: int
    tokens: int
    compared: int
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "schema": "tokbench.shards-verify/1",
            "folder": str(self.folder),
            "passed": self.passed,
            "shards": self.shards,
            "documents": self.documents,
            "tokens": self.tokens,
            "compared": self.compared,
            "problems": list(self.problems),
        }
