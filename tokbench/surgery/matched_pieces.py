"""The pieces of a WordPiece, and the ones that pruning never removes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import counted
from tokbench.surgery.proofs import wrong

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.surgery.id_map import IdMap

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class MatchedPieces:
    """The tokens of a WordPiece.

    Attributes:
        ids: every id that has a token.
        texts: id → piece, for the pieces that words are matched with.
        prefix: the prefix of pieces inside words.
        kept: ids that are never removed: single characters, special, unknown and added tokens.
        needed: ids of pieces with a character that is not a piece by itself at its position (word start or inside).
    """

    ids: frozenset[int]
    texts: Mapping[int, str]
    prefix: str
    kept: frozenset[int]
    needed: frozenset[int]

    @property
    def token_bytes(self) -> dict[int, bytes]:
        """Id → bytes of the pieces that words are matched with, without their prefix."""
        return {id: text.removeprefix(self.prefix).encode() for id, text in self.texts.items()}

    def words(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield the words that ids spell; unknown and special tokens separate words and are skipped.

        >>> model = {"unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "##b": 2}}
        >>> list(pieces_of_document({"model": model}).words([1, 2, 2, 0, 1]))
        ['abb', 'a']
        """
        word = ""
        for id in ids:
            text = self.texts.get(id, "")
            if word and text.startswith(self.prefix) and text != self.prefix:
                word += text.removeprefix(self.prefix)
                continue
            if word:
                yield word
            word = text
        if word:
            yield word


def pieces_of_document(document: Mapping[str, Any]) -> MatchedPieces:
    """Read the pieces of a `tokenizer.json` whose model is a WordPiece.

    >>> vocab = {"[UNK]": 0, "a": 1, "##b": 2, "ab": 3, "ax": 4}
    >>> found = pieces_of_document({"model": {"unk_token": "[UNK]", "vocab": vocab}})
    >>> sorted(found.kept), sorted(found.needed)
    ([0, 1, 2], [4])
    """
    model = document["model"]
    prefix = model.get("continuing_subword_prefix", "##")
    added = document.get("added_tokens") or []
    others = {token["content"] for token in added} | {model.get("unk_token")}
    texts = {id: text for text, id in model["vocab"].items() if text not in others}
    every = frozenset([*model["vocab"].values(), *(token["id"] for token in added)])
    known = set(texts.values())
    single = {id for id, text in texts.items() if len(text.removeprefix(prefix)) <= 1}
    needed = {id for id, text in texts.items() if not known.issuperset(_characters(text, prefix))}
    return MatchedPieces(
        every, texts, prefix, frozenset((every - texts.keys()) | single), frozenset(needed - single)
    )


def _characters(text: str, prefix: str) -> list[str]:
    """Split a piece into pieces of one character.

    >>> _characters("abc", "##"), _characters("##bc", "##")
    (['a', '##b', '##c'], ['##b', '##c'])
    """
    if text.startswith(prefix):
        return [prefix + character for character in text.removeprefix(prefix)]
    return [text[:1], *(prefix + character for character in text[1:])]


def characters_without_piece(pieces: MatchedPieces) -> Counter[str]:
    """Count the characters in pieces that are not pieces by themselves at their position."""
    known = set(pieces.texts.values())
    return Counter(
        character
        for id in pieces.needed
        for character in _characters(pieces.texts[id], pieces.prefix)
        if character not in known
    )


def notes_of_characters(pieces: MatchedPieces) -> tuple[str, ...]:
    """Return a note that words of other text can become unknown, if that is possible."""
    without = characters_without_piece(pieces)
    if not without:
        return ()
    some = ", ".join(piece for piece, _ in without.most_common(_SHOWN))
    return (
        f"{counted(len(without), 'character')} of its pieces, as {some}, are not pieces by themselves: on "
        f"other text a word with one may become unknown",
    )


def check_pieces(old: MatchedPieces, new: MatchedPieces, id_map: IdMap) -> int:
    """Check that the remaining pieces are unchanged, and return their number.

    That suffices: a longest match among all pieces is also the longest among the remaining ones.

    Raises:
        SurgeryError: an id has a different piece.
    """
    for id, text in new.texts.items():
        if old.texts.get(id_map.new_to_old[id]) != text:
            raise wrong(f"the piece {text!r} would have the id of another")
    return len(new.texts)
