"""The pre-tokenizers of a `tokenizer.json` as the steps in which our kernel splits (native/bpe/split_steps.hpp).

What each step does is in `tokenizers/src/pre_tokenizers` of Hugging Face's library: byte_level.rs, split.rs,
digits.rs, punctuation.rs, whitespace.rs and delimiter.rs; what becomes of matches in `SplitDelimiterBehavior` of
tokenizer/normalizer.rs. Behind ByteLevel the characters are those that stand for bytes, so that steps there
split characters of the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.formats.tokenizer_json import from_byte_level, to_byte_level
from tokbench.opening.patterns import known_pattern
from tokbench.opening.splitting.character_sets import CharacterSets, UnknownPatternError
from tokbench.opening.splitting.programs import Program, program_of, program_of_text
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.opening.unicode_agreement import tokenizers_members

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_KEEPING = {("Isolated", False), ("Removed", True)}
"""What is done with matches where they are the parts, if all of a text is matched."""
_PUNCTUATION = r"[\p{P}$+<=>\^`|~]"


class ProgramStep(NamedTuple):
    """A step by a program.

    Attributes:
        program: what it matches.
        of_bytes: whether the characters are those that stand for bytes.
        behavior: what becomes of matches.
        is_inverted: whether what stands between matches counts as the matches.
    """

    program: Program
    of_bytes: bool
    behavior: str
    is_inverted: bool = False

    @property
    def loses_text(self) -> bool:
        """Whether a part of a text can be left out."""
        return self.behavior == "Removed"


class PatternStep(NamedTuple):
    """A step by a pattern that has a scanner.

    Attributes:
        name: of the pattern.
        prefix_space: whether each part gets a space in front that begins with none.
    """

    name: str
    prefix_space: bool = False

    @property
    def loses_text(self) -> bool:
        """Whether a part of a text can be left out."""
        return False


@dataclass
class SplitSteps:
    """How a text is split.

    Attributes:
        steps: one after another.
        sets: what the programs among them ask for.
        digits: the numbers of the sets that the library asks Rust about: is it a number?
        punctuation: the same for punctuation.
    """

    steps: list[ProgramStep | PatternStep] = field(default_factory=list)
    sets: CharacterSets = field(default_factory=CharacterSets)
    digits: set[int] = field(default_factory=set)
    punctuation: set[int] = field(default_factory=set)

    @property
    def pattern(self) -> str | None:
        """The name of the one pattern that is all there is to do; None where there is more."""
        if not self.steps:
            return "none"
        only = self.steps[0]
        is_all = len(self.steps) == 1 and isinstance(only, PatternStep) and not only.prefix_space
        return only.name if is_all and isinstance(only, PatternStep) else None

    @property
    def tiles(self) -> bool:
        """Whether the pre-tokens of a text are the text."""
        return not any(
            step.loses_text or (isinstance(step, PatternStep) and step.prefix_space) for step in self.steps
        )

    def rows(self) -> list[tuple[Any, ...]]:
        """The steps as `Encoder.prepare` of the kernel takes them."""
        return [
            tuple(step)
            if isinstance(step, PatternStep)
            else (
                step.program.operations,
                step.program.first,
                step.of_bytes,
                _BEHAVIORS.index(step.behavior),
                step.is_inverted,
            )
            for step in self.steps
        ]

    def __str__(self) -> str:
        """In words, for `inspect`."""
        names = [f"the pattern {step.name!r}" for step in self.steps if isinstance(step, PatternStep)]
        programs = len(self.steps) - len(names)
        if programs:
            names.append("another pattern" if programs == 1 else f"{programs} other patterns")
        return " and ".join(names) or "no pattern"


def split_steps(pre_tokenizers: Sequence[Mapping[str, Any]]) -> SplitSteps:
    """The steps of pre-tokenizers, sequences laid out flat.

    Raises:
        NotNativeError: one of them does what the kernel does not, or none maps text to bytes.
    """
    made = SplitSteps()
    of_bytes = False
    try:
        for each in pre_tokenizers:
            if each.get("type") == "ByteLevel":
                if of_bytes:
                    raise NotNativeError("its pre-tokenizers map text to bytes twice")
                made.steps.extend(_byte_level(each))
                of_bytes = True
            else:
                made.steps.append(_step(each, made, of_bytes=of_bytes))
    except UnknownPatternError as error:
        raise NotNativeError(f"its split pattern is none that the native kernel runs: {error}") from None
    if not of_bytes:
        raise NotNativeError("its pre-tokenizer does not map text to bytes")
    _check_ascii(made)
    return made


def _byte_level(each: Mapping[str, Any]) -> list[PatternStep]:
    prefix_space = each.get("add_prefix_space")
    if not isinstance(prefix_space, bool):
        raise NotNativeError("its pre-tokenizer does not say whether it prepends a space")
    if each.get("use_regex", True):
        return [PatternStep("gpt2", prefix_space)]
    return [PatternStep("none", prefix_space)] if prefix_space else []


def _step(each: Mapping[str, Any], made: SplitSteps, *, of_bytes: bool) -> ProgramStep | PatternStep:
    kind, sets = each.get("type"), made.sets
    if kind == "Split":
        return _split(each, sets, of_bytes=of_bytes)
    if kind == "Digits":
        program = program_of(r"\p{N}", sets)
        made.digits.add(sets.spellings.index(r"\p{N}"))
        return ProgramStep(program, of_bytes, "Isolated" if each.get("individual_digits") else "Contiguous")
    if kind == "Punctuation":
        program = program_of(_PUNCTUATION, sets)
        made.punctuation.add(sets.spellings.index(_PUNCTUATION))
        return ProgramStep(program, of_bytes, _behavior(each.get("behavior", "Isolated")))
    if kind == "Whitespace":
        return ProgramStep(program_of(r"\w+|[^\w\s]+", sets), of_bytes, "Removed", is_inverted=True)
    if kind == "WhitespaceSplit":
        return ProgramStep(program_of(r"\s", sets), of_bytes, "Removed")
    if (
        kind == "CharDelimiterSplit"
        and isinstance(delimiter := each.get("delimiter"), str)
        and len(delimiter) == 1
    ):
        return ProgramStep(program_of_text(delimiter, sets), of_bytes, "Removed")
    raise NotNativeError(f"its pre-tokenizer {kind} is none that the native kernel runs")


def _split(each: Mapping[str, Any], sets: CharacterSets, *, of_bytes: bool) -> ProgramStep | PatternStep:
    behavior, is_inverted = _behavior(each.get("behavior")), bool(each.get("invert"))
    pattern = each.get("pattern")
    if not isinstance(pattern, dict) or len(pattern) != 1:
        raise NotNativeError("it splits by a pattern that is none")
    if isinstance(text := pattern.get("String"), str) and text:
        return ProgramStep(program_of_text(text, sets), of_bytes, behavior, is_inverted)
    expression = pattern.get("Regex")
    if not isinstance(expression, str):
        raise NotNativeError("it splits by a pattern that is none")
    name = known_pattern(expression)[0]
    keeps_matches = (behavior, is_inverted) in _KEEPING
    if name not in {"custom", expression} and keeps_matches and not of_bytes:
        return PatternStep(name)
    return ProgramStep(program_of(expression, sets), of_bytes, behavior, is_inverted)


def _behavior(behavior: object) -> str:
    if behavior not in _BEHAVIORS:
        raise NotNativeError(f"what becomes of the matches of its pre-tokenizer is {behavior!a:.40}")
    return str(behavior)


# --- whether the library means the same -----------------------------------------------------------


def _check_ascii(made: SplitSteps) -> None:
    """Refuse sets that are others for the library where no table of Unicode is the reason."""
    asked = {chr(code) for code in range(128)}
    if any(isinstance(step, ProgramStep) and step.of_bytes for step in made.steps):
        asked |= set(to_byte_level(bytes(range(256))))
    if wrong := disputed_by_sets(made, asked):
        raise NotNativeError(f"its split pattern means something else to its library for {min(wrong)!a}")


def disputed_by_sets(
    made: SplitSteps, characters: set[str], *, found: Callable[[str, str], str] = tokenizers_members
) -> set[str]:
    """Those of some characters on which the library and the sets disagree; what stands for a byte counts for it.

    Args:
        made: how a text is split.
        characters: the characters in question.
        found: (spelling of a set, text) → the characters of the text that the library finds in the set.
    """
    text = "".join(sorted(characters))
    disputed: set[str] = set()
    for number, (spelling, members) in enumerate(zip(made.sets.spellings, made.sets.members, strict=True)):
        ours = {character for character in text if members[ord(character)]}
        disputed |= ours ^ set(found(spelling, text))
        if number in made.digits:
            disputed |= ours ^ _isolated("Digits", text)
        if number in made.punctuation:
            disputed |= ours ^ _isolated("Punctuation", text)
    return disputed


def _isolated(kind: str, text: str) -> set[str]:
    """The characters of a text that a pre-tokenizer of the library puts apart."""
    apart = {piece for piece, _ in _isolating(kind).pre_tokenize_str("\u00aa".join(["", *text, ""]))}
    return {character for character in text if character in apart and character != "\u00aa"}


@cache
def _isolating(kind: str) -> Any:
    from tokenizers import pre_tokenizers

    if kind == "Digits":
        return pre_tokenizers.Digits(individual_digits=True)
    return pre_tokenizers.Punctuation("isolated")


def byte_masks(masks: Any) -> Any:
    """uint64[256], the bits of the character that stands for each byte."""
    import numpy as np

    characters = to_byte_level(bytes(range(256)))
    assert from_byte_level(characters) == bytes(range(256))
    return np.array([masks[ord(character)] for character in characters], np.uint64)
