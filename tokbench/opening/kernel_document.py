"""What a `tokenizer.json` asks for beside merging, as our kernel does it: added tokens, normalisation, splitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.libraries.huggingface.tokenizer_json import special_contents, steps
from tokbench.opening.found_tokens import FoundToken, found_tokens
from tokbench.opening.kernel_vocabulary import KernelVocabulary, kernel_vocabulary
from tokbench.opening.splitting.steps import SplitSteps, split_steps
from tokbench.opening.text_normalization import TextNormalization
from tokbench.opening.tokenizer_json_tokens import NotNativeError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class KernelDocument:
    """A document as the kernel runs it.

    Attributes:
        vocabulary: what it merges with.
        normalization: what is done to a text first, but for what added tokens are found before.
        splitting: how it is split.
        added: the added tokens.
    """

    vocabulary: KernelVocabulary
    normalization: TextNormalization
    splitting: SplitSteps
    added: tuple[FoundToken, ...]

    @property
    def tiles(self) -> bool:
        """Whether the tokens of a text that is normalised, without special tokens, are its bytes in their order."""
        strips = any(token.lstrip or token.rstrip for token in self.added if not token.is_special)
        depends = self.normalization and not self.normalization.keeps_parts
        others = any(token.text != token.content for token in self.added)
        return self.splitting.tiles and not (self.vocabulary.marks_ends or depends or strips or others)

    def __str__(self) -> str:
        """What it does, in words."""
        parts = [*self.normalization.kinds, str(self.splitting)]
        everywhere = sum(not token.is_special for token in self.added)
        if everywhere:
            parts.append(f"{everywhere:,} added {'token' if everywhere == 1 else 'tokens'} in every text")
        return f"it is {', '.join(parts)} and merges"


def kernel_document(
    document: Mapping[str, Any], *, ids: Mapping[str, int], path: Path | str
) -> KernelDocument:
    """A document for the kernel.

    Args:
        document: a parsed `tokenizer.json`, whose merges belong to its vocabulary.
        ids: the id that the library gives each of its tokens.
        path: what error messages call it.

    Raises:
        NotNativeError: it does something that our kernel does not, or does differently.
    """
    if document["model"].get("dropout"):
        raise NotNativeError("it skips merges at random (dropout)")
    listed = document.get("added_tokens") or []
    vocab = document["model"]["vocab"]
    specials = [
        text for text in special_contents({"added_tokens": listed}) if len(text) > 1 or text not in vocab
    ]
    hidden = {
        token["content"]
        for token in listed
        if not token.get("single_word") and not (token.get("normalized") and document.get("normalizer"))
    }
    vocabulary = kernel_vocabulary(document["model"], specials=frozenset(specials), hidden=hidden, path=path)
    normalization = TextNormalization(steps(document.get("normalizer")))
    splitting = split_steps(steps(document.get("pre_tokenizer")))
    added = found_tokens(listed, ids, normalization=normalization)
    return KernelDocument(vocabulary, normalization, splitting, added)
