"""The vocabulary of a byte-level BPE in a `tokenizer.json`, and its segmentation of pre-tokens by definition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tokbench.errors import SurgeryError
from tokbench.formats.tokenizer_json import from_byte_level, is_byte_level
from tokbench.opening.native_bpe import merge_pairs
from tokbench.surgery.leaves import merge_parts, merged

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from tokbench.surgery.leaves import MergeParts

_AFFIXES = ("continuing_subword_prefix", "end_of_word_suffix")


@dataclass(frozen=True)
class BpeDocument:
    """The vocabulary and merges of a byte-level BPE.

    Attributes:
        vocab: piece in byte-level characters → id; for added tokens, text → id.
        added: text → id of the added tokens, special or not.
        ranks: merges: pair of pieces → rank.
        whole_tokens_first: whether a pre-token in the vocabulary becomes that token without merging.
        unspelled: pieces with other than byte-level characters and without merges, which no text becomes.
        unknown: id of the unknown token for characters that are not pieces; None if such characters are dropped.
        joins_unknown: whether consecutive unknown characters become a single unknown token.
    """

    vocab: Mapping[str, int]
    added: Mapping[str, int]
    ranks: Mapping[tuple[str, str], int]
    whole_tokens_first: bool
    unspelled: frozenset[str] = frozenset()
    unknown: int | None = None
    joins_unknown: bool = False

    @cached_property
    def parts(self) -> MergeParts:
        """The parts of each token; bytes, added tokens and unspelled pieces are marked as kept."""
        return merge_parts(
            self.vocab,
            list(self.ranks),
            kept=[*self.added.values(), *(self.vocab[piece] for piece in self.unspelled)],
            whole_tokens_first=self.whole_tokens_first,
        )

    @property
    def kept(self) -> frozenset[int]:
        """The ids that are never removed."""
        return self.parts.kept

    @cached_property
    def token_bytes(self) -> Mapping[int, bytes]:
        """Id → bytes of the ordinary tokens, without added tokens and unspelled pieces."""
        others = self.added.keys() | self.unspelled
        return {id: from_byte_level(piece) for piece, id in self.vocab.items() if piece not in others}

    def segment(self, pretoken: str) -> list[int]:
        """Return the ids of a pre-token in byte-level characters, by the slow definition."""
        if self.whole_tokens_first and pretoken in self.vocab:
            return [self.vocab[pretoken]]
        if self.unknown is None:
            known = "".join(character for character in pretoken if character in self.vocab)
            return self._merged(known)
        ids = []
        for is_known, characters in groupby(pretoken, self.vocab.__contains__):
            run = "".join(characters)
            ids += self._merged(run) if is_known else [self.unknown] * (1 if self.joins_unknown else len(run))
        return ids

    def _merged(self, characters: str) -> list[int]:
        return [self.vocab[part] for part in merged(characters, self.ranks)]


def read_bpe(document: Mapping[str, Any], *, path: Path | str) -> BpeDocument:
    """Read the byte-level BPE of a `tokenizer.json`.

    Args:
        document: the parsed `tokenizer.json`.
        path: its path for error messages.

    Raises:
        SurgeryError: the model is not a BPE, or its pieces have a prefix or a suffix, or are not spelled in byte-level
            characters.
        ModelFormatError: its merges are not a list of pairs.
    """
    model = document["model"]
    if "merges" not in model or model.get("type", "BPE") != "BPE":
        raise SurgeryError(f"only BPE merges tokens, and this is {model.get('type')}")
    if any(model.get(affix) for affix in _AFFIXES):
        raise SurgeryError("its pieces have a prefix or a suffix, as CLIP's have, and are not plain bytes")
    added = {token["content"]: token["id"] for token in document.get("added_tokens") or []}
    ranks = {
        pair: rank
        for rank, pair in enumerate(merge_pairs(model, path=path))
        if {*pair, pair[0] + pair[1]} <= model["vocab"].keys()
    }
    unspelled = frozenset(piece for piece in model["vocab"].keys() - added.keys() if not is_byte_level(piece))
    if unspelled:
        _check_bytes(unspelled, model["vocab"].keys() - added.keys(), ranks)
    return BpeDocument(
        vocab={**added, **model["vocab"]},
        added={text: model["vocab"].get(text, id) for text, id in added.items()},
        ranks=ranks,
        whole_tokens_first=bool(model.get("ignore_merges")),
        unspelled=unspelled,
        unknown=model["vocab"].get(model.get("unk_token")),
        joins_unknown=bool(model.get("fuse_unk")),
    )


def _check_bytes(
    unspelled: frozenset[str], pieces: Collection[str], ranks: Mapping[tuple[str, str], int]
) -> None:
    """Refuse a vocabulary that is not byte-level: a merge uses an unspelled piece, or all pieces are unspelled."""
    merged = next((part for pair in ranks for part in (*pair, "".join(pair)) if part in unspelled), None)
    if merged is not None or len(unspelled) == len(pieces):
        odd = merged or min(unspelled)
        raise SurgeryError(f"it is not a byte-level BPE: its piece {odd!r:.40} is not of bytes")
