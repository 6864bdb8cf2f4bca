"""What the listings and the doctor return: data to be shown, or printed as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokbench.config import Preset
    from tokbench.core.interfaces import BackendInfo


@dataclass(frozen=True, slots=True)
class CorpusGroup:
    """The texts of one group."""

    group: str
    kind: str | None
    title: str | None
    files: int
    documents: int
    num_bytes: int
    characters: int
    lines: int
    licence: str | None

    def document(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {
            "group": self.group,
            "kind": self.kind,
            "title": self.title,
            "files": self.files,
            "documents": self.documents,
            "bytes": self.num_bytes,
            "characters": self.characters,
            "lines": self.lines,
            "licence": self.licence,
        }


@dataclass(frozen=True, slots=True)
class CorpusResult:
    """A corpus by group."""

    place: str
    groups: tuple[CorpusGroup, ...]

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        sums = ("files", "documents", "bytes", "characters", "lines")
        groups = [group.document() for group in self.groups]
        return {
            "schema": "tokbench.corpus/1",
            "place": self.place,
            "groups": groups,
            "total": {name: sum(group[name] for group in groups) for name in sums},
        }


@dataclass(frozen=True, slots=True)
class ListedTokenizer:
    """A tokenizer that `-t NAME` finds."""

    name: str
    place: str
    backend: str | None
    vocab_size: int | None
    num_bytes: int | None
    note: str
    error: str | None = None

    def document(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {
            "name": self.name,
            "place": self.place,
            "backend": self.backend,
            "vocab_size": self.vocab_size,
            "bytes": self.num_bytes,
            "note": self.note,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class ListResult:
    """Every tokenizer that can be named."""

    tokenizers: tuple[ListedTokenizer, ...]

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {"schema": "tokbench.list/1", "tokenizers": [entry.document() for entry in self.tokenizers]}


@dataclass(frozen=True, slots=True)
class BackendsResult:
    """Every backend and preset."""

    backends: tuple[BackendInfo, ...]
    presets: tuple[Preset, ...]

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "schema": "tokbench.backends/1",
            "backends": [
                {
                    "name": backend.name,
                    "summary": backend.summary,
                    "kernel": backend.kernel,
                    "options": [
                        {"name": option.name, "default": option.default, "help": option.help}
                        for option in backend.options
                    ],
                }
                for backend in self.backends
            ],
            "presets": [
                {
                    "name": preset.name,
                    "backend": preset.backend,
                    "description": preset.description,
                    "options": dict(preset.options),
                }
                for preset in self.presets
            ],
        }


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that `doctor` looked at; `passed` is None for what is only told."""

    subject: str
    found: str
    passed: bool | None = None
    hint: str | None = None

    def document(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {"subject": self.subject, "found": self.found, "passed": self.passed, "hint": self.hint}


@dataclass(frozen=True, slots=True)
class DoctorResult:
    """What is installed, what runs, and whether it does what it should."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.passed is not False for check in self.checks)

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "schema": "tokbench.doctor/1",
            "passed": self.passed,
            "checks": [check.document() for check in self.checks],
        }
