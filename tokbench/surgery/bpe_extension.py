"""Addition of tokens to a byte-level BPE by further merges; the result is a `tokenizer.json`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.errors import ConfigError
from tokbench.formats.tokenizer_json import check_no_pretoken, to_byte_level
from tokbench.surgery.bpe_document import read_bpe
from tokbench.surgery.documents import added_outside, extended_document
from tokbench.surgery.extended_tokenizer import Extension, added_token_error, note_on_known_words
from tokbench.surgery.growth import (
    CountedPretokens,
    Vocabulary,
    count_pretokens,
    grow,
    made_of,
    pretoken_bytes,
    split_of,
    unchanged_words,
)
from tokbench.surgery.proofs import Coarser, SegmentationProof, wrong

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.surgery.contents import Algorithm
    from tokbench.surgery.growth import NewToken


@dataclass
class BpeExtension(Extension):
    """A byte-level BPE to extend."""

    _new: list[NewToken] = field(default_factory=list)
    _counted: CountedPretokens = field(default_factory=lambda: CountedPretokens.once([]))
    algorithm: ClassVar[Algorithm] = "bpe"

    def __post_init__(self) -> None:
        bpe = read_bpe(self.document, path=self.opened.source.path)
        self._grown = self._vocabulary = Vocabulary.of(bpe, size=self.first_id)

    @property
    def tokens(self) -> Sequence[bytes]:
        """The bytes of the new tokens."""
        return self._grown.tokens[self.first_id :]

    def take_words(self, words: Sequence[str], *, threads: int | None) -> list[str]:
        """Make each word one token by the merges that it needs; return notes about words that stay several tokens."""
        pretokens = CountedPretokens.once(self.words_of(words))
        known = self._num_tokens(pretokens.words, threads=threads).count(1)
        most = sum(len(pretoken_bytes(word)) for word in pretokens.words)
        self._grow(pretokens, most, min_frequency=1, max_token_length=None, threads=threads)
        sizes = self._num_tokens(pretokens.words, threads=threads)
        return note_on_known_words(known, len(sizes)) + [
            f"{word!r} stays {size} tokens: it is a token already, made by other merges"
            for word, size in zip(pretokens.words, sizes, strict=True)
            if size > 1
        ]

    def count(self, corpus: Corpus, *, threads: int | None, progress: Progress) -> int | None:
        """Count the pre-tokens of a corpus."""
        self._counted = count_pretokens(
            self.opened.tokenizer, self.document, corpus, threads=threads, progress=progress
        ).without(self._missing)
        return self._counted.num_bytes

    def learn(
        self,
        num_tokens: int,
        *,
        min_frequency: int,
        max_token_length: int | None,
        threads: int | None,
        progress: Progress,
    ) -> None:
        """Learn tokens from counted pre-tokens."""
        self._grow(
            self._counted,
            num_tokens,
            min_frequency=min_frequency,
            max_token_length=max_token_length,
            threads=threads,
            progress=progress,
        )

    def changed(self, special_tokens: Mapping[str, int]) -> Mapping[str, Any]:
        """Append the new tokens with their merges, and the special tokens."""
        spelled = [to_byte_level(token) for token in self._grown.tokens]
        if self.document["model"].get("ignore_merges"):
            check_no_pretoken([*added_outside(self.document), *special_tokens])
        return extended_document(
            self.document,
            {spelled[id]: id for id in range(self.first_id, len(spelled))},
            merges=[(spelled[left], spelled[right]) for left, right, _ in self._new],
            special_tokens=special_tokens,
        )

    def made_of(self) -> Mapping[int, Sequence[int]]:
        """Map each new id to the old ids that spell it, in order."""
        return made_of(self._new, first_id=self.first_id)

    def rule(self, new: Tokenizer) -> Coarser:
        """Return the rule that texts have no new token boundaries."""
        return Coarser(self.opened.tokenizer, new)

    def check(self, new: Tokenizer, *, texts: Sequence[str], threads: int | None) -> SegmentationProof:
        """Check that texts and counted pre-tokens have no new token boundaries."""
        proof = super().check(new, texts=texts, threads=threads)
        words = self._counted.words
        if not words:
            return proof
        unchanged = unchanged_words(self._vocabulary, self._grown, words, threads=threads)
        if unchanged is None:
            raise wrong("a word would get new token boundaries")
        return SegmentationProof(len(texts), unchanged=unchanged, changed=len(words) - unchanged)

    @cached_property
    def _split(self) -> Any:
        return split_of(self.opened.tokenizer, self.document)

    @cached_property
    def _missing(self) -> bytes:
        return self._vocabulary.missing_bytes

    def _num_tokens(self, words: list[str], *, threads: int | None) -> list[int]:
        offsets = self._grown.cut(words, threads=threads).offsets
        return list((offsets[1:] - offsets[:-1]).tolist())

    def word_of(self, text: str) -> str:
        """Return a text as one pre-token. Raises `ConfigError` if it is split or contains a byte without a token."""
        pretokens = self._split(text)
        if not pretokens and text in self.added_texts:
            raise added_token_error(text)
        if len(pretokens) != 1:
            parts = ", ".join(repr(part).replace(r"\udc", r"\x") for part in pretokens) or "nothing"
            raise ConfigError(
                f"the word {text!r} is not one pre-token: it is split into {parts}, and merges do not "
                f"cross pre-tokens",
                hint="leave it out, or give its parts",
            )
        [pretoken] = pretokens
        missing = set(self._missing).intersection(pretoken_bytes(pretoken))
        if missing:
            raise ConfigError(
                f"the word {text!r} has the byte {min(missing)}, for which there is no token",
                hint="leave it out",
            )
        return str(pretoken)

    def _grow(self, words: CountedPretokens, num_tokens: int, **options: Any) -> None:
        new = grow(self._grown, words, num_tokens=num_tokens, **options)
        self._new.extend(new)
        self._grown = self._grown.grown(new)
