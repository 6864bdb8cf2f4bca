"""List the tokenizers that `-t NAME` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench import store
from tokbench.core.wording import counted
from tokbench.opening.saved import DEFAULT_NAME, default_directory
from tokbench.workbench.open import TOKENIZERS
from tokbench.workbench.training_config import DEFAULT_BACKEND

if TYPE_CHECKING:
    from collections.abc import Mapping


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

    def to_json(self) -> dict[str, Any]:
        """Return this part of the JSON document."""
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
    """All tokenizers that `-t NAME` finds."""

    tokenizers: tuple[ListedTokenizer, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return {"schema": "tokbench.list/1", "tokenizers": [entry.to_json() for entry in self.tokenizers]}


def list_tokenizers() -> ListResult:
    """List the tokenizers below `tokenizers/`, and the built-in one unless one of them has its name."""
    entries = []
    for saved in store.saved_tokenizers(TOKENIZERS):
        manifest = saved.manifest
        entries.append(
            ListedTokenizer(
                name=saved.directory.name,
                place=str(saved.directory),
                backend=manifest.backend if manifest else None,
                vocab_size=manifest.vocab_size if manifest else None,
                num_bytes=saved.num_bytes,
                note=_trained_on(manifest.training) if manifest else "",
                error=saved.error.message if saved.error else None,
            )
        )
    built_in = () if (TOKENIZERS / DEFAULT_NAME).exists() else (_listed_default(),)
    return ListResult(tokenizers=(*entries, *built_in))


def _listed_default() -> ListedTokenizer:
    directory = default_directory()
    saved = next(iter(store.saved_tokenizers(directory.parent)), None)
    manifest = saved.manifest if saved else None
    return ListedTokenizer(
        name=DEFAULT_NAME,
        place="built in" if manifest is None else str(directory),
        backend=DEFAULT_BACKEND,
        vocab_size=manifest.vocab_size if manifest else None,
        num_bytes=saved.num_bytes if saved else None,
        note=_trained_on(manifest.training) if manifest else "trained on the bundled texts at its first use",
    )


def _trained_on(training: Mapping[str, Any] | None) -> str:
    if not training or not isinstance(training.get("num_bytes"), int):
        return ""
    documents = counted(training.get("documents", 0), "document")
    return f"trained on {counted(training['num_bytes'], 'byte')} in {documents}"
