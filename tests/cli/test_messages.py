"""Messages about mistakes name what, where and what is allowed, in tokbench's own words for every library."""

from __future__ import annotations

import pytest
import typer
from support.commands import COMMANDS

LIBRARY_WORDS = ("Value error", "Input should", "pydantic", "validation", "parse string")


def refusal_of(name: str, option: str, value: str) -> str | None:
    """Return the message that refuses the value of an option before the command runs, or None if it is accepted."""
    try:
        COMMANDS[name].make_context(name, [option, value])
    except typer.BadParameter as error:
        return error.message
    return None


@pytest.mark.parametrize(
    ("name", "option", "value", "least"),
    [("inspect", "--id", "-1", 0), ("explain", "--merge", "-7", 0), ("explain", "--top", "0", 1)],
)
def test_number_below_the_minimum_is_refused_with_it(name: str, option: str, value: str, least: int) -> None:
    assert refusal_of(name, option, value) == f"{value!r} is not a whole number from {least}"


@pytest.mark.parametrize(
    ("name", "option", "bounds"),
    [
        ("bench", "--megabytes", "0.001 to 100000"),
        ("compare", "--price", "0 to 100000"),
        ("report", "--parameter-bytes", "0.125 to 64"),
    ],
)
def test_infinite_number_is_refused(name: str, option: str, bounds: str) -> None:
    assert refusal_of(name, option, "inf") == f"'inf' is not a number from {bounds}"


@pytest.mark.parametrize(
    "command",
    [
        "compare -t default",
        "report",
        "sweep --sizes 300",
        "sweep --superwords auto --vocab-size 400",
        "migrate default default",
        "prune default --script Thai --out pruned",
        "extend default --special-token <|new|> --out larger",
        "convert --to tokbin --out made",
        "convert --check default default",
        "encode text --dropout 0.5",
        "viz text --dropout 0.5",
    ],
)
def test_negative_seed_is_refused_before_reading(run, command: str) -> None:
    run(*command.split(), "--seed", "-1").refused(2, "seed is -1", "a whole number of at least 0")


@pytest.mark.parametrize(
    "command", ["compare -t default", "report", "sweep --sizes 300", "migrate default default"]
)
@pytest.mark.parametrize(
    ("given", "needed"),
    [
        ("--layers 3", "--layers needs --model-dim, or --kv-heads and --head-dim"),
        ("--layers 3 --kv-heads 4", "--kv-heads needs --layers and --head-dim"),
        ("--model-dim 64 --head-dim 8", "--head-dim needs --layers and --kv-heads"),
        (
            "--context 1k --parameter-bytes 1",
            "--parameter-bytes needs --model-dim, or --layers, --kv-heads and",
        ),
    ],
)
def test_model_option_that_no_figure_uses_is_refused(run, command: str, given: str, needed: str) -> None:
    run(*command.split(), *given.split()).refused(2, needed, f"or leave out {needed.split(maxsplit=1)[0]}")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_bounds_in_words(name: str) -> None:
    assert "<=x" not in COMMANDS[name].get_help(typer.Context(COMMANDS[name], info_name=name))


@pytest.mark.parametrize("name", COMMANDS)
def test_no_message_has_the_wording_of_a_library(name: str) -> None:
    options = [
        parameter.opts[0]
        for parameter in COMMANDS[name].params
        if parameter.param_type_name == "option" and not parameter.is_flag and parameter.name != "help"
    ]
    said = [message for option in options if (message := refusal_of(name, option, "no such value"))]
    assert said or name in ("list", "corpus", "shards")
    assert all("'no such value' is no" in message for message in said), said
    assert not [message for message in said for words in LIBRARY_WORDS if words in message]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("train a.txt --min-frequency 1 --vocab-size 300", "1 byte in 1 document"),
        ("train a.txt --min-frequency 1 --vocab-size 300", "no pair is left that occurs 1 time or more"),
        ("count-words a.txt --out words", "1 byte in 1 document"),
        ("compare a.txt -t default --no-times", "on 1 document, 1 byte;"),
        ("report a.txt", "1 document, 1 byte"),
        ("bench a.txt --only load --runs 1 --peers none", "on one document, 1 byte, and"),
        ("sweep lines.txt --sizes 300", "in 1 block of lines"),
        ("check a.txt -t default --min bytes_per_token=1", "\npassed\n"),
    ],
)
def test_counts_of_one_are_singular(run, tmp_path, command: str, said: str) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "lines.txt").write_text("a line of text\n" * 10)
    assert said in "\n".join(run(*command.split()).good().lines) + "\n"


def test_candidate_size_is_called_a_maximum_if_not_reached(run, tmp_path) -> None:
    (tmp_path / "lines.txt").write_text("a line of text\n" * 50)
    for size, said in (("900", "), at most 900 tokens each;"), ("260", "), 260 tokens each;")):
        done = run("compare", "lines.txt", "--backend", "bpe", "--vocab-size", size, "--no-times")
        assert said in " ".join(done.good().lines)


def test_invalid_role_is_refused(run) -> None:
    run("encode", "a", "--role", "pad").refused(2, "--role 'pad' names no token")
    run("encode", "a", "--role", "pad=a", "--role", "pad=b").refused(2, "the role 'pad' is given twice")


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        ("prune -t mine --size 1000 --out x", "prune TOKENIZER"),
        ("extend --tokenizer mine docs --out x", "extend TOKENIZER"),
        ("migrate -t mine -t other", "migrate OLD NEW"),
    ],
)
def test_tokenizer_option_suggests_the_argument(run, command: str, instead: str) -> None:
    run(*command.split()).refused(2, "No such option", f"Did you mean 'tokbench {instead}'?")


@pytest.mark.parametrize("command", ["viz", "encode", "count", "explain"])
def test_tokenizer_as_the_first_text_is_refused(run, trained, tmp_path, command: str) -> None:
    document = trained / "tokenizer.json"
    hint = f"-t {document} opens it"
    run(command, document, "hello").refused(2, f"{document} is a tokenizer, but is given as a text", hint)
    run(command, "-t", trained, "hello", document).good()
    run(command, "--text", document, "hello").good()
    (tmp_path / "other.json").write_text('{"text": "hello"}')
    run(command, "other.json", "hello").good()
