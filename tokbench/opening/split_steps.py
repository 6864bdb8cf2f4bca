"""Pre-tokenizers of a `tokenizer.json` as steps in which our kernel splits (native/bpe/split_steps.hpp).

The steps mirror `tokenizers/src/pre_tokenizers` of Hugging Face's library: byte_level.rs, split.rs, digits.rs,
punctuation.rs, whitespace.rs, delimiter.rs and metaspace.rs; the behaviors mirror `SplitDelimiterBehavior` of
tokenizer/normalizer.rs. After ByteLevel, the characters of a text are those that stand for bytes, and steps there split
these.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.backends.bpe.split_patterns import resolve_pattern
from tokbench.backends.bpe.split_programs.character_sets import CharacterSets, UnknownPatternError
from tokbench.backends.bpe.split_programs.fused import Runs, runs_of
from tokbench.backends.bpe.split_programs.programs import Program, program_of, program_of_text
from tokbench.backends.bpe.split_programs.syntax import NO_LIMIT, RUST
from tokbench.formats.tokenizer_json import to_byte_level
from tokbench.opening.patterns import known_pattern
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.opening.unicode_agreement import tokenizers_members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_KEEPING = {("Isolated", False), ("Removed", True)}
"""(behavior, inverted) for which the matches become the parts, if the pattern matches all of a text."""
_ANY = r"[\s\S]"
_PUNCTUATION = r"[\p{P}$+<=>\^`|~]"
RUSTS_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}"
r"""Rust's \w, which defines the expression of `Whitespace`."""


class OwnSet(NamedTuple):
    """A set that a pre-tokenizer of the library takes from Rust rather than from Oniguruma.

    Attributes:
        number: the number of the set.
        kind: the type of the pre-tokenizer.
        treatment: how it treats a character of the set between letters: "apart", "joined" or "removed".
    """

    number: int
    kind: str
    treatment: str


class ProgramStep(NamedTuple):
    """A step that runs a program.

    Attributes:
        program: the program to match.
        of_bytes: whether the characters of the text stand for bytes.
        behavior: how matches are treated.
        is_inverted: whether the gaps between matches count as the matches.
    """

    program: Program
    of_bytes: bool
    behavior: str
    is_inverted: bool = False

    @property
    def makes_parts_of_matches(self) -> bool:
        """Whether each match becomes a part, and the text between two of them a part or nothing."""
        return self.behavior == "Isolated" or (self.behavior == "Removed" and self.is_inverted)

    @property
    def runs(self) -> tuple[Runs, ...] | None:
        """The runs of characters that become parts, as does the text between them; None if there are other parts."""
        runs = None if self.of_bytes else runs_of(self.program.choices)
        if runs is None or self.behavior == "Isolated":
            return runs
        joins_matches = self.behavior == "Contiguous" and len(runs) == 1
        return (runs[0]._replace(most=NO_LIMIT),) if joins_matches else None


class PatternStep(NamedTuple):
    """A step that uses the scanner of a named pattern.

    Attributes:
        name: the name of the pattern.
        prefix_space: whether a space is put in front of each part that begins with none.
    """

    name: str
    prefix_space: bool = False


class MarkStep(NamedTuple):
    """A step that replaces spaces by a mark.

    Attributes:
        mark: the mark that replaces a space.
        is_put_in_front: whether a mark is put in front of each part that begins with none.
        begins_parts: whether parts are cut in front of each mark.
    """

    mark: str
    is_put_in_front: bool
    begins_parts: bool


@dataclass
class SplitSteps:
    """How a text is split.

    Attributes:
        steps: the steps, in order.
        sets: the character sets that programs use.
        own_sets: the sets that pre-tokenizers define differently from Oniguruma.
        last_named: the program that splits as the last step, a named pattern after steps that cut out runs.
    """

    steps: list[ProgramStep | PatternStep | MarkStep] = field(default_factory=list)
    sets: CharacterSets = field(default_factory=CharacterSets)
    own_sets: set[OwnSet] = field(default_factory=set)
    last_named: Program | None = None

    @property
    def pattern(self) -> str | None:
        """The name of the pattern if splitting is this one pattern alone, else None."""
        if not self.steps:
            return "none"
        match self.steps:
            case [PatternStep(name, prefix_space=False)]:
                return name
        return None

    @property
    def tiles(self) -> bool:
        """Whether the pre-tokens of a text, concatenated, are the text."""
        removes = any(isinstance(step, ProgramStep) and step.behavior == "Removed" for step in self.steps)
        return not (removes or self.adds_spaces)

    @property
    def adds_spaces(self) -> bool:
        """Whether pre-tokens may contain spaces, or marks for them, that the text does not have."""
        return any(map(_adds_spaces, self.steps))

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the steps in the format of the kernel's encoders, such as `PreparedEncoder`."""
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
        """Describe the steps in words, for `inspect`."""
        names = [f"the pattern {step.name!r}" for step in self.steps if isinstance(step, PatternStep)]
        programs = sum(isinstance(step, ProgramStep) for step in self.steps)
        if programs:
            names.append("a pattern of its own" if programs == 1 else f"{programs} patterns of its own")
        names += [f"spaces written as {step.mark}" for step in self.steps if isinstance(step, MarkStep)]
        return " and ".join(names) or "no pattern"


def _adds_spaces(step: ProgramStep | PatternStep | MarkStep) -> bool:
    """Whether the parts of a step belong to a modified copy of the text."""
    return isinstance(step, MarkStep) or (isinstance(step, PatternStep) and step.prefix_space)


def split_steps(pre_tokenizers: Sequence[Mapping[str, Any]], *, maps_to_bytes: bool = True) -> SplitSteps:
    """Convert pre-tokenizers into splitting steps.

    Args:
        pre_tokenizers: the document's pre-tokenizers, with sequences flattened.
        maps_to_bytes: whether one of them must map text to bytes; if not, none may.

    Raises:
        NotNativeError: a pre-tokenizer does something that the kernel does not.
    """
    splitting = SplitSteps()
    of_bytes = False
    try:
        for pre_tokenizer in pre_tokenizers:
            if pre_tokenizer.get("type") == "ByteLevel":
                if of_bytes:
                    raise NotNativeError("its pre-tokenizers map text to bytes twice")
                splitting.steps.extend(_byte_level(pre_tokenizer))
                of_bytes = True
            else:
                splitting.steps.extend(_steps(pre_tokenizer, splitting, of_bytes=of_bytes))
    except UnknownPatternError as error:
        raise NotNativeError(f"the native kernel does not run its split pattern: {error}") from None
    if of_bytes is not maps_to_bytes:
        raise NotNativeError(f"its pre-tokenizer {'maps' if of_bytes else 'does not map'} text to bytes")
    if sum(map(_adds_spaces, splitting.steps)) > 1:
        raise NotNativeError("it adds spaces in two steps")
    splitting.last_named = _last_named(splitting)
    _check_ascii(splitting)
    return splitting


def _last_named(splitting: SplitSteps) -> Program | None:
    """Return the program of `last_named`. Its sets are compared with the library's like those of all programs."""
    match splitting.steps:
        case [*before, PatternStep(name, prefix_space=False)] if before:
            cut_out_runs = all(isinstance(step, ProgramStep) and step.runs is not None for step in before)
            expression = resolve_pattern(name).regex
            if cut_out_runs and expression is not None:
                with suppress(UnknownPatternError):
                    return program_of(expression, splitting.sets, dialect=RUST)
    return None


def _byte_level(pre_tokenizer: Mapping[str, Any]) -> list[PatternStep]:
    prefix_space = pre_tokenizer.get("add_prefix_space")
    if not isinstance(prefix_space, bool):
        raise NotNativeError("its pre-tokenizer does not say whether it prepends a space")
    if pre_tokenizer.get("use_regex", True):
        return [PatternStep("gpt2", prefix_space)]
    return [PatternStep("none", prefix_space)] if prefix_space else []


def _steps(
    pre_tokenizer: Mapping[str, Any], splitting: SplitSteps, *, of_bytes: bool
) -> Iterator[ProgramStep | PatternStep | MarkStep]:
    kind, sets = str(pre_tokenizer.get("type")), splitting.sets

    def own(spelling: str, treatment: str) -> Program:
        program = program_of(spelling, sets)
        splitting.own_sets.add(OwnSet(sets.spellings.index(spelling), kind, treatment))
        return program

    match kind:
        case "Split":
            yield _split(pre_tokenizer, sets, of_bytes=of_bytes)
        case "Digits":
            behavior = "Isolated" if pre_tokenizer.get("individual_digits") else "Contiguous"
            yield ProgramStep(own(r"\p{N}", "apart"), of_bytes, behavior)
        case "Punctuation":
            behavior = _behavior(pre_tokenizer.get("behavior", "Isolated"))
            yield ProgramStep(own(_PUNCTUATION, "apart"), of_bytes, behavior)
        case "Whitespace":
            for spelling, treatment in ((f"[{RUSTS_WORD}]", "joined"), (rf"[^{RUSTS_WORD}\s]", "apart")):
                own(spelling, treatment)
            words = program_of(rf"[{RUSTS_WORD}]+|[^{RUSTS_WORD}\s]+", sets)
            yield ProgramStep(words, of_bytes, "Removed", is_inverted=True)
        case "WhitespaceSplit":
            yield ProgramStep(own(r"\s", "removed"), of_bytes, "Removed")
        case "BertPreTokenizer":
            yield ProgramStep(own(r"\s", "removed"), of_bytes, "Removed")
            yield ProgramStep(own(_PUNCTUATION, "apart"), of_bytes, "Isolated")
        case "Metaspace" if not of_bytes:
            yield _metaspace(pre_tokenizer)
        case "CharDelimiterSplit" if isinstance(sign := pre_tokenizer.get("delimiter"), str):
            yield ProgramStep(program_of_text(sign, sets), of_bytes, "Removed")
        case _:
            raise NotNativeError(f"its pre-tokenizer {kind} is not one that the native kernel runs")


def _metaspace(pre_tokenizer: Mapping[str, Any]) -> MarkStep:
    mark, scheme = pre_tokenizer.get("replacement"), pre_tokenizer.get("prepend_scheme", "always")
    if not isinstance(mark, str) or not mark or mark == " ":
        raise NotNativeError("its Metaspace does not say what it writes for a space")
    if scheme not in {"always", "never"}:
        raise NotNativeError(f"its Metaspace puts {mark} in front of the {scheme} part alone")
    puts_in_front = scheme == "always" and pre_tokenizer.get("add_prefix_space") is not False
    return MarkStep(mark, is_put_in_front=puts_in_front, begins_parts=pre_tokenizer.get("split") is not False)


def _split(
    pre_tokenizer: Mapping[str, Any], sets: CharacterSets, *, of_bytes: bool
) -> ProgramStep | PatternStep:
    behavior, is_inverted = _behavior(pre_tokenizer.get("behavior")), bool(pre_tokenizer.get("invert"))
    pattern = pre_tokenizer.get("pattern")
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


# --- whether the library agrees --------------------------------------------------------------------


def _check_ascii(splitting: SplitSteps) -> None:
    """Refuse sets on which the library disagrees for reasons other than Unicode versions."""
    asked = {chr(code) for code in range(128)}
    if any(isinstance(step, ProgramStep) and step.of_bytes for step in splitting.steps):
        asked |= set(to_byte_level(bytes(range(256))))
    asked.update(*(step.mark for step in splitting.steps if isinstance(step, MarkStep)))
    if wrong := disputed_by_sets(splitting, asked):
        raise NotNativeError(f"its split pattern means something else to its library for {min(wrong)!a}")


def disputed_by_sets(
    splitting: SplitSteps, characters: set[str], *, found: Callable[[str, str], str] = tokenizers_members
) -> set[str]:
    """Return the characters on which library and sets disagree; a character that stands for a byte counts for it.

    Args:
        splitting: how a text is split.
        characters: the characters in question.
        found: (spelling of a set, text) → the characters of the text that the library puts into the set.
    """
    text = "".join(sorted(characters))
    disputed: set[str] = set()
    for number, (spelling, members) in enumerate(
        zip(splitting.sets.spellings, splitting.sets.members, strict=True)
    ):
        ours = {character for character in text if members[ord(character)]}
        disputed |= ours ^ set(found(spelling, text))
        for own in splitting.own_sets:
            if own.number == number:
                disputed |= ours ^ {
                    character
                    for character, how in zip(text, _treated(own.kind, text), strict=True)
                    if how == own.treatment
                }
    return disputed


@lru_cache(maxsize=4)
def _treated(kind: str, text: str) -> list[str]:
    """Return how a pre-tokenizer of the library treats each character of a text, between letters."""
    sizes = [0] * (4 * len(text))
    for _, (start, stop) in _pre_tokenizer(kind).pre_tokenize_str(
        " ".join(f"a{character}a" for character in text)
    ):
        sizes[start:stop] = [stop - start] * (stop - start)
    return [("removed", "apart")[size] if size < 2 else "joined" for size in sizes[1::4]]


@cache
def _pre_tokenizer(kind: str) -> Any:
    from tokenizers import pre_tokenizers

    if kind == "Digits":
        return pre_tokenizers.Digits(individual_digits=True)
    return getattr(pre_tokenizers, kind)()


def byte_masks(masks: Any) -> Any:
    """Return uint64[256]: the bits of the character that stands for each byte."""
    import numpy as np

    return np.array([masks[ord(character)] for character in to_byte_level(bytes(range(256)))], np.uint64)
