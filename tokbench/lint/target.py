"""The target of lint: an opened tokenizer, the files in its folder, its reference, and its token counts of a corpus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tokbench.core.progress import no_progress
from tokbench.core.tokens import TokenKind
from tokbench.core.training import batches
from tokbench.core.wording import quoted
from tokbench.errors import StoreError
from tokbench.inspection.contents import TokenizerContents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer
    from tokbench.corpus import Corpus
    from tokbench.opening.request import Opened


@dataclass(frozen=True, slots=True, eq=False)
class CorpusCounts:
    """The token counts of a corpus.

    Attributes:
        frequencies: int64[V], token occurrences of each id.
        documents: number of documents.
        num_bytes: UTF-8 bytes of the documents.
    """

    frequencies: NDArray[np.int64]
    documents: int
    num_bytes: int

    @property
    def tokens(self) -> int:
        """Number of all token occurrences."""
        return int(self.frequencies.sum())


def count_corpus(tokenizer: Tokenizer, texts: Iterable[str], *, threads: int | None = None) -> CorpusCounts:
    """Encode texts and count ids, special tokens as ordinary text.

    Raises:
        TextError: a text cannot be encoded.
        CorpusError: a text cannot be read.
    """
    frequencies = np.zeros(tokenizer.info.vocab_size, np.int64)
    documents = num_bytes = 0
    for batch in batches(texts, progress=no_progress):
        ids = tokenizer.encode_batch(batch, threads=threads).ids
        frequencies += np.bincount(ids, minlength=len(frequencies))
        documents += len(batch)
        num_bytes += sum(len(text.encode()) for text in batch)
    return CorpusCounts(frequencies, documents, num_bytes)


_T = TypeVar("_T")
_MAX_JSON_BYTES = 64 << 20
_MAX_NAMES = 4096


class LintTarget(TokenizerContents):
    """A tokenizer to lint; results that several rules need are computed once, on first use.

    Attributes:
        opened: the opened tokenizer with its source files.
        corpus: text to count tokens on, or None.
        word_counts: pre-token → its count in the training text, in place of the corpus; or None.
        reference: the tokenizer to compare with, or None.
        threads: number of threads for encoding; None uses every processor.
        model_vocab_size: number of rows of the model's embedding, if given by the user.
        template: the chat template given by the user; None for the tokenizer's own.
    """

    def __init__(
        self,
        opened: Opened,
        *,
        corpus: Corpus | None = None,
        word_counts: Mapping[str, int] | None = None,
        reference: LintTarget | None = None,
        threads: int | None = None,
        model_vocab_size: int | None = None,
        template: str | None = None,
    ) -> None:
        super().__init__(opened)
        self.corpus = corpus
        self.word_counts = word_counts
        self.reference = reference
        self.threads = threads
        self.model_vocab_size = model_vocab_size
        self.template = template
        self._derived: dict[Callable[..., Any], Any] = {}

    def derived(self, make: Callable[[LintTarget], _T]) -> _T:
        """Return the cached result of a function of the target, which is called once.

        Usage:

            analysis = target.derived(analyse_reachability)
        """
        if make not in self._derived:
            self._derived[make] = make(self)
        made: _T = self._derived[make]
        return made

    def spells(self, text: str) -> bool:
        """Whether a text has no unknown token."""
        return all(token.kind is not TokenKind.UNKNOWN for token in self.tokenizer.segment(text).tokens)

    def known(self, make: Callable[[LintTarget], _T]) -> _T | None:
        """Return the cached result of a function of the target; None if it has not been called."""
        made: _T | None = self._derived.get(make)
        return made

    def named(self, id: int) -> str:
        """Format a token for findings: `token 262 " the"`, or `token 2075 "##ing"` for WordPiece."""
        pieces = self.vocabulary.pieces
        piece = pieces[id] if 0 <= id < len(pieces) else None
        return f"token {id} {quoted(self._inside_words.get(id) or piece or b'')}"

    @cached_property
    def _inside_words(self) -> Mapping[int, str]:
        """Id → spelling of the pieces of a WordPiece that continue words."""
        model: Mapping[str, Any] = {} if self.document is None else self.document["model"]
        if "max_input_chars_per_word" not in model:
            return {}
        prefix = model.get("continuing_subword_prefix") or "##"
        return {id: piece for piece, id in model["vocab"].items() if piece.startswith(prefix)}

    # --- the files in its folder --------------------------------------------------------------

    @cached_property
    def folder(self) -> Path | None:
        """The folder of the tokenizer's files; None if there is none."""
        source = self.opened.source
        if source.files:
            return source.files[0].parent
        return source.path if source.path.is_dir() else None

    def beside(self, name: str) -> Any:
        """Parse a JSON file in the tokenizer's folder; return None if there is no such file.

        The value is untrusted and may have any type.

        Raises:
            ModelFormatError: the file is not JSON, nested too deeply, or too large.
        """
        from tokbench.files.untrusted import read_regular
        from tokbench.files.untrusted_json import load_json

        path = None if self.folder is None else self.folder / name
        if path is None or not path.is_file():
            return None
        try:
            return load_json(read_regular(path, limit=_MAX_JSON_BYTES), path=path)
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error

    def lines_beside(self, name: str) -> list[str] | None:
        """Return the lines of a text file in the tokenizer's folder; None if it is missing. Raises as `beside`."""
        from tokbench.files.untrusted import decode_text
        from tokbench.opening.files import read_file

        path = None if self.folder is None else self.folder / name
        if path is None or not path.is_file():
            return None
        return decode_text(read_file(path), path=path).split("\n")

    @cached_property
    def names_beside(self) -> tuple[str, ...]:
        """Sorted names of the files in the tokenizer's folder, at most `_MAX_NAMES`."""
        if self.folder is None:
            return ()
        try:
            return tuple(sorted(path.name for path in islice(self.folder.iterdir(), _MAX_NAMES)))
        except OSError as error:
            raise StoreError(f"{self.folder} cannot be read: {error.strerror}") from error

    # --- the corpus ---------------------------------------------------------------------------

    @cached_property
    def counts(self) -> CorpusCounts:
        """Token counts on the corpus, which is required and read once."""
        assert self.corpus is not None
        return count_corpus(self.tokenizer, self.corpus, threads=self.threads)
