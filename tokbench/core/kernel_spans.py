"""How our kernel computes the spans of tokens for a tokenizer that runs on the kernel or on its library."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.tokens import Encoded, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.tokens import EncodedSpans, Token

    Places = tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class KernelSpans(NamedTuple):
    """How the kernel computes spans, for texts in which nothing is a special token.

    Attributes:
        covers: whether it gives the library's ids and spans for a text, as in `KernelUse`.
        encode_spans: texts and the keyword `threads` → their tokens in arrays.
        segment: a text → its tokens; meant for a few short texts.
    """

    covers: Callable[[str], bool]
    encode_spans: Callable[..., EncodedSpans]
    segment: Callable[[str], Iterator[Token]]


def spans_by_places(
    covers: Callable[[str], bool],
    place_batch: Callable[[list[str], int], Places],
    *,
    spans: Callable[[Sequence[str], Encoded, NDArray[np.int64], NDArray[np.int64]], EncodedSpans],
    token: Callable[[int, Span], Token],
) -> KernelSpans:
    """Return the spans of a kernel whose token starts and stops are those of the library.

    Args:
        covers: as in `KernelSpans`.
        place_batch: texts and a number of threads → their ids, starts and stops, and the number of ids of each text.
        spans: texts, ids, starts and stops → the tokens in arrays.
        token: an id and a span → the token.
    """

    def encode_spans(texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        from tokbench.core.token_arrays import offsets_of

        ids, starts, stops, counts = place_batch(list(texts), threads or os.cpu_count() or 1)
        return spans(texts, Encoded(ids, offsets_of(counts)), starts, stops)

    return spans_in_arrays(covers, encode_spans, token=token)


def spans_in_arrays(
    covers: Callable[[str], bool],
    encode_spans: Callable[..., EncodedSpans],
    *,
    token: Callable[[int, Span], Token],
) -> KernelSpans:
    """Return the spans of a kernel that computes them in arrays; the arguments are those of `spans_by_places`."""

    def segment(text: str) -> Iterator[Token]:
        found = encode_spans([text], threads=1)
        places = zip(found.encoded.ids.tolist(), found.starts.tolist(), found.stops.tolist(), strict=True)
        return (token(id, Span(start, stop)) for id, start, stop in places)

    return KernelSpans(covers, encode_spans, segment)


def preferring(first: KernelSpans, second: KernelSpans) -> KernelSpans:
    """Return the spans of the first for the texts that it covers, else those of the second, which covers these, too.

    The first is asked only about texts that the second covers.
    """

    def encode_spans(texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        from tokbench.core.token_arrays import divided

        return divided(
            texts,
            where=first.covers,
            then=partial(first.encode_spans, threads=threads),
            otherwise=partial(second.encode_spans, threads=threads),
        )

    def segment(text: str) -> Iterator[Token]:
        return (first if first.covers(text) else second).segment(text)

    return KernelSpans(second.covers, encode_spans, segment)
