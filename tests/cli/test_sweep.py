"""`tokbench sweep`: the curve of bytes per token over vocabulary sizes."""

from __future__ import annotations

import csv
import io

import pytest
from rich.cells import cell_len

from tokbench.files.bundled import corpora_directory


@pytest.fixture
def files():
    folder = corpora_directory()
    return [folder / "parallel" / "en.txt", folder / "parallel" / "de.txt", folder / "code"]


def test_json_and_csv_have_the_curve(run, files):
    data = run("sweep", *files, "--sizes", "300:1k", "--model-dim", "8", "--json").good().json
    assert data["schema"] == "tokbench.sweep/1"
    assert [point["vocab_size"] for point in data["points"]] == [300, 600, 1000]
    assert [point["embedding_parameters"] for point in data["points"]] == [2400, 4800, 8000]
    assert data["trainings"] == 1
    assert data["missing"] == []
    assert data["recommended"] in (300, 600, 1000)
    rows = list(csv.DictReader(io.StringIO(run("sweep", *files, "--sizes", "300:1k", "--csv").good().stdout)))
    assert {row["vocab_size"]: float(row["bytes_per_token"]) for row in rows if not row["group"]} == {
        str(point["vocab_size"]): point["bytes_per_token"] for point in data["points"]
    }


def test_point_equals_a_compared_training(run, files):
    """The same split and the same training give the same figure."""
    data = run("sweep", *files, "--sizes", "300,700", "--json").good().json
    compared = (
        run("compare", *files, "--backend", "bpe", "--vocab-size", "300", "--no-times", "--json").good().json
    )
    assert (
        data["points"][0]["bytes_per_token"]
        == compared["tokenizers"][0]["metrics"]["bytes_per_token"]["value"]
    )


def test_output_fits_the_terminal_width(run, files, columns):
    done = run("sweep", *files, "--sizes", "256,300,1k,900k", "--model-dim", "4096").good()
    assert max(map(cell_len, done.lines)) <= columns
    assert "recommended: " in done.stdout
    assert "the text is too short for 900,000 tokens" in done.stdout


def test_backend_options_are_passed(run, files):
    arguments = ["sweep", *files, "--sizes", "300,400", "--json"]
    plain = run(*arguments).good().json["points"]
    none = run(*arguments, "--pattern", "none").good().json["points"]
    assert none != plain
    assert run(*arguments, "--option", "pattern=none").good().json["points"] == none
    special = run(*arguments, "--option", "special_tokens=<a>").good().json["points"]
    assert [point["vocab_size"] for point in special] == [300, 400]
    assert special[1]["tokens"] > plain[1]["tokens"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--sizes", "100,400"], ["a vocabulary of 100 is too small", "256"]),
        (["--sizes", "8k:1k"], ["runs backwards"]),
        (["--sizes", "many"], ["'many' is not a vocabulary size"]),
        (["--sizes", "300", "--json", "--csv"], ["--json and --csv"]),
        (["--sizes", "300", "--json", "--out", "."], ["is a folder"]),
        (["--sizes", "300", "--backend", "byte"], ["byte has one size only"]),
        (["--sizes", "300", "--backend", "bqe"], ["bqe", "bpe"]),
        (["--sizes", "300", "--option", "patern=none"], ["patern", "pattern"]),
        (["--sizes", "300", "--pattern", "("], ["pattern"]),
        (
            ["--sizes", "300", "--backend", "wordpiece", "--pattern", "gpt2"],
            ["'wordpiece' has no option 'pattern'"],
        ),
        (["--sizes", "300", "--option", "vocab_size=400"], ["vocab_size is not an option", "--sizes"]),
        (["--sizes", "300", "--threads", "0"], ["--threads"]),
        (["--sizes", "300", "--threads", "100000000000"], ["--threads", "from 1 to 65536"]),
        (["--sizes", "300", "--vocab-size", "300"], ["--vocab-size is for --superwords", "--sizes"]),
        (["--superwords", "300"], ["needs a vocabulary size", "--vocab-size"]),
        (["--superwords", "2k:1k", "--vocab-size", "4k"], ["--superwords '2k:1k' runs backwards"]),
        (["--superwords", "300", "--vocab-size", "400", "--sizes", "300"], ["--sizes is for"]),
        (["--superwords", "300", "--vocab-size", "400", "--mix", "en=1"], ["--mix is for"]),
        (["--superwords", "300", "--html", "page.html"], ["--html is for"]),
        (["--superwords", "500", "--vocab-size", "400"], ["superwords is 500", "256 to 400"]),
        (["--superwords", "300", "--vocab-size", "400", "--backend", "unigram"], ["learns no superwords"]),
    ],
)
def test_usage_errors_are_refused(run, files, arguments, parts):
    run("sweep", *files, *arguments).refused(2, *parts)


def test_sizes_that_cannot_be_trained_are_refused_or_reported(run, files, tmp_path):
    too_small = ["--sizes", "20,2k", "--backend", "sentencepiece"]
    run("sweep", *files, *too_small).refused(1, "of 20 is too small", "--vocab-size")
    data = run("sweep", files[0], "--sizes", "500k", "--backend", "unigram", "--json").good().json
    assert data["missing"] == [500_000]
    assert data["points"][0]["vocab_size"] < 10_000
    (tmp_path / "one.txt").write_text("one line")
    run("sweep", "one.txt", "--sizes", "300").refused(
        1, "too few to hold out a tenth", "`tokbench compare -t` can evaluate"
    )


def test_output_file_is_written_completely(run, files, tmp_path):
    printed = run("sweep", *files, "--sizes", "300", "--csv").good().out
    assert run("sweep", *files, "--sizes", "300", "--csv", "--out", "new/curve.csv").good().out == b""
    assert (tmp_path / "new" / "curve.csv").read_bytes() == printed
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["curve.csv"]
    run("sweep", *files, "--sizes", "300", "--out", "curve.txt").good()
    assert "recommended: 300 tokens" in (tmp_path / "curve.txt").read_text(encoding="utf-8")


def test_mix_adds_costs_and_names_the_cheapest_size(run, files):
    arguments = ["sweep", *files, "--sizes", "300,600", "--mix", "en=0.5,code=0.5", "--price", "2"]
    data = run(*arguments, "--json").good().json
    assert set(data["mix"]["groups"]["code"]) == set(data["points"][0]["groups"]) - {"en", "de"}
    first, second = (point["mix"]["value"] for point in data["points"])
    assert data["points"][1]["mix"]["difference"] == pytest.approx(second / first - 1)
    [sentence] = data["mix"]["summary"]
    assert sentence.startswith("for en 50 %, code 50 %: 600 tokens is the cheapest")
    assert sentence in " ".join(run(*arguments).good().stdout.split())
    run("sweep", *files, "--sizes", "300", "--mix", "fr=1").refused(2, "no such group", "de, ")


def test_every_format_equals_the_terminal(run, files):
    arguments = ["sweep", *files, "--sizes", "300,600", "--model-dim", "32"]
    data = run(*arguments, "--json").good().json
    english = data["points"][-1]["groups"]["en"]
    low, high = english["interval"]
    for form in ([], ["--markdown"], ["--latex"]):
        printed = run(*arguments, *form).good().stdout.replace(r"\ldots{}", "…").replace(r"$\pm$", "±")
        text = " ".join(printed.replace("\\", "").split())
        assert f"{english['value']:.3f} ±" in text or f"{low:.3f}…{high:.3f}" in text, form
        assert "no interval for c, cpp, css and 11 more" in text
        for part in (data["reason"], data["method"], "coverage", "UNK", "embedding", "MFLOP/byte", "at 600"):
            assert part in text


def test_groups_missing_on_one_side_are_reported(run, files, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "short.jsonl").write_text('{"text": "one", "lang": "tiny"}\n')
    lines = [f'{{"text": "{number} of the many lines", "lang": "many"}}' for number in range(200)]
    (tmp_path / "own" / "long.jsonl").write_text("\n".join(lines))
    arguments = ["sweep", "own", "--group-by", "field:lang", "--sizes", "270,280"]
    data = run(*arguments, "--json").good().json
    assert data["corpus"]["held_out_shares"]["tiny"] == 0
    for form in ([], ["--markdown"]):
        assert run(*arguments, *form).good().stdout.count("tiny is trained on and not evaluated") == 1


def test_html_page_has_the_sizes_and_the_recommendation(run, files, tmp_path):
    pytest.importorskip("vl_convert")
    arguments = ["sweep", *files[:2], "--sizes", "300,600", "--model-dim", "32", "--json"]
    data = run(*arguments, "--html", "page.html").good().json
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>Vocabulary sizes of bpe: 300 to 600 tokens</title>" in page
    assert f"recommended: {data['recommended']} tokens: {data['reason']}" in page
    assert "knee: the first size" in page
    english = data["points"][0]["groups"]["en"]
    low, high = english["interval"]
    ends, half = f"{low:.3f}…{high:.3f}", f"±{high - english['value']:.3f}"
    assert ends in page or half in page
    assert "A tokenizer evaluated" not in page
    for point in data["points"]:
        assert f"{point['tokens']:,}" in page


def test_superwords_are_swept_at_one_size(run, files, columns, tmp_path):
    pytest.importorskip("vl_convert")
    arguments = ["sweep", *files[:2], "--vocab-size", "600", "--superwords"]
    data = run(*arguments, "300,450", "--json", "--plot", "curve.svg").good().json
    assert [point["superwords"] for point in data["points"]] == [300, 450, 600]
    assert "merges cross spaces" in (tmp_path / "curve.svg").read_text(encoding="utf-8")
    [plain] = run("sweep", *files[:2], "--sizes", "600", "--json").good().json["points"]
    assert data["points"][-1]["metrics"] == plain["metrics"]
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "300,450", "--csv").good().stdout)))
    assert {int(row["superwords"]): float(row["bytes_per_token"]) for row in rows if not row["group"]} == {
        point["superwords"]: point["bytes_per_token"] for point in data["points"]
    }
    done = run(*arguments, "auto", "--model-dim", "64").good()
    assert max(map(cell_len, done.lines)) <= columns
    for part in ("300", "450", "540", "600", "plain", "over plain BPE"):
        assert part in done.stdout
