"""The result of `tokbench train`, for the terminal."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.render.console import rate
from tokbench.render.glyphs import spelled, text_of, visible
from tokbench.render.terminal import print_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from tokbench.workbench.train import TrainResult


def render_train(result: TrainResult, *, console: Console) -> None:
    """Print what was trained, on which text, how fast, where it was saved, and the next step."""
    training = result.training
    print_rows(_training_rows(result), console=console)
    if training.stopped_early:
        console.print(Text(f"stopped early: {training.stopped_early}", style="yellow"))
    for note in training.notes:
        console.print(Text(f"note: {note}", style="yellow"))
    for name, reason in result.left_out.items():
        console.print(Text(f"without {name}: {reason}", style="yellow"))
    console.print()
    console.print(
        Text.assemble("try: ", (f'tokbench viz -t {shlex.quote(str(result.directory))} "your text"', "bold"))
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
    yield "vocabulary", Text(f"{info.vocab_size:,} tokens{chosen}: {learned}{specials}")
    if training.num_bytes is not None and training.documents is not None:
        yield (
            "text",
            Text(f"{counted(training.num_bytes, 'byte')} in {counted(training.documents, 'document')}"),
        )
    if training.pretokens is not None and training.distinct_pretokens is not None:
        yield "pre-tokens", Text(f"{training.pretokens:,}, {training.distinct_pretokens:,} distinct")
    if result.bytes_per_token is not None:
        yield "compression", Text(f"{result.bytes_per_token:.3f} bytes per token on this text")
    yield "time", Text(_time(result))
    if result.first_learned:
        yield "first", _pieces(result.first_learned)
    if result.last_learned:
        yield "last", _pieces(result.last_learned)
    same = " (unchanged: the same tokenizer was already there)" if result.unchanged else ""
    yield "saved in", Text.assemble((visible(str(result.directory)), "bold"), same)


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
