"""What a `tokenizer.json` asks for beside merging, as our kernel does it: added tokens, normalization, splitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.formats.tokenizer_json import to_byte_level
from tokbench.libraries.huggingface.tokenizer_json import needed_by_texts, special_contents, steps
from tokbench.opening.found_tokens import FoundToken, found_tokens
from tokbench.opening.kernel_vocabulary import KernelVocabulary, kernel_vocabulary
from tokbench.opening.splitting.steps import SplitSteps, split_steps
from tokbench.opening.text_normalization import TextNormalization
from tokbench.opening.tokenizer_json_tokens import NotNativeError, is_hidden
from tokbench.opening.word_vocabulary import WordBpe, WordPieces, WordVocabulary, word_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class KernelDocument:
    """A document as the kernel runs it.

    Attributes:
        vocabulary: what it makes of pre-tokens where no special tokens are found.
        with_specials: the same where they are.
        normalization: what is done to a text first, but for what added tokens are found before.
        splitting: how it is split.
        added: the added tokens.
        first_mark: what is put in front of a text that begins neither with it nor with a space or an added token.
    """

    vocabulary: KernelVocabulary | WordVocabulary
    with_specials: KernelVocabulary | WordVocabulary
    normalization: TextNormalization
    splitting: SplitSteps
    added: tuple[FoundToken, ...]
    first_mark: str = ""

    @property
    def tiles(self) -> bool:
        """Whether the tokens of a text that is normalized, without special tokens, are its bytes in their order."""
        strips = any(token.lstrip or token.rstrip for token in self.added if not token.is_special)
        depends = self.normalization and not self.normalization.keeps_parts
        others = any(token.text != token.content or self._is_of_others(token) for token in self.added)
        keeps_bytes = isinstance(self.vocabulary, KernelVocabulary) and not self.vocabulary.marks_ends
        return keeps_bytes and self.splitting.tiles and not (depends or strips or others)

    def _is_of_others(self, token: FoundToken) -> bool:
        """Whether other bytes become an added token by merging: its piece stands for bytes that its text is not."""
        tokens = self.vocabulary.tokens if isinstance(self.vocabulary, KernelVocabulary) else ()
        merged = tokens[token.id] if token.id < len(tokens) and not token.is_special else b""
        return merged not in (b"", token.content.encode())

    @property
    def runs_in_python(self) -> bool:
        """Whether it runs without the native kernel: words of BPE or of longest matches, and no marks for spaces."""
        of_words = isinstance(self.vocabulary, WordBpe | WordPieces)
        return of_words and not (self.splitting.adds_spaces or self.first_mark)

    def __str__(self) -> str:
        """What it does, in words."""
        parts = [*self.normalization.kinds, str(self.splitting)]
        everywhere = sum(not token.is_special for token in self.added)
        if everywhere:
            parts.append(f"{everywhere:,} added {'token' if everywhere == 1 else 'tokens'} in every text")
        return f"it is {', '.join(parts)} and {self.vocabulary}"


def kernel_document(
    document: Mapping[str, Any],
    *,
    ids: Mapping[str, int],
    path: Path | str,
    scores: Callable[[], Sequence[float]] = tuple,
) -> KernelDocument:
    """A document for the kernel.

    Args:
        document: a parsed `tokenizer.json`, whose merges belong to its vocabulary.
        ids: the id that the library gives each of its tokens.
        path: what error messages call it.
        scores: gives the scores of a Unigram's pieces as its library has read them.

    Raises:
        NotNativeError: it does something that our kernel does not, or does differently.
    """
    if document["model"].get("dropout"):
        raise NotNativeError("it skips merges at random (dropout)")
    pre_tokenizers = steps(document.get("pre_tokenizer"))
    of_bytes = any(step.get("type") == "ByteLevel" for step in pre_tokenizers)
    specials = frozenset(special_contents(document)) - needed_by_texts(document)
    vocabulary: KernelVocabulary | WordVocabulary
    with_specials: KernelVocabulary | WordVocabulary
    if of_bytes:
        vocabulary = with_specials = _of_bytes(document, specials=specials, path=path)
    else:
        vocabulary = with_specials = word_vocabulary(document, specials=specials, scores=scores)
        if specials:
            with_specials = word_vocabulary(document, specials=frozenset(), scores=scores)
    normalization = TextNormalization(steps(document.get("normalizer")))
    first_mark, splitters = _marking_first(pre_tokenizers)
    splitting = split_steps(splitters, maps_to_bytes=of_bytes)
    added = found_tokens(document.get("added_tokens") or [], ids, normalization=normalization)
    if first_mark and any(token.in_normalized for token in added):
        raise NotNativeError(
            f"it puts {first_mark} in front of a text, and finds added tokens in what it is normalized to"
        )
    return KernelDocument(vocabulary, with_specials, normalization, splitting, added, first_mark)


def _marking_first(
    pre_tokenizers: Sequence[Mapping[str, Any]],
) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """What is put in front of the first part of a text, and the pre-tokenizers as they do all else."""
    match pre_tokenizers:
        case [{"type": "Metaspace", "prepend_scheme": "first", "replacement": str(mark)} as first, *others]:
            return mark, [{**first, "prepend_scheme": "never"}, *others]
    return "", pre_tokenizers


def _of_bytes(document: Mapping[str, Any], *, specials: frozenset[str], path: Path | str) -> KernelVocabulary:
    normalizers = [str(step.get("type")) for step in steps(document.get("normalizer"))]
    hidden = {
        token["content"]
        for token in document.get("added_tokens") or []
        if not token.get("single_word")
        and not (token.get("normalized") and normalizers)
        and is_hidden(token["content"], normalizers=normalizers)
        and to_byte_level(token["content"].encode()) == token["content"]
    }
    return kernel_vocabulary(document["model"], specials=specials, hidden=hidden, path=path)
