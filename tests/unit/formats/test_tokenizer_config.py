"""The files beside a vocabulary: read as transformers reads them, and always checked."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from support.model_folders import entry

from tokbench.formats.tokenizer_config.fields import (
    AddedToken,
    TokenizerConfig,
    parse_generation_config,
    parse_tokenizer_config,
)
from tokbench.formats.tokenizer_config.files import (
    config_files,
    dump_tokenizer_config,
    template_file,
    with_special_tokens,
)
from tokbench.opening.config_files import config_paths, read_config

if TYPE_CHECKING:
    from pathlib import Path


def parsed(**document: Any) -> TokenizerConfig:
    return parse_tokenizer_config(document, name="tokenizer_config.json")


def written(folder: Path, **files: Any) -> Path:
    """Write files named without their suffixes: strings as .jinja, anything else as .json; return their folder."""
    for name, content in files.items():
        if isinstance(content, str):
            (folder / f"{name}.jinja").write_bytes(content.encode())
        else:
            (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


# --- one document -----------------------------------------------------------------------------


def test_roles_are_read_in_every_form() -> None:
    config = parsed(
        bos_token="<s>",
        eos_token={"__type": "AddedToken", "content": "</s>", "lstrip": True},
        pad_token=None,
        image_token="<image>",
        additional_special_tokens=["<a>", entry("<b>"), "<a>"],
        add_bos_token=True,
    )
    assert config.roles == {"bos": "<s>", "eos": "</s>"}
    assert config.named_tokens == {"image_token": "<image>"}
    assert config.additional_special_tokens == ("<a>", "<b>")
    assert (config.add_bos_token, config.add_eos_token) == (True, None)
    assert config.problems == ()


def test_extra_special_tokens_of_transformers_5_are_read() -> None:
    assert parsed(extra_special_tokens=["<a>"]).additional_special_tokens == ("<a>",)
    both = parsed(extra_special_tokens={"image_token": "<image>"}, additional_special_tokens=["<a>"])
    assert both.named_tokens == {"image_token": "<image>"}
    assert both.additional_special_tokens == ("<a>",)


def test_added_tokens_keep_their_flags() -> None:
    config = parsed(
        added_tokens_decoder={
            "9": entry("<mask>", lstrip=True),
            "7": {"content": "  ", "special": False},
            "8": entry("\n", special=False, normalized=False, rstrip=True, single_word=True),
        }
    )
    assert config.added_tokens == (
        AddedToken(id=7, content="  ", special=False, normalized=True),
        AddedToken(id=8, content="\n", special=False, rstrip=True, single_word=True),
        AddedToken(id=9, content="<mask>", lstrip=True),
    )


@pytest.mark.parametrize(
    ("template", "templates"),
    [
        ("{{ a }}", {"default": "{{ a }}"}),
        (
            [{"name": "default", "template": "x"}, {"name": "tool_use", "template": "y"}],
            {"default": "x", "tool_use": "y"},
        ),
        ({"rag": "z"}, {"rag": "z"}),
        (None, {}),
    ],
)
def test_one_or_several_chat_templates_are_read(template: Any, templates: dict[str, str]) -> None:
    assert parsed(chat_template=template).chat_templates == templates


@pytest.mark.parametrize(
    ("value", "length"), [(512, 512), (10**30, None), (1e30, None), (2048.0, 2048), (None, None)]
)
def test_unlimited_model_max_length_is_none(value: Any, length: int | None) -> None:
    assert parsed(model_max_length=value).model_max_length == length


ODD = [
    ("bos_token", 5),
    ("bos_token", {"content": ""}),
    ("bos_token", "\ud800"),
    ("additional_special_tokens", "<a>"),
    ("additional_special_tokens", ["<a>", 3]),
    ("added_tokens_decoder", []),
    ("added_tokens_decoder", {"x": entry("<a>")}),
    ("added_tokens_decoder", {"-1": entry("<a>")}),
    ("added_tokens_decoder", {"01": entry("<a>")}),
    ("added_tokens_decoder", {"٣": entry("<a>")}),
    ("added_tokens_decoder", {"9" * 5000: entry("<a>")}),
    ("added_tokens_decoder", {str(1 << 24): entry("<a>")}),
    ("added_tokens_decoder", {"1": "<a>"}),
    ("added_tokens_decoder", {"1": entry("<a>") | {"lstrip": 1}}),
    ("added_tokens_decoder", {"1": entry("<a>"), "2": entry("<a>")}),
    ("chat_template", 7),
    ("chat_template", [{"name": "a", "template": 1}]),
    ("chat_template", ["a"]),
    ("chat_template", "\udfff"),
    ("add_bos_token", "yes"),
    ("model_max_length", "long"),
    ("model_max_length", -1),
    ("model_max_length", float("nan")),
    ("model_max_length", float("-inf")),
    ("model_max_length", [512]),
    ("tokenizer_class", ["A", None]),
    ("padding_side", "up"),
    ("padding_side", {}),
    ("split_special_tokens", [[]]),
    ("extra_special_tokens", {"image_token": 3}),
    ("extra_special_tokens", 3),
]


@pytest.mark.parametrize(("key", "value"), ODD)
def test_field_of_the_wrong_type_is_ignored_and_reported(key: str, value: Any) -> None:
    config = parsed(**{key: value, "eos_token": "</s>"})
    assert config.roles == {"eos": "</s>"}
    assert len(config.problems) == 1
    assert config.problems[0].startswith("tokenizer_config.json: ")
    assert len(config.problems[0]) < 120


def test_one_or_several_generation_ids_are_read() -> None:
    config = parse_generation_config(
        {"bos_token_id": 1, "eos_token_id": [2, 5, 2], "pad_token_id": "0", "temperature": 0.6}, name="g"
    )
    assert config.generation_ids == {"bos": (1,), "eos": (2, 5)}
    assert config.problems == ("g: pad_token_id is not an id, and is left out",)


# --- writing ----------------------------------------------------------------------------------

WHOLE = TokenizerConfig(
    roles={"bos": "<s>", "eos": "</s>"},
    named_tokens={"image_token": "<image>"},
    additional_special_tokens=("<a>",),
    added_tokens=(
        AddedToken(id=1, content="<s>"),
        AddedToken(id=2, content="</s>", rstrip=True),
        AddedToken(id=9, content="  ", special=False, normalized=True),
    ),
    add_bos_token=True,
    add_eos_token=False,
    chat_templates={"default": "a\r\n", "tool_use": "b"},
    model_max_length=4096,
    split_special_tokens=False,
    padding_side="left",
    truncation_side="left",
)


def test_written_configuration_is_read_back() -> None:
    document = json.loads(dump_tokenizer_config(WHOLE))
    again = parse_tokenizer_config(document, name="x")
    assert again.problems == ()
    assert document.pop("clean_up_tokenization_spaces") is False
    assert again.tokenizer_class == "PreTrainedTokenizerFast"
    for name in TokenizerConfig.__dataclass_fields__:
        if name not in ("tokenizer_class", "clean_up_tokenization_spaces"):
            assert getattr(again, name) == getattr(WHOLE, name), name


def test_generation_ids_are_read_back() -> None:
    ids = {"bos": (1,), "eos": (2, 5), "pad": (0,), "decoder_start": (3,)}
    document = json.loads(config_files(TokenizerConfig(generation_ids=ids))["generation_config.json"])
    assert document["eos_token_id"] == [2, 5]
    assert parse_generation_config(document, name="g").generation_ids == ids


def test_single_template_is_written_to_its_own_file() -> None:
    one = TokenizerConfig(chat_templates={"default": "{{ a }}\n"})
    assert template_file(one) == b"{{ a }}\n"
    assert "chat_template" not in json.loads(dump_tokenizer_config(one))
    for templates in ({"default": "a\rb"}, {"rag": "a"}, {"default": "a", "rag": "b"}):
        several = TokenizerConfig(chat_templates=templates)
        assert template_file(several) is None
        assert (
            parse_tokenizer_config(json.loads(dump_tokenizer_config(several)), name="x").chat_templates
            == templates
        )


def test_unlisted_special_tokens_are_added() -> None:
    config = with_special_tokens(WHOLE, {"<s>": 1, "<b>": 5})
    assert [token.id for token in config.added_tokens] == [1, 2, 5, 9]
    assert config.additional_special_tokens == ("<a>",)
    bare = with_special_tokens(TokenizerConfig(roles={"eos": "<b>"}), {"<c>": 6, "<b>": 5})
    assert bare.additional_special_tokens == ("<c>",)
    assert [token.content for token in bare.added_tokens] == ["<b>", "<c>"]


# --- a folder ---------------------------------------------------------------------------------


def test_folder_without_configuration_has_none(tmp_path: Path) -> None:
    config = read_config(tmp_path)
    assert not config
    assert config.problems == ()
    assert config_paths(tmp_path) == ()


def test_special_tokens_map_counts_without_added_tokens_decoder(tmp_path: Path) -> None:
    specials = {"eos_token": entry("</s>"), "pad_token": "<pad>", "additional_special_tokens": ["<a>"]}
    written(
        tmp_path, tokenizer_config={"eos_token": "<end>", "bos_token": "<s>"}, special_tokens_map=specials
    )
    config = read_config(tmp_path)
    assert config.roles == {"bos": "<s>", "eos": "</s>", "pad": "<pad>"}
    assert config.additional_special_tokens == ("<a>",)
    assert config.problems == (
        "tokenizer_config.json says that eos is '<end>', and special_tokens_map.json '</s>', which is used",
    )


@pytest.mark.parametrize(
    ("in_config", "in_map", "expected"),
    [
        (["<a>"], {"additional_special_tokens": ["<a>"]}, ("<a>",)),
        (["<a>"], {"additional_special_tokens": []}, ("<a>",)),
        (["<a>"], {"extra_special_tokens": ["<b>", "<a>"]}, ("<a>", "<b>")),
        ([], {"additional_special_tokens": ["<b>"]}, ("<b>",)),
        (["<a>"], {}, ("<a>",)),
    ],
)
def test_lists_of_special_tokens_are_joined_as_transformers_does(
    tmp_path: Path, in_config: list[str], in_map: dict[str, list[str]], expected: tuple[str, ...]
) -> None:
    listed = {"additional_special_tokens": in_config}
    written(tmp_path, tokenizer_config=listed, special_tokens_map=in_map)
    config = read_config(tmp_path)
    assert (config.additional_special_tokens, config.problems) == (expected, ())


def test_special_token_that_only_the_map_lists_is_reported(tmp_path: Path) -> None:
    written(
        tmp_path,
        tokenizer_config={"additional_special_tokens": ["<a>"]},
        special_tokens_map={"additional_special_tokens": ["<a>", "<b>"]},
    )
    config = read_config(tmp_path)
    assert config.additional_special_tokens == ("<a>",)
    assert config.problems == (
        "special_tokens_map.json says that '<b>' is special, and tokenizer_config.json lists others, which are used",
    )


def test_special_tokens_map_is_reported_with_added_tokens_decoder(tmp_path: Path) -> None:
    config = {"eos_token": "<end>", "added_tokens_decoder": {"3": entry("<end>")}}
    written(tmp_path, tokenizer_config=config, special_tokens_map={"eos_token": "</s>", "pad_token": "<end>"})
    config_read = read_config(tmp_path)
    assert config_read.roles == {"eos": "<end>"}
    assert len(config_read.problems) == 2
    assert "which is used" in config_read.problems[0]


def test_added_tokens_take_their_flags_from_the_roles(tmp_path: Path) -> None:
    mask = entry("<mask>", lstrip=True, normalized=True)
    written(tmp_path, special_tokens_map={"mask_token": mask}, added_tokens={"<mask>": 7, "  ": 6})
    assert read_config(tmp_path).added_tokens == (
        AddedToken(id=6, content="  ", special=False, normalized=True),
        AddedToken(id=7, content="<mask>", lstrip=True, normalized=True),
    )


def test_added_tokens_with_invalid_or_duplicate_ids_are_refused(tmp_path: Path) -> None:
    written(tmp_path, added_tokens={"<a>": 7, "<b>": 7, "<c>": "8", "": 9, "<d>": 10**12})
    config = read_config(tmp_path)
    assert [token.content for token in config.added_tokens] == ["<a>"]
    assert len(config.problems) == 4


def test_template_files_override_the_configuration(tmp_path: Path) -> None:
    written(tmp_path, tokenizer_config={"chat_template": "old"}, chat_template="new\r\nline\r")
    (tmp_path / "additional_chat_templates").mkdir()
    written(tmp_path / "additional_chat_templates", tool_use="tools", rag="documents")
    config = read_config(tmp_path)
    assert config.chat_templates == {"default": "new\nline\n", "rag": "documents", "tool_use": "tools"}
    assert config.problems == (
        "tokenizer_config.json has other chat templates than the .jinja files, which are used",
    )
    assert [path.name for path in config_paths(tmp_path)] == [
        *("tokenizer_config.json", "chat_template.jinja", "rag.jinja", "tool_use.jinja")
    ]


def test_processor_template_is_used_without_another_one(tmp_path: Path) -> None:
    written(tmp_path, chat_template={"chat_template": "of the processor"})
    assert read_config(tmp_path).chat_templates == {"default": "of the processor"}
    written(tmp_path, tokenizer_config={"chat_template": "of the tokenizer"})
    config = read_config(tmp_path)
    assert config.chat_templates == {"default": "of the tokenizer"}
    assert "another chat template" in config.problems[0]


@pytest.mark.parametrize("name", ["tokenizer_config.json", "added_tokens.json", "chat_template.jinja"])
@pytest.mark.parametrize(
    "damage", ["not text", "folder", "pipe", "large", "deep", "array", "digits", "endless"]
)
def test_damaged_file_is_ignored_and_reported(tmp_path: Path, name: str, damage: str) -> None:
    written(tmp_path, generation_config={"eos_token_id": 2})
    place = tmp_path / name
    match damage:
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
        case "endless":
            place.symlink_to("/dev/zero")
        case "large":
            with place.open("wb") as file:
                file.truncate(2**31)
        case _:
            if name.endswith(".jinja") and damage != "not text":
                pytest.skip("any text is a template")
            data = {
                "not text": b"\xff{",
                "deep": b"[" * 10**6,
                "array": b"[]",
                "digits": b'{"a": ' + b"9" * 5000 + b"}",
            }
            place.write_bytes(data[damage])
    config = read_config(tmp_path)
    assert config.generation_ids == {"eos": (2,)}
    assert len(config.problems) == 1
    assert config.problems[0].startswith(f"{name} is left out: ")
