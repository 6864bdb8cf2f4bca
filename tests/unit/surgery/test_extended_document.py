"""Tests for extending a `tokenizer.json` with merges: old ids stay, even where the library would renumber them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import tokenizers
from support.huggingface import added
from support.lint import byte_level

from tokbench.errors import ConfigError, SurgeryError
from tokbench.surgery.documents import extended_document


def document(**changes: Any) -> dict[str, Any]:
    """Return a document in which 256 is th and 257 is <eos>."""
    fields: dict[str, Any] = byte_level(("t", "h"), added_tokens=[added("<eos>", 257)])
    return fields | changes


def test_old_ids_stay_and_new_merges_come_last() -> None:
    extended = extended_document(
        document(), {"the": 258}, merges=[("th", "e")], special_tokens={"<tool>": 259}
    )
    assert extended["model"]["merges"][-1] in ("th e", ["th", "e"])
    assert len(extended["model"]["merges"]) == len(document()["model"]["merges"]) + 1
    opened = tokenizers.Tokenizer.from_buffer(orjson.dumps(extended))
    assert opened.encode("the<eos><tool>", add_special_tokens=False).ids == [258, 257, 259]
    assert (opened.token_to_id("<eos>"), opened.token_to_id("<tool>")) == (257, 259)


def test_merges_keep_the_spelling_of_the_file() -> None:
    old, new = document(), {"pieces": {"the": 258}, "merges": [("th", "e")], "special_tokens": {}}
    old["model"]["merges"] = ["t h"]
    assert extended_document(old, **new)["model"]["merges"] == ["t h", "th e"]  # type: ignore[arg-type]
    old["model"]["merges"] = [["t", "h"]]
    assert extended_document(old, **new)["model"]["merges"][1] == ["th", "e"]  # type: ignore[arg-type]


def test_existing_special_token_is_refused() -> None:
    with pytest.raises(ConfigError, match="'<eos>' is a token already"):
        extended_document(document(), {}, special_tokens={"<eos>": 258})


def test_unigram_pieces_and_special_tokens_are_appended() -> None:
    old = {"model": {"type": "Unigram", "vocab": [["a", -1.0], ["b", -2.0]]}}
    extended = extended_document(old, {"ab": 2}, scores={"ab": -2.5}, special_tokens={"<tool>": 3})
    assert extended["model"]["vocab"] == [["a", -1.0], ["b", -2.0], ["ab", -2.5]]
    assert [(token["content"], token["id"]) for token in extended["added_tokens"]] == [("<tool>", 3)]
    with pytest.raises(SurgeryError, match="no token has the id 3, so 'ba' cannot have the id 4"):
        extended_document(extended, {"ba": 4}, scores={"ba": -3.0}, special_tokens={})
