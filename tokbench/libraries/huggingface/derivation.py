"""How a `tokenizer.json` makes tokens, step by step: what the library does, with its own normalizer and pre-tokenizer.

The library tells only what comes out in the end. Its normalizer and pre-tokenizer are asked part by part; the
model is computed in `model_traces.py`. What comes of it is held to the library's ids by whoever asks.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.core.base import utf8
from tokbench.core.tokens import Span
from tokbench.explain.alternatives import alternatives_of
from tokbench.explain.derivation import Derivation, Step
from tokbench.explain.pretokens import Aligned, Change, PreToken, changes_of
from tokbench.explain.traces import LookupTrace
from tokbench.formats.tokenizer_json import from_byte_level
from tokbench.libraries.huggingface import tokenizer_json as reading
from tokbench.libraries.huggingface.engines import library_errors
from tokbench.libraries.huggingface.model_traces import ModelTracer
from tokbench.libraries.huggingface.tokenizer_json import steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import tokenizers

    from tokbench.explain.pretokens import Alternative
    from tokbench.explain.records import MergeRecord
    from tokbench.explain.traces import Trace
    from tokbench.libraries.huggingface.engines import Engines

_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


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

    Attributes:
        tracer: traces its model.
    """

    def __init__(
        self, document: Mapping[str, Any], engine: tokenizers.Tokenizer, spellings: Mapping[int, str]
    ) -> None:
        self._document = document
        self._engine = engine
        self._spellings = spellings
        self.tracer = ModelTracer(document, engine, spellings)
        self._traces: dict[str, Trace] = {}

    def derivation(self, text: str) -> Derivation:
        """How a text becomes ids."""
        self._traces = {}
        made = [
            self._added(text, part) if part.added is not None else self._section(text, part)
            for part in self._parts(text)
        ]
        return Derivation(
            algorithm=self.tracer.algorithm,
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
            yield _Part(start, stop, self._ids_found[id])
            reached = stop
        if reached < len(text):
            yield _Part(reached, len(text), None)

    @cached_property
    def _ids_found(self) -> Mapping[int, int]:
        """The id of an added token to the finder → its id in the document."""
        assert self._finder is not None  # as it has found some
        ids = {spelling: id for id, spelling in self._spellings.items()}
        listed = {token["content"]: token["id"] for token in self._document["added_tokens"]}
        found = (
            self._finder.get_added_tokens_decoder()
        )  # their contents, where other tables have normal forms
        return {id: ids.get(token.content, listed[token.content]) for id, token in found.items()}

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
        trace = LookupTrace("an added token is found before anything else", (self.tracer.symbol(part.added),))
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
        """The pre-tokenizer; after an added token one that puts its sign only before the first part puts none."""
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

    def _trace(self, split: str) -> Trace:
        if split not in self._traces:
            self._traces[split] = self.tracer.trace(split)
        return self._traces[split]


class ExplainsDocument:
    """The part of a tokenizer that explains its tokens; the other part sets these attributes.

    Attributes:
        _parsed: the `tokenizer.json` as it runs.
        _engines: the copies of the library that run it.
        _source: what error messages call the file.
        _spelled: how each token is spelled in the file → its id.
    """

    _parsed: dict[str, Any]
    _engines: Engines
    _source: Path | str
    _spelled: Mapping[str, int]

    def derivation(self, text: str) -> Derivation:
        """The steps by which a text becomes ids, in which nothing is a special token. Raises `TextError`."""
        utf8(text)
        with library_errors(self._source):
            return self._explainer.derivation(text)

    @property
    def num_merges(self) -> int:
        """How many merges there are; 0 where the model has none."""
        return self._explainer.tracer.num_merges

    def merge_record(self, rank: int) -> MergeRecord:
        """A merge by its rank: what it joins."""
        return self._explainer.tracer.record(rank)

    @cached_property
    def _explainer(self) -> DocumentExplainer:
        document = reading.with_unspeakable_specials(self._parsed, self._engines.unspeakable)
        return DocumentExplainer(
            document, self._engines.plain, {id: text for text, id in self._spelled.items()}
        )
