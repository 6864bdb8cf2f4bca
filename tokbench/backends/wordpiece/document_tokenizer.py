"""The WordPiece of a `tokenizer.json` on our kernel, with its library for what the kernel does not support."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.backends.wordpiece.agreement import BertAgreement
from tokbench.backends.wordpiece.document import LeftToLibraryError, wordpiece_description
from tokbench.backends.wordpiece.kernel import current_kernel
from tokbench.core.encoded import Encoded
from tokbench.core.kernel_or_library import KernelOrLibrary, KernelSpans, KernelUse
from tokbench.core.tokens import Span, SpecialPolicy, Token
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tokbench.backends.wordpiece.kernel import WordCounter
    from tokbench.core.encoded import EncodedSpans
    from tokbench.core.interfaces import TrainingRecord


_NOTES = tuple(map(chr, (*range(0x1D15E, 0x1D165), *range(0x1D1BB, 0x1D1C1))))
"""Musical notes, taken apart into heads and stems: a mark behind one comes to stand between, and the library says
that the stem stood where the mark does."""


class DocumentWordPiece(KernelOrLibrary, HuggingFaceTokenizer):
    """A tokenizer with its library's ids for every text, run on our kernel where the two agree.

    The library runs texts with a character of which the two do not make the same, texts that hold an added token that
    is looked for in them, explanations, and decoding; and everything where the document asks for what the kernel
    does not do.

    Args:
        document: the `tokenizer.json`.
        name: how the user calls it.
        training: the record of its training.
        source: what error messages call the file; by default the name.
        engine: "auto", or "library" for the library alone.

    Attributes:
        left_because: why the library runs all texts; "" where the kernel runs.

    Raises:
        ModelFormatError: the document is not a tokenizer, or one that the library does not take.
    """

    def __init__(
        self,
        document: bytes,
        *,
        name: str,
        training: TrainingRecord | None = None,
        source: Path | str | None = None,
        engine: str = "auto",
    ) -> None:
        super().__init__(document, name=name, backend="wordpiece", training=training, source=source)
        self.left_because = "" if engine == "auto" else "asked for"
        if self.left_because:
            return
        kernel = current_kernel()
        try:
            self._described = wordpiece_description(self._parsed)
            self._kernel_encoder = kernel.encoder(self._described)
        except (LeftToLibraryError, ValueError) as error:
            self.left_because = str(error)
            return
        self._agreement = BertAgreement(kernel, self._described.rules)
        self.info = replace(self.info, kernel=kernel.name)

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if self.left_because:
            return None
        looked_for = self._described.everywhere
        if special is not SpecialPolicy.TEXT:
            if self._described.specials is None:
                return None
            looked_for = (*looked_for, *self._described.specials)
        agrees = self._agreement.covers
        if not looked_for:
            return KernelUse(agrees, self._kernel_encoder, self._agreement.covers_all)

        def covers(text: str) -> bool:
            return not any(each in text for each in looked_for) and agrees(text)

        return KernelUse(covers, self._kernel_encoder)

    @property
    def _kernel_spans(self) -> KernelSpans | None:
        use = self._ordinary_use
        if use is None:
            return None

        def covers(text: str) -> bool:
            return not any(note in text for note in _NOTES) and use.covers(text)

        return KernelSpans(covers, self._places, self._placed_tokens)

    def _places(self, texts: Sequence[str], *, threads: int | None) -> EncodedSpans:
        from tokbench.core.token_arrays import offsets_of

        ids, starts, stops, counts = self._kernel_encoder.place_batch(
            list(texts), threads or os.cpu_count() or 1
        )
        return self._owned(texts, Encoded(ids, offsets_of(counts)), starts, stops)

    def _placed_tokens(self, text: str) -> Iterator[Token]:
        found = self._places([text], threads=1)
        pieces = self._laid_out.pieces
        places = zip(found.encoded.ids.tolist(), found.starts.tolist(), found.stops.tolist(), strict=True)
        for id, start, stop in places:
            yield Token(id, pieces[id], Span(start, stop), self._kind(id, specials=False))

    def count_tokens(self, counter: WordCounter, *, threads: int) -> int:
        """How many tokens the words of a finished counter become."""
        if not self.left_because:
            return current_kernel().count_tokens(self._kernel_encoder, counter, threads)
        words = counter.items()
        counts = self.count_batch([word for word, _ in words], threads=threads).tolist()
        return sum(count * weight for count, (_, weight) in zip(counts, words, strict=True))
