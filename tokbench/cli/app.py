"""The command line: which commands there are, and the one place where errors become messages."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import contextmanager, suppress
from copy import copy
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from tokbench.cli import (
    bench,
    check,
    commands,
    compare,
    convert,
    count,
    inspect,
    lint,
    listings,
    report,
    shards,
    sweep,
    train,
)
from tokbench.cli.command import Command
from tokbench.cli.plain_values import PlainGroup
from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_WIDEST_HELP = 160

app = typer.Typer(
    name="tokbench",
    cls=PlainGroup,
    help="""A workbench for tokenizers: train one, see what it does, measure it, ship it.

    Everything works offline. Text on stdout is data; progress and messages go to stderr.
    Exit codes: 0 good, 1 an error of the run, 2 wrong usage, 3 a check that failed, 130 interrupted.""",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: its panels leave too little room at 80 columns
    pretty_exceptions_enable=False,
    # Help is as wide as the terminal, where click would stop at 80 columns.
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDEST_HELP},
)


shards_app = typer.Typer(
    name="shards",
    cls=PlainGroup,
    help="Write, verify and read shards: a corpus as token ids in files that NumPy maps.",
    short_help="Write, verify and read shards of token ids.",
    epilog="\b\nExamples:\n  tokbench shards write corpora/ -t mine --out ids\n  tokbench shards verify ids",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings=app.info.context_settings,
)
app.add_typer(shards_app)


def _add(
    name: str,
    command: Callable[..., None],
    *,
    summary: str,
    examples: Sequence[str],
    group: typer.Typer = app,
) -> None:
    lines = "\n".join(f"  tokbench {example}" for example in examples)

    @wraps(command)
    def guarded(*args: Any, **options: Any) -> None:
        with _errors_as_messages():
            command(*args, **options)
            sys.stdout.flush()

    group.command(name, cls=Command, short_help=summary, epilog=f"\b\nExamples:\n{lines}")(guarded)


@contextmanager
def _errors_as_messages() -> Iterator[None]:
    """End the process with a message and the right code: inside typer, which would do so in ways of its own."""
    try:
        yield
    except TokbenchError as error:
        _fail(error.message, hint=error.hint, code=error.exit_code)
    except KeyboardInterrupt as stopped:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not break into the message
        # Where Ctrl-C broke into an `exec` of source text (each dataclass is made by one), CPython notes that
        # and kills the process by the signal at its end, whatever the exit code; another `exec` takes it back.
        exec("")  # noqa: S102
        hint = str(stopped) or "nothing half-written was left behind"
        _fail("interrupted", hint=hint, code=130)
    except BrokenPipeError:  # whoever read our output has gone
        _forget_stdout()
        sys.exit(141)
    except MemoryError:
        _fail("there is not enough memory", hint="give less text at once, or a smaller --vocab-size", code=1)
    except OSError as error:  # what no layer below knows of, as a full disk behind stdout
        where = error.filename or ("the output" if error.errno in _WRITING else "the current folder")
        _fail(f"{where}: {error.strerror or error}", hint=None, code=1)


_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


_add(
    "train",
    train.train,
    summary="Train a tokenizer on the bundled texts, or on yours.",
    examples=[
        "train",
        "train docs/ 'src/**/*.py' --vocab-size 32000 --name mine",
        "train data.txt.xz --special-token '<|bos|>' --special-token '<|eos|>'",
        "train --backend wordpiece --objective likelihood",
        "train data.jsonl.zst --preset gpt4o --out tokenizers/big",
        "train --preset tiny --json",
    ],
)
_add(
    "encode",
    commands.encode,
    summary="Encode text as token ids.",
    examples=[
        'encode "Hello, world!"',
        "encode notes.txt -t mine --json",
        "encode - < notes.txt | tokbench decode -",
    ],
)
_add(
    "decode",
    commands.decode,
    summary="Decode token ids to text.",
    examples=[
        "decode 72 101 108 -t mine",
        "decode - --errors strict < ids.txt",
    ],
)
_add(
    "write",
    shards.write,
    group=shards_app,
    summary="Encode files into shards.",
    examples=[
        "shards write 'data/*.jsonl.zst' -t mine --out ids --append-eos",
        "shards write 'data/*.jsonl.zst' -t mine --out ids --resume",
    ],
)
_add(
    "verify",
    shards.verify,
    group=shards_app,
    summary="Check shards, alone or against their corpus.",
    examples=["shards verify ids", "shards verify ids 'data/*.jsonl.zst' -t mine --sample 1000"],
)
_add(
    "read",
    shards.read,
    group=shards_app,
    summary="Decode the documents of shards.",
    examples=["shards read ids -t mine --document 0:3", "shards read ids -t mine --json"],
)
_add(
    "count",
    count.count,
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
        "viz --special-policy encode '<|endoftext|>'",
    ],
)
_add(
    "inspect",
    inspect.inspect,
    summary="Tell what a tokenizer is made of, and what runs it.",
    examples=["inspect tokenizer.json", "inspect ranks.tiktoken --pattern gpt4o --json"],
)
_add(
    "convert",
    convert.convert,
    summary="Convert to another tool's format, proved exact, or compare two.",
    examples=[
        "convert -t mine --to tokenizers --out tokenizer.json",
        "convert -t mine --to transformers --out folder --role 'eos=<|end|>'",
        "convert --check mine tokenizer.json",
    ],
)
_add(
    "compare",
    compare.compare,
    summary="Compare tokenizers on text, side by side.",
    examples=[
        "compare",
        "compare corpus.txt",
        "compare docs/ -t default -t tokenizers/mine --baseline default",
        "compare --metrics bytes_per_token,unk_rate --json",
    ],
)
_add(
    "report",
    report.report,
    summary="Report on a tokenizer in depth.",
    examples=["report -t mine corpora/", "report -t mine docs/ --model-dim 768 --context 8192"],
)
_add(
    "sweep",
    sweep.sweep,
    summary="Show what a vocabulary size is worth.",
    examples=["sweep corpora/ --sizes 1k:64k", "sweep docs/ --sizes 2k,8k,32k --model-dim 768"],
)
_add(
    "bench",
    bench.bench,
    summary="Time tokenizers on text, beside other libraries.",
    examples=[
        "bench",
        "bench corpus.txt -t mine --peers all --threads 2",
        "bench -t ranks.tiktoken --pattern gpt4 --only encode,latency --json",
    ],
)
_add(
    "check",
    check.check,
    summary="Hold tokenizers to bounds, for CI.",
    examples=[
        "check -t mine corpora/ --min bytes_per_token=3.5 --max unk_rate=0",
        "check -t mine corpora/ --baseline saved.json --tolerance 1%",
    ],
)
_add(
    "lint",
    lint.lint,
    summary="Find what is wrong with a tokenizer.",
    examples=[
        "lint -t tokenizer.json",
        "lint -t mine docs/ --select vocabulary --json",
        "lint -t mine --reference original --fail-on warning --sarif lint.sarif",
        "lint --explain bidi-in-token",
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
    _prepare_streams()
    _app_of(sys.argv[1:2])(prog_name="tokbench")  # whatever started it: completion goes by this name
    raise AssertionError("typer exits by itself")


def _app_of(command: Sequence[str]) -> typer.Typer:
    """The app with one command, where that is named: making the options of all takes 40 ms."""
    named = [one for one in app.registered_commands if [one.name] == command]
    if not named:
        return app
    alone = copy(app)
    alone.registered_commands = named
    return alone


def _fail(message: str, *, hint: str | None, code: int) -> NoReturn:
    bold, plain = ("\033[1;31m", "\033[0m") if _colored() else ("", "")
    with suppress(OSError):  # nobody reads stderr
        print(f"{bold}error:{plain} {_printable(message)}", file=sys.stderr)
        if hint:
            print(f"hint:  {_printable(hint)}", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:
        _forget_stdout()
    sys.exit(code)


def _colored() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def _printable(text: str) -> str:
    """The text with control characters escaped: a file's name or contents must not steer the terminal."""
    return "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1]
        for character in text
    )


def _prepare_streams() -> None:
    """Tokens are shown in every script, whatever the locale says; a closed stream swallows what it gets."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8", closefd=False))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _forget_stdout() -> None:
    """What is still in its buffer goes nowhere: the interpreter must not fail on it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
