"""WordPiece match by match: the longest piece that matches the beginning of the rest of a word is taken repeatedly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.explain.causes import ByDefinition, NoLongerPiece, Symbol
from tokbench.explain.derivation import LongestMatch, LongestMatchTrace

if TYPE_CHECKING:
    from collections.abc import Mapping


def trace_longest_matches(
    word: str, vocab: Mapping[str, int], *, prefix: str, unknown: str, most_characters: int
) -> LongestMatchTrace:
    """Trace the longest matches of WordPiece in a word.

    Args:
        word: a normalized word.
        vocab: piece → id.
        prefix: prefix of pieces inside a word, such as "##".
        unknown: the token for a word in which some part has no match.
        most_characters: maximum number of characters of a word; longer words are unknown.

    >>> vocab = {"[UNK]": 0, "un": 1, "u": 2, "##a": 3, "##ff": 4}
    >>> trace = trace_longest_matches("unaff", vocab, prefix="##", unknown="[UNK]", most_characters=100)
    >>> [symbol.data for symbol in trace.tokens], trace.causes[0].missing
    ([b'un', b'##a', b'##ff'], 'una')
    """
    whole = (Symbol(vocab.get(unknown), unknown.encode()),)
    if len(word) > most_characters:
        return LongestMatchTrace((), whole, (), too_long=most_characters)
    steps: list[LongestMatch] = []
    start = 0
    while start < len(word):
        step, size = _longest_match(word[start:], vocab, prefix=prefix if start else "")
        steps.append(step)
        if step.taken is None:
            return LongestMatchTrace(tuple(steps), whole, ())
        start += size
    taken = [step.taken for step in steps if step.taken is not None]
    causes = tuple(
        NoLongerPiece(step.taken, step.missing)
        if step.taken is not None and step.missing is not None
        else ByDefinition("a new word begins")
        for step in steps[:-1]
    )
    return LongestMatchTrace(tuple(steps), tuple(taken), causes)


def _longest_match(rest: str, vocab: Mapping[str, int], *, prefix: str) -> tuple[LongestMatch, int]:
    """Return the longest match at the beginning of the rest of a word, and its length in characters."""
    sizes = [size for size in range(len(rest), 0, -1) if prefix + rest[:size] in vocab]
    found = [Symbol(vocab[prefix + rest[:size]], (prefix + rest[:size]).encode()) for size in sizes]
    size = sizes[0] if sizes else 0
    missing = prefix + rest[: size + 1] if size < len(rest) else None
    taken, shorter = (found[0], tuple(found[1:])) if found else (None, ())
    return LongestMatch(rest, taken, shorter, missing), size
