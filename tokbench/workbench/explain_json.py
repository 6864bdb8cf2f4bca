"""Explanations as JSON: repeated pre-tokens, tokens and causes are written once and referenced by number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import token_fields
from tokbench.explain.derivation import LatticeTrace, LongestMatchTrace, LookupTrace, MergeTrace
from tokbench.explain.sentences import cause_in_words, cause_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from tokbench.core.tokens import Token
    from tokbench.explain.causes import Cause, Symbol
    from tokbench.explain.derivation import Boundary, Edge, ExplainedStep, Explanation, Trace
    from tokbench.explain.pretokens import Alternative


def explanation_fields(
    found: Explanation, *, steps: Sequence[ExplainedStep], boundaries: Iterable[Boundary]
) -> dict[str, Any]:
    """Return an explanation as plain data; its lists are iterators, and later ones define what earlier ones reference.

    Args:
        found: the explanation.
        steps: the requested steps of its pre-tokens.
        boundaries: the requested boundaries.
    """
    writer = _Writer(found.tokens)
    return {
        "algorithm": found.algorithm,
        "text": found.text,
        "normalized": found.normalized,
        "changes": [
            {"span": list(change.span), "before": change.before, "after": change.after}
            for change in found.changes
        ],
        "splitter": found.splitter,
        "ids": (token.id for token in found.tokens),
        "spans": (list(token.span) for token in found.tokens),
        "steps": (
            {"pretoken": writer.pretoken(step), "span": list(step.pretoken.span), "first_token": step.first}
            for step in steps
        ),
        "boundaries": (
            {"token": each.token, "offset": each.offset, "cause": writer.cause(each.cause)}
            for each in boundaries
        ),
        "pretokens": writer.pretokens(),
        "causes": writer.causes(),
        "alternatives": writer.alternatives(),
        "pieces": writer.pieces,
    }


def symbol_fields(symbol: Symbol) -> dict[str, Any]:
    """Return a symbol as plain data: its id, null if it is not a token, and its bytes."""
    return {"id": symbol.id, **token_fields(symbol.data)}


def steps_fields(found: Explanation) -> dict[str, Any]:
    """Return the steps of an explanation as plain data, without the causes of boundaries."""
    fields = explanation_fields(found, steps=found.steps, boundaries=())
    named = ("algorithm", "normalized", "changes", "splitter", "steps", "pretokens", "alternatives", "pieces")
    return {
        name: list(fields[name]) if isinstance(fields[name], Iterator) else fields[name] for name in named
    }


class _Writer:
    """Tables of the values that are written once.

    Args:
        tokens: all tokens of the text.

    Attributes:
        pieces: id → token bytes and kind; complete once all pre-tokens have been consumed.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.pieces: dict[str, dict[str, Any]] = {
            str(token.id): {**token_fields(token.piece), "kind": token.kind.value}
            for token in {token.id: token for token in tokens}.values()
        }
        self._described: set[int] = set()
        self._pretokens: dict[Hashable, tuple[int, ExplainedStep]] = {}
        self._causes: dict[Cause, int] = {}
        self._alternatives: dict[Alternative, int] = {}

    def pretoken(self, step: ExplainedStep) -> int:
        """Return the number of a pre-token; an equal one with an equal trace shares its number."""
        key = step.key, step.pretoken.alternative
        return self._pretokens.setdefault(key, (len(self._pretokens), step))[0]

    def pretokens(self) -> Iterator[dict[str, Any]]:
        """Yield the numbered pre-tokens in the order of their numbers."""
        for _, step in self._pretokens.values():
            pretoken, trace = step.pretoken, step.trace
            yield {
                "text": pretoken.text,
                "added": pretoken.added,
                "alternative": None
                if pretoken.alternative is None
                else self._alternatives.setdefault(pretoken.alternative, len(self._alternatives)),
                "tokens": self._symbols(trace.tokens),
                "trace": self._trace(trace),
            }

    def cause(self, cause: Cause) -> int:
        """Return the number of a cause."""
        return self._causes.setdefault(cause, len(self._causes))

    def causes(self) -> Iterator[dict[str, Any]]:
        """Yield the numbered causes in the order of their numbers."""
        for cause in self._causes:
            yield {"cause": cause_name(cause), "why": cause_in_words(cause)}

    def alternatives(self) -> Iterator[dict[str, Any]]:
        """Yield the alternatives of the pattern that pre-tokens matched, in the order of their numbers."""
        for alternative in self._alternatives:
            yield {"number": alternative.number, "regex": alternative.regex, "meaning": alternative.meaning}

    def _symbol(self, symbol: Symbol) -> int | dict[str, Any]:
        """Return the id of a symbol, which `pieces` then describes; or the symbol itself if it has no id."""
        if symbol.id is None:
            return token_fields(symbol.data)
        if symbol.id not in self._described:
            self._described.add(symbol.id)
            self.pieces[str(symbol.id)] = token_fields(symbol.data)
        return symbol.id

    def _symbols(self, symbols: Iterable[Symbol]) -> list[int | dict[str, Any]]:
        return [self._symbol(symbol) for symbol in symbols]

    def _trace(self, trace: Trace) -> dict[str, Any]:
        match trace:
            case MergeTrace():
                return {
                    "kind": "merges",
                    "by": "score" if trace.by_score else "rank",
                    "whole": trace.whole,
                    "dropped": trace.dropped,
                    "symbols": self._symbols(trace.symbols),
                    "merges": [
                        {
                            "rank": step.rule.rank,
                            "left": self._symbol(step.rule.left),
                            "right": self._symbol(step.rule.right),
                            "merged": self._symbol(step.rule.merged),
                            "place": [step.start, step.middle, step.stop],
                        }
                        for step in trace.steps
                    ],
                }
            case LongestMatchTrace():
                return {
                    "kind": "longest_matches",
                    "too_long": trace.too_long,
                    "matches": [
                        {
                            "rest": step.rest,
                            "taken": None if step.taken is None else self._symbol(step.taken),
                            "shorter": self._symbols(step.shorter),
                            "missing": step.missing,
                        }
                        for step in trace.steps
                    ],
                }
            case LatticeTrace():
                return {
                    "kind": "lattice",
                    "edges": [self._edge(edge) for edge in trace.edges],
                    "paths": [
                        {
                            "edges": _numbers_of(path.edges, trace.edges),
                            "score": path.score,
                            "probability": path.probability,
                        }
                        for path in trace.paths
                    ],
                    "margin": trace.margin,
                    "boundaries": [round(probability, 9) for probability in trace.boundaries],
                }
            case LookupTrace():
                return {"kind": "lookup", "rule": trace.rule}

    def _edge(self, edge: Edge) -> dict[str, Any]:
        return {
            "start": edge.start,
            "stop": edge.stop,
            "piece": self._symbol(edge.piece),
            "score": edge.score,
        }


def _numbers_of(path: Sequence[Edge], edges: Sequence[Edge]) -> list[int]:
    """Return the numbers of a path's edges in the lattice."""
    numbers = {edge: number for number, edge in enumerate(edges)}
    return [numbers[edge] for edge in path]
