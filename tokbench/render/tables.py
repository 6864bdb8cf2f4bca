"""Results as tables and short lists for the terminal."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.plurals import counted
from tokbench.render.amounts import amount, rate
from tokbench.render.glyphs import spelled, text_of, visible
from tokbench.render.layout import grid, plain_table, print_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.table import Table

    from tokbench.core.interfaces import BackendInfo
    from tokbench.workbench.backends import BackendsResult
    from tokbench.workbench.corpus import CorpusResult
    from tokbench.workbench.doctor import DoctorResult
    from tokbench.workbench.list import ListResult
    from tokbench.workbench.train import TrainResult


_BOLD = "bold"
_FAINT = "dim"


def render_train(result: TrainResult, *, console: Console) -> None:
    """What was trained, from what, how fast, where it is and what to do next."""
    training = result.training
    table = grid("label", "text")
    for label, value in _training_rows(result):
        table.add_row(Text(label, style=_FAINT), value)
    print_table(table, console=console)
    if training.stopped_early:
        console.print(Text(f"stopped early: {training.stopped_early}", style="yellow"))
    for note in training.notes:
        console.print(Text(f"note: {note}", style="yellow"))
    for name, reason in result.left_out.items():
        console.print(Text(f"without {name}: {reason}", style="yellow"))
    console.print()
    console.print(
        Text.assemble("try: ", (f'tokbench viz -t {_quoted(str(result.directory))} "your text"', _BOLD))
    )


def _training_rows(result: TrainResult) -> Iterable[tuple[str, Text]]:
    info, training = result.info, result.training
    fitted = training.learned_ids and not training.requested_vocab_size
    chosen = " (chosen to fit the text)" if fitted else ""
    specials = f", {len(info.special_tokens)} special" if info.special_tokens else ""
    learned = (
        counted(len(training.learned_ids), training.learned_unit.removesuffix("s"))
        if training.learned_ids
        else "none learned"
    )
    yield "vocabulary", Text(f"{info.vocab_size:,} entries{chosen}: {learned}{specials}")
    if training.num_bytes is not None and training.documents is not None:
        yield "text", Text(f"{training.num_bytes:,} bytes in {counted(training.documents, 'document')}")
    if training.pretokens is not None and training.distinct_pretokens is not None:
        yield "pre-tokens", Text(f"{training.pretokens:,}, {training.distinct_pretokens:,} distinct")
    if result.bytes_per_token is not None:
        yield "compression", Text(f"{_decimal(result.bytes_per_token)} bytes per token on this text")
    yield "time", Text(_time(result))
    if result.first_learned:
        yield "first", _pieces(result.first_learned)
    if result.last_learned:
        yield "last", _pieces(result.last_learned)
    yield "saved in", Text(visible(str(result.directory)), style=_BOLD)


def _time(result: TrainResult) -> str:
    training = result.training
    num_bytes, seconds = training.num_bytes, sum(training.seconds.values())
    shown = None if num_bytes is None else rate(num_bytes, seconds)
    fast = "" if shown is None else f", {shown}"
    threads = counted(training.threads, "thread")
    phases = {**training.seconds, "saving": result.saving_seconds}
    split = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in phases.items())
    return f"{result.seconds:.2f} s ({split}){fast}, {training.kernel} kernel, {threads}"


def _pieces(pieces: Iterable[bytes]) -> Text:
    return Text("  ").join(Text(text_of(spelled(piece))) for piece in pieces)


def render_source(source: str, *, console: Console) -> None:
    """A line above what belongs to one of several texts."""
    console.print(Text(visible(source), style=_BOLD))


def render_corpus(result: CorpusResult, *, console: Console) -> None:
    """A line a group, and the total."""
    with_licence = any(group.licence for group in result.groups)
    table = plain_table(
        "group",
        "",
        ("documents", "right"),
        ("bytes", "right"),
        ("characters", "right"),
        ("lines", "right"),
        *(["licence"] if with_licence else []),
    )
    for kind, groups in groupby(result.groups, key=lambda group: group.kind):
        if kind is not None:
            table.add_section()
            table.add_row(Text(kind, style=_FAINT))
        for group in groups:
            numbers = (group.documents, group.num_bytes, group.characters, group.lines)
            licence = [group.licence or ""] if with_licence else []
            table.add_row(
                Text(visible(group.group)),
                Text(group.title or ""),
                *(f"{number:,}" for number in numbers),
                *licence,
            )
    table.add_section()
    total = result.to_json()["total"]
    sums = [f"{total[name]:,}" for name in ("documents", "bytes", "characters", "lines")]
    table.add_row(Text("total", style=_BOLD), Text(visible(result.place)), *sums)
    print_table(table, console=console)


def render_list(result: ListResult, *, console: Console) -> None:
    """A line a tokenizer."""
    table = plain_table("name", "backend", ("vocabulary", "right"), ("size", "right"), "")
    for entry in result.tokenizers:
        vocabulary = f"{entry.vocab_size:,}" if entry.vocab_size is not None else "–"
        size = amount(entry.num_bytes) if entry.num_bytes is not None else "–"
        note = (
            Text(f"damaged: {visible(entry.error)}", style="red")
            if entry.error
            else Text(visible(entry.note))
        )
        table.add_row(Text(visible(entry.name), style=_BOLD), entry.backend or "?", vocabulary, size, note)
    print_table(table, console=console)
    console.print(Text('any of them: tokbench viz -t NAME "your text"', style=_FAINT))


def render_backends(result: BackendsResult, *, console: Console) -> None:
    """Each backend with its options, then the presets."""
    for backend in result.backends:
        console.print(
            Text.assemble((backend.name, _BOLD), f"  {backend.summary}  ", (f"[{backend.kernel}]", _FAINT))
        )
        print_table(_options(backend), console=console)
        console.print()
    console.print(Text("presets (--preset NAME)", style=_BOLD))
    table = grid("label", "label", "text")
    for preset in result.presets:
        table.add_row(Text(f"  {preset.name}"), Text(preset.backend, style=_FAINT), Text(preset.description))
    print_table(table, console=console)


def _options(backend: BackendInfo) -> Table:
    table = grid("label", "text")
    for option in backend.options:
        default = "" if option.default in (None, []) else f"(default {option.default})"
        table.add_row(Text(f"  {option.name}"), Text(f"{option.help} {default}".strip(), style=""))
    return table


def render_doctor(result: DoctorResult, *, console: Console) -> None:
    """A line a check, and what to do about those that failed."""
    signs = {
        True: Text("✓", style="green"),
        False: Text("✗", style="bold red"),
        None: Text("·", style=_FAINT),
    }
    table = grid("label", "label", "text")
    for check in result.checks:
        table.add_row(signs[check.passed], Text(check.subject), Text(visible(check.found)))
        if check.hint and check.passed is not True:
            table.add_row("", "", Text(f"→ {check.hint}", style="yellow"))
    print_table(table, console=console)
    console.print()
    console.print(Text("all is well" if result.passed else "something is wrong", style=_BOLD))


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)
