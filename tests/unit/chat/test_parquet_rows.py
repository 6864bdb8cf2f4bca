"""Rows of Parquet give the same conversations as the same JSON lines, and rows that are too long are not unpacked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tokbench.chat.conversation_files import read_conversations
from tokbench.chat.parquet_rows import parquet_conversations
from tokbench.errors import CorpusError, ModelFormatError

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.chat.conversation import Conversation

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": {"a": 2}}}
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
ROWS: dict[str, list[dict[str, Any]]] = {
    "messages": [
        {"messages": [{"role": "user", "content": "Hé\n"}, {"role": "assistant", "content": ""}]},
        {
            "messages": [
                {"role": "user", "content": "2 + 2?"},
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "content": "4", "tool_call_id": "c1"},
            ],
            "tools": [TOOL],
        },
    ],
    "ShareGPT": [
        {"conversations": [{"from": "human", "value": "Hi"}], "system": "Be brief."},
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes"}]},
    ],
    "parts": [{"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}],
    "tools as JSON": [{"messages": [{"role": "user", "content": "Hi"}], "tools": json.dumps([TOOL])}],
}


def write(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    fields = {name: None for row in rows for name in row}
    parquet.write_table(pyarrow.Table.from_pylist([fields | row for row in rows]), path, **options)
    return path


def read(path: Path, **options: Any) -> list[Conversation]:
    return [
        conversation.conversation for conversation in parquet_conversations(path, name=path.name, **options)
    ]


@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_parquet_rows_equal_json_lines(shape: str, use_dictionary: bool, tmp_path: Path) -> None:
    rows = ROWS[shape] * 2
    path = write(tmp_path / "a.parquet", rows, row_group_size=3, use_dictionary=use_dictionary)
    lines = [json.dumps(row).encode() for row in rows]
    assert read(path) == [conversation.conversation for conversation in read_conversations(lines, name="a")]


def test_rows_have_position_size_and_progress(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [{"messages": [{"role": "user", "content": "é"}]}] * 4)
    told: list[int] = []
    rows = list(parquet_conversations(path, name="a.parquet", tell=told.append))
    assert [conversation.place for conversation in rows] == [
        f"a.parquet, row {number}" for number in (1, 2, 3, 4)
    ]
    assert rows[0].num_bytes == len('{"messages":[{"role":"user","content":"é"}]}'.encode())
    assert told[-1] == path.stat().st_size
    assert told == sorted(told)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"text": "Hi"}], "no column messages or conversations"),
        ([{"messages": [{"role": "user"}]}, {"messages": None}], "row 2, messages: .* found null"),
        ([{"messages": [{"content": "Hi"}]}], r"row 1, messages\[0\].role: .* none"),
        ([{"messages": [{"role": "user", "content": b"Hi"}]}], "row 1: .* found bytes"),
        ([{"messages": "Hi"}], "row 1, messages: .* found a string"),
        ([{"messages": [{"role": "user"}], "tools": "[{"}], "row 1, tools.*: expected JSON"),
    ],
)
def test_row_without_a_conversation_is_refused(rows: list[dict[str, Any]], told: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", rows)
    with pytest.raises((CorpusError, ModelFormatError), match=told):
        read(path)


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", ROWS["messages"])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CorpusError, match=r"a\.parquet: cannot be read as Parquet"):
        read(path)


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_too_long_row_is_refused(use_dictionary: bool, tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": "x" * 1000}] * 3}
    path = write(tmp_path / "a.parquet", [row], use_dictionary=use_dictionary)
    assert len(read(path, most_bytes=4000)) == 1
    with pytest.raises(CorpusError, match=r"a\.parquet, row 1: a conversation of more than 3,000 bytes"):
        read(path, most_bytes=3000)


def test_repeated_dictionary_values_are_not_expanded(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 100_000, "int32"), ["x" * 1_000_000])
    roles = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 100_000, "int32"), ["user"])
    messages = pyarrow.StructArray.from_arrays([roles, texts], ["role", "content"])
    column = pyarrow.ListArray.from_arrays([0, 100_000], messages)
    parquet.write_table(pyarrow.table({"messages": column}), path)
    assert path.stat().st_size < 2_000_000
    with pytest.raises(CorpusError, match="row 1: a conversation of more than"):
        read(path)
