"""The normalizer and pre-tokenizer of a tokenizer.json, and the texts that they never let through to the model."""

from __future__ import annotations

import json
import unicodedata
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from tokbench.libraries.huggingface.engines import engine_with
from tokbench.libraries.huggingface.tokenizer_json import steps

if TYPE_CHECKING:
    from collections.abc import Mapping

_STABLE = frozenset({"NFC", "NFD", "NFKC", "NFKD"})
_BY_CHARACTER = frozenset({"Lowercase", "StripAccents", "BertNormalizer", "Nmt"})
_REPLACING = frozenset({"Replace", "Prepend"})
_REMOVING = frozenset({"Strip"})
_LOCAL = frozenset({"BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Digits", "CharDelimiterSplit"})
"""Pre-tokenizers whose decision to split between two characters depends on these two only."""
_LOCAL_BEHAVIORS = frozenset({"Isolated", "Contiguous", "Removed"})
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+"
_SPACE = "\u2581"


class DocumentSteps:
    """The normalizer and pre-tokenizer of a tokenizer.json, run by its library.

    Args:
        document: a parsed `tokenizer.json` that the library can open.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self.normalizers = tuple(steps(document.get("normalizer")))
        self.pre_tokenizers = tuple(steps(document.get("pre_tokenizer")))

    @property
    def is_byte_level(self) -> bool:
        """Whether pieces are spelled in byte-level characters."""
        return any(step.get("type") == "ByteLevel" for step in (*self.normalizers, *self.pre_tokenizers))

    def normalized(self, text: str) -> str:
        """Return the normalized text."""
        normal: str = self._library.normalizer.normalize_str(text) if self.normalizers else text
        return normal

    def pretokens(self, text: str) -> list[str]:
        """Normalize a text and split it into the pre-tokens that the model receives."""
        normal = self.normalized(text)
        if not self.pre_tokenizers:
            return [normal] if normal else []
        return [part for part, _ in self._library.pre_tokenizer.pre_tokenize_str(normal)]

    def lost_characters(self, text: str) -> str:
        """Return the characters of a text that never occur in normalized text; empty if that is unknown."""
        kinds = {step.get("type") for step in self.normalizers}
        if not self.normalizers or not kinds <= _STABLE | _BY_CHARACTER | _REPLACING | _REMOVING:
            return ""
        written = "".join(
            str(step.get("content") or "") + str(step.get("prepend") or "") for step in self.normalizers
        )
        return "".join(
            character
            for character in dict.fromkeys(text)
            if character not in (_SPACE, *written)
            and character not in self._library.normalizer.normalize_str(character)
            and character not in self._image
        )

    def cut_inside(self, text: str) -> list[str] | None:
        """Return the parts of a text that a pre-tokenizer splits in every context; None if none is known to do so."""
        for step in self.pre_tokenizers:
            kind = step.get("type")
            if kind == "ByteLevel":
                return None if not step.get("use_regex", True) else self._cut_by_pattern(_GPT2, text)
            if kind == "Split":
                cut = self._cut_by_split(step, text)
            elif kind in _LOCAL or (kind == "Punctuation" and step.get("behavior") in _LOCAL_BEHAVIORS):
                cut = self._cut_by_step(step, text)
            elif kind == "Metaspace" and step.get("split", True):
                parts = text.replace(_SPACE, "\0" + _SPACE).strip("\0").split("\0")
                cut = parts if len(parts) > 1 else None
            else:
                return None
            if cut is not None:
                return cut
        return None

    def cut_after(self, text: str) -> list[str] | None:
        """Return the same as `cut_inside` for a text that continues a pre-token; None for most pre-tokenizers."""
        kinds = {step.get("type") for step in self.pre_tokenizers}
        return self.cut_inside(f"a{text}") if kinds <= {"BertPreTokenizer", "WhitespaceSplit"} else None

    def _cut_by_step(self, step: Mapping[str, Any], text: str) -> list[str] | None:
        """Split a text by a local pre-tokenizer, after BERT's normalizer, which puts spaces around Chinese text."""
        if any(step.get("type") == "BertNormalizer" for step in self.normalizers):
            text = self._library.normalizer.normalize_str(text).strip() or text
        engine = _engine_of_step(json.dumps(step))
        parts = [part for part, _ in engine.pre_tokenizer.pre_tokenize_str(text)]
        return None if parts == [text] else parts

    def _cut_by_split(self, step: Mapping[str, Any], text: str) -> list[str] | None:
        pattern, behavior = (step.get("pattern") or {}).get("Regex"), step.get("behavior")
        if not isinstance(pattern, str):
            return None
        if behavior == "Isolated":
            return self._cut_by_pattern(pattern, text, keeps_others=True)
        return (
            self._cut_by_pattern(pattern, text)
            if (behavior, step.get("invert")) == ("Removed", True)
            else None
        )

    def _cut_by_pattern(self, pattern: str, text: str, *, keeps_others: bool = False) -> list[str] | None:
        """Split a text by a pattern whose matches are pre-tokens and, with `keeps_others`, the parts between them."""
        from tokbench.lint.reachability.pattern_automaton import automaton_of, pretokens

        automaton = automaton_of(pattern)
        if automaton is None or automaton.holds(text):
            return None
        if keeps_others and not any(map(automaton.matches_certainly, text)):
            return None
        return pretokens(pattern, text)

    @cached_property
    def pattern(self) -> str | None:
        """The only pattern that splits text into pre-tokens; None for other pre-tokenizers or several."""
        steps = [step for step in self.pre_tokenizers if step.get("use_regex", True)]
        if len(steps) != 1:
            return None
        if steps[0].get("type") == "ByteLevel":
            return _GPT2
        found = (steps[0].get("pattern") or {}).get("Regex") if steps[0].get("type") == "Split" else None
        return found if isinstance(found, str) else None

    @cached_property
    def _library(self) -> Any:
        return engine_with(**{part: self._document.get(part) for part in ("normalizer", "pre_tokenizer")})

    @cached_property
    def _image(self) -> frozenset[str]:
        """All characters that result from normalizing single characters."""
        normalize = self._library.normalizer.normalize_str
        found: set[str] = set()
        for point in range(0x110000):
            if not 0xD800 <= point < 0xE000 and unicodedata.category(chr(point)) not in ("Cn", "Co"):
                found.update(normalize(chr(point)))
        return frozenset(found)


@lru_cache(maxsize=16)
def _engine_of_step(step: str) -> Any:
    return engine_with(pre_tokenizer=json.loads(step))
