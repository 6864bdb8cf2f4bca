"""Addition of pieces to a SentencePiece model or a `tokenizer.json`, with files and proofs, for any algorithm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.errors import ConfigError
from tokbench.formats.sentencepiece.model import SPACE, parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.surgery.contents import Contents
from tokbench.surgery.extended_tokenizer import extend_tokenizer
from tokbench.surgery.library_proofs import prove_in_libraries, prove_model_in_libraries
from tokbench.surgery.model_files import DOCUMENT_NAME, model_name
from tokbench.surgery.models import extended_model
from tokbench.surgery.piece_learning import UNKNOWN, PieceLearner
from tokbench.surgery.proofs import wrong

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.opening.request import Opened
    from tokbench.surgery.contents import Algorithm, Content
    from tokbench.surgery.extended_tokenizer import ExtendedTokenizer
    from tokbench.surgery.library_proofs import LibraryProofs
    from tokbench.surgery.piece_learning import GrowingPieces, Parts
    from tokbench.surgery.proofs import SegmentationProof


@dataclass
class PieceExtension(ABC):
    """Base class for extending lists of pieces; see `extending.Extension`.

    Attributes:
        opened: the tokenizer.
        content: the content with its pieces: a serialized `ModelProto`, or a parsed `tokenizer.json`.
    """

    opened: Opened
    content: Content
    _new: list[str] = field(default_factory=list)
    _counted: Counter[str] = field(default_factory=Counter)

    algorithm: ClassVar[Algorithm]

    # --- defined by the algorithms ------------------------------------------------------------

    @abstractmethod
    def new_pieces(self) -> GrowingPieces:
        """Return its pieces without any new ones."""

    @property
    @abstractmethod
    def ids(self) -> Mapping[str, int]:
        """Piece → id, including byte pieces."""

    @property
    @abstractmethod
    def deciding(self) -> Sequence[Any]:
        """Everything that determines its segmentations; new items come after the old ones."""

    @abstractmethod
    def words_of(self, line: str) -> list[str]:
        """Split a line into words, each of which could be a piece."""

    @abstractmethod
    def count_words(self, texts: Iterable[str], *, threads: int | None, progress: Progress) -> Counter[str]:
        """Count the words of texts."""

    @abstractmethod
    def take(self, words: Sequence[str]) -> list[str]:
        """Make each word one token, and return the new pieces."""

    @abstractmethod
    def may_be_piece(self, text: str) -> bool:
        """Whether a text may be learned as a piece."""

    @abstractmethod
    def changed(self, pieces: Mapping[str, int], special_tokens: Mapping[str, int]) -> Content:
        """Return the content of the extended vocabulary. Raises `ConfigError`, `SurgeryError`."""

    @abstractmethod
    def check(self, new: Tokenizer, *, texts: Sequence[str], threads: int | None) -> SegmentationProof:
        """Check the algorithm's guarantees on texts. Raises `SurgeryError`."""

    def prove(self, new: Tokenizer, path: Path, *, seed: int, progress: Progress) -> LibraryProofs:
        """Compare the extended tokenizer with its file in libraries. Raises `ProofError`."""
        if isinstance(self.content, bytes):
            return prove_model_in_libraries(new, path, seed=seed, progress=progress)
        return prove_in_libraries(new, path, with_ranks=False, seed=seed, progress=progress)

    def bytes_of(self, piece: str) -> bytes:
        """Return the bytes of a piece."""
        return piece.replace(SPACE, " ").encode()

    def text_of(self, piece: str) -> str:
        """Return the text of a piece as it appears in words."""
        return piece

    def old_parts(self, pieces: GrowingPieces, piece: str) -> Parts:
        """Return the segmentation of a new piece by the old ones."""
        return pieces.cut(piece)

    # --- common to all algorithms -------------------------------------------------------------

    @cached_property
    def pieces(self) -> GrowingPieces:
        """Its pieces, including the new ones."""
        return self.new_pieces()

    @property
    def tokens(self) -> Sequence[bytes]:
        """The bytes of the new pieces."""
        return [self.bytes_of(piece) for piece in self._new]

    @cached_property
    def model(self) -> SentencePieceFile | None:
        """The tokenizer as a SentencePiece model; None for a `tokenizer.json`."""
        return parse_model(self.content) if isinstance(self.content, bytes) else None

    @property
    def first_id(self) -> int:
        """The id of the first new token."""
        return self.opened.tokenizer.info.vocab_size

    def take_words(self, words: Sequence[str], *, threads: int | None) -> list[str]:
        """Make each word one token; return notes about words that stay several tokens."""
        del threads
        single = list(dict.fromkeys(map(self._word, words)))
        self._new += self.take(single)
        cuts = {word: self.pieces.cut(word) for word in single}
        return [
            f"{word.replace(SPACE, ' ')!r} stays {len(parts)} tokens: it is a piece already, but text is "
            f"not cut into it"
            for word, parts in cuts.items()
            if len(parts) > 1
        ]

    def count(self, corpus: Corpus, *, threads: int | None, progress: Progress) -> int | None:
        """Count the words of a corpus."""
        self._counted = self.count_words(corpus, threads=threads, progress=progress)
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
            return fits and self.may_be_piece(text)

        learner = PieceLearner(
            self.pieces,
            self._counted,
            min_frequency=min_frequency,
            may_be_piece=may_be,
            text_of=self.text_of,
        )
        self._new += learner.learn(num_tokens, progress=progress)

    def extend(
        self,
        special_tokens: Sequence[str],
        *,
        name: str,
        texts: Sequence[str],
        threads: int | None,
        seed: int,
        progress: Progress,
    ) -> ExtendedTokenizer:
        """Create the files, and prove them."""
        ids = {piece: id for id, piece in enumerate(self._new, self.first_id)}
        first_special = self.first_id + len(ids)
        specials = {text: id for id, text in enumerate(special_tokens, first_special)}
        content = self.changed(ids, specials)
        old = self.new_pieces()
        self._check_content(content)
        return extend_tokenizer(
            self.opened,
            Contents(self.algorithm, content, self.algorithm),
            DOCUMENT_NAME if self.model is None else model_name(self.opened),
            size=first_special + len(specials),
            name=name,
            made_of={id: self._old_ids(self.old_parts(old, piece)) for piece, id in ids.items()},
            check=partial(self.check, texts=texts, threads=threads),
            prove=partial(self.prove, seed=seed, progress=progress),
        )

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
            return next(id for id, piece in enumerate(self.model.pieces) if piece.type is PieceType.UNKNOWN)
        model = self.document["model"]
        found = model.get("unk_id", self.ids.get(model.get("unk_token") or ""))
        return None if found is None else int(found)

    @property
    def document(self) -> Mapping[str, Any]:
        """The tokenizer as a parsed `tokenizer.json`; it must be one."""
        assert not isinstance(self.content, bytes)
        return self.content

    def _check_content(self, content: Content) -> None:
        """Check that old pieces are unchanged, and that the text of each new piece is segmented into that piece."""
        larger = type(self)(self.opened, content)
        if self.deciding != larger.deciding[: len(self.deciding)]:
            raise wrong("an existing piece would get a different score, or different merges")
        pieces = larger.new_pieces()
        for piece in self._new:
            if pieces.cut(piece) != (piece,):
                raise wrong(f"no text would become the new piece {piece!r}")

    def _word(self, line: str) -> str:
        """Return a line as one word. Raises `ConfigError` if it is split into several."""
        words = self.words_of(line)
        if len(words) == 1:
            return words[0]
        parts = ", ".join(repr(word.replace(SPACE, " ")) for word in words) or "nothing"
        raise ConfigError(
            f"{line!r} is not one word: it is split into {parts}, and pieces do not cross words",
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
