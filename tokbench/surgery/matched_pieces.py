"""The pieces of a WordPiece, and those that pruning never takes."""

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
        texts: id → piece, of those that words are matched with.
        prefix: marks pieces inside words.
        kept: the ids that never go: single characters, special, unknown and added tokens.
        needed: the ids of pieces with a character that is not a piece by itself in its place.
    """

    ids: frozenset[int]
    texts: Mapping[int, str]
    prefix: str
    kept: frozenset[int]
    needed: frozenset[int]

    @property
    def token_bytes(self) -> dict[int, bytes]:
        """The bytes of each piece that words are matched with, without its prefix, by id."""
        return {id: text.removeprefix(self.prefix).encode() for id, text in self.texts.items()}

    def words(self, ids: Iterable[int]) -> Iterator[str]:
        """The words of tokens; those with an unknown or a special token are left out.

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
    """The pieces of a `tokenizer.json` whose model is a WordPiece.

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
    """A piece character by character, as pieces.

    >>> _characters("abc", "##"), _characters("##bc", "##")
    (['a', '##b', '##c'], ['##b', '##c'])
    """
    if text.startswith(prefix):
        return [prefix + character for character in text.removeprefix(prefix)]
    return [text[:1], *(prefix + character for character in text[1:])]


def characters_without_piece(pieces: MatchedPieces) -> Counter[str]:
    """The characters that pieces hold and that are not pieces by themselves in their place, with how many hold them."""
    known = set(pieces.texts.values())
    return Counter(
        character
        for id in pieces.needed
        for character in _characters(pieces.texts[id], pieces.prefix)
        if character not in known
    )


def notes_of_characters(pieces: MatchedPieces) -> tuple[str, ...]:
    """That words can become unknown on other text, where some can."""
    without = characters_without_piece(pieces)
    if not without:
        return ()
    some = ", ".join(piece for piece, _ in without.most_common(_SHOWN))
    return (
        f"{counted(len(without), 'character')} of its pieces, as {some}, are not pieces by themselves: on "
        f"other text a word with one may become unknown",
    )


def check_pieces(old: MatchedPieces, new: MatchedPieces, id_map: IdMap) -> int:
    """How many pieces stay, each as it was: what was the longest match of more is the longest of fewer.

    Raises:
        ConversionError: one is another.
    """
    for id, text in new.texts.items():
        if old.texts.get(id_map.new_to_old[id]) != text:
            raise wrong(f"the piece {text!r} would have the id of another")
    return len(new.texts)
