"""Addition of pieces to a SentencePiece model or a `tokenizer.json`, with files and proofs, for any algorithm."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from tokbench.errors import ConfigError
from tokbench.formats.sentencepiece.model import SPACE, parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.surgery.documents import extended_model
from tokbench.surgery.extended_tokenizer import Extension, added_token_error, note_on_known_words
from tokbench.surgery.piece_learning import UNKNOWN, PieceLearner
from tokbench.surgery.proofs import wrong

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.surgery.contents import Content
    from tokbench.surgery.piece_learning import GrowingPieces, Parts


class Words(Protocol):
    """The splitting of text into words that pieces are learned from."""

    def of_line(self, line: str) -> list[str]:
        """Split a line into words, each of which could be a piece."""

    def count(self, texts: Iterable[str], *, threads: int | None, progress: Progress) -> Counter[str]:
        """Count the words of texts. Raises `CorpusError`."""

    def allows(self, piece: str) -> bool:
        """Whether a text may be learned as a piece."""


Pieces = TypeVar("Pieces", bound="GrowingPieces")


@dataclass
class PieceExtension(Extension, Generic[Pieces]):
    """Base class for extending lists of pieces."""

    _new: list[str] = field(default_factory=list)
    _counted: Counter[str] = field(default_factory=Counter)

    # --- defined by the algorithms ------------------------------------------------------------

    @abstractmethod
    def new_pieces(self) -> Pieces:
        """Return its pieces without any new ones."""

    @property
    @abstractmethod
    def words(self) -> Words:
        """Its splitting of text into words."""

    @property
    @abstractmethod
    def deciding(self) -> Sequence[Any]:
        """Everything that determines its segmentations; new items come after the old ones."""

    @abstractmethod
    def take(self, words: Sequence[str]) -> list[str]:
        """Make each word one token, and return the new pieces."""

    @abstractmethod
    def appended(self, special_tokens: Mapping[str, int]) -> Content:
        """Return the content with the new pieces and special tokens. Raises `ConfigError`, `SurgeryError`."""

    def bytes_of(self, piece: str) -> bytes:
        """Return the bytes of a piece."""
        return piece.replace(SPACE, " ").encode()

    def text_of(self, piece: str) -> str:
        """Return the text of a piece as it appears in words."""
        return piece

    def old_parts(self, pieces: Pieces, piece: str) -> Parts:
        """Return the segmentation of a new piece by the old ones."""
        return pieces.cut(piece)

    # --- common to all algorithms -------------------------------------------------------------

    @cached_property
    def pieces(self) -> Pieces:
        """Its pieces, including the new ones."""
        return self.new_pieces()

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Piece → id, including byte pieces."""
        if self.model is not None:
            return {piece.text: id for id, piece in enumerate(self.model.pieces)}
        vocab = self.document["model"]["vocab"]
        return {text: id for id, (text, _) in enumerate(vocab)} if isinstance(vocab, list) else vocab

    @property
    def new_ids(self) -> dict[str, int]:
        """New piece → id."""
        return {piece: id for id, piece in enumerate(self._new, self.first_id)}

    @property
    def tokens(self) -> Sequence[bytes]:
        """The bytes of the new pieces."""
        return [self.bytes_of(piece) for piece in self._new]

    @cached_property
    def model(self) -> SentencePieceFile | None:
        """The tokenizer as a SentencePiece model; None for a `tokenizer.json`."""
        return parse_model(self.content) if isinstance(self.content, bytes) else None

    def take_words(self, words: Sequence[str], *, threads: int | None) -> list[str]:
        """Make each word one token; return notes about words that stay several tokens."""
        del threads
        single = self.words_of(words)
        known = sum(len(self.pieces.cut(word)) == 1 and word in self.ids for word in single)
        self._new += self.take(single)
        cuts = {word: self.pieces.cut(word) for word in single}
        return note_on_known_words(known, len(single)) + [
            f"{word.replace(SPACE, ' ')!r} stays {len(parts)} tokens: it is a piece already, but text is "
            f"not cut into it"
            for word, parts in cuts.items()
            if len(parts) > 1
        ]

    def count(self, corpus: Corpus, *, threads: int | None, progress: Progress) -> int | None:
        """Count the words of a corpus."""
        self._counted = self.words.count(corpus, threads=threads, progress=progress)
        return None

    def learn(
        self,
        num_tokens: int,
        *,
        min_frequency: int,
        max_token_length: int | None,
        threads: int | None,
        progress: Progress,
    ) -> None:
        """Learn pieces from counted words."""
        del threads

        def may_be(text: str) -> bool:
            fits = max_token_length is None or len(self.bytes_of(text)) <= max_token_length
            return fits and self.words.allows(text)

        learner = PieceLearner(
            self.pieces,
            self._counted,
            min_frequency=min_frequency,
            may_be_piece=may_be,
            text_of=self.text_of,
        )
        self._new += learner.learn(num_tokens, progress=progress)

    def changed(self, special_tokens: Mapping[str, int]) -> Content:
        """Append pieces and special tokens, and check that the old pieces are unchanged and the new ones are used."""
        content = self.appended(special_tokens)
        larger = type(self)(self.opened, content)
        if self.deciding != larger.deciding[: len(self.deciding)]:
            raise wrong("an existing piece would get a different score, or different merges")
        pieces = larger.new_pieces()
        for piece in self._new:
            if pieces.cut(piece) != (piece,):
                raise wrong(f"no text would become the new piece {piece!r}")
        return content

    def made_of(self) -> Mapping[int, Sequence[int]]:
        """Map each new id to the old ids that spell it, in order."""
        old = self.new_pieces()
        return {id: self._old_ids(self.old_parts(old, piece)) for piece, id in self.new_ids.items()}

    def extended_model(self, pieces: Sequence[ModelPiece], special_tokens: Iterable[str]) -> bytes:
        """Append pieces and then special tokens to the SentencePiece model. Raises `ConfigError`."""
        assert isinstance(self.content, bytes)
        assert self.model is not None
        known = {piece.text for piece in self.model.pieces}
        for text in special_tokens:
            if text in known:
                raise ConfigError(f"{text!r} is a token already", hint="leave it out")
        controls = [ModelPiece(text, 0.0, PieceType.CONTROL) for text in special_tokens]
        return extended_model(self.content, [*pieces, *controls])

    @property
    def unknown_id(self) -> int | None:
        """The id of the unknown token; None if there is none."""
        if self.model is not None:
            return self.model.unknown_id
        model = self.document["model"]
        found = model.get("unk_id", self.ids.get(model.get("unk_token") or ""))
        return None if found is None else int(found)

    def word_of(self, text: str) -> str:
        """Return a text as one word. Raises `ConfigError` if it is split into several."""
        words = self.words.of_line(text)
        if len(words) == 1:
            return words[0]
        if not words and text in self.added_texts:
            raise added_token_error(text)
        parts = ", ".join(repr(word.replace(SPACE, " ")) for word in words) or "nothing"
        raise ConfigError(
            f"{text!r} is not one word: it is split into {parts}, and pieces do not cross words",
            hint="leave it out, or give its parts",
        )

    def _old_ids(self, parts: Parts) -> list[int]:
        """Return the ids of old parts; for an unknown character, the ids of its byte pieces, if there are any."""
        found: list[int] = []
        for part in parts:
            if part[0] != UNKNOWN:
                found.append(self.ids[part])
            else:
                spelled = [f"<0x{byte:02X}>" for byte in part[1:].encode()]
                found += [self.ids[byte] for byte in spelled if byte in self.ids]
        return found
