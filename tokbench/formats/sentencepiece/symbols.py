"""User-defined symbols of a SentencePiece model in a `tokenizer.json`: as added tokens, or isolated by a pre-tokenizer.

SentencePiece matches these symbols before it normalizes, so that they remain as they are, and again in the normalized
text, the longest at each position. A BPE never merges them with anything. A Unigram only gives them a high score: they
are isolated if no segmentation without them can be better.

Added tokens are found in the normalized text, too. But `tokenizers` normalizes their own texts to find them: it would
prepend the dummy prefix to each, or remove their spaces. Then a pre-tokenizer isolates the symbols, and a BPE finds
them as whole pre-tokens.

Source: `PrefixMatcher` in SentencePiece's normalizer.cc, `SampleEncode` in bpe_model.cc, `EncodeOptimized` in
unigram_model.cc.
"""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING

from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.model import SPACE, ModelType, iter_user_defined
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.sentencepiece.unigram_scores import UNKNOWN_PENALTY, normal_scores, symbol_score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokbench.formats.sentencepiece.model import SentencePieceFile

_MOST_NESTED = 64
_MARGIN = 1e-3
"""By how much a symbol must be better than all else, as both libraries round sums."""


def isolated_symbols(model: SentencePieceFile) -> tuple[str, ...]:
    """Return the user-defined symbols that normalized texts, in which spaces are ▁, can contain.

    Raises:
        ConversionError: SentencePiece finds other symbols than a pattern of them does, or prefers other pieces to one.

    Complexity: linear in the vocabulary, cubic in the length of a symbol of a Unigram.
    """
    symbols = tuple(symbol for symbol in iter_user_defined(model) if " " not in symbol)
    known = set(symbols)
    for symbol in symbols:
        if sum(symbol[:size] in known for size in range(1, len(symbol) + 1)) > _MOST_NESTED:
            raise ConversionError(
                f"more than {_MOST_NESTED} user-defined symbols begin {symbol!r}, and SentencePiece finds only some"
            )
    if symbols and model.model_type is ModelType.UNIGRAM:
        _check_scores(symbols, normal_scores(model.pieces))
    return symbols


def are_added_tokens(model: SentencePieceFile) -> bool:
    """Whether symbols can be added tokens: no dummy prefix and no removal of spaces would change their own texts."""
    return not (model.normalizer["add_dummy_prefix"] or model.normalizer["remove_extra_whitespaces"])


def protected_symbols(model: SentencePieceFile) -> tuple[str, ...]:
    """Return the texts that SentencePiece keeps from being normalized.

    Raises:
        ConversionError: one contains spaces that it would remove elsewhere, or in decoding.
    """
    symbols = tuple(iter_user_defined(model))
    for symbol in symbols if model.normalizer["remove_extra_whitespaces"] else ():
        if symbol.startswith(SPACE * 2):
            raise ConversionError(
                f"at the beginning of a text, the user-defined symbol {symbol!r} is decoded without its first space "
                "only, and tokenizers removes all"
            )
        if symbol != re.sub(" +", " ", symbol.strip(" ")):
            raise ConversionError(f"the user-defined symbol {symbol!r} keeps its spaces from being removed")
    return symbols


def pattern_of(symbols: Iterable[str]) -> str:
    """Return a regular expression that matches the longest of some symbols.

    >>> pattern_of(["<a>", "<a><b>"])
    '<a><b>|<a>'
    """
    return "|".join(map(re.escape, sorted(symbols, key=lambda symbol: (-len(symbol), symbol))))


def check_whole_pieces(model: SentencePieceFile, produced: Iterable[str], symbols: Sequence[str]) -> None:
    """Reject a BPE with a piece that merges do not produce, but that a text between two symbols may be.

    The library looks up such a text as a whole before it merges, which is how it finds isolated symbols.

    Args:
        model: the parsed file.
        produced: the pieces that merges produce.
        symbols: the user-defined symbols; no text between two of them contains one.

    Raises:
        ConversionError: there is such a piece.
    """
    known = set(produced)
    contained = re.compile(pattern_of(symbols))
    for piece in model.pieces:
        text = piece.text
        if (
            piece.type is PieceType.NORMAL
            and len(text) > 1
            and text not in known
            and not contained.search(text)
        ):
            raise ConversionError(
                f"no merge produces the piece {text!r}, and tokenizers would find it between user-defined symbols"
            )


# --- Unigram ----------------------------------------------------------------------------------


def _check_scores(symbols: Sequence[str], scores: Mapping[str, float]) -> None:
    """Check that every best segmentation contains each symbol wherever a text does. Raises `ConversionError`."""
    if max(scores.values(), default=0.0) > 0:
        raise ConversionError("it has user-defined symbols, and pieces with a positive score")
    borders = _Borders(symbols, scores)
    for symbol in symbols:
        for other in symbols:
            if overlap(symbol, other):
                whom = "itself" if other == symbol else repr(other)
                raise ConversionError(
                    f"the user-defined symbol {symbol!r} overlaps with {whom} in some texts, and a Unigram may "
                    "prefer either occurrence"
                )
        rival = borders.best_without(symbol)
        if rival > symbol_score(symbol) - _MARGIN:
            raise ConversionError(
                f"the user-defined symbol {symbol!r} has a score of {symbol_score(symbol):.4g}, and other pieces "
                f"may be better where a text contains it: {rival:.4g}"
            )


class _Borders:
    """The pieces that cross the borders of symbols, by how much of a symbol they cover."""

    def __init__(self, symbols: Sequence[str], scores: Mapping[str, float]) -> None:
        self._scores = scores
        self._unknown = min(scores.values(), default=0.0) - UNKNOWN_PENALTY
        self._longest = max(map(len, scores), default=1)
        self._before = dict.fromkeys(
            (symbol[:size] for symbol in symbols for size in range(1, len(symbol))), -inf
        )
        self._after = dict.fromkeys(
            (symbol[-size:] for symbol in symbols for size in range(1, len(symbol))), -inf
        )
        self._around = dict.fromkeys(symbols, -inf)
        contained = re.compile(pattern_of(symbols))
        for piece, score in scores.items():
            for size in range(1, len(piece)):
                if (end := piece[size:]) in self._before:
                    self._before[end] = max(self._before[end], score - self._best(piece[:size]))
                if (start := piece[:size]) in self._after:
                    self._after[start] = max(self._after[start], score - self._best(piece[size:]))
            for match in contained.finditer(piece):
                rest = self._best(piece[: match.start()]) + self._best(piece[match.end() :])
                self._around[match[0]] = max(self._around[match[0]], score - rest)

    def best_without(self, symbol: str) -> float:
        """Return the highest score of what may take the place of a symbol, less the best for what else it covers."""
        size = len(symbol)
        starts = {0: 0.0} | {end: self._before[symbol[:end]] for end in range(1, size)}
        ends = {size: 0.0} | {start: self._after[symbol[start:]] for start in range(1, size)}
        return max(
            self._around[symbol],
            *(
                before + self._best(symbol[start:end]) + after
                for start, before in starts.items()
                for end, after in ends.items()
                if start <= end
            ),
        )

    def _best(self, text: str) -> float:
        """Return the score of the best segmentation of a text into normal pieces and unknown characters."""
        best = [0.0]
        for end in range(1, len(text) + 1):
            pieces = (
                best[start] + self._scores[text[start:end]]
                for start in range(max(0, end - self._longest), end)
                if text[start:end] in self._scores
            )
            best.append(max(best[end - 1] + self._unknown, *pieces, -inf))
        return best[-1]


def overlap(first: str, second: str) -> bool:
    """Whether a text can contain the second symbol inside the first one, or across its end."""
    if first != second and second in first:
        return True
    return any(
        second.startswith(first[start:]) for start in range(1, len(first)) if len(first) - start < len(second)
    )
