"""Reading JSON fields by type; errors name the path of the field."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tokbench.core.json_fields import MAX_COUNT, Fields
from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENT = {
    "name": "mine",
    "empty": "",
    "none": None,
    "count": 7,
    "flag": True,
    "texts": ["a", "b"],
    "sum": "0" * 64,
    "inner": {"list": [{"id": 3}, 4]},
}


@pytest.fixture
def fields() -> Fields:
    return Fields.of(DOCUMENT, path=Path("x.json"), hint="write it again")


def test_fields_are_read_by_type(fields: Fields) -> None:
    assert (fields.text("name"), fields.text("empty"), fields.nonempty_text("name")) == ("mine", "", "mine")
    assert (fields.count("count"), fields.count("count", low=7, high=7)) == (7, 7)
    assert fields.texts("texts") == ["a", "b"]
    assert fields.choice("name", ("yours", "mine")) == "mine"
    assert fields.sha256("sum") == "0" * 64
    assert fields.json_object("inner") == DOCUMENT["inner"]


def test_optional_field_may_be_missing_or_null(fields: Fields) -> None:
    assert [fields.is_null(name) for name in ("none", "name", "missing")] == [True, False, False]
    assert [fields.optional(name, fields.text) for name in ("none", "missing", "name")] == [
        None,
        None,
        "mine",
    ]
    with pytest.raises(ModelFormatError, match=r"as name, found .mine."):
        fields.optional("name", fields.count)


@pytest.mark.parametrize(
    ("read", "expected", "found"),
    [
        (lambda fields: fields.text("count"), "a string as count", "7"),
        (lambda fields: fields.text("missing"), "a string as missing", "nothing"),
        (lambda fields: fields.nonempty_text("empty"), "a string as empty", "''"),
        (lambda fields: fields.texts("name"), "a list of texts as name", "'mine'"),
        (lambda fields: fields.count("flag"), f"a whole number from 0 to {MAX_COUNT} as flag", "true"),
        (lambda fields: fields.count("count", high=6), "a whole number from 0 to 6 as count", "7"),
        (lambda fields: fields.choice("none", ("a", "b")), "'a' or 'b' as none", "null"),
        (lambda fields: fields.sha256("name"), "a sha256 in 64 hexadecimal digits as name", "'mine'"),
        (lambda fields: fields.inner("texts"), "an object as texts", "a list of 2 items"),
        (lambda fields: fields.items("inner"), "a list as inner", "an object"),
        (lambda fields: fields.inner("inner").items("list"), "an object as inner.list[1]", "4"),
        (lambda fields: fields.inner("inner").text("x" * 50), f"a string as inner.{'x' * 39}…", "nothing"),
    ],
)
def test_error_names_the_path_of_the_field(
    fields: Fields, read: Callable[[Fields], Any], expected: str, found: str
) -> None:
    with pytest.raises(ModelFormatError) as caught:
        read(fields)
    assert (caught.value.path, caught.value.expected, caught.value.found) == (Path("x.json"), expected, found)
    assert caught.value.hint == "write it again"


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_value_that_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(ModelFormatError, match="expected a JSON object"):
        Fields.of(value, path=Path("x.json"), hint="write it again")
