"""`tokbench report`: one tokenizer in depth, on the terminal and as JSON."""

from __future__ import annotations

import json

import pytest
from rich.cells import cell_len

import tokbench
from tokbench.files.bundled import corpora_directory
from tokbench.metrics.catalogue import METRICS


@pytest.fixture
def files():
    folder = corpora_directory()
    return [
        *(folder / "parallel" / f"{name}.txt" for name in ("en", "de", "ja")),
        folder / "code" / "python.py",
    ]


def test_json_has_every_figure(run, trained, files):
    data = run("report", *files, "-t", trained, "--model-dim", "64", "--json").good().json
    assert data["schema"] == "tokbench.report/1"
    tokenizer = tokbench.load(trained)
    tokens = data["tokenizer"]["counts"]["tokens"]
    assert list(data["tokenizer"]["metrics"]) == list(METRICS)
    assert sum(data["lengths"]) == sum(usage["occurrences"] for usage in data["vocabulary_usage"]) == tokens
    assert data["cost"]["embedding_bytes"] == 1024 * 64 * 2
    assert data["tokenizer"]["fairness"]["reference"] == "en"
    for use in data["most_used"]:
        assert tokenizer.token_bytes(use["id"]).hex() == use["bytes"]
    english = (corpora_directory() / "parallel" / "en.txt").read_text(encoding="utf-8")
    assert data["tokenizer"]["group_counts"]["en"]["tokens"] == len(tokenizer.encode(english))


def test_output_fits_the_terminal_width(run, trained, files, columns):
    arguments = [
        *["--model-dim", "64", "--layers", "2", "--kv-heads", "2", "--head-dim", "8"],
        *["--context", "512"],
    ]
    done = run("report", *files, "-t", trained, *arguments, "--price", "0.5").good()
    assert max(map(cell_len, done.lines)) <= columns
    for part in ("Compression", "Groups", "Gini", "Model cost", "KV cache"):
        assert part in done.stdout


def test_reference_language_can_be_chosen(run, trained, files):
    data = run("report", *files, "-t", trained, "--reference", "de", "--json").good().json
    assert data["tokenizer"]["fairness"]["premiums"]["de"] == 1
    run("report", *files, "-t", trained, "--reference", "xx").refused(2, "'xx' is not among the aligned")


def test_chosen_metrics_are_reported(run, trained, files):
    names = ["tokens_per_word", "unk_rate"]
    arguments = ["report", *files, "-t", trained]
    full = run(*arguments, "--json").good().json
    slim = run(*arguments, "--json", "--metrics", ",".join(names)).good().json
    assert list(slim["metrics"]) == list(slim["tokenizer"]["metrics"]) == names
    for name in names:
        assert slim["tokenizer"]["metrics"][name] == full["tokenizer"]["metrics"][name]
        for group, figures in slim["tokenizer"]["groups"].items():
            assert figures[name] == full["tokenizer"]["groups"][group][name]
    assert slim["vocabulary_usage"] == full["vocabulary_usage"]
    shown = run(*arguments, "--metrics", "unk_rate").good().stdout
    assert "unknown tokens over tokens" in shown
    assert "the compression" not in shown
    assert "Most fragmented words" in shown
    run(*arguments, "--metrics", "unk_rates").refused(2, "unk_rate")


def test_output_file_is_written_completely(run, trained, files, tmp_path):
    arguments = ["report", files[-1], "-t", trained]
    run(*arguments, "--json", "--out", ".").refused(2, "is a folder")
    assert run(*arguments, "--json", "--out", "found.json").good().out == b""
    assert json.loads((tmp_path / "found.json").read_bytes())["schema"] == "tokbench.report/1"
    run(*arguments, "--out", "found.txt").good()
    assert "Compression" in (tmp_path / "found.txt").read_text(encoding="utf-8")
    assert {path.name for path in tmp_path.iterdir()} == {"found.json", "found.txt"}


@pytest.mark.parametrize(
    "arguments", [["--model-dim", "0"], ["--price", "-1"], ["--threads", "0"], ["--context", "x"]]
)
def test_usage_errors_are_refused(run, trained, files, arguments):
    run("report", files[-1], "-t", trained, *arguments).refused(2, arguments[0])


def test_long_words_are_shown_by_their_beginning(run, trained, tmp_path):
    (tmp_path / "long.txt").write_text("a short line\n" + "é" * 5000, encoding="utf-8")
    done = run("report", "-t", trained, "long.txt").good()
    assert f"{'é' * 60}… 5,000" in done.stdout
    assert "é" * 61 not in done.stdout


def test_report_reads_a_text_from_stdin(run, trained, tmp_path):
    text = b"ein Text, zwei Zeilen\n" * 3
    (tmp_path / "a.txt").write_bytes(text)
    arguments = ["-t", trained, "--json"]
    from_stdin, expected = (
        run("report", name, *arguments, stdin=stdin).good().json
        for name, stdin in [("-", text), ("a.txt", b"")]
    )
    assert from_stdin["tokenizer"]["metrics"] == expected["tokenizer"]["metrics"]
    assert from_stdin["robustness"] == expected["robustness"]


def test_several_tokenizers_have_a_report_each(run, trained, tmp_path):
    (tmp_path / "a.txt").write_text("one two three\nfour\n", encoding="utf-8")
    asked = ["report", "a.txt", "--metrics", "bytes_per_token"]
    several = [*asked, "-t", trained, "-t", "default"]
    heads = [line for line in run(*several).good().lines if "tokens, runs on" in line]
    assert [head.partition(":")[0] for head in heads] == ["mine", "default"]
    data = run(*several, "--json").good().json
    assert (data["schema"], [report["tokenizer"]["name"] for report in data["reports"]]) == (
        "tokbench.report/1",
        ["mine", "default"],
    )
    alone = [run(*asked, "-t", name, "--csv").good().stdout.splitlines() for name in (trained, "default")]
    assert run(*several, "--csv").good().stdout.splitlines() == [*alone[0], *alone[1][1:]]
    markdown = [run(*asked, "-t", name, "--markdown").good().stdout for name in (trained, "default")]
    assert run(*several, "--markdown").good().stdout == "\n".join(markdown)
    for text, name in zip(markdown, ("mine", "default"), strict=True):
        assert text.startswith(f"{name}: bpe, ")
    run(*several, "--html", "a.html").refused(2, "--html draws the report of one tokenizer", "compare")


def test_page_keeps_listed_tokens_and_their_numbers_apart(run, trained, tmp_path):
    (tmp_path / "a.txt").write_text("שלום 1 שלום 2 שלום 3\n" * 5, encoding="utf-8")
    run("report", "a.txt", "-t", trained, "--html", "a.html").good()
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert '<span class="listed"><bdi>⏎</bdi> 5</span>' in page
