"""Tests for the table of characters whose class is the same in all Unicode tables that libraries may have."""

from __future__ import annotations

import importlib.util
import unicodedata
from pathlib import Path
from typing import Any

from tokbench.opening.stable_classes import stable_class
from tokbench.opening.unicode_agreement import CLASS_OF_CATEGORY

GENERATOR = Path(__file__).parents[3] / "tokbench" / "native" / "common" / "generate_stable_classes.py"

VERSIONS = [
    """# DerivedGeneralCategory of a version
0061..007A    ; Ll # [26] LATIN SMALL LETTER A..LATIN SMALL LETTER Z
00AA          ; Lo #      FEMININE ORDINAL INDICATOR
0295          ; Ll #      LATIN LETTER PHARYNGEAL VOICED FRICATIVE
10D0..10D1    ; Ll # [2]
0378..0379    ; Cn # [2]
200B          ; Cf #      ZERO WIDTH SPACE
FFFF..10FFFF  ; Cn
""",
    """# and of another one
0061..007A    ; Ll # [26]
00AA          ; Lo #
0295          ; Lo #
10D0..10D2    ; Ll # [3]
0378          ; Lo #
200B          ; Cf #
""",
]


def generator() -> Any:
    """Import the script, which is not installed."""
    found = importlib.util.spec_from_file_location("generate_stable_classes", GENERATOR)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_table_has_what_all_versions_agree_on_and_3_2_does_not_tell() -> None:
    script = generator()
    ranges = script.stable_ranges([script.classes_of(text) for text in VERSIONS])
    assert ranges == {
        0: [range(0x200B, 0x200C)],
        2: [range(0x10D0, 0x10D2)],
        3: [range(0xAA, 0xAB)],
        6: [range(0x85, 0x86)],
    }
    assert [line.strip() for line in script.lines(ranges).splitlines()][:3] == ["0: (", '"200B"', "),"]
    assert '"10D0-10D1"' in script.lines(ranges)


def test_table_agrees_with_the_tables_of_this_python() -> None:
    listed = [code for code in range(0x10000) if stable_class(code) is not None and code != 0x85]
    assert len(listed) > 4_000
    for code in listed:
        category = unicodedata.category(chr(code))
        assert category not in {"Cn", "Cs"}
        assert stable_class(code) == CLASS_OF_CATEGORY.get(category, 0)
    assert stable_class(0x10FFFF) is None
