"""Measuring kernels by name, and batches of real and random documents with their tokens."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import strategies as st

from support.kernels import chosen
from support.texts import texts
from tokbench.metrics.kernel import current_kernel, has_native_kernel
from tokbench.metrics.metric import COUNTS, OPERATORS
from tokbench.metrics.text_runs import character_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tokbench.metrics.kernel import Kernel, Measurer

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document, the byte spans and kinds of its tokens, and its group."""

    text: bytes
    spans: Spans
    kinds: tuple[int, ...]
    group: int = 0


def tokens_of(*pieces: str | bytes) -> Document:
    """Return the document that consists of these tokens."""
    parts = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    ends = accumulate(map(len, parts), initial=0)
    return Document(b"".join(parts), tuple(pairwise(ends)), (0,) * len(parts))


def kernel_of(name: str) -> Kernel:
    """Return the kernel of a name; skip the test if the native one is missing, or fail where it is demanded."""
    demanded = os.environ.get("TOKBENCH_KERNEL") == "native"
    if name == "native" and not demanded and not has_native_kernel():
        pytest.skip("the compiled measuring kernel is not installed")
    with chosen(name):
        return current_kernel()


def new_measurer(name: str, num_groups: int = 1, *, pieces: Sequence[bytes] = ()) -> Measurer:
    """Return a measurer of the kernel of a name, whose vocabulary consists of `pieces`."""
    kernel = kernel_of(name)
    tables = kernel.new_tables(character_classes(), b"".join(pieces), offsets_of(list(map(len, pieces))))
    return kernel.new_measurer(tables, num_groups)


def pieces_of(documents: Iterable[Document]) -> list[bytes]:
    """Return the distinct tokens of documents, sorted by their bytes."""
    return sorted({document.text[slice(*span)] for document in documents for span in document.spans})


def offsets_of(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.array([0, *accumulate(sizes)], dtype=np.int64)


def add(measurer: Measurer, documents: Sequence[Document]) -> NDArray[np.int64]:
    """Measure documents in one batch, given the spans of their tokens."""
    places = np.array([span for document in documents for span in document.spans], dtype=np.int64).reshape(
        -1, 2
    )
    return measurer.add(
        text=b"".join(document.text for document in documents),
        text_offsets=offsets_of([len(document.text) for document in documents]),
        token_offsets=offsets_of([len(document.spans) for document in documents]),
        starts=places[:, 0].copy(),
        stops=places[:, 1].copy(),
        kinds=np.array([kind for document in documents for kind in document.kinds], dtype=np.uint8),
        groups=np.array([document.group for document in documents], dtype=np.int32),
    )


def add_tiled(
    measurer: Measurer, documents: Sequence[Document], pieces: Sequence[bytes]
) -> NDArray[np.int64]:
    """Measure documents that their tokens tile, in one batch; an id is the index of a token's bytes in `pieces`."""
    ids = {piece: id for id, piece in enumerate(pieces)}
    return measurer.add_tiled(
        text=b"".join(document.text for document in documents),
        text_offsets=offsets_of([len(document.text) for document in documents]),
        token_offsets=offsets_of([len(document.spans) for document in documents]),
        ids=np.array(
            [ids[document.text[slice(*span)]] for document in documents for span in document.spans],
            dtype=np.uint32,
        ),
        groups=np.array([document.group for document in documents], dtype=np.int32),
    )


def is_utf8(text: bytes) -> bool:
    """Whether a text is valid UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def add_texts(
    measurer: Measurer, documents: Sequence[Document], pieces: Sequence[bytes]
) -> NDArray[np.int64]:
    """Measure UTF-8 documents like `add_tiled`, but pass them as strings."""
    ids = {piece: id for id, piece in enumerate(pieces)}
    return measurer.add_texts(
        texts=tuple(document.text.decode() for document in documents),
        token_offsets=offsets_of([len(document.spans) for document in documents]),
        ids=np.array(
            [ids[document.text[slice(*span)]] for document in documents for span in document.spans],
            dtype=np.uint32,
        ),
        groups=np.array([document.group for document in documents], dtype=np.int32),
    )


def everything(measurer: Measurer) -> dict[str, object]:
    """Return everything that a measurer can report."""
    totals = measurer.totals()
    return {
        "totals": [dict(zip(COUNTS, row, strict=True)) for row in totals.tolist()],
        "numbers": measurer.numbers_by_length().tolist(),
        "types": measurer.word_types().tolist(),
        "worst": [measurer.worst_words(group, 1000) for group in range(len(totals))],
        "worst three": [measurer.worst_words(group, 3) for group in range(len(totals))],
    }


_FRAGMENTS = [
    *OPERATORS,
    *["x", " ", "  ", "\t", "\n", "\r\n", "\n    ", "\n\t x", "\n  \r\n"],
    *["_", "__init__", "snake_case", "getHTTP2Url", "_" * 9, "a" * 40, "Ab" * 9],
    *["1", "12", "1234567", "1,000", "1.5", "٣٤٥٦", "x1,2", "²", "9" * 20],
    *["don't", "l\u2019été", "a\u00b7b", "'", "..", "\u3000", "\u2028", "\x1c", "🙂"],
    *["漢字", "コーヒー", "ภาษาไทย", "नमस्ते", "می\u200cخواهم", "e\u0301", "\u0301"],
]

_awkward = st.lists(st.sampled_from(_FRAGMENTS), max_size=30).map("".join)

documents_of_bytes = (_awkward | texts).map(str.encode) | st.binary(max_size=40)
"""Documents of words, numbers, operators and lines, of arbitrary text, and of bytes that are not UTF-8."""


@st.composite
def tiled_documents(draw: st.DrawFn, num_groups: int = 1) -> Document:
    """Draw a document that its tokens tile; some tokens are empty."""
    text = draw(documents_of_bytes)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=len(text))))
    ends = [0, *cuts, len(text)] if text or draw(st.booleans()) else [0]
    spans = tuple(pairwise(ends))
    return Document(text, spans, (0,) * len(spans), draw(st.integers(0, num_groups - 1)))


_TOKENS = [
    *[" a", " word", "  is", "\nThe", "\t\tx", "\u3000a", "\x1ca", " \u00c9t\u00e9"],
    *[" \u0441\u043b\u043e\u0432\u043e", " \u05e9\u05dc\u05d5\u05dd", " a" + "b" * 30],
    *[" camelCase", " HTTP", " HTTPServer", " snake_case", " x2", " 12", " _"],
    *["s", "\u00e9", "'s", "'", "\u2019", "\u2019s", "\u00b7", "\u00b7a"],
    *[".", ".5", ",", "_", "1", "\u0301", "\u200d", "\u00aa"],
    *["\u6f22", "\u0e01", " \u6f22", "==", " ==", " ", "\n", "!", "\u00bd", "\u0663", "\U0001f642", "\u200b"],
]
_PARTS = [b"\xc3", b"\xa9", b"\xe2\x80", b"\x99", b"\xff", b"", b" \xc3", b" a\xc3"]

WORD_TOKENS = [*map(str.encode, _TOKENS), *_PARTS]
"""Tokens as in real vocabularies: words with and without a leading space, and the tokens that may follow them."""


@st.composite
def worded_documents(draw: st.DrawFn, num_groups: int = 1) -> Document:
    """Draw a document of tokens as in real vocabularies: words with a leading space, and tokens that may follow."""
    document = tokens_of(*draw(st.lists(st.sampled_from(WORD_TOKENS), max_size=30)))
    return replace(document, group=draw(st.integers(0, num_groups - 1)))


@st.composite
def placed_documents(draw: st.DrawFn, num_groups: int = 1) -> Document:
    """Draw a document whose tokens have any kind and any spans, including gaps, overlaps and empty spans."""
    text = draw(documents_of_bytes)
    size = draw(st.integers(0, len(text) + 3))
    position = st.integers(0, len(text))
    starts = sorted(draw(st.lists(position, min_size=size, max_size=size)))
    stops = sorted(draw(st.lists(position, min_size=size, max_size=size)))
    stops = list(accumulate((max(pair) for pair in zip(starts, stops, strict=True)), max))
    kinds = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    return Document(
        text, tuple(zip(starts, stops, strict=True)), tuple(kinds), draw(st.integers(0, num_groups - 1))
    )


@st.composite
def spaced_documents(draw: st.DrawFn, num_groups: int = 1) -> Document:
    """Draw a document whose tokens leave gaps, as those of tokenizers that drop white space do."""
    tiled = draw(tiled_documents(num_groups))
    keep = draw(st.lists(st.booleans(), min_size=len(tiled.spans), max_size=len(tiled.spans)))
    spans = tuple(span for span, is_kept in zip(tiled.spans, keep, strict=True) if is_kept)
    kinds = draw(st.lists(st.integers(0, 3), min_size=len(spans), max_size=len(spans)))
    return Document(tiled.text, spans, tuple(kinds), tiled.group)
