"""The vocabulary and merges of a BPE model in a `tokenizer.json`, as our kernel uses them.

It mirrors `BPE::merge_word` in models/bpe/model.rs of `tokenizers`, for words whose characters stand for bytes. With an
end-of-word suffix, the last byte of a word is a symbol of its own: here a mark follows that byte and merges with it
before anything else does. The library drops a byte without a token or makes it unknown; a text with such a byte is left
to the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, Any

from tokbench.formats.tokenizer_json import all_from_byte_level
from tokbench.opening.native_bpe import merge_ids, merge_pairs, repeats_a_merge
from tokbench.opening.tokenizer_json_tokens import NotNativeError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence, Set
    from pathlib import Path

END_MARK = b"\xff"
"""Marks the end of a pre-token if the model has an end-of-word suffix; kEndMark of the kernel."""


@dataclass(frozen=True, slots=True)
class KernelVocabulary:
    """Vocabulary, merges and flags of a BPE for the kernel.

    Attributes:
        tokens: the bytes of each id; empty if no text becomes the token by merging.
        merges: (left id, right id, merged id) in the order of their ranks.
        whole_tokens_first: whether a pre-token found in the vocabulary becomes that token without merging.
        marks_ends: whether pre-tokens end with `END_MARK`.
        missing_bytes: bytes without a token; the kernel must not get a text with one of them.
    """

    tokens: tuple[bytes, ...]
    merges: tuple[tuple[int, int, int], ...]
    whole_tokens_first: bool
    marks_ends: bool
    missing_bytes: frozenset[int]

    def __str__(self) -> str:
        """Describe in words how pre-tokens are encoded."""
        return "merges"


def kernel_vocabulary(
    model: Mapping[str, Any],
    *,
    specials: Collection[str],
    path: Path | str,
    hidden: Collection[str] = (),
) -> KernelVocabulary:
    """Return the vocabulary of a model for the kernel.

    Args:
        model: the model of a document whose merges have been checked against its vocabulary.
        specials: pieces that text must not become by merging.
        path: the document as error messages name it.
        hidden: special tokens whose text cannot remain in a text once it has been searched for special tokens.

    Raises:
        NotNativeError: its merging cannot be done on bytes.
    """
    if (model.get("type") or "BPE") != "BPE" or "merges" not in model:
        raise NotNativeError(
            f"the native kernel runs BPE, and this is {model.get('type') or 'something else'}"
        )
    if model.get("continuing_subword_prefix"):
        raise NotNativeError(
            f"its pieces have a continuing subword prefix {model['continuing_subword_prefix']!r}"
        )
    suffix = model.get("end_of_word_suffix") or ""
    whole_tokens_first = bool(model.get("ignore_merges"))
    if suffix and whole_tokens_first:
        raise NotNativeError("it looks up whole words, and its pieces have an end of word suffix")
    vocab = model["vocab"]
    pieces = {
        piece: data
        for piece, data in zip(vocab, _bytes_of(vocab, suffix=suffix), strict=True)
        if data is not None and piece not in specials
    }
    tokens = [b""] * (max(vocab.values()) + 1)
    for piece, data in pieces.items():
        tokens[vocab[piece]] = data
    merges = _merges(model, pieces, specials=specials, hidden=hidden, suffix=suffix, path=path)
    present = {data for data in pieces.values() if len(data) == 1}
    missing = {byte for byte in range(256) if bytes([byte]) not in present}
    if suffix:
        ends = {
            vocab[piece]: data for piece, data in pieces.items() if len(data) == 2 and data[1:] == END_MARK
        }
        missing |= set(range(256)) - {data[0] for data in ends.values()}
    # The kernel needs an id for every byte; no text produces the ids after the vocabulary's last one.
    fillers = [bytes([byte]) for byte in range(256) if bytes([byte]) not in present]
    if suffix:
        ids = {data: id for id, data in enumerate([*tokens, *fillers]) if len(data) == 1}
        merges = [*((ids[data[:1]], ids[END_MARK], id) for id, data in ends.items()), *merges]
        missing.discard(END_MARK[0])
    return KernelVocabulary(
        tokens=(*tokens, *fillers),
        merges=tuple(merges),
        whole_tokens_first=whole_tokens_first,
        marks_ends=bool(suffix),
        missing_bytes=frozenset(missing),
    )


def _bytes_of(pieces: Collection[str], *, suffix: str) -> list[bytes | None]:
    """Return the bytes of each piece, with the mark if it ends a word; None if no text becomes it."""
    stems = [piece.removesuffix(suffix) for piece in pieces]
    return [
        data + END_MARK if data and len(stem) < len(piece) else data or None
        for piece, stem, data in zip(pieces, stems, all_from_byte_level(stems), strict=True)
    ]


def _merges(
    model: Mapping[str, Any],
    pieces: Mapping[str, bytes],
    *,
    specials: Collection[str],
    hidden: Collection[str],
    suffix: str,
    path: Path | str,
) -> list[tuple[int, int, int]]:
    """Return the merges by ids, without those no text can reach; of a merge listed twice, the last rank counts."""
    vocab = model["vocab"]
    others = vocab.keys() - pieces.keys()
    if not suffix and (merges := _merges_as_listed(model, others=others, path=path)) is not None:
        return merges
    pairs = merge_pairs(model, path=path)
    ranked = {pair: rank for rank, pair in enumerate(pairs)}
    if len(ranked) < len(pairs):
        pairs = sorted(ranked, key=ranked.__getitem__)
    if not _all_join(pairs, pieces, others=others, suffix=suffix):
        pairs = list(_reachable(pairs, pieces, specials=specials, hidden=hidden, suffix=suffix))
    id_of = vocab.__getitem__
    lefts, rights = ([pair[side] for pair in pairs] for side in (0, 1))
    return list(zip(map(id_of, lefts), map(id_of, rights), map(id_of, map(add, lefts, rights)), strict=True))


def _merges_as_listed(
    model: Mapping[str, Any], *, others: Set[str], path: Path | str
) -> list[tuple[int, int, int]] | None:
    """Return the merges by ids if each is listed once, and none of the others has a part in one; else None.

    Fast, as this is the usual case.
    """
    import numpy as np

    ids = merge_ids(model, path=path)
    if repeats_a_merge(ids) or np.isin(ids, [model["vocab"][piece] for piece in others]).any():
        return None
    return list(zip(*ids.T.tolist(), strict=True))


def _all_join(
    pairs: Sequence[tuple[str, str]], pieces: Mapping[str, bytes], *, others: Set[str], suffix: str
) -> bool:
    """Whether every merge joins the bytes of two pieces to a third one's, and none of the others has a part in one."""
    if not (others.isdisjoint(chain.from_iterable(pairs)) and others.isdisjoint(map("".join, pairs))):
        return False
    return not suffix or all(
        pieces[left + right] == pieces[left] + pieces[right] and not left.endswith(suffix)
        for left, right in pairs
    )


def _reachable(
    pairs: Sequence[tuple[str, str]],
    pieces: Mapping[str, bytes],
    *,
    specials: Collection[str],
    hidden: Collection[str],
    suffix: str,
) -> Iterator[tuple[str, str]]:
    """Yield the merges that some text can reach."""
    for left, right in pairs:
        whole = left + right
        if taken := {left, right, whole}.intersection(specials):
            if taken.issubset(hidden):
                continue
            raise NotNativeError(
                f"its merge of {left!r} and {right!r} has a special token as a part or as its result"
            )
        if left not in pieces or right not in pieces:
            continue
        if suffix and (left.endswith(suffix) or pieces.get(whole) != pieces[left] + pieces[right]):
            raise NotNativeError(
                f"its merge of {left!r} and {right!r} crosses the end of a word, or changes the bytes of its parts"
            )
        yield left, right
