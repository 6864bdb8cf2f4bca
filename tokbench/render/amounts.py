"""Amounts of text and rates of reading, in bytes, kB and MB."""

from __future__ import annotations

_TELLING_BYTES = 100_000
"""With less text, a rate measures start-up rather than reading."""
_KILO = 1_000
_MEGA = 1_000_000


def rate(num_bytes: float, seconds: float, *, digits: int = 1) -> str | None:
    """The reading rate; None for too little text to measure.

    >>> rate(5_000_000, 0.4), rate(200_000, 10.0), rate(12, 0.1)
    ('12.5 MB/s', '20.0 kB/s', None)
    """
    if num_bytes < _TELLING_BYTES or seconds <= 0:
        return None
    return f"{_in_units(num_bytes / seconds, digits=digits)}/s"


def amount(num_bytes: float, *, of: float | None = None, digits: int = 1) -> str:
    """Format an amount of text; with a total, in the unit of the total.

    >>> amount(25e6), amount(0, of=50e6), amount(1_500, of=4_000)
    ('25.0 MB', '0.0 of 50.0 MB', '1.5 of 4.0 kB')
    """
    if of is None:
        return _in_units(num_bytes, digits=digits)
    whole, unit = _in_units(of, digits=digits).split(" ")
    size = {"B": 1, "kB": _KILO, "MB": _MEGA}[unit]
    return f"{num_bytes / size:,.{0 if unit == 'B' else digits}f} of {whole} {unit}"


def _in_units(number: float, *, digits: int) -> str:
    if number < _KILO:
        return f"{number:.0f} B"
    size, unit = (_KILO, "kB") if number < _MEGA / 10 else (_MEGA, "MB")
    return f"{number / size:,.{digits}f} {unit}"
