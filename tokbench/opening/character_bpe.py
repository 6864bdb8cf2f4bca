"""BPE over characters of a `tokenizer.json` as our kernel runs it, such as that of Llama 2, Mistral, Gemma and Phi-3.

The text between added tokens is one word: spaces are written as ▁, one may be put in front, and a character without a
token is unknown or becomes bytes. If a document asks for anything else that could change an id, it is left to its
library. The checks mirror models/bpe/model.rs and pre_tokenizers/metaspace.rs of Hugging Face's `tokenizers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.files.garbage_collection import paused_garbage_collection
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.formats.sentencepiece.pieces import BYTE_PIECES
from tokbench.libraries.huggingface.engines import engine_with
from tokbench.libraries.huggingface.tokenizer_json import needed_by_texts, special_contents, steps
from tokbench.native.kernel_choice import chosen_module, is_installed
from tokbench.opening.character_spaces import (
    Spaces,
    listed_tokens,
    needs_normal_text,
    own_step,
    spaces_of,
)
from tokbench.opening.found_tokens import FoundToken, found_tokens, rows_of
from tokbench.opening.native_bpe import NotNativeError, merge_ids, merge_pairs, repeats_a_merge

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.native._character_bpe import DocumentEncoder as CompiledEncoder

COMPILED = "tokbench.native._character_bpe"
_MOST_TOKENS, _MOST_MERGES = 1 << 20, (1 << 21) - 1

_NEVER_MADE = b"\0\0"
"""Placeholder for an id whose token no text becomes: it is not a single character, and no merge produces it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterBpe:
    """A BPE over characters, as our kernel runs it.

    Attributes:
        tokens: tokens by id; `_NEVER_MADE` if no text becomes the token by merging.
        merges: uint32[n, 3] of the left, the right and the merged id, in the order of their ranks.
        unknown: the id of unknown characters.
        joins_unknown: whether adjacent unknown characters become one token.
        byte_ids: the ids of the 256 bytes if the model has byte fallback.
        spaces: how spaces are treated.
        added: the added tokens.
        finds_specials: whether the kernel may run texts in which special tokens are searched.
    """

    tokens: tuple[bytes, ...]
    merges: NDArray[np.uint32]
    unknown: int
    joins_unknown: bool
    byte_ids: tuple[int, ...] | None
    spaces: Spaces
    added: tuple[FoundToken, ...]
    finds_specials: bool

    @paused_garbage_collection()
    def encoder(self) -> CompiledEncoder:
        """Build the compiled encoder.

        Raises:
            ValueError: there are more merges than its table holds.
        """
        from tokbench.native._character_bpe import DocumentEncoder as CompiledEncoder

        return CompiledEncoder(
            list(self.tokens),
            self.merges,
            unknown=self.unknown,
            joins_unknown=self.joins_unknown,
            byte_ids=None if self.byte_ids is None else np.array(self.byte_ids, np.uint32),
            space_in_front=self.spaces.in_front,
            escape_whitespaces=self.spaces.are_marked,
            added=rows_of(self.added, specials=False),
            added_with_specials=rows_of(self.added, specials=True),
        )

    def __str__(self) -> str:
        """Describe the algorithm in words."""
        parts = list(self.spaces.normalization.kinds)
        if self.spaces.are_marked:
            parts.append(f"spaces written as {SPACE}")
        everywhere = sum(not token.is_special for token in self.added)
        parts.extend(f"words cut by {step['type']}" for step in self.spaces.cuts)
        if everywhere:
            parts.append(f"{everywhere:,} added {'token' if everywhere == 1 else 'tokens'} in every text")
        return f"it is {', '.join(parts)}{' and ' if parts else ''}merges of characters, nothing else"


def is_of_characters(document: Mapping[str, Any]) -> bool:
    """Whether a document is a BPE over characters: no step maps text to bytes."""
    parts = [*steps(document.get("normalizer")), *steps(document.get("pre_tokenizer"))]
    return "merges" in document["model"] and not any(step.get("type") == "ByteLevel" for step in parts)


def character_bpe(document: Mapping[str, Any], *, ids: Mapping[str, int]) -> CharacterBpe:
    """Parse a document for our kernel.

    Args:
        document: a `tokenizer.json` of a BPE that its library accepts.
        ids: the library's id for each of its tokens.

    Raises:
        NotNativeError: the document does something that our kernel does not.
    """
    if not is_installed(COMPILED) or chosen_module(compiled=COMPILED, fallback=__name__)[0] != "native":
        raise NotNativeError("the kernel's Python fallback only runs plain byte-level BPE")
    model = document["model"]
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"):
        if model.get(name):
            raise NotNativeError(f"its model asks for {name}")
    vocab: Mapping[str, int] = model["vocab"]
    specials = set(special_contents(document)) - needed_by_texts(document)
    byte_ids = byte_ids_of(vocab) if model.get("byte_fallback") else None
    unknown = model.get("unk_token")
    if unknown not in vocab and byte_ids is None:
        raise NotNativeError("it has no unknown token")
    spaces = spaces_of(document)
    merges, makes_specials = listed_merges(model, vocab, specials=specials)
    if byte_ids is not None and merges_any(merges, map(vocab.get, BYTE_PIECES)):
        raise NotNativeError("it merges byte tokens")
    if spaces.begin_words or spaces.cuts:
        joins_unknown = bool(model.get("fuse_unk")) and byte_ids is None
        if joins_unknown and (spaces.cuts or SPACE not in vocab):
            raise NotNativeError("it joins unknown characters, but splits between them")
        merges = _inside_words(merges, vocab, spaces)
    tokens = tokens_by_id(vocab, specials=specials, never_made=_NEVER_MADE)
    check_size(tokens, merges)
    added, finds_specials = _added_tokens(document, ids, spaces, makes_specials=makes_specials)
    return CharacterBpe(
        tokens=tokens,
        merges=merges,
        unknown=vocab.get(unknown, 0),
        joins_unknown=bool(model.get("fuse_unk")),
        byte_ids=byte_ids,
        spaces=spaces,
        added=added,
        finds_specials=finds_specials,
    )


def tokens_by_id(
    vocab: Mapping[str, int], *, specials: Collection[str], never_made: bytes
) -> tuple[bytes, ...]:
    """Return the bytes of each id; `never_made` for special tokens and gaps."""
    tokens = [never_made] * (max(vocab.values()) + 1)
    for token, id in vocab.items():
        if token and token not in specials:
            tokens[id] = token.encode()
    return tuple(tokens)


def check_size(tokens: Sequence[bytes], merges: NDArray[np.uint32]) -> None:
    """Refuse more tokens or merges than the kernel's tables hold. Raises `NotNativeError`."""
    if len(tokens) >= _MOST_TOKENS or len(merges) >= _MOST_MERGES:
        raise NotNativeError(f"it has {_MOST_TOKENS:,} tokens or {_MOST_MERGES:,} merges, or more")


def merges_any(merges: NDArray[np.uint32], ids: Iterable[int | None]) -> bool:
    """Whether a merge takes one of some ids, of which None is none."""
    return bool(np.isin(merges[:, :2], [id for id in ids if id is not None]).any())


def byte_ids_of(vocab: Mapping[str, int]) -> tuple[int, ...]:
    """Return the id of each byte; an ASCII byte without a token of its own, as Gemma's tab, has that of its character.

    Raises:
        NotNativeError: a byte has neither.
    """
    ids = []
    for byte, piece in enumerate(BYTE_PIECES):
        id = vocab.get(piece)
        if id is None and byte < 0x80:
            id = vocab.get(chr(byte))  # the character is never unknown, so its byte token is never needed
        if id is None:
            raise NotNativeError(f"it has byte fallback without a token for the byte {byte:02X}")
        ids.append(id)
    return tuple(ids)


def listed_merges(
    model: Mapping[str, Any], vocab: Mapping[str, int], *, specials: Collection[str]
) -> tuple[NDArray[np.uint32], bool]:
    """Return the merges by ids, without those that take or make a special token, and whether there were such merges.

    Args:
        model: a BPE that its library accepts.
        vocab: its vocabulary.
        specials: the texts of special tokens.

    Returns:
        uint32[n, 3] of the left, the right and the merged id, in the order of their ranks.

    Raises:
        NotNativeError: a merge is listed twice, or its token is not spelled as its parts.
    """
    prefix = model.get("continuing_subword_prefix") or ""
    if prefix and not all(right.startswith(prefix) for _, right in merge_pairs(model, path="")):
        raise NotNativeError(f"it merges a piece that does not begin with {prefix!r}")
    merges = merge_ids(model)
    if repeats_a_merge(merges):
        raise NotNativeError("its list of merges contains a merge twice")
    is_kept = ~np.isin(merges, [vocab[text] for text in specials if text in vocab]).any(axis=1)
    return merges[is_kept], not is_kept.all()


def _inside_words(merges: NDArray[np.uint32], vocab: Mapping[str, int], spaces: Spaces) -> NDArray[np.uint32]:
    """Return the merges whose token is never cut; without the others, which never happen, texts need no cutting."""
    splitter = None
    if spaces.cuts:
        cuts = {"type": "Sequence", "pretokenizers": list(spaces.cuts)}
        splitter = engine_with(pre_tokenizer=cuts).pre_tokenizer
    merged_ids = set(merges[:, 2].tolist())
    cut = [
        id
        for token, id in vocab.items()
        if id in merged_ids
        and (
            (spaces.begin_words and SPACE in token[1:])
            or (splitter is not None and len(splitter.pre_tokenize_str(token)) > 1)
        )
    ]
    return merges[~np.isin(merges[:, 2], cut)]


def _added_tokens(
    document: Mapping[str, Any], ids: Mapping[str, int], spaces: Spaces, *, makes_specials: bool
) -> tuple[tuple[FoundToken, ...], bool]:
    """Return the added tokens, and whether special ones are included: only if the kernel finds them as the library."""
    listed = listed_tokens(document)
    everywhere = [token for token in listed if not token.get("special")]
    own = [] if spaces.normalization else [own_step(step) for step in steps(document.get("normalizer"))]
    special = [token for token in listed if token.get("special")]
    # The library keeps the merges that make special tokens, so no part that the search leaves may spell one.
    may_remain = any(
        token.get("normalized") or token.get("single_word") or not {" ", SPACE}.isdisjoint(token["content"])
        for token in special
    )
    if (makes_specials and (may_remain or spaces.normalization)) or any(
        needs_normal_text(token, own) for token in special
    ):
        return found_tokens(everywhere, ids, normalization=spaces.normalization), False
    try:
        return found_tokens(listed, ids, normalization=spaces.normalization), True
    except NotNativeError:
        return found_tokens(everywhere, ids, normalization=spaces.normalization), False
