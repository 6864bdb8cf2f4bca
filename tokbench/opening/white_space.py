"""Normalization steps that change nothing but white space which splitting leaves out, as CLIP's files have one.

A pre-tokenizer that keeps the matches of a pattern and drops what is between them sees no difference between one
space and a run of other white space, if no match holds any white space or depends on it. Replacing the runs then
takes most of the time of an encoding, and changes no pre-token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.backends.bpe.split_programs.character_sets import UnknownPatternError, members_of
from tokbench.backends.bpe.split_programs.syntax import Characters, Group, parsed
from tokbench.core.special_tokens import WHITE_SPACE
from tokbench.opening.normalization_steps import WHITE_SPACE_RUNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.backends.bpe.split_programs.syntax import Choices, Item

_BESIDE = frozenset(["NFC", "NFD", "Lowercase"])
"""Other steps that make white space of white space alone, and treat what is next to it as at the end of a text."""


def needed_normalizers(
    normalizers: Sequence[Mapping[str, Any]],
    pre_tokenizers: Sequence[Mapping[str, Any]],
    *,
    added: Sequence[Mapping[str, Any]],
) -> Sequence[Mapping[str, Any]]:
    r"""Return the normalizers without replacements of white space that change no pre-token.

    Args:
        normalizers: the document's normalizers, with sequences flattened.
        pre_tokenizers: its pre-tokenizers, with sequences flattened.
        added: its added tokens, as it lists them.

    >>> runs = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    >>> words = {"type": "Split", "pattern": {"Regex": r"\w+"}, "behavior": "Removed", "invert": True}
    >>> needed_normalizers([runs, {"type": "Lowercase"}], [words], added=[])
    [{'type': 'Lowercase'}]
    """
    others = [step for step in normalizers if not _replaces_white_space(step)]
    if not _BESIDE.issuperset(step.get("type") for step in others):
        return normalizers
    if any(not WHITE_SPACE.isdisjoint(token["content"]) for token in added):
        return normalizers
    return others if pre_tokenizers and _leaves_out_white_space(pre_tokenizers[0]) else normalizers


def _replaces_white_space(step: Mapping[str, Any]) -> bool:
    pattern, content = step.get("pattern"), step.get("content")
    if step.get("type") != "Replace" or not isinstance(pattern, dict):
        return False
    is_of_runs = str(pattern.get("Regex")) in WHITE_SPACE_RUNS
    return is_of_runs and isinstance(content, str) and bool(content) and WHITE_SPACE.issuperset(content)


def _leaves_out_white_space(pre_tokenizer: Mapping[str, Any]) -> bool:
    pattern = pre_tokenizer.get("pattern")
    keeps_matches = pre_tokenizer.get("behavior") == "Removed" and pre_tokenizer.get("invert") is True
    if pre_tokenizer.get("type") != "Split" or not keeps_matches or not isinstance(pattern, dict):
        return False
    try:
        return isinstance(expression := pattern.get("Regex"), str) and _take_none(parsed(expression))
    except UnknownPatternError:
        return False


def _take_none(choices: Choices) -> bool:
    return all(_takes_none(item) for items in choices for item in items)


def _takes_none(item: Item) -> bool:
    """Whether an item matches no white space, and does not test what follows it."""
    if isinstance(item, Characters):
        return not members_of(item.spelling)[_CODES].any()
    return isinstance(item, Group) and _take_none(item.choices)


_CODES = np.array(sorted(map(ord, WHITE_SPACE)))
