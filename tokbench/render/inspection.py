"""The results of `tokbench inspect`: a sheet that fits 80 columns, or a table of tokens and details of single ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells
from rich.text import Text

from tokbench.core.wording import counted, quoted
from tokbench.render.console import amount
from tokbench.render.glyphs import EMPTY_MARK, spelled, text_of, visible
from tokbench.render.table import (
    NONE,
    Cell,
    Column,
    Table,
    count_cell,
    result_forms,
    table_of_rows,
    text_cell,
    text_column,
)
from tokbench.render.terminal import BETWEEN_LABELS, print_rows, write_table
from tokbench.workbench.inspect import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console

    from tokbench.explain.causes import MergeRule, Symbol
    from tokbench.explain.derivation import MergeTrace
    from tokbench.inspection.vocabulary_tokens import VocabularyToken
    from tokbench.render.table import Forms, Table
    from tokbench.workbench.inspect import InspectResult
    from tokbench.workbench.search_vocabulary import SearchResult, TokenDetails

_NUMBER = re.compile(r" *[0-9]+  ")
_NARROWEST_PATTERN = 20
_TOKENS_SHOWN = 12
_DIGITS_SHOWN = 12


def render_inspection(result: InspectResult, *, console: Console) -> None:
    """Print one line per property; long lines are wrapped."""
    rows = list(_rows(result))
    width = console.width - max(cell_len(label) for label, _ in rows) - BETWEEN_LABELS
    print_rows(_with_filled_pattern(rows, max(width, _NARROWEST_PATTERN)), console=console)


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
        label = f"{number:>{width}}  " if len(alternatives) > 1 else ""  # `_NUMBER` finds it
        yield "", Text(f"{label}{visible(alternative)}", style="dim")


def _with_filled_pattern(rows: Iterable[tuple[str, Text]], width: int) -> Iterator[tuple[str, Text]]:
    """Fold long alternatives of the pattern beside their numbers, at any character: wrapping would lose spaces."""
    is_pattern = False
    for label, value in rows:
        is_pattern = label == "pattern" or (is_pattern and not label)
        if is_pattern and not label and value.cell_len > width:
            number = _NUMBER.match(value.plain)
            indent = len(number[0]) if number else 0
            parts = chop_cells(value.plain[indent:], width - indent)
            lines = (f"{' ' * indent}{part}" for part in parts[1:])
            yield "", Text("\n".join([value.plain[:indent] + parts[0], *lines]), style=value.style)
        else:
            yield label, value


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
    for number, template in enumerate((result.template or {}).values()):
        yield "" if number else "template", Text(visible(template))
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


_USES_SHOWN = 12
_LINES_OF_TREE = 64
_HEADS = (
    Column("id", name="id", first="ascending"),
    Column("token", align="left", name="token", first="ascending", is_long=True),
    Column("bytes", align="left", name="bytes", first="ascending", is_detail=True),
)


def render_tokens(result: SearchResult, *, console: Console) -> None:
    """Print a table of the found tokens, or the details of each if single tokens were requested."""
    if result.details:
        for number, details in enumerate(result.details):
            if number:
                console.print()
            print_rows(_detail_rows(details, result), console=console)
        return
    if result.tokens:
        write_table(tokens_table(result), console=console)
    for sentence in _sentences(result):
        console.print(Text(sentence))


def forms_of_tokens(result: SearchResult, rows: Sequence[Sequence[object]]) -> Forms:
    """Return the forms for other programs.

    Args:
        result: the search result.
        rows: the CSV rows, as `tokbench.workbench.search_vocabulary.vocabulary_rows` yields them.
    """
    return result_forms(
        json=result.to_json, csv=lambda: rows, parts=lambda: [tokens_table(result), *_sentences(result)]
    )


def tokens_table(result: SearchResult) -> Table:
    """Return a table with a row per token."""
    has_scores = any(token.score is not None for token in result.tokens)
    has_ranks = any(token.rank is not None for token in result.tokens)
    has_kinds = len({token.kind for token in result.tokens}) > 1
    heads = [*_HEADS, Column("length", name="length")]
    heads += [Column("rank", name="rank", first="ascending")] if has_ranks else []
    heads += [Column("score", name="score")] if has_scores else []
    heads += [Column("frequency", name="frequency")] if result.counts is not None else []
    heads += [Column("kind", align="left", name="kind", first="ascending")] if has_kinds else []

    def row(token: VocabularyToken) -> Iterator[Cell]:
        yield Cell(str(token.id), token.id)
        yield _token_cell(token)
        yield Cell(token.data.hex(), token.data.hex(), style="dim")
        yield count_cell(len(token.data))
        if has_ranks:
            yield _number_cell(token.rank)
        if has_scores:
            yield _number_cell(token.score)
        if (frequency := result.frequency(token.id)) is not None:
            yield count_cell(frequency)
        if has_kinds:
            yield Cell(token.kind.value, token.kind.value)

    rows = [tuple(row(token)) for token in result.tokens]
    return table_of_rows(f"Tokens of {visible(result.info.name)}", heads, rows, corner="id")


def _token_cell(token: VocabularyToken) -> Cell:
    shown = text_of(spelled(token.data))
    return Cell(shown, shown)


def _number_cell(value: float | None) -> Cell:
    if value is None:
        return Cell(NONE)
    return Cell(f"{int(value):,}" if value == int(value) else f"{value:,.4f}", value)


def _sentences(result: SearchResult) -> Iterator[str]:
    """Yield the number of tokens, and the number of skipped ones."""
    shown = len(result.tokens)
    which = (
        f"the {shown:,} longest shown (--longest)" if result.longest else f"the first {shown:,} shown (--top)"
    )
    more = f", {which}" if shown < result.found else ""
    yield f"{counted(result.found, 'token')} of {visible(result.info.name)}{more}"
    if result.without_text:
        passed = counted(result.without_text, "token")
        yield f"{passed} left out: their bytes are not whole characters (--bytes finds them)"
    if result.counts is not None:
        yield f"frequency in {counted(result.counts.tokens, 'token occurrence')}"


# --- one token --------------------------------------------------------------------------------


def _detail_rows(details: TokenDetails, result: SearchResult) -> Iterator[tuple[str, Text]]:
    token = details.token
    yield "token", Text(text_of(spelled(token.data)), style="bold")
    yield "id", Text(str(token.id))
    yield "bytes", Text(f"{token.data.hex(' ')} ({len(token.data):,})")
    incomplete = "none: the bytes are not whole characters"
    yield "text", Text(incomplete if token.text is None else quoted(token.text))
    if token.spelling is not None and token.spelling != token.text:
        yield "spelling", Text(quoted(token.spelling))
    yield "kind", Text(token.kind.value)
    if token.score is not None:
        yield "score", Text(f"{token.score:,g}")
    if (frequency := result.frequency(token.id)) is not None and result.counts is not None:
        total = result.counts.tokens
        share = f" ({frequency / total:.2%})".replace("%", " %") if total else ""
        yield "frequency", Text(f"{frequency:,} of {counted(total, 'token occurrence')}{share}")
    if details.derivation is None:
        yield "made of", Text(f"does not apply: {details.not_applicable}")
    else:
        yield from _derivation_rows(details.derivation, details)
    if details.uses or details.derivation is not None:
        yield "used by", _uses(details.uses)


def _derivation_rows(trace: MergeTrace, details: TokenDetails) -> Iterator[tuple[str, Text]]:
    if not trace.steps:
        yield "made of", Text("nothing: no merge makes it")
        return
    for number, line in enumerate(_tree(trace)):
        yield "" if number else "made of", Text(line)
    if not details.is_made:
        left = " | ".join(text_of(spelled(symbol.data)) for symbol in trace.tokens)
        yield "", Text(f"merged alone, it stays {left}: no merging makes this token", style="yellow")


def _uses(uses: Sequence[MergeRule]) -> Text:
    if not uses:
        return Text("no merge")
    lines = [
        f"{_rank(rule)}  {_plain(rule.left)} + {_plain(rule.right)} → {_plain(rule.merged)}  id {rule.merged.id}"
        for rule in uses[:_USES_SHOWN]
    ]
    more = [f"and {len(uses) - _USES_SHOWN:,} more (--json)"] if len(uses) > _USES_SHOWN else []
    return Text("\n".join([f"{counted(len(uses), 'merge')}", *lines, *more]))


def _tree(trace: MergeTrace) -> Iterator[str]:
    """Yield a line for each node of the remaining trees, with the parts of a merge below it."""
    steps_by_edge = {(step.start, step.stop): step for step in trace.steps}
    edges = list(zip(trace.edges[:-1], trace.edges[1:], strict=True))
    roots = zip(trace.tokens, edges, strict=True)
    waiting: list[tuple[Symbol, tuple[int, int], str, str]] = [
        (symbol, edge, "", "") for symbol, edge in reversed(list(roots))
    ]
    lines = 0
    while waiting:
        symbol, (start, stop), before, below = waiting.pop()
        if lines >= _LINES_OF_TREE:
            yield f"… of {counted(len(trace.steps), 'merge')} (--json has all)"
            return
        lines += 1
        step = steps_by_edge.get((start, stop))
        yield f"{before}{_plain(symbol)}" + ("" if step is None else f"  {_rank(step.rule)}")
        if step is not None:
            right = (step.rule.right, (step.middle, stop), f"{below}└─ ", f"{below}   ")
            left = (step.rule.left, (start, step.middle), f"{below}├─ ", f"{below}│  ")
            waiting += [right, left]


def _rank(rule: MergeRule) -> str:
    return f"score {-rule.rank:,g}" if rule.by_score else f"rank {rule.rank:,.0f}"


def _plain(symbol: Symbol) -> str:
    return text_of(spelled(symbol.data)) or EMPTY_MARK
