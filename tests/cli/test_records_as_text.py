"""JSON records in files that are read as text are pointed out."""

from __future__ import annotations

import gzip

import pytest

RECORDS = b'{"text": "one", "url": "x"}\n{"text": "two", "url": "y"}\n'
PACKED = gzip.compress(RECORDS, mtime=0)  # names of tests are made of it, which all workers must agree on
READ_AS_TEXT = "contains JSON records, and is read as text"
NO_EFFECT = "note: --text-field has no effect: no file is .jsonl or .parquet\n"


@pytest.mark.parametrize(
    ("name", "data", "way"),
    [
        ("c4.json.gz", PACKED, "rename it"),
        ("a.JSON", RECORDS, "rename it"),
        ("a.json", b'[\n  {"text": "one"}\n]', "jq -c '.[]'"),
    ],
)
def test_records_in_a_json_file(run, tmp_path, name, data, way):
    (tmp_path / name).write_bytes(data)
    for command in (
        ["corpus"],
        ["train", "--vocab-size", "260", "--name", "mine"],
        ["sweep", "--sizes", "300"],
    ):
        done = run(*command, name, "--text-field", "body")
        assert f"note: {name} {READ_AS_TEXT}" in done.stderr
        assert f"only a .jsonl file is read by its field 'body': {way}" in done.stderr


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", RECORDS),
        ("a.txt", RECORDS),
        ("a.json", b'{"text": "one"}'),
        ("a.json", b'{\n"text": "one"}'),
        ("a.json", b'{"a": [\n{}]}'),
        ("a.json", b"[1, 2]"),
        ("a.json", b""),
        ("a.json.gz", PACKED[:20]),
    ],
)
def test_other_files(run, tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    assert READ_AS_TEXT not in run("corpus", name).stderr


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b'id,text\n1,"one"\n'),
        ("a.TSV", b"id\ttext\n1\tone\n"),
        ("b.csv.gz", gzip.compress(b"a;b\n1;x\n")),
    ],
    ids=["csv", "tsv", "csv.gz"],
)
def test_a_table_is_read_as_text(run, tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    (tmp_path / "no-table.csv").write_bytes(b"one line\nand another, with a comma\n")
    note = run("corpus", name, "--text-field", "body").good().stderr
    assert f"note: {name} is a table, and is read as text with all of its columns" in note
    assert "only a .jsonl or .parquet file is read by its field 'body'" in note
    assert run("corpus", "no-table.csv").good().stderr == ""


def test_a_text_field_without_records(run, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"text")
    (tmp_path / "b.jsonl").write_bytes(RECORDS)
    assert run("corpus", "a.txt", "--text-field", "text").good().stderr == NO_EFFECT
    assert run("corpus", "-", "--text-field", "text", stdin=b"text").good().stderr == NO_EFFECT
    assert run("corpus", "a.txt", "b.jsonl", "--text-field", "text").good().stderr == ""
