"""The result of `tokbench inspect`, as a sheet that fits 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.render.console import amount
from tokbench.render.exports import result_forms
from tokbench.render.glyphs import spelled, text_of, visible
from tokbench.render.table import table_of_rows, text_cell, text_column
from tokbench.render.terminal import print_rows
from tokbench.workbench.inspect import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from tokbench.render.exports import Forms
    from tokbench.render.table import Table
    from tokbench.workbench.inspect import InspectResult

_TOKENS_SHOWN = 12
_DIGITS_SHOWN = 12


def render_inspection(result: InspectResult, *, console: Console) -> None:
    """Print one line per property; long lines are wrapped."""
    print_rows(_rows(result), console=console)


def forms_of_inspection(result: InspectResult) -> Forms:
    """Return the forms for other programs: tables and CSV have the lines of the sheet."""

    def rows() -> Iterator[tuple[str, str]]:
        return ((label, value.plain) for label, value in _rows(result))

    def parts() -> Iterator[Table]:
        columns = [text_column("part"), text_column("value", is_long=True)]
        cells = ((text_cell(label), text_cell(value)) for label, value in rows())
        yield table_of_rows("", columns, cells)

    return result_forms(json=result.to_json, csv=lambda: [("part", "value"), *rows()], parts=parts)


def _rows(result: InspectResult) -> Iterator[tuple[str, Text]]:
    info = result.info
    yield "name", Text(visible(info.name), style="bold")
    yield "format", Text(result.format)
    for number, file in enumerate(result.files[:1] if result.is_saved else result.files):
        size = f"{amount(file.num_bytes, digits=2)}, sha256 {file.sha256[:_DIGITS_SHOWN]}…"
        yield "" if number else "files", Text(f"{visible(file.path.name)}  {size}")
    if result.is_saved:  # its manifest has the hashes of the others
        size = amount(result.num_bytes - result.files[0].num_bytes, digits=2)
        yield "", Text(f"and {counted(len(result.files) - 1, 'file')} that it lists, {size}")
    yield "model", Text(result.model)
    gaps = info.vocab_size - result.tokens
    yield (
        "vocabulary",
        Text(f"{info.vocab_size:,} ids{f', {gaps:,} of them without a token' if gaps else ''}"),
    )
    if result.merges is not None:
        yield "merges", Text(f"{result.merges:,}")
    yield "bytes", Text("each of the 256 is a token" if result.byte_level else "not all of them are tokens")
    for part in PARTS:
        if part in result.parts:
            yield part.replace("_", "-"), Text(visible(result.parts[part] or "none"))
    if result.pattern is not None:
        name, text = result.pattern
        yield "pattern", Text(name, style="bold")
        if text is not None:
            yield from _alternatives(result.pattern_alternatives)
    yield "special", _tokens(info.special_tokens)
    if result.added_tokens:
        yield "added", _tokens(result.added_tokens)
    yield from _config_rows(result)
    yield "engine", Text.assemble((info.kernel, "bold"), f": {visible(result.reason)}")
    yield "lossless", Text(f"{'yes' if info.lossless else 'no'}: {visible(result.lossless_reason)}")
    for number, warning in enumerate(result.warnings):
        yield "" if number else "warning", Text(visible(warning), style="yellow")


def _alternatives(alternatives: Sequence[str]) -> Iterator[tuple[str, Text]]:
    """Yield a line per alternative, numbered as in `explain`, as wrapping one long line would lose spaces."""
    width = len(str(len(alternatives)))
    for number, alternative in enumerate(alternatives, start=1):
        label = f"{number:>{width}}  " if len(alternatives) > 1 else ""
        yield "", Text(f"{label}{visible(alternative)}", style="dim")


def _config_rows(result: InspectResult) -> Iterator[tuple[str, Text]]:
    """Yield the rows of the model configuration: roles, templates, maximum length."""
    config = result.config
    turn_end = result.roles.get("turn_end")
    others = {name: text for name, text in config.named_tokens.items() if text != turn_end}
    named = [*result.roles.items(), *others.items()]
    for number, (role, text) in enumerate(named):
        id = result.token_ids.get(text)
        yield (
            "" if number else "roles",
            Text(f"{visible(role)} {visible(text)} {'is no token' if id is None else id}"),
        )
    if ends := config.generation_ids.get("eos"):
        yield "end of turn", Text(", ".join(map(str, ends)))
    adds = [role for role in ("bos", "eos") if getattr(config, f"add_{role}_token")]
    if adds:
        yield "adds", Text(" and ".join(adds))
    for number, (name, text) in enumerate(config.chat_templates.items()):
        yield "" if number else "chat", Text(f"template {visible(name)}  {len(text):,} characters")
    if config.model_max_length is not None:
        yield "max length", Text(f"{config.model_max_length:,} tokens")
    for number, file in enumerate(result.config_files):
        yield "" if number else "beside", Text(f"{visible(file.path.name)}  {file.num_bytes:,} bytes")


def _tokens(tokens: Mapping[str, int]) -> Text:
    if not tokens:
        return Text("none")
    by_id = sorted(tokens.items(), key=lambda item: item[1])
    shown = [
        f"{text_of(spelled(text.encode(errors='surrogatepass')))} {id}" for text, id in by_id[:_TOKENS_SHOWN]
    ]
    more = [f"and {len(by_id) - _TOKENS_SHOWN:,} more"] if len(by_id) > _TOKENS_SHOWN else []
    return Text("\n".join([*shown, *more]))
