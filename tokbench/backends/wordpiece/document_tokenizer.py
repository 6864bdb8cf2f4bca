"""The WordPiece of a `tokenizer.json` on our kernel, with its library for what the kernel does not support."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.backends.wordpiece.agreement import BertAgreement
from tokbench.backends.wordpiece.document import LeftToLibraryError, wordpiece_description
from tokbench.backends.wordpiece.kernel import current_kernel
from tokbench.core.kernel_or_library import KernelOrLibrary, KernelSpans, KernelUse, spans_by_places
from tokbench.core.tokens import SpecialPolicy
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.backends.wordpiece.kernel import WordCounter
    from tokbench.core.interfaces import TrainingRecord


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
        return spans_by_places(
            use.covers, self._kernel_encoder.place_batch, spans=self._owned, token=self._ordinary_token
        )

    def count_tokens(self, counter: WordCounter, *, threads: int) -> int:
        """How many tokens the words of a finished counter become."""
        if not self.left_because:
            return current_kernel().count_tokens(self._kernel_encoder, counter, threads)
        words = counter.items()
        counts = self.count_batch([word for word, _ in words], threads=threads).tolist()
        return sum(count * weight for count, (_, weight) in zip(counts, words, strict=True))
