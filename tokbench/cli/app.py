"""The command line: its commands, and where a run begins."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from tokbench.cli.commands import Entry, EntryGroup, lazy_group
from tokbench.cli.error_messages import errors_as_messages

_WIDEST_HELP = 160

COMMANDS: dict[str, Entry | EntryGroup] = {
    "train": Entry(
        "tokbench.cli.train:train",
        summary="Train a tokenizer on the bundled texts or your own.",
        examples=[
            "train",
            "train docs/ 'src/**/*.py' --vocab-size 32000 --name mine",
            "train data.txt.xz --special-token '<|eos|>'",
            "train --backend wordpiece --objective likelihood",
            "train data.jsonl.zst --preset gpt4o --out tokenizers/big",
            "train --preset tiny --json",
        ],
    ),
    "count-words": Entry(
        "tokbench.cli.count_words:count",
        summary="Count the words of a corpus, to train on them.",
        examples=[
            "count-words data/ --out words",
            "count-words 'data/*.zst' --pattern gpt4o --out words --workers 8",
            "count-words data/ --out words --part 3/8",
            "count-words data/ --out words --resume",
        ],
    ),
    "merge-words": Entry(
        "tokbench.cli.count_words:merge",
        summary="Merge word counts of several runs.",
        examples=[
            "merge-words monday tuesday --out words",
            "merge-words spark.parquet words.tsv --out words --min-count 2",
        ],
    ),
    "encode": Entry(
        "tokbench.cli.encode:encode",
        summary="Encode text as token ids.",
        examples=[
            'encode "Hello, world!"',
            "encode notes.txt -t mine --json",
            "encode - < notes.txt | tokbench decode -",
            "encode rows.jsonl --truncate 512 --overflow --stride 64 --json",
            "encode rows.jsonl --role pad=TEXT --pad-to longest --out rows.npz",
            "encode prompt.txt --truncate 8000 --truncate-side left --as-text",
        ],
        elsewhere=dict.fromkeys(
            ["--append-eos", "--eos", "--format", "--dtype", "--shard-tokens", "--threads", "--resume"],
            "shards write",
        ),
    ),
    "decode": Entry(
        "tokbench.cli.decode:decode",
        summary="Decode token ids to text.",
        examples=["decode 72 101 108 -t mine", "decode - --errors strict < ids.txt"],
    ),
    "shards": EntryGroup(
        summary="Write, verify and read shards of token ids.",
        help="Write, verify and read shards: a corpus as token ids in files that NumPy maps.",
        examples=["shards write corpora/ -t mine --out ids", "shards verify ids"],
        entries={
            "write": Entry(
                "tokbench.cli.shards:write",
                summary="Encode files into shards.",
                examples=[
                    "shards write 'data/*.jsonl.zst' -t mine --out ids --append-eos",
                    "shards write 'data/*.jsonl.zst' -t mine --out ids --resume",
                    "shards write chats.jsonl -t mine --out out --chat auto --pack 4096",
                    "shards write s3://texts -t mine --out s3://ids --engine dask",
                ],
            ),
            "verify": Entry(
                "tokbench.cli.shards:verify",
                summary="Check shards, alone or against their corpus.",
                examples=["shards verify ids", "shards verify ids 'data/*.jsonl.zst' -t mine --sample 1000"],
            ),
            "read": Entry(
                "tokbench.cli.shards:read",
                summary="Decode the documents of shards.",
                examples=["shards read ids -t mine --document 0:3", "shards read ids -t mine --json"],
            ),
        },
    ),
    "count": Entry(
        "tokbench.cli.count:count",
        summary="Count tokens, bytes and characters.",
        examples=[
            "count README.md src/",
            'count "a text" -t mine',
            "count corpus.jsonl --json",
            "count prompt.txt --limit 8000",
        ],
    ),
    "chunk": Entry(
        "tokbench.cli.chunk:chunk",
        summary="Cut documents into chunks of at most N tokens.",
        examples=[
            "chunk notes.txt --max-tokens 512",
            "chunk docs/ --max-tokens 512 --overlap 64 --respect paragraphs",
            "chunk - --max-tokens 256 --respect sentences -t mine < book.txt",
        ],
    ),
    "viz": Entry(
        "tokbench.cli.viz:viz",
        summary="Show the tokens of a text in colour.",
        examples=[
            'viz "Hello, wörld! if x == 1:"',
            "viz -t default -t mine --layout side-by-side --ids notes.txt",
            "viz --special-policy encode '<|endoftext|>'",
        ],
    ),
    "play": Entry(
        "tokbench.cli.play:play",
        summary="Try tokenizers in a full-screen session.",
        examples=[
            "play",
            'play "Hello, wörld!" -t default -t mine',
            "play notes.txt -t tokenizer.json --theme light",
            "play --html page.html -t mine -t tokenizer.json",
        ],
    ),
    "chat": Entry(
        "tokbench.cli.chat:chat",
        summary="Encode conversations with a chat template and a loss mask.",
        examples=[
            "chat conversation.json -t models/mine",
            "chat conversation.json -t mine --template chatml --completion",
            "chat data.jsonl -t mine --template template.jinja --json",
            "chat conversation.json -t mine --strict --html page.html",
        ],
    ),
    "explain": Entry(
        "tokbench.cli.explain:explain",
        summary="Explain why a text is split where it is.",
        examples=[
            'explain "unhappiness" -t mine',
            "explain --word strawberry --word ' strawberry'",
            'explain "A sentence for a class." -t mine --play',
            "explain --merge 61 -t mine",
            "explain --find-split '|ing' -t mine docs/",
        ],
    ),
    "inspect": Entry(
        "tokbench.cli.inspect:inspect",
        summary="Show a tokenizer's components and tokens, or how two differ.",
        examples=[
            "inspect tokenizer.json",
            "inspect ranks.tiktoken --pattern gpt4o --json",
            "inspect mine --find '^ ?un' --corpus docs/",
            "inspect mine --id 300",
            "inspect mine other",
            "inspect mine --vocab-out tokens.tsv",
        ],
    ),
    "convert": Entry(
        "tokbench.cli.convert:convert",
        summary="Convert to another tool's format, with proof of equality.",
        examples=[
            "convert -t mine --to tokenizers --out tokenizer.json",
            "convert -t mine --to transformers --out folder --role 'eos=<|end|>'",
            "convert --check mine tokenizer.json",
        ],
    ),
    "extend": Entry(
        "tokbench.cli.extend:extend",
        summary="Add tokens to a vocabulary, with a map of the ids.",
        examples=[
            "extend mine docs/ --tokens 8k --out larger",
            "extend tokenizer.json 'data/*.txt' --size 64k --out larger",
            "extend mine --words w.txt --special-token '<|tool|>' --out larger",
        ],
        elsewhere=dict.fromkeys(["-t", "--tokenizer"], "extend TOKENIZER"),
    ),
    "prune": Entry(
        "tokbench.cli.prune:prune",
        summary="Remove tokens from a vocabulary, with a map of the ids.",
        examples=[
            "prune mine --corpus docs/ --size 16k --out smaller",
            "prune ranks.tiktoken --pattern gpt4 --script Thai,Han --out fewer",
            "prune tokenizer.json --corpus 'data/*.txt' --min-count 5 --out used",
            "prune mine --list rare.tsv --out without --json",
        ],
        elsewhere=dict.fromkeys(["-t", "--tokenizer"], "prune TOKENIZER"),
    ),
    "migrate": Entry(
        "tokbench.cli.migrate:migrate",
        summary="Assess moving a model to another tokenizer.",
        examples=[
            "migrate gpt2 mine --corpus docs/ --context 8192",
            "migrate old/tokenizer.json new.model --corpus data/ --price 2.50",
            "migrate gpt2 mine --out change --json",
        ],
        elsewhere=dict.fromkeys(["-t", "--tokenizer"], "migrate OLD NEW"),
    ),
    "compare": Entry(
        "tokbench.cli.compare:compare",
        summary="Compare tokenizers on text.",
        examples=[
            "compare",
            "compare corpus.txt",
            "compare docs/ -t default -t tokenizers/mine --baseline default",
            "compare --metrics bytes_per_token,unk_rate --json",
        ],
    ),
    "report": Entry(
        "tokbench.cli.report:report",
        summary="Report on a tokenizer in depth.",
        examples=["report -t mine corpora/", "report -t mine docs/ --model-dim 768 --context 8192"],
    ),
    "sweep": Entry(
        "tokbench.cli.sweep:sweep",
        summary="Plot compression against vocabulary size.",
        examples=["sweep corpora/ --sizes 1k:64k", "sweep docs/ --sizes 2k,8k,32k --model-dim 768"],
    ),
    "bench": Entry(
        "tokbench.cli.bench:bench",
        summary="Time tokenizers against other libraries.",
        examples=[
            "bench",
            "bench corpus.txt -t mine --peers all --threads 2",
            "bench -t ranks.tiktoken --pattern gpt4 --only encode,latency --json",
        ],
    ),
    "check": Entry(
        "tokbench.cli.check:check",
        summary="Fail when a metric violates a threshold.",
        examples=[
            "check -t mine corpora/ --min bytes_per_token=3.5 --max unk_rate=0",
            "check -t mine corpora/ --baseline saved.json --tolerance 1%",
        ],
    ),
    "lint": Entry(
        "tokbench.cli.lint:lint",
        summary="Find what is wrong with a tokenizer.",
        examples=[
            "lint -t tokenizer.json",
            "lint -t mine docs/ --select vocabulary --json",
            "lint -t mine --reference original --sarif lint.sarif",
            "lint -t mine --template chatml",
            "lint --explain unreachable-token",
        ],
    ),
    "corpus": Entry(
        "tokbench.cli.corpus:corpus",
        summary="List text by group: bytes, characters, lines.",
        examples=["corpus", "corpus data/ --group-by script"],
    ),
    "list": Entry(
        "tokbench.cli.listings:list_", summary="List the tokenizers that -t finds by name.", examples=["list"]
    ),
    "backends": Entry(
        "tokbench.cli.listings:backends",
        summary="List algorithms, their options and the presets.",
        examples=["backends", "backends --json"],
    ),
    "doctor": Entry(
        "tokbench.cli.listings:doctor",
        summary="Check the installation.",
        examples=["doctor", "doctor --json"],
    ),
}

app = typer.Typer(
    name="tokbench",
    cls=lazy_group(COMMANDS),
    help="""A workbench for tokenizers: train, inspect, compare, benchmark and convert them.

    Everything works offline. Text on stdout is data; progress and messages go to stderr.
    Exit codes: 0 success, 1 error, 2 wrong usage, 3 failed check, 130 interrupted.""",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: its panels leave too little room at 80 columns
    pretty_exceptions_enable=False,
    # Help is as wide as the terminal, where click would stop at 80 columns.
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDEST_HELP},
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
    # The matrices of the bootstrap are small: more threads of OpenBLAS would wait for work, spinning.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with errors_as_messages():  # help is written outside of any command
        app(prog_name="tokbench")  # whatever started it: completion goes by this name
    raise AssertionError("typer exits by itself")


def _prepare_streams() -> None:
    """Write UTF-8 whatever the locale is; writing to a closed stdout fails, messages to a closed stderr are lost."""
    for name, mode in (("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = os.open(os.devnull, mode)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8", closefd=False))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
