"""How tokens are added to a tokenizer, by its algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tokbench.errors import SurgeryError
from tokbench.surgery.bpe_extension import BpeExtension
from tokbench.surgery.character_extension import CharacterExtension
from tokbench.surgery.contents import contents_of
from tokbench.surgery.unigram_extension import UnigramExtension
from tokbench.surgery.wordpiece_extension import WordPieceExtension

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.opening.request import Opened
    from tokbench.surgery.contents import Algorithm
    from tokbench.surgery.extended_tokenizer import ExtendedTokenizer


class Extension(Protocol):
    """A tokenizer to extend: first with tokens of words, then with learned ones.

    Attributes:
        algorithm: what the tokenizer is, by a word of `contents.Algorithm`.
        opened: the tokenizer.
    """

    algorithm: ClassVar[Algorithm]
    opened: Opened

    @property
    def tokens(self) -> Sequence[bytes]:
        """The bytes of the added tokens, in the order of their ids."""

    def take_words(self, words: Sequence[str], *, threads: int | None) -> list[str]:
        """Make each word one token, with those that it needs on the way; notes, a sentence each.

        Raises:
            ConfigError: one is not a single word.
        """

    def count(self, corpus: Corpus, *, threads: int | None, progress: Progress) -> int | None:
        """Count what is to be learned from; the bytes of the text, where that is known. Raises `CorpusError`."""

    def learn(
        self,
        num_tokens: int,
        *,
        min_frequency: int,
        max_token_length: int | None,
        threads: int | None,
        progress: Progress,
    ) -> None:
        """Learn tokens from the counts; fewer than asked for where no more are worth adding."""

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
        """Make the files of the larger tokenizer, and prove them.

        Args:
            special_tokens: that come last.
            name: how the new one calls itself.
            texts: of which is proved what the algorithm promises.
            threads: for encoding them.
            seed: draws the generated texts of the comparison with libraries.
            progress: called with how much of the work is done.

        Raises:
            SurgeryError: something does not hold; `ProofError` if a library gives other ids.
            ConfigError: a special token is there already.
        """


def extension_of(opened: Opened) -> Extension:
    """What adds tokens to a tokenizer. Raises `SurgeryError` where nothing does."""
    found = contents_of(opened)
    if found.algorithm is None:
        raise SurgeryError(f"a {found.kind} cannot learn more pieces")
    return _EXTENSIONS[found.algorithm](opened, found.content)


_EXTENSIONS: dict[Algorithm, Callable[[Opened, Any], Extension]] = {
    "bpe": BpeExtension,
    "character_bpe": CharacterExtension,
    "unigram": UnigramExtension,
    "wordpiece": WordPieceExtension,
}
