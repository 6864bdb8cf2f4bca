"""A `tokenizer.json` with merges behind its own: old ids stay, whatever the library would number."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import tokenizers
from support.huggingface import added
from support.lint import byte_level

from tokbench.errors import ConfigError, ConversionError
from tokbench.surgery.extended_tokenizer import extended_document
from tokbench.surgery.growth import NewToken


def document(**changes: Any) -> dict[str, Any]:
    """256 th, 257 <eos>."""
    found: dict[str, Any] = byte_level(("t", "h"), added_tokens=[added("<eos>", 257)])
    return found | changes


def tokens(*new: bytes) -> list[bytes]:
    return [*(bytes([value]) for value in range(256)), b"th", b"", *new]


THE = NewToken(256, ord("e"), 9)


def test_ids_stay_and_merges_come_last() -> None:
    made = extended_document(document(), tokens(b"the"), [THE], {"<tool>": 259})
    assert made["model"]["merges"][-1] in ("th e", ["th", "e"])
    assert len(made["model"]["merges"]) == len(document()["model"]["merges"]) + 1
    opened = tokenizers.Tokenizer.from_buffer(orjson.dumps(made))
    assert opened.encode("the<eos><tool>", add_special_tokens=False).ids == [258, 257, 259]
    assert (opened.token_to_id("<eos>"), opened.token_to_id("<tool>")) == (257, 259)


def test_merges_are_written_as_the_file_writes_them() -> None:
    old = document()
    old["model"]["merges"] = ["t h"]
    assert extended_document(old, tokens(b"the"), [THE], {})["model"]["merges"] == ["t h", "th e"]
    old["model"]["merges"] = [["t", "h"]]
    assert extended_document(old, tokens(b"the"), [THE], {})["model"]["merges"][1] == ["th", "e"]


def test_a_special_token_that_is_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="'<eos>' is a token already"):
        extended_document(document(), tokens(), [], {"<eos>": 258})


def test_a_word_is_no_special_token_where_whole_tokens_come_first() -> None:
    old = document()
    old["model"]["ignore_merges"] = True
    with pytest.raises(ConversionError, match="could take the word 'tool'"):
        extended_document(old, tokens(), [], {"tool": 258})
