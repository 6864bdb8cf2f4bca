"""Step-by-step explanations of the tokens of a `tokenizer.json`, using the library's normalizer and pre-tokenizer.

The library reports only the final tokens. Its normalizer and pre-tokenizer are run on each part of the text, and the
model is traced in `model_traces.py`. Callers compare the resulting ids with the library's.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.core.base import utf8
from tokbench.core.tokens import Span
from tokbench.explain.alternatives import alternatives_of
from tokbench.explain.as_read import Recomputed
from tokbench.explain.derivation import TRACES_KEPT, Derivation, LookupTrace, Step
from tokbench.explain.pretokens import Aligned, Change, PreToken, changes_of
from tokbench.formats.tokenizer_json import from_byte_level
from tokbench.libraries.huggingface.engines import (
    RunsDocument,
    engine_of,
    engine_with,
    library_errors,
    with_unspeakable_specials,
)
from tokbench.libraries.huggingface.model_traces import ModelTracer
from tokbench.libraries.huggingface.tokenizer_json import steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import tokenizers

    from tokbench.explain.derivation import Trace
    from tokbench.explain.pretokens import Alternative
    from tokbench.explain.records import MergeRecord

_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


class _Part(NamedTuple):
    """A part of a text: ordinary text (`added` is None), or an added token with its id."""

    start: int
    stop: int
    added: int | None


class DocumentExplainer:
    """An explainer of the tokens of texts.

    Args:
        document: the `tokenizer.json` as the library runs it, with special tokens spelled as no text is.
        engine: the library's tokenizer of the document.
        spellings: id → the spelling of the piece; special tokens have their own texts.

    Attributes:
        tracer: the tracer of the model.
    """

    def __init__(
        self, document: Mapping[str, Any], engine: tokenizers.Tokenizer, spellings: Mapping[int, str]
    ) -> None:
        self._document = document
        self._engine = engine
        self._spellings = spellings
        self.tracer = ModelTracer(document, engine, spellings)

    def derivation(self, text: str) -> Derivation:
        """Return the steps from a text to its ids."""
        trace = lru_cache(maxsize=TRACES_KEPT)(self.tracer.trace)
        derivations = [
            self._derive_added(text, part)
            if part.added is not None
            else self._derive_section(text, part, trace=trace)
            for part in self._parts(text)
        ]
        return Derivation(
            algorithm=self.tracer.algorithm,
            normalized="".join(derivation.normalized for derivation in derivations),
            changes=tuple(change for derivation in derivations for change in derivation.changes),
            splitter=self._splitter,
            steps=Recomputed(
                lambda: chain.from_iterable(derivation.steps for derivation in derivations),
                size=lambda: sum(len(derivation.steps) for derivation in derivations),
            ),
        )

    # --- before the model ---------------------------------------------------------------------

    def _parts(self, text: str) -> Iterator[_Part]:
        """Split the text at the added tokens that are matched in every text."""
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
            yield _Part(start, stop, self._added_ids[id])
            reached = stop
        if reached < len(text):
            yield _Part(reached, len(text), None)

    @cached_property
    def _added_ids(self) -> Mapping[int, int]:
        """The id of each added token in the finder → its id in the document."""
        assert self._finder is not None  # only its tokens are looked up
        ids = {spelling: id for id, spelling in self._spellings.items()}
        listed = {token["content"]: token["id"] for token in self._document["added_tokens"]}
        # This method gives the contents of the tokens, where others give their normalized forms.
        tokens = self._finder.get_added_tokens_decoder()
        return {id: ids.get(token.content, listed[token.content]) for id, token in tokens.items()}

    @cached_property
    def _finder(self) -> tokenizers.Tokenizer | None:
        """The same document with an empty model, so that it finds only added tokens; None if all are special."""
        if all(token.get("special") for token in self._document["added_tokens"]):
            return None
        unknown = "\0"
        model = {"type": "WordLevel", "vocab": {unknown: 0}, "unk_token": unknown}
        return engine_of({**self._document, "model": model, "post_processor": None})

    def _derive_added(self, text: str, part: _Part) -> Derivation:
        covered = text[part.start : part.stop]
        start = len(text[: part.start].encode())
        pretoken = PreToken(covered, Span(start, start + len(covered.encode())), added=True)
        assert part.added is not None
        trace = LookupTrace("an added token is found before anything else", (self.tracer.symbol(part.added),))
        return Derivation("", covered, (), "", (Step(pretoken, trace),))

    def _derive_section(self, text: str, part: _Part, *, trace: Callable[[str], Trace]) -> Derivation:
        """Return the steps from a part without added tokens to its ids."""
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
                characters.split(lambda _, split: split.split(Regex(r"[\s\S]"), "isolated"))
                aligned = [
                    Aligned(character, Span(*span))
                    for character, span, _ in characters.get_splits("original", "byte")
                ]
                changes = changes_of(section, aligned)
        if (pre_tokenizer := self._pre_tokenizer(is_first=part.start == 0)) is not None:
            pre_tokenizer.pre_tokenize(pretokens)
        splits = [
            (split, Span(*span)) for split, span, _ in pretokens.get_splits("original", "byte") if split
        ]

        def section_steps() -> Iterator[Step]:
            alternatives = self._alternatives(normalized, [split for split, _ in splits])
            for (split, span), alternative in zip(splits, alternatives, strict=True):
                place = Span(span.start + offset, span.stop + offset)
                yield Step(PreToken(self._shown(split), place, alternative), trace(split))

        moved = tuple(
            Change(Span(change.span.start + offset, change.span.stop + offset), change.before, change.after)
            for change in changes
        )
        return Derivation("", normalized, moved, "", Recomputed(section_steps, size=lambda: len(splits)))

    def _pre_tokenizer(self, *, is_first: bool) -> Any:
        """Return the pre-tokenizer; for later parts, one without the prefix that only the first part gets."""
        if is_first or all(
            step.get("prepend_scheme") != "first" for step in steps(self._document.get("pre_tokenizer"))
        ):
            return self._engine.pre_tokenizer
        return self._without_prefix

    @cached_property
    def _without_prefix(self) -> Any:
        def changed(step: Any) -> Any:
            step = {**step, "prepend_scheme": "never"} if step.get("prepend_scheme") == "first" else step
            inner = step.get("pretokenizers")
            return {**step, "pretokenizers": [changed(inner_step) for inner_step in inner]} if inner else step

        return engine_with(pre_tokenizer=changed(self._document["pre_tokenizer"])).pre_tokenizer

    @property
    def _splitter(self) -> str:
        """The names of the steps of the pre-tokenizer."""
        names = [str(step.get("type")) for step in steps(self._document.get("pre_tokenizer"))]
        return " → ".join(names) if names else "nothing splits the text"

    @cached_property
    def _pattern(self) -> str | None:
        """The regular expression if it alone decides where the text is split; else None."""
        splitters = steps(self._document.get("pre_tokenizer"))
        if (
            splitters
            and splitters[-1].get("type") == "ByteLevel"
            and not splitters[-1].get("add_prefix_space", True)
        ):
            *splitters, byte_level = splitters
            if byte_level.get("use_regex", True):
                return None if splitters else _GPT2
        if len(splitters) != 1 or splitters[0].get("type") != "Split":
            return None
        split = splitters[0]
        behavior = split.get("behavior"), bool(split.get("invert"))
        regex = (split.get("pattern") or {}).get("Regex")
        return regex if behavior in (("Isolated", False), ("Removed", True)) else None

    def _alternatives(self, normalized: str, splits: Sequence[str]) -> Iterable[Alternative | None]:
        shown = [self._shown(split) for split in splits]
        if self._pattern is None or "".join(shown) != normalized:
            return [None] * len(splits)
        return alternatives_of(self._pattern).matching(normalized, shown)

    def _shown(self, split: str) -> str:
        """Return a pre-token as text; if its characters stand for bytes, these are decoded."""
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


class ExplainsDocument(RunsDocument):
    """The explanations of a tokenizer, as a mixin."""

    def derivation(self, text: str) -> Derivation:
        """Return the steps from a text to its ids, treating special tokens as ordinary text. Raises `TextError`."""
        utf8(text)
        with library_errors(self._source):
            return self._explainer.derivation(text)

    @property
    def num_merges(self) -> int:
        """The number of merges; 0 for a model without merges."""
        return self._explainer.tracer.num_merges

    def merge_record(self, rank: int) -> MergeRecord:
        """Return a merge by its rank."""
        return self._explainer.tracer.record(rank)

    @cached_property
    def _explainer(self) -> DocumentExplainer:
        document = with_unspeakable_specials(self._parsed, self._engines.unspeakable)
        return DocumentExplainer(
            document, self._engines.plain, {id: text for text, id in self._spelled.items()}
        )
