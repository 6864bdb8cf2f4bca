"""The library's tokenizers of one `tokenizer.json`, and the documents that it runs for them.

These are with or without special tokens, limits and the vocabulary.
"""

from __future__ import annotations

import re
import secrets
from contextlib import contextmanager
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tokbench.core.base import BaseTokenizer
from tokbench.errors import ModelFormatError, TokbenchError, UnknownWordError
from tokbench.libraries.huggingface import tokenizer_json as reading
from tokbench.libraries.huggingface.tokenizer_json import model_type, needed_by_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import tokenizers


_ASKS_FOR_UNKNOWN = re.compile(r"Missing \[UNK\]|unknown token but|Unk token `.*` not found")
"""Error messages of the library's models for an unknown word without an unknown token."""

_ONE_WORD = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}


class Engines:
    """The copies of the library's tokenizer that a tokenizer needs, created when they are first used.

    Args:
        document: a `tokenizer.json` as returned by `runnable`.
        limits: the truncation and padding of the file.
        source: the name of the file in error messages.

    Attributes:
        limits: the truncation and padding of the file.
        unspeakable: special token → its spelling in `plain`, which no text contains.
    """

    def __init__(self, document: Mapping[str, Any], *, limits: Mapping[str, Any], source: Path | str) -> None:
        self._document = document
        self._source = source
        self.limits = limits
        # Random words that nobody can guess: a text that contained one would become the special token.
        nonce = secrets.token_hex(16)
        self.unspeakable = {
            text: f"{nonce}-{number}" for number, text in enumerate(reading.special_contents(document))
        }
        self._limited: dict[bool, tokenizers.Tokenizer] = {}

    @property
    def _without_specials(self) -> dict[str, Any]:
        return with_unspeakable_specials(self._document, self.unspeakable)

    @cached_property
    def plain(self) -> tokenizers.Tokenizer:
        """The copy that treats special tokens as ordinary text."""
        with library_errors(self._source):
            return engine_of(self._without_specials)

    @cached_property
    def with_specials(self) -> tokenizers.Tokenizer:
        """The copy that finds special tokens in texts, as the file specifies."""
        with library_errors(self._source):
            return engine_of(self._document)

    def limited(self, *, specials: bool) -> tokenizers.Tokenizer:
        """Return the copy that truncates and pads, and with `specials` finds special tokens in texts."""
        if specials not in self._limited:
            document = self._document if specials else self._without_specials
            with library_errors(self._source):
                self._limited[specials] = engine_of({**document, **self.limits})
        return self._limited[specials]

    @cached_property
    def disguises(self) -> dict[str, str]:
        """The spelling of each control token in `isolated`, which no text contains."""
        nonce = secrets.token_hex(16)
        # All have the same length, so that none is a prefix of another one.
        return {
            text: f"{nonce}-{number:08x}"
            for number, text in enumerate(reading.control_contents(self._document))
        }

    @cached_property
    def isolated(self) -> tokenizers.Tokenizer:
        """The copy that finds control tokens only in the spellings of `disguises`."""
        document = with_unspeakable_specials(self._document, self.disguises)
        spelled = set(self.disguises.values())
        document["added_tokens"] = [
            {**token, "normalized": False, "single_word": False} if token["content"] in spelled else token
            for token in document["added_tokens"]
        ]
        with library_errors(self._source):
            return engine_of(document)

    def vocabulary(self, *, is_checked: bool) -> dict[str, int]:
        """Return the id of every token by its spelling in the file; special tokens have their own texts.

        Args:
            is_checked: whether the model's vocabulary and merges were checked as the library does. Then it parses only
                the rest of the document now, and all of it when `plain` is first used.

        Raises:
            ModelFormatError: the library does not accept the document.
        """
        if is_checked and (assigned := reading.assigned_ids(self._document)) is not None:
            with library_errors(self._source):
                parsed = engine_of(without_vocabulary(self._document))
            # It guesses the model of an old file, which does not name it, by trying one after another.
            if type(parsed.model).__name__ == reading.model_type(self._document):
                return assigned
        texts = {spelling: text for text, spelling in self.unspeakable.items()}
        ids: dict[str, int] = self.plain.get_vocab(with_added_tokens=True)
        return {texts.get(spelling, spelling): id for spelling, id in sorted(ids.items(), key=itemgetter(1))}


class RunsDocument(BaseTokenizer):
    """A tokenizer that runs a document on the library; it sets these attributes.

    Attributes:
        _parsed: the `tokenizer.json` as the library runs it.
        _engines: the library's tokenizers that run it.
        _source: the name of the file in error messages.
        _spelled: the spelling of each token in the file → its id.
    """

    _parsed: dict[str, Any]
    _engines: Engines
    _source: Path | str
    _spelled: Mapping[str, int]


def asks_for_unknown(message: str) -> bool:
    """Return whether an error of the library says that a text has an unknown word and the model no unknown token.

    >>> asks_for_unknown("WordPiece error: Missing [UNK] token from the vocabulary")
    True
    """
    return _ASKS_FOR_UNKNOWN.search(message) is not None


@contextmanager
def text_errors(source: Path | str) -> Iterator[None]:
    """Turn the library's error for an unknown word into an `UnknownWordError`; otherwise like `library_errors`.

    A model without an unknown token fails at the first word that is not in its vocabulary.
    """
    try:
        with library_errors(source):
            yield
    except ModelFormatError as error:
        if not asks_for_unknown(str(error)):
            raise
        is_unigram = "unk_id" in str(error)
        expected = (
            "an id of the unknown token (unk_id)" if is_unigram else "an unknown token in the vocabulary"
        )
        remedy = (
            "set unk_id to the id of its unknown token"
            if is_unigram
            else "add the unknown token that its model names"
        )
        raise UnknownWordError(
            source,
            f"{expected}, because a text has words or characters outside {'the vocabulary' if is_unigram else 'it'}",
            "none",
            hint=f"use only texts of its words and characters, or {remedy}",
        ) from None


@contextmanager
def library_errors(source: Path | str) -> Iterator[None]:
    """Turn any error of the library, including panics in Rust, into a `ModelFormatError` about a file."""
    try:
        yield
    except (TokbenchError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ModelFormatError(
            source,
            "a tokenizer.json that the library `tokenizers` accepts",
            f"one that it rejects: {error}",
            hint="was it written for a newer version of tokenizers, or edited?",
        ) from None


def limits_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the truncation and padding of a `tokenizer.json`."""
    return {part: document[part] for part in ("truncation", "padding") if document.get(part)}


def engine_of(document: Mapping[str, Any]) -> tokenizers.Tokenizer:
    """Return the library's tokenizer of a document."""
    import orjson
    import tokenizers

    return tokenizers.Tokenizer.from_buffer(orjson.dumps(document))


def engine_with(**components: Mapping[str, Any] | None) -> tokenizers.Tokenizer:
    """Return a tokenizer of the library with the given components of a `tokenizer.json`, and a model of one word.

    >>> engine_with(normalizer={"type": "Lowercase"}).normalizer.normalize_str("A")
    'a'
    """
    return engine_of({"version": "1.0", "model": _ONE_WORD, **components})


def runnable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without truncation, padding, dropout and trimming of offsets."""
    model = {**document["model"], "dropout": None} if "dropout" in document["model"] else document["model"]
    return {
        **document,
        "truncation": None,
        "padding": None,
        "model": model,
        "post_processor": _untrimmed(document.get("post_processor")),
    }


def _untrimmed(processor: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if processor is None:
        return None
    changed = dict(processor)
    if "trim_offsets" in changed or changed.get("type") == "ByteLevel":
        changed["trim_offsets"] = False
    if isinstance(changed.get("processors"), list):
        changed["processors"] = [_untrimmed(step) for step in changed["processors"]]
    return changed


def with_unspeakable_specials(document: Mapping[str, Any], spellings: Mapping[str, str]) -> dict[str, Any]:
    """Return the document with other spellings of its special tokens, so that no text becomes one.

    The library's option `encode_special_tokens` is not enough: a Unigram, WordLevel or WordPiece
    model still finds "</s>" in its vocabulary. The ids do not change.

    Args:
        document: a document as returned by `runnable`.
        spellings: the text of each special token → its new spelling.
    """
    model = dict(document["model"])
    vocabulary = model.get("vocab")
    needed = needed_by_texts(document)
    kept = {text: other for text, other in spellings.items() if text not in needed}
    if isinstance(vocabulary, list):
        model["vocab"] = [[kept.get(piece, piece), *rest] for piece, *rest in vocabulary]
    elif isinstance(vocabulary, dict):
        if model_type(document) == "BPE":
            model["merges"] = _merges_without(model, kept)
        model["vocab"] = {kept.get(piece, piece): id for piece, id in vocabulary.items()}
    if isinstance(model.get("unk_token"), str):
        model["unk_token"] = kept.get(model["unk_token"], model["unk_token"])
    added = [
        {**token, "content": spellings[token["content"]]} if token["content"] in kept else token
        for token in document["added_tokens"]
        if not (token["content"] in spellings and token["content"] not in kept)
    ]
    return {**document, "model": model, "added_tokens": added}


def _merges_without(model: Mapping[str, Any], pieces: Mapping[str, str]) -> list[Any]:
    """Return the merges of a BPE that neither join nor create any of the given pieces.

    The result of such a merge begins or ends with one of the pieces, so only these few results are considered, as
    there may be a million merges.
    """
    merges: list[Any] = model.get("merges") or []
    if model.get("continuing_subword_prefix"):
        parts = [merge.split(" ") if type(merge) is str else merge for merge in merges]
        touched = [not pieces.keys().isdisjoint(part) or "".join(part) in pieces for part in parts]
        return [merge for merge, is_touched in zip(merges, touched, strict=True) if not is_touched]
    ends = tuple(pieces)
    affected = [token for token in model["vocab"] if token.startswith(ends) or token.endswith(ends)]
    cuts = ((token[:at], token[at:]) for token in affected for at in range(1, len(token)))
    unwanted = {cut for cut in cuts if not pieces.keys().isdisjoint((*cut, "".join(cut)))}
    spelled = set(map(" ".join, unwanted))
    return [
        merge for merge in merges if not (merge in spelled if type(merge) is str else (*merge,) in unwanted)
    ]


def without_vocabulary(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with an empty vocabulary and no merges, which the library parses in no time."""
    model = {**document["model"], "vocab": {}}
    if "merges" in model:
        model["merges"] = []
    return {**document, "model": model}
