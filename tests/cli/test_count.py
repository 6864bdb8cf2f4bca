"""`tokbench count`: tokens, bytes, characters and bytes per token of each file and in total."""

from __future__ import annotations

import csv
import gzip
import re
import shutil

import pytest

import tokbench
from tokbench.files.bundled import bundled_files

NUMBERS = ["tokens", "bytes", "characters", "bytes_per_token"]


@pytest.fixture
def files(tmp_path):
    """Write texts to files; return them by file name."""
    texts = {
        "a.txt": "one two three\n",
        "b.txt": "naïve café 👩‍👧\r\n",
        "sub/c.txt": "def f(x):\n    return x\n" * 50,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    return texts


def computed(tokenizer, text):
    """Return the expected counts of a text."""
    tokens, num_bytes = len(tokenizer.encode(text)), len(text.encode())
    return {
        "tokens": tokens,
        "bytes": num_bytes,
        "characters": len(text),
        "bytes_per_token": num_bytes / tokens if tokens else None,
    }


def numbers(entry):
    return {name: entry[name] for name in NUMBERS}


def test_tokenizers_of_the_same_name_are_numbered(run, trained, tmp_path):
    copied = shutil.copytree(trained, tmp_path / "copy" / trained.name)
    named = ["-t", trained, "-t", copied, "--text", "a"]
    assert run("count", *named).good().lines[1].split()[-4:-2] == ["mine", "mine#2"]
    told = run("encode", *named).good().lines
    assert [line.split("\t")[0] for line in told] == ["mine", "mine#2"]
    views = run("viz", *named, "--json").good().json["tokenizers"]
    assert [view["name"] for view in views] == ["mine", "mine#2"]


def test_json_equals_an_independent_computation(run, trained, files):
    data = run("count", "-t", trained, *files, "--json").good().json
    tokenizer = tokbench.load(trained)
    assert list(data) == ["schema", "name", "backend", "vocab_size", "kernel", "files", "total"]
    assert (data["schema"], data["name"], data["vocab_size"]) == ("tokbench.count/1", "mine", 1024)
    assert [entry["source"] for entry in data["files"]] == list(files)
    for entry, text in zip(data["files"], files.values(), strict=True):
        assert list(entry) == ["source", *NUMBERS]
        assert numbers(entry) == computed(tokenizer, text)
    total = computed(tokenizer, "")
    for name in ("tokens", "bytes", "characters"):
        total[name] = sum(entry[name] for entry in data["files"])
    assert list(data["total"]) == NUMBERS
    assert data["total"] == total | {"bytes_per_token": total["bytes"] / total["tokens"]}


def test_bundled_texts_are_counted(run, trained):
    files = bundled_files()
    data = run("count", "-t", trained, "--json", *(file.path for file in files)).good().json
    tokenizer = tokbench.load(trained)
    for file, entry in zip(files, data["files"], strict=True):
        assert numbers(entry) == computed(tokenizer, file.path.read_bytes().decode())
        assert (entry["bytes"], entry["characters"]) == (file.bytes, file.characters)


def test_table_equals_json(run, trained, files):
    done = run("count", "-t", trained, *files).good()
    data = run("count", "-t", trained, *files, "--json").json
    rows = [re.split(r"  +", line.strip()) for line in done.lines if line.strip()]
    assert rows[0] == ["tokens", "bytes", "characters", "bytes/token"]
    entries = [*data["files"], {"source": "total", **data["total"]}]
    assert rows[2:-1] == [
        [
            entry["source"],
            f"{entry['tokens']:,}",
            f"{entry['bytes']:,}",
            f"{entry['characters']:,}",
            f"{entry['bytes_per_token']:.3f}",
        ]
        for entry in entries
    ]
    assert done.lines[-1] == "by mine (1,024 tokens)"


def test_single_text_has_no_total(run, files):
    assert "total" not in run("count", "a.txt").good().stdout
    assert "total" in run("count", "a.txt", "b.txt").good().stdout


def test_texts_folders_patterns_and_stdin_are_counted(run, files, tmp_path):
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(b"packed"))
    arguments = ["two words", "sub", "-", "*.txt", "d.txt.gz"]
    data = run("count", *arguments, "--json", stdin=b"from stdin").good().json
    sources = ["two words", "sub/c.txt", "<stdin>", "a.txt", "b.txt", "d.txt.gz"]
    assert [entry["source"] for entry in data["files"]] == sources
    sizes = [9, len(files["sub/c.txt"]), 10, *(len(files[name].encode()) for name in ("a.txt", "b.txt")), 6]
    assert [entry["bytes"] for entry in data["files"]] == sizes


def test_empty_text_has_no_ratio(run, tmp_path):
    (tmp_path / "empty.txt").touch()
    data = run("count", "empty.txt", "", "-", "--json").good().json
    nothing = {"tokens": 0, "bytes": 0, "characters": 0, "bytes_per_token": None}
    assert [numbers(entry) for entry in data["files"]] == [nothing] * 3
    assert data["total"] == nothing
    assert run("count", "empty.txt").good().lines[3].split() == ["empty.txt", "0", "0", "0", "–"]


@pytest.mark.parametrize(("policy", "tokens"), [("text", None), ("encode", 3)])
def test_special_policy_is_applied(run, trained, policy, tokens):
    data = run("count", "-t", trained, "--special-policy", policy, "--json", "a<|pad|>b").good().json
    assert data["total"]["tokens"] == (tokens or len(tokbench.load(trained).encode("a<|pad|>b")))
    run("count", "-t", trained, "--special-policy", "raise", "a<|pad|>b").refused(1, "'<|pad|>' at bytes 1-8")


# --- several tokenizers, lines, forms -----------------------------------------------------------


def test_several_tokenizers_have_a_column_each(run, trained, files):
    data = run("count", "-t", trained, "-t", "default", *files, "--json").good().json
    assert list(data) == ["schema", "tokenizers"]
    alone = [run("count", "-t", name, *files, "--json").good().json for name in (trained, "default")]
    assert data["tokenizers"] == alone
    lines = run("count", "-t", trained, "-t", "default", *files).good().lines
    assert lines[1].split() == ["mine", "default", "bytes", "characters"]
    [row] = [line.split() for line in lines if line.split()[:1] == ["total"]]
    sizes = alone[0]["total"]
    numbers = [sizes["tokens"], alone[1]["total"]["tokens"], sizes["bytes"], sizes["characters"]]
    assert row[1:] == [f"{number:,}" for number in numbers]


@pytest.fixture
def lines(tmp_path):
    (tmp_path / "a.log").write_bytes(b"one two\nthree\r\n\nfour")
    (tmp_path / "b.jsonl").write_text('{"text": "five\\nsix"}\n{"text": "seven"}\n', encoding="utf-8")
    return ["a.log", "b.jsonl"]


def test_file_of_records_is_one_row(run, trained, lines):
    data = run("count", "-t", trained, *lines, "--json").good().json
    assert [entry["source"] for entry in data["files"]] == lines
    tokenizer = tokbench.load(trained)
    assert data["files"][1]["tokens"] == sum(len(tokenizer.encode(text)) for text in ("five\nsix", "seven"))


def test_lines_and_records_are_rows_with_per_line(run, trained, lines):
    data = run("count", "-t", trained, *lines, "--per-line", "--json").good().json
    sources = ["a.log:1", "a.log:2", "a.log:3", "a.log:4", "b.jsonl:1:1", "b.jsonl:1:2", "b.jsonl:2"]
    assert [entry["source"] for entry in data["files"]] == sources
    texts = ["one two", "three", "", "four", "five", "six", "seven"]
    tokenizer = tokbench.load(trained)
    assert [numbers(entry) for entry in data["files"]] == [computed(tokenizer, text) for text in texts]


def test_csv_has_a_row_for_each_text_and_tokenizer(run, trained, lines):
    done = run("count", "-t", trained, "-t", "default", *lines, "--csv").good()
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [(row["tokenizer"], row["source"]) for row in rows] == [
        (name, source) for name in ("mine", "default") for source in lines
    ]
    data = run("count", "-t", trained, *lines, "--json").json
    assert [int(row["tokens"]) for row in rows[:2]] == [entry["tokens"] for entry in data["files"]]
    run("count", *lines, "--csv", "--json").refused(2, "--json and --csv contradict each other")


@pytest.mark.parametrize("command", ["count", "encode"])
def test_stdin_is_read_without_arguments(run, trained, command):
    named = run(command, "-t", trained, "-", stdin=b"from stdin").good()
    assert run(command, "-t", trained, stdin=b"from stdin").good().out == named.out
    assert named.out


def test_repeated_single_value_option_is_refused(run, trained):
    message = "'-t' / '--tokenizer': it takes one value, but is given more than once"
    run("decode", "-t", trained, "-t", "default", "72").refused(2, message)
    assert run("count", "--json", "--json", "text").good().json["total"]["characters"] == 4


def test_text_is_not_read_as_markup(run):
    done = run("count", "--text", "[bold]loud[/bold] :smile: [link=x]", "[/]").good()
    assert "[bold]loud[/bold] :smile: [link=x]" in done.stdout
    assert "[/]" in done.stdout


def test_control_characters_in_names_are_escaped(run, tmp_path):
    (tmp_path / "a\x1b[31m\nb.txt").write_text("text", encoding="utf-8")
    done = run("count", ".").good()
    assert "\x1b" not in done.stdout
    assert "a␛[31m⏎b.txt" in done.stdout


def test_long_texts_are_truncated_and_numbers_are_not(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    done = run("count", "a long text " * 20, "-", stdin=b"x" * 1_234_567).good()
    assert "1,234,567" in done.stdout
    assert max(map(len, run("count", "a long text " * 20).lines)) < 80


def test_invalid_utf8_is_reported(run, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"a\xffb")
    run("count", "bad.txt").refused(1, "bad.txt: not UTF-8 at byte 1 (0xFF)", "--errors replace")
    done = run("count", "bad.txt", "--errors", "replace", "--json").good()
    assert done.json["total"]["characters"] == 3
    assert "1 byte that is not UTF-8 was replaced" in done.stderr
    run("count", "bad.txt", "--errors", "skip").refused(1, "no document of bad.txt is UTF-8")


@pytest.mark.slow
def test_line_of_100_mb_is_counted(process, trained, tmp_path):
    words = b"The quick brown fox jumps over the lazy dog, 1234 times; "
    (tmp_path / "line.txt").write_bytes(words * (100_000_000 // len(words)))
    if tokbench.load(trained).info.kernel == "python":
        pytest.skip("the Python kernel would take an hour")
    data = process("count", "-t", trained, "line.txt", "--json").good().json
    sample = len(tokbench.load(trained).encode((words * 100).decode()))
    assert data["total"]["bytes"] == len(words) * (100_000_000 // len(words))
    assert data["total"]["tokens"] == pytest.approx(
        sample * data["total"]["bytes"] / len(words) / 100, rel=0.01
    )
    assert (
        process("train", "line.txt", "--vocab-size", "500", "--json").good().json["bytes"]
        == data["total"]["bytes"]
    )


def test_markdown_and_latex_tables_are_written(run, trained, files):
    asked = ["count", "-t", trained, "a.txt", "b.txt"]
    data = run(*asked, "--json").good().json
    head, rule, first, second, total, _, note = run(*asked, "--markdown").good().lines
    assert head == "| text | tokens | bytes | characters | bytes/token |"
    assert rule == "| --- | ---: | ---: | ---: | ---: |"
    assert [line.split(" | ")[1] for line in (first, second)] == [
        f"{file['tokens']:,}" for file in data["files"]
    ]
    assert total.startswith(f"| total | {data['total']['tokens']:,} |")
    assert note == r"by mine \(1,024 tokens\)"
    assert r"\begin{tabular}{lrrrr}" in run(*asked, "--latex").good().lines
