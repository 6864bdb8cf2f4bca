"""Configuration files beside a vocabulary that cannot be read, or that contradict each other, are told of."""

from __future__ import annotations

import json
from importlib import import_module
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


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_a_compressed_configuration_is_not_read_and_every_command_says_so(
    tmp_path: Path, suffix: str
) -> None:
    model_folders.llama3(tmp_path)
    for name in ("tokenizer_config.json", "tokenizer.json"):
        path = tmp_path / name
        packed = import_module({"gz": "gzip", "xz": "lzma"}.get(suffix, suffix)).compress(path.read_bytes())
        put(tmp_path, {f"{name}.{suffix}": packed})
        path.unlink()
    found = opened(tmp_path)
    said = f"tokenizer_config.json.{suffix} is left out: only the uncompressed file is read"
    assert said in found.warnings
    assert found.source.config.unread_files == (f"{tmp_path}/{said}",)
    with pytest.raises(TemplateError, match="is left out: only the uncompressed"):
        tokbench.ChatTemplate.of(tokbench.load(tmp_path))


def test_a_compressed_copy_beside_a_configuration_is_ignored(tmp_path: Path) -> None:
    model_folders.llama3(tmp_path)
    put(tmp_path, {"tokenizer_config.json.gz": b"\x1f\x8b\x08\x00"})
    assert not [each for each in opened(tmp_path).warnings if "left out" in each]


REFUSED = 'as an object without "__type": "AddedToken", with which transformers does not open the folder'


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"eos_token": {"content": "<|eot_id|>", "lstrip": False}}, "eos_token"),
        ({"additional_special_tokens": ["<|eot_id|>", {"content": "a"}]}, "additional_special_tokens"),
        ({"extra_special_tokens": {"image_token": {"content": "a"}}}, "image_token"),
        ({"pad_token": {"content": "a"}, "extra_special_tokens": [{"content": "a"}]}, "pad_token and extra_"),
    ],
)
def test_an_object_without_its_type_which_transformers_refuses_is_told_of(
    tmp_path: Path, fields: dict[str, object], named: str
) -> None:
    model_folders.llama3(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_bytes())
    put(tmp_path, {"tokenizer_config.json": {**settings, **fields}})
    warned = [each for each in opened(tmp_path).warnings if REFUSED in each]
    assert len(warned) == 1
    assert f"writes {named}" in warned[0]
    if "eos_token" in fields:
        assert tokbench.load(tmp_path).roles["eos"] == "<|eot_id|>"


def test_objects_of_special_tokens_map_and_typed_ones_are_not_told_of(tmp_path: Path) -> None:
    model_folders.llama3(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_bytes())
    eos = {"content": "<|eot_id|>", "lstrip": False}
    put(
        tmp_path,
        {
            "tokenizer_config.json": {**settings, "eos_token": {"__type": "AddedToken", **eos}},
            "special_tokens_map.json": {"eos_token": eos},
        },
    )
    assert not [each for each in opened(tmp_path).warnings if "__type" in each]
