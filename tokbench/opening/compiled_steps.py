"""Splitting steps as one pattern of the kernel, which splits faster than they do.

Steps look up the text between two spaces without splitting it; that only helps with words that repeat, and less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.backends.bpe.split_programs.fused import fused
from tokbench.backends.bpe.split_programs.syntax import Characters
from tokbench.opening.split_steps import PatternStep, ProgramStep

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokbench.backends.bpe.split_programs.fused import Fused
    from tokbench.backends.bpe.split_programs.programs import Program
    from tokbench.backends.bpe.split_programs.syntax import Choices
    from tokbench.native._bpe import CompiledPattern
    from tokbench.opening.split_steps import MarkStep, SplitSteps


def compiled_steps(splitting: SplitSteps, masks: NDArray[np.uint64]) -> CompiledPattern | None:
    """Return the pattern whose matches are the pre-tokens that some steps make; None if there may be none.

    Args:
        splitting: the steps.
        masks: the bits of each character, `splitting.sets.masks()`.
    """
    match splitting.steps:
        case [ProgramStep(of_bytes=False) as only] if only.makes_parts_of_matches:
            compiled = _compiled(only.program, masks)
            if compiled is not None:
                return compiled
    one = _fused(splitting, masks)
    return None if one is None else _compiled(one.program, one.masks)


def _compiled(program: Program, masks: NDArray[np.uint64]) -> CompiledPattern | None:
    """Return the pattern of a program, if there is a match at every place of every text."""
    from tokbench.native._bpe import CompiledPattern

    compiled = CompiledPattern(program.operations, program.first, masks)
    return compiled if compiled.matches_everywhere else None


def _fused(splitting: SplitSteps, masks: NDArray[np.uint64]) -> Fused | None:
    if not splitting.steps:
        return None
    *before, last = splitting.steps
    runs = [step.runs for step in before if isinstance(step, ProgramStep)]
    known = [each for each in runs if each is not None]
    choices = _choices(last, splitting.last_named)
    if choices is None or len(known) != len(before):
        return None
    keeps_gaps = not (isinstance(last, ProgramStep) and last.behavior == "Removed")
    return fused(known, choices, splitting.sets, masks, keeps_gaps=keeps_gaps)


def _choices(step: ProgramStep | PatternStep | MarkStep, named: Program | None) -> Choices | None:
    """Return the parsed pattern of a step of which each match becomes a part; None for other steps."""
    if isinstance(step, PatternStep):
        return None if named is None else named.choices
    if not isinstance(step, ProgramStep) or step.of_bytes:
        return None
    if step.makes_parts_of_matches:
        return step.program.choices
    return tuple((Characters(runs.spelling, most=runs.most),) for runs in step.runs or ()) or None
