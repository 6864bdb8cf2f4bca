"""Segmentations built by hand: texts cut anywhere, tokens of every kind, unusual spans."""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import strategies as st

from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.tokens import Segmentation, Span, Token, TokenKind
from tokbench.workbench.viz import VizTokenizer

HARD_CHARACTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from(
        "ab[]/\\ \t\n\r\x1b\x85\xa0\u3000│╎·⏎⟨⟩e\u0301\u0300ก\u0e33안\u1112\u1161\u11ab👩👧👍🏽❤🇩🇪1\u20e3🏴"
    ),
    st.sampled_from(
        "\u200b\u200c\u200d\ufe0e\ufe0f\u2028\u202e\u2066\u2069\u2060\ufeff\U000e0061\U000e007f\U000e0101"
    ),
)
HARD_TEXTS = st.lists(
    st.one_of(
        HARD_CHARACTERS,
        st.sampled_from(["👩\u200d👩\u200d👧", "[bold]", "[/]", "\r\n", "❤\ufe0f", "한국어", "word "]),
    ),
    max_size=30,
).map("".join)


def cut_at(text: str, *positions: int) -> Segmentation:
    """Cut a text at byte positions into tokens 0, 1, 2, … that tile it."""
    data = text.encode()
    edges = [0, *positions, len(data)]
    return Segmentation(
        text,
        tuple(
            Token(id=index, piece=data[start:stop], span=Span(start, stop), kind=TokenKind.NORMAL)
            for index, (start, stop) in enumerate(pairwise(edges))
        ),
    )


def in_words(*words: str) -> Segmentation:
    """Build a text that is cut between its words."""
    *edges, _ = accumulate(len(word.encode()) for word in words)
    return cut_at("".join(words), *edges)


def token(
    start: int, stop: int, piece: str = "", *, kind: TokenKind = TokenKind.NORMAL, id: int = 0
) -> Token:
    """Build a token of any kind at any place."""
    return Token(id=id, piece=piece.encode(), span=Span(start, stop), kind=kind)


def view(segmentation: Segmentation, *, name: str = "mine", vocab_size: int = 50257) -> VizTokenizer:
    """Present a segmentation as the result of a tokenizer."""
    info = TokenizerInfo(
        name=name, backend="bpe", vocab_size=vocab_size, special_tokens={}, lossless=True, kernel="native"
    )
    return VizTokenizer(info=info, segmentation=segmentation)


@st.composite
def tilings(draw: st.DrawFn) -> Segmentation:
    """Draw a text that is cut at any byte positions."""
    text = draw(HARD_TEXTS)
    size = len(text.encode())
    if size == 0:
        return Segmentation("", ())
    edges = draw(st.sets(st.integers(1, size - 1), max_size=size - 1)) if size > 1 else set()
    return cut_at(text, *sorted(edges))


@st.composite
def odd_segmentations(draw: st.DrawFn) -> Segmentation:
    """Draw a text with tokens whose spans may be empty, overlap, leave gaps or be in any order."""
    text = draw(HARD_TEXTS)
    offsets = st.integers(0, len(text.encode()))
    spans = st.tuples(offsets, offsets).map(lambda ends: Span(*sorted(ends)))
    tokens = st.builds(
        Token,
        id=st.integers(0, 2**32 - 1),
        piece=st.one_of(st.binary(max_size=6), HARD_TEXTS.map(str.encode)),
        span=spans,
        kind=st.sampled_from(TokenKind),
    )
    drawn = draw(st.lists(tokens, max_size=12))
    if draw(st.booleans()):
        drawn.sort(key=lambda token: token.span)
    return Segmentation(text, tuple(drawn))
