"""Small comparisons: a few tokenizers evaluated on a few texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tokbench
from tokbench.backends.baseline.byte import ByteTokenizer
from tokbench.corpus import Document
from tokbench.evaluation.candidates import Candidate
from tokbench.evaluation.comparison import compare_candidates
from tokbench.evaluation.units import NO_TRANSLATIONS, align, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.evaluation.comparison import Comparison

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'&amp;<!--",
    "a\u202eb\u2066c",
    "line\u2028paragraph\u2029end",
    "nul\0bell\x07escape\x1b[31m",
    "{{ 7 * 7 }}{% raw %}",
    "datum.value ? 'x' : 'y'",
)
"""Texts that must not become markup or code when they are the name of a tokenizer, a group or a line."""

TEXTS = {
    "en": "the cat sat on the mat with its hat\nand then the other cat came in\nfive\nsix\nseven of them\n",
    "fr": "le chat est assis sur le tapis rouge\net puis un autre chat est entré\ncinq\nsix\nsept\n",
    "he": "החתול ישב על השטיח עם הכובע שלו\nואז נכנס חתול אחר\nחמש\nשש\nשבעה מהם\n",
    "code": "def cat(hat: int) -> int:\n    return hat + 12345\n",
}


class Texts:
    """Documents by group; each iteration creates new ones."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[Document]:
        return (Document(text, group, f"{group}.txt") for group, text in self._texts.items())


def tokenizers() -> list[Tokenizer]:
    """Return two tokenizers of different kinds, and the bytes as a baseline."""
    texts = list(TEXTS.values())
    return [
        tokbench.train(texts, vocab_size=300),
        tokbench.train(texts, backend="word", vocab_size=64),
        ByteTokenizer(),
    ]


def named(*names: str) -> list[Tokenizer]:
    """Return byte tokenizers with these names."""
    return [ByteTokenizer(name=name) for name in names]


def compare(*tokenizers: Tokenizer, documents: Iterable[Document], **options: Any) -> Comparison:
    """Compare tokenizers on documents, without times."""
    candidates = [Candidate(tokenizer) for tokenizer in tokenizers]
    return compare_candidates(candidates, documents, **{"times": False, "threads": 1} | options)


def compared(
    evaluated: Sequence[Tokenizer], texts: Mapping[str, str], *, parallel: Sequence[str] = ()
) -> Comparison:
    """Compare tokenizers on some texts by group; the groups in `parallel` are translations of one another."""
    documents = Texts(texts)
    alignment = align(lines_of(documents, set(parallel))) if parallel else NO_TRANSLATIONS
    return compare(*evaluated, documents=documents, alignment=alignment)
