"""`tokbench compare`: its output in each form, its refusals, and the files that it leaves on disk."""

from __future__ import annotations

import csv
import io
import os
import random
import signal

import pytest
from rich.cells import cell_len

import tokbench
from tokbench.files.bundled import corpora_directory
from tokbench.metrics.catalogue import METRICS


def test_json_equals_an_independent_computation(run, trained, byte, texts):
    data = run("compare", texts, "-t", trained, "-t", byte, "--no-times", "--json").good().json
    assert data["schema"] == "tokbench.compare/1"
    assert data["baseline"] == "mine"
    mine, other = data["tokenizers"]
    tokenizer = tokbench.load(trained)
    tokens = {
        path.stem: len(tokenizer.encode(path.read_text(encoding="utf-8"))) for path in texts.rglob("*.*")
    }
    sizes = {path.stem: path.stat().st_size for path in texts.rglob("*.*")}
    assert mine["metrics"]["bytes_per_token"]["value"] == sum(sizes.values()) / sum(tokens.values())
    assert {name: one["bytes_per_token"]["value"] for name, one in mine["groups"].items()} == {
        name: sizes[name] / tokens[name] for name in sizes
    }
    lines = {
        name: [
            text
            for text in (texts / "parallel" / f"{name}.txt").read_text(encoding="utf-8").split("\n")
            if text
        ]
        for name in ("de", "en")
    }
    by_line = {name: sum(len(tokenizer.encode(line)) for line in lines[name]) for name in lines}
    assert mine["fairness"]["premiums"]["de"] == by_line["de"] / by_line["en"]
    assert (mine["fairness"]["lines"], mine["fairness"]["reference"]) == (40, "en")
    assert other["metrics"]["bytes_per_token"]["value"] == 1
    in_bytes = {name: sum(len(line.encode()) for line in lines[name]) for name in lines}
    assert other["fairness"]["premiums"]["de"] == in_bytes["de"] / in_bytes["en"]
    for premium, (low, high) in (
        (mine["fairness"]["premiums"]["de"], mine["fairness"]["premium_intervals"]["de"]),
        (mine["fairness"]["gini"], mine["fairness"]["gini_interval"]),
    ):
        assert low <= premium <= high
    assert data["corpus"]["units"] == {"aligned lines": 40, "documents": 1}
    assert data["fairness_gap"] is None
    assert mine["throughput"] is None


def test_figures_can_be_aggregated_as_means(run, trained, texts):
    by_aggregation = {
        how: run("compare", texts, "-t", trained, "--no-times", "--json", "--aggregate", how).good().json
        for how in ("pooled", "macro", "per_document")
    }
    [groups] = [tokenizer["groups"] for tokenizer in by_aggregation["pooled"]["tokenizers"]]
    mean = sum(group["bytes_per_token"]["value"] for group in groups.values()) / len(groups)
    for how in ("macro", "per_document"):  # each group has one document here
        assert by_aggregation[how]["aggregation"] == how
        assert by_aggregation[how]["tokenizers"][0]["metrics"]["bytes_per_token"]["value"] == pytest.approx(
            mean
        )
    pooled = by_aggregation["pooled"]["tokenizers"][0]["metrics"]["bytes_per_token"]["value"]
    assert pooled != pytest.approx(mean)
    shown = run("compare", texts, "-t", trained, "--no-times", "--aggregate", "macro").good().stdout
    assert "means over the groups of 3 documents" in shown
    run("compare", texts, "-t", trained, "--aggregate", "mean").refused(
        2, "'mean' is not one of pooled, macro"
    )


def test_groups_with_several_units_have_intervals(run, trained, texts):
    """Each language has forty aligned lines as its units; all lines of the only code file are one unit."""
    options = ["-t", trained, "--documents", "lines", "--no-times", "--json"]
    data = run("compare", texts, *options).good().json
    [mine] = data["tokenizers"]
    for name, group in mine["groups"].items():
        assert group["bytes_per_token"]["difference"] == 0
        if name == "python":
            assert group["bytes_per_token"]["interval"] is None
            continue
        low, high = group["bytes_per_token"]["interval"]
        assert low <= group["bytes_per_token"]["value"] <= high
    assert data["group_interval_gaps"] == {
        "python": "no interval: all text comes from one file or record; an interval needs 5"
    }
    assert data["interval_gap"] is None
    assert data["corpus"]["units"] == {"aligned lines": 40, "files": 1}


def test_arguments_are_recorded(run, trained, texts):
    plain = run("compare", texts, "-t", trained, "--json").good().json
    assert plain["arguments"] == {"paths": [str(texts)], "tokenizer": [str(trained)]}
    assert plain["tokenizers"][0]["loading_seconds"] > 0
    asked = ["--documents", "lines", "--seed", "7", "--aggregate", "macro", "--no-times", "--json"]
    document = run("compare", texts, "-t", trained, *asked).good().json
    assert document["arguments"] == plain["arguments"] | {
        "documents": "lines",
        "seed": 7,
        "aggregate": "macro",
    }
    assert document["tokenizers"][0]["loading_seconds"] is None


BETTER = "its figures are better than on unseen text"


def numbered_lines(*numbers):
    return "".join(f"line {number} of the text, which is {number * number}\n" for number in numbers)


def test_training_text_is_recognized_whatever_the_documents(run, tmp_path):
    texts = {"a": range(30), "b": range(20, 40), "c": range(30, 40), "d": range(5, 15)}
    for name, numbers in texts.items():
        (tmp_path / f"{name}.txt").write_text(numbered_lines(*numbers), encoding="utf-8")
    run("train", "a.txt", "--vocab-size", "280", "--name", "mine").good()
    options = ["-t", "mine", "--documents", "lines", "--no-times", "--json"]
    warned = {name: run("compare", f"{name}.txt", *options).good().json["warnings"] for name in texts}
    assert warned == {
        "a": [f"mine was trained on this text: {BETTER}"],
        "b": [f"mine was trained on 50.0 % of these lines: {BETTER}"],
        "c": [],
        "d": [f"mine was trained on all lines of this text, and others: {BETTER}"],
    }


def test_training_text_is_reported_in_every_format(run, tmp_path):
    (tmp_path / "a.txt").write_text(numbered_lines(*range(30)), encoding="utf-8")
    run("train", "a.txt", "--vocab-size", "280", "--name", "mine").good()
    told = "mine was trained on this text"
    arguments = ["a.txt", "-t", "mine", "--documents", "lines"]
    for form in ([], ["--json"], ["--markdown"], ["--latex"]):
        assert told in run("compare", *arguments, "--no-times", *form).good().stdout
    for form in ([], ["--json"]):
        assert told in run("report", *arguments, *form).good().stdout


def test_chosen_metrics_are_printed(run, trained, texts):
    full = run("compare", texts, "-t", trained, "--no-times", "--json").good().json
    names = ["unk_rate", "bytes_per_token"]
    slim = run("compare", texts, "-t", trained, "--no-times", "--json", "--metrics", ",".join(names)).json
    assert list(slim["metrics"]) == list(slim["tokenizers"][0]["metrics"]) == names
    for name in names:
        assert slim["tokenizers"][0]["metrics"][name] == full["tokenizers"][0]["metrics"][name]
    everything = run("compare", texts, "-t", trained, "--no-times", "--json", "--metrics", "all").json
    assert list(everything["metrics"]) == list(METRICS)
    shown = run("compare", texts, "-t", trained, "--no-times", "--metrics", "all").good().stdout
    assert all(metric.title in shown for metric in METRICS.values())


def test_csv_equals_json(run, trained, texts):
    arguments = ["compare", texts, "-t", trained, "--no-times"]
    data = run(*arguments, "--json").json["tokenizers"][0]
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "--csv").good().stdout)))
    assert len(rows) == len(METRICS) * (1 + len(data["groups"])) + 3
    fair = {(row["group"], row["metric"]): row for row in rows if row["metric"] in ("premium", "gini")}
    assert fair.keys() == {("de", "premium"), ("en", "premium"), ("", "gini")}
    assert fair["de", "premium"]["value"] == repr(data["fairness"]["premiums"]["de"])
    assert fair["", "gini"]["high"] == repr(data["fairness"]["gini_interval"][1])
    for row in rows:
        if row["metric"] in ("premium", "gini"):
            continue
        figures = data["groups"][row["group"]] if row["group"] else data["metrics"]
        value = figures[row["metric"]]["value"]
        assert row["value"] == ("" if value is None else repr(value))


def test_single_tokenizer_is_not_marked_as_best(run, trained, texts):
    arguments = ["compare", texts, "-t", trained, "--no-times"]
    figure = run(*arguments, "--json").good().json["tokenizers"][0]["metrics"]["bytes_per_token"]
    for form in ([], ["--markdown"], ["--latex"]):
        text = run(*arguments, *form).good().stdout.replace(r"\ldots{}", "…").replace(r"$\pm$", "±")
        text = " ".join(text.replace("\\", "").split())
        for words in ("best of those", "distinguishable", "paired"):
            assert words not in text
        assert "± 95 % (bootstrap over 40 aligned lines and 1 document)" in text
        low, high = figure["interval"]
        assert f"{figure['value']:.3f} ±" in text or f"{low:.3f}…{high:.3f}" in text


def test_markdown_and_latex_tables_are_written(run, trained, byte, texts):
    arguments = ["compare", texts, "-t", trained, "-t", byte, "--metrics", "bytes_per_token,unk_rate"]
    head, rule, mine, other, *others = run(*arguments, "--markdown").good().lines
    assert head == "| tokenizer | vocab | bytes/token | vs mine | tokens | UNK | max premium | Gini |"
    assert rule == "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    assert mine.startswith("| mine | 1,024 | **")
    assert other.startswith("| byte | 256 | 1.000 | -")
    text = "\n".join(others)
    assert "| language | mine | byte |" in text
    assert "| group | bytes | mine | byte |" in text
    assert "best lossless tokenizer" in text
    assert "40 aligned lines and 1 document" in text
    data = run(*arguments, "--json").good().json
    summary = data["summary"]
    [low, high] = data["tokenizers"][0]["groups"]["en"]["bytes_per_token"]["interval"]
    assert f"{low:.3f}…{high:.3f}" in text
    assert summary[0] in text.replace("\\", "")
    latex = run(*arguments, "--latex").good().lines
    assert latex[0] == r"\begin{tabular}{lrrrrrrr}"
    assert any(line.startswith(r"byte & 256 & 1.000 & -") for line in latex)
    assert any("40 aligned lines and 1 document" in line for line in latex)


def test_mix_and_model_options_add_costs(run, trained, byte, texts, tmp_path):
    arguments = ["compare", texts, "-t", trained, "-t", byte, "--no-times", "--mix", "en=3,de=1"]
    described = ["--model-dim", "64", "--layers", "2", "--context", "1k", "--price", "2.5"]
    data = run(*arguments, *described, "--json").good().json
    assert data["mix"]["shares"] == {"en": 0.75, "de": 0.25}
    mine, bytes_alone = data["tokenizers"]
    assert bytes_alone["mix"]["value"] == 1
    counts = mine["group_counts"]
    expected = sum(
        share * counts[group]["tokens"] / counts[group]["bytes"]
        for group, share in data["mix"]["shares"].items()
    )
    assert mine["mix"]["value"] == pytest.approx(expected)
    assert mine["mix"]["interval"][0] < expected < mine["mix"]["interval"][1]
    assert bytes_alone["mix"]["distinguishable"]
    total = mine["counts"]
    assert mine["cost"]["price_per_million_chars"] == pytest.approx(2.5 * total["tokens"] / total["chars"])
    assert mine["cost"]["embedding_bytes"] == 1024 * 64 * 2
    assert bytes_alone["relative_tokens"] > 1
    assert bytes_alone["relative_tokens_interval"][0] > 1
    [sentence] = data["mix"]["summary"]
    assert sentence.startswith("for en 75 %, de 25 %: mine is the cheapest")
    shown = " ".join(run(*arguments, *described).good().stdout.split())
    assert sentence in shown
    assert "MFLOP/byte: 2 layers of width 64, attending over 1,000 tokens" in shown
    assert "bytes/token is bytes_per_token" in shown
    run(*arguments, *described, "--html", "page.html").good()
    assert sentence in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_invalid_mix_is_refused(run, trained, texts):
    arguments = ["compare", texts, "-t", trained, "--mix"]
    run(*arguments, "en=1,fr=1").refused(2, "'fr', and there is no such group", "de, en")
    run(*arguments, "en").refused(2, "--mix 'en'", "en=0.6")
    run("compare", texts, "--backend", "bpe", "--mix", "xx=1").refused(2, "no such group")


def test_metrics_help_explains_each_metric(run):
    """The help on metrics needs neither a corpus nor a tokenizer."""
    names = [
        metric["name"] for metric in run("compare", "--metrics", "help", "--json").good().json["metrics"]
    ]
    assert names[: len(METRICS)] == list(METRICS)
    shown = run("report", "nowhere.txt", "--metrics", "help").good().stdout
    assert all(name in shown for name in names)


def test_output_fits_the_terminal_width(run, trained, byte, texts, columns):
    tokenizers = [part for name in (trained, byte) * 3 for part in ("-t", name)]
    for metrics in ([], ["--metrics", "all"]):
        done = run("compare", texts, *tokenizers, "--no-times", *metrics).good()
        assert max(map(cell_len, done.lines)) <= columns
    text = done.stdout
    assert "mine#3" in text
    assert "tokens over en" in text
    assert "Gini" in text


def test_throughput_is_measured_unless_disabled(run, trained, texts):
    [mine] = run("compare", texts, "-t", trained, "--json").good().json["tokenizers"]
    assert 0 < mine["throughput"]["low"] <= mine["throughput"]["median"] <= mine["throughput"]["high"]
    assert "MB/s" in run("compare", texts, "-t", trained).good().stdout
    assert "MB/s" not in run("compare", texts, "-t", trained, "--no-times").good().stdout


def test_candidates_are_trained_without_given_tokenizers(run, tmp_path):
    files = [corpora_directory() / "parallel" / f"{name}.txt" for name in ("en", "de")]
    arguments = ["compare", *files, "--backend", "bpe", "--vocab-size", "600", "--no-times", "--json"]
    data = run(*arguments).good().json
    assert [tokenizer["backend"] for tokenizer in data["tokenizers"]] == ["bpe", "byte", "char"]
    assert data["training"]["vocab_size"] == 600
    assert data["training"]["left_out"] == {}
    assert data["training"]["training_bytes"] + data["corpus"]["bytes"] == sum(
        file.stat().st_size for file in files
    )
    again = run(*arguments).good().json
    for one in (*data["tokenizers"], *again["tokenizers"]):
        del one["training"]  # timings
    assert again == data


@pytest.mark.real
@pytest.mark.slow
def test_tokenizers_of_every_family_are_compared(run, shared, texts):
    """Every figure exists and is within its bounds, whatever the normalizer, unknown token or byte fallback."""
    names = ["bert-base-uncased", "t5-small", "mistral", "gpt2"]
    tokenizers = [part for name in names for part in ("-t", shared / "vocab" / name)]
    data = run("compare", texts, *tokenizers, "--no-times", "--json").good().json
    metrics = {tokenizer["name"]: tokenizer["metrics"] for tokenizer in data["tokenizers"]}
    assert list(metrics) == names
    for figures in metrics.values():
        for name, figure in figures.items():
            assert figure["value"] is None or figure["value"] >= 0
            assert figure["value"] is None or figure["value"] <= 1 or not METRICS[name].share
        assert 1 < figures["bytes_per_token"]["value"] < 8
    lossless = {name for name, figures in metrics.items() if figures["roundtrip_rate"]["value"] == 1}
    assert {"gpt2", "mistral"} <= lossless
    assert "bert-base-uncased" not in lossless
    assert metrics["bert-base-uncased"]["indentation_fidelity"]["value"] == 0


# --- files left on disk -----------------------------------------------------------------------


def test_out_writes_what_would_be_printed(run, trained, texts, tmp_path):
    arguments = ["compare", texts, "-t", trained, "--no-times"]
    for form in ("--json", "--csv", "--markdown", "--latex"):
        printed = run(*arguments, form).good().out
        done = run(*arguments, form, "--out", "new/found").good()
        assert done.out == b""
        assert (tmp_path / "new" / "found").read_bytes() == printed
    run(*arguments, "--out", "found.txt").good()
    assert "bytes/token" in (tmp_path / "found.txt").read_text(encoding="utf-8")
    assert {path.name for path in tmp_path.iterdir()} == {"c", "new", "found.txt"}


def test_unwritable_output_file_is_refused(run, trained, texts, tmp_path):
    (tmp_path / "file").write_text("older")
    run("compare", texts, "-t", trained, "--no-times", "--out", "file/found.txt").refused(
        1, "cannot be written"
    )
    assert (tmp_path / "file").read_text() == "older"


@pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")
def test_ctrl_c_keeps_the_older_file(start, trained, tmp_path):
    letters = bytes(b"etaoinshrdlu    "[byte & 15] for byte in range(256))
    (tmp_path / "long.txt").write_bytes((random.Random(7).randbytes(99).translate(letters) + b"\n") * 200_000)
    (tmp_path / "found.json").write_text("older")
    arguments = ["long.txt", "--documents", "lines", *["-t", trained] * 5, "--json", "--out", "found.json"]
    with start("compare", *arguments, "--progress", "json", folder=tmp_path) as running:
        for line in running.stderr:
            if b'"evaluating mine"' in line:
                break
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)
    assert running.returncode == 130, err.decode()
    assert out == b""
    assert b"Traceback" not in err
    assert err.decode().splitlines()[-2] == "error: interrupted"
    assert (tmp_path / "found.json").read_text() == "older"
    assert {path.name for path in tmp_path.iterdir()} == {"long.txt", "found.json"}
