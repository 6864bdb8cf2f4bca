"""Answers to questions about words, merges, and words of a corpus with certain cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from tokbench.core.wording import counted, is_or_are
from tokbench.explain.sentences import percent
from tokbench.render.explain.painter import Painter, symbol_text
from tokbench.render.glyphs import visible
from tokbench.render.palette import FAINT, palette_for
from tokbench.render.terminal import Line, folded, print_folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tokbench.explain.records import MergeRecord
    from tokbench.workbench.explain import MergesResult, SplitsResult, WordResult

_BOLD = Style(bold=True)
_COUNT = 11


def render_words(result: WordResult, *, console: Console) -> None:
    """Print why words are one token or several."""
    for answer in result.answers:
        lines = [answer.sentence]
        if answer.change is not None:
            lines.append(f"It would be one with {answer.change}.")
        print_folded((Line(Text(line)) for line in lines), console=console)


def render_merges(result: MergesResult, *, console: Console) -> None:
    """Print records of merges."""
    painter = Painter(palette_for(console), console.width)
    for number, record in enumerate(result.records):
        if number:
            console.print()
        print_folded(_record_lines(record, painter), console=console)


def _record_lines(record: MergeRecord, painter: Painter) -> Iterator[Line]:
    title = Text.assemble((f"merge {record.rank:,}", _BOLD), f" of {record.merges:,}   ")
    title.append_text(painter.cells([record.left.data, record.right.data]))
    title.append(" → ").append_text(painter.cells([record.merged.data], first=2))
    yield Line(title + Text(f"   id {record.merged.id}", FAINT))
    parts = ((record.left, record.left_rank), (record.right, record.right_rank))
    made_by = "; ".join(
        f"{symbol_text(symbol)} {'was there before' if rank is None else f'by merge {rank:,}'}"
        for symbol, rank in parts
    )
    yield _fact("parts", made_by)
    if record.count is not None:
        yield _fact("count", f"{counted(record.count, 'occurrence')} when it was merged")
    uses = ", ".join(f"{symbol_text(use.merged)} ({use.rank:,})" for use in record.used_by)
    others = record.num_uses - len(record.used_by)
    yield _fact("used by", f"{uses or 'no later merge'}{f' and {others:,} more' if others > 0 else ''}")
    if record.displaced is None:
        yield Line(Text("displaced  not known: `tokbench train --trace` keeps it", FAINT), 2)
        return
    for number, pair in enumerate(record.displaced):
        later = "never merged" if pair.rank is None else f"merged at rank {pair.rank:,}"
        shown = f"{symbol_text(pair.left)} + {symbol_text(pair.right)}"
        label = "" if number else "displaced"
        yield _fact(label, f"{shown}  lost {counted(pair.lost, 'occurrence')}, {later}")
    if not record.displaced:
        yield _fact("displaced", "nothing")


def _fact(label: str, text: str) -> Line:
    return Line(Text.assemble((f"{label:<11}", FAINT), text), 2)


def render_splits(result: SplitsResult, *, console: Console) -> None:
    """Print the words that match a query for splits, with the first cause of each."""
    found, painter = result.found, Painter(palette_for(console), console.width)
    for word in found.words:
        line = Text.assemble(
            painter.cells([symbol.data for symbol in word.tokens]), ("  " + word.causes[0], FAINT)
        )
        first, *others = folded(Line(line, _COUNT), console)
        console.print(Text(f"{word.count:>{_COUNT - 2},}  ", FAINT) + first[_COUNT:], soft_wrap=True)
        for row in others:
            console.print(row, soft_wrap=True)
    share = found.cut / found.occurrences if found.occurrences else 0.0
    words = f"{counted(len(found.words), 'word')} {is_or_are(len(found.words))}"
    more = "" if found.is_complete else ", and there may be more"
    note = (
        f"{words} cut at {visible(result.asked)}{more}; of {counted(found.occurrences, 'word')} of the corpus, "
        f"{found.distinct:,} different ones, {percent(share)} have several tokens"
    )
    print_folded([Line(Text(note, FAINT))], console=console)
