"""What a `tokenizer.json` asks for beside merging, as our kernel does it: added tokens, normalisation, splitting.

Added tokens are found as `AddedVocabulary` in tokenizer/added_vocabulary.rs of `tokenizers` finds them; the
definition here is the library itself, which runs beside the kernel and takes what is in doubt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.libraries.huggingface.tokenizer_json import special_contents, steps
from tokbench.opening.kernel_vocabulary import KernelVocabulary, kernel_vocabulary
from tokbench.opening.splitting.steps import SplitSteps, split_steps
from tokbench.opening.text_normalization import TextNormalization
from tokbench.opening.tokenizer_json_tokens import NotNativeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_LSTRIP, _RSTRIP, _SINGLE_WORD = 1, 2, 4


class FoundToken(NamedTuple):
    """An added token, as it is looked for.

    Attributes:
        content: as the document has it.
        text: what is looked for; of one that is matched in the normalised text, its normal form.
        id: the id.
        lstrip: it takes the white space before it.
        rstrip: it takes the white space behind it.
        single_word: it is found only where no letter, digit or underscore touches it.
        in_normalized: it is matched in the normalised text, behind the others.
        is_special: whether it is found only where special tokens are.
    """

    content: str
    text: str
    id: int
    lstrip: bool
    rstrip: bool
    single_word: bool
    in_normalized: bool
    is_special: bool

    @property
    def row(self) -> tuple[bytes, int, int]:
        """Text, id and flags as the kernel takes them."""
        flags = _LSTRIP * self.lstrip | _RSTRIP * self.rstrip | _SINGLE_WORD * self.single_word
        return self.text.encode(), self.id, flags


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

    def added_rows(
        self, *, specials: bool
    ) -> tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]]:
        """The tokens that are found in the text as it is, and those found in the normalised text."""
        found = [token for token in self.added if specials or not token.is_special]
        return (
            [token.row for token in found if not token.in_normalized],
            [token.row for token in found if token.in_normalized],
        )

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
    vocabulary = kernel_vocabulary(document["model"], specials=frozenset(specials), path=path)
    normalization = TextNormalization(steps(document.get("normalizer")))
    splitting = split_steps(steps(document.get("pre_tokenizer")))
    added = _found_tokens(listed, ids, normalization=normalization)
    return KernelDocument(vocabulary, normalization, splitting, added)


def _found_tokens(
    listed: Sequence[Mapping[str, Any]], ids: Mapping[str, int], *, normalization: TextNormalization
) -> tuple[FoundToken, ...]:
    made: list[FoundToken] = []
    for token in listed:
        content = token["content"]
        if not content or content not in ids:
            raise NotNativeError(f"its added token {content!r} has no id, or is empty")
        in_normalized = bool(token.get("normalized"))
        text = normalization(content) if in_normalized else content
        if not text:
            raise NotNativeError(f"nothing is left of its added token {content!r} when it is normalised")
        flags = {flag: bool(token.get(flag)) for flag in ("lstrip", "rstrip", "single_word")}
        made.append(
            FoundToken(
                content,
                text,
                ids[content],
                in_normalized=in_normalized,
                is_special=bool(token.get("special")),
                **flags,
            )
        )
    _check_apart(made, listed)
    return tuple(made)


def _check_apart(made: Sequence[FoundToken], listed: Sequence[Mapping[str, Any]]) -> None:
    """Refuse tokens of which it depends on more than their texts which of them is found."""
    contents = [token["content"] for token in listed]
    texts = [token.text for token in made]
    if len(set(contents)) != len(contents) or len(set(texts)) != len(texts):
        raise NotNativeError("one of its added tokens is listed twice")
    strips = any(token.lstrip or token.rstrip for token in made)
    if strips and any(text != text.strip() for text in texts):
        raise NotNativeError("one added token strips white space that another begins or ends with")
