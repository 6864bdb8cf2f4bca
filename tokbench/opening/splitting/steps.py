"""The pre-tokenizers of a `tokenizer.json` as the steps in which our kernel splits (native/bpe/split_steps.hpp).

What each step does is in `tokenizers/src/pre_tokenizers` of Hugging Face's library: byte_level.rs, split.rs,
digits.rs, punctuation.rs, whitespace.rs, delimiter.rs and metaspace.rs; what becomes of matches in
`SplitDelimiterBehavior` of tokenizer/normalizer.rs. After ByteLevel the characters are those that stand for bytes, so
that steps there split characters of the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.formats.tokenizer_json import from_byte_level, to_byte_level
from tokbench.opening.patterns import known_pattern
from tokbench.opening.splitting.character_sets import CharacterSets, UnknownPatternError
from tokbench.opening.splitting.programs import Program, program_of, program_of_text
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.opening.unicode_agreement import tokenizers_members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_KEEPING = {("Isolated", False), ("Removed", True)}
"""What is done with matches where they are the parts, if all of a text is matched."""
_ANY = r"[\s\S]"
_PUNCTUATION = r"[\p{P}$+<=>\^`|~]"
_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}"
r"""What Rust, by whose expression `Whitespace` splits, takes for \w."""


class OwnSet(NamedTuple):
    """A set for which a pre-tokenizer of the library asks Rust, not Oniguruma.

    Attributes:
        number: of the set.
        kind: the pre-tokenizer.
        treatment: what that does to the characters in the set, between letters: "apart", "joined" or "removed".
    """

    number: int
    kind: str
    treatment: str


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


class MarkStep(NamedTuple):
    """A step that writes spaces as a mark.

    Attributes:
        mark: what is written for a space.
        is_put_in_front: whether each part gets one in front that begins with none.
        begins_parts: whether parts are cut in front of each mark.
    """

    mark: str
    is_put_in_front: bool
    begins_parts: bool

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
        own_sets: those of them that its pre-tokenizers ask for in a way of their own.
    """

    steps: list[ProgramStep | PatternStep | MarkStep] = field(default_factory=list)
    sets: CharacterSets = field(default_factory=CharacterSets)
    own_sets: set[OwnSet] = field(default_factory=set)

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
        return not any(step.loses_text or _adds_spaces(step) for step in self.steps)

    @property
    def adds_spaces(self) -> bool:
        """Whether there are spaces in the pre-tokens that the text has not, or marks for them."""
        return any(map(_adds_spaces, self.steps))

    def rows(self) -> list[tuple[Any, ...]]:
        """The steps as `Encoder.prepare` of the kernel takes them."""
        return [
            tuple(step)
            if isinstance(step, PatternStep | MarkStep)
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
        programs = sum(isinstance(step, ProgramStep) for step in self.steps)
        if programs:
            names.append("another pattern" if programs == 1 else f"{programs} other patterns")
        names += [f"spaces written as {step.mark}" for step in self.steps if isinstance(step, MarkStep)]
        return " and ".join(names) or "no pattern"


def _adds_spaces(step: ProgramStep | PatternStep | MarkStep) -> bool:
    """Whether a step gives parts of a copy of the text."""
    return isinstance(step, MarkStep) or (isinstance(step, PatternStep) and step.prefix_space)


def split_steps(pre_tokenizers: Sequence[Mapping[str, Any]], *, maps_to_bytes: bool = True) -> SplitSteps:
    """The steps of pre-tokenizers.

    Args:
        pre_tokenizers: as a document has them, sequences laid out flat.
        maps_to_bytes: whether one of them has to map text to bytes, or none may.

    Raises:
        NotNativeError: one of them does what the kernel does not.
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
                made.steps.extend(_steps(each, made, of_bytes=of_bytes))
    except UnknownPatternError as error:
        raise NotNativeError(f"the native kernel does not run its split pattern: {error}") from None
    if of_bytes is not maps_to_bytes:
        raise NotNativeError(f"its pre-tokenizer {'maps' if of_bytes else 'does not map'} text to bytes")
    if sum(map(_adds_spaces, made.steps)) > 1:
        raise NotNativeError("it adds spaces in two steps")
    _check_ascii(made)
    return made


def _byte_level(each: Mapping[str, Any]) -> list[PatternStep]:
    prefix_space = each.get("add_prefix_space")
    if not isinstance(prefix_space, bool):
        raise NotNativeError("its pre-tokenizer does not say whether it prepends a space")
    if each.get("use_regex", True):
        return [PatternStep("gpt2", prefix_space)]
    return [PatternStep("none", prefix_space)] if prefix_space else []


def _steps(
    each: Mapping[str, Any], made: SplitSteps, *, of_bytes: bool
) -> Iterator[ProgramStep | PatternStep | MarkStep]:
    kind, sets = str(each.get("type")), made.sets

    def own(spelling: str, treatment: str) -> Program:
        program = program_of(spelling, sets)
        made.own_sets.add(OwnSet(sets.spellings.index(spelling), kind, treatment))
        return program

    match kind:
        case "Split":
            yield _split(each, sets, of_bytes=of_bytes)
        case "Digits":
            behavior = "Isolated" if each.get("individual_digits") else "Contiguous"
            yield ProgramStep(own(r"\p{N}", "apart"), of_bytes, behavior)
        case "Punctuation":
            behavior = _behavior(each.get("behavior", "Isolated"))
            yield ProgramStep(own(_PUNCTUATION, "apart"), of_bytes, behavior)
        case "Whitespace":
            for spelling, treatment in ((f"[{_WORD}]", "joined"), (rf"[^{_WORD}\s]", "apart")):
                own(spelling, treatment)
            words = program_of(rf"[{_WORD}]+|[^{_WORD}\s]+", sets)
            yield ProgramStep(words, of_bytes, "Removed", is_inverted=True)
        case "WhitespaceSplit":
            yield ProgramStep(own(r"\s", "removed"), of_bytes, "Removed")
        case "BertPreTokenizer":
            yield ProgramStep(own(r"\s", "removed"), of_bytes, "Removed")
            yield ProgramStep(own(_PUNCTUATION, "apart"), of_bytes, "Isolated")
        case "Metaspace" if not of_bytes:
            yield _metaspace(each)
        case "CharDelimiterSplit" if isinstance(sign := each.get("delimiter"), str):
            yield ProgramStep(program_of_text(sign, sets), of_bytes, "Removed")
        case _:
            raise NotNativeError(f"its pre-tokenizer {kind} is not one that the native kernel runs")


def _metaspace(each: Mapping[str, Any]) -> MarkStep:
    mark, scheme = each.get("replacement"), each.get("prepend_scheme", "always")
    if not isinstance(mark, str) or not mark or mark == " ":
        raise NotNativeError("its Metaspace does not say what it writes for a space")
    if scheme not in {"always", "never"}:
        raise NotNativeError(f"its Metaspace puts {mark} in front of the {scheme} part alone")
    puts_in_front = scheme == "always" and each.get("add_prefix_space") is not False
    return MarkStep(mark, is_put_in_front=puts_in_front, begins_parts=each.get("split") is not False)


def _split(each: Mapping[str, Any], sets: CharacterSets, *, of_bytes: bool) -> ProgramStep | PatternStep:
    behavior, is_inverted = _behavior(each.get("behavior")), bool(each.get("invert"))
    pattern = each.get("pattern")
    if not isinstance(pattern, dict) or len(pattern) != 1:
        raise NotNativeError("its split pattern is not valid")
    if "" in pattern.values() and not is_inverted:
        return ProgramStep(
            program_of(_ANY, sets), of_bytes, "Isolated"
        )  # it matches between any two characters
    if isinstance(text := pattern.get("String"), str) and text:
        return ProgramStep(program_of_text(text, sets), of_bytes, behavior, is_inverted)
    expression = pattern.get("Regex")
    if not isinstance(expression, str):
        raise NotNativeError("its split pattern is not valid")
    name = known_pattern(expression)[0]
    keeps_matches = (behavior, is_inverted) in _KEEPING
    if name not in {"custom", expression} and keeps_matches and not of_bytes:
        return PatternStep(name)
    return ProgramStep(program_of(expression, sets), of_bytes, behavior, is_inverted)


def _behavior(behavior: object) -> str:
    if behavior not in _BEHAVIORS:
        raise NotNativeError(f"the split behavior of its pre-tokenizer is {behavior!a:.40}")
    return str(behavior)


# --- whether the library means the same -----------------------------------------------------------


def _check_ascii(made: SplitSteps) -> None:
    """Refuse sets that are others for the library where no table of Unicode is the reason."""
    asked = {chr(code) for code in range(128)}
    if any(isinstance(step, ProgramStep) and step.of_bytes for step in made.steps):
        asked |= set(to_byte_level(bytes(range(256))))
    asked.update(*(step.mark for step in made.steps if isinstance(step, MarkStep)))
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
        for own in made.own_sets:
            if own.number == number:
                disputed |= ours ^ {
                    one
                    for one, how in zip(text, _treated(own.kind, text), strict=True)
                    if how == own.treatment
                }
    return disputed


@lru_cache(maxsize=4)
def _treated(kind: str, text: str) -> list[str]:
    """What a pre-tokenizer of the library does to each character of a text, between letters."""
    sizes = [0] * (4 * len(text))
    for _, (start, stop) in _pre_tokenizer(kind).pre_tokenize_str(" ".join(f"a{each}a" for each in text)):
        sizes[start:stop] = [stop - start] * (stop - start)
    return [("removed", "apart")[size] if size < 2 else "joined" for size in sizes[1::4]]


@cache
def _pre_tokenizer(kind: str) -> Any:
    from tokenizers import pre_tokenizers

    if kind == "Digits":
        return pre_tokenizers.Digits(individual_digits=True)
    return getattr(pre_tokenizers, kind)()


def byte_masks(masks: Any) -> Any:
    """uint64[256], the bits of the character that stands for each byte."""
    import numpy as np

    characters = to_byte_level(bytes(range(256)))
    assert from_byte_level(characters) == bytes(range(256))
    return np.array([masks[ord(character)] for character in characters], np.uint64)
