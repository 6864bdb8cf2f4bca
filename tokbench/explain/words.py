"""The reason why a word is one token or not, in a sentence, and a change of the vocabulary that would make it one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from tokbench.core.tokens import TokenKind
from tokbench.core.wording import counted, quoted
from tokbench.explain.derivation import LatticeTrace, LongestMatchTrace, LookupTrace, MergeTrace
from tokbench.explain.sentences import cause_in_words, listed, rank_of, tokens_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.explain.causes import Symbol
    from tokbench.explain.derivation import ExplainedStep, Explanation

_MOST_LISTED = 3
_MERGES_LISTED = 4


@dataclass(frozen=True, slots=True)
class WordAnswer:
    """The answer to why a word is one token or not.

    Attributes:
        word: the word.
        tokens: its tokens.
        sentence: the reason.
        change: the change that would make it one token; None if it is one, or if no change of the vocabulary would.
        merges: the merges, (left, right) in order, that would make it one token if appended to the list of merges.
        piece: the piece that would make it one token if added, or given a higher score.
        score: the score that the piece would have to exceed.
    """

    word: str
    tokens: tuple[Symbol, ...]
    sentence: str
    change: str | None = None
    merges: tuple[tuple[bytes, bytes], ...] = ()
    piece: str | None = None
    score: float | None = None


def why_word(explanation: Explanation) -> WordAnswer:
    """Explain why the text of an explanation is one token or not."""
    word = explanation.text
    steps = [step for step in explanation.steps if step.trace.tokens]
    tokens = tuple(symbol for step in steps for symbol in step.trace.tokens)
    if not tokens:
        return WordAnswer(word, tokens, f"{quoted(word)} has no tokens.")
    if len(steps) > 1:
        first = explanation.boundaries[steps[1].first - 1]
        return WordAnswer(
            word,
            tokens,
            f"{_statement(word, tokens)}: {cause_in_words(first.cause)}. No change to the vocabulary makes it one; "
            "a different pattern or an added token does.",
        )
    [step] = steps
    if len(tokens) == 1 and explanation.tokens[0].kind is TokenKind.UNKNOWN:
        return _unknown(word, tokens, step)
    if len(tokens) == 1:
        return WordAnswer(word, tokens, f"{_statement(word, tokens)}: {_why_one(step)}.")
    return _several(word, tokens, step, explanation=explanation)


def _unknown(word: str, tokens: tuple[Symbol, ...], step: ExplainedStep) -> WordAnswer:
    [token] = tokens
    unknown = f"the unknown token {quoted(token.data)}, id {token.id}"
    sentence = f"{quoted(word)} is not in the vocabulary: it becomes {unknown}"
    piece = step.pretoken.text
    change = f"the piece {quoted(piece)} in the vocabulary"
    return WordAnswer(word, tokens, f"{sentence}: {_why_one(step)}.", change, piece=piece)


def _statement(word: str, tokens: Sequence[Symbol]) -> str:
    if len(tokens) == 1:
        return f"{quoted(word)} is one token, id {tokens[0].id}"
    return f"{quoted(word)} is {tokens_in_words(len(tokens))}, {listed(tokens)}"


def _why_one(step: ExplainedStep) -> str:
    match step.trace:
        case MergeTrace() as trace:
            return _why_merged(trace)
        case LongestMatchTrace() as trace:
            return _why_matched(trace)
        case LatticeTrace(paths=paths, margin=margin):
            if margin is None:
                return "there is no other way to cut it"
            second = listed([edge.piece for edge in paths[1].edges])
            return f"it scores {paths[0].score:.2f}, and the second best, {second}, {margin:.2f} less"
        case LookupTrace(rule=rule):
            return rule


def _why_merged(trace: MergeTrace) -> str:
    if trace.whole:
        return "the whole pre-token is in the vocabulary, and is taken without any merge"
    if not trace.steps:
        return "there is nothing to merge"
    rule = trace.steps[-1].rule
    made = counted(len(trace.steps), "merge")
    return f"{made} made it, the last of {quoted(rule.left.data)} and {quoted(rule.right.data)} ({rank_of(rule)})"


def _why_matched(trace: LongestMatchTrace) -> str:
    if trace.too_long is not None:
        return f"a word of more than {trace.too_long} characters is unknown as a whole"
    if trace.steps[-1].taken is None:
        return f"it is unknown as a whole, as no piece begins {quoted(trace.steps[-1].rest)}"
    return "the whole word is in the vocabulary"


def _several(
    word: str, tokens: tuple[Symbol, ...], step: ExplainedStep, *, explanation: Explanation
) -> WordAnswer:
    trace = step.trace
    causes = list(dict.fromkeys(map(cause_in_words, trace.causes)))
    more = f"; and {len(causes) - _MOST_LISTED:,} more" if len(causes) > _MOST_LISTED else ""
    sentence = f"{_statement(word, tokens)}: {'; '.join(causes[:_MOST_LISTED])}{more}."
    match trace:
        case MergeTrace():
            parts, missing = _mergeable(trace, explanation)
            merges = merges_to_one(parts)
            said = ", then ".join(
                f"{quoted(left)} + {quoted(right)}" for left, right in merges[:_MERGES_LISTED]
            )
            rest = f" and {len(merges) - _MERGES_LISTED:,} more" if len(merges) > _MERGES_LISTED else ""
            changes = [f"{' and '.join(map(quoted, missing))} in the vocabulary"] * bool(missing)
            if merges:
                changes.append(f"{counted(len(merges), 'more merge')} at the end of the list: {said}{rest}")
            return WordAnswer(word, tokens, sentence, ", and ".join(changes), merges=merges)
        case LongestMatchTrace():
            piece = step.pretoken.text
            change = f"the piece {quoted(piece)} in the vocabulary"
            return WordAnswer(word, tokens, sentence, change, piece=piece)
        case LatticeTrace(text=text, edges=edges, paths=paths):
            whole = (
                edge for edge in edges if edge.stop - edge.start == len(text) and edge.piece.id is not None
            )
            best, own = paths[0].score, next(whole, None)
            had = ", a new piece" if own is None else f", which has {own.score:.2f}"
            change = f"a score above {best:.2f} for {quoted(text)}{had}"
            return WordAnswer(word, tokens, sentence, change, piece=text, score=best)
        case LookupTrace():
            return WordAnswer(word, tokens, f"{sentence[:-1]}. No change to the vocabulary makes it one.")


def _mergeable(trace: MergeTrace, explanation: Explanation) -> tuple[list[bytes], list[str]]:
    """Return the tokens that merges can join, and the characters among them that must become tokens first.

    Byte tokens stand for a character that is not in the vocabulary, as an unknown token does, and do not merge.
    """
    data = explanation.text.encode()
    parts: list[bytes] = []
    missing: list[str] = []
    both = zip(trace.tokens, explanation.tokens, strict=True)
    for kind, run in groupby(both, key=lambda each: each[1].kind):
        if kind not in (TokenKind.BYTE, TokenKind.UNKNOWN):
            parts += [symbol.data for symbol, _ in run]
            continue
        characters = b"".join(
            token.piece if kind is TokenKind.BYTE else data[token.span.start : token.span.stop]
            for _, token in run
        ).decode(errors="replace")
        parts += [character.encode() for character in characters]
        missing += characters
    return parts, list(dict.fromkeys(missing))


def merges_to_one(tokens: Sequence[bytes]) -> tuple[tuple[bytes, bytes], ...]:
    """Return merges that join tokens into one: each time of the most frequent pair, ties from the left.

    >>> merges_to_one([b"a", b"b", b"a", b"b"])
    ((b'a', b'b'), (b'ab', b'ab'))
    """
    state = list(tokens)
    merges: list[tuple[bytes, bytes]] = []
    while len(state) > 1:
        counts = Counter(pairwise(state))
        pair = max(counts, key=lambda candidate: counts[candidate])
        merges.append(pair)
        merged: list[bytes] = []
        place = 0
        while place < len(state):
            is_pair = tuple(state[place : place + 2]) == pair
            merged.append(b"".join(pair) if is_pair else state[place])
            place += 2 if is_pair else 1
        state = merged
    return tuple(merges)
