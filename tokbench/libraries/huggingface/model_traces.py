"""Step-by-step traces of how the model of a `tokenizer.json` turns a pre-token into tokens."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokbench.explain.bpe import ListedMerges, trace_merges
from tokbench.explain.causes import Fallback, Symbol
from tokbench.explain.derivation import Edge, LookupTrace, MergeTrace
from tokbench.explain.records import record_of
from tokbench.explain.unigram import Lattice, trace_lattice
from tokbench.explain.wordpiece import trace_longest_matches
from tokbench.formats.sentencepiece.pieces import BYTE_PIECES
from tokbench.formats.sentencepiece.unigram_scores import UNKNOWN_PENALTY
from tokbench.formats.tokenizer_json import decoded_bytes
from tokbench.libraries.huggingface.pieces import piece_spelling
from tokbench.libraries.huggingface.tokenizer_json import model_ids, model_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import tokenizers

    from tokbench.explain.causes import Cause
    from tokbench.explain.derivation import Trace
    from tokbench.explain.records import MergeRecord

_MOST_CHARACTERS = 100
_ALGORITHMS = {"BPE": "BPE", "WordPiece": "WordPiece", "Unigram": "Unigram", "WordLevel": "whole words"}


class ModelTracer:
    """A tracer of the model of a document.

    Args:
        document: the `tokenizer.json` as the library runs it, with special tokens spelled as no text is.
        engine: the library's tokenizer of the document.
        spellings: id → the spelling of the piece; special tokens have their own texts.
    """

    def __init__(
        self, document: Mapping[str, Any], engine: tokenizers.Tokenizer, spellings: Mapping[int, str]
    ) -> None:
        self._model: Mapping[str, Any] = document["model"]
        self._vocab = model_ids(document)
        self._kind = model_type(document)
        self._engine = engine
        self._spellings = spellings
        self._is_byte_level = piece_spelling(document).byte_level

    @property
    def algorithm(self) -> str:
        """The name of the algorithm for users."""
        name = _ALGORITHMS[self._kind]
        return f"byte-level {name}" if self._is_byte_level and self._kind == "BPE" else name

    def trace(self, split: str) -> Trace:
        """Return the steps from a pre-token to its tokens."""
        if self._kind == "BPE":
            return self._trace_bpe(split)
        if self._kind == "Unigram":
            return self._trace_unigram(split)
        unknown = self._model.get("unk_token") or ""
        if self._kind == "WordPiece":
            return self._trace_wordpiece(split, unknown)
        id = self._vocab.get(split, self._vocab.get(unknown))
        return LookupTrace("a whole word is looked up", () if id is None else (self.symbol(id),))

    def _trace_wordpiece(self, word: str, unknown: str) -> Trace:
        trace = trace_longest_matches(
            word,
            self._vocab,
            prefix=self._model.get("continuing_subword_prefix", "##"),
            unknown=unknown,
            most_characters=self._model.get("max_input_chars_per_word", _MOST_CHARACTERS),
        )
        if [symbol.data for symbol in trace.tokens] == [unknown.encode()] and trace.tokens[0].id is not None:
            return type(trace)(trace.steps, (self.symbol(trace.tokens[0].id),), (), trace.too_long)
        return trace

    def symbol(self, id: int) -> Symbol:
        """Return the token of an id."""
        spelling = self._spellings.get(id, "")
        return Symbol(id, decoded_bytes(spelling) if self._is_byte_level else spelling.encode())

    # --- BPE ----------------------------------------------------------------------------------

    def _trace_bpe(self, split: str) -> MergeTrace:
        ids, dropped = self._symbols(split)
        if self._model.get("ignore_merges") and (whole := self._vocab.get(split)) is not None:
            symbols = tuple(map(self.symbol, ids))
            return MergeTrace(symbols, (), (self.symbol(whole),), (0, len(symbols)), (), whole=True)
        return replace(trace_merges(ids, self._merges, show=self.symbol), dropped=dropped)

    @cached_property
    def _merges(self) -> ListedMerges:
        merges = {(left, right): (rank, id) for rank, (left, right, id) in enumerate(self._listed_merges())}
        return ListedMerges(merges)

    def _listed_merges(self) -> Iterator[tuple[int, int, int]]:
        """Yield the left id, the right id and the merged id of each merge, in the order of their ranks."""
        vocab, prefix = self._vocab, self._model.get("continuing_subword_prefix") or ""
        for merge in self._model["merges"]:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            yield vocab[left], vocab[right], vocab[left + right[len(prefix) :]]

    @property
    def num_merges(self) -> int:
        """The number of merges; 0 for a model without merges."""
        return len(self._model["merges"]) if self._kind == "BPE" else 0

    def record(self, rank: int) -> MergeRecord:
        """Return a merge by its rank."""
        return record_of(list(self._listed_merges()), rank, symbol=self.symbol)

    def _symbols(self, split: str) -> tuple[list[int], str]:
        """Return the initial ids of a pre-token, and the characters that have none.

        The ids are those of its characters, or of bytes or unknown tokens for missing characters.
        """
        model, vocab = self._model, self._vocab
        prefix, suffix = model.get("continuing_subword_prefix") or "", model.get("end_of_word_suffix") or ""
        unknown = vocab.get(model.get("unk_token") or "")
        ids: list[int] = []
        dropped: list[str] = []
        is_pending = False
        for place, character in enumerate(split):
            spelling = (prefix if place else "") + character + (suffix if place == len(split) - 1 else "")
            id = vocab.get(spelling)
            if id is not None:
                if is_pending and unknown is not None:
                    ids.append(unknown)
                    is_pending = False
                ids.append(id)
                continue
            if model.get("byte_fallback"):
                bytes_ = [vocab.get(BYTE_PIECES[byte]) for byte in spelling.encode()]
                if None not in bytes_:
                    ids += [byte_id for byte_id in bytes_ if byte_id is not None]
                    continue
            if unknown is None:
                dropped.append(character)
                continue
            if is_pending and not model.get("fuse_unk"):
                ids.append(unknown)
            is_pending = True
        if is_pending and unknown is not None:
            ids.append(unknown)
        return ids, "".join(dropped)

    # --- Unigram ------------------------------------------------------------------------------

    def _trace_unigram(self, split: str) -> Trace:
        lattice = Lattice(len(split), tuple(self._edges(split)))
        pieces = [token.value for token in self._engine.model.tokenize(split)]
        return trace_lattice(split, lattice, tokens_of=self._unigram_tokens, pieces=pieces)

    @cached_property
    def _scores(self) -> Mapping[str, tuple[int, float]]:
        return {piece: (id, float(score)) for id, (piece, score) in enumerate(self._model["vocab"])}

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._scores), default=1)

    @cached_property
    def _unknown_score(self) -> float:
        return min(float(score) for _, score in self._model["vocab"]) - UNKNOWN_PENALTY

    def _edges(self, split: str) -> Iterator[Edge]:
        scores = self._scores
        for start in range(len(split)):
            is_covered = False
            for stop in range(start + 1, min(start + self._longest, len(split)) + 1):
                piece = split[start:stop]
                if (entry := scores.get(piece)) is not None:
                    is_covered = is_covered or stop == start + 1
                    yield Edge(start, stop, Symbol(entry[0], piece.encode()), entry[1])
            if not is_covered:
                yield Edge(start, start + 1, Symbol(None, split[start].encode()), self._unknown_score)

    def _unigram_tokens(self, edges: Sequence[Edge]) -> tuple[tuple[Symbol, ...], tuple[Cause | int, ...]]:
        """Return the tokens of a segmentation; a run of unknown characters is one token, or bytes if they are pieces.

        The second result holds, for each boundary between tokens, its position or its cause.
        """
        tokens: list[Symbol] = []
        places: list[Cause | int] = []
        unknown = self._model.get("unk_id")
        run = ""
        for edge, following in zip(edges, [*edges[1:], None], strict=True):
            is_unknown = edge.piece.id is None or edge.piece.id == unknown
            if is_unknown:
                run += edge.piece.data.decode()
                if following is not None and (following.piece.id is None or following.piece.id == unknown):
                    continue
            text = run or edge.piece.data.decode()
            start = edge.stop - len(text)
            symbols = self._symbols_of(text)
            if tokens:
                places.append(start)
            tokens += symbols
            places += [Fallback(text)] * (len(symbols) - 1)
            run = ""
        return tuple(tokens), tuple(places)

    def _symbols_of(self, text: str) -> list[Symbol]:
        if (entry := self._scores.get(text)) is not None:
            return [Symbol(entry[0], text.encode())]
        if self._model.get("byte_fallback"):
            ids = [self._vocab.get(BYTE_PIECES[byte]) for byte in text.encode()]
            if None not in ids:
                return [self.symbol(id) for id in ids if id is not None]
        return [self.symbol(self._model["unk_id"])]
