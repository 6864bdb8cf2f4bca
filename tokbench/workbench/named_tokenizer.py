"""Tokenizers as a worker opens them: by their names, and held to what they are where the work was asked for."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.errors import ConfigError
from tokbench.opening.request import OpenRequest
from tokbench.shards.plan import identity_of
from tokbench.workbench.open import TOKENIZERS, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.core.interfaces import Tokenizer
    from tokbench.shards.layout import TokenizerIdentity

_MOST_OPEN = 8
"""Tokenizers that a worker keeps open from one part to the next."""


@dataclass(frozen=True, slots=True)
class NamedTokenizer:
    """A tokenizer as a worker opens it: its name, or its path where it is on a disk, and what the user adds."""

    name: str
    request: OpenRequest

    @classmethod
    def of(cls, name: str, request: OpenRequest) -> NamedTokenizer:
        """The same wherever a worker was started."""
        near = [path for path in (Path(name), TOKENIZERS / name) if path.exists()]
        return cls(str(near[0].absolute()) if near else name, request)

    def document(self, identity: TokenizerIdentity) -> dict[str, Any]:
        """As a task is told of it: what `opened_alike` takes."""
        return {
            "name": self.name,
            "request": asdict(self.request),
            "vocabulary": identity.vocabulary,
            "behaviour": identity.behaviour,
        }


def opened_alike(document: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer that a task is told of; a worker opens it once.

    Raises:
        ConfigError: it is another one where the worker is, or cannot be opened there.
    """
    return _opened(
        document["name"], json.dumps(document["request"]), document["vocabulary"], document["behaviour"]
    )


@lru_cache(maxsize=_MOST_OPEN)
def _opened(name: str, request: str, vocabulary: str, behaviour: str) -> Tokenizer:
    tokenizer = open_tokenizer(name, OpenRequest(**json.loads(request)))
    found = identity_of(tokenizer)
    if (found.vocabulary, found.behaviour) != (vocabulary, behaviour):
        raise ConfigError(
            f"{name} is another tokenizer where the worker is",
            hint="copy the folder to where workers read it",
        )
    return tokenizer
