"""The training data and the result of a BPE, and a replay of its merges on the words with the counts of all pairs.

Words are pre-tokens as symbols with counts; merges are in learned order. A training step merges the pair with the
highest count. Counts are updated incrementally: a merge changes only those of the words that contain it. A heap yields
the highest count: a pair whose count rises is pushed again, and a count that has fallen is corrected when its pair
reaches the top.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tokbench.core.normal_forms import nfc
from tokbench.formats.merges import last_pair
from tokbench.formats.sentencepiece.model import ModelType
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.lint.reachability.steps import DocumentSteps
from tokbench.lint.rules import DoesNotApplyError
from tokbench.opening.native_bpe import merge_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.core.interfaces import Tokenizer
    from tokbench.lint.target import LintTarget

Word = tuple[int, ...]
"""A pre-token as the ids of its symbols."""


@runtime_checkable
class _Pretokenizes(Protocol):
    def pretokens(self, text: str) -> list[str]: ...


@runtime_checkable
class _TellsConfig(Protocol):
    config: Mapping[str, Any]


_OTHER_TRAININGS = {
    "superwords": "it learned superwords: its last merges come from text that was split differently than for the first",
    "parity": "it was trained for the parity of languages: a merge is the best of one language, not of all text",
}
"""Training option with which merges are not the best of the whole text → its explanation."""


@dataclass(frozen=True, slots=True)
class TrainedBpe:
    """A BPE from the perspective of its trainer.

    Attributes:
        merges: (left id, right id, merged id) in the order in which they were learned.
        spellings: id → bytes or piece.
        pretokens: yields the pre-tokens of texts.
        word: returns the symbols of a pre-token.
    """

    merges: Sequence[tuple[int, int, int]]
    spellings: Mapping[int, bytes | str]
    pretokens: Callable[[Iterable[str]], Iterator[str]]
    word: Callable[[str], Word]

    @property
    def sizes(self) -> dict[int, int]:
        """Id → length of the token, in bytes or characters."""
        return {id: len(spelling) for id, spelling in self.spellings.items()}

    @property
    def longest(self) -> int:
        """Length of the longest token, which training may have limited."""
        return max(self.sizes.values())

    def words(self, counted: Mapping[str, int]) -> Counter[Word]:
        """Convert counted pre-tokens to words."""
        words: Counter[Word] = Counter()
        for pretoken, count in counted.items():
            words[self.word(pretoken)] += count
        return words


def trained_bpe(target: LintTarget) -> TrainedBpe:
    """Return the BPE of a target.

    Raises:
        DoesNotApplyError: it is not a BPE, or its files do not define the pre-tokens that it was trained on.
    """
    _refuse_others(target)
    if target.bpe is not None:
        return _byte_level(target.bpe, target.tokenizer)
    assert target.document is not None
    steps = DocumentSteps(target.document)
    if not steps.pre_tokenizers:
        raise DoesNotApplyError("its file does not define the pre-tokens that it was trained on")
    return _of_document(target.document["model"], steps)


def _refuse_others(target: LintTarget) -> None:
    """Raise `DoesNotApplyError`, before anything is counted, unless the target is a BPE that can be replayed."""
    config = target.tokenizer.config if isinstance(target.tokenizer, _TellsConfig) else {}
    for option, why in _OTHER_TRAININGS.items():
        if config.get(option) is not None:
            raise DoesNotApplyError(why)
    if target.bpe is not None:
        return
    if target.sentencepiece is not None and target.sentencepiece.model_type is ModelType.BPE:
        # bpe_model_trainer.cc up to 0.2.1 considers only the most frequent twentieth of the pairs, selected every 100
        # merges. No file says which version trained it.
        raise DoesNotApplyError(
            "up to version 0.2.1, SentencePiece's trainer considers a part of the pairs, chosen again every 100 "
            "merges, so a merge need not be the best one"
        )
    if target.document is None or "merges" not in target.document["model"]:
        raise DoesNotApplyError("it is not a BPE with a list of merges")


def training_words(target: LintTarget) -> Counter[Word]:
    """Return the words of a target's word counts or, without these, of its corpus.

    Raises:
        DoesNotApplyError: there is neither; see also `trained_bpe`.
    """
    _refuse_others(target)
    if target.corpus is None and target.word_counts is None:
        raise DoesNotApplyError("it needs the training corpus, or --word-counts")
    bpe = target.derived(trained_bpe)
    counted = target.word_counts
    return bpe.words(Counter(bpe.pretokens(target.corpus or ())) if counted is None else counted)


def _byte_level(bpe: ByteLevelBpe, tokenizer: Tokenizer) -> TrainedBpe:
    spellings = {id: token for id, token in enumerate(bpe.tokens) if token is not None}
    bytes_of = {token[0]: id for id, token in spellings.items() if len(token) == 1}

    def pretokens(texts: Iterable[str]) -> Iterator[str]:
        if not isinstance(tokenizer, _Pretokenizes):
            yield from _matches(bpe, texts)
            return
        for text in texts:
            yield from tokenizer.pretokens(text)

    def word(pretoken: str) -> Word:
        return tuple(bytes_of[byte] for byte in pretoken.encode())

    return TrainedBpe(learned_merges(bpe), spellings, pretokens, word)


def _of_document(model: Mapping[str, Any], steps: DocumentSteps) -> TrainedBpe:
    vocab, suffix = model["vocab"], model.get("end_of_word_suffix") or ""
    if model.get("continuing_subword_prefix"):
        raise DoesNotApplyError("its pieces inside words have a prefix")

    def pretokens(texts: Iterable[str]) -> Iterator[str]:
        for text in texts:
            yield from steps.pretokens(text)

    def word(pretoken: str) -> Word:
        symbols = [*pretoken[:-1], pretoken[-1:] + suffix]
        return tuple(vocab[symbol] for symbol in symbols if symbol in vocab)  # trainers drop the others

    merges = [(vocab[left], vocab[right], vocab[left + right]) for left, right in merge_pairs(model, path="")]
    return TrainedBpe(merges, {id: piece for piece, id in vocab.items()}, pretokens, word)


def _matches(bpe: ByteLevelBpe, texts: Iterable[str]) -> Iterator[str]:
    """Yield pre-tokens by the `regex` package, for a tokenizer that runs on a library."""
    import regex

    from tokbench.formats.set_operations import without_set_operations

    pattern = None if bpe.pattern is None else regex.compile(without_set_operations(bpe.pattern))
    for text in texts:
        prepared = text if bpe.normalization is None else nfc(text)
        if pattern is None:
            yield prepared
        else:
            yield from (match.group() for match in pattern.finditer(prepared))


def merges_of(target: LintTarget) -> list[tuple[int, int, int]]:
    """Return the merges of any BPE as (left id, right id, merged id), ordered by rank or score.

    Raises:
        DoesNotApplyError: it is not a BPE.
    """
    if target.bpe is not None:
        return learned_merges(target.bpe)
    file = target.sentencepiece
    if file is not None and file.model_type is ModelType.BPE:
        merged = (PieceType.NORMAL, PieceType.UNUSED)
        ids = {piece.text: id for id, piece in enumerate(file.pieces) if piece.type in merged}
        ranks = {text: -file.pieces[id].score for text, id in ids.items()}
        pairs = {text: last_pair(text, ranks) for text in sorted(ids, key=ranks.__getitem__) if len(text) > 1}
        return [
            (ids[pair[0]], ids[pair[1]], ids[text])
            for text, pair in pairs.items()
            if pair is not None and pair[0] in ids and pair[1] in ids
        ]
    model = {} if target.document is None else target.document["model"]
    if "merges" not in model or model.get("continuing_subword_prefix"):
        raise DoesNotApplyError("only BPE has intermediate tokens")
    vocab = model["vocab"]
    listed = merge_pairs(model, path=target.opened.source.path)
    return [(vocab[left], vocab[right], vocab[left + right]) for left, right in listed]


def learned_merges(bpe: ByteLevelBpe) -> list[tuple[int, int, int]]:
    """Return the merges as (left id, right id, merged id), in the order in which they were learned.

    If only ranks are known, a token's merge is the last step of merging its own bytes; a token that merging does not
    produce was not learned by a merge, and is skipped.
    """
    if bpe.merges is not None:
        return list(bpe.merges)
    from tokbench.lint.reachability.merging import merge_trail, rules_from_ranks

    ids = {token: id for id, token in enumerate(bpe.tokens) if token is not None}
    rules = rules_from_ranks(
        dict(ids), lambda token: [token[place : place + 1] for place in range(len(token))]
    )
    found: list[tuple[int, int, int]] = []
    for token, id in ids.items():
        if len(token) > 1 and all(bytes([byte]) in ids for byte in token):
            parts, steps = merge_trail(rules, rules.symbols(token) or ())
            if parts == [token]:
                found.append((ids[steps[-1].left], ids[steps[-1].right], id))
    return sorted(found, key=lambda merge: merge[2])


Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Turn:
    """One merge at its turn.

    Attributes:
        rank: rank of the merge.
        merge: (left id, right id, merged id).
        count: number of occurrences of its pair.
        best: the most frequent pair, except pairs that an earlier turn skipped; None if there is none.
        best_count: number of occurrences of the best pair.
    """

    rank: int
    merge: tuple[int, int, int]
    count: int
    best: Pair | None
    best_count: int

    @property
    def is_best(self) -> bool:
        """Whether the pair occurred, and no other pair was more frequent."""
        return self.count > 0 and self.count >= self.best_count


def replay(
    words: Mapping[Word, int],
    merges: Sequence[tuple[int, int, int]],
    *,
    sizes: Mapping[int, int],
    longest: int | None = None,
) -> Iterator[Turn]:
    """Yield each merge at its turn; a merge is applied when the next one is requested.

    A pair that should have been merged but was not is blamed on one merge only: it is then excluded until it is merged.
    So a moved merge is a single fault, instead of one for every later merge.

    Args:
        words: pre-token as symbol ids → count.
        merges: the merges in the order in which they were learned.
        sizes: id → length of the token.
        longest: maximum length of a token that a candidate pair may form; None for no limit.

    >>> [turn.best_count for turn in replay({(97, 97, 98): 2}, [(97, 97, 256), (256, 98, 257)], sizes={})]
    [2, 2]
    """
    state = _State(words, sizes=sizes, longest=longest)
    for rank, merge in enumerate(merges):
        count = state.counts.get(merge[:2], 0)
        best, best_count = state.best()
        turn = Turn(rank, merge, count, best, best_count)
        yield turn
        if best is not None and not turn.is_best:
            state.passed_over.add(best)
        state.apply(*merge)


class _State:
    """The partially merged words, and the counts of their pairs."""

    def __init__(self, words: Mapping[Word, int], *, sizes: Mapping[int, int], longest: int | None) -> None:
        self._words = [list(word) for word in words if len(word) > 1]
        self._word_counts = [count for word, count in words.items() if len(word) > 1]
        self._sizes = dict(sizes)
        self._longest = longest
        self.passed_over: set[Pair] = set()
        self.counts: dict[Pair, int] = {}
        self._places: dict[Pair, set[int]] = {}
        for number, word in enumerate(self._words):
            times = self._word_counts[number]
            for pair in pairwise(word):
                self.counts[pair] = self.counts.get(pair, 0) + times
                self._places.setdefault(pair, set()).add(number)
        self._heap = [(-count, pair) for pair, count in self.counts.items() if self._may_merge(pair)]
        heapq.heapify(self._heap)

    def best(self) -> tuple[Pair | None, int]:
        """Return the pair with the highest count, ties broken by the smallest pair, and its count."""
        heap = self._heap
        while heap:
            count, pair = heap[0]
            now = 0 if pair in self.passed_over else self.counts.get(pair, 0)
            if now == -count:
                return pair, now
            if now and now < -count:
                heapq.heapreplace(heap, (-now, pair))
            else:
                heapq.heappop(heap)
        return None, 0

    def apply(self, left: int, right: int, made: int) -> None:
        """Merge all occurrences of a pair, from left to right."""
        pair = (left, right)
        self.passed_over.discard(pair)
        self._sizes[made] = self._sizes.get(left, 1) + self._sizes.get(right, 1)
        changes: dict[Pair, int] = {}
        for number in self._places.pop(pair, ()):
            self._merge_in_word(number, left, right, made, changes)
        for changed, change in changes.items():
            if change:
                self._change(changed, change)

    def _merge_in_word(self, number: int, left: int, right: int, made: int, changes: dict[Pair, int]) -> None:
        """Merge a pair in one word, which may not contain it any more, and add the changes of counts to `changes`."""
        word, times, places = self._words[number], self._word_counts[number], self._places
        place = -1
        while left in word[place + 1 :]:
            place = word.index(left, place + 1)
            if place + 1 == len(word) or word[place + 1] != right:
                continue
            lost, gained = [(left, right)], []
            if place:
                lost.append((word[place - 1], left))
                gained.append((word[place - 1], made))
            if place + 2 < len(word):
                lost.append((right, word[place + 2]))
                gained.append((made, word[place + 2]))
            for old in lost:
                changes[old] = changes.get(old, 0) - times
            for new in gained:
                changes[new] = changes.get(new, 0) + times
                places.setdefault(new, set()).add(number)
            word[place : place + 2] = [made]

    def _change(self, pair: Pair, change: int) -> None:
        count = self.counts.get(pair, 0) + change
        if count:
            self.counts[pair] = count
        else:
            self.counts.pop(pair, None)
        if change > 0 and self._may_merge(pair):
            heapq.heappush(self._heap, (-count, pair))

    def _may_merge(self, pair: Pair) -> bool:
        if self._longest is None:
            return True
        return self._sizes.get(pair[0], 1) + self._sizes.get(pair[1], 1) <= self._longest
