"""Runs that evaluate a corpus in parts."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import tokbench
from tokbench.corpus import open_corpus
from tokbench.distributed.engines.open import InProcessEngine
from tokbench.evaluation.comparison_json import comparison_document
from tokbench.files.bundled import corpora_directory
from tokbench.opening.request import OpenRequest
from tokbench.workbench.compare import compare
from tokbench.workbench.evaluation_parts import EvaluationWork
from tokbench.workbench.open import NamedTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.corpus import Corpus
    from tokbench.distributed.tasks import Engine


@dataclass
class Case:
    """A corpus in files of three kinds, one lossless and one lossy tokenizer, and methods to evaluate them."""

    folder: Path
    named: Sequence[NamedTokenizer]
    tokenizers: Sequence[Tokenizer] = field(init=False)

    def __post_init__(self) -> None:
        self.tokenizers = [tokbench.load(tokenizer.name) for tokenizer in self.named]

    def corpus(self, **options: Any) -> Corpus:
        return open_corpus(self.folder / "corpus", **options)

    def figures(self, work: EvaluationWork | None = None, **options: Any) -> dict[str, Any]:
        reading = options.pop("reading", {})
        comparison = compare(
            self.corpus(**reading), tokenizers=self.tokenizers, times=False, work=work, **options
        )
        return comparison_document(comparison)

    def work(
        self, *, engine: Engine | None = None, part_bytes: int = 2_000, **options: Any
    ) -> EvaluationWork:
        return EvaluationWork(
            engine or InProcessEngine(threads=1), tuple(self.named), part_bytes=part_bytes, **options
        )

    @property
    def parts(self) -> str:
        return str(self.folder / "parts")


def saved_in(folder: Path) -> list[NamedTokenizer]:
    """Train and save a lossless and a lossy tokenizer."""
    texts = [path.read_text() for path in sorted((corpora_directory() / "parallel").rglob("*.txt"))[:4]]
    tokbench.train(texts, backend="bpe", vocab_size=400).save(folder / "kept")
    tokbench.train(["the end of the line"] * 9, backend="wordpiece", vocab_size=60).save(folder / "lost")
    return [NamedTokenizer(str(folder / name), OpenRequest()) for name in ("kept", "lost")]


def case_in(folder: Path, named: Sequence[NamedTokenizer]) -> Case:
    """Write a corpus in files of three kinds, to be evaluated with these tokenizers."""
    corpus = folder / "corpus"
    (corpus / "parallel").mkdir(parents=True)
    texts = {
        path.stem: path.read_text()[:2_000]
        for path in sorted((corpora_directory() / "parallel").rglob("*.txt"))[:3]
    }
    for name, text in texts.items():
        (corpus / "parallel" / f"{name}.txt").write_text("\n".join(text.split("\n")[:9]))
    lines = [line for text in texts.values() for line in text.splitlines()[:9] if line]
    records = [{"text": line, "lang": ["x", "y"][number % 2]} for number, line in enumerate(lines)]
    (corpus / "a.jsonl").write_text("\n" + "".join(f"{json.dumps(record)}\n\n" for record in records))
    (corpus / "b.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (corpus / "c.txt").write_text("\n\n".join(["Übermäßig viel", *lines]))
    return Case(folder, named)
