"""Format figures and names for sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.plurals import counted

if TYPE_CHECKING:
    from collections.abc import Sequence


def percent(share: float) -> str:
    """Format a share in percent; only 0 and 1 are shown as 0 % and 100 %.

    >>> percent(0.99996), percent(0.5), percent(0.0001), percent(0.0)
    ('99.9 %', '50.0 %', '0.1 %', '0.0 %')
    """
    return f"{min(max(share * 100, 0.1), 99.9) if 0 < share < 1 else share * 100:.1f} %"


def counted_parts(number: int, unit: str) -> str:
    """How many documents, or blocks of them, there are; the unit as `Holdout.unit` gives it.

    >>> counted_parts(1, "documents"), counted_parts(1_200, "blocks of lines")
    ('1 document', '1,200 blocks of lines')
    """
    return counted(number, "document") if unit == "documents" else f"{number:,} {unit}"


def listed(names: Sequence[str]) -> str:
    """Join names with commas and "and".

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def significant(value: float) -> str:
    """Format a number with four significant digits, or all before the decimal point.

    >>> significant(96_290.4), significant(0.72243), significant(2.5), significant(1.2e-7)
    ('96,290', '0.7224', '2.5', '1.2e-07')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
