"""A WordPiece from a `tokenizer.json`, run on our kernel, or on its library for what the kernel does not support."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokbench.backends.wordpiece.agreement import BertAgreement
from tokbench.backends.wordpiece.document import LeftToLibraryError, wordpiece_description
from tokbench.backends.wordpiece.kernel import current_kernel
from tokbench.core.kernel_or_library import KernelOrLibrary, KernelSpans, KernelUse, spans_by_places
from tokbench.core.tokens import SpecialPolicy
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.backends.wordpiece.kernel import WordCounter


class DocumentWordPiece(KernelOrLibrary, HuggingFaceTokenizer):
    """A tokenizer with the library's ids for every text, run on our kernel where the two agree.

    The library encodes texts with a character that the two treat differently and texts that contain an added token to
    match; it also explains and decodes. If the document asks for something that the kernel does not support, the
    library does everything.

    Args:
        document: the content of the `tokenizer.json`.
        name: the name that the user gives the tokenizer.
        source: the name of the file in error messages; by default `name`.
        engine: "auto", or "library" to use the library alone.
        parsed: as for a `HuggingFaceTokenizer`.

    Attributes:
        left_because: why the library runs all texts; "" if the kernel runs.

    Raises:
        ModelFormatError: the document is not a tokenizer, or the library does not accept it.
    """

    def __init__(
        self,
        document: bytes,
        *,
        name: str,
        source: Path | str | None = None,
        engine: str = "auto",
        parsed: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(document, name=name, backend="wordpiece", source=source, parsed=parsed)
        self.left_because = "" if engine == "auto" else "asked for"
        if self.left_because:
            return
        kernel = current_kernel()
        try:
            self._description = wordpiece_description(self._parsed)
            self._kernel_encoder = kernel.encoder(self._description)
        except (LeftToLibraryError, ValueError) as error:
            self.left_because = str(error)
            return
        self._agreement = BertAgreement(kernel, self._description.rules)
        self.info = replace(self.info, kernel=kernel.name)

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if self.left_because:
            return None
        added_tokens = self._description.everywhere
        if special is not SpecialPolicy.TEXT:
            if self._description.specials is None:
                return None
            added_tokens = (*added_tokens, *self._description.specials)
        agrees = self._agreement.covers
        if not added_tokens:
            return KernelUse(agrees, self._kernel_encoder, self._agreement.covers_all)

        def covers(text: str) -> bool:
            return not any(token in text for token in added_tokens) and agrees(text)

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
        """Return the number of tokens of the words of a finished counter."""
        if not self.left_because:
            return current_kernel().count_tokens(self._kernel_encoder, counter, threads)
        words = counter.items()
        counts = self.count_batch([word for word, _ in words], threads=threads).tolist()
        return sum(count * weight for count, (_, weight) in zip(counts, words, strict=True))
