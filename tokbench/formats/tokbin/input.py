"""The section of a tokbin file that describes model input: flags of special tokens, and post-processing."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tokbench.core.descriptions import TokenFlags
from tokbench.formats.post_processors import (
    UnknownPostProcessingError,
    dump_post_processing,
    parse_post_processing,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.core.descriptions import PostProcessing

_FLAGS = ("lstrip", "rstrip", "single_word", "normalized")


def dump_input(token_flags: Mapping[str, TokenFlags], post_processing: PostProcessing) -> bytes:
    """Return the bytes of the section."""
    import orjson

    added = [{"content": text, **asdict(flags)} for text, flags in token_flags.items()]
    return orjson.dumps({**dump_post_processing(post_processing), "added_tokens": added})


def parse_input(data: bytes) -> tuple[dict[str, TokenFlags], PostProcessing]:
    """Parse the bytes of the section. Raises `ValueError` for invalid ones.

    >>> from tokbench.core.descriptions import PostProcessing
    >>> parse_input(dump_input({"<mask>": TokenFlags(lstrip=True)}, PostProcessing()))[0]["<mask>"].lstrip
    True
    """
    import orjson

    document = orjson.loads(data)
    if not isinstance(document, dict):
        raise ValueError("it is not an object")
    try:
        post_processing = parse_post_processing(document)
    except UnknownPostProcessingError as error:
        raise ValueError(str(error)) from None
    added = document.get("added_tokens")
    if not isinstance(added, list):
        raise ValueError("added_tokens is not a list")
    return dict(map(_token, added)), post_processing


def _token(value: Any) -> tuple[str, TokenFlags]:
    if not isinstance(value, dict) or value.keys() != {"content", *_FLAGS}:
        raise ValueError("an added token has missing or unknown fields")
    flags = {name: value[name] for name in _FLAGS}
    if not isinstance(value["content"], str) or not all(isinstance(flag, bool) for flag in flags.values()):
        raise ValueError("an added token has fields of the wrong type")
    return value["content"], TokenFlags(**flags)
