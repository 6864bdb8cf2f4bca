"""A `tokenizer.json` on our kernel, with the library behind it for what is in doubt."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from tokbench.core.base import surrogate_error, surrogates_named, utf8
from tokbench.core.encoded import Encoded
from tokbench.core.special_tokens import check_policy
from tokbench.core.token_arrays import TiledSpans, divided, divided_ids
from tokbench.core.tokens import Segmentation, Span, SpecialPolicy, Token
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.opening.split_steps import byte_masks, disputed_by_sets
from tokbench.opening.unicode_agreement import UnicodeAgreement, tokenizers_members

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.encoded import EncodedSpans
    from tokbench.native._bpe import PreparedEncoder
    from tokbench.opening.kernel_document import KernelDocument


class NativeDocument(HuggingFaceTokenizer):
    """A tokenizer with its library's ids for every text, encoded by our kernel where the two agree.

    Whatever else it is asked is answered as by the library.

    Args:
        library: the tokenizer on its library.
        plan: the same as the kernel runs it.
    """

    def __init__(self, library: HuggingFaceTokenizer, *, plan: KernelDocument) -> None:
        vars(self).update(vars(library))  # reading the file again would take as long as before
        self._plan = plan
        self.info = replace(self.info, kernel="native")
        self._agreement = UnicodeAgreement(
            tokenizers_members, kernel="native", nfc=plan.normalization.is_normal_form, further=self._disputed
        )

    # --- encoding -----------------------------------------------------------------------------

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """The ids of a text. Raises `SpecialTokenError` under `SpecialPolicy.RAISE`, `TextError` for surrogates."""
        if not self._runs(text):
            return super().encode(text, special=special)
        specials = self._finds_specials([text], special)
        if not self._plan.normalization:
            return self._encoder.encode(text, specials=specials)
        if self._encoder.added_places(text.encode(), specials=specials):
            return self._encode_parts(text, specials=specials)
        return self._encoder.encode(self._plan.normalization(text), specials=specials, normalized=True)

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """The ids of many texts in arrays, on `threads` threads (None: one a processor), whatever their number.

        Raises:
            SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.
            TextError: a text holds a lone surrogate.
        """
        specials = self._finds_specials(texts, special)
        return divided_ids(
            texts,
            where=self._runs,
            then=partial(self._encode_many, specials=specials, threads=threads),
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
        specials = self._finds_specials(texts, special)
        if not all(map(self._runs, texts)) or self._is_found_first(texts, specials=specials):
            return self.encode_batch(texts, special=special, threads=threads).counts
        with surrogates_named(texts):
            return self._encoder.count_batch(
                self._normalized(texts),
                threads or os.cpu_count() or 1,
                specials=specials,
                normalized=bool(self._plan.normalization),
            )

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """The tokens of many texts with their spans, in arrays. Raises `TextError` for surrogates."""
        return divided(
            texts,
            where=self._tiles,
            then=partial(self._encode_tiled, threads=threads),
            otherwise=partial(super().encode_spans, threads=threads),
        )

    def segment(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> Segmentation:
        """The tokens of a text with their bytes and spans; its ids are those of `encode`."""
        if special is not SpecialPolicy.TEXT:
            return super().segment(text, special=special)
        utf8(text)
        return Segmentation(text=text, tokens=tuple(self.segment_ordinary(text)))

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        """Segment text, treating special tokens as ordinary text; spans count from its beginning."""
        if not self._tiles(text):
            yield from super().segment_ordinary(text)
            return
        start = 0
        pieces = self._laid_out.pieces
        for id in self.encode(text):
            span = Span(start, start + len(pieces[id]))
            start = span.stop
            yield Token(id, pieces[id], span, self._kind(id, specials=False))

    def _encode_tiled(self, texts: Sequence[str], *, threads: int | None) -> EncodedSpans:
        return TiledSpans(self._encode_many(texts, specials=False, threads=threads), self._piece_table)

    # --- what goes where ----------------------------------------------------------------------

    def _runs(self, text: str) -> bool:
        """Whether the kernel is known to give the library's ids for a text. Raises `TextError`."""
        try:
            covered = self._agreement.covers(text)
            if covered and self._plan.normalization.is_normal_form and not text.isascii():
                covered = self._agreement.covers(self._plan.normalization(text))  # it may hold others
        except UnicodeEncodeError as error:
            raise surrogate_error(error) from None
        except (AttributeError, TypeError):
            utf8(text)  # raises for what is no text
            raise
        # The kernel knows of letters beyond ASCII only what split patterns need.
        return covered and (
            not self._single_words or text.isascii() or not any(map(text.__contains__, self._single_words))
        )

    def _tiles(self, text: str) -> bool:
        """Whether the kernel runs a text and its tokens are its bytes, one behind another. Raises `TextError`."""
        return self._plan.tiles and self._runs(text) and self._plan.normalization(text) == text

    @cached_property
    def _single_words(self) -> tuple[str, ...]:
        return tuple(token.text for token in self._plan.added if token.single_word)

    def _disputed(self, characters: set[str]) -> set[str]:
        """Those of some characters on which the kernel and the library may disagree, for whatever reason."""
        missing = self._plan.vocabulary.missing_bytes
        lost = {
            each for each in characters if not missing.isdisjoint(self._plan.normalization(each).encode())
        }
        return (
            lost
            | {each for each in characters if not missing.isdisjoint(each.encode())}
            | self._plan.normalization.disputed(characters)
            | disputed_by_sets(self._plan.splitting, characters)
        )

    def _finds_specials(self, texts: Sequence[str], special: SpecialPolicy) -> bool:
        """Whether special tokens are found under a policy. Raises `SpecialTokenError` where there must be none."""
        check_policy(special)
        if special is SpecialPolicy.RAISE:
            self._engine_for(texts, special=special)
        return special is SpecialPolicy.ENCODE

    def _normalized(self, texts: Sequence[str]) -> list[str]:
        return list(map(self._plan.normalization, texts)) if self._plan.normalization else list(texts)

    def _is_found_first(self, texts: Sequence[str], *, specials: bool) -> bool:
        """Whether an added token is found in some text before it is normalised, where it is."""
        if not self._plan.normalization or not self._plan.added_rows(specials=specials)[0]:
            return False
        return any(self._encoder.added_places(utf8(text), specials=specials) for text in texts)

    def _encode_many(self, texts: Sequence[str], *, specials: bool, threads: int | None) -> Encoded:
        if self._is_found_first(texts, specials=specials):
            return divided_ids(
                texts,
                where=lambda text: not self._encoder.added_places(text.encode(), specials=specials),
                then=lambda plain: self._encode_many(plain, specials=specials, threads=threads),
                otherwise=lambda others: self._encode_each(others, specials=specials),
            )
        with surrogates_named(texts):
            ids, offsets = self._encoder.encode_batch(
                self._normalized(texts),
                threads or os.cpu_count() or 1,
                specials=specials,
                normalized=bool(self._plan.normalization),
            )
        return Encoded(ids=ids, offsets=offsets)

    def _encode_each(self, texts: Sequence[str], *, specials: bool) -> Encoded:
        import numpy as np

        from tokbench.core.token_arrays import offsets_of

        encoded = [self._encode_parts(text, specials=specials) for text in texts]
        return Encoded(
            ids=np.array([id for ids in encoded for id in ids], np.uint32),
            offsets=offsets_of(list(map(len, encoded))),
        )

    def _encode_parts(self, text: str, *, specials: bool) -> list[int]:
        """The ids of a text in which added tokens are found before the parts between them are normalised."""
        data = text.encode()
        ids: list[int] = []
        behind = 0
        for start, stop, id in [
            *self._encoder.added_places(data, specials=specials),
            (len(data), len(data), None),
        ]:
            part = self._plan.normalization(data[behind:start].decode())
            ids += self._encoder.encode(part, specials=specials, normalized=True)
            if id is not None:
                ids.append(id)
            behind = stop
        return ids

    @cached_property
    def _encoder(self) -> PreparedEncoder:
        import numpy as np

        from tokbench.native._bpe import PreparedEncoder

        vocabulary, splitting = self._plan.vocabulary, self._plan.splitting
        in_steps = splitting.pattern is None or vocabulary.marks_ends
        masks = splitting.sets.masks() if splitting.sets.members else None
        return PreparedEncoder(
            list(vocabulary.tokens),
            np.array(vocabulary.merges, np.uint32).reshape(-1, 3),
            whole_tokens_first=vocabulary.whole_tokens_first,
            pattern=splitting.pattern,
            added=self._plan.added_rows(specials=False),
            added_with_specials=self._plan.added_rows(specials=True),
            steps=splitting.rows() if in_steps else None,
            sets=masks,
            byte_sets=None if masks is None else byte_masks(masks),
            marks_ends=vocabulary.marks_ends,
        )
