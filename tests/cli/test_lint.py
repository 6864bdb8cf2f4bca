"""`tokbench lint`: findings, exit codes, and the pages of rules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support import huggingface
from support.folders import files_of
from support.lint import byte_level
from support.model_folders import put
from support.sentencepiece_models import scored, unknown, written

from tokbench.workbench import lint_fix

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Done


def write(folder: Path, *tokens: str) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(byte_level(("a", "b"), tokens=tokens)))
    return path


def test_findings_are_shown_with_their_remedy(run: Callable[..., Done], tmp_path: Path) -> None:
    path = write(tmp_path, "x\u202e")
    done = run("lint", "-t", path, "--select", "bidi-in-token").good()
    assert any("bidi-in-token  1 finding" in line for line in done.lines)
    assert any('token 257 "x\\u202e"' in line for line in done.lines)
    assert done.lines[-1].endswith(": 0 errors, 0 warnings, 1 note from 1 rule")


def test_tokenizer_in_place_of_text_is_refused(run: Callable[..., Done], tmp_path: Path) -> None:
    path = write(tmp_path)
    failed = run("lint", path)
    failed.refused(2, "is a tokenizer, and text to check one on is expected here", "name it with --tokenizer")
    (tmp_path / "words.txt").write_text("[UNK]\n[CLS]\n[SEP]\na\n##b\n")
    run("lint", tmp_path, "--select", "bidi").good()  # a folder of texts may contain a tokenizer
    run("lint", path, "-t", path, "--select", "bidi").good()
    run("lint", tmp_path / "words.txt", "--select", "bidi").good()


@pytest.mark.parametrize("names", [("mine.json",), ("mine.json", "yours.json"), ("a.model", "b.model")])
def test_models_with_other_names_are_named_in_the_error(
    run: Callable[..., Done], tmp_path: Path, names: tuple[str, ...]
) -> None:
    folder, corpus = tmp_path / "models", tmp_path / "texts"
    content = (
        huggingface.byte_level() if names[0].endswith(".json") else written([unknown(), *scored({"a": -1.0})])
    )
    put(folder, dict.fromkeys(names, content))
    paths = [str(folder / name) for name in names]
    run("lint", folder).refused(2, *paths)
    run("inspect", folder).refused(1, *names)
    put(corpus, {"mine.json": huggingface.byte_level(), "a.txt": "text"})
    run("lint", corpus, "--select", "bidi").good()


def test_folder_of_models_in_place_of_text_is_refused(run: Callable[..., Done], tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        write(tmp_path / name)
        (tmp_path / name / "config.json").write_text("{}")
    one = run("lint", tmp_path / "first")
    one.refused(2, "first is the folder of a tokenizer", f"name it with --tokenizer {tmp_path / 'first'}")
    both = run("lint", tmp_path)
    both.refused(2, "is a folder of 2 tokenizers", str(tmp_path / "first"), str(tmp_path / "second"))
    run("lint", tmp_path, "-t", tmp_path / "first", "--select", "bidi").good()
    (tmp_path / "notes.txt").write_text("A text.")
    run("lint", tmp_path, "--select", "bidi").good()


def test_word_rules_are_skipped_without_an_unknown_token(run: Callable[..., Done], tmp_path: Path) -> None:
    model = {"type": "WordLevel", "vocab": {"hello": 0, "w\u202e": 1}, "unk_token": "[UNK]"}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(huggingface.document(model, pre_tokenizer={"type": "Whitespace"})))
    text = " ".join(" ".join(run("lint", "-t", path).good().lines).split())
    assert "bidi-in-token 1 finding" in text
    assert "slow-input: it has no unknown token, and fails on texts with unknown characters" in text


def test_wrapped_lines_are_indented_after_their_mark(
    run: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    done = run("lint", "-t", write(tmp_path, "x\u202e"), "--select", "bidi,reference").good()
    arrow = next(number for number, line in enumerate(done.lines) if line.startswith("  →"))
    assert done.lines[arrow + 1].startswith("     ")


def test_rules_skipped_for_one_reason_are_listed_together(run: Callable[..., Done], tmp_path: Path) -> None:
    done = run("lint", "-t", write(tmp_path), "--select", "reference").good()
    assert done.lines[0].startswith("skipped  swapped-id, other-token, changed-merge, changed-score")


def test_exit_code_is_3_from_the_chosen_severity(run: Callable[..., Done], tmp_path: Path) -> None:
    path = write(tmp_path, "x\u202e")
    for fail_on, code in {"error": 0, "warning": 3, "note": 3, "never": 0}.items():
        assert run("lint", "-t", path, "--select", "unreachable", "--fail-on", fail_on).code == code
    assert run("lint", "-t", write(tmp_path), "--select", "unreachable", "--fail-on", "note").code == 0


def test_json_and_sarif_have_the_same_findings(run: Callable[..., Done], tmp_path: Path) -> None:
    path = write(tmp_path, "x\u202e", "y\u200b")
    document = run("lint", "-t", path, "--select", "characters", "--json", "--sarif", "out.sarif").good().json
    assert document["schema"] == "tokbench.lint/1"
    assert [finding["rule"] for finding in document["findings"]] == ["bidi-in-token", "invisible-in-token"]
    assert document["counts"] == {"error": 0, "warning": 0, "note": 2}
    [sarif] = json.loads((tmp_path / "out.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in sarif["results"]] == [
        finding["rule"] for finding in document["findings"]
    ]


def test_rules_are_explained_and_listed(run: Callable[..., Done]) -> None:
    page = run("lint", "--explain", "bidi-in-token").good().lines
    assert [line.split()[0] for line in page] == ["bidi-in-token", "breaks", "found", "remedy"]
    names = [rule["name"] for rule in run("lint", "--list", "--json").good().json["rules"]]
    assert names == [line.split()[0] for line in run("lint", "--list").good().lines if line[:1].strip()]
    run("lint", "--explain", "bidi").refused(2, "there is no rule 'bidi'")


def test_unknown_rule_is_refused_before_any_work(run: Callable[..., Done]) -> None:
    run("lint", "-t", "nowhere", "--select", "bydi").refused(2, "there is no rule 'bydi'")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--list", "--explain", "pad-is-eos"], "--list and --explain cannot be combined"),
        (["--text", "a.txt", "--fix", "copy"], "--text and --fix cannot be combined"),
        (["--text", "a.txt", "--sarif", "a.sarif"], "--sarif cannot be used with --text"),
        (["--text", "a.txt", "b.txt"], "PATH cannot be used with --text"),
        (["--fix", "copy", "--reference", "other"], "--reference cannot be used with --fix"),
        (["--explain", "pad-is-eos", "--all"], "--all cannot be used with --explain"),
    ],
)
def test_contradictory_options_are_refused(
    run: Callable[..., Done], options: list[str], message: str
) -> None:
    run("lint", "-t", "nowhere", *options).refused(2, message)


def test_verdicts_have_a_witness_or_a_reason_for_each_token(run: Callable[..., Done], tmp_path: Path) -> None:
    path = write(tmp_path, "never")
    run("lint", "-t", path, "--select", "reachability", "--verdicts", "out.jsonl", "--json").good()
    verdicts = {
        entry["id"]: entry for entry in map(json.loads, (tmp_path / "out.jsonl").read_bytes().splitlines())
    }
    assert len(verdicts) == 258
    assert verdicts[256] == {"id": 256, "verdict": "reachable", "witness": "ab"}
    assert (verdicts[257]["verdict"], verdicts[257]["cause"]) == ("unreachable", "no-merge")
    run("lint", "-t", path, "--select", "bytes", "--verdicts", "out.jsonl").refused(
        2, "needs the rules of reachability"
    )


def specials(folder: Path) -> Path:
    document = byte_level(added_tokens=[huggingface.added("<|end|>", 256)])
    return put(folder / "tokenizer", {"tokenizer.json": document})


def test_text_is_checked_for_dangers(run: Callable[..., Done], tmp_path: Path) -> None:
    records = [{"text": "clean"}, {"text": "a\nb <|en\u200bd|>"}, {"text": "p\u0430y"}]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(record) + "\n" for record in records))
    done = run("lint", "--text", data, "-t", specials(tmp_path), "--json")
    assert done.code == 3
    assert done.json["schema"] == "tokbench.lint.text/1"
    assert (done.json["documents"], done.json["flagged"]) == (3, 2)
    first = done.json["findings"][0]
    assert (first["check"], first["document"]) == ("special-token-look-alike", 1)
    assert first["source"].endswith("data.jsonl:2")
    assert (first["places"][0]["line"], first["places"][0]["column"]) == (2, 3)
    shown = run("lint", "--text", data.name, "-t", specials(tmp_path))
    assert any("special-token-look-alike" in line and "line 2, column 3" in line for line in shown.lines)


def test_findings_in_a_text_fit_the_terminal_width(
    run: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a long name of a file.txt").write_text(
        "\n" * 800 + "p\u0430y a \u00e4 and another a\u0308\n"
    )
    done = run("lint", "--text", "a long name of a file.txt", "-t", specials(tmp_path))
    assert "mixed-normal-forms" in done.stdout
    assert max(map(len, done.lines)) <= 80


@pytest.mark.parametrize("option", ["--sarif", "--verdicts"])
def test_folder_in_place_of_an_output_file_is_refused_before_any_work(
    run: Callable[..., Done], tmp_path: Path, option: str
) -> None:
    run("lint", "-t", "nowhere", option, tmp_path).refused(
        2, "is a folder", f"{option} names the file to write"
    )


def test_fail_on_decides_the_exit_code_of_a_text(run: Callable[..., Done], tmp_path: Path) -> None:
    tokenizer = specials(tmp_path)
    clean, spaces = tmp_path / "clean.txt", tmp_path / "spaces.txt"
    clean.write_text("nothing here\n")
    spaces.write_text("a \n")
    assert (
        run("lint", "--text", clean, "-t", tokenizer, "--fail-on", "note")
        .good()
        .lines[-1]
        .endswith("0 notes")
    )
    assert run("lint", "--text", spaces, "-t", tokenizer).code == 0
    assert run("lint", "--text", spaces, "-t", tokenizer, "--fail-on", "note").code == 3
    run("lint", "--text", clean, clean, "-t", tokenizer).refused(2, "--text")


def test_ids_beyond_the_models_vocabulary_size_are_found(run: Callable[..., Done], tmp_path: Path) -> None:
    done = run("lint", "-t", specials(tmp_path), "--select", "id-beyond", "--model-vocab-size", 256)
    assert done.code == 3
    assert any("--model-vocab-size says 256 rows" in line for line in done.lines)


BESIDE = {
    "tokenizer_class": "BertTokenizer",
    "clean_up_tokenization_spaces": True,
    "eos_token": "<|im_end|>",
    "chat_template": "{{ messages[0].content }}<|im_end|>",
}


def contradictory(folder: Path) -> Path:
    added = [huggingface.added("<|im_end|>", 256), huggingface.added("<|eos|>", 257)]
    files = {
        "tokenizer.json": byte_level(added_tokens=added),
        "tokenizer_config.json": BESIDE,
        "generation_config.json": {"eos_token_id": 257},
        "tokenizer.pkl": b"",
    }
    return put(folder / "tokenizer", files)


def test_fix_repairs_a_copy(run: Callable[..., Done], tmp_path: Path) -> None:
    source, out = contradictory(tmp_path), tmp_path / "fixed"
    before = files_of(source)
    chosen = ("--select", "files,roles")
    document = run("lint", "-t", source, "--fix", out, *chosen, "--json").good().json
    assert files_of(source) == before
    repaired = ["turn-end-not-eos", "class-disagrees", "clean-up-spaces", "program-beside"]
    assert [repair["rule"] for repair in document["repairs"]] == repaired
    why = "what the model was trained with is not in the files"
    left = {"missing-role": why, "class-adds-token": why}
    assert {entry["rule"]: entry["why"] for entry in document["left"]} == left
    assert document["texts_compared"] > 10
    assert document["not_copied"] == ["tokenizer.pkl"]
    assert sorted(path.name for path in out.iterdir()) == sorted(set(before) - {"tokenizer.pkl"})
    assert json.loads((out / "tokenizer_config.json").read_text()) == {
        **BESIDE,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
    }
    assert json.loads((out / "generation_config.json").read_text()) == {"eos_token_id": [257, 256]}
    assert (out / "tokenizer.json").read_bytes() == before["tokenizer.json"]
    again = run("lint", "-t", out, *chosen, "--json").good().json["findings"]
    assert not {repair["rule"] for repair in again} & set(repaired)
    run("lint", "-t", source, "--fix", out).refused(2, "is there already")


def test_fix_without_a_certain_repair_writes_nothing(run: Callable[..., Done], tmp_path: Path) -> None:
    out = tmp_path / "fixed"
    done = run("lint", "-t", specials(tmp_path), "--fix", out, "--select", "files,roles").good()
    assert done.lines[-1].startswith("nothing written")
    assert not out.exists()


def test_unfixable_format_is_refused_before_linting(
    run: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lint_fix, "run_rules", lambda *_, **__: pytest.fail("the rules were run"))
    put(tmp_path, {"vocab.txt": "[UNK]\nlow\n"})
    out = tmp_path / "fixed"
    run("lint", "-t", tmp_path, "--fix", out).refused(
        2, "--fix repairs only a tokenizer that is opened from the tokenizer.json of a folder"
    )
    assert not out.exists()
