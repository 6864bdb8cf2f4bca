"""`tokbench train`: every source and option, the summary, the summary as JSON, and where the tokenizer is saved."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import shlex
from pathlib import Path

import pytest
from support.folders import files_of
from support.texts import LOW_LOWER

import tokbench
from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern, split
from tokbench.files.bundled import bundled_files

KEYS = [
    *["schema", "name", "backend", "vocab_size", "kernel", "directory", "unchanged", "left_out"],
    *["special_tokens", "requested_vocab_size", "merges", "stopped_early", "notes", "documents", "bytes"],
    *["pretokens", "distinct_pretokens", "tokens", "bytes_per_token", "fingerprint", "threads", "seconds"],
    *["megabytes_per_second", "first_learned", "last_learned"],
]


def merges_of(folder):
    return [tuple(merge[:2]) for merge in tokbench.load(folder).merges]


# --- what it prints ---------------------------------------------------------------------------


def test_default_text_is_the_bundled_one(process, tmp_path):
    done = process("train").good()
    assert done.stderr == ""
    rows = dict(re.split(r"  +", line, maxsplit=1) for line in done.lines[:8])
    names = ["vocabulary", "text", "pre-tokens", "compression", "time", "first", "last", "saved in"]
    assert list(rows) == names
    size = sum(file.bytes for file in bundled_files() if file.kind != "edge")
    assert rows["vocabulary"] == "4,096 tokens (chosen to fit the text): 3,840 merges"
    assert rows["text"] == f"{size:,} bytes in 41 documents"
    assert re.fullmatch(r"[\d,]+, [\d,]+ distinct", rows["pre-tokens"])
    assert re.fullmatch(r"\d\.\d{3} bytes per token on this text", rows["compression"])
    assert re.match(r"\d+\.\d\d s \(counting .*, merging .*, saving .*\), [\d.,]+ MB/s, ", rows["time"])
    assert "·the" not in rows["first"]
    assert rows["saved in"] == "tokenizers/bpe-4096"
    assert (tmp_path / "tokenizers" / "bpe-4096" / "tokbench.json").is_file()


def test_suggested_next_command_works(process, text):
    done = process("train", text, "--out", "a folder/it's").good()
    [line] = [line for line in done.lines if line.startswith("try: ")]
    tokbench_, *arguments = shlex.split(line.removeprefix("try: "))
    assert tokbench_ == "tokbench"
    assert "it's" in process(*arguments).good().stdout


def test_json_has_every_field(train, tmp_path):
    data = train()
    assert list(data) == KEYS
    assert data["schema"] == "tokbench.train/1"
    assert data["directory"] == f"tokenizers/bpe-{data['vocab_size']}"
    assert (data["documents"], data["bytes"]) == (1, len(LOW_LOWER))
    assert data["requested_vocab_size"] is None
    assert data["merges"] == data["vocab_size"] - 256
    assert set(data["seconds"]) == {"counting", "merging", "saving", "total"}
    assert data["seconds"]["total"] == pytest.approx(sum(data["seconds"].values()) / 2)
    pretokens = split(resolve_pattern("gpt4"), LOW_LOWER)
    assert (data["pretokens"], data["distinct_pretokens"]) == (len(pretokens), len(set(pretokens)))
    tokenizer = tokbench.load(tmp_path / data["directory"])
    assert data["tokens"] == len(tokenizer.encode(LOW_LOWER))
    assert data["bytes_per_token"] == len(LOW_LOWER) / data["tokens"]
    learned = [tokenizer.token_bytes(256 + i).hex() for i in range(data["merges"])]
    shown = [piece["bytes"] for piece in data["first_learned"] + data["last_learned"]]
    assert shown == learned[:12] + learned[12:][-12:]


def test_small_text_stops_early_with_a_reason(run, train, text):
    data = train(text, "--vocab-size", "5000")
    assert data["requested_vocab_size"] == 5000
    assert data["vocab_size"] == 256 + data["merges"] < 5000
    assert data["directory"] == f"tokenizers/bpe-{data['vocab_size']}"
    assert f"{data['merges']:,} of 4,744 merges were learned" in data["stopped_early"]
    told = run("train", text, "--vocab-size", "5000", "--name", "again").good()
    assert f"stopped early: {data['stopped_early']}" in " ".join(told.lines)


# --- what it reads ----------------------------------------------------------------------------


def test_source_of_the_text_does_not_change_the_tokenizer(train, tmp_path):
    data = LOW_LOWER.encode()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "text.txt").write_bytes(data)
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(data))
    (tmp_path / "text.txt.bz2").write_bytes(bz2.compress(data))
    (tmp_path / "text.txt.xz").write_bytes(lzma.compress(data))
    (tmp_path / "text.jsonl").write_text(json.dumps({"text": LOW_LOWER}), encoding="utf-8")
    (tmp_path / "other.ndjson").write_text(json.dumps({"body": LOW_LOWER}), encoding="utf-8")
    expected = train("text.txt", "--name", "expected")
    sources = [
        ["folder"],
        ["folder/*.txt"],
        ["fol*/**"],
        [str(tmp_path / "fold?r" / "[st]ext.txt")],
        ["-"],
        ["text.txt.gz"],
        ["text.txt.bz2"],
        ["text.txt.xz"],
        ["text.jsonl"],
        ["other.ndjson", "--text-field", "body"],
        ["text.txt", "folder/../text.txt", str(tmp_path / "text.txt")],  # a file is read only once
    ]
    for number, source in enumerate(sources):
        tokenizer = train(*source, "--name", f"n{number}", stdin=data)
        assert merges_of(tokenizer["directory"]) == merges_of(expected["directory"]), source
        assert (tokenizer["documents"], tokenizer["bytes"]) == (1, len(data)), source
        if source != ["-"]:
            assert tokenizer["fingerprint"] == expected["fingerprint"], source


def test_files_folders_patterns_and_stdin_are_combined(train, tmp_path):
    for name in ("a.txt", "b.md", "sub/c.py", "sub/deep/d.py", "sub/.hidden.py", "more/e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"text of {name}\n", encoding="utf-8")
    data = train("a.txt", "more", "sub/**/*.py", "-", stdin=b"and this")
    assert data["documents"] == 5
    sizes = [len(f"text of {name}\n") for name in ("a.txt", "more/e.txt", "sub/c.py", "sub/deep/d.py")]
    assert data["bytes"] == sum(sizes) + len("and this")


@pytest.mark.parametrize(("unit", "documents"), [("file", 1), ("lines", 4), ("paragraphs", 2)])
def test_documents_of_a_text_file_are_counted_by_unit(train, tmp_path, unit, documents):
    (tmp_path / "poem.txt").write_text("one\ntwo\n\nthree\r\nfour\n", encoding="utf-8")
    assert train("poem.txt", "--documents", unit)["documents"] == documents


@pytest.mark.parametrize(
    ("policy", "note"),
    [
        ("replace", "2 bytes that are not UTF-8 were replaced by U+FFFD"),
        ("skip", "1 document that is not UTF-8 was left out"),
    ],
)
def test_errors_option_decides_about_invalid_utf8(run, tmp_path, text, policy, note):
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9 na\xefve")
    done = run("train", "bad.txt", text, "--errors", policy, "--json").good()
    assert done.stderr == f"note: {note}\n"
    assert done.json["documents"] == {"replace": 2, "skip": 1}[policy]


def test_binary_files_in_a_folder_are_skipped_and_reported(run, tmp_path, text):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text(LOW_LOWER, encoding="utf-8")
    (tmp_path / "folder" / "program").write_bytes(b"\x7fELF\0\0\xff")
    done = run("train", "folder", "--json").good()
    assert done.json["documents"] == 1
    assert done.stderr == "note: left out of the folders: 1 binary\n"


# --- its options ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PATTERN_NAMES)
def test_every_named_pattern_can_be_trained(train, text, tmp_path, name):
    data = train(text, "--pattern", name)
    manifest = json.loads((tmp_path / data["directory"] / "tokbench.json").read_bytes())
    assert manifest["config"]["pattern"] == name
    assert manifest["config"]["pattern_regex"] == resolve_pattern(name).regex
    pretokens = split(resolve_pattern(name), LOW_LOWER)
    assert (data["pretokens"], data["distinct_pretokens"]) == (len(pretokens), len(set(pretokens)))


def test_regular_expression_is_a_valid_pattern(train, run, text):
    data = train(text, "--pattern", r"\w+|\W+", "--name", "words")
    assert data["pretokens"] == len(re.findall(r"\w+|\W+", LOW_LOWER))
    pieces = run("encode", "-t", "words", "--json", "--text", "lowest wider").good().json["tokens"]
    assert "".join(pieces) == "lowest wider"
    assert not any(" " in piece.strip(" ") for piece in pieces)


def test_special_tokens_count_towards_the_size_and_come_last(train, text, run):
    data = train(
        text, "--vocab-size", "270", "--special-token", "<|b|>", "--special-token", "<|a|>", "--name", "s"
    )
    assert data["special_tokens"] == {"<|b|>": 268, "<|a|>": 269}
    assert (data["vocab_size"], data["merges"]) == (270, 12)
    ids = run("encode", "-t", "s", "--special-policy", "encode", "<|a|><|b|>").good().stdout
    assert ids == "269 268\n"


def test_special_tokens_in_the_text_are_not_trained_on(train, tmp_path):
    (tmp_path / "marked.txt").write_text("ab<|stop|>ab<|stop|>" * 20, encoding="utf-8")
    learned = train("marked.txt", "--special-token", "<|stop|>", "--name", "with")["first_learned"]
    assert [piece["piece"] for piece in learned] == ["ab"]
    learned = train("marked.txt", "--name", "without")["first_learned"]
    assert "stop" in {piece["piece"] for piece in learned}


def test_min_frequency_stops_the_training(train, text):
    sizes = [
        train(text, "--min-frequency", n, "--name", f"m{n}")["merges"] for n in ("1", "2", "4", "9", "99")
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 0
    assert sizes[1] > sizes[3] > 0


@pytest.mark.parametrize("length", [1, 2, 5])
def test_max_token_length_limits_every_token(train, text, length):
    data = train(text, "--max-token-length", str(length), "--name", "short")
    tokenizer = tokbench.load(data["directory"])
    lengths = [len(tokenizer.token_bytes(id)) for id in range(data["vocab_size"])]
    assert max(lengths) == length
    assert f"and makes a token of at most {length} byte" in data["stopped_early"]
    assert ("byte:" in data["stopped_early"]) == (length == 1)


def test_options_override_a_preset(train):
    assert train("--preset", "tiny")["requested_vocab_size"] == 512
    data = train("--preset", "tiny", "--vocab-size", "300", "--pattern", "gpt2", "--name", "t2")
    assert data["vocab_size"] == 300
    assert tokbench.load(data["directory"]).pattern.name == "gpt2"


def test_preset_file_is_read(train, text, tmp_path):
    (tmp_path / "mine.toml").write_text(
        'backend = "bpe"\n[options]\nvocab_size = 270\nspecial_tokens = ["<|x|>"]\n', encoding="utf-8"
    )
    data = train(text, "--preset", "mine.toml")
    assert (data["vocab_size"], data["special_tokens"]) == (270, {"<|x|>": 269})


@pytest.mark.parametrize("specials", [0, 1, 3])
def test_too_small_size_is_refused_with_the_smallest_one(run, train, text, specials, tmp_path):
    options = [word for number in range(specials) for word in ("--special-token", f"<|{number}|>")]
    smallest = 256 + specials
    refused = run("train", text, *options, "--vocab-size", str(smallest - 1))
    refused.refused(2, "too small", f"the smallest that works is {smallest}")
    assert not (tmp_path / "tokenizers").exists()
    data = train(text, *options, "--vocab-size", str(smallest))
    assert (data["vocab_size"], data["merges"]) == (smallest, 0)


def test_number_of_threads_is_reported(train, text):
    assert train(text, "--threads", "2")["threads"] == 2


def test_repeated_training_gives_the_same_bytes(train, text):
    one = files_of(Path(train(text, "--name", "same", "--seed", "3")["directory"]))
    other = files_of(Path(train(text, "--name", "same", "--seed", "3", "--force")["directory"]))
    assert one == other


@pytest.mark.parametrize(
    ("option", "own", "said"),
    [
        (
            "vocab_size=400",
            ("--vocab-size", "500"),
            "--option vocab_size=… and --vocab-size both set vocab_size",
        ),
        (
            "special_tokens=<a>",
            ("--special-token", "<b>"),
            "--option special_tokens=… and --special-token both set special_tokens",
        ),
    ],
)
def test_option_that_is_given_in_two_ways_is_refused(run, option, own, said):
    run("train", "--option", option, *own).refused(2, said, "give one of them")


# --- superwords -------------------------------------------------------------------------------


def test_superwords_begin_at_the_given_size(run, tmp_path):
    (tmp_path / "text.txt").write_text("by the way, it was by the way\n" * 20)
    arguments = ["train", "text.txt", "--vocab-size", "290", "--superwords", "262", "--out", "out"]
    run(*arguments).good()
    run("train", "text.txt", "--vocab-size", "290", "--out", "words").good()
    assert merges_of(tmp_path / "out")[:6] == merges_of(tmp_path / "words")[:6]
    tokenizer = tokbench.load(tmp_path / "out")
    assert any(b"by the way" in tokenizer.token_bytes(id) for id in tokenizer.encode("it was by the way"))
    config = json.loads((tmp_path / "out" / "tokbench.json").read_text())["config"]
    assert (config["pattern"], config["superwords"], config["words_pattern"]) == ("superwords", 262, "gpt4")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--superwords", "300"], ["--vocab-size"]),
        (["--superwords", "1k", "--vocab-size", "500"], ["superwords is 1000", "256 to 500"]),
        (["--superwords", "300", "--vocab-size", "500", "--trace"], ["superwords and trace"]),
        (["--superwords", "300", "--vocab-size", "500", "--backend", "unigram"], ["superwords"]),
    ],
)
def test_invalid_superword_options_are_refused(run, arguments, parts):
    run("train", *arguments).refused(2, *parts)


def test_superwords_with_a_memory_limit_are_refused(run, native, monkeypatch):
    monkeypatch.setenv("TOKBENCH_KERNEL", native.name)
    run("train", "--superwords", "300", "--vocab-size", "500", "--memory", "1GB").refused(2, "whole texts")
