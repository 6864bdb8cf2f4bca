"""How tokens are removed from a tokenizer, by its algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tokbench.core.descriptions import DescribesItself, SentencePieceModel
from tokbench.errors import SurgeryError
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.libraries.huggingface.tokenizer_json import model_type
from tokbench.lint.reachability.steps import DocumentSteps
from tokbench.surgery.bpe_pruning import BpePruning
from tokbench.surgery.character_pruning import CharacterPruning
from tokbench.surgery.pruned_tokenizer import document_of
from tokbench.surgery.unigram_pruning import UnigramPruning
from tokbench.surgery.wordpiece_pruning import WordPiecePruning

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from tokbench.core.progress import Progress
    from tokbench.opening.request import Opened
    from tokbench.surgery.id_map import IdMap
    from tokbench.surgery.leaves import Removal
    from tokbench.surgery.proofs import Algorithm
    from tokbench.surgery.pruned_tokenizer import PrunedTokenizer
    from tokbench.surgery.token_usage import TokenUsage


class Pruning(Protocol):
    """A tokenizer from which tokens are to go.

    Attributes:
        algorithm: what the tokenizer is, by a word of `proofs.Algorithm`.
    """

    algorithm: ClassVar[Algorithm]

    @property
    def kept(self) -> Collection[int]:
        """The ids that always stay."""

    @property
    def token_bytes(self) -> Mapping[int, bytes]:
        """Id → bytes of the ordinary tokens: those that may be named."""

    def count(self, texts: Iterable[str], *, threads: int | None) -> TokenUsage:
        """What a text tells of its tokens. Raises `TextError`, `CorpusError`."""

    def choose(
        self, usage: TokenUsage, *, selected: Collection[int], size: int | None, min_count: int | None
    ) -> Removal:
        """The tokens that go.

        Args:
            usage: what was counted; nothing where only `selected` says what goes.
            selected: ids to remove, whatever their frequency, wherever they can be spared.
            size: how many tokens stay, special tokens included; None for no limit.
            min_count: tokens with fewer occurrences go; None for no limit.

        Raises:
            ConfigError: the tokens that always stay are more than `size`.
        """

    def prune(
        self, id_map: IdMap, *, name: str, texts: Iterable[str], seed: int, progress: Progress
    ) -> PrunedTokenizer:
        """Make the files of the tokenizer that is left, and prove them.

        Args:
            id_map: which tokens stay, with their new ids.
            name: how the new one calls itself.
            texts: on which segmentations are compared; of many as many are taken as take a moment.
            seed: draws the generated texts of the comparison with libraries.
            progress: told how far that is.

        Raises:
            SurgeryError: something does not hold; `ProofError` if a library gives other ids.
        """


def pruning_of(opened: Opened) -> Pruning:
    """What removes tokens from a tokenizer.

    Raises:
        SurgeryError: nothing does, or its file does not say what that needs.
    """
    described = opened.tokenizer.description() if isinstance(opened.tokenizer, DescribesItself) else None
    if isinstance(described, SentencePieceModel):
        made = _OF_MODELS.get(parse_model(described.proto).model_type)
        if made is not None:
            return made(opened, described.proto)
    document = document_of(opened)
    kind = model_type(document)
    if kind == "BPE":
        is_of_bytes = DocumentSteps(document).is_byte_level
        return BpePruning(opened, document) if is_of_bytes else CharacterPruning(opened, document)
    if kind not in _OF_DOCUMENTS:
        raise SurgeryError(f"a {kind} has no pieces that others could take the place of")
    return _OF_DOCUMENTS[kind](opened, document)


_OF_MODELS: dict[ModelType, Callable[[Opened, bytes], Pruning]] = {
    ModelType.UNIGRAM: UnigramPruning,
    ModelType.BPE: CharacterPruning,
}
_OF_DOCUMENTS: dict[str, Callable[[Opened, Mapping[str, Any]], Pruning]] = {
    "Unigram": UnigramPruning,
    "WordPiece": WordPiecePruning,
}
