"""The normalization of a text by a `tokenizer.json`, so that the kernel gets the text that the library would split."""

from __future__ import annotations

import unicodedata
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.backends.bpe.kernel import current_kernel
from tokbench.core.normal_forms import characters_with_parts
from tokbench.libraries.huggingface.engines import engine_with
from tokbench.opening.character_changes import APART, ChangesByNeed, each_by_itself
from tokbench.opening.normalization_steps import (
    NFD,
    NFKD,
    WHITE_SPACE_RUNS,
    Step,
    is_at_ends,
    joined_steps,
    steps_of,
    steps_together,
    strips_accents,
)
from tokbench.opening.replacement_table import joining, table_of, texts_written
from tokbench.opening.unicode_agreement import all_may_become, may_become, syllables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.opening.still_characters import StillCharacters


class TextNormalization:
    """The normalization of a text before it is split.

    Args:
        normalizers: the document's normalizers, with sequences flattened.

    Attributes:
        kinds: the names of the steps.
        is_normal_form: whether one of Unicode's normal forms is applied, in which adjacent characters interact.

    Raises:
        NotNativeError: one of them is not supported here.
    """

    def __init__(self, normalizers: Sequence[Mapping[str, Any]]) -> None:
        self.kinds = tuple(map(_kind, normalizers))
        self._document: dict[str, Any] = {"type": "Sequence", "normalizers": list(normalizers)}
        self._steps = tuple(joined_steps(chain.from_iterable(map(steps_of, normalizers))))
        self.is_normal_form = any(map(_makes_normal_form, normalizers))
        self._ignores_following = all(map(_ignores_following, normalizers))

    def __bool__(self) -> bool:
        """Whether there is any step."""
        return bool(self._steps)

    def __call__(self, text: str) -> str:
        """Return the normalized text."""
        for step in self._steps_together:
            text = step(text)
        return text

    @cached_property
    def _steps_together(self) -> tuple[Step, ...]:
        return tuple(steps_together(self._steps))

    def with_origins(self, text: str) -> tuple[str, NDArray[np.int64]]:
        """Return the normalized text, and the index of each character's original character as `tokenizers` reports it.

        >>> text, origins = TextNormalization([{"type": "NFD"}, {"type": "StripAccents"}]).with_origins("né!")
        >>> text, origins.tolist()
        ('ne!', [0, 1, 2])
        """
        origins = np.arange(len(text))
        for step in self._steps_together:
            assert step.origins is not None  # `knows_origins` checked it
            step_origins = step.origins(text)
            if isinstance(step_origins, range):
                origins = origins[step_origins.start : step_origins.stop]
            else:
                origins = origins[step_origins]
            text = step(text)
        return text, origins

    @property
    def knows_origins(self) -> bool:
        """Whether origins can be computed, at least for some texts."""
        return all(step.origins is not None for step in self._steps)

    def knows_origins_of(self, text: str) -> bool:
        """Whether origins can be computed for a text, where they can be for some."""
        for number, step in enumerate(self._steps_together[: self._num_asked], 1):
            if step.finds_in is not None and not step.finds_in(text):
                return False
            if number < self._num_asked:
                text = step(text)
        return True

    @cached_property
    def _num_asked(self) -> int:
        """The number of steps up to the last one that finds the origins of some texts only."""
        steps = enumerate(self._steps_together, 1)
        places = [place for place, step in steps if step.finds_in is not None]
        return max(places, default=0)

    @property
    def is_by_character(self) -> bool:
        """Whether each character is normalized by itself, except for the order of combining marks."""
        return {"NFD", "NFKD", "Lowercase", "Nmt", "StripAccents", "BertNormalizer"}.issuperset(self.kinds)

    @cached_property
    def changes(self) -> ChangesByNeed | None:
        """Characters → normalized forms, for the native kernel; None if no step or more than that is needed."""
        if current_kernel().name != "native":
            return None
        ordering = [place for place, step in enumerate(self._steps) if step in (NFD, NFKD)]
        if not self._steps or not self.is_by_character or len(ordering) > 1:
            return None
        split_at = ordering[0] + 1 if ordering else len(self._steps)
        return ChangesByNeed(self._steps[:split_at], self._steps[split_at:], orders=bool(ordering))

    @cached_property
    def changes_after_nfc(self) -> ChangesByNeed | None:
        """The same for the steps after NFC, if the kernel does all of them; None if there are none."""
        if current_kernel().name != "native" or not self.begins_with_nfc or self.is_nfc:
            return None
        return ChangesByNeed(self._steps[1:], (), orders=False, before=all_may_become)

    def keeps_first(self, text: str) -> bool:
        """Whether the normalized text certainly begins with the text's own first character, unchanged.

        >>> strip = TextNormalization([{"type": "Strip", "strip_left": True, "strip_right": True}])
        >>> strip.keeps_first("a b"), strip.keeps_first(" a")
        (True, False)
        """
        if not self._steps or not text:
            return True
        stands_alone = not any(joining()[ord(character)] for character in text[:2])
        return self._ignores_following and stands_alone and not text[0].isspace() and self(text[0]) == text[0]

    def becomes(self, characters: set[str]) -> dict[str, frozenset[str]]:
        """Return each character that may become others, with itself and all that may occur in normalized text for it.

        Only if the normalization `is_by_character` or `begins_with_nfc`.
        """
        moving = characters & (characters_with_parts() | syllables())
        others = list(characters - moving - {APART})
        results = each_by_itself(others, self._steps) if others else []
        moving |= {other for other, result in zip(others, results, strict=True) if result != other}
        return {character: self._becomes(character) for character in moving}

    def _becomes(self, character: str) -> frozenset[str]:
        if self.begins_with_nfc:
            composed = may_become(character)
            changed = "".join(composed)
            for step in self._steps[1:]:
                changed = step(changed)
            return composed.union(changed)
        return frozenset((character, *unicodedata.normalize("NFD", character), *self(character)))

    @property
    def is_nfc(self) -> bool:
        """Whether it is NFC alone, which the kernel does by itself."""
        return self.kinds == ("NFC",)

    @property
    def begins_with_nfc(self) -> bool:
        """Whether NFC is first, and each character is normalized by itself after it, all of which the kernel does."""
        return self.kinds[:1] == ("NFC",) and {"Lowercase", "Nmt", "StripAccents"}.issuperset(self.kinds[1:])

    def is_composed(self, text: str) -> bool:
        """Whether NFC, with which the normalization must begin, leaves a text as it is."""
        return self._steps[0](text) == text

    def leaves(self, text: str) -> bool:
        """Whether a text, and every part of it, certainly stays as it is; False also if that is unknown."""
        return not self._steps or (self._still is not None and self._still.leaves(text))

    @cached_property
    def _still(self) -> StillCharacters | None:
        from tokbench.opening.still_characters import NORMAL_FORMS, StillCharacters

        forms = [form for form in NORMAL_FORMS if self.kinds == (form,)]
        return StillCharacters(forms[0]) if forms else None

    @property
    def keeps_parts(self) -> bool:
        """Whether every part of an unchanged text is left unchanged, too."""
        return {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Replace"}.issuperset(self.kinds)

    def disputed(self, characters: set[str]) -> set[str]:
        """Return the characters for which the library's result differs."""
        if not self._steps:
            return set()
        normalizer = self._librarys
        if self._treats_lines_separately:
            others = sorted(characters - {APART})
            together = f"\n{APART}\n".join(others)
            found = normalizer.normalize_str(together)
            if found == self(together) and found.count(APART) == max(len(others) - 1, 0):
                characters = characters & {APART}
        return {
            character for character in characters if normalizer.normalize_str(character) != self(character)
        }

    @property
    def _treats_lines_separately(self) -> bool:
        """Whether what is between two line feeds becomes the same as if it were alone.

        White space that steps write in place of line feeds would be in one cluster with marks after it.
        """
        return self.kinds[0] in {*_WITHIN_LINES, "Precompiled"} and _WITHIN_LINES.issuperset(self.kinds[1:])

    @cached_property
    def _librarys(self) -> Any:
        return engine_with(normalizer=self._document).normalizer

    @cached_property
    def written(self) -> frozenset[str]:
        """The characters that replacements may write, whether or not a text has them."""
        return frozenset("".join(map(_written, self._document["normalizers"])))


_WITHIN_LINES = frozenset(
    {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt", "StripAccents", "BertNormalizer"}
)


def _kind(step: Mapping[str, Any]) -> str:
    return "Replace at the ends" if is_at_ends(step) else str(step.get("type"))


def _written(step: Mapping[str, Any]) -> str:
    match step.get("type"):
        case "Replace":
            return str(step["content"])
        case "Prepend":
            return str(step["prepend"])
        case "Precompiled":
            return texts_written(table_of(step))
    return ""


def _ignores_following(step: Mapping[str, Any]) -> bool:
    """Whether a step treats a text's first character, unless it is a space, independently of those after it."""
    if step.get("type") == "Replace" and not is_at_ends(step):
        return step.get("pattern") == {"String": " "} or str(step["pattern"].get("Regex")) in WHITE_SPACE_RUNS
    return step.get("type") != "Prepend"


def _makes_normal_form(step: Mapping[str, Any]) -> bool:
    if step.get("type") == "BertNormalizer":
        return strips_accents(step)
    return step.get("type") in {"NFC", "NFD", "NFKC", "NFKD"}
