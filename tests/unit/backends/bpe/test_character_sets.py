"""Sets of characters as bits: each set has its bit, however many sets there are."""

from __future__ import annotations

import numpy as np
import pytest

from tokbench.backends.bpe.split_programs.character_sets import MOST_SETS, CharacterSets, members_of

CLASSES = [r"\s", r"\p{L}", "[0-9]", "[a-f]", r"[^\p{Lu}]", "[東京]", ".", r"\d", r"[\s\p{N}]", "[x-z]"]


@pytest.mark.parametrize("size", [0, 1, 8, 9, len(CLASSES), MOST_SETS])
def test_mask_of_a_character_has_the_bits_of_its_sets(size: int) -> None:
    sets = CharacterSets()
    spellings = [*CLASSES, *(f"[{chr(0x4E00 + place)}]" for place in range(MOST_SETS))][:size]
    assert [sets.number(spelling, members_of(spelling)) for spelling in spellings] == [*range(size)]
    masks = sets.masks()
    assert masks.dtype == np.uint64
    for character in "a1Z \n東é\U0001f600一丁\U0010ffff":
        bits = sum(1 << place for place, members in enumerate(sets.members) if members[ord(character)])
        assert int(masks[ord(character)]) == bits
