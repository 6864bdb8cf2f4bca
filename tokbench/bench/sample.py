"""The text that all entrants encode, bounded in size, and short prompts cut from it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.corpus import Document

_PROMPTS = 1000
_PROMPT_CHARACTERS = (20, 200)
_SEED = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """The texts to encode, and prompts cut from them.

    Attributes:
        texts: the first documents, the last one cut.
        num_bytes: their UTF-8 bytes.
        prompts: pieces of them, of 20 to 200 characters where the texts are that long.
    """

    texts: tuple[str, ...]
    num_bytes: int
    prompts: tuple[str, ...]


def sample_of(documents: Iterable[Document], *, max_bytes: int) -> Sample:
    """The first documents, as they are, up to so many bytes.

    Raises:
        CorpusError: there is no text.
    """
    texts: list[str] = []
    left = max_bytes
    for document in documents:
        data = document.text.encode()[:left]
        text = data.decode(errors="ignore")  # the last one may be cut inside a character
        if text:
            texts.append(text)
        left -= len(data)
        if left <= 0:
            break
    if not texts:
        raise CorpusError("there is no text to encode", hint="name files with text in them")
    return Sample(tuple(texts), sum(len(text.encode()) for text in texts), _prompts(texts))


def _prompts(texts: list[str]) -> tuple[str, ...]:
    """Cut anywhere; long texts are cut more often."""
    source = random.Random(_SEED)  # noqa: S311 -- a sample, not a secret
    chosen = source.choices(texts, weights=list(map(len, texts)), k=_PROMPTS)
    prompts = []
    for text in chosen:
        length = source.randint(*_PROMPT_CHARACTERS)
        start = source.randrange(max(len(text) - length, 0) + 1)
        prompts.append(text[start : start + length])
    return tuple(prompts)
