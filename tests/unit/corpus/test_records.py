"""Records of JSON lines and rows of Parquet files."""

from __future__ import annotations

import codecs
import gzip
import json
import sys
from pathlib import Path

import pytest
from support.corpus_files import fails, groups, texts_of, write, write_jsonl

from tokbench.corpus import Problems, open_corpus
from tokbench.errors import BackendUnavailableError

pytestmark = pytest.mark.usefixtures("folder")


class TestJsonl:
    def test_json_lines_are_read(self):
        write("a.jsonl", '\ufeff{"text": "öne\\n\\ud83d\\ude00", "n": 1}\r\n\n  \n{"n": NaN, "text": "two"}')
        documents = list(open_corpus("a.jsonl", documents="lines").documents())
        assert [(document.text, document.source) for document in documents] == [
            ("öne\n😀", "a.jsonl:1"),
            ("two", "a.jsonl:4"),
        ]

    def test_another_text_field_is_read(self):
        write_jsonl("a.ndjson", {"content": "one"})
        assert list(open_corpus("a.ndjson", text_field="content")) == ["one"]

    @pytest.mark.parametrize(
        ("line", "message", "hint"),
        [
            ('{"content": "x", "id": 1}', "the record has no field 'text'", "'content', 'id'"),
            ("{}", "the record has no field 'text'", "none"),
            (json.dumps(dict.fromkeys(range(20))), "the record has no field 'text'", "and 8 more"),
            ('{"text": null}', "the field 'text' is null, not a string", "--text-field"),
            ('{"text": 3}', "the field 'text' is a number, not a string", "--text-field"),
            ('{"text": true}', "the field 'text' is a boolean, not a string", "--text-field"),
            ('{"text": ["x"]}', "the field 'text' is an array, not a string", "--text-field"),
            ('{"text": {}}', "the field 'text' is an object, not a string", "--text-field"),
            ('["text"]', "an array, not an object", "one per line"),
            ('"text"', "a string, not an object", "one per line"),
            ('{"text": "x"', "not JSON (unexpected end of data at character 13)", "one JSON object per line"),
            ("[" * 100_000, "not JSON", "one JSON object per line"),
            ("1" * 10_000, "not JSON", "one JSON object per line"),
            ('{"text": "\\ud800"}', "the text contains the lone surrogate U+D800", "--errors replace"),
        ],
    )
    def test_invalid_record_is_refused_with_its_position(self, line, message, hint):
        write("a.jsonl", '{"text": "ok"}\n\n' + line + "\n")
        assert hint in fails(f"a.jsonl:3: {message}", "a.jsonl").hint

    def test_invalid_utf8_is_reported_by_line_and_byte(self):
        write("a.jsonl", codecs.BOM_UTF8 + b'{"text": "ok"}\n{"text": "\xe9"}')
        fails("a.jsonl:2: not UTF-8 at byte 28 (0xE9)", "a.jsonl")

    def test_invalid_utf8_can_be_replaced_or_skipped(self):
        write("a.jsonl", b'{"text": "a\xe9"}\n{"text": "b\\udc80"}\n{"text": "c"}\n')
        replacing = open_corpus("a.jsonl", errors="replace")
        assert list(replacing) == ["a\ufffd", "b\ufffd", "c"]
        assert replacing.problems == Problems(replaced_bytes=7)
        skipping = open_corpus("a.jsonl", errors="skip")
        assert list(skipping) == ["c"]
        assert skipping.problems == Problems(skipped_documents=2)

    @pytest.mark.parametrize(
        "line", ['{"text": null}', "{}", '{"text": 3}', '{"text": ["x"]}', '["text"]', "null", '{"text": "x"']
    )
    def test_records_without_text_can_be_skipped(self, line):
        write("a.jsonl", f'{line}\n{{"text": "ok"}}\n{line}\n')
        for errors in ("strict", "replace"):
            fails("a.jsonl:1: ", "a.jsonl", errors=errors)
        skipping = open_corpus("a.jsonl", errors="skip")
        assert list(skipping) == texts_of(skipping.byte_sources()) == ["ok"]
        assert skipping.problems == Problems(skipped_documents=2, textless_documents=2)
        write("b.jsonl", line)
        assert "--text-field" in fails("no record of b.jsonl has a text", "b.jsonl", errors="skip").hint

    def test_byte_sources_join_records_and_give_the_same_documents(self):
        texts = [
            *["one", " ", "two\nlines", "\n", "end\r", "\r"],
            *["three", "four\u2028", "\0", "é" * 2**20, "five"],
        ] * 3
        write_jsonl("a.jsonl", *({"text": text} for text in texts))
        corpus = open_corpus("a.jsonl")
        assert list(corpus) == texts_of(corpus.byte_sources()) == texts
        write_jsonl("b.jsonl", *({"text": f"record {number}"} for number in range(10_000)))
        assert len(list(open_corpus("b.jsonl").byte_sources())) == 1


class TestParquet:
    @pytest.fixture(autouse=True)
    def pyarrow(self):
        return pytest.importorskip("pyarrow")

    def write(self, pyarrow, path="a.parquet", **columns):
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=300)

    def test_parquet_rows_are_read(self, pyarrow):
        texts = [f"text {number}" for number in range(1000)]
        self.write(pyarrow, other=list(range(1000)), text=texts)
        corpus = open_corpus("a.parquet")
        assert list(corpus) == texts_of(corpus.byte_sources()) == texts
        assert [document.source for document in corpus.documents()][-1] == "a.parquet:1000"
        assert corpus.files[0].kind == "parquet"

    @pytest.mark.parametrize("kind", ["large_string", "string_view", "dictionary"])
    def test_every_string_type_is_read(self, pyarrow, kind):
        column = pyarrow.array(["a", "é", "a"])
        try:
            texts = (
                column.dictionary_encode() if kind == "dictionary" else column.cast(getattr(pyarrow, kind)())
            )
            self.write(pyarrow, text=texts)
        except pyarrow.ArrowNotImplementedError as error:
            pytest.skip(f"this pyarrow does not write it: {error}")
        assert list(open_corpus("a.parquet")) == ["a", "é", "a"]

    def test_another_text_column_and_group_column_are_read(self, pyarrow):
        self.write(pyarrow, lang=["de", "fr"], content=["eins", "un"], year=[1, 2])
        options = {"text_field": "content"}
        assert groups("a.parquet", group_by="field:lang", **options) == ["de", "fr"]
        assert groups("a.parquet", group_by="field:year", **options) == ["1", "2"]
        assert groups("a.parquet", group_by="field:content", **options) == ["eins", "un"]

    def test_columns_of_the_same_name(self, pyarrow):
        table = pyarrow.table([["one"], ["two"], ["en"], ["de"]], names=["text", "text", "lang", "lang"])
        pyarrow.parquet.write_table(table, "a.parquet")
        fails("a.parquet: 2 columns are named 'text'", "a.parquet")
        pyarrow.parquet.write_table(table.select([1, 2, 3]), "a.parquet")
        fails("a.parquet: 2 columns are named 'lang'", "a.parquet", group_by="field:lang")

    def test_invalid_record_is_refused_with_its_position(self, pyarrow):
        self.write(pyarrow, content=["x"], id=[1])
        assert "'content', 'id'" in fails("a.parquet: there is no column 'text'", "a.parquet").hint
        fails("a.parquet: the column 'id' contains int64, not text", "a.parquet", text_field="id")
        self.write(pyarrow, text=["x", None])
        fails("a.parquet:2: the field 'text' is null, not a string", "a.parquet")
        skipping = open_corpus("a.parquet", errors="skip")
        assert list(skipping) == ["x"]
        assert skipping.problems == Problems(skipped_documents=1, textless_documents=1)

    def test_invalid_utf8_in_parquet_is_reported_replaced_or_skipped(self, pyarrow):
        column = pyarrow.array([b"ok", b"b\xe9"]).view(pyarrow.string())
        self.write(pyarrow, text=column)
        fails("a.parquet:2: not UTF-8 at byte 1 (0xE9)", "a.parquet")
        assert list(open_corpus("a.parquet", errors="replace")) == ["ok", "b\ufffd"]
        assert list(open_corpus("a.parquet", errors="skip")) == ["ok"]
        fails("a.parquet: cannot be read as Parquet", "a.parquet", group_by="field:text", errors="replace")

    def test_parquet_without_rows_has_no_documents(self, pyarrow):
        self.write(pyarrow, text=pyarrow.array([], pyarrow.string()))
        fails("there is no text in a.parquet", "a.parquet")
        self.write(pyarrow, "b.parquet", text=["one"])
        assert list(open_corpus("a.parquet", "b.parquet", max_document_bytes=3)) == ["one"]

    def test_damaged_parquet_is_refused(self, pyarrow):
        self.write(pyarrow, text=["some text"] * 100)
        data = Path("a.parquet").read_bytes()
        for damaged in (b"", b"PAR1", b"plain text", data[:-10], data[:4] + bytes(60) + data[64:]):
            write("b.parquet", damaged)
            fails("b.parquet: cannot be read as Parquet", "b.parquet")
        write("c.parquet.gz", gzip.compress(data))
        fails("c.parquet.gz: Parquet is read from plain files only", "c.parquet.gz")

    def test_missing_pyarrow_package_is_named(self, pyarrow, monkeypatch):
        self.write(pyarrow, text=["x"])
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(BackendUnavailableError) as caught:
            open_corpus("a.parquet")
        assert caught.value.hint == "pip install 'tokbench[parquet]'"
