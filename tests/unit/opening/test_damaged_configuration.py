"""Configuration files beside a vocabulary that cannot be read, or that contradict each other, are told of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support import huggingface, model_folders
from support.model_folders import put
from support.small_files import opened

import tokbench
from tokbench.errors import TemplateError
from tokbench.opening.request import OpenRequest
from tokbench.workbench.open import open_tokenizer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "chat_template.jinja",
            b"caf\xe9 {{ messages }}",
            "chat_template.jinja is left out: byte 3 is not UTF-8",
        ),
        ("chat_template.json", b'{"chat_template": ', "chat_template.json is left out"),
        (
            "tokenizer_config.json",
            b'{"chat_template": "", // a comment\n}',
            "tokenizer_config.json is left out",
        ),
        (
            "tokenizer_config.json",
            b'{"chat_template": [{"template": 1, "name": "default"}]}',
            "chat_template is no template",
        ),
        (
            "tokenizer_config.json",
            b'{"chat_template": [{"template": "{{ messages }}"}]}',
            "chat_template is no template",
        ),
    ],
)
def test_no_built_in_template_replaces_a_damaged_one(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    model_folders.llama3(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_bytes())
    settings.pop("chat_template", None)
    put(tmp_path, {"tokenizer_config.json": settings})
    assert tokbench.ChatTemplate.of(tokbench.load(tmp_path)).name == "llama3"
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TemplateError, match=said) as error:
        tokbench.ChatTemplate.of(tokbench.load(tmp_path))
    assert "--template" in str(error.value.hint)
    assert tokbench.ChatTemplate.of(tokbench.load(tmp_path), "chatml").name == "chatml"


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ({"<s>": 0}, None),
        (
            {"<new>": 900, "<other>": 901},
            "'<new>' is 900, and tokenizer_config.json does not list it, which is used (1 more",
        ),
        ({"<s>": 7}, "'<s>' is 7, and tokenizer_config.json has the id 0 for it, which is used"),
    ],
    ids=str,
)
def test_contradictory_added_tokens_json_is_reported(
    tmp_path: Path, listed: dict[str, int], said: str | None
) -> None:
    put(tmp_path, {"tokenizer.json": huggingface.byte_level()})
    settings = {"added_tokens_decoder": {"0": {"content": "<s>", "special": True}}}
    put(tmp_path, {"tokenizer_config.json": settings, "added_tokens.json": listed})
    found = [each for each in opened(tmp_path).warnings if each.startswith("added_tokens.json says that")]
    assert len(found) == (said is not None)
    assert all(said in each for each in found)


def test_every_opening_tells_of_a_configuration_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Without it roles, added tokens and templates may be missing, and ids differ."""
    model_folders.llama3(tmp_path)
    told: list[str] = []
    open_tokenizer(tmp_path, OpenRequest(), tell=told.append)
    assert told == []
    (tmp_path / "tokenizer_config.json").write_text('{"add_bos_token": true,\n')
    open_tokenizer(tmp_path, OpenRequest(), tell=told.append)
    [message] = told
    path = tmp_path / "tokenizer_config.json"
    assert message.startswith(f"{path} is left out: line 2, column 1: expected JSON")
    warnings = opened(tmp_path).warnings
    assert len([each for each in warnings if "tokenizer_config.json is left out: line 2" in each]) == 1


def test_a_damaged_jinja_file_is_not_replaced_by_the_configurations_template(tmp_path: Path) -> None:
    model_folders.qwen(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_bytes())
    put(tmp_path, {"tokenizer_config.json": {**settings, "chat_template": "{{ messages[0].content }}"}})
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff\xfe{")
    with pytest.raises(TemplateError, match=r"chat_template\.jinja is left out"):
        tokbench.ChatTemplate.of(tokbench.load(tmp_path))
