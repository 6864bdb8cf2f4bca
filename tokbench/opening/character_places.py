"""Compute the spans of the tokens of a BPE over characters in a normalized text from their ids alone.

The kernel writes spaces as ▁ and may put one in front of a text. So the sizes of a text's tokens add up to that of the
text and this one ▁, and each token begins at the sum of the sizes before it. The spans are those of the library: a ▁ in
front belongs to the first character, and each byte token covers its whole character.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.token_arrays import character_offsets, offsets_of
from tokbench.formats.sentencepiece.model import SPACE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokbench.core.tokens import Encoded
    from tokbench.opening.character_bpe import CharacterBpe

_SPACE = SPACE.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterPlaces:
    """The sizes of tokens, and for which texts they determine the spans.

    Attributes:
        sizes: int64[V], the bytes of text that each token covers.
        are_bytes: bool[V], whether each token is one byte of a character.
        in_front: where a ▁ is put in front; see `tokbench.opening.character_bpe.Spaces`.
        known: the characters that have tokens; None if no character is ever unknown.
        apart: the added tokens that take more than their text, or after which another ▁ is put in front; and ▁, if
            the kernel writes spaces as ▁.
    """

    sizes: NDArray[np.int64]
    are_bytes: NDArray[np.bool_]
    in_front: str
    known: frozenset[str] | None
    apart: tuple[str, ...]

    def cover(self, text: str) -> bool:
        """Whether the sizes determine the spans of a text's tokens."""
        if any(content in text for content in self.apart):
            return False
        return self.known is None or self.known.issuperset(text)

    def of(
        self, texts: Sequence[str], encoded: Encoded
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the starts and stops of tokens, in bytes of their own text, extended to whole characters.

        Return None if the sizes of the tokens do not add up to those of the texts.

        Args:
            texts: covered texts.
            encoded: their ids.
        """
        sizes = self.sizes[encoded.ids]
        edges = offsets_of(sizes)
        in_front = np.array([self._has_one_in_front(text) for text in texts], np.int64)
        num_bytes = np.array(
            [len(text) if text.isascii() else len(text.encode()) for text in texts], np.int64
        )
        if (np.diff(edges[encoded.offsets]) != num_bytes + in_front).any():
            return None
        first_bytes = np.array([len(text[:1].encode()) for text in texts], np.int64)
        firsts = np.repeat(edges[encoded.offsets[:-1]] + in_front, encoded.counts)
        starts = np.maximum(edges[:-1] - firsts, 0)
        stops = edges[1:] - firsts
        stops = np.where(stops > 0, stops, np.repeat(first_bytes, encoded.counts))
        parts = np.flatnonzero(self.are_bytes[encoded.ids])
        if len(parts):
            begins = np.repeat(offsets_of(num_bytes)[:-1], encoded.counts)[parts]
            characters = character_offsets("".join(texts))
            at = np.searchsorted(characters, starts[parts] + begins, side="right")
            starts[parts] = characters[at - 1] - begins
            stops[parts] = characters[at] - begins
        return starts, stops

    def _has_one_in_front(self, text: str) -> bool:
        if self.in_front == "nothing" or not text:
            return False
        return self.in_front == "each part" or not text.startswith(" ")


def character_places(described: CharacterBpe) -> CharacterPlaces | None:
    """Return the places of a model's tokens; None if the origins of its normalized characters are not known."""
    spaces = described.spaces
    writes = spaces.are_marked or spaces.in_front != "nothing"
    if not spaces.normalization.knows_origins or (writes and _SPACE not in described.tokens):
        return None
    everywhere = [token for token in described.added if not token.is_special]
    apart = {
        token.content
        for token in everywhere
        if token.lstrip or token.rstrip or spaces.in_front != "nothing" or token.text != token.content
    }
    if writes:
        apart.add(SPACE)
    spelled = [token.replace(_SPACE, b" ") if spaces.are_marked else token for token in described.tokens]
    num_ids = max([len(spelled), *(token.id + 1 for token in everywhere)])
    sizes = np.zeros(num_ids, np.int64)
    sizes[: len(spelled)] = list(map(len, spelled))
    for token in everywhere:
        # If the kernel writes ▁, no covered text contains a token with ▁, but its id may also be what spaces become.
        if not (writes and SPACE in token.content):
            sizes[token.id] = len(token.content.encode())
    are_bytes = np.zeros(num_ids, np.bool_)
    for byte, id in enumerate(described.byte_ids or ()):
        if described.tokens[id] != bytes([byte]):
            sizes[id], are_bytes[id] = 1, True
    known = None
    if described.byte_ids is None:
        texts = (token.decode() for token in spelled)
        known = frozenset(text for text in texts if len(text) == 1)
    return CharacterPlaces(
        sizes=sizes,
        are_bytes=are_bytes,
        in_front=spaces.in_front,
        known=known,
        apart=tuple(sorted(apart)),
    )
