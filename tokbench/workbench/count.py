"""Count the tokens of texts."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from tokbench.core.capabilities import SupportsCounts
from tokbench.core.result_json import tokenizer_fields
from tokbench.core.tokens import SpecialPolicy
from tokbench.workbench.encode import distinct_infos, naming_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.corpus.inputs import TextInput


@dataclass(frozen=True, slots=True)
class Count:
    """The length of a text in tokens, bytes and characters."""

    source: str
    tokens: int
    num_bytes: int
    characters: int

    @property
    def bytes_per_token(self) -> float | None:
        """UTF-8 bytes over tokens; None if there are no tokens."""
        return self.num_bytes / self.tokens if self.tokens else None

    def joined(self, other: Count) -> Count:
        """Return the counts of this text and another one together."""
        return Count(
            self.source,
            self.tokens + other.tokens,
            self.num_bytes + other.num_bytes,
            self.characters + other.characters,
        )

    def to_json(self) -> dict[str, Any]:
        """Return this part of the JSON document."""
        return {
            "source": self.source,
            "tokens": self.tokens,
            "bytes": self.num_bytes,
            "characters": self.characters,
            "bytes_per_token": self.bytes_per_token,
        }


@dataclass(frozen=True, slots=True)
class CountResult:
    """The lengths of several texts."""

    info: TokenizerInfo
    counts: tuple[Count, ...]

    @property
    def total(self) -> Count:
        """Sum of all counts."""
        return reduce(Count.joined, self.counts, Count("total", 0, 0, 0))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        total = self.total.to_json()
        del total["source"]
        return {
            "schema": "tokbench.count/1",
            **tokenizer_fields(self.info),
            "files": [count.to_json() for count in self.counts],
            "total": total,
        }


def count_document(results: Sequence[CountResult]) -> dict[str, Any]:
    """Return the JSON document of one tokenizer, or of several in a list named `tokenizers`."""
    documents = [result.to_json() for result in results]
    if len(documents) == 1:
        return documents[0]
    return {"schema": documents[0]["schema"], "tokenizers": documents}


_SHORT_TEXT = 1 << 18


def count_tokens(
    tokenizers: Sequence[Tokenizer],
    inputs: Iterable[TextInput],
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    per_line: bool = False,
) -> tuple[CountResult, ...]:
    """Count the tokens, bytes and characters of each text.

    Args:
        tokenizers: each counts every text; the texts are read only once.
        inputs: the texts; parts of the same file are counted together.
        special: what the text of a special token becomes.
        per_line: whether to count each line of a text, and each part of a file, separately.

    Returns:
        One result per tokenizer.

    Raises:
        SpecialTokenError, TextError: as `Tokenizer.encode`.
    """
    counts: list[list[Count]] = [[] for _ in tokenizers]
    for item in _lines(inputs) if per_line else inputs:
        size, characters = len(item.text.encode()), len(item.text)
        joins = item.continues and not per_line
        for tokenizer, own_counts in zip(tokenizers, counts, strict=True):
            with naming_place(item):
                tokens = num_tokens(tokenizer, item.text, special=special)
            count = Count(item.source if per_line else item.file, tokens, size, characters)
            own_counts.append(own_counts.pop().joined(count) if joins else count)
    return tuple(
        CountResult(info=info, counts=tuple(own_counts))
        for info, own_counts in zip(distinct_infos(tokenizers), counts, strict=True)
    )


def _lines(inputs: Iterable[TextInput]) -> Iterator[TextInput]:
    """Yield each line as a text, without its line end; a text with a single line keeps its name."""
    for item in inputs:
        lines = item.text.removesuffix("\n").split("\n")
        for number, line in enumerate(lines, start=1):
            source = item.source if len(lines) == 1 else f"{item.source}:{number}"
            yield dataclasses.replace(item, source=source, text=line.removesuffix("\r"))


def num_tokens(tokenizer: Tokenizer, text: str, *, special: SpecialPolicy) -> int:
    """Return the number of tokens of a text; a short text does not import NumPy, which is slow."""
    if len(text) <= _SHORT_TEXT:
        return len(tokenizer.encode(text, special=special))
    if isinstance(tokenizer, SupportsCounts):
        return int(tokenizer.count_batch([text], special=special, threads=1)[0])
    return len(tokenizer.encode_batch([text], special=special, threads=1).ids)
