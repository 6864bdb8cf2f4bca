"""Tests that sharding in parts reports what it left out, and why, as a single run does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.engines import HereEngine
from support.sharded import tokenizer

import tokbench
from tokbench.errors import CorpusError, DistributedError
from tokbench.workbench.shard_parts import write_shard_parts

if TYPE_CHECKING:
    from support.shard_parts import Case


def encode_rows(
    case: Case, rows: dict[str, bytes], *, engine: HereEngine, part_bytes: int = 20, resume: bool = False
) -> tuple[tokbench.Corpus, Any]:
    """Write JSON lines as shards in parts, leaving out what is not a text; return the corpus and the index."""
    for name, data in rows.items():
        if not resume:
            (case.folder / name).write_bytes(data)
    corpus = tokbench.open_corpus(
        *(case.folder / name for name in rows), errors="skip", max_document_bytes=200, text_field="text"
    )
    named = case.named
    options: dict[str, Any] = {"engine": engine, "part_bytes": part_bytes, "resume": resume}
    return corpus, write_shard_parts(named, tokbench.load(named.name), corpus, case.folder / "out", **options)


def test_skipped_records_are_reported_as_by_a_single_run(case: Case) -> None:
    """Records without a text are not called documents that are not UTF-8, even in parts without a document."""
    lines = [
        b'{"text": "kept"}',
        b'{"other": 1}',
        b'{"text": "b\xe9d"}',
        b'{"text": "%s"}' % (b"x" * 300),
        b"[]",
    ]
    corpus, index = encode_rows(case, {"rows.jsonl": b"\n".join(lines)}, engine=HereEngine())
    single = tokbench.open_corpus(
        case.folder / "rows.jsonl", errors="skip", max_document_bytes=200, text_field="text"
    )
    (entry,) = tokbench.write_shards(tokenizer(), single, case.folder / "single").index.files
    assert (entry.skipped_documents, entry.long_documents, entry.textless_documents) == (4, 1, 2)
    assert sum(file.documents for file in index.files) == entry.documents == 1
    assert str(corpus.problems) == str(single.problems)
    assert str(single.problems) == (
        "1 document that is not UTF-8 was left out; 1 document longer than --max-document-bytes was left out; "
        "2 records without a text were left out"
    )


def test_file_in_another_encoding_is_left_out_of_all_parts_and_counted_once(case: Case) -> None:
    rows = {
        "a.jsonl": ('{"text": "one"}\n' * 20).encode("utf-16"),
        "b.jsonl": b'{"text": "two"}\n',
    }
    corpus, index = encode_rows(case, rows, engine=HereEngine(), part_bytes=100)
    assert sum(file.documents for file in index.files) == 1
    assert str(corpus.problems) == "1 document that is not UTF-8 was left out"


def test_resumed_run_reports_what_the_first_one_skipped(case: Case) -> None:
    rows = {"a.jsonl": b'{"other": 1}\n{"text": "one"}\n', "b.jsonl": b'{"text": "two"}\n'}
    with pytest.raises(DistributedError):  # the last part fails
        encode_rows(case, rows, engine=HereEngine(breaking=1), part_bytes=30)
    corpus, index = encode_rows(case, rows, engine=HereEngine(), part_bytes=30, resume=True)
    assert len(index.files) == 2
    assert str(corpus.problems) == "1 record without a text was left out"


def test_cause_of_an_empty_corpus_is_reported(case: Case) -> None:
    with pytest.raises(CorpusError, match=r"no record of .*rows\.jsonl has a text"):
        encode_rows(case, {"rows.jsonl": b'{"other": 1}\n{"other": 2}\n'}, engine=HereEngine())
