"""Removal of tokens from a tokenizer of any supported algorithm: by leaves or by loss, with files and proofs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from tokbench.core.progress import no_progress
from tokbench.core.training import batches
from tokbench.errors import SurgeryError
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.lint.target import count_corpus
from tokbench.surgery import matched_pieces
from tokbench.surgery.bpe_document import read_bpe
from tokbench.surgery.character_merges import check_merges, merges_of_document, merges_of_model
from tokbench.surgery.contents import contents_of
from tokbench.surgery.documents import pruned_document, pruned_model
from tokbench.surgery.leaves import Leaves
from tokbench.surgery.library_proofs import prove_in_libraries, reopened
from tokbench.surgery.matched_pieces import MatchLosses, check_pieces, notes_of_characters
from tokbench.surgery.proofs import check_reachable, check_segmentations, check_tokens, check_words
from tokbench.surgery.scored_pieces import PieceLosses, check_scores, pieces_of_document, pieces_of_model

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tokbench.convert.proof import ProofResult
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.opening.request import Opened
    from tokbench.surgery.bpe_document import BpeDocument
    from tokbench.surgery.character_merges import CharacterMerges
    from tokbench.surgery.contents import Algorithm, Content, Contents
    from tokbench.surgery.id_map import IdMap
    from tokbench.surgery.leaves import Remaining, Removal
    from tokbench.surgery.matched_pieces import MatchedPieces
    from tokbench.surgery.proofs import SegmentationProof
    from tokbench.surgery.scored_pieces import ScoredPieces

_MERGED_TEXTS = 256
"""Number of texts to compare for a byte-level BPE; limited because merging by definition is slow."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The counts of a text; empty if pruning does not depend on a text.

    Attributes:
        frequencies: id → number of token occurrences.
        words: word → count, for algorithms that need word counts.
    """

    frequencies: Mapping[int, int] = field(default_factory=dict)
    words: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PruningProofs:
    """The results of the checks before anything is written.

    Attributes:
        tokens: number of remaining tokens, each with its old bytes.
        reproduced: number of remaining tokens that merging produces from the same two tokens as before; for other
            algorithms, of remaining ordinary pieces, each with its old text (and score).
        segmentations: the comparison of ids with the definition on texts of the corpus.
        encodings: the comparison with each library that opens one of the files.
    """

    tokens: int
    reproduced: int
    segmentations: SegmentationProof
    encodings: tuple[ProofResult, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of the checks."""
        return {
            "tokens": self.tokens,
            "reproduced": self.reproduced,
            "segmentations": self.segmentations.to_json(),
            "encodings": [proof.to_json() for proof in self.encodings],
        }


@dataclass(frozen=True, slots=True)
class PrunedTokenizer:
    """A tokenizer with tokens removed.

    Attributes:
        tokenizer: the pruned tokenizer.
        files: file name → content.
        proofs: the results of the checks.
        notes: remarks for the user, one sentence each.
    """

    tokenizer: Tokenizer
    files: Mapping[str, bytes]
    proofs: PruningProofs
    notes: tuple[str, ...]


class Vocabulary(Protocol):
    """The tokens of a tokenizer of any algorithm.

    Attributes:
        kept: the ids that are never removed.
        token_bytes: id → bytes of the ordinary tokens, which can be selected.
    """

    @property
    def kept(self) -> frozenset[int]: ...  # noqa: D102
    @property
    def token_bytes(self) -> Mapping[int, bytes]: ...  # noqa: D102


Tokens = TypeVar("Tokens", bound=Vocabulary)


@dataclass(frozen=True)
class Pruning(ABC, Generic[Tokens]):
    """A tokenizer to prune.

    Attributes:
        opened: the tokenizer.
        content: the content with its tokens: a serialized `ModelProto`, or a parsed `tokenizer.json`.
        algorithm: the tokenizer's algorithm.
    """

    opened: Opened
    content: Content
    algorithm: ClassVar[Algorithm]

    @cached_property
    def vocabulary(self) -> Tokens:
        """Its tokens. Raises `SurgeryError`."""
        return self.read(self.content)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user about the algorithm, one sentence each."""
        return ()

    @abstractmethod
    def read(self, content: Content) -> Tokens:
        """Read the tokens of its content, or of a changed one. Raises `SurgeryError`."""

    def count(self, texts: Iterable[str], *, threads: int | None) -> TokenUsage:
        """Count tokens or words of texts, as the algorithm needs. Raises `TextError`, `CorpusError`."""
        counts = count_corpus(self.opened.tokenizer, texts, threads=threads)
        return TokenUsage(dict(enumerate(counts.frequencies.tolist())))

    @abstractmethod
    def remaining(self, usage: TokenUsage) -> Remaining:
        """Return its tokens to choose from, given the counts of a text; empty counts if only a selection decides."""

    def choose(
        self, usage: TokenUsage, *, selected: Collection[int], size: int | None, min_count: int | None
    ) -> Removal:
        """Choose the tokens to remove, see `Remaining.choose`. Raises `ConfigError`."""
        return self.remaining(usage).choose(selected=selected, size=size, min_count=min_count)

    @abstractmethod
    def check(self, remaining: Tokens, id_map: IdMap) -> int:
        """Check the remaining ordinary tokens, and return their number. Raises `SurgeryError`."""

    def compare(
        self, texts: Iterable[str], new: Tokenizer, *, remaining: Tokens, content: Content, id_map: IdMap
    ) -> SegmentationProof:
        """Compare the segmentation of texts before and after. Raises `SurgeryError`.

        Args:
            texts: the texts; a limited number is used.
            new: the pruned tokenizer.
            remaining: its tokens.
            content: the content with them.
            id_map: the map from the old ids to the new ids.
        """
        del remaining, content
        return check_words(texts, tokenizers=(self.opened.tokenizer, new), id_map=id_map)

    def prune(
        self, id_map: IdMap, *, name: str, texts: Iterable[str], seed: int, progress: Progress
    ) -> PrunedTokenizer:
        """Create the files of the pruned tokenizer, and prove them.

        Args:
            id_map: the remaining tokens with their new ids.
            name: name of the pruned tokenizer.
            texts: texts to compare segmentations on; a limited number is used.
            seed: seed of the generated texts for the comparison with libraries.
            progress: called with the amount of work done.

        Raises:
            SurgeryError: a check fails; `ProofError` if a library gives different ids.
        """
        if isinstance(self.content, bytes):
            content: Content = pruned_model(self.content, id_map)
        else:
            content = pruned_document(self.content, id_map, path=self.opened.source.path)
        remaining = self.read(content)
        reproduced = self.check(remaining, id_map)
        with reopened(content, self.opened, id_map, name=name) as trial:
            new = trial.opened.tokenizer
            kept = check_tokens(self.opened.tokenizer, new, id_map)
            compared = self.compare(texts, new, remaining=remaining, content=content, id_map=id_map)
            proved = prove_in_libraries(
                trial, self.algorithm, self.opened.source.format, seed=seed, progress=progress
            )
        proofs = PruningProofs(kept, reproduced, compared, proved.encodings)
        return PrunedTokenizer(new, trial.files | proved.files, proofs, (*self.notes, *proved.notes))


@dataclass(frozen=True)
class BpePruning(Pruning["BpeDocument"]):
    """A byte-level BPE to prune, leaf by leaf."""

    algorithm: ClassVar[Algorithm] = "bpe"

    def read(self, content: Content) -> BpeDocument:
        """Read the tokens and merges. Raises `SurgeryError` if it is not a byte-level BPE."""
        assert not isinstance(content, bytes)  # a SentencePiece model merges characters
        return read_bpe(content, path=self.opened.source.path)

    def remaining(self, usage: TokenUsage) -> Remaining:
        """Return its leaves."""
        return Leaves(self.vocabulary.parts, usage.frequencies)

    def check(self, remaining: BpeDocument, id_map: IdMap) -> int:
        """Check that merging produces each token from the same two tokens as before, and return their number."""
        del id_map
        return check_reachable(self.vocabulary, remaining)

    def compare(
        self,
        texts: Iterable[str],
        new: Tokenizer,
        *,
        remaining: BpeDocument,
        content: Content,
        id_map: IdMap,
    ) -> SegmentationProof:
        """Compare the segmentation of texts without added tokens with the definition."""
        assert not isinstance(content, bytes)
        return check_segmentations(
            islice(texts, _MERGED_TEXTS),
            tokenizers=(self.opened.tokenizer, new),
            documents=(self.vocabulary, remaining),
            new_document=content,
            id_map=id_map,
        )


@dataclass(frozen=True)
class CharacterPruning(Pruning["CharacterMerges"]):
    """A BPE over characters to prune, leaf by leaf."""

    algorithm: ClassVar[Algorithm] = "character_bpe"

    def read(self, content: Content) -> CharacterMerges:
        """Read the pieces and merges. Raises `SurgeryError`."""
        if isinstance(content, bytes):
            return merges_of_model(parse_model(content))
        return merges_of_document(content, path=self.opened.source.path)

    def remaining(self, usage: TokenUsage) -> Remaining:
        """Return its leaves."""
        return Leaves(self.vocabulary.parts, usage.frequencies)

    def check(self, remaining: CharacterMerges, id_map: IdMap) -> int:
        """Check that pieces are merged from the same two as before, and return their number."""
        return check_merges(self.vocabulary, remaining, id_map)


@dataclass(frozen=True)
class UnigramPruning(Pruning["ScoredPieces"]):
    """A Unigram to prune, by the loss of likelihood."""

    algorithm: ClassVar[Algorithm] = "unigram"

    def read(self, content: Content) -> ScoredPieces:
        """Read the pieces with their scores."""
        if isinstance(content, bytes):
            return pieces_of_model(parse_model(content))
        return pieces_of_document(content)

    def remaining(self, usage: TokenUsage) -> Remaining:
        """Return its pieces."""
        return PieceLosses(self.vocabulary, usage.frequencies)

    def check(self, remaining: ScoredPieces, id_map: IdMap) -> int:
        """Check that pieces keep their scores, and return their number."""
        return check_scores(self.vocabulary, remaining, id_map)


@dataclass(frozen=True)
class WordPiecePruning(Pruning["MatchedPieces"]):
    """A WordPiece to prune, by the number of tokens that a text gains."""

    algorithm: ClassVar[Algorithm] = "wordpiece"

    @property
    def notes(self) -> tuple[str, ...]:
        """A note that words of other text can become unknown, if that is possible."""
        return notes_of_characters(self.vocabulary)

    def read(self, content: Content) -> MatchedPieces:
        """Read the pieces."""
        assert not isinstance(content, bytes)  # no SentencePiece model is a WordPiece
        return matched_pieces.pieces_of_document(content)

    def count(self, texts: Iterable[str], *, threads: int | None) -> TokenUsage:
        """Count the words that are not unknown."""
        words: Counter[str] = Counter()
        for batch in batches(texts, progress=no_progress):
            encoded = self.opened.tokenizer.encode_batch(batch, threads=threads)
            words.update(self.vocabulary.words(encoded.ids.tolist()))
        return TokenUsage(words=words)

    def remaining(self, usage: TokenUsage) -> Remaining:
        """Return its pieces."""
        return MatchLosses(self.vocabulary, usage.words)

    def check(self, remaining: MatchedPieces, id_map: IdMap) -> int:
        """Check that the remaining pieces are unchanged, and return their number."""
        return check_pieces(self.vocabulary, remaining, id_map)


def pruning_of(opened: Opened, contents: Contents | None = None) -> Pruning[Any]:
    """Return the `Pruning` for a tokenizer.

    Args:
        opened: the tokenizer.
        contents: the tokenizer's contents, if already known.

    Raises:
        SurgeryError: the algorithm is not supported, or the file lacks necessary information.
    """
    found = contents or contents_of(opened)
    if found.algorithm is None:
        raise SurgeryError(f"a {found.kind} has no pieces that others could replace")
    return _PRUNINGS[found.algorithm](opened, found.content)


_PRUNINGS: dict[Algorithm, type[Pruning[Any]]] = {
    pruning.algorithm: pruning for pruning in (BpePruning, CharacterPruning, UnigramPruning, WordPiecePruning)
}
