"""Step-by-step explanations of the tokens of a SentencePiece model; callers compare the ids with the library's."""

from __future__ import annotations

import re
from array import array
from functools import lru_cache, partial
from itertools import accumulate, chain, islice, pairwise
from typing import TYPE_CHECKING, TypeVar

from tokbench.core.tokens import Span
from tokbench.explain.as_read import Recomputed
from tokbench.explain.bpe import RankedTokens, trace_merges
from tokbench.explain.causes import ByDefinition, Fallback, Symbol
from tokbench.explain.derivation import (
    TRACES_KEPT,
    Derivation,
    Edge,
    LatticeTrace,
    LookupTrace,
    MergeTrace,
    Step,
)
from tokbench.explain.pretokens import Aligned, PreToken, changes_of
from tokbench.explain.unigram import Lattice, part_starts, trace_parts
from tokbench.formats.sentencepiece.model import SPACE, ModelType, crosses_words
from tokbench.formats.sentencepiece.pieces import BYTE_PIECES
from tokbench.libraries.sentencepiece.sampling import UserDefined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sentencepiece import SentencePieceProcessor

    from tokbench.explain.causes import Cause
    from tokbench.explain.derivation import Trace
    from tokbench.explain.pretokens import Change
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.libraries.sentencepiece.sampling import Lexicon

_Between = TypeVar("_Between")

_WORDS = re.compile(f"{SPACE}*[^{SPACE}]+|{SPACE}+")
_ALGORITHMS = {
    ModelType.UNIGRAM: "Unigram",
    ModelType.BPE: "BPE by scores",
    ModelType.WORD: "whole words",
    ModelType.CHAR: "single characters",
}
_RULES = {ModelType.WORD: "a whole word is looked up", ModelType.CHAR: "every character is a token"}


class ModelExplainer:
    """An explainer of the tokens of texts.

    Args:
        model: the parsed model.
        processor: the library's processor of the model.
        lexicon: its pieces and scores.
    """

    def __init__(self, model: SentencePieceFile, processor: SentencePieceProcessor, lexicon: Lexicon) -> None:
        self._model = model
        self._processor = processor
        self._lexicon = lexicon
        self._ids = {piece.text: id for id, piece in enumerate(model.pieces)}
        self._unknown = Symbol(model.unknown_id, model.pieces[model.unknown_id].text.encode())
        self._cuts_words = (
            model.model_type is ModelType.BPE
            and lexicon.is_token(SPACE)
            and lexicon.user_defined is None
            and not any(map(crosses_words, lexicon.scores))
        )

    def derivation(self, text: str) -> Derivation:
        """Return the steps from a text to its ids."""
        data = text.encode()
        normal, origins = self._processor.normalize(data, with_offsets=True)
        normalized: str = normal.decode()
        places = array("q", origins[: len(normal)])
        places.append(origins[len(normal)] if len(origins) > len(normal) else len(data))
        splitter = "nothing splits the text"
        if self._cuts_words:
            splitter = "before spaces, as no piece reaches across one"
        elif len(list(islice(self._starts(normalized), 2))) > 1:
            splitter = "nothing splits the text; parts that no piece reaches out of"
        return Derivation(
            algorithm=_ALGORITHMS[self._model.model_type],
            normalized=normalized,
            changes=Recomputed(partial(_changes, text, normalized, places)),
            splitter=splitter,
            steps=Recomputed(
                partial(self._steps, normalized, places, text=text),
                size=lambda: sum(1 for _ in self._starts(normalized)),
            ),
        )

    def _steps(self, normalized: str, places: Sequence[int], *, text: str) -> Iterator[Step]:
        """Yield the parts of a normalized text; `places` are the offsets in the text of each byte, and of the end."""
        reached = 0
        for start, part, trace in self._traces(normalized, text):
            stop = reached + len(part.encode())
            span = Span(places[reached], max(places[reached], places[stop]))
            continues = bool(start) and isinstance(trace, LatticeTrace)
            yield Step(PreToken(part, span, continues=continues), trace)
            reached = stop

    def _traces(self, normalized: str, text: str) -> Iterator[tuple[int, str, Trace]]:
        """Yield the start of each part of a normalized text in characters, the part, and the trace of its tokens."""
        starts = self._starts(normalized)
        if self._model.model_type is ModelType.UNIGRAM:
            pieces = self._processor.encode(text, out_type=str)
            parts = trace_parts(
                normalized, starts, lattice_of=self._lattice, tokens_of=self._unigram_tokens, pieces=pieces
            )
            yield from ((start, trace.text, trace) for start, trace in parts)
            return
        known = lru_cache(maxsize=TRACES_KEPT)(self._trace)
        for start, stop in pairwise(chain(starts, [len(normalized)])):
            yield start, normalized[start:stop], known(normalized[start:stop])

    def _starts(self, normalized: str) -> Iterator[int]:
        """Yield the position of each part in characters."""
        if self._model.model_type is ModelType.UNIGRAM:
            reach = partial(self._lexicon.reach, normalized)
            yield from part_starts(normalized, reach=reach, is_piece=self._lexicon.is_token)
        elif self._cuts_words:
            yield from (match.start() for match in _WORDS.finditer(normalized))
        elif normalized:
            yield 0

    def _trace(self, text: str) -> Trace:
        if self._model.model_type is ModelType.BPE:
            return self._trace_bpe(text)
        return self._trace_lookup(text, _RULES[self._model.model_type])

    def _symbol(self, piece: str) -> Symbol:
        return Symbol(self._ids.get(piece) if piece in self._lexicon.scores else None, piece.encode())

    # --- BPE ----------------------------------------------------------------------------------

    def _trace_bpe(self, text: str) -> MergeTrace:
        symbols = self._lexicon.symbols(text)
        frozen = frozenset(place for place, symbol in enumerate(symbols) if isinstance(symbol, UserDefined))
        trace = trace_merges(symbols, self._ranked, show=self._symbol, frozen=frozen, by_score=True)
        return self._with_final_tokens(trace)

    @property
    def _ranked(self) -> RankedTokens[str]:
        scores = self._lexicon.scores

        def rank(piece: str) -> float | None:
            score = scores.get(piece)
            return None if score is None else -score

        return RankedTokens(rank)

    def _with_final_tokens(self, trace: MergeTrace) -> MergeTrace:
        """Return the trace with its final tokens: unused pieces are split; unknown symbols become bytes or unknown."""
        merged_from = {
            step.rule.merged.data: (step.rule.left.data, step.rule.right.data) for step in trace.steps
        }
        tokens: list[Symbol] = []
        causes: list[Cause] = []
        edges: list[int] = []
        after_unknown = False
        for symbol, edge, cause in zip(trace.tokens, trace.edges[:-1], (None, *trace.causes), strict=True):
            parts = list(self._without_unused(symbol.data, merged_from))
            for number, part in enumerate(parts):
                symbols, is_unknown = self._tokens_of(part.decode())
                if is_unknown and after_unknown:
                    continue
                if tokens:
                    kept = ByDefinition("an unused piece is taken apart again") if number else cause
                    causes.append(kept or ByDefinition("characters without a piece are joined"))
                tokens += symbols
                edges += [edge] * len(symbols)
                causes += [Fallback(part.decode())] * (len(symbols) - 1)
                after_unknown = is_unknown
        return MergeTrace(
            symbols=trace.symbols,
            steps=trace.steps,
            tokens=tuple(tokens),
            edges=(*edges, trace.edges[-1]),
            causes=tuple(causes),
            by_score=True,
        )

    def _without_unused(
        self, piece: bytes, merged_from: Mapping[bytes, tuple[bytes, bytes]]
    ) -> Iterator[bytes]:
        if piece.decode() not in self._lexicon.unused or piece not in merged_from:
            yield piece
            return
        for part in merged_from[piece]:
            yield from self._without_unused(part, merged_from)

    def _tokens_of(self, piece: str) -> tuple[list[Symbol], bool]:
        """Return the tokens of a symbol after merging, and whether they are the unknown token."""
        if self._lexicon.is_token(piece):
            return [self._symbol(piece)], False
        if self._model.trainer["byte_fallback"]:
            names = [BYTE_PIECES[byte] for byte in piece.encode()]
            return [Symbol(self._ids[name], name.encode()) for name in names], False
        return [self._unknown], True

    # --- Unigram ------------------------------------------------------------------------------

    def _lattice(self, text: str) -> Lattice:
        return Lattice(len(text), tuple(self._edges(text)))

    def _edges(self, text: str) -> Iterator[Edge]:
        for start in range(len(text)):
            for stop, score in self._lexicon.candidates(text, start):
                yield Edge(start, stop, self._symbol(text[start:stop]), score)

    def _unigram_tokens(self, edges: Sequence[Edge]) -> tuple[tuple[Symbol, ...], tuple[Cause | int, ...]]:
        return self._join_unknown((edge.piece.data.decode(), edge.start) for edge in edges)

    def _join_unknown(
        self, parts: Iterable[tuple[str, _Between]]
    ) -> tuple[tuple[Symbol, ...], tuple[Cause | _Between, ...]]:
        """Return the tokens of parts and the boundaries between them; a run of unknown parts is one token.

        Args:
            parts: each part with the boundary before it.
        """
        tokens: list[Symbol] = []
        between: list[Cause | _Between] = []
        after_unknown = False
        for part, before in parts:
            symbols, is_unknown = self._tokens_of(part)
            if not (is_unknown and after_unknown):
                between += [before] if tokens else []
                between += [Fallback(part)] * (len(symbols) - 1)
                tokens += symbols
            after_unknown = is_unknown
        return tuple(tokens), tuple(between)

    # --- words and characters -----------------------------------------------------------------

    def _trace_lookup(self, text: str, rule: str) -> LookupTrace:
        is_of_characters = self._model.model_type is ModelType.CHAR
        parts = self._lexicon.symbols(text) if is_of_characters else _words(text)
        return LookupTrace(rule, *self._join_unknown((part, ByDefinition(rule)) for part in parts))


def _words(text: str) -> list[str]:
    return re.findall(f"{SPACE}?[^{SPACE}]*", text)[:-1] if text else []


def _changes(text: str, normalized: str, places: Sequence[int]) -> Iterator[Change]:
    """Yield what normalization changed, except for spaces that became ▁."""
    edges = accumulate((len(character.encode()) for character in normalized), initial=0)
    spans = pairwise(places[edge] for edge in edges)
    aligned = (
        Aligned(character, Span(start, max(start, stop)))
        for character, (start, stop) in zip(normalized, spans, strict=True)
    )
    yield from changes_of(text, aligned, same=lambda before, after: before.replace(" ", SPACE) == after)
