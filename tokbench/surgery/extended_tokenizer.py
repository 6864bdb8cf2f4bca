"""A tokenizer to extend by tokens, and the result: its files, proved before anything is written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.core.wording import counted, first_of
from tokbench.errors import ConfigError
from tokbench.surgery.contents import Contents
from tokbench.surgery.id_map import IdMap, InitialRows
from tokbench.surgery.library_proofs import LibraryProofs, prove_in_libraries, reopened
from tokbench.surgery.proofs import check_texts, wrong
from tokbench.surgery.shared_tokens import tokens_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.convert.proof import ProofResult
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.opening.request import Opened
    from tokbench.surgery.contents import Algorithm, Content
    from tokbench.surgery.proofs import Rule, SegmentationProof

_REFUSED_SHOWN = 20
"""Number of words shown that cannot be one token, besides the first."""


@dataclass(frozen=True, slots=True)
class ExtensionProofs:
    """The results of the checks before anything is written.

    Attributes:
        tokens: number of old ids, each with its old bytes.
        segmentations: number of texts and distinct words for which the algorithm's guarantees hold.
        encodings: the comparison with each library that opens one of the files.
    """

    tokens: int
    segmentations: SegmentationProof
    encodings: tuple[ProofResult, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of the checks."""
        return {
            "tokens": self.tokens,
            "segmentations": self.segmentations.to_json(),
            "encodings": [proof.to_json() for proof in self.encodings],
        }


@dataclass(frozen=True, slots=True)
class ExtendedTokenizer:
    """A tokenizer with additional tokens.

    Attributes:
        opened: the extended tokenizer.
        contents: the content with its tokens.
        files: file name → content.
        id_map: the map from the old ids to the new ids.
        rows: the initial rows of a new embedding.
        proofs: the results of the checks.
        notes: remarks for the user, one sentence each.
    """

    opened: Opened
    contents: Contents
    files: Mapping[str, bytes]
    id_map: IdMap
    rows: InitialRows
    proofs: ExtensionProofs
    notes: tuple[str, ...]


def note_on_known_words(num_known: int, num_words: int) -> list[str]:
    """Say how many of some words are tokens already, unless it is all or none.

    >>> note_on_known_words(1, 4), note_on_known_words(4, 4)
    (['of 4 words, 1 is a token already'], [])
    """
    if num_known in (0, num_words):
        return []
    are = "1 is a token" if num_known == 1 else f"{num_known:,} are tokens"
    return [f"of {counted(num_words, 'word')}, {are} already"]


def added_token_error(text: str) -> ConfigError:
    """Return the error for a text that cannot be a word because it is an added token."""
    return ConfigError(
        f"the word {text!r} is an added token, which is taken out of text before words are found",
        hint="leave it out",
    )


@dataclass
class Extension(ABC):
    """A tokenizer to extend: first with given words as tokens, then with learned tokens.

    Attributes:
        opened: the tokenizer.
        content: the content with its tokens: a serialized `ModelProto`, or a parsed `tokenizer.json`.
        algorithm: the tokenizer's algorithm.
    """

    opened: Opened
    content: Content
    algorithm: ClassVar[Algorithm]

    @property
    @abstractmethod
    def tokens(self) -> Sequence[bytes]:
        """The bytes of the added tokens, in the order of their ids."""

    @property
    def first_id(self) -> int:
        """The id of the first new token."""
        return self.opened.tokenizer.info.vocab_size

    @property
    def document(self) -> Mapping[str, Any]:
        """The tokenizer as a parsed `tokenizer.json`; it must be one."""
        assert not isinstance(self.content, bytes)
        return self.content

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user about the algorithm, one sentence each."""
        return ()

    @abstractmethod
    def word_of(self, text: str) -> str:
        """Return a text as a single word. Raises `ConfigError` if it is none."""

    def words_of(self, texts: Sequence[str]) -> list[str]:
        """Return distinct texts as single words. Raises `ConfigError`, which names all texts that are none."""
        words: dict[str, None] = {}
        refused: dict[str, ConfigError] = {}
        for text in dict.fromkeys(texts):
            try:
                words[self.word_of(text)] = None
            except ConfigError as error:
                refused[text] = error
        if len(refused) > 1:
            first, *others = refused
            listed = first_of([repr(text) for text in others], _REFUSED_SHOWN)
            raise ConfigError(
                f"{refused[first].message}; nor can {counted(len(others), 'other word')} be one token: {listed}",
                hint="leave them out, or give their parts",
            )
        if refused:
            raise next(iter(refused.values()))
        return list(words)

    @property
    def added_texts(self) -> frozenset[str]:
        """The texts that are added tokens of a `tokenizer.json`."""
        if isinstance(self.content, bytes):
            return frozenset()
        return frozenset(token["content"] for token in self.content.get("added_tokens") or ())

    @abstractmethod
    def take_words(self, words: Sequence[str], *, threads: int | None) -> list[str]:
        """Make each word one token, with the intermediate tokens that it needs; return notes, one sentence each.

        Raises:
            ConfigError: a text is not a single word.
        """

    @abstractmethod
    def count(self, corpus: Corpus, *, threads: int | None, progress: Progress) -> int | None:
        """Count the words of a corpus to learn from; return its bytes, if known. Raises `CorpusError`."""

    @abstractmethod
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

    @abstractmethod
    def changed(self, special_tokens: Mapping[str, int]) -> Content:
        """Return the content with the new tokens and special tokens. Raises `ConfigError`, `SurgeryError`."""

    @abstractmethod
    def made_of(self) -> Mapping[int, Sequence[int]]:
        """Map each new id to the old ids that spell it, in order."""

    @abstractmethod
    def rule(self, new: Tokenizer) -> Rule:
        """Return the rule for texts whose ids an extension changes."""

    def check(self, new: Tokenizer, *, texts: Sequence[str], threads: int | None) -> SegmentationProof:
        """Check the algorithm's guarantees on texts. Raises `SurgeryError`."""
        tokenizers = self.opened.tokenizer, new
        return check_texts(texts, tokenizers=tokenizers, rule=self.rule(new), threads=threads)

    def extend(
        self,
        special_tokens: Sequence[str],
        *,
        name: str,
        texts: Sequence[str],
        threads: int | None,
        seed: int,
        progress: Progress,
        is_final: bool = True,
    ) -> ExtendedTokenizer:
        """Create the files of the extended tokenizer, and prove them.

        Args:
            special_tokens: special tokens to append last.
            name: name of the extended tokenizer.
            texts: texts on which the algorithm's guarantees are checked.
            threads: number of threads for encoding them.
            seed: seed of the generated texts for the comparison with libraries.
            progress: called with the amount of work done.
            is_final: whether these files may be written, and are compared with libraries; False where they are changed
                once more, and proved then.

        Raises:
            SurgeryError: a check fails; `ProofError` if a library gives different ids.
            ConfigError: a special token exists already.
        """
        old, first_special = self.opened.tokenizer, self.first_id + len(self.tokens)
        specials = {text: id for id, text in enumerate(special_tokens, first_special)}
        content = self.changed(specials)
        sizes = self.first_id, first_special + len(specials)
        id_map = IdMap.of_pairs(((id, id) for id, _ in tokens_of(old)), sizes=sizes)
        with reopened(content, self.opened, id_map, name=name) as trial:
            new = trial.opened.tokenizer
            kept = _check_tokens(old, new, id_map)
            segmentations = self.check(new, texts=texts, threads=threads)
            proved = LibraryProofs(encodings=())
            if is_final:
                proved = prove_in_libraries(
                    trial, self.algorithm, self.opened.source.format, seed=seed, progress=progress
                )
        return ExtendedTokenizer(
            opened=trial.opened,
            contents=Contents(self.algorithm, content, self.algorithm),
            files=trial.files | proved.files,
            id_map=id_map,
            rows=InitialRows.of(id_map, self.made_of()),
            proofs=ExtensionProofs(kept, segmentations, proved.encodings),
            notes=(*self.notes, *proved.notes),
        )


def _check_tokens(old: Tokenizer, new: Tokenizer, id_map: IdMap) -> int:
    """Check that old tokens keep their bytes and remain special if they were; return the number of old ids."""
    kept = [id for id in id_map.new_to_old if id >= 0]
    for id in kept:
        if (before := old.token_bytes(id)) != (after := new.token_bytes(id)):
            raise wrong(f"token {id}, {before!r}, would be {after!r}")
    for text, id in old.info.special_tokens.items():
        if new.info.special_tokens.get(text) != id:
            raise wrong(f"the special token {text!r} would not be {id} any more")
    return len(kept)
