"""How tokens are removed from a tokenizer, by its algorithm."""

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
        algorithm: what the tokenizer is, by a word of `contents.Algorithm`.
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
        """Choose the tokens to remove.

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
            progress: called with how much of the work is done.

        Raises:
            SurgeryError: something does not hold; `ProofError` if a library gives other ids.
        """


def pruning_of(opened: Opened, contents: Contents | None = None) -> Pruning:
    """What removes tokens from a tokenizer.

    Args:
        opened: the tokenizer.
        contents: what it is, where that is known.

    Raises:
        SurgeryError: nothing does, or its file does not say what that needs.
    """
    found = contents or contents_of(opened)
    if found.algorithm is None:
        raise SurgeryError(f"a {found.kind} has no pieces that others could take the place of")
    return _PRUNINGS[found.algorithm](opened, found.content)


_PRUNINGS: dict[Algorithm, Callable[[Opened, Any], Pruning]] = {
    "bpe": BpePruning,
    "character_bpe": CharacterPruning,
    "unigram": UnigramPruning,
    "wordpiece": WordPiecePruning,
}
