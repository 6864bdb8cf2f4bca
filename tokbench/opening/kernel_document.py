"""A `tokenizer.json` as our kernel runs it: added tokens, normalization, splitting and the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tokbench.formats.tokenizer_json import to_byte_level
from tokbench.libraries.huggingface.tokenizer_json import model_type, needed_by_texts, special_contents, steps
from tokbench.opening.found_tokens import FoundToken, found_tokens
from tokbench.opening.kernel_vocabulary import KernelVocabulary, kernel_vocabulary
from tokbench.opening.split_steps import SplitSteps, split_steps
from tokbench.opening.text_normalization import TextNormalization
from tokbench.opening.tokenizer_json_tokens import NotNativeError, is_hidden
from tokbench.opening.white_space import needed_normalizers
from tokbench.opening.word_vocabulary import WordBpe, WordPieces, WordVocabulary, byte_pieces, word_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tokbench.backends.wordpiece.document import WordPieceDescription


@dataclass(frozen=True, slots=True)
class KernelDocument:
    """The components of a document, as the kernel runs them.

    Attributes:
        vocabulary: the model for pre-tokens of texts in which special tokens are not searched.
        with_specials: the model for texts in which special tokens are searched.
        normalization: the normalization of a text, which follows the search for added tokens in the raw text.
        splitting: the steps of splitting.
        added: the added tokens.
        first_mark: the mark put in front of a text, unless it begins with that mark, a space or an added token.
    """

    vocabulary: KernelVocabulary | WordVocabulary
    with_specials: KernelVocabulary | WordVocabulary
    normalization: TextNormalization
    splitting: SplitSteps
    added: tuple[FoundToken, ...]
    first_mark: str = ""

    @property
    def tiles(self) -> bool:
        """Whether the tokens of a normalized text without special tokens, concatenated, are exactly its bytes."""
        strips = any(token.lstrip or token.rstrip for token in self.added if not token.is_special)
        splits_differently = self.normalization and not self.normalization.keeps_parts
        differs = any(
            token.text != token.content or self._merges_from_other_bytes(token) for token in self.added
        )
        keeps_bytes = isinstance(self.vocabulary, KernelVocabulary) and not self.vocabulary.marks_ends
        return keeps_bytes and self.splitting.tiles and not (splits_differently or strips or differs)

    def _merges_from_other_bytes(self, token: FoundToken) -> bool:
        """Whether merging gives the token's id to bytes other than its text, as its vocabulary piece differs."""
        tokens = self.vocabulary.tokens if isinstance(self.vocabulary, KernelVocabulary) else ()
        merged = tokens[token.id] if token.id < len(tokens) and not token.is_special else b""
        return merged not in (b"", token.content.encode())

    @property
    def refused(self) -> int | None:
        """The id of unknown words if the library refuses texts with them; no token has it."""
        return None if isinstance(self.vocabulary, KernelVocabulary) else self.vocabulary.refused

    @property
    def runs_in_python(self) -> bool:
        """Whether it runs without the native kernel: BPE or longest matches of characters, and no marks for spaces."""
        vocabulary = self.vocabulary
        of_characters = isinstance(vocabulary, WordBpe) or (
            isinstance(vocabulary, WordPieces) and not vocabulary.of_bytes
        )
        return of_characters and not (self.splitting.adds_spaces or self.first_mark)

    def __str__(self) -> str:
        """Describe the components in words."""
        parts = [*self.normalization.kinds, str(self.splitting)]
        everywhere = sum(not token.is_special for token in self.added)
        if everywhere:
            parts.append(f"{everywhere:,} added {'token' if everywhere == 1 else 'tokens'} in every text")
        return f"it consists of {', '.join(parts)} and {self.vocabulary}"


def kernel_document(
    document: Mapping[str, Any],
    *,
    ids: Mapping[str, int],
    path: Path | str,
    scores: Callable[[], Sequence[float]] = tuple,
) -> KernelDocument:
    """Return a document as the kernel runs it.

    Args:
        document: a parsed `tokenizer.json`, whose merges have been checked against its vocabulary.
        ids: the library's id for each of its tokens.
        path: the document as error messages name it.
        scores: returns the scores of a Unigram's pieces as the library parses them.

    Raises:
        NotNativeError: the document uses something that our kernel lacks or does differently.
    """
    if document["model"].get("dropout"):
        raise NotNativeError("it skips merges at random (dropout)")
    pre_tokenizers = steps(document.get("pre_tokenizer"))
    maps_to_bytes = any(step.get("type") == "ByteLevel" for step in pre_tokenizers)
    specials = frozenset(special_contents(document)) - needed_by_texts(document)
    vocabulary: KernelVocabulary | WordVocabulary
    with_specials: KernelVocabulary | WordVocabulary
    free_id = max(ids.values(), default=0) + 1
    if maps_to_bytes and model_type(document) == "WordPiece":
        vocabulary = byte_pieces(document, specials=specials, free_id=free_id)
        with_specials = byte_pieces(document, specials=frozenset(), free_id=free_id)
    elif maps_to_bytes:
        vocabulary, with_specials = _byte_vocabularies(document, specials=specials, path=path)
    else:
        of_words = partial(word_vocabulary, document, scores=scores, free_id=free_id)
        vocabulary = with_specials = of_words(specials=specials)
        if specials:
            with_specials = of_words(specials=frozenset())
    listed = document.get("added_tokens") or []
    normalization = TextNormalization(
        needed_normalizers(steps(document.get("normalizer")), pre_tokenizers, added=listed)
    )
    first_mark, splitters = _split_off_first_mark(pre_tokenizers)
    splitting = split_steps(splitters, maps_to_bytes=maps_to_bytes)
    if (
        isinstance(vocabulary, KernelVocabulary)
        and splitting.adds_spaces
        and 0x20 in vocabulary.missing_bytes
    ):
        raise NotNativeError("it puts spaces in front of texts, and has no token for one")
    added = found_tokens(listed, ids, normalization=normalization)
    if first_mark and any(token.in_normalized for token in added):
        raise NotNativeError(
            f"it prepends {first_mark} to a text, and matches added tokens in the normalized text"
        )
    return KernelDocument(vocabulary, with_specials, normalization, splitting, added, first_mark)


def described_wordpiece(document: Mapping[str, Any]) -> WordPieceDescription:
    """Return the description of a WordPiece `tokenizer.json` for our kernel.

    Args:
        document: a document that its library accepts.

    Raises:
        NotNativeError: the document does something that our kernel does not; the message says what.
    """
    from tokbench.backends.wordpiece.document import LeftToLibraryError, wordpiece_description

    try:
        return wordpiece_description(document)
    except LeftToLibraryError as error:
        raise NotNativeError(str(error)) from None


def _split_off_first_mark(
    pre_tokenizers: Sequence[Mapping[str, Any]],
) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """Return the mark put in front of the first part of a text, and the pre-tokenizers without that step."""
    match pre_tokenizers:
        case [{"type": "Metaspace", "prepend_scheme": "first", "replacement": str(mark)} as first, *others]:
            return mark, [{**first, "prepend_scheme": "never"}, *others]
    return "", pre_tokenizers


def _byte_vocabularies(
    document: Mapping[str, Any], *, specials: frozenset[str], path: Path | str
) -> tuple[KernelVocabulary, KernelVocabulary]:
    """Return the model without special tokens, and the one for texts in which they are searched.

    They are the same unless whole words are looked up, and one that remains after the search may be a special token.
    """
    normalizers = [str(step.get("type")) for step in steps(document.get("normalizer"))]
    hidden = {
        token["content"]
        for token in document.get("added_tokens") or []
        if not token.get("single_word")
        and not (token.get("normalized") and normalizers)
        and is_hidden(token["content"], normalizers=normalizers)
        and to_byte_level(token["content"].encode()) == token["content"]
    }
    model = document["model"]
    vocabulary = kernel_vocabulary(model, specials=specials, hidden=hidden, path=path)
    if not model.get("ignore_merges") or specials.difference(hidden).isdisjoint(model["vocab"]):
        return vocabulary, vocabulary
    return vocabulary, kernel_vocabulary(model, specials=frozenset(), path=path)
