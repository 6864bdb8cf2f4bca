"""The command line: which commands there are, and the one place where errors become messages."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tokbench.cli import commands, listings
from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

app = typer.Typer(
    name="tokbench",
    help="""A workbench for tokenizers: train one, see what it does, measure it, ship it.

    Everything works offline. Text on stdout is data; progress and messages go to stderr.
    Exit codes: 0 good, 1 an error of the run, 2 wrong usage, 3 a check that failed, 130 interrupted.""",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: its panels leave too little room at 80 columns
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _add(name: str, command: Callable[..., None], *, summary: str, examples: Sequence[str]) -> None:
    lines = "\n".join(f"  tokbench {example}" for example in examples)
    app.command(name, short_help=summary, epilog=f"\b\nExamples:\n{lines}")(command)


_add(
    "train",
    commands.train,
    summary="Train a tokenizer on the bundled texts, or on yours.",
    examples=[
        "train",
        "train docs/ 'src/**/*.py' --vocab-size 32000 --special '<|endoftext|>' --name mine",
        "train data.jsonl.zst --preset gpt4o --out tokenizers/big",
        "train --preset tiny --json",
    ],
)
_add(
    "encode",
    commands.encode,
    summary="Turn text into ids.",
    examples=[
        'encode "Hello, world!"',
        "encode notes.txt -t mine --json",
        "encode - < notes.txt | tokbench decode -",
    ],
)
_add(
    "decode",
    commands.decode,
    summary="Turn ids back into text.",
    examples=["decode 72 101 108 -t mine", "decode - --errors strict < ids.txt"],
)
_add(
    "count",
    commands.count,
    summary="Count tokens, bytes and characters.",
    examples=["count README.md src/", 'count "a text" -t mine', "count corpus.jsonl --json"],
)
_add(
    "viz",
    commands.viz,
    summary="Show the tokens of a text in colour.",
    examples=[
        'viz "Hello, wörld! if x == 1:"',
        "viz -t default -t mine --layout side-by-side --ids notes.txt",
        "viz --special encode '<|endoftext|>'",
    ],
)
_add(
    "corpus",
    listings.corpus,
    summary="List text by group: bytes, characters, lines.",
    examples=["corpus", "corpus data/ --group-by script"],
)
_add("list", listings.list_, summary="List the tokenizers that -t finds by name.", examples=["list"])
_add(
    "backends",
    listings.backends,
    summary="List algorithms, their options and the presets.",
    examples=["backends", "backends --json"],
)
_add(
    "doctor",
    listings.doctor,
    summary="Tell what is installed and check that it works.",
    examples=["doctor", "doctor --json"],
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 -- typer calls it so
    if wanted:
        from tokbench import __version__

        typer.echo(f"tokbench {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


def main() -> NoReturn:
    """Run the command of `sys.argv` and exit with its code."""
    _write_utf8()
    try:
        app()
    except TokbenchError as error:
        _fail(error.message, hint=error.hint, code=error.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted", hint="nothing half-written was left behind", code=130)
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not try to flush into the pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except MemoryError:
        _fail("there is not enough memory", hint="give less text at once, or a smaller --vocab-size", code=1)
    raise AssertionError("typer exits by itself")


def _fail(message: str, *, hint: str | None, code: int) -> NoReturn:
    bold, plain = ("\033[1;31m", "\033[0m") if _colored() else ("", "")
    print(f"{bold}error:{plain} {_printable(message)}", file=sys.stderr)
    if hint:
        print(f"hint:  {_printable(hint)}", file=sys.stderr)
    sys.stdout.flush()
    sys.exit(code)


def _colored() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def _printable(text: str) -> str:
    """The text with control characters escaped: a file's name or contents must not steer the terminal."""
    return "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1]
        for character in text
    )


def _write_utf8() -> None:
    """Tokens are shown in every script, whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
