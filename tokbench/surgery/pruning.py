"""Removal of tokens from a tokenizer of any supported algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tokbench.errors import SurgeryError
from tokbench.surgery.bpe_pruning import BpePruning
from tokbench.surgery.contents import contents_of
from tokbench.surgery.piece_pruning import CharacterPruning, UnigramPruning
from tokbench.surgery.wordpiece_pruning import WordPiecePruning

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from tokbench.core.progress import Progress
    from tokbench.opening.request import Opened
    from tokbench.surgery.contents import Algorithm, Contents
    from tokbench.surgery.id_map import IdMap
    from tokbench.surgery.leaves import Removal
    from tokbench.surgery.pruned_tokenizer import PrunedTokenizer
    from tokbench.surgery.token_usage import TokenUsage


class Pruning(Protocol):
    """A tokenizer to prune.

    Attributes:
        algorithm: the tokenizer's algorithm.
    """

    algorithm: ClassVar[Algorithm]

    @property
    def kept(self) -> Collection[int]:
        """The ids that are never removed."""

    @property
    def token_bytes(self) -> Mapping[int, bytes]:
        """Id → bytes of the ordinary tokens, which can be selected."""

    def count(self, texts: Iterable[str], *, threads: int | None) -> TokenUsage:
        """Count tokens or words of texts, as the algorithm needs. Raises `TextError`, `CorpusError`."""

    def choose(
        self, usage: TokenUsage, *, selected: Collection[int], size: int | None, min_count: int | None
    ) -> Removal:
        """Choose the tokens to remove.

        Args:
            usage: the counts; empty if only `selected` decides.
            selected: ids to remove regardless of their frequency, unless other tokens need them.
            size: maximum number of remaining tokens, special tokens included; None for no limit.
            min_count: tokens with fewer occurrences are removed; None for no limit.

        Raises:
            ConfigError: more than `size` tokens can never be removed.
        """

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
            SurgeryError: a check fails; `ProofError` if a library gives other ids.
        """


def pruning_of(opened: Opened, contents: Contents | None = None) -> Pruning:
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


_PRUNINGS: dict[Algorithm, Callable[[Opened, Any], Pruning]] = {
    "bpe": BpePruning,
    "character_bpe": CharacterPruning,
    "unigram": UnigramPruning,
    "wordpiece": WordPiecePruning,
}
