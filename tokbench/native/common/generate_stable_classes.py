"""Generate the table of `opening/stable_classes.py` from Unicode's own files: python generate_stable_classes.py FILE…

The files are the DerivedGeneralCategory.txt of each Unicode version from 12.1, of 2019, to the newest: no supported
library has older tables.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from itertools import groupby
from pathlib import Path

from tokbench.opening.unicode_agreement import CLASS_OF_CATEGORY

_LINE = re.compile(r"^([0-9A-F]{4,6})(?:\.\.([0-9A-F]{4,6}))?\s*;\s*(\w\w)", re.MULTILINE)
_SIZE = 0x10000
_WHITE_CONTROLS = {0x85: 6}
"""White space in every version, by a property and not by its category."""
OUTPUT = Path(__file__).parents[2] / "opening" / "stable_classes.py"


def classes_of(text: str) -> list[int | None]:
    """Return the class number of each character of the first plane by a file; None for unassigned ones."""
    classes: list[int | None] = [None] * _SIZE
    for first, last, category in _LINE.findall(text):
        start, stop = int(first, 16), min(int(last or first, 16) + 1, _SIZE)
        if category not in {"Cn", "Cs", "Co"} and start < stop:
            classes[start:stop] = [CLASS_OF_CATEGORY.get(category, 0)] * (stop - start)
    return classes


def stable_ranges(versions: list[list[int | None]]) -> dict[int, list[range]]:
    """Return the ranges of characters, by class, that had it in all versions, without those that 3.2 tells."""
    stable = {
        code_point: classes[0]
        for code_point, classes in enumerate(zip(*versions, strict=True))
        if len(set(classes)) == 1 and classes[0] is not None and not _is_in_3_2(code_point, classes[0])
    } | _WHITE_CONTROLS
    return {
        number: [
            range(members[0], members[-1] + 1)
            for _, group in groupby(
                enumerate(sorted(one for one in stable if stable[one] == number)),
                lambda pair: pair[1] - pair[0],
            )
            for members in [[member for _, member in group]]
        ]
        for number in sorted(set(stable.values()))
    }


def _is_in_3_2(code_point: int, number: int) -> bool:
    """Whether `is_settled` needs no table: 3.2 has the same class, or none where no class was added."""
    return CLASS_OF_CATEGORY.get(unicodedata.ucd_3_2_0.category(chr(code_point)), 0) == number


def lines(ranges: dict[int, list[range]]) -> str:
    """Return the entries of the table as Python source."""
    rows = []
    for number, each in ranges.items():
        words = [f"{one[0]:X}" if len(one) == 1 else f"{one[0]:X}-{one[-1]:X}" for one in each]
        rows.append(f"    {number}: (")
        row = ""
        for word in words:
            if len(row) + len(word) > 100:
                rows.append(f'        "{row}"')
                row = ""
            row += f"{word} "
        rows.append(f'        "{row.rstrip()}"')
        rows.append("    ),")
    return "\n".join(rows)


def main() -> None:
    """Replace the table in the module."""
    versions = [classes_of(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]]
    text = OUTPUT.read_text(encoding="utf-8")
    before, after = text.index("_RANGES = {\n") + len("_RANGES = {\n"), text.index("\n}\n")
    made = lines(stable_ranges(versions))
    OUTPUT.write_text(f"{text[:before]}{made}{text[after:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
