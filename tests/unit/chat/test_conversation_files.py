"""Reading conversations in the shapes that are in use; errors name the line and the field."""

from __future__ import annotations

import gzip
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.chat.conversation_files import parse_tools, read_conversations
from tokbench.errors import ModelFormatError, TokbenchError

HI = {"role": "user", "content": "Hi"}


def read(text: str | bytes) -> list[tuple[Any, str]]:
    data = text.encode() if isinstance(text, str) else text
    return [
        (list(conversation.conversation.messages), conversation.place)
        for conversation in read_conversations(data.splitlines(keepends=True), name="c")
    ]


def test_every_known_shape_is_read() -> None:
    bare = orjson.dumps([HI]).decode()
    whole = orjson.dumps({"messages": [HI]}).decode()
    indented = orjson.dumps({"messages": [HI]}, option=orjson.OPT_INDENT_2)
    turns = '[{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes"}]'
    share = f'{{"system": "Be brief.", "conversations": {turns}}}'
    assert read(bare) == read(whole) == read(indented) == read("\ufeff" + whole) == [([HI], "c")]
    assert read(f"[{whole}, {bare}]") == [([HI], "c, [0]"), ([HI], "c, [1]")]
    assert read(f"{whole}\n\n{bare}\n") == [([HI], "c, line 1"), ([HI], "c, line 3")]
    [(messages, _)] = read(share)
    assert [message["role"] for message in messages] == ["system", "user", "assistant"]


def test_fields_beside_the_messages_are_kept() -> None:
    line = b'{"messages": [{"role": "user", "content": null}], "tools": [{"a": 1}], "chat_template_kwargs": {"x": 1}}'
    [line_read] = read_conversations([line], name="c")
    assert line_read.conversation.tools == ({"a": 1},)
    assert line_read.conversation.variables == {"x": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "c: expected a conversation, found an empty file"),
        ("7", "c: expected a conversation, found a number"),
        ("{}", "c: expected a field `messages`, found an empty object"),
        ("[]", "c, messages: expected messages, found an empty list"),
        ('{"messages": 7}', "c, messages: expected a list of messages, found a number"),
        (
            '[{"content": "Hi"}]',
            "c, messages[0].role: expected a string, found none, but the fields 'content'",
        ),
        (
            '[{"role": "user", "content": 7}]',
            "c, messages[0].content: expected a string, null or a list of parts",
        ),
        ('[{"role": "user", "content": [7]}]', "c, messages[0].content[0]: expected a part"),
        ('[{"role": "user", "content": [{"text": 7}]}]', "c, messages[0].content[0].text: expected a string"),
        ('[{"role": "a", "tool_calls": {}}]', "c, messages[0].tool_calls: expected a list"),
        ('[{"role": "a", "tool_calls": [{"function": {}}]}]', "c, messages[0].tool_calls[0].function.name"),
        ('{"messages": [{"role": "a"}], "tools": [1]}', "c, tools[0]: expected an object, found a number"),
        (
            '{"conversations": [{"from": "cat", "value": ""}]}',
            "c, conversations[0].from: expected one of human",
        ),
        ('[{"role": "a"}]\n{"messages": 1}', "c, line 2, messages: expected a list of messages"),
        ('[{"role": "a"}]\n{"mess', "c, line 2, column"),
        ('{\n"a": }', "c, line 2, column 6: expected JSON"),
        ('["\\ud800"]', "c, line 1, column"),
        ("[" * 100 + "]" * 100, "c: expected JSON of at most 64 levels"),
    ],
)
def test_error_names_line_and_field(text: str, message: str) -> None:
    with pytest.raises(ModelFormatError) as error:
        read(text)
    assert str(error.value).startswith(message)


def test_tools_are_read_from_a_list_or_an_object() -> None:
    assert (
        parse_tools(b'[{"a": 1}]', name="t") == parse_tools(b'{"tools": [{"a": 1}]}', name="t") == ({"a": 1},)
    )
    with pytest.raises(ModelFormatError, match="tools: expected a list"):
        parse_tools(b"{}", name="t")


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["messages", "role", "content", "tool_calls", "function", "text", "conversations", "tools"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 17210102\n" % (b"4d" * 32)


def test_a_git_lfs_pointer_is_refused_by_name() -> None:
    with pytest.raises(ModelFormatError, match="a Git LFS pointer to it: it was not downloaded") as refused:
        read(POINTER)
    assert "git lfs pull" in (refused.value.hint or "")
    with pytest.raises(ModelFormatError, match="a Git LFS pointer to it"):
        parse_tools(POINTER, name="tools.json")


def test_a_page_of_html_and_compressed_data_are_refused_by_name() -> None:
    with pytest.raises(ModelFormatError, match="a page of HTML or XML"):
        read("<!DOCTYPE html><html>Sign in</html>")
    with pytest.raises(ModelFormatError, match="data that gz compressed"):
        read(gzip.compress(orjson.dumps([HI])))


@given(values)
def test_any_json_is_a_conversation_or_an_error(value: Any) -> None:
    try:
        conversations = read(orjson.dumps(value))
    except TokbenchError:
        return
    assert all(isinstance(message["role"], str) for messages, _ in conversations for message in messages)
