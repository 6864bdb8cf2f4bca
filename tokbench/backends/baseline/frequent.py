"""The baselines `char` and `word`: one token for every frequent character or word.

The vocabulary consists of the special tokens, including [UNK], and the most frequent characters
or words of a text; ties go to the lower code points. Every other character or word becomes
one [UNK].
"""

from __future__ import annotations

import dataclasses
import time
from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, groupby, repeat
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from tokbench import store
from tokbench.core.base import utf8
from tokbench.core.interfaces import TokenizerInfo, TrainingRecord
from tokbench.core.progress import no_progress, reading_of
from tokbench.core.special_tokens import SpecialTokenFinder, check_special_tokens
from tokbench.core.tokens import Encoded, EncodedSpans, Span, SpecialPolicy, Token, TokenKind
from tokbench.core.training import DEFAULT_WORDS, early_end, identity_of, no_text, refuse_one_text
from tokbench.core.wording import counted
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.store.saveable import SaveableTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.documents import TextIdentity
    from tokbench.core.manifest import Manifest
    from tokbench.core.progress import Progress
    from tokbench.explain.derivation import Derivation

UNKNOWN = "[UNK]"
VOCABULARY_NAME = "vocabulary.json"

_MAX_VOCAB_SIZE = 1 << 24
_MAX_INTEGER = 2**63 - 1
_RETRAIN = "the folder is damaged: restore it, or train again"
_SECONDS_BETWEEN_REPORTS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentConfig:
    """The training options of `char` and `word`. Raises `ConfigError` for an invalid option."""

    vocab_size: int | None = field(
        default=None,
        metadata={
            "help": f"vocabulary size, special tokens included; by default every character, or {DEFAULT_WORDS:,} words"
        },
    )
    special_tokens: tuple[str, ...] = field(
        default=(UNKNOWN,),
        metadata={"help": f"special tokens, numbered first; {UNKNOWN} is always one"},
    )
    min_frequency: int = field(default=1, metadata={"help": "rarer characters or words get no token"})

    def __post_init__(self) -> None:
        check_special_tokens(self.all_special_tokens)
        smallest = len(self.all_special_tokens) + 1
        if self.vocab_size is not None and not smallest <= self.vocab_size <= _MAX_VOCAB_SIZE:
            raise ConfigError(
                f"vocab_size is {self.vocab_size}", hint=f"it must be from {smallest} to {_MAX_VOCAB_SIZE}"
            )
        if not 1 <= self.min_frequency <= _MAX_INTEGER:
            raise ConfigError(
                f"min_frequency is {self.min_frequency}",
                hint=f"it must be at least 1 and at most {_MAX_INTEGER}",
            )

    @property
    def all_special_tokens(self) -> tuple[str, ...]:
        """The special tokens in the order of their ids, including [UNK]."""
        return self.special_tokens if UNKNOWN in self.special_tokens else (UNKNOWN, *self.special_tokens)


class FrequentTokenizer(SaveableTokenizer):
    """A tokenizer with one token for each of the most frequent parts of texts, and [UNK] for all other parts.

    Attributes:
        parts: the texts of the tokens in the order of their ids, special tokens and [UNK] first.
    """

    backend: ClassVar[str]

    def __init__(
        self,
        parts: Sequence[str],
        *,
        num_special: int,
        name: str | None = None,
        config: Mapping[str, Any] | None = None,
        training: TrainingRecord | None = None,
        identify_text: Callable[[], TextIdentity] | None = None,
    ) -> None:
        specials = {text: id for id, text in enumerate(parts[:num_special]) if text != UNKNOWN}
        info = TokenizerInfo(
            name=name or f"{self.backend}-{len(parts)}",
            backend=self.backend,
            vocab_size=len(parts),
            special_tokens=specials,
            lossless=False,
            kernel="python",
        )
        super().__init__(info, training=training)
        self.parts = tuple(parts)
        self.config = dict(config or {})
        self.identify_text = identify_text
        self._unknown_id = self.parts.index(UNKNOWN)
        self._part_ids = {part: id for id, part in enumerate(parts) if id >= num_special}

    @staticmethod
    @abstractmethod
    def cut(text: str) -> Sequence[str]:
        """Split a text into parts; joined, they are the text."""

    def own_roles(self) -> Mapping[str, str]:
        """Return the role of the unknown token."""
        return {"unk": UNKNOWN}

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text."""
        find, unknown = self._part_ids.get, self._unknown_id
        return [find(part, unknown) for part in self.cut(text)]

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        """Yield the tokens of a text, treating special tokens as ordinary text; spans are relative to its start."""
        start = 0
        for part in self.cut(text):
            id = self._part_ids.get(part, self._unknown_id)
            data = part.encode()
            span = Span(start, start + len(data))
            start = span.stop
            if id == self._unknown_id:
                yield Token(id, UNKNOWN.encode(), span, TokenKind.UNKNOWN)
            else:
                yield Token(id, data, span, TokenKind.NORMAL)

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """Return the tokens of many texts with their spans, in arrays. Raises `TextError` for surrogates."""
        import numpy as np

        from tokbench.core.token_arrays import KIND_NUMBERS, character_offsets, offsets_of, tiled_spans

        del threads
        for text in texts:
            utf8(text)
        cuts = [self.cut(text) for text in texts]
        parts = list(chain.from_iterable(cuts))
        part_ids = map(self._part_ids.get, parts, repeat(self._unknown_id))
        ids = np.fromiter(part_ids, np.uint32, len(parts))
        offsets = offsets_of(list(map(len, cuts)))
        edges = character_offsets("".join(texts))[offsets_of(list(map(len, parts)))]
        starts, stops = tiled_spans(offsets, np.diff(edges))
        kinds = np.where(ids == self._unknown_id, KIND_NUMBERS[TokenKind.UNKNOWN], 0).astype(np.uint8)
        return EncodedSpans(Encoded(ids=ids, offsets=offsets), starts, stops, kinds)

    def derivation(self, text: str) -> Derivation:
        """Return the steps from a text to its ids: it is split, and each part is looked up. Raises `TextError`."""
        from tokbench.explain.causes import Symbol
        from tokbench.explain.derivation import Derivation, LookupTrace, Step
        from tokbench.explain.pretokens import PreToken

        utf8(text)
        rule = f"every {self.backend} is looked up"
        steps: list[Step] = []
        start = 0
        for part in self.cut(text):
            data = part.encode()
            id = self._part_ids.get(part, self._unknown_id)
            symbol = Symbol(id, self.parts[id].encode())
            steps.append(Step(PreToken(part, Span(start, start + len(data))), LookupTrace(rule, (symbol,))))
            start += len(data)
        return Derivation(
            f"{self.backend}s, the most frequent", text, (), f"every {self.backend}", tuple(steps)
        )

    def ordinary_bytes(self, id: int) -> bytes | None:
        """Return the bytes of a token that is not special."""
        return self.parts[id].encode()

    def token_id(self, piece: bytes) -> int | None:
        """Return the id of a token, or None; a special token is looked up by the bytes of its text."""
        try:
            text = piece.decode()
        except UnicodeDecodeError:
            return None
        return self._unknown_id if text == UNKNOWN else self._special_ids.get(text, self._part_ids.get(text))

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens. Raises `StoreError`."""
        import orjson
        import regex

        self.write(
            directory,
            {VOCABULARY_NAME: orjson.dumps(self.parts, option=orjson.OPT_APPEND_NEWLINE)},
            overwrite=overwrite,
            config=self.config,
            versions={"regex": regex.__version__},
        )


class CharTokenizer(FrequentTokenizer):
    """A tokenizer with one token for every frequent character (code point)."""

    backend = "char"

    @staticmethod
    def cut(text: str) -> Sequence[str]:
        """Split a text into characters."""
        return text


class WordTokenizer(FrequentTokenizer):
    """A tokenizer with one token for every frequent word, and for every frequent run of characters between words."""

    backend = "word"

    @staticmethod
    def cut(text: str) -> Sequence[str]:
        """Split a text into words as defined by UAX 29, and the runs between them.

        >>> WordTokenizer.cut("don't stop, 3.14!")
        ["don't", ' ', 'stop', ', ', '3.14', '!']
        """
        return list(_words(text))


def _words(text: str) -> Iterator[str]:
    parts = filter(None, _word_boundaries().split(text))
    for is_word, group in groupby(parts, key=lambda part: _word_character().search(part) is not None):
        if is_word:
            yield from group
        else:
            yield "".join(group)


@cache
def _word_boundaries() -> Any:
    import regex

    return regex.compile(r"(?w)\b", flags=regex.V1)


@cache
def _word_character() -> Any:
    import regex

    return regex.compile(r"\w")


_Tokenizer = TypeVar("_Tokenizer", bound=FrequentTokenizer)


class _FrequentBackend(Generic[_Tokenizer]):
    """The common base of the backends `char` and `word`; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str]
    kernel: ClassVar[str] = "python"
    config_type: ClassVar[type[FrequentConfig]] = FrequentConfig
    _tokenizer_type: type[_Tokenizer]
    _unit: ClassVar[str]
    _default_size: ClassVar[int | None] = None

    def train(
        self, documents: Iterable[str], config: FrequentConfig, *, progress: Progress = no_progress
    ) -> _Tokenizer:
        """Learn a tokenizer from documents. Raises `TrainingError`, `CorpusError`."""
        started = time.perf_counter()
        counts, num_documents, num_bytes = self._count(documents, config, progress=progress)
        if not counts:
            raise no_text()
        specials = config.all_special_tokens
        size = config.vocab_size or self._default_size
        frequent = [part for part, count in counts.items() if count >= config.min_frequency]
        frequent.sort(key=lambda part: (-counts[part], part))
        parts = [*specials, *frequent[: None if size is None else size - len(specials)]]
        return self._tokenizer_type(
            parts,
            num_special=len(specials),
            config=dataclasses.asdict(config) | {"special_tokens": list(specials)},
            identify_text=identity_of(documents),
            training=TrainingRecord(
                documents=num_documents,
                num_bytes=num_bytes,
                pretokens=counts.total(),
                distinct_pretokens=len(counts),
                tokens=counts.total(),
                learned_ids=range(len(specials), len(parts)),
                learned_unit=self._unit,
                seconds={"counting": time.perf_counter() - started},
                threads=1,
                kernel=self.kernel,
                requested_vocab_size=config.vocab_size,
                stopped_early=early_end(
                    f"no other {self._unit} occur {counted(config.min_frequency, 'time')} or more",
                    learned=len(parts),
                    wanted=config.vocab_size or 0,
                ),
            ),
        )

    def load(self, directory: Path, manifest: Manifest) -> _Tokenizer:
        """Open a folder that `FrequentTokenizer.save` wrote. Raises `ModelFormatError`."""
        files = store.read_files(directory, manifest)
        path = directory / VOCABULARY_NAME
        parts = _parse_vocabulary(files.get(VOCABULARY_NAME, b""), path=path)
        num_special = len(manifest.special_tokens) + 1
        expected = {text: id for id, text in enumerate(parts[:num_special]) if text != UNKNOWN}
        if expected != manifest.special_tokens or UNKNOWN not in parts[:num_special]:
            raise ModelFormatError(
                path, "the special tokens of the manifest first", "different ones", hint=_RETRAIN
            )
        if len(parts) != manifest.vocab_size:
            raise ModelFormatError(path, f"{manifest.vocab_size} tokens", f"{len(parts)}", hint=_RETRAIN)
        tokenizer = self._tokenizer_type(
            parts, num_special=num_special, name=manifest.name, config=manifest.config
        )
        tokenizer.verify_against(manifest, path=directory)
        return tokenizer

    def _count(
        self, documents: Iterable[str], config: FrequentConfig, *, progress: Progress
    ) -> tuple[Counter[str], int, int]:
        """Return how often each part occurs, and the number of documents and bytes."""
        refuse_one_text(documents)
        finder = SpecialTokenFinder(config.all_special_tokens)
        counts: Counter[str] = Counter()
        num_documents = num_bytes = 0
        reported, read = time.monotonic(), reading_of(documents)
        for text in documents:
            num_documents += bool(text)
            num_bytes += len(utf8(text))
            for piece in finder.cut(text, special=SpecialPolicy.ENCODE):
                if not piece.is_special:
                    counts.update(self._tokenizer_type.cut(piece.text))
            if time.monotonic() - reported > _SECONDS_BETWEEN_REPORTS:
                progress("counting", *read(num_bytes), "bytes")
                reported = time.monotonic()
        return counts, num_documents, num_bytes


class CharBackend(_FrequentBackend[CharTokenizer]):
    """The registered backend "char"; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str] = "char"
    summary: ClassVar[str] = "a baseline: every frequent character is a token"
    _tokenizer_type = CharTokenizer
    _unit = "characters"


class WordBackend(_FrequentBackend[WordTokenizer]):
    """The registered backend "word"; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str] = "word"
    summary: ClassVar[str] = "a baseline: every frequent word is a token, and every text between words"
    _tokenizer_type = WordTokenizer
    _unit = "words"
    _default_size = DEFAULT_WORDS


def _parse_vocabulary(data: bytes, *, path: Path) -> list[str]:
    import orjson

    try:
        parts = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ModelFormatError(path, "JSON", str(error), hint=_RETRAIN) from None
    if not isinstance(parts, list) or not all(isinstance(part, str) and part for part in parts):
        raise ModelFormatError(path, "a list of texts", "something else", hint=_RETRAIN)
    return parts
