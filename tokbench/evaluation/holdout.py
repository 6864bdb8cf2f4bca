"""Division of a corpus into training text and a held-out tenth."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress, watched
from tokbench.corpus import Corpus, CorpusFile, CorpusOptions, LeftOut
from tokbench.corpus.document import DocumentMemory
from tokbench.errors import CorpusError
from tokbench.evaluation.figures import listed, percent
from tokbench.evaluation.holdout_plan import CUT, Plan, choose, same_number
from tokbench.evaluation.units import Alignment, align, lines_of, record_unit
from tokbench.files.storage.open import is_of_this_process

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.core.progress import Progress
    from tokbench.corpus import Document

_EVEN = (0.08, 0.12)
"""Range of shares of a group that count as a tenth."""

_DIGITS, _SIDES = bytes.maketrans(b"\0\1\2", b"012"), bytes.maketrans(b"012", b"\0\1\2")
"""Translation tables between sides and their JSON representation."""

_NAMED = 5
"""Maximum number of groups that a sentence names."""


@dataclass(frozen=True, slots=True)
class Holdout:
    """The training text and the held-out documents of a corpus.

    Attributes:
        training: the texts to train on.
        held_out: the documents to evaluate on.
        unit: the unit of division: "documents", "blocks of lines", or "documents and blocks of lines".
        num_training: number of units to train on.
        training_bytes: UTF-8 bytes of the training text.
        alignment: the groups whose held-out parts are line-by-line translations of one another, or the reason why
            there are none.
        shares: group → the held-out share of its bytes.
    """

    training: Iterable[str]
    held_out: Iterable[Document]
    unit: str
    num_training: int
    training_bytes: int
    alignment: Alignment | str
    shares: Mapping[str, float] = field(default_factory=dict)


def hold_out(corpus: Corpus, *, seed: int = 0, progress: Progress = no_progress) -> Holdout:
    """Hold out a tenth of every group of a corpus, by bytes, as closely as its parts allow.

    A document of up to a fiftieth of its group is placed on one side as a whole, together with its exact duplicates;
    a larger one, such as the only file of a language, is cut into blocks of lines, of which a tenth is held out.
    For translations with the same number of lines, the same lines are held out, so that no tokenizer was trained
    on a translation of a line that it is evaluated on. Equal lines of other texts may end up on both sides.

    Args:
        corpus: a corpus that can be read more than once.
        seed: seed of the selection.
        progress: called with the amount of work done.

    Raises:
        CorpusError: there is too little text to hold out a tenth.
    """
    parallel = corpus.parallel_groups()
    documents = watched(corpus.documents(), corpus, phase="counting lines", progress=progress)
    lines: Mapping[str, int] = lines_of(documents, parallel) if parallel else {}
    alignment = align(lines)
    plan, found = choose(corpus, lines, seed=seed, progress=progress)
    if not found.numbers[False] or not found.numbers[True]:
        raise CorpusError(
            f"the corpus has {found.text}, too few to hold out a tenth",
            hint="add more text; `tokbench compare -t` can evaluate existing tokenizers on all of it",
        )
    training, held_out = (
        Side(corpus, plan, is_held_out=is_held_out, text_bytes=found.sizes[is_held_out].total())
        for is_held_out in (False, True)
    )
    return Holdout(
        training=training,
        held_out=Documents(held_out, DocumentMemory()),
        unit=found.unit,
        num_training=found.numbers[False],
        training_bytes=found.sizes[False].total(),
        alignment=_alignment_of(held_out, alignment),
        shares=found.shares,
    )


def gaps_of(shares: Mapping[str, float]) -> Iterator[str]:
    """Yield sentences about groups of which more or less than a tenth is held out.

    >>> list(gaps_of({"de": 0.101, "en": 0.12, "fr": 0.31}))
    ['more or less than a tenth is held out of fr (31.0 %)']
    """
    nothing = [group for group, share in shares.items() if not share]
    uneven = [
        f"{group} ({percent(share)})"
        for group, share in shares.items()
        if share and not _EVEN[0] <= share <= _EVEN[1]
    ]
    if nothing:
        verb, whose = ("is", "its text is") if len(nothing) == 1 else ("are", "their texts are")
        yield f"{_first_names(nothing)} {verb} trained on and not evaluated: {whose} too short to hold out a tenth"
    if uneven:
        yield f"more or less than a tenth is held out of {_first_names(uneven)}"


def _first_names(names: list[str]) -> str:
    """Join the first names, followed by the number of the remaining ones."""
    more = len(names) - _NAMED
    return listed([*names[:_NAMED], f"{more} more"] if more > 1 else names)


def _alignment_of(held_out: Side, alignment: Alignment | str) -> Alignment | str:
    """Return the alignment of the held-out documents."""
    if isinstance(alignment, str):
        return alignment
    found = align(lines_of(held_out.documents(), alignment.languages))
    return found if isinstance(found, str) else replace(found, left_out=alignment.left_out)


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a corpus or of one side of it; each iteration reads them again unless they are cached.

    Attributes:
        source: the corpus or side to read.
        memory: a cache of the documents, of limited size.
    """

    source: Corpus | Side
    memory: DocumentMemory | None = field(default=None, compare=False, repr=False)

    @property
    def text_bytes(self) -> int | None:
        """Approximate bytes of text; None if unknown before reading."""
        return self.source.text_bytes

    @property
    def files_read(self) -> tuple[int, int] | None:
        """Progress of the latest reading, in bytes of the files; None if unknown."""
        return self.source.files_read

    def __iter__(self) -> Iterator[Document]:
        read = self.source.documents
        return read() if self.memory is None else self.memory.documents(read)


@dataclass(frozen=True, slots=True)
class Side:
    """The training side or the held-out side of a corpus.

    Attributes:
        corpus: the whole corpus.
        plan: the documents and blocks that are held out.
        is_held_out: whether this is the held-out side.
        text_bytes: bytes of text of this side.
    """

    corpus: Corpus
    plan: Plan
    is_held_out: bool
    text_bytes: int

    @property
    def files_read(self) -> tuple[int, int] | None:
        """Progress of the latest reading of the whole corpus, in bytes of the files; None for a stream."""
        return self.corpus.files_read

    @property
    def can_be_read_again(self) -> bool:
        """Whether the files can be read more than once, also by other processes."""
        return not any(file.stream or is_of_this_process(file.address) for file in self.corpus.files)

    def to_json(self) -> dict[str, Any]:
        """Return everything that another process needs to read this side, as JSON values."""
        files = [{**asdict(file), "path": str(file.path)} for file in self.corpus.files]
        plan = self.plan
        return {
            "files": files,
            "options": asdict(self.corpus.options),
            "plan": {
                "seed": plan.seed,
                "lines": dict(plan.lines),
                "aligned": [[count, sorted(blocks)] for count, blocks in plan.aligned.items()],
                "blocks": [[digest, sorted(blocks)] for digest, blocks in plan.blocks.items()],
                "documents": [] if plan.sides is not None else sorted(plan.documents),
                "sides": None if plan.sides is None else plan.sides.translate(_DIGITS).decode(),
            },
            "is_held_out": self.is_held_out,
            "text_bytes": self.text_bytes,
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Side:
        """Restore a side from `to_json`."""
        plan = document["plan"]
        files = (
            CorpusFile(**{**file, "path": Path(file["path"]), "below": tuple(file["below"])})
            for file in document["files"]
        )
        return cls(
            Corpus(tuple(files), options=CorpusOptions(**document["options"]), left_out=LeftOut()),
            Plan(
                seed=plan["seed"],
                lines=plan["lines"],
                aligned={count: frozenset(blocks) for count, blocks in plan["aligned"]},
                blocks={digest: frozenset(blocks) for digest, blocks in plan["blocks"]},
                documents=frozenset(plan["documents"]),
                sides=None if plan["sides"] is None else plan["sides"].encode().translate(_SIDES),
            ),
            document["is_held_out"],
            document["text_bytes"],
        )

    def __iter__(self) -> Iterator[str]:
        sides = self.plan.sides
        if sides is None:
            return (document.text for document in self.documents())
        return (
            part.text
            for text, side in same_number(self.corpus, sides)
            if side in (self.is_held_out, CUT)
            for part in self.plan.parts_of(text, side)
            if part.is_held_out == self.is_held_out
        )

    def documents(self) -> Iterator[Document]:
        """Yield the documents of this side, and the blocks of cut documents."""
        files = {file.name for file in self.corpus.files}
        for document, part in self.plan.parts(self.corpus.documents()):
            if part.is_held_out != self.is_held_out:
                continue
            if part.line is None:
                yield document
            else:
                whole = document.source if document.source in files else record_unit(document.source)
                source = f"{document.source}:{part.line + 1}"
                yield replace(document, text=part.text, source=source, unit=document.unit or whole)
