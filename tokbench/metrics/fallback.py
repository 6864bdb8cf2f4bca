"""The counting kernel in Python, for installations without the compiled one: `reference.py`, added up by group."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.core.tokens import Span, TokenKind
from tokbench.metrics import edit_table, reference
from tokbench.metrics.metric import COUNTS, LONGEST_NUMBER
from tokbench.metrics.text_runs import NUM_CODE_POINTS, CharacterClass

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray


edit_steps = edit_table.edit_steps


class _Occurrences(NamedTuple):
    """The number of occurrences of a word, and the fewest and the most tokens of one."""

    occurrences: int
    fewest: int
    most: int

    def merged_with(self, other: _Occurrences) -> _Occurrences:
        return _Occurrences(
            self.occurrences + other.occurrences,
            min(self.fewest, other.fewest),
            max(self.most, other.most),
        )


def count_ids(ids: NDArray[np.uint32], counts: NDArray[np.int64]) -> None:
    """Add to `counts[id]` the number of occurrences of each id; see `tokbench.metrics.kernel.Kernel`."""
    _check_array("ids", ids, np.uint32)
    _check_array("counts", counts, np.int64)
    if (ids >= len(counts)).any():
        raise ValueError("an id has no count")
    distinct, occurrences = np.unique(ids, return_counts=True)
    counts[distinct] += occurrences


class Tables:
    """The lookup tables of counting; see `tokbench.metrics.kernel.Kernel`."""

    def __init__(self, classes: NDArray[np.uint8], pieces: bytes, piece_offsets: NDArray[np.int64]) -> None:
        _check_array("classes", classes, np.uint8, NUM_CODE_POINTS)
        if classes.max() > max(CharacterClass):
            raise ValueError("a character's class is out of range")
        if not isinstance(pieces, bytes):
            raise TypeError("the pieces are not bytes")
        _check_array("piece_offsets", piece_offsets, np.int64)
        if not len(piece_offsets):
            raise ValueError("there must be one offset more than ids")
        _check_offsets(piece_offsets, size=len(pieces))
        self.classes = classes.tobytes()
        self.pieces = [pieces[start:stop] for start, stop in pairwise(piece_offsets.tolist())]


class Measurer:
    """Counts documents as they arrive; see `tokbench.metrics.kernel.Measurer`."""

    def __init__(self, tables: Tables, num_groups: int) -> None:
        if num_groups < 0:
            raise ValueError("the number of groups is negative")
        self._tables = tables
        self._totals = np.zeros((num_groups, len(COUNTS)), dtype=np.int64)
        self._numbers = np.zeros((num_groups, LONGEST_NUMBER + 1, 2), dtype=np.int64)
        self._words: list[dict[bytes, _Occurrences]] = [{} for _ in range(num_groups)]

    def add(
        self,
        *,
        text: bytes,
        text_offsets: NDArray[np.int64],
        token_offsets: NDArray[np.int64],
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        kinds: NDArray[np.uint8],
        groups: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        self._check_documents(text, text_offsets, token_offsets, groups)
        num_tokens = int(token_offsets[-1])
        _check_array("starts", starts, np.int64, num_tokens)
        _check_array("stops", stops, np.int64, num_tokens)
        _check_array("kinds", kinds, np.uint8, num_tokens)
        if (kinds >= len(TokenKind)).any():
            raise ValueError("a token's kind is out of range")
        for (first, last), (start, stop) in zip(pairwise(token_offsets), pairwise(text_offsets), strict=True):
            _check_spans(starts[first:last], stops[first:last], size=stop - start)
        return np.array(
            [
                self._add_document(
                    text[start:stop],
                    list(map(Span, starts[first:last].tolist(), stops[first:last].tolist())),
                    kinds[first:last].tolist(),
                    group,
                )
                for (start, stop), (first, last), group in zip(
                    pairwise(text_offsets.tolist()),
                    pairwise(token_offsets.tolist()),
                    groups.tolist(),
                    strict=True,
                )
            ],
            dtype=np.int64,
        ).reshape(-1, len(COUNTS))

    def add_tiled(
        self,
        *,
        text: bytes,
        text_offsets: NDArray[np.int64],
        token_offsets: NDArray[np.int64],
        ids: NDArray[np.uint32],
        groups: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        self._check_documents(text, text_offsets, token_offsets, groups)
        _check_array("ids", ids, np.uint32, int(token_offsets[-1]))
        pieces = self._tables.pieces
        if (ids >= len(pieces)).any():
            raise ValueError("an id has no bytes")
        tokens = [pieces[id] for id in ids.tolist()]
        for (first, last), (start, stop) in zip(
            pairwise(token_offsets.tolist()), pairwise(text_offsets.tolist()), strict=True
        ):
            if b"".join(tokens[first:last]) != text[start:stop]:
                raise ValueError("the tokens are not the text")
        ends = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
        begins = np.repeat(text_offsets[:-1], np.diff(token_offsets))
        return self.add(
            text=text,
            text_offsets=text_offsets,
            token_offsets=token_offsets,
            starts=ends[:-1] - begins,
            stops=ends[1:] - begins,
            kinds=np.zeros(len(ids), dtype=np.uint8),
            groups=groups,
        )

    def add_texts(
        self,
        *,
        texts: tuple[str, ...],
        token_offsets: NDArray[np.int64],
        ids: NDArray[np.uint32],
        groups: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("a text is not a string")
        data = [text.encode() for text in texts]
        return self.add_tiled(
            text=b"".join(data),
            text_offsets=np.cumsum([0, *map(len, data)], dtype=np.int64),
            token_offsets=token_offsets,
            ids=ids,
            groups=groups,
        )

    def join(self, other: Measurer) -> None:
        if other is self:
            raise ValueError("a measurer cannot be joined with itself")
        if len(other._words) != len(self._words):
            raise ValueError("the measurers have different numbers of groups")
        self._totals += other._totals
        self._numbers += other._numbers
        for words, others in zip(self._words, other._words, strict=True):
            for word, seen in others.items():
                words[word] = words[word].merged_with(seen) if word in words else seen

    def totals(self) -> NDArray[np.int64]:
        return self._totals.copy()

    def numbers_by_length(self) -> NDArray[np.int64]:
        return self._numbers.copy()

    def word_types(self) -> NDArray[np.int64]:
        types = [(len(words), sum(w.fewest == w.most == 1 for w in words.values())) for words in self._words]
        return np.array(types, dtype=np.int64).reshape(-1, 2)

    def words(
        self, group: int
    ) -> tuple[
        NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]
    ]:
        self._check_group(group)
        items = sorted(self._words[group].items())
        seen = np.array([stats for _, stats in items], dtype=np.int64).reshape(-1, 3)
        return (
            np.frombuffer(b"".join(word for word, _ in items), dtype=np.uint8),
            np.cumsum([0, *(len(word) for word, _ in items)], dtype=np.int64),
            seen[:, 0].copy(),
            seen[:, 1].astype(np.uint32),
            seen[:, 2].astype(np.uint32),
        )

    def add_words(
        self,
        group: int,
        *,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        occurrences: NDArray[np.int64],
        fewest: NDArray[np.uint32],
        most: NDArray[np.uint32],
    ) -> None:
        self._check_group(group)
        _check_array("data", data, np.uint8)
        _check_array("offsets", offsets, np.int64, len(occurrences) + 1)
        _check_array("occurrences", occurrences, np.int64)
        _check_array("fewest", fewest, np.uint32, len(occurrences))
        _check_array("most", most, np.uint32, len(occurrences))
        _check_offsets(offsets, size=len(data))
        if (np.diff(offsets) == 0).any():
            raise ValueError("a word is empty")
        if (occurrences <= 0).any() or (fewest > most).any():
            raise ValueError("the counts of a word are inconsistent")
        text, words = data.tobytes(), self._words[group]
        seen = map(_Occurrences, occurrences.tolist(), fewest.tolist(), most.tolist())
        for (start, stop), stats in zip(pairwise(offsets.tolist()), seen, strict=True):
            word = text[start:stop]
            words[word] = words[word].merged_with(stats) if word in words else stats

    def worst_words(self, group: int, n: int) -> list[tuple[bytes, int, int]]:
        self._check_group(group)
        if n < 0:
            raise ValueError("a number of words is negative")
        found = [(word, seen.most, seen.occurrences) for word, seen in self._words[group].items()]
        return sorted(found, key=lambda item: (-item[1], -item[2], item[0]))[:n]

    def _add_document(self, document: bytes, spans: list[Span], kinds: list[int], group: int) -> list[int]:
        measures = reference.measure(document, spans, kinds, self._tables.classes)
        self._totals[group] += [measures.counts[name] for name in COUNTS]
        for digits, tokens in measures.numbers:
            self._numbers[group, min(digits, LONGEST_NUMBER)] += (1, tokens)
        words = self._words[group]
        for word, tokens in measures.words:
            seen = _Occurrences(1, fewest=tokens, most=tokens)
            words[word] = words[word].merged_with(seen) if word in words else seen
        return [measures.counts[name] for name in COUNTS]

    def _check_group(self, group: int) -> None:
        if not 0 <= group < len(self._words):
            raise ValueError("there is no such group")

    def _check_documents(
        self,
        text: bytes,
        text_offsets: NDArray[np.int64],
        token_offsets: NDArray[np.int64],
        groups: NDArray[np.int32],
    ) -> None:
        if not isinstance(text, bytes):
            raise TypeError("the text is not bytes")
        _check_array("groups", groups, np.int32)
        _check_array("text_offsets", text_offsets, np.int64, len(groups) + 1)
        _check_array("token_offsets", token_offsets, np.int64, len(groups) + 1)
        if ((groups < 0) | (groups >= len(self._words))).any():
            raise ValueError("a group is out of range")
        _check_offsets(text_offsets, size=len(text))
        _check_offsets(token_offsets, size=int(token_offsets[-1]))


def _check_array(name: str, array: NDArray[Any], dtype: type[np.generic], size: int | None = None) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        raise TypeError(f"{name} is no array of {np.dtype(dtype)} in one dimension")
    if size is not None and len(array) != size:
        raise ValueError(f"{name} holds {len(array)} values, not {size}")


def _check_offsets(offsets: NDArray[np.int64], *, size: int) -> None:
    if offsets[0] != 0 or (np.diff(offsets) < 0).any():
        raise ValueError("offsets do not begin with 0, or decrease")
    if offsets[-1] != size:
        raise ValueError("offsets do not end where what they part ends")


def _check_spans(starts: NDArray[np.int64], stops: NDArray[np.int64], *, size: int) -> None:
    if not len(starts):
        return
    if starts[0] < 0 or stops[-1] > size or (starts > stops).any():
        raise ValueError("a token lies outside its document")
    if (np.diff(starts) < 0).any() or (np.diff(stops) < 0).any():
        raise ValueError("the spans of tokens decrease")
