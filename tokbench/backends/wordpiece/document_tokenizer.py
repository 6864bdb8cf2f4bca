"""A WordPiece of a `tokenizer.json` on our kernel, with its library for all that the kernel does not do."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tokbench.backends.wordpiece.agreement import CharacterAgreement
from tokbench.backends.wordpiece.document import LeftToLibraryError, wordpiece_description
from tokbench.backends.wordpiece.kernel import current_kernel
from tokbench.core.base import surrogate_error, utf8
from tokbench.core.encoded import Encoded, EncodedSpans
from tokbench.core.special_tokens import check_policy
from tokbench.core.tokens import Span, SpecialPolicy, Token
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    import tokenizers
    from numpy.typing import NDArray

    from tokbench.core.interfaces import TrainingRecord


class DocumentWordPiece(HuggingFaceTokenizer):
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
        self._agreement = CharacterAgreement(kernel, self._described.rules)
        self.info = replace(self.info, kernel=kernel.name)

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """The ids of a text. Raises `SpecialTokenError` under `SpecialPolicy.RAISE`, `TextError` for surrogates."""
        if not self._runs(special)(text):
            return super().encode(text, special=special)
        return self._kernel_encoder.encode(text)

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """The ids of many texts in arrays, whatever the number of threads.

        Raises:
            SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.
            TextError: a text holds a lone surrogate.
        """
        from tokbench.core.token_arrays import divided_ids

        return divided_ids(
            texts,
            where=self._runs(special),
            then=lambda texts: Encoded(*self._kernel_encoder.encode_batch(list(texts), _number(threads))),
            otherwise=partial(super().encode_batch, special=special, threads=threads),
        )

    def count_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> NDArray[np.int64]:
        """How many ids `encode_batch` would give for each text; the ids are not made where they need not be.

        Raises:
            SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.
            TextError: a text holds a lone surrogate.
        """
        if all(map(self._runs(special), texts)):
            return self._kernel_encoder.count_batch(list(texts), _number(threads))
        return self.encode_batch(texts, special=special, threads=threads).counts

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """The tokens of many texts with their spans, in arrays. Raises `TextError` for surrogates."""
        from tokbench.core.token_arrays import divided

        return divided(
            texts,
            where=self._runs(SpecialPolicy.TEXT),
            then=partial(self._kernel_spans, threads=threads),
            otherwise=partial(super().encode_spans, threads=threads),
        )

    def _kernel_spans(self, texts: Sequence[str], *, threads: int | None) -> EncodedSpans:
        from tokbench.core.token_arrays import offsets_of

        ids, starts, stops, counts = self._kernel_encoder.place_batch(list(texts), _number(threads))
        return self._owned(texts, Encoded(ids, offsets_of(counts)), starts, stops)

    def _tokens(self, text: str, engine: tokenizers.Tokenizer, *, specials: bool) -> Iterator[Token]:
        if specials or not self._runs(SpecialPolicy.TEXT)(text):
            yield from super()._tokens(text, engine, specials=specials)
            return
        found = self._kernel_spans([text], threads=1)
        entries = self._laid_out.pieces
        places = zip(found.encoded.ids.tolist(), found.starts.tolist(), found.stops.tolist(), strict=True)
        for id, start, stop in places:
            yield Token(id, entries[id], Span(start, stop), self._kind(id, specials=False))

    def _runs(self, special: SpecialPolicy) -> Callable[[str], bool]:
        """Tells of a text whether the kernel runs it under a policy. Raises `TextError` for surrogates."""
        check_policy(special)
        if self.left_because:
            return _never
        looked_for: tuple[str, ...] | None = self._described.everywhere
        if special is not SpecialPolicy.TEXT:
            specials = self._described.specials
            looked_for = None if specials is None else (*self._described.everywhere, *specials)
        covers = self._agreement.covers

        def runs(text: str) -> bool:
            if type(text) is not str:
                utf8(text)  # raises for what is no text
            try:
                if looked_for is None or any(each in text for each in looked_for):
                    return False
                return covers(text)
            except UnicodeEncodeError as error:
                raise surrogate_error(error) from None

        return runs


def _never(text: str) -> bool:
    del text
    return False


def _number(threads: int | None) -> int:
    return threads or os.cpu_count() or 1
