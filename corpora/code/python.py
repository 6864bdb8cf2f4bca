#!/usr/bin/env python3
"""Split shared expenses between friends and suggest who should pay whom.

The ledger keeps every amount in integer cents, because floating point and
money do not mix. Input is a small text format, one expense per line:

    2024-07-03  Zoë   48.60  EUR  groceries      # split between everyone
    2024-07-04  Ivan  120    USD  boat @Ivan,Mei # split between two people
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple, Protocol

CENTS = Decimal("0.01")
MAX_LINE_LENGTH = 1_000
DEFAULT_CURRENCY = "EUR"

LINE_PATTERN = re.compile(
    r"""
    ^(?P<day>\d{4}-\d{2}-\d{2})\s+
    (?P<payer>\w+)\s+
    (?P<amount>\d+(?:\.\d{1,2})?)\s+
    (?P<currency>[A-Z]{3})\s+
    (?P<what>[^@#]+?)\s*
    (?:@(?P<people>[\w,]+))?\s*
    (?:\#.*)?$
    """,
    re.VERBOSE,
)


class LedgerError(ValueError):
    """Raised when a line of the ledger cannot be understood."""

    def __init__(self, line_number: int, reason: str) -> None:
        super().__init__(f"line {line_number}: {reason}")
        self.line_number = line_number


class Transfer(NamedTuple):
    debtor: str
    creditor: str
    cents: int

    def __str__(self) -> str:
        return f"{self.debtor:>10} → {self.creditor:<10} {format_cents(self.cents):>10}"


class RateSource(Protocol):
    async def rate(self, currency: str) -> Decimal: ...


@dataclass(frozen=True, slots=True)
class Expense:
    day: date
    payer: str
    amount: Decimal
    currency: str
    what: str
    people: tuple[str, ...] = ()

    @property
    def is_private(self) -> bool:
        """True if the payer bought something only for themselves."""
        return self.people == (self.payer,)


@dataclass
class FixedRates:
    """Exchange rates typed in by hand; good enough for one holiday."""

    table: dict[str, Decimal] = field(
        default_factory=lambda: {
            "EUR": Decimal("1"),
            "USD": Decimal("0.92"),
            "GBP": Decimal("1.17"),
            "CHF": Decimal("1.04"),
        }
    )
    delay: float = 0.0

    async def rate(self, currency: str) -> Decimal:
        # A real source would ask a server here, hence the async signature.
        await asyncio.sleep(self.delay)
        try:
            return self.table[currency]
        except KeyError:
            known = ", ".join(sorted(self.table))
            raise LookupError(f"no rate for {currency!r} (known: {known})") from None


@dataclass
class Ledger:
    expenses: list[Expense] = field(default_factory=list)
    balances: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def members(self) -> list[str]:
        names = {expense.payer for expense in self.expenses}
        for expense in self.expenses:
            names.update(expense.people)
        return sorted(names, key=str.casefold)

    async def settle(self, rates: RateSource) -> list[Transfer]:
        """Convert everything to the default currency and balance the books."""
        currencies = sorted({expense.currency for expense in self.expenses})
        found = await asyncio.gather(*(rates.rate(code) for code in currencies))
        rate_for = dict(zip(currencies, found, strict=True))

        self.balances.clear()
        everyone = self.members
        for expense in self.expenses:
            cents = to_cents(expense.amount * rate_for[expense.currency])
            self.balances[expense.payer] += cents
            people = expense.people or everyone
            for person, share in zip(people, split_evenly(cents, len(people))):
                self.balances[person] -= share

        assert sum(self.balances.values()) == 0, "cents were lost on the way"
        return list(suggest_transfers(self.balances))


def to_cents(amount: Decimal) -> int:
    return int(amount.quantize(CENTS, rounding=ROUND_HALF_EVEN) * 100)


def format_cents(cents: int) -> str:
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole:,}.{rest:02d} €"


def split_evenly(cents: int, parts: int) -> Iterator[int]:
    """Yield `parts` integers which differ by at most one and add up to `cents`.

    >>> list(split_evenly(1000, 3))
    [334, 333, 333]
    """
    base, remainder = divmod(cents, parts)
    for index in range(parts):
        yield base + (1 if index < remainder else 0)


def suggest_transfers(balances: dict[str, int]) -> Iterator[Transfer]:
    """Greedy matching: the largest debtor pays the largest creditor.

    This is not always the smallest number of transfers (that problem is
    NP-hard), but it never needs more than ``len(balances) - 1`` of them.
    """
    open_balances = {name: cents for name, cents in balances.items() if cents}
    while open_balances:
        debtor = min(open_balances, key=open_balances.__getitem__)
        creditor = max(open_balances, key=open_balances.__getitem__)
        cents = min(-open_balances[debtor], open_balances[creditor])
        yield Transfer(debtor, creditor, cents)
        for name, change in ((debtor, cents), (creditor, -cents)):
            open_balances[name] += change
            if open_balances[name] == 0:
                del open_balances[name]


def parse_lines(lines: Iterable[str]) -> Iterator[Expense]:
    for line_number, raw in enumerate(lines, start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if len(line) > MAX_LINE_LENGTH:
            raise LedgerError(line_number, "line is far too long")
        if (match := LINE_PATTERN.match(line)) is None:
            raise LedgerError(line_number, f"cannot read {line[:40]!r}")
        try:
            day = date.fromisoformat(match["day"])
            amount = Decimal(match["amount"])
        except (ValueError, InvalidOperation) as error:
            raise LedgerError(line_number, str(error)) from error
        # dict.fromkeys drops repeated names but keeps their order
        names = filter(None, (match["people"] or "").split(","))
        people = tuple(dict.fromkeys(names))
        yield Expense(
            day, match["payer"], amount, match["currency"], match["what"], people
        )


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ledger", type=Path, nargs="?", help="file (default: stdin)")
    parser.add_argument("-v", "--verbose", action="store_true")
    return parser


def main(argv: list[str] | None = None) -> int:
    options = build_parser().parse_args(argv)
    try:
        if options.ledger:
            text = options.ledger.read_text(encoding="utf-8")
        else:
            text = sys.stdin.read()
        ledger = Ledger(list(parse_lines(text.splitlines())))
        transfers = asyncio.run(ledger.settle(FixedRates()))
    except (LedgerError, LookupError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    if options.verbose:
        # TODO: group the expenses by week once trips get longer
        for name, cents in sorted(ledger.balances.items(), key=lambda pair: -pair[1]):
            print(f"{name:>10} {format_cents(cents):>12}")
        print("-" * 36)
    print(*transfers, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
