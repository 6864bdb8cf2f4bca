"""Compare the contents of two tokenizers: tokens, ids, merges, special tokens, settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import tokenizer_fields
from tokbench.core.wording import unique_names
from tokbench.inspection.contents import (
    MergeDifferences,
    TokenDifferences,
    TokenizerContents,
    compare_merges,
    compare_tokens,
)
from tokbench.workbench.inspect import inspect_opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.interfaces import TokenizerInfo
    from tokbench.inspection.contents import Merge
    from tokbench.opening.request import Opened

SCHEMA = "tokbench.inspect.comparison/1"
_NOT_SETTINGS = {
    *("schema", "name", "backend", "kernel", "place", "format", "files", "bytes", "engine", "engine_reason"),
    *("lossless_reason", "special_tokens", "added_tokens", "config_files", "warnings"),
}
"""Fields of `inspect` that describe the file or the engine, or that are compared separately."""


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting that differs between two tokenizers.

    Attributes:
        name: name in the JSON of `tokbench inspect`; a nested setting is written as a path, such as `pattern.regex`.
        first: its value in the first tokenizer, None if it is not set.
        second: its value in the second tokenizer, likewise.
    """

    name: str
    first: Any
    second: Any


@dataclass(frozen=True, slots=True)
class VocabularyComparison:
    """The differences between two tokenizers.

    Attributes:
        infos: the two tokenizers.
        tokens: id → bytes of each tokenizer's tokens.
        differences: the differences of these tokens.
        merges: the differences of the merge lists; None if they are equal or not compared.
        merge_lists: the merge lists, empty if they are not compared.
        merges_not_compared: why the merges are not compared; None if they are.
        special_tokens: text → its two ids, for each special or added token whose ids differ or that one side lacks.
        settings: the settings that differ.
    """

    infos: tuple[TokenizerInfo, TokenizerInfo]
    tokens: tuple[Mapping[int, bytes], Mapping[int, bytes]]
    differences: TokenDifferences
    merges: MergeDifferences | None
    merge_lists: tuple[Sequence[Merge], Sequence[Merge]]
    merges_not_compared: str | None
    special_tokens: Mapping[str, tuple[int | None, int | None]]
    settings: tuple[SettingDifference, ...]

    @property
    def names(self) -> tuple[str, str]:
        """The two names, different from each other."""
        return _names(*self.infos)

    @property
    def same_tokens(self) -> int:
        """Number of tokens that both have under the same id."""
        first, second = self.tokens
        return sum(second.get(id) == token for id, token in first.items())

    @property
    def is_same(self) -> bool:
        """Whether everything that is compared is equal."""
        differences = self.differences
        differs = differences.moved or differences.only_first or differences.only_second or self.merges
        return not (differs or self.special_tokens or self.settings)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `tokbench inspect A B --json` prints."""
        first, second = self.tokens
        found = self.differences
        return {
            "schema": SCHEMA,
            "tokenizers": [
                {**tokenizer_fields(info), "name": name}
                for info, name in zip(self.infos, self.names, strict=True)
            ],
            "same": self.is_same,
            "same_tokens": self.same_tokens,
            "moved_tokens": [
                {"bytes": first[id].hex(), "id": id, "other_ids": list(there)}
                for id, there in found.moved.items()
            ],
            "only_first": [{"id": id, "bytes": first[id].hex()} for id in found.only_first],
            "only_second": [{"id": id, "bytes": second[id].hex()} for id in found.only_second],
            "merges": None
            if self.merges is None
            else {
                "first_rank": self.merges.rank,
                "only_first": [self._merge_fields(0, rank) for rank in self.merges.only_first],
                "only_second": [self._merge_fields(1, rank) for rank in self.merges.only_second],
                "moved": self.merges.moved,
            },
            "merges_not_compared": self.merges_not_compared,
            "special_tokens": [
                {"token": text, "ids": list(ids)} for text, ids in self.special_tokens.items()
            ],
            "settings": [{"name": each.name, "values": [each.first, each.second]} for each in self.settings],
        }

    def _merge_fields(self, which: int, rank: int) -> dict[str, Any]:
        left, right = self.merge_lists[which][rank]
        return {"rank": rank, "left": left.hex(), "right": right.hex()}


def compare_vocabularies(first: Opened, second: Opened) -> VocabularyComparison:
    """Compare two opened tokenizers."""
    ours, theirs = TokenizerContents(first), TokenizerContents(second)
    not_compared = _why_not_compared(ours, theirs)
    lists = ((), ()) if not_compared else (ours.merges or (), theirs.merges or ())
    return VocabularyComparison(
        infos=(ours.tokenizer.info, theirs.tokenizer.info),
        tokens=(ours.tokens, theirs.tokens),
        differences=compare_tokens(ours.tokens, theirs.tokens),
        merges=compare_merges(*lists),
        merge_lists=lists,
        merges_not_compared=not_compared,
        special_tokens=_special_tokens(first, second),
        settings=tuple(_settings(first, second)),
    )


def _names(first: TokenizerInfo, second: TokenizerInfo) -> tuple[str, str]:
    one, other = unique_names([first.name, second.name])
    return one, other


def _why_not_compared(ours: TokenizerContents, theirs: TokenizerContents) -> str | None:
    names = _names(ours.tokenizer.info, theirs.tokenizer.info)
    pairs = zip(names, (ours, theirs), strict=True)
    without = [name for name, contents in pairs if contents.merges is None]
    if without:
        verb = "has" if len(without) == 1 else "have"
        return f"{' and '.join(without)} {verb} no list of merges"
    return None


def _special_tokens(first: Opened, second: Opened) -> dict[str, tuple[int | None, int | None]]:
    ours, theirs = (
        {**opened.added_tokens, **opened.tokenizer.info.special_tokens} for opened in (first, second)
    )
    texts = dict.fromkeys((*ours, *theirs))
    return {text: (ours.get(text), theirs.get(text)) for text in texts if ours.get(text) != theirs.get(text)}


def _settings(first: Opened, second: Opened) -> list[SettingDifference]:
    ours, theirs = map(_settings_of, (first, second))
    names = dict.fromkeys((*ours, *theirs))
    return [
        SettingDifference(name, ours.get(name), theirs.get(name))
        for name in names
        if ours.get(name) != theirs.get(name)
    ]


def _settings_of(opened: Opened) -> dict[str, Any]:
    bpe = TokenizerContents(opened).bpe
    document = inspect_opened(replace(opened, find_warnings=tuple)).to_json()
    settings = {name: value for name, value in document.items() if name not in _NOT_SETTINGS}
    settings["whole_tokens_first"] = None if bpe is None else bpe.whole_tokens_first
    return dict(_flat(settings))


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten nested settings into names with dots, such as `pattern.regex`."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
