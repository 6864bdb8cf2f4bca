"""A BPE over characters of a `tokenizer.json` on our kernel, as Llama 2, Mistral, Gemma and Phi-3 have it.

The text as a whole is one word: spaces are written as ▁, there may be one in front, and what is no token is unknown or
becomes bytes. What else a document asks for that could change an id is a reason to leave it to its library. The checks
mirror models/bpe/model.rs and pre_tokenizers/metaspace.rs of Hugging Face's `tokenizers`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.core.kernel_or_library import KernelOrLibrary, KernelUse, NormalizedTexts
from tokbench.core.tokens import SpecialPolicy
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.huggingface.tokenizer_json import special_contents, steps
from tokbench.native.kernel_choice import chosen_module, is_installed
from tokbench.opening.native_bpe import NotNativeError, merge_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.kernel_or_library import KernelEncoder

COMPILED = "tokbench.native._character_bpe"
_MOST_TOKENS, _MOST_MERGES = 1 << 20, (1 << 21) - 1
_MOST_EVERYWHERE = 16
"""Each text is searched for so many added tokens at most."""
_ENOUGH_TEXT = 1 << 14
"""Characters: for fewer, to make an encoder takes longer than the library does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterBpe:
    """A BPE as our kernel runs it, where no text is a special token.

    Attributes:
        tokens: by their ids.
        merges: two tokens and what they become, by their ids, the first one first.
        unknown: the id of what is no token.
        joins_unknown: whether unknown characters side by side are one token.
        byte_ids: the ids of the 256 bytes, where unknown characters become bytes.
        escapes_spaces: whether spaces are written as ▁.
        prefix: "always" for a ▁ in front of each text, "missing" for one where it has none, "" for none.
        everywhere: added tokens that the library finds in every text: one that holds any of them is left to it.
    """

    tokens: tuple[str, ...]
    merges: tuple[tuple[int, int, int], ...]
    unknown: int
    joins_unknown: bool
    byte_ids: tuple[int, ...] | None
    escapes_spaces: bool
    prefix: str
    everywhere: tuple[str, ...]

    def encoder(self) -> KernelEncoder:
        """What encodes with it.

        Raises:
            ValueError: it has more merges than a table holds.
        """
        from tokbench.native._character_bpe import merging_encoder

        encoder = merging_encoder(
            [token.encode() for token in self.tokens],
            np.array(self.merges, np.uint32).reshape(-1, 3),
            unknown=self.unknown,
            joins_unknown=self.joins_unknown,
            byte_ids=None if self.byte_ids is None else np.array(self.byte_ids, np.uint32),
            add_dummy_prefix=self.prefix == "always",
            escape_whitespaces=self.escapes_spaces,
        )
        return NormalizedTexts(encoder, _with_space) if self.prefix == "missing" else encoder

    def __str__(self) -> str:
        """What it does, in words."""
        return "it is spaces written as ▁ and merges of characters, nothing else"


class CharacterDocument(KernelOrLibrary, HuggingFaceTokenizer):
    """A tokenizer with its library's ids for every text, encoded by our kernel once there has been some text.

    Args:
        library: the tokenizer on its library.
        description: the same as the kernel runs it.
    """

    def __init__(self, library: HuggingFaceTokenizer, *, description: CharacterBpe) -> None:
        vars(self).update(vars(library))  # reading the file again would take as long as before
        self._description = description
        self._missing = _ENOUGH_TEXT
        self.info = replace(self.info, kernel="native")

    def _kernel_use(self, special: SpecialPolicy) -> KernelUse | None:
        if special is not SpecialPolicy.TEXT:
            return None
        return KernelUse(self._covers, _Late(self))

    @cached_property
    def kernel_encoder(self) -> KernelEncoder:
        """What encodes the texts that are covered."""
        return self._description.encoder()

    def _covers(self, text: str) -> bool:
        if not text.isascii():
            text.encode()  # raises for lone surrogates
        self._missing -= len(text)
        return self._missing <= 0 and not any(each in text for each in self._description.everywhere)


class _Late:
    """The encoder of a tokenizer, made when a first text is covered."""

    def __init__(self, tokenizer: CharacterDocument) -> None:
        self._tokenizer = tokenizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer.kernel_encoder, name)


def character_bpe(document: Mapping[str, Any]) -> CharacterBpe:
    """A document as our kernel runs it.

    Args:
        document: a `tokenizer.json` of BPE that its library takes.

    Raises:
        NotNativeError: it does something that our kernel does not.
    """
    if not is_installed(COMPILED) or chosen_module(compiled=COMPILED, fallback=__name__)[0] != "native":
        raise NotNativeError("the kernel's Python fallback runs plain byte-level BPE alone")
    model = document["model"]
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"):
        if model.get(name):
            raise NotNativeError(f"its model asks for {name}")
    vocab: Mapping[str, int] = model["vocab"]
    tokens = sorted(vocab, key=vocab.__getitem__)
    if [vocab[token] for token in tokens] != list(range(len(tokens))) or "" in vocab:
        raise NotNativeError("its ids have gaps")
    unknown = model.get("unk_token")
    if unknown not in vocab:
        raise NotNativeError("it has no unknown token")
    byte_ids = _byte_ids(vocab) if model.get("byte_fallback") else None
    escapes, prefix = _spaces(document)
    merges = _merges(model, vocab)
    if len(tokens) >= _MOST_TOKENS or len(merges) >= _MOST_MERGES:
        raise NotNativeError(f"it has {_MOST_TOKENS:,} tokens or {_MOST_MERGES:,} merges, or more")
    _check_special(document, vocab, made={tokens[made] for _, _, made in merges})
    return CharacterBpe(
        tokens=tuple(tokens),
        merges=merges,
        unknown=vocab[unknown],
        joins_unknown=bool(model.get("fuse_unk")),
        byte_ids=byte_ids,
        escapes_spaces=escapes,
        prefix=prefix,
        everywhere=_everywhere(document),
    )


def _byte_ids(vocab: Mapping[str, int]) -> tuple[int, ...]:
    """The tokens of the bytes; of one that is a character of the vocabulary, as Gemma's tab, that one."""
    ids = []
    for byte in range(256):
        id = vocab.get(f"<0x{byte:02X}>")
        if id is None and byte < 0x80:
            id = vocab.get(chr(byte))  # never unknown, so that no byte of its own is asked for
        if id is None:
            raise NotNativeError(f"it has byte fallback without a token for the byte {byte:02X}")
        ids.append(id)
    return tuple(ids)


def _merges(model: Mapping[str, Any], vocab: Mapping[str, int]) -> tuple[tuple[int, int, int], ...]:
    pairs = merge_pairs(model, path="")
    if len(set(pairs)) != len(pairs):
        raise NotNativeError("it lists a merge twice")
    return tuple((vocab[left], vocab[right], vocab[left + right]) for left, right in pairs)


def _spaces(document: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether spaces become ▁, and which texts get one in front: "always", "missing" or ""."""
    escapes, prefix = False, ""
    for step in steps(document.get("normalizer")):
        match step:
            case {"type": "Prepend", "prepend": "▁"} if not (escapes or prefix):
                prefix = "always"
            case {"type": "Replace", "pattern": {"String": " "}, "content": "▁"} if not escapes:
                escapes = True
            case _:
                raise NotNativeError(f"it normalises by {step.get('type')} in a way of its own")
    if prefix and not escapes:
        raise NotNativeError("it puts ▁ in front of texts, and leaves spaces as they are")
    for step in steps(document.get("pre_tokenizer")):
        match step:
            case {"type": "Split", "pattern": {"String": " "}} if escapes:
                continue  # there is none left
            case {"type": "Metaspace", "replacement": "▁", "split": False, "prepend_scheme": scheme} if (
                not prefix
            ):
                escapes = True
                prefix = "" if scheme == "never" else "missing"
            case _:
                raise NotNativeError(f"it splits by {step.get('type')}")
    if not escapes:
        raise NotNativeError("it leaves spaces as they are")
    return escapes, prefix


def _check_special(document: Mapping[str, Any], vocab: Mapping[str, int], *, made: set[str]) -> None:
    """Refuse a document in which ordinary text could become a special token, which the library spells otherwise."""
    for text in special_contents(document):
        if text in vocab and (len(text) == 1 or text in made):
            raise NotNativeError(f"merging makes its special token {text!r}")


def _everywhere(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The added tokens that are found in every text."""
    everywhere: Sequence[Mapping[str, Any]] = [
        token for token in document.get("added_tokens") or [] if not token.get("special")
    ]
    for token in everywhere:
        if token.get("normalized", True) or not token["content"]:
            raise NotNativeError(f"its added token {token['content']!r} is matched in the normalised text")
    if len(everywhere) > _MOST_EVERYWHERE:
        raise NotNativeError(f"it finds {len(everywhere)} added tokens in every text")
    return tuple(token["content"] for token in everywhere)


def _with_space(text: str) -> str:
    """A text with a space in front, if it has none."""
    return text if not text or text[0] in {" ", SPACE} else f" {text}"
