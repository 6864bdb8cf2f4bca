"""JSON as files of other tools have it: indented, with a line end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def dump_json(document: Mapping[str, Any]) -> bytes:
    """A document as a file."""
    import orjson

    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
