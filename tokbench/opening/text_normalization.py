"""The normalizers of a `tokenizer.json` in Python, so that the kernel gets the text that the library would split.

They mirror `tokenizers/src/normalizers` of Hugging Face's library: unicode.rs, replace.rs, prepend.rs, strip.rs (and
StripAccents), bert.rs and utils.rs (Lowercase). Regular expressions that Python may interpret differently are left to
the library's own step, tables of replacements to replacement_table.py. The library lower-cases each character by
itself, so that a final sigma is not special.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.backends.bpe.kernel import current_kernel, has_native_kernel
from tokbench.core.nfc import nfc
from tokbench.core.special_tokens import WHITE_SPACE
from tokbench.libraries.huggingface.engines import engine_with
from tokbench.opening import character_origins
from tokbench.opening.character_changes import APART, ChangesByNeed, EachCharacter
from tokbench.opening.replacement_table import ReplacementTable, joining, table_of, texts_written
from tokbench.opening.splitting.gaps import takes_characters, takes_one_character
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.opening.unicode_agreement import may_become

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.opening.character_origins import FindsOrigins
    from tokbench.opening.still_characters import NormalForm, StillCharacters

_SPACES = "".join(sorted(WHITE_SPACE))
WHITE_SPACE_RUNS = {
    r"\s+": rf"[{_SPACES}]+",
    r"\s": f"[{_SPACES}]",
    "[[:space:]]+": rf"[{_SPACES}]+",
    "[[:space:]]": f"[{_SPACES}]",
    " {2,}": " {2,}",
    " +": " +",
    "[ ]+": " +",
}
"""Supported expressions of white space in Replace → the same for Python, whose definition of white space differs."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a normalization.

    Attributes:
        apply: returns the result for a text.
        origins: finds the original character of each character of the result; None if only the library knows.
        replaces_each: whether it is a replacement of single characters, of which several in a row are one.
        finds_in: tells of which texts it finds the origins; None if of all.
    """

    apply: Callable[[str], str]
    origins: FindsOrigins | None
    replaces_each: bool = False
    finds_in: Callable[[str], bool] | None = None

    def __call__(self, text: str) -> str:
        """Return the result for a text."""
        return self.apply(text)


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
        self.kinds = tuple(str(step.get("type")) for step in normalizers)
        self._document: dict[str, Any] = {"type": "Sequence", "normalizers": list(normalizers)}
        self._steps = tuple(_joined(chain.from_iterable(map(_steps, normalizers))))
        self.is_normal_form = any(map(_makes_normal_form, normalizers))
        self._ignores_following = all(map(_ignores_following, normalizers))

    def __bool__(self) -> bool:
        """Whether there is any step."""
        return bool(self._steps)

    def __call__(self, text: str) -> str:
        """Return the normalized text."""
        for step in self._steps:
            text = step(text)
        return text

    def origins(self, text: str) -> NDArray[np.int64]:
        """Return the index of each normalized character's original character, as `tokenizers` reports it.

        >>> TextNormalization([{"type": "NFD"}, {"type": "StripAccents"}]).origins("né!").tolist()
        [0, 1, 2]
        """
        origins = np.arange(len(text))
        for step in self._steps:
            assert step.origins is not None  # `knows_origins` checked it
            step_origins = step.origins(text)
            if isinstance(step_origins, range):
                origins = origins[step_origins.start : step_origins.stop]
            else:
                origins = origins[step_origins]
            text = step(text)
        return origins

    @property
    def knows_origins(self) -> bool:
        """Whether `origins` can be computed, at least for some texts."""
        return all(step.origins is not None for step in self._steps)

    def knows_origins_of(self, text: str) -> bool:
        """Whether `origins` can be computed for a text, where it can be for some."""
        for number, step in enumerate(self._steps[: self._num_asked], 1):
            if step.finds_in is not None and not step.finds_in(text):
                return False
            if number < self._num_asked:
                text = step(text)
        return True

    @cached_property
    def _num_asked(self) -> int:
        """The number of steps up to the last one that finds the origins of some texts only."""
        places = [place for place, step in enumerate(self._steps, 1) if step.finds_in is not None]
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
        ordering = [place for place, step in enumerate(self._steps) if step in (_NFD, _NFKD)]
        if not self._steps or not self.is_by_character or len(ordering) > 1:
            return None
        split_at = ordering[0] + 1 if ordering else len(self._steps)
        return ChangesByNeed(self._steps[:split_at], self._steps[split_at:], orders=bool(ordering))

    @cached_property
    def changes_after_nfc(self) -> ChangesByNeed | None:
        """The same for the steps after NFC, if the kernel does all of them; None if there are none."""
        if current_kernel().name != "native" or not self.begins_with_nfc or self.is_nfc:
            return None
        return ChangesByNeed(self._steps[1:], (), orders=False, before=may_become)

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

    def becomes(self, character: str) -> frozenset[str]:
        """Return a character and all those that may occur in normalized text because of it.

        Only if the normalization `is_by_character` or `begins_with_nfc`.
        """
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
        if len(self.kinds) == 1 and self.is_normal_form:
            together = "\n".join(characters)  # a line feed combines with no character
            if normalizer.normalize_str(together) == self(together):
                return set()
        return {
            character for character in characters if normalizer.normalize_str(character) != self(character)
        }

    @cached_property
    def _librarys(self) -> Any:
        return engine_with(normalizer=self._document).normalizer

    @cached_property
    def written(self) -> frozenset[str]:
        """The characters that replacements may write, whether or not a text has them."""
        return frozenset("".join(map(_written, self._document["normalizers"])))


def _written(step: Mapping[str, Any]) -> str:
    match step.get("type"):
        case "Replace":
            return str(step["content"])
        case "Prepend":
            return str(step["prepend"])
        case "Precompiled":
            return texts_written(table_of(step))
    return ""


def _joined(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps with each run of replacements of single characters as one step."""
    for replaces_each, run in groupby(steps, key=lambda step: step.replaces_each):
        if not replaces_each:
            yield from run
            continue
        first, *others = run
        yield _by_map(EachCharacter(partial(_after_each, (first, *others)))) if others else first


def _after_each(steps: Sequence[Step], text: str) -> str:
    for step in steps:
        text = step(text)
    return text


def _steps(step: Mapping[str, Any]) -> Sequence[Step]:
    return _bert(step) if step.get("type") == "BertNormalizer" else (_step_by_kind(step),)


def _step_by_kind(step: Mapping[str, Any]) -> Step:
    kind = step.get("type")
    if kind in _PLAIN_STEPS:
        return _PLAIN_STEPS[kind]
    if kind == "Nmt":
        from tokenizers.normalizers import Nmt

        return _by_map(EachCharacter(Nmt().normalize_str))
    if kind == "Replace":
        return _replace(step)
    if kind == "Precompiled":
        if not has_native_kernel():
            raise NotNativeError("the kernel's Python fallback applies no table of replacements")
        table = ReplacementTable(table_of(step))
        origins = character_origins.of_table(table.alone.of, changed=table.alone.changed_in)
        return Step(table, origins, finds_in=table.replaces_each)
    if kind == "Prepend" and isinstance(prefix := step.get("prepend"), str):
        return Step(lambda text: prefix + text if text else text, character_origins.of_prepended(prefix))
    if kind == "Strip":
        return _strip(left=bool(step.get("strip_left")), right=bool(step.get("strip_right")))
    raise NotNativeError(f"it normalizes the text ({kind})")


def _ignores_following(step: Mapping[str, Any]) -> bool:
    """Whether a step treats a text's first character, unless it is a space, independently of those after it."""
    if step.get("type") == "Replace":
        return step.get("pattern") == {"String": " "} or str(step["pattern"].get("Regex")) in WHITE_SPACE_RUNS
    return step.get("type") != "Prepend"


def _makes_normal_form(step: Mapping[str, Any]) -> bool:
    if step.get("type") == "BertNormalizer":
        return _strips_accents(step)
    return step.get("type") in {"NFC", "NFD", "NFKC", "NFKD"}


def _strips_accents(step: Mapping[str, Any]) -> bool:
    """Whether a BertNormalizer strips accents; if unset, it does when it lower-cases."""
    strips = step.get("strip_accents")
    return bool(step.get("lowercase") if strips is None else strips)


def _bert(step: Mapping[str, Any]) -> list[Step]:
    """Return BERT's steps in order: white space, control characters and ideographs; accents; capitals."""
    from tokenizers.normalizers import BertNormalizer

    cleaned = BertNormalizer(
        clean_text=bool(step.get("clean_text")),
        handle_chinese_chars=bool(step.get("handle_chinese_chars")),
        strip_accents=False,
        lowercase=False,
    )
    steps = [_by_map(EachCharacter(cleaned.normalize_str))]
    if _strips_accents(step):
        steps += [_NFD, _by_character(_without_nonspacing_marks)]
    return [*steps, _LOWERCASE] if step.get("lowercase") else steps


def _nfc(text: str) -> str:
    if not has_native_kernel():
        return nfc(text)
    from tokbench.native import _bpe

    return _bpe.nfc(text)


def _lower_case(text: str) -> str:
    return text.lower() if text.isascii() else text.replace("Σ", "σ").lower()


def _without_marks(text: str) -> str:
    return text if text.isascii() else _without(text, _marks("M"))


def _without_nonspacing_marks(text: str) -> str:
    return _without(text, _marks("Mn"))


def _by_character(made: Callable[[str], str]) -> Step:
    return Step(made, character_origins.of_each(lru_cache(maxsize=1 << 14)(made)))


def _by_map(made: EachCharacter) -> Step:
    return Step(made.of, character_origins.of_each(made.of, changed=made.changed_in))


def _normal_form(form: NormalForm) -> Step:
    return Step(partial(unicodedata.normalize, form), character_origins.of_normal_form(form))


_NFD, _NFKD = _normal_form("NFD"), _normal_form("NFKD")
_LOWERCASE = _by_character(_lower_case)
_PLAIN_STEPS: Mapping[Any, Step] = {
    "NFC": Step(_nfc, character_origins.of_normal_form("NFC")),
    "NFD": _NFD,
    "NFKC": _normal_form("NFKC"),
    "NFKD": _NFKD,
    "Lowercase": _LOWERCASE,
    "StripAccents": _by_character(_without_marks),
}


def _without(text: str, marks: frozenset[str]) -> str:
    found = marks & set(text)
    if len(found) > 99:  # more than any language uses
        return text.translate(dict.fromkeys(map(ord, found)))
    for mark in found:
        text = text.replace(mark, "")
    return text


@cache
def _marks(category: str) -> frozenset[str]:
    planes = (*range(0x20000), *range(0xE0000, 0xE0200))  # no other plane has marks
    return frozenset(
        character for character in map(chr, planes) if unicodedata.category(character).startswith(category)
    )


def _replace(step: Mapping[str, Any]) -> Step:
    import re

    pattern, content = step.get("pattern"), step.get("content")
    if isinstance(pattern, dict) and isinstance(content, str):
        if isinstance(text := pattern.get("String"), str) and text:
            origins = character_origins.of_replaced(re.compile(re.escape(text)), content)
            return Step(lambda whole: whole.replace(text, content), origins)
        if (expression := WHITE_SPACE_RUNS.get(str(pattern.get("Regex")))) is not None:
            if content == " " and expression == rf"[{_SPACES}]+":
                # A single space stays as it is, so only replace other white space and runs: most matches
                # would be single spaces.
                expression = rf"[{_SPACES.replace(' ', '')}][{_SPACES}]*| [{_SPACES}]+"
            found, template = re.compile(expression), content.replace("\\", r"\\")
            origins = character_origins.of_replaced(found, content)
            if expression == " {2,}":
                return Step(lambda whole: found.sub(template, whole) if "  " in whole else whole, origins)
            return Step(partial(found.sub, template), origins)
        # After an empty match the library loses track of its position and fails in the next step.
        if isinstance(expression := pattern.get("Regex"), str) and takes_characters(expression):
            replaced = engine_with(normalizer=step).normalizer.normalize_str
            if takes_one_character(expression) and replaced(APART) == APART and APART not in content:
                return replace(_by_map(EachCharacter(replaced)), replaces_each=True)
            return Step(replaced, None)
    raise NotNativeError(
        "it normalizes the text (Replace by a pattern that may match nothing, or is not understood)"
    )


def _strip(*, left: bool, right: bool) -> Step:
    def stripped(text: str) -> str:
        text = text.lstrip(_SPACES) if left else text
        return text.rstrip(_SPACES) if right else text

    return Step(stripped, character_origins.of_stripped(stripped, left=left))
