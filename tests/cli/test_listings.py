"""The commands that list what is available (corpus, list, backends, doctor), and the help of every command."""

from __future__ import annotations

import json
import re
import shutil
from types import SimpleNamespace

import pytest
from support.commands import COMMANDS

import tokbench
from tokbench.backends.bpe.split_patterns import PATTERN_NAMES
from tokbench.config import load_preset, preset_names
from tokbench.core.special_presets import SPECIAL_PRESETS
from tokbench.files.bundled import bundled_files
from tokbench.registry import backend_names
from tokbench.workbench import doctor

GROUP = ["group", "kind", "title", "files", "documents", "bytes", "characters", "lines", "licence"]


def rows(done):
    """Return the words of each row of a table, without its header."""
    lines = done.lines
    [rule] = [number for number, line in enumerate(lines) if set(line.strip()) == {"─"}]
    return [line.split() for line in lines[rule + 1 :] if line]


# --- corpus -----------------------------------------------------------------------------------


def test_bundled_text_is_listed_by_group(run):
    done = run("corpus").good()
    for file in bundled_files():
        [row] = [row for row in rows(done) if row[0] == file.group and row[-1] == file.licence]
        assert row[-4:-1] == [f"{file.bytes:,}", f"{file.characters:,}", f"{file.lines:,}"]
    assert [row for row in rows(done) if len(row) == 1] == [["parallel"], ["code"], ["edge"]]
    assert f"{sum(file.bytes for file in bundled_files()):,}" in rows(done)[-1]


def test_bundled_text_is_listed_as_json(run):
    data = run("corpus", "--json").good().json
    assert list(data) == ["schema", "place", "groups", "total"]
    assert data["schema"] == "tokbench.corpus/1"
    files = bundled_files()
    assert [group["group"] for group in data["groups"]] == [file.group for file in files]
    for group, file in zip(data["groups"], files, strict=True):
        assert list(group) == GROUP
        assert (group["kind"], group["title"], group["licence"]) == (file.kind, file.title, file.licence)
        text = file.path.read_bytes()
        assert (group["bytes"], group["characters"]) == (len(text), len(text.decode()))
        assert group["lines"] == len(text.decode().removesuffix("\n").split("\n"))
    assert data["total"] == {
        name: sum(group[name] for group in data["groups"])
        for name in ("files", "documents", "bytes", "characters", "lines")
    }


@pytest.mark.parametrize(
    ("way", "groups"),
    [
        ("auto", {"Latin": 2, "Cyrillic": 1}),
        ("script", {"Latin": 2, "Cyrillic": 1}),
        ("path", {"en": 2, "ru": 1}),
        ("extension", {"txt": 2, "md": 1}),
    ],
)
def test_own_text_is_listed_by_group(run, tmp_path, way, groups):
    for name, text in {"en/a.txt": "one\ntwo", "en/b.md": "three\n", "ru/c.txt": "четыре\n"}.items():
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_text(text, encoding="utf-8")
    data = run("corpus", "data", "--group-by", way, "--json").good().json
    assert {group["group"]: group["files"] for group in data["groups"]} == groups
    assert data["place"] == "data"
    assert data["total"] == {"files": 3, "documents": 3, "bytes": 26, "characters": 20, "lines": 4}
    assert "licence" not in run("corpus", "data").good().stdout


def test_each_file_is_counted_once(run, tmp_path):
    for name in ("10:00.txt", "10:30.txt"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n{"text": "два"}\n{"text": "two"}\n', encoding="utf-8")
    data = run("corpus", ".", "--json").good().json
    assert {group["group"]: group["files"] for group in data["groups"]} == {"Latin": 3, "Cyrillic": 1}
    assert data["total"]["files"] == 3


def test_records_are_listed_by_group(run, tmp_path):
    records = [{"body": "one", "lang": "en"}, {"body": "zwei", "lang": "de"}, {"body": "two", "lang": "en"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    options = ["--group-by", "field:lang", "--text-field", "body"]
    groups = run("corpus", "a.jsonl", *options, "--json").good().json["groups"]
    assert [(group["group"], group["documents"], group["bytes"]) for group in groups] == [
        ("en", 2, 6),
        ("de", 1, 4),
    ]
    run("corpus", "a.jsonl", "--group-by", "language").refused(2, "way of grouping 'language'", "field:NAME")


def test_stdin_is_listed(run):
    data = run("corpus", "-", "--json", stdin=b"hello\n").good().json
    assert data["total"]["bytes"] == 6


# --- list -------------------------------------------------------------------------------------


def test_saved_and_built_in_tokenizers_are_listed(run, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "tokenizers" / "mine")
    shutil.copytree(trained, tmp_path / "tokenizers" / "broken")
    (tmp_path / "tokenizers" / "broken" / "tokbench.json").write_text("{", encoding="utf-8")
    (tmp_path / "tokenizers" / "no tokenizer").mkdir()
    run("encode", "so that the default is there").good()
    data = run("list", "--json").good().json
    assert list(data) == ["schema", "tokenizers"]
    assert data["schema"] == "tokbench.list/1"
    broken, mine, default = data["tokenizers"]
    for entry in data["tokenizers"]:
        assert list(entry) == ["name", "place", "backend", "vocab_size", "bytes", "note", "error"]
    assert (broken["name"], broken["backend"], broken["vocab_size"]) == ("broken", None, None)
    assert "expected JSON" in broken["error"]
    assert (mine["name"], mine["backend"], mine["vocab_size"]) == ("mine", "bpe", 1024)
    assert mine["place"] == "tokenizers/mine"
    assert mine["bytes"] == sum(path.stat().st_size for path in trained.iterdir())
    assert mine["error"] is None
    assert (default["name"], default["vocab_size"]) == ("default", 8192)
    by_name = {row[0]: row for row in rows(run("list").good())}
    assert by_name["broken"][1:5] == ["?", "–", *by_name["broken"][3:5]]
    assert "damaged:" in by_name["broken"]
    assert by_name["mine"][1:3] == ["bpe", "1,024"]


def test_saved_tokenizer_named_default_replaces_the_built_in_one(run, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "tokenizers" / "default")
    [only] = run("list", "--json").good().json["tokenizers"]
    assert (only["place"], only["vocab_size"]) == ("tokenizers/default", 1024)
    run("encode", "-t", "mine", "a").refused(1, "available: default; a path")


def test_every_listed_name_can_be_opened(run, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "tokenizers" / "mine")
    for entry in run("list", "--json").good().json["tokenizers"]:
        assert run("encode", "-t", entry["name"], "text").good().out


def test_built_in_tokenizer_is_not_trained_by_listing(process, tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    [entry] = process("list", "--json", env=env).good().json["tokenizers"]
    assert (entry["name"], entry["place"], entry["vocab_size"]) == ("default", "built in", None)
    assert not (tmp_path / "cache").exists()
    process("encode", "text", env=env).good()
    [entry] = process("list", "--json", env=env).good().json["tokenizers"]
    assert (entry["vocab_size"], entry["error"]) == (8192, None)


def test_damaged_built_in_tokenizer_is_rebuilt(process, tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    ids = process("encode", "some text", env=env).good().out
    [ranks] = (tmp_path / "cache").rglob("merges.npy")
    ranks.write_bytes(ranks.read_bytes()[:100])
    assert process("encode", "some text", env=env).good().out == ids
    assert len(ranks.read_bytes()) > 100


def test_unwritable_cache_is_ignored(process, tmp_path):
    (tmp_path / "file").touch()
    assert process("encode", "text", env={"XDG_CACHE_HOME": str(tmp_path / "file")}).good().out


# --- backends ---------------------------------------------------------------------------------


def test_backends_and_presets_are_listed(run):
    assert "(default )" not in run("backends").good().stdout
    data = run("backends", "--json").good().json
    assert list(data) == ["schema", "backends", "presets", "special_presets"]
    assert data["schema"] == "tokbench.backends/1"
    assert [backend["name"] for backend in data["backends"]] == backend_names()
    assert [preset["name"] for preset in data["presets"]] == preset_names()
    bpe = data["backends"][0]
    assert [list(bpe), *map(list, bpe["options"])] == [
        ["name", "summary", "kernel", "options"],
        *[["name", "default", "help"]] * len(bpe["options"]),
    ]
    defaults = {option["name"]: option["default"] for option in bpe["options"]}
    assert defaults["pattern"] == "gpt4"
    assert all(option["help"] for backend in data["backends"] for option in backend["options"])
    for preset in data["presets"]:
        assert list(preset) == ["name", "backend", "description", "options"]
    for preset in data["special_presets"]:
        assert list(preset) == ["name", "description", "source", "special_tokens", "roles"]
    shown = " ".join(" ".join(run("backends").good().lines).split())
    for name in (*backend_names(), *preset_names(), *SPECIAL_PRESETS, *defaults, *PATTERN_NAMES):
        assert name in shown


@pytest.mark.parametrize("name", [name for name in preset_names() if load_preset(name).backend == "bpe"])
def test_every_bpe_preset_trains(run, name):
    done = run("train", "--preset", name, "--vocab-size", "400", "--name", "small", "--json").good()
    assert done.json["vocab_size"] == 400


# --- doctor -----------------------------------------------------------------------------------


def test_doctor_passes(run):
    done = run("doctor").good()
    assert done.lines[-1] == "everything works"
    assert not [line for line in done.lines if line.startswith("✗")]
    data = run("doctor", "--json").good().json
    assert list(data) == ["schema", "passed", "checks"]
    assert (data["schema"], data["passed"]) == ("tokbench.doctor/1", True)
    assert all(list(check) == ["subject", "found", "passed", "hint"] for check in data["checks"])
    results = {check["subject"].strip(): check["found"] for check in data["checks"]}
    assert results["tokbench"].startswith(tokbench.__version__)
    assert results["kernel"] in ("native", "python")
    assert results["split patterns"] == f"{len(PATTERN_NAMES)} as defined"
    assert results["training"] == "as the textbook"
    assert results["presets"] == ", ".join(preset_names())


def test_doctor_reports_a_failed_check(process):
    env = {"TOKBENCH_KERNEL": "rusty"}
    done = process("doctor", env=env)
    assert done.code == 3
    assert done.lines[-1] == "some checks failed"
    assert "✗ backend bpe" in " ".join(done.stdout.split())
    assert "it must be auto, native or python" in done.stdout
    data = process("doctor", "--json", env=env)
    assert (data.code, data.json["passed"]) == (3, False)


def test_doctor_reports_a_cache_that_cannot_be_written(process, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    done = process("doctor", "--json", env={"XDG_CACHE_HOME": str(tmp_path / "file")}).good()
    [check] = [check for check in done.json["checks"] if check["subject"] == "default tokenizer"]
    assert check["found"].startswith("trained at every use: ")
    assert "XDG_CACHE_HOME" in check["hint"]


def test_doctor_reports_the_running_kernel(process):
    done = process("doctor", "--json", env={"TOKBENCH_KERNEL": "python"}).good()
    checks = {check["subject"].strip(): check for check in done.json["checks"]}
    assert checks["kernel"]["found"] == "python"
    assert b"running the slow Python kernel (TOKBENCH_KERNEL=python)" in done.err


@pytest.mark.parametrize(
    "version, found, hint",
    [
        ((3, 13), "not installed", "optional: pip install 'tokbench[zstd]'"),
        ((3, 14), "not needed: Python itself reads such files", None),
    ],
)
def test_doctor_suggests_zstandard_if_python_lacks_it(run, monkeypatch, version, found, hint):
    find = doctor.find_spec
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == "zstandard" else find(name))
    monkeypatch.setattr(doctor, "sys", SimpleNamespace(version_info=version))
    checks = {check["subject"].strip(): check for check in run("doctor", "--json").json["checks"]}
    assert (checks["zstandard"]["found"], checks["zstandard"]["hint"]) == (found, hint)


# --- help -------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_every_command_has_help(run, command, flag, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    done = run(*(command or "").split(), flag).good()
    assert "Usage:" in done.lines[0]
    assert done.stderr == ""
    assert max(map(len, done.lines)) <= 80
    if command is None:
        assert all(
            re.search(rf"^  {name}  +\w", done.stdout, re.MULTILINE) for name in COMMANDS if " " not in name
        )
    else:
        assert f"  tokbench {command}" in done.stdout


def test_help_is_shown_without_a_command(run):
    done = run()
    assert "Usage:" in done.stdout + done.stderr
    assert "train" in done.stdout + done.stderr


def test_version_is_printed(run):
    assert run("--version").good().stdout == f"tokbench {tokbench.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["trian"], ["trian", "train"]),
        (["train", "--vocabsize", "300"], ["--vocabsize", "--vocab-size"]),
        (["viz", "--layuot", "stacked", "x"], ["--layuot", "--layout"]),
        (["train", "--backend", "bpee"], ["no backend 'bpee'", "did you mean 'bpe'?"]),
        (["train", "--backend", "x"], ["no backend 'x'", "the backends are bpe"]),
        (["train", "--preset", "gpt44"], ["no preset 'gpt44'", "did you mean 'gpt4'?"]),
        (["train", "--preset", "?"], ["no preset '?'", "the presets are"]),
        (["train", "--vocab-size", "many"], ["--vocab-size"]),
        (["train", "--errors", "ignore"], ["--errors", "strict"]),
        (["encode", "x", "--special-policy", "yes"], ["--special-policy", "encode"]),
        (["viz", "x", "--color", "blue"], ["--color", "always"]),
        (["count", "x", "--progress", "dots"], ["--progress", "json"]),
        (["viz"], ["TEXT"]),
        (["decode"], ["IDS"]),
    ],
)
def test_usage_error_suggests_the_right_spelling(run, arguments, parts):
    run(*arguments).refused(2, *parts)


def test_misspelled_option_in_a_preset_suggests_the_right_one(run, tmp_path):
    (tmp_path / "a.toml").write_text('backend = "bpe"\n[options]\nvocab_sise = 300\n', encoding="utf-8")
    run("train", "--preset", "a.toml").refused(2, "no option 'vocab_sise'", "did you mean 'vocab_size'?")
    (tmp_path / "b.toml").write_text('backend = "bpe"\n[options]\nvocab_size = "300"\n', encoding="utf-8")
    run("train", "--preset", "b.toml").refused(2, "vocab_size is '300', where a whole number")
    (tmp_path / "c.toml").write_text("backend = [", encoding="utf-8")
    run("train", "--preset", "c.toml").refused(2, "c.toml cannot be read")
    (tmp_path / "d.toml").write_text("[options]\n", encoding="utf-8")
    run("train", "--preset", "d.toml").refused(2, 'd.toml needs backend = "…"')
