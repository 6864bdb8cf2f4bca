"""`shards write`, `shards read`, `shards verify`, and `decode -`, which writes while it reads."""

from __future__ import annotations

import gzip
import json
import os
import select
import signal
import time

import numpy as np
import pytest
from support.folders import files_of

import tokbench

EOS = "<|endoftext|>"
LINES = ["first line", "zweite Zeile: wörld", "三", "the <|endoftext|> of it", "last"]


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text("\n".join(LINES[:2]) + "\n", encoding="utf-8")
    records = "".join(json.dumps({"body": line}) + "\n" for line in LINES[2:])
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(records.encode()))
    return folder


@pytest.fixture
def write(run, trained, corpus):
    """Return a function that writes shards of the corpus with its lines as documents."""

    def write(*options, paths=("corpus",), out="shards"):
        common = ["-t", trained, "--documents", "lines", "--text-field", "body"]
        return run("shards", "write", *paths, *common, "--out", out, *options)

    return write


def ids_of(folder):
    return [ids.tolist() for ids in tokbench.open_shards(folder)]


# --- shards write -----------------------------------------------------------------------------


def test_files_are_written_as_shards(write, run, trained, special_ids, tmp_path):
    done = write("--append-eos").good()
    assert done.lines[0] == f"documents   5, {sum(len(line.encode()) for line in LINES)} bytes"
    assert f"{EOS} after each document" in done.lines[1]
    assert done.lines[2] == "shards      1 of uint16, .npy"
    assert done.lines[-1] == "written to  shards"
    tokenizer = tokbench.load(trained)
    wanted = [[*tokenizer.encode(line), special_ids[EOS]] for line in LINES]
    assert ids_of(tmp_path / "shards") == wanted
    array = np.load(tmp_path / "shards" / "shard-00000.npy", mmap_mode="r")
    assert array.tolist() == [id for ids in wanted for id in ids]


def test_json_describes_the_written_shards(write, special_ids):
    document = write("--append-eos", "--eos", "<|pad|>", "--json", "--shard-tokens", "30").good().json
    assert document["schema"] == "tokbench.shards-write/1"
    assert (document["format"], document["dtype"], document["documents"]) == ("npy", "uint16", 5)
    assert document["eos"] == {"text": "<|pad|>", "id": special_ids["<|pad|>"]}
    assert document["shards"] > 1
    assert document["seconds"] > 0


def test_every_option_has_an_effect(write, run, trained, special_ids, tmp_path):
    write("--format", "bin", "--dtype", "uint32", "--threads", "1").good()
    tokens = tokbench.open_shards(tmp_path / "shards").tokens
    assert (tmp_path / "shards" / "shard-00000.bin").stat().st_size == 4 * tokens
    write("--special-policy", "encode", "--force").good()
    assert special_ids[EOS] in ids_of(tmp_path / "shards")[3]
    write("--special-policy", "raise", "--force").refused(1, EOS, "--special-policy text")
    run("shards", "write", "corpus/a.txt", "-t", trained, "--out", "whole").good()
    assert len(ids_of(tmp_path / "whole")) == 1
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9")
    run("shards", "write", "bad.txt", "-t", trained, "--out", "bad").refused(1, "not UTF-8")
    assert not (tmp_path / "bad").exists()
    done = run("shards", "write", "bad.txt", "-t", trained, "--out", "bad", "--errors", "replace").good()
    assert done.stderr == "note: 1 byte that is not UTF-8 was replaced by U+FFFD\n"
    done = run("shards", "write", "bad.txt", "-t", trained, "--out", "bad", "--errors", "skip", "--resume")
    done.refused(1, "--errors was replace, and is skip")
    progress = write("--force", "--progress", "json").good()
    assert {json.loads(line)["phase"] for line in progress.stderr.splitlines()} == {"reading", "encoding"}


def test_standard_input_is_written_as_shards(run, trained, tmp_path):
    run(
        "shards", "write", "-", "-t", trained, "--out", "shards", "--documents", "lines", stdin=b"a b\n\nc\n"
    ).good()
    assert run("shards", "read", "shards", "-t", trained).good().stdout == "a b\nc\n"


def test_unknown_eos_token_is_refused(write, tmp_path):
    write("--append-eos", "--eos", "</s>").refused(2, "no special token '</s>'", EOS)
    write("--eos", EOS).refused(2, "--eos needs --append-eos")
    write("--append-eos", "--eos", "").refused(2, "--eos is empty")
    assert not (tmp_path / "shards").exists()


def test_contradictory_options_and_missing_files_are_refused(write, run, corpus, tmp_path):
    write(paths=["missing.txt"]).refused(1, "missing.txt does not exist")
    write("--shard-tokens", "0").refused(2, "'0' is not a number of tokens")
    write("--resume", "--force").refused(2, "--resume or --force")
    (tmp_path / "file").touch()
    write(out="file").refused(1, "file is a file")


def test_existing_shards_are_kept_without_force(write, tmp_path):
    write().good()
    write().refused(1, "shards exists", "--force")
    write("--resume").good()
    write("--resume", "--append-eos").refused(1, "cannot be resumed", "documents ended with nothing")
    write("--force", "--append-eos").good()
    (tmp_path / "shards" / "notes.md").touch()
    write("--force").refused(1, "notes.md", "another folder")


@pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")
def test_ctrl_c_suggests_resume(start, run, trained, tmp_path):
    lines = "\n".join(f"{number} and some words {number * 7}" for number in range(300_000))
    (tmp_path / "lines.txt").write_text(lines, encoding="utf-8")
    options = ["--documents", "lines", "--shard-tokens", "500000"]
    arguments = ["shards", "write", "lines.txt", "-t", trained, *options]
    with start(*arguments, "--out", "shards", "--progress", "json", folder=tmp_path) as running:
        for line in running.stderr:
            if b'"encoding"' in line:
                break
        while not (tmp_path / "shards" / "shard-00000.npy").exists():
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)
    assert (running.returncode, out) == (130, b""), err
    assert err.decode().endswith(
        "error: interrupted\nhint:  --resume continues after the last finished shard\n"
    )
    run("shards", "verify", "shards").refused(1, "no finished shards", "--resume")
    run(*arguments, "--out", "shards", "--resume").good()
    run(*arguments, "--out", "whole").good()
    assert files_of(tmp_path / "shards") == files_of(tmp_path / "whole")


# --- shards write --engine --------------------------------------------------------------------


@pytest.mark.slow
def test_shards_in_parts_have_the_ids_of_a_single_run(write, run, trained, tmp_path):
    write("--append-eos").good()
    done = write(
        "--append-eos", "--engine", "local", "--workers", "2", "--part-bytes", "40", out="parts"
    ).good()
    assert done.lines[2] == "shards      2 of uint16, .npy"
    assert ids_of(tmp_path / "parts") == ids_of(tmp_path / "shards")
    assert run("shards", "verify", "parts", "corpus", "-t", trained).good().lines[0].startswith("parts: good")
    texts = [run("shards", "read", folder, "-t", trained).good().stdout for folder in ("parts", "shards")]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "2"], "--workers is for work in parts"),
        (["--scheduler", "tcp://here:1"], "--scheduler is for work in parts"),
        (["--engine", "local", "--threads", "2"], "--threads cannot be used with --engine local"),
        (["--engine", "local", "--scheduler", "tcp://here:1"], "--scheduler names a cluster"),
        (["--engine", "dask", "--scheduler", "tcp://here:1", "--workers", "1"], "--workers are started here"),
        (["--engine", "local", "--engine", "ray"], "--engine local and ray are both for the work"),
        (["--engine", "native", "--engine", "auto"], "--engine native and auto are both for the tokenizer"),
        (["--engine", "dusk"], "'dusk' is not one of"),
        (["--engine", "local", "--part-bytes", "x"], "--part-bytes 'x' is not a size"),
    ],
)
def test_invalid_options_of_parts_are_refused(write, options, message):
    done = write(*options)
    assert done.code == 2
    assert message in done.stderr


def test_engine_option_chooses_tokenizer_engine_and_work_engine(write, tmp_path):
    refused = write("--engine", "local", "--engine", "library", "--workers", "1")
    assert refused.code == 2
    assert "--engine library cannot run this tokenizer" in refused.stderr
    write("--engine", "native").good()
    assert (tmp_path / "shards" / "shard-00000.npy").exists()


def test_remote_output_requires_an_engine_for_parts(write):
    done = write(out="s3://bucket/shards")
    assert done.code == 2
    assert "--out s3://bucket/shards is written in parts" in done.stderr
    assert "--engine local" in done.stderr


def test_standard_input_in_parts_is_refused(write):
    done = write("--engine", "local", paths=("-",))
    assert done.code == 1
    assert "<stdin> can be read only once, and not in parts" in done.stderr


# --- shards read -----------------------------------------------------------------------------------


def test_documents_are_read_back(write, run, trained):
    write("--append-eos", "--shard-tokens", "30").good()
    assert run("shards", "read", "shards", "-t", trained).good().lines == LINES
    documents = run("shards", "read", "shards", "-t", trained, "--json").good().documents
    assert documents == [{"text": line} for line in LINES]
    assert run("shards", "read", "shards", "-t", trained, "--document", "1").good().lines == LINES[1:2]
    assert run("shards", "read", "shards", "-t", trained, "--document", "3:99").good().lines == LINES[3:]
    for wrong in ("5", "2:2", "-1", "x", "1:"):
        run("shards", "read", "shards", "-t", trained, f"--document={wrong}").refused(2, "--document")
    backwards = run("shards", "read", "shards", "-t", trained, "--document", "3:1")
    backwards.refused(2, "--document 3:1 names no document", "10:20 is 10 to 19")


def test_json_of_read_encodes_to_the_same_ids(write, run, trained, tmp_path):
    write().good()
    (tmp_path / "again.jsonl").write_bytes(
        run("shards", "read", "shards", "-t", trained, "--json").good().out
    )
    run("shards", "write", "again.jsonl", "-t", trained, "--out", "again").good()
    assert ids_of(tmp_path / "again") == ids_of(tmp_path / "shards")


def test_different_tokenizer_is_refused(write, run):
    write().good()
    run("shards", "read", "shards").refused(2, "made by 'mine' (1,024 tokens)", "-t")


def test_folders_without_shards_are_refused(write, run, tmp_path, trained):
    write().good()
    run("shards", "read", "corpus", "-t", trained).refused(1, "no finished shards", "shards write PATH --out")
    (tmp_path / "shards" / "index.json").write_bytes(b"{}")
    run("shards", "read", "shards", "-t", trained).refused(1, "index.json", "tokbench.shards/1")


@pytest.mark.skipif(os.name == "nt", reason="waits for a pipe")
def test_ids_are_decoded_as_their_lines_arrive(start, trained, tmp_path):
    text = "aé三"
    ids = [tokbench.load(trained).token_id(bytes([byte])) for byte in text.encode()]
    with start("decode", "-", "-t", trained, folder=tmp_path) as running:
        given = shown = b""
        for id, byte in zip(ids, text.encode(), strict=True):
            running.stdin.write(f"{id}\n".encode())
            running.stdin.flush()
            given += bytes([byte])
            if given.decode(errors="ignore") != shown.decode():  # a character is complete
                assert select.select([running.stdout], [], [], 60)[0]
                shown += os.read(running.stdout.fileno(), 99)
        assert shown.decode() == text
        running.stdin.close()
        assert running.stdout.read() == b""
    assert running.returncode == 0


def test_json_from_stdin_is_decoded_whatever_its_lines(run, trained):
    ids = tokbench.load(trained).encode("some text")
    for given in (
        json.dumps({"ids": ids}),
        json.dumps({"ids": ids}, indent=2),
        "\n".join(json.dumps({"ids": [id]}) for id in ids),
        "\n" + json.dumps({"ids": ids}),
        "[" + ",\n".join(map(str, ids)) + "]",
    ):
        assert run("decode", "-", "-t", trained, stdin=given.encode()).good().stdout == "some text"
    assert (
        run("decode", "-t", trained, *map(str, ids[:1]), "-", stdin=b"\n".join(b"%d" % id for id in ids[1:]))
        .good()
        .stdout
        == "some text"
    )


# --- shards verify ---------------------------------------------------------------------------------


def test_verify_reports_valid_shards(write, run, trained):
    write("--append-eos").good()
    told = run("shards", "verify", "shards").good()
    assert told.lines[0].startswith("shards: good (1 shard, 5 documents, ")
    told = run("shards", "verify", "shards", "corpus", "-t", trained, "--json", "--threads", "1").good().json
    assert (told["schema"], told["passed"], told["compared"]) == ("tokbench.shards-verify/1", True, 5)
    told = run("shards", "verify", "shards", "corpus", "-t", trained, "--sample", "2", "--json").good().json
    assert told["compared"] == 2
    run("shards", "verify", "shards", "corpus").refused(2, "name the tokenizer with -t")
    run("shards", "verify", "shards", "--sample", "2", "-t", trained).refused(
        2, "--sample 2 needs a corpus", "name the corpus after the folder"
    )
    run("shards", "verify", "shards", "corpus", "--sample", "0", "-t", trained).refused(
        2, "a sample of 0 documents is too small", "--sample must be at least 1"
    )


def test_verify_reports_problems(write, run, trained, tmp_path):
    write().good()
    done = run("shards", "verify", "shards", "-t", "default")
    assert (done.code, done.lines[0]) == (
        3, "wrong: the tokenizer 'default' is not the one that made the shards: its tokens differ"
    )  # fmt: skip
    path = tmp_path / "shards" / "shard-00000.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    done = run("shards", "verify", "shards", "--color", "never")
    assert done.code == 3
    assert done.lines[0].startswith("wrong: shard-00000.npy was changed: its sha256 is ")
    assert "1 problem (1 shard, " in done.lines[-1]
    assert run("shards", "verify", "shards", "--json").json["passed"] is False
    path.unlink()
    assert run("shards", "verify", "shards").code == 3
    run("shards", "verify", "corpus").refused(1, "no finished shards")
    run("shards", "verify", "missing").refused(1, "missing does not exist")
    (tmp_path / "a.npy").touch()
    run("shards", "verify", "a.npy").refused(1, "a.npy is a file, not a folder of shards", "name a folder")
