"""How a `tokenizer.json` makes tokens, step by step: what the library does, with its own normaliser and pre-tokenizer.

The library tells only what comes out in the end. Its normaliser and pre-tokenizer are asked part by part; the model
is computed here. What comes of it is held to the library's ids by whoever asks.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.core.tokens import Span
from tokbench.explain.alternatives import alternatives_of
from tokbench.explain.bpe import ListedMerges, trace_merges
from tokbench.explain.causes import Fallback
from tokbench.explain.derivation import Derivation, Step
from tokbench.explain.normalization import Aligned, changes_of
from tokbench.explain.pretokens import Change, PreToken
from tokbench.explain.records import record_of
from tokbench.explain.symbols import Symbol
from tokbench.explain.traces import Edge, LookupTrace, MergeTrace
from tokbench.explain.unigram import Lattice, trace_lattice
from tokbench.explain.wordpiece import trace_longest_matches
from tokbench.formats.tokenizer_json import from_byte_level
from tokbench.libraries.huggingface.tokenizer_json import model_type, piece_spelling, steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import tokenizers

    from tokbench.explain.causes import Cause
    from tokbench.explain.pretokens import Alternative
    from tokbench.explain.records import MergeRecord
    from tokbench.explain.traces import Trace

_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_UNKNOWN_PENALTY = 10.0
_MOST_CHARACTERS = 100
_ALGORITHMS = {"BPE": "BPE", "WordPiece": "WordPiece", "Unigram": "Unigram", "WordLevel": "whole words"}


class _Part(NamedTuple):
    """A part of a text: ordinary, or an added token with its id."""

    start: int
    stop: int
    added: int | None


class DocumentExplainer:
    """Derives the tokens of texts.

    Args:
        document: the `tokenizer.json`, as it runs: no text is a special token in it.
        engine: the library's tokenizer of it.
        spellings: id → how the piece is spelled, special tokens under their own texts.
    """

    def __init__(
        self, document: Mapping[str, Any], engine: tokenizers.Tokenizer, spellings: Mapping[int, str]
    ) -> None:
        self._document = document
        self._model: Mapping[str, Any] = document["model"]
        self._kind = model_type(document)
        self._engine = engine
        self._spellings = spellings
        self._traces: dict[str, Trace] = {}
        self._is_byte_level = piece_spelling(document).byte_level

    def derivation(self, text: str) -> Derivation:
        """How a text becomes ids."""
        self._traces = {}
        made = [
            self._added(text, part) if part.added is not None else self._section(text, part)
            for part in self._parts(text)
        ]
        algorithm = _ALGORITHMS[self._kind]
        return Derivation(
            algorithm=f"byte-level {algorithm}" if self._is_byte_level and self._kind == "BPE" else algorithm,
            normalized="".join(each.normalized for each in made),
            changes=tuple(change for each in made for change in each.changes),
            splitter=self._splitter,
            steps=tuple(step for each in made for step in each.steps),
        )

    # --- before the model ---------------------------------------------------------------------

    def _parts(self, text: str) -> Iterator[_Part]:
        """The text, cut at added tokens that are found in every text."""
        if self._finder is None:
            yield _Part(0, len(text), None)
            return
        encoding = self._finder.encode(text, add_special_tokens=False)
        reached = 0
        for id, (start, stop) in zip(encoding.ids, encoding.offsets, strict=True):
            if id == 0:
                continue
            if start > reached:
                yield _Part(reached, start, None)
            yield _Part(start, stop, self._added_ids[str(self._finder.id_to_token(id))])
            reached = stop
        if reached < len(text):
            yield _Part(reached, len(text), None)

    @cached_property
    def _added_ids(self) -> Mapping[str, int]:
        ids = {spelling: id for id, spelling in self._spellings.items()}
        return {
            token["content"]: ids.get(token["content"], token["id"])
            for token in self._document["added_tokens"]
        }

    @cached_property
    def _finder(self) -> tokenizers.Tokenizer | None:
        """The same document with a model that knows nothing, so that only added tokens have ids; None without such."""
        if all(token.get("special") for token in self._document["added_tokens"]):
            return None
        import orjson
        import tokenizers

        nothing = "\0"
        model = {"type": "WordLevel", "vocab": {nothing: 0}, "unk_token": nothing}
        return tokenizers.Tokenizer.from_buffer(
            orjson.dumps({**self._document, "model": model, "post_processor": None})
        )

    def _added(self, text: str, part: _Part) -> Derivation:
        covered = text[part.start : part.stop]
        start = len(text[: part.start].encode())
        pretoken = PreToken(covered, Span(start, start + len(covered.encode())), added=True)
        assert part.added is not None
        trace = LookupTrace("an added token is found before anything else", (self._symbol(part.added),))
        return Derivation("", covered, (), "", (Step(pretoken, trace),))

    def _section(self, text: str, part: _Part) -> Derivation:
        """How a part becomes ids, in which nothing is an added token."""
        from tokenizers import PreTokenizedString, Regex

        section = text[part.start : part.stop]
        offset = len(text[: part.start].encode())
        pretokens = PreTokenizedString(section)
        changes: tuple[Change, ...] = ()
        normalized = section
        if (normalizer := self._engine.normalizer) is not None:
            pretokens.normalize(normalizer.normalize)
            normalized = normalizer.normalize_str(section)
            if normalized != section:
                characters = PreTokenizedString(section)
                characters.normalize(normalizer.normalize)
                characters.split(lambda _, found: found.split(Regex(r"[\s\S]"), "isolated"))
                aligned = [
                    Aligned(each, Span(*span)) for each, span, _ in characters.get_splits("original", "byte")
                ]
                changes = changes_of(section, aligned)
        if (pre_tokenizer := self._pre_tokenizer(is_first=part.start == 0)) is not None:
            pre_tokenizer.pre_tokenize(pretokens)
        splits = [
            (split, Span(*span)) for split, span, _ in pretokens.get_splits("original", "byte") if split
        ]
        alternatives = self._alternatives(normalized, [split for split, _ in splits])
        made = [
            Step(
                PreToken(self._shown(split), Span(span.start + offset, span.stop + offset), alternative),
                self._trace(split),
            )
            for (split, span), alternative in zip(splits, alternatives, strict=True)
        ]
        moved = tuple(
            Change(Span(change.span.start + offset, change.span.stop + offset), change.before, change.after)
            for change in changes
        )
        return Derivation("", normalized, moved, "", tuple(made))

    def _pre_tokenizer(self, *, is_first: bool) -> Any:
        """The pre-tokenizer; behind an added token one that puts its sign only before the first part puts none."""
        if is_first or all(
            step.get("prepend_scheme") != "first" for step in steps(self._document.get("pre_tokenizer"))
        ):
            return self._engine.pre_tokenizer
        return self._without_prefix

    @cached_property
    def _without_prefix(self) -> Any:
        import orjson
        import tokenizers

        def changed(step: Any) -> Any:
            step = {**step, "prepend_scheme": "never"} if step.get("prepend_scheme") == "first" else step
            inner = step.get("pretokenizers")
            return {**step, "pretokenizers": [changed(each) for each in inner]} if inner else step

        model = {"type": "WordLevel", "vocab": {"\0": 0}, "unk_token": "\0"}
        document = {
            **self._document,
            "model": model,
            "added_tokens": [],
            "post_processor": None,
            "pre_tokenizer": changed(self._document["pre_tokenizer"]),
        }
        return tokenizers.Tokenizer.from_buffer(orjson.dumps(document)).pre_tokenizer

    @property
    def _splitter(self) -> str:
        """What makes the pre-tokens, by the names of its steps."""
        names = [str(step.get("type")) for step in steps(self._document.get("pre_tokenizer"))]
        return " → ".join(names) if names else "nothing splits the text"

    @cached_property
    def _pattern(self) -> str | None:
        """The expression that alone decides where the text is split; None where there is none, or more than that."""
        made = steps(self._document.get("pre_tokenizer"))
        if made and made[-1].get("type") == "ByteLevel" and not made[-1].get("add_prefix_space", True):
            *made, byte_level = made
            if byte_level.get("use_regex", True):
                return None if made else _GPT2
        if len(made) != 1 or made[0].get("type") != "Split":
            return None
        split = made[0]
        behavior = split.get("behavior"), bool(split.get("invert"))
        regex = (split.get("pattern") or {}).get("Regex")
        return regex if behavior in (("Isolated", False), ("Removed", True)) else None

    def _alternatives(self, normalized: str, splits: Sequence[str]) -> list[Alternative | None]:
        shown = [self._shown(split) for split in splits]
        if self._pattern is None or "".join(shown) != normalized:
            return [None] * len(splits)
        return list(alternatives_of(self._pattern).matching(normalized, shown))

    def _shown(self, split: str) -> str:
        """A pre-token as text, also where its characters stand for bytes."""
        if not self._maps_bytes:
            return split
        return from_byte_level(split).decode(errors="replace")

    @cached_property
    def _maps_bytes(self) -> bool:
        return any(
            step.get("type") == "ByteLevel"
            for part in ("pre_tokenizer", "normalizer")
            for step in steps(self._document.get(part))
        )

    # --- the model ----------------------------------------------------------------------------

    def _trace(self, split: str) -> Trace:
        if split not in self._traces:
            self._traces[split] = self._made(split)
        return self._traces[split]

    def _made(self, split: str) -> Trace:
        if self._kind == "BPE":
            return self._merged(split)
        if self._kind == "Unigram":
            return self._segmented(split)
        unknown = self._model.get("unk_token") or ""
        if self._kind == "WordPiece":
            return self._matched(split, unknown)
        id = self._vocab.get(split, self._vocab.get(unknown))
        return LookupTrace("a whole word is looked up", () if id is None else (self._symbol(id),))

    def _matched(self, word: str, unknown: str) -> Trace:
        trace = trace_longest_matches(
            word,
            self._vocab,
            prefix=self._model.get("continuing_subword_prefix", "##"),
            unknown=unknown,
            most_characters=self._model.get("max_input_chars_per_word", _MOST_CHARACTERS),
        )
        if [symbol.data for symbol in trace.tokens] == [unknown.encode()] and trace.tokens[0].id is not None:
            return type(trace)(trace.steps, (self._symbol(trace.tokens[0].id),), (), trace.too_long)
        return trace

    @cached_property
    def _vocab(self) -> Mapping[str, int]:
        vocab = self._model["vocab"]
        return {piece: id for id, (piece, _) in enumerate(vocab)} if isinstance(vocab, list) else vocab

    def _symbol(self, id: int) -> Symbol:
        spelling = self._spellings.get(id, "")
        if self._is_byte_level:
            try:
                return Symbol(id, from_byte_level(spelling))
            except ValueError:  # an added token
                pass
        return Symbol(id, spelling.encode())

    # --- BPE ----------------------------------------------------------------------------------

    def _merged(self, split: str) -> MergeTrace:
        ids = self._symbols(split)
        if self._model.get("ignore_merges") and (whole := self._vocab.get(split)) is not None:
            symbols = tuple(map(self._symbol, ids))
            return MergeTrace(symbols, (), (self._symbol(whole),), (0, len(symbols)), (), whole=True)
        return trace_merges(ids, self._merges, show=self._symbol)

    @cached_property
    def _merges(self) -> ListedMerges:
        found = {
            (left, right): (rank, made) for rank, (left, right, made) in enumerate(self._listed_merges())
        }
        return ListedMerges(found)

    def _listed_merges(self) -> Iterator[tuple[int, int, int]]:
        """The left, right and made id of each merge, in the order of their ranks."""
        vocab, prefix = self._vocab, self._model.get("continuing_subword_prefix") or ""
        for merge in self._model["merges"]:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            yield vocab[left], vocab[right], vocab[left + right[len(prefix) :]]

    @property
    def num_merges(self) -> int:
        """How many merges there are; 0 where the model has none."""
        return len(self._model["merges"]) if self._kind == "BPE" else 0

    def record(self, rank: int) -> MergeRecord:
        """A merge by its rank."""
        return record_of(list(self._listed_merges()), rank, symbol=self._symbol)

    def _symbols(self, split: str) -> list[int]:
        """What a pre-token begins as: characters, or bytes and unknown ones where there is no piece for them."""
        model, vocab = self._model, self._vocab
        prefix, suffix = model.get("continuing_subword_prefix") or "", model.get("end_of_word_suffix") or ""
        unknown = vocab.get(model.get("unk_token") or "")
        ids: list[int] = []
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
                bytes_ = [vocab.get(f"<0x{byte:02X}>") for byte in spelling.encode()]
                if None not in bytes_:
                    ids += [each for each in bytes_ if each is not None]
                    continue
            if unknown is not None:
                if is_pending and not model.get("fuse_unk"):
                    ids.append(unknown)
                is_pending = True
        if is_pending and unknown is not None:
            ids.append(unknown)
        return ids

    # --- Unigram ------------------------------------------------------------------------------

    def _segmented(self, split: str) -> Trace:
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
        return min(score for _, score in self._scores.values()) - _UNKNOWN_PENALTY

    def _edges(self, split: str) -> Iterator[Edge]:
        scores = self._scores
        for start in range(len(split)):
            is_covered = False
            for stop in range(start + 1, min(start + self._longest, len(split)) + 1):
                piece = split[start:stop]
                if (found := scores.get(piece)) is not None:
                    is_covered = is_covered or stop == start + 1
                    yield Edge(start, stop, Symbol(found[0], piece.encode()), found[1])
            if not is_covered:
                yield Edge(start, start + 1, Symbol(None, split[start].encode()), self._unknown_score)

    def _unigram_tokens(self, edges: Sequence[Edge]) -> tuple[tuple[Symbol, ...], tuple[Cause | int, ...]]:
        """The tokens of a segmentation: unknown characters side by side are one, and bytes where these are pieces."""
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
        if (found := self._scores.get(text)) is not None:
            return [Symbol(found[0], text.encode())]
        if self._model.get("byte_fallback"):
            ids = [self._scores.get(f"<0x{byte:02X}>", (None, 0.0))[0] for byte in text.encode()]
            if None not in ids:
                return [self._symbol(id) for id in ids if id is not None]
        return [self._symbol(self._model["unk_id"])]
