"""The words that a BPE is trained on: the pre-tokens of a corpus as symbols, with their counts."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tokbench.lint.rules import DoesNotApplyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.lint.target import LintTarget

Word = tuple[int, ...]
"""A pre-token as the ids of its bytes."""


@runtime_checkable
class _Pretokenizes(Protocol):
    def pretokens(self, text: str) -> list[str]: ...


def training_words(target: LintTarget) -> Counter[Word]:
    """The words of a target's word counts, or else of its corpus.

    Raises:
        DoesNotApplyError: there is neither; or it is no byte-level BPE, so that its pre-tokens are not known.
    """
    if target.corpus is None and target.word_counts is None:
        raise DoesNotApplyError("it needs the training corpus, or --word-counts")
    bpe = target.bpe
    if bpe is None:
        raise DoesNotApplyError("it is no byte-level BPE with a known pattern")
    counted = target.word_counts
    if counted is None:
        counted = Counter(_pretokens(target, bpe, target.corpus or ()))
    ids = {token: id for id, token in enumerate(bpe.tokens) if token is not None and len(token) == 1}
    words: Counter[Word] = Counter()
    for pretoken, count in counted.items():
        try:
            words[tuple(ids[bytes([byte])] for byte in pretoken.encode())] += count
        except KeyError:
            raise DoesNotApplyError("not every byte has a token") from None
    return words


def _pretokens(target: LintTarget, bpe: ByteLevelBpe, texts: Iterable[str]) -> Iterator[str]:
    tokenizer = target.tokenizer
    if isinstance(tokenizer, _Pretokenizes):
        for text in texts:
            yield from tokenizer.pretokens(text)
        return
    yield from _matches(bpe, texts)


def _matches(bpe: ByteLevelBpe, texts: Iterable[str]) -> Iterator[str]:
    """The same by the `regex` package, for a tokenizer that runs on a library."""
    import regex

    from tokbench.formats.set_operations import without_set_operations

    pattern = None if bpe.pattern is None else regex.compile(without_set_operations(bpe.pattern))
    for text in texts:
        prepared = text if bpe.normalization is None else unicodedata.normalize("NFC", text)
        if pattern is None:
            yield prepared
        else:
            yield from (match.group() for match in pattern.finditer(prepared))


def learned_merges(bpe: ByteLevelBpe) -> list[tuple[int, int, int]]:
    """The merges in the order in which they were learned: (left id, right id, made id).

    Where only ranks are known, a token's merge is the last one when it is merged by the tokens before it; one that
    these do not bring to two parts was not made by a merge, and is left out.
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


def longest_token(bpe: ByteLevelBpe) -> int:
    """The bytes of the longest token: a training may have been told to make none that is longer."""
    return max(len(token) for token in bpe.tokens if token is not None)


def sizes(bpe: ByteLevelBpe) -> Mapping[int, int]:
    """How many bytes each token has."""
    return {id: len(token) for id, token in enumerate(bpe.tokens) if token is not None}
