"""The results of writing and verifying shards."""

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
    """The result of writing a corpus as shards.

    Attributes:
        info: the tokenizer.
        folder: the folder of the shards.
        index: the contents of its `index.json`.
        seconds: the time of this run; less than the total if it resumed another run.
    """

    info: TokenizerInfo
    folder: Path | str
    index: Mapping[str, Any]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the output of `--json`."""
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
    """The result of verifying a folder of shards.

    Attributes:
        folder: the folder.
        shards: the number of shards.
        documents: the number of documents in all shards.
        tokens: the number of tokens in all shards.
        compared: the number of documents that were encoded again.
        problems: one sentence each; empty if there are none.
    """

    folder: str
    shards: int
    documents: int
    tokens: int
    compared: int
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return the output of `--json`."""
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
