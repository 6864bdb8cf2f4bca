"""JSON in the layout of other tools: indented, with a final line end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def dump_json(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a JSON file."""
    import orjson

    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
