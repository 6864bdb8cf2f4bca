"""Addition of tokens to a tokenizer of any supported algorithm."""

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
    """A tokenizer to extend: first with given words as tokens, then with learned tokens.

    Attributes:
        algorithm: the tokenizer's algorithm.
        opened: the tokenizer.
    """

    algorithm: ClassVar[Algorithm]
    opened: Opened

    @property
    def tokens(self) -> Sequence[bytes]:
        """The bytes of the added tokens, in the order of their ids."""

    def take_words(self, words: Sequence[str], *, threads: int | None) -> list[str]:
        """Make each word one token, with the intermediate tokens that it needs; return notes, one sentence each.

        Raises:
            ConfigError: a text is not a single word.
        """

    def count(self, corpus: Corpus, *, threads: int | None, progress: Progress) -> int | None:
        """Count the words of a corpus to learn from; return its bytes, if known. Raises `CorpusError`."""

    def learn(
        self,
        num_tokens: int,
        *,
        min_frequency: int,
        max_token_length: int | None,
        threads: int | None,
        progress: Progress,
    ) -> None:
        """Learn tokens from the counts; fewer than `num_tokens` if no more are worth adding."""

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
        """Create the files of the extended tokenizer, and prove them.

        Args:
            special_tokens: special tokens to append last.
            name: name of the extended tokenizer.
            texts: texts on which the algorithm's guarantees are checked.
            threads: number of threads for encoding them.
            seed: seed of the generated texts for the comparison with libraries.
            progress: called with the amount of work done.

        Raises:
            SurgeryError: a check fails; `ProofError` if a library gives other ids.
            ConfigError: a special token exists already.
        """


def extension_of(opened: Opened) -> Extension:
    """Return the `Extension` for a tokenizer. Raises `SurgeryError` for an unsupported algorithm."""
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
