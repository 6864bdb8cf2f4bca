"""Records with text in several fields, and groups by a field that some records lack."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tokbench.corpus import open_corpus
from tokbench.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {"title": "one", "body": "two\nthree", "lang": "en"},
    {"title": "only a title", "body": None, "lang": None},
    {"title": None, "body": "only a body", "lang": "de"},
]
TEXTS = ["one\n\ntwo\nthree", "only a title", "only a body"]


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def parquet(path: Path, rows: list[dict[str, Any]], *, dictionary: bool = False) -> Path:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist(rows), path, use_dictionary=dictionary)
    return path


@pytest.fixture(params=["jsonl", "parquet", "parquet in dictionaries"])
def records(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "jsonl":
        return jsonl(tmp_path / "a.jsonl", ROWS)
    return parquet(tmp_path / "a.parquet", ROWS, dictionary="in" in request.param)


def test_several_fields_are_joined_by_a_blank_line(records: Path) -> None:
    corpus = open_corpus(records, text_field=["title", "body"])
    assert list(corpus) == TEXTS
    assert corpus.options.text_fields == ("title", "body")
    assert next(iter(open_corpus(records, text_field=("body", "title")))) == "two\nthree\n\none"


def test_repeated_field_is_read_once(records: Path) -> None:
    rows = list(open_corpus(records, text_field=["title", "title", "body"]))
    assert rows == TEXTS


def test_single_text_field_is_required(records: Path) -> None:
    with pytest.raises(CorpusError, match=r":2: the field 'body' is null, not a string"):
        list(open_corpus(records, text_field="body"))


def test_record_without_any_text_field_is_refused(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "b.jsonl", [{"title": "one"}, {"text": "two"}])
    with pytest.raises(CorpusError, match=r"b.jsonl:2: the record has no field 'title'"):
        list(open_corpus(path, text_field=["title", "body"]))
    path = jsonl(tmp_path / "c.jsonl", [{"title": "one", "body": 3}])
    with pytest.raises(CorpusError, match=r"c.jsonl:1: the field 'body' is a number, not a string"):
        list(open_corpus(path, text_field=["title", "body"]))


def test_empty_list_of_fields_is_refused(records: Path) -> None:
    with pytest.raises(ConfigError, match="no field to read texts from"):
        open_corpus(records, text_field=[])


def test_records_without_the_group_field_form_one_group(records: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("plain text\n", encoding="utf-8")
    jsonl(tmp_path / "z.jsonl", [{"title": "no lang at all"}])
    paths = [records, tmp_path / "notes.txt", tmp_path / "z.jsonl"]
    corpus = open_corpus(*paths, text_field=["title", "body"], group_by="field:lang")
    groups = {document.text: document.group for document in corpus.documents()}
    assert groups == {
        TEXTS[0]: "en",
        TEXTS[1]: "(no lang)",
        TEXTS[2]: "de",
        "plain text\n": "(no lang)",
        "no lang at all": "(no lang)",
    }
    assert str(corpus.problems) == "3 documents without the field of --group-by are in the group '(no lang)'"


@pytest.mark.parametrize("write", [jsonl, parquet])
def test_blank_group_is_none(tmp_path: Path, write: Callable[..., Path]) -> None:
    """Its row would look like that of all text, whose group is empty in CSV."""
    records = [{"text": "a text", "lang": name} for name in ("", " ", "\n", None, " en")]
    path = write(tmp_path / f"a.{write.__name__}", records)
    groups = [document.group for document in open_corpus(path, group_by="field:lang").documents()]
    assert groups == ["(no lang)"] * 4 + [" en"]


def test_parquet_without_the_group_column_is_read(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", [{"text": "one"}, {"text": "two"}])
    corpus = open_corpus(path, group_by="field:lang")
    assert [document.group for document in corpus.documents()] == ["(no lang)"] * 2


def test_plain_text_grouped_by_field_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("plain text\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="has no fields to group by"):
        open_corpus(tmp_path / "notes.txt", group_by="field:lang")
