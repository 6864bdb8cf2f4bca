"""The steps of a `tokenizer.json`'s normalization in Python, each with the same result as in its library.

They mirror `tokenizers/src/normalizers` of Hugging Face's library: unicode.rs, replace.rs, prepend.rs, strip.rs (and
StripAccents), bert.rs and utils.rs (Lowercase). Regular expressions that Python may interpret differently are left to
the library's own step, tables of replacements to replacement_table.py. The library lower-cases each character by
itself, so that a final sigma is not special.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.backends.bpe.split_programs.gaps import takes_characters, takes_one_character
from tokbench.core.normal_forms import nfc
from tokbench.core.special_tokens import WHITE_SPACE
from tokbench.libraries.huggingface.engines import engine_with
from tokbench.opening import character_origins
from tokbench.opening.character_changes import APART, ChangesByNeed, EachCharacter
from tokbench.opening.replacement_table import ReplacementTable, table_of
from tokbench.opening.tokenizer_json_tokens import NotNativeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokbench.opening.character_origins import FindsOrigins
    from tokbench.opening.still_characters import NormalForm

_SPACES = "".join(sorted(WHITE_SPACE))
WHITE_SPACE_RUNS = {
    r"\s+": rf"[{_SPACES}]+",
    r"\s": f"[{_SPACES}]",
    "[[:space:]]+": rf"[{_SPACES}]+",
    "[[:space:]]": f"[{_SPACES}]",
    r"\s{2,}|[\n\r\t]": rf"[{_SPACES}]{{2,}}|[\n\r\t]",
    " {2,}": " {2,}",
    " +": " +",
    "[ ]+": " +",
}
"""Supported expressions of white space in Replace → the same for Python, whose definition of white space differs."""
_COLLAPSING = (r"\s+", "[[:space:]]+", r"\s{2,}|[\n\r\t]")
"""Those that replace line ends, tabs and runs of white space of all kinds."""
_SPACES_AT_ENDS = {r"\A +| +\z": (True, True), r"\A +": (True, False), r" +\z": (False, True)}
"""Expressions of the spaces at the ends of a text → whether they match at its start, and at its end."""
_AT_START = re.compile(r"\\A((?:[^\\.^$*+?{}\[\]|()]|\\[^\w])+)")
"""An expression of a fixed text at the start of another one."""
_RARE_SPACES = "".join(character for character in _SPACES if character not in " \n\r\t")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a normalization.

    Attributes:
        apply: returns the result for a text.
        origins: finds the original character of each character of the result; None if only the library knows.
        replaces_each: whether it is a replacement of single characters, of which several in a row are one.
        finds_in: tells of which texts it finds the origins; None if of all.
        is_by_character: whether it changes each character by itself, except for the order of combining marks.
    """

    apply: Callable[[str], str]
    origins: FindsOrigins | None
    replaces_each: bool = False
    finds_in: Callable[[str], bool] | None = None
    is_by_character: bool = False

    def __call__(self, text: str) -> str:
        """Return the result for a text."""
        return self.apply(text)


def joined_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps with each run of replacements of single characters as one step."""
    for replaces_each, run in groupby(steps, key=lambda step: step.replaces_each):
        if not replaces_each:
            yield from run
            continue
        first, *others = run
        yield _by_map(EachCharacter(partial(_after_each, (first, *others)))) if others else first


def steps_together(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps with each run of those that change single characters as one step, by the kernel's table."""
    for is_by_character, run in groupby(steps, key=lambda step: step.is_by_character or step in (NFD, NFKD)):
        together = tuple(run)
        ordering = [place for place, step in enumerate(together) if step in (NFD, NFKD)]
        if is_by_character and len(ordering) < min(len(together), 2) and has_native_kernel():
            split_at = ordering[0] + 1 if ordering else len(together)
            changes = ChangesByNeed(together[:split_at], together[split_at:], orders=bool(ordering))
            yield Step(changes.applied, changes.origins, is_by_character=True)
        else:
            yield from together


def _after_each(steps: Sequence[Step], text: str) -> str:
    for step in steps:
        text = step(text)
    return text


def steps_of(step: Mapping[str, Any]) -> Sequence[Step]:
    """Return the steps of one normalizer of a document. Raises `NotNativeError` for one that is not supported."""
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


def strips_accents(step: Mapping[str, Any]) -> bool:
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
    if strips_accents(step):
        steps += [NFD, _by_character(_without_nonspacing_marks)]
    return [*steps, _LOWERCASE] if step.get("lowercase") else steps


def _nfc(text: str) -> str:
    if not has_native_kernel():
        return nfc(text)
    from tokbench.native import _bpe

    return _bpe.nfc(text)


def _nfkc(text: str) -> str:
    """Return the NFC of a text whose characters are in NFKC by themselves, which is its NFKC.

    So the kernel does all of it, in less than half of Python's time for texts that are not in NFKC.
    """
    if text.isascii():
        return text
    if not has_native_kernel():
        return unicodedata.normalize("NFKC", text)
    characters = _each_in_nfkc()
    return _nfc(text if characters.leaves(text) else characters.applied(text))


@cache
def _each_in_nfkc() -> ChangesByNeed:
    return ChangesByNeed([partial(unicodedata.normalize, "NFKC")], (), orders=False)


def _lower_case(text: str) -> str:
    return text.lower() if text.isascii() else text.replace("Σ", "σ").lower()


def _without_marks(text: str) -> str:
    return text if text.isascii() else _without(text, _marks("M"))


def _without_nonspacing_marks(text: str) -> str:
    return _without(text, _marks("Mn"))


def _by_character(made: Callable[[str], str]) -> Step:
    return Step(made, character_origins.of_each(lru_cache(maxsize=1 << 14)(made)), is_by_character=True)


def _by_map(made: EachCharacter) -> Step:
    return Step(made.of, character_origins.of_each(made.of, changed=made.changed_in), is_by_character=True)


def _normal_form(form: NormalForm) -> Step:
    return Step(partial(unicodedata.normalize, form), character_origins.of_normal_form(form))


NFD, NFKD = _normal_form("NFD"), _normal_form("NFKD")
_LOWERCASE = _by_character(_lower_case)
_PLAIN_STEPS: Mapping[Any, Step] = {
    "NFC": Step(_nfc, character_origins.of_normal_form("NFC")),
    "NFD": NFD,
    "NFKC": Step(_nfkc, character_origins.of_normal_form("NFKC")),
    "NFKD": NFKD,
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


def is_at_ends(step: Mapping[str, Any]) -> bool:
    r"""Whether a normalizer replaces something only at the start or the end of a text.

    >>> is_at_ends({"type": "Replace", "pattern": {"Regex": r"\A▁"}, "content": "▁▁"})
    True
    """
    return step.get("type") == "Replace" and _replace_at_ends(step) is not None


def _replace_at_ends(step: Mapping[str, Any]) -> Step | None:
    """Return the step of a replacement at the ends of a text, as transformers writes them for SentencePiece models."""
    pattern, content = step.get("pattern"), step.get("content")
    expression = pattern.get("Regex") if isinstance(pattern, dict) else None
    if not isinstance(content, str) or not isinstance(expression, str):
        return None
    if expression in _SPACES_AT_ENDS and not content:
        left, right = _SPACES_AT_ENDS[expression]
        return _strip(left=left, right=right, characters=" ")
    if (found := _AT_START.fullmatch(expression)) is None:
        return None
    start = re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL)

    def replaced(text: str) -> str:
        return content + text[len(start) :] if text.startswith(start) else text

    return Step(replaced, character_origins.of_replaced(re.compile(expression), content))


def _replace(step: Mapping[str, Any]) -> Step:
    pattern, content = step.get("pattern"), step.get("content")
    if isinstance(pattern, dict) and isinstance(content, str):
        if (at_ends := _replace_at_ends(step)) is not None:
            return at_ends
        if isinstance(text := pattern.get("String"), str) and text:
            if len(text) == len(content) == 1:
                return Step(lambda whole: whole.replace(text, content), lambda whole: range(len(whole)))
            origins = character_origins.of_replaced(re.compile(re.escape(text)), content)
            return Step(lambda whole: whole.replace(text, content), origins)
        if (expression := WHITE_SPACE_RUNS.get(str(pattern.get("Regex")))) is not None:
            return _replace_spaces(expression, content, collapses=str(pattern["Regex"]) in _COLLAPSING)
        # After an empty match the library loses track of its position and fails in the next step.
        if isinstance(expression := pattern.get("Regex"), str) and takes_characters(expression):
            librarys = engine_with(normalizer=step).normalizer.normalize_str
            if takes_one_character(expression) and librarys(APART) == APART and APART not in content:
                return replace(_by_map(EachCharacter(librarys)), replaces_each=True)
            return Step(librarys, None)
    raise NotNativeError(
        "it normalizes the text (Replace by a pattern that may match nothing, or is not understood)"
    )


def _replace_spaces(expression: str, content: str, *, collapses: bool) -> Step:
    if content == " " and expression == rf"[{_SPACES}]+":
        # A single space stays as it is, so only replace other white space and runs: most matches would be single
        # spaces.
        expression = rf"[{_SPACES.replace(' ', '')}][{_SPACES}]*| [{_SPACES}]+"
    found, template = re.compile(expression), content.replace("\\", r"\\")
    origins = character_origins.of_replaced(found, content)
    replaced = partial(found.sub, template)
    if content == " " and expression in (" {2,}", " +"):
        return Step(_without_runs, origins)
    if expression == " {2,}":
        return Step(lambda whole: replaced(whole) if "  " in whole else whole, origins)
    if collapses and content == " ":
        return Step(partial(_collapsed, otherwise=replaced), origins)
    return Step(replaced, origins)


def _collapsed(text: str, *, otherwise: Callable[[str], str]) -> str:
    r"""Replace line ends, tabs and runs of white space by one space; `otherwise` does so if there is other white space.

    >>> _collapsed("a\tb \n c", otherwise=str.strip)
    'a b c'
    """
    if any(space in text for space in _RARE_SPACES):
        return otherwise(text)
    if has_native_kernel():
        from tokbench.native import _bpe

        return _bpe.with_single_spaces(text)
    text = text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
    return _without_runs(text)


def _without_runs(text: str) -> str:
    if "  " not in text:
        return text
    if has_native_kernel():
        from tokbench.native import _bpe

        return _bpe.without_runs_of_spaces(text)
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def _strip(*, left: bool, right: bool, characters: str = _SPACES) -> Step:
    def stripped(text: str) -> str:
        text = text.lstrip(characters) if left else text
        return text.rstrip(characters) if right else text

    return Step(stripped, character_origins.of_stripped(stripped, left=left))
