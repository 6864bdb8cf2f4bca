r"""Custom split patterns for the compiled kernel, which finds the pre-tokens that the `regex` package finds.

A pattern is compiled if the parser understands all of it. Structure means the same to all libraries then, except for a
dollar that may match before a line break, which is refused; `regex` itself is asked for the characters of each class
and escape sequence.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tokbench.backends.bpe.split_programs.character_sets import (
    CharacterSets,
    UnknownPatternError,
    members_for_regex,
)
from tokbench.backends.bpe.split_programs.gaps import ends_lines, matches_everywhere
from tokbench.backends.bpe.split_programs.programs import program_of
from tokbench.backends.bpe.split_programs.syntax import Dialect

if TYPE_CHECKING:
    from tokbench.backends.bpe.kernel import Kernel
    from tokbench.backends.bpe.split_patterns import SplitPattern
    from tokbench.native._bpe import CompiledPattern

REGEX = Dialect(members_for_regex, has_possessive_intervals=True)
"""The dialect of the `regex` package."""


def compiled_for(kernel: Kernel, pattern: SplitPattern) -> CompiledPattern | None:
    """Return a custom pattern as a kernel splits by it; None if only `regex` does."""
    return None if kernel.name != "native" or pattern.regex is None else compiled_pattern(pattern.regex)


@lru_cache(maxsize=32)
def compiled_pattern(pattern: str) -> CompiledPattern | None:
    r"""Compile a custom pattern; return None if the kernel may find other pre-tokens than `regex`, or gaps.

    Takes about 0.2 s for the first pattern, most of it to find the characters of its classes.

    >>> compiled_pattern(r"\p{L}+|\s+|[^\p{L}\s]+").cuts_at_spaces
    True
    >>> compiled_pattern(r"\b\w+|\W") is None
    True
    """
    from tokbench.native._bpe import CompiledPattern

    sets = CharacterSets()
    try:
        program = program_of(pattern, sets, dialect=REGEX)
        if ends_lines(pattern, dialect=REGEX):
            return None
        compiled = CompiledPattern(program.operations, program.first, sets.masks())
        return compiled if compiled.matches_everywhere or matches_everywhere(pattern, dialect=REGEX) else None
    except UnknownPatternError:
        return None
