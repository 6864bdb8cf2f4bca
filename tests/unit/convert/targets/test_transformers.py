"""Folders for transformers have the special tokens, roles and chat templates of their source."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface, model_folders
from support.descriptions import trained
from support.model_folders import FOLDERS, entry, put

import tokbench
import tokbench.workbench.convert as conversion
from tokbench.convert.chat_worker import differences
from tokbench.convert.config_proof import job_of
from tokbench.convert.proof import ProofError, prove
from tokbench.convert.targets import transformers as target
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

transformers = pytest.importorskip("transformers")

CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "th "}]
ROLES = ("bos", "eos", "unk", "pad", "sep", "cls", "mask")


@pytest.fixture(autouse=True)
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(conversion, "prove", partial(prove, texts=("hi", "", "hi hi th")))


@pytest.fixture(autouse=True)
def rendered_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Render chat templates in this process; `test_chat_template_proof.py` tests them in a process of their own."""

    def rendered_differently(folder: Path, config: TokenizerConfig) -> dict[str, str] | None:
        return next(iter(differences(job_of(folder, config))), None)

    monkeypatch.setattr("tokbench.convert.config_proof.rendered_differently", rendered_differently)


def auto(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(str(folder))


def added(tokenizer: Any) -> dict[int, tuple[Any, ...]]:
    return {
        id: (token.content, token.special, token.lstrip, token.rstrip, token.single_word, token.normalized)
        for id, token in tokenizer.added_tokens_decoder.items()
    }


def converted(folder: Path, **options: Any) -> Path:
    out = folder.with_name(f"{folder.name}-out")
    convert(tokbench.load(folder), to="transformers", out=out, **options)
    return out


@pytest.mark.parametrize("name", FOLDERS)
def test_converted_folder_opens_in_transformers_like_its_source(tmp_path: Path, name: str) -> None:
    folder = FOLDERS[name](tmp_path / name)
    one, other = auto(folder), auto(converted(folder))
    for role in ROLES:
        assert getattr(other, f"{role}_token") == getattr(one, f"{role}_token"), role
        assert getattr(other, f"{role}_token_id") == getattr(one, f"{role}_token_id"), role
    assert added(other) == added(one)
    assert other.extra_special_tokens == one.extra_special_tokens
    assert other.all_special_tokens == one.all_special_tokens
    assert other.model_max_length == one.model_max_length
    assert other.chat_template == one.chat_template
    for template in (
        other.chat_template if isinstance(other.chat_template, dict) else [None] * bool(one.chat_template)
    ):
        assert other.apply_chat_template(
            CHAT, tokenize=False, chat_template=template
        ) == one.apply_chat_template(CHAT, tokenize=False, chat_template=template)


def test_generation_config_is_converted(tmp_path: Path) -> None:
    folder = model_folders.llama3(tmp_path / "llama3")
    out = converted(folder)
    assert json.loads((out / "generation_config.json").read_bytes()) == {
        "bos_token_id": 259,
        "eos_token_id": [260, 263],
    }
    assert sorted(path.name for path in out.iterdir()) == [
        *("chat_template.jinja", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
    ]


def test_converting_twice_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("llama3", "gemma"):
        once = converted(FOLDERS[name](tmp_path / name))
        twice = converted(once)
        assert [(path.name, path.read_bytes()) for path in sorted(twice.iterdir())] == [
            (path.name, path.read_bytes()) for path in sorted(once.iterdir())
        ]


def test_roles_and_template_given_by_the_user_win(tmp_path: Path) -> None:
    folder = model_folders.llama3(tmp_path / "llama3")
    out = auto(converted(folder, roles={"eos": "<|end_of_text|>"}, chat_template="{{ eos_token }}"))
    assert (out.bos_token, out.eos_token) == ("<|begin_of_text|>", "<|end_of_text|>")
    assert out.apply_chat_template(CHAT, tokenize=False) == "<|end_of_text|>"


def test_role_of_a_missing_token_is_dropped_and_reported(tmp_path: Path) -> None:
    folder = model_folders.llama3(tmp_path / "llama3")
    config = json.loads((folder / "tokenizer_config.json").read_bytes())
    put(folder, {"tokenizer_config.json": {**config, "pad_token": "<pad>"}})
    result = convert(tokbench.load(folder), to="transformers", out=tmp_path / "out")
    assert "'<pad>' is left out: the vocabulary has no such token" in result.notes
    assert auto(tmp_path / "out").pad_token is None


def test_notes_list_what_was_proved_and_what_was_dropped(tmp_path: Path) -> None:
    folder = model_folders.llama3(tmp_path / "llama3")
    notes = convert(tokbench.load(folder), to="transformers", out=tmp_path / "out").notes
    assert (
        "proved as well: 5 added tokens, the role bos, the role eos, the chat template 'default', "
        "the ids that end a turn (260, 263)"
    ) in notes
    assert any(note.startswith("clean_up_tokenization_spaces is written false") for note in notes)
    assert any(note.startswith("generation_config.json is written with") for note in notes)
    bare = convert(trained(), to="transformers", out=tmp_path / "bare")
    assert not any(note.startswith("proved") for note in bare.notes)


@pytest.mark.parametrize("is_put", [True, False])
def test_a_space_in_front_of_a_text_is_written_for_transformers_4(tmp_path: Path, is_put: bool) -> None:
    # Its PreTrainedTokenizerFast sets the option of a lone ByteLevel to the configuration's, by default false.
    folder = tmp_path / "source"
    folder.mkdir()
    put(folder, {"tokenizer.json": huggingface.byte_level(add_prefix_space=is_put)})
    settings = json.loads((converted(folder) / "tokenizer_config.json").read_bytes())
    assert settings.get("add_prefix_space", False) is is_put


# --- what the proof finds ---------------------------------------------------------------------


def spoiled(monkeypatch: pytest.MonkeyPatch, name: str, change: Any) -> None:
    """Make the conversion write a file that differs from what the source asks for."""
    before = target.config_files

    def files(config: Any, **options: Any) -> dict[str, bytes]:
        written = before(config, **options)
        if name.endswith(".json"):
            written[name] = json.dumps(change(json.loads(written[name]))).encode()
        else:
            written[name] = change(written[name].decode()).encode()
        return written

    monkeypatch.setattr(target, "config_files", files)


CONFIG = "tokenizer_config.json"
SPOILED = [
    (CONFIG, lambda config: {**config, "eos_token": "<|end_of_text|>"}, "the role eos"),
    (CONFIG, lambda config: {**config, "pad_token": "<|eot_id|>"}, "the role pad"),
    (
        CONFIG,
        lambda config: {key: value for key, value in config.items() if key != "bos_token"},
        "the role bos",
    ),
    (CONFIG, lambda config: {**config, "additional_special_tokens": []}, "the other special tokens"),
    (
        CONFIG,
        lambda config: {
            **config,
            "added_tokens_decoder": {**config["added_tokens_decoder"], "264": entry("<|new|>")},
        },
        "the added token 264",
    ),
    (CONFIG, lambda config: {**config, "model_max_length": 7}, "the longest text of the model"),
    (CONFIG, lambda config: {**config, "padding_side": "right"}, "padding_side"),
    (
        CONFIG,
        lambda config: {**config, "extra_special_tokens": {"image_token": "<|eot_id|>"}},
        "the token image_token",
    ),
    ("chat_template.jinja", lambda text: text + "x", "the chat template 'default'"),
    ("generation_config.json", lambda config: {**config, "eos_token_id": 260}, "the ids to generate with"),
]


@pytest.mark.parametrize(("name", "change", "what"), SPOILED)
def test_difference_in_a_written_file_fails_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: Any, what: str
) -> None:
    folder = model_folders.llama3(tmp_path / "llama3")
    config = json.loads((folder / CONFIG).read_bytes())
    extra = {"image_token": "<|start_header_id|>", "padding_side": "left"}
    extra["additional_special_tokens"] = ["<|end_header_id|>"]  # type: ignore[assignment]
    put(folder, {CONFIG: {**config, **extra}})
    spoiled(monkeypatch, name, change)
    with pytest.raises(ProofError, match="has a different value for") as failed:
        convert(tokbench.load(folder), to="transformers", out=tmp_path / "out")
    assert f"has a different value for {what}" in failed.value.message
    assert failed.value.proof.disagreement is not None
    assert failed.value.proof.disagreement.expected != failed.value.proof.disagreement.found
    assert not (tmp_path / "out").exists()


def test_difference_in_flags_fails_the_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_folders.roberta(tmp_path / "roberta")
    spoiled(monkeypatch, CONFIG, lambda config: {**config, "added_tokens_decoder": {"263": entry("<mask>")}})
    with pytest.raises(ProofError, match="the added token 263"):
        convert(tokbench.load(folder), to="transformers", out=tmp_path / "out")


def test_invalid_template_is_the_same_error_in_both(tmp_path: Path) -> None:
    result = convert(trained(), to="transformers", out=tmp_path / "out", chat_template="{% if %}")
    assert result.proof.agrees


def test_unknown_piece_in_texts_is_excluded_from_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To transformers it is special by its role unk; in SentencePiece no text can spell it."""
    monkeypatch.setattr("tokbench.convert.proof.input_texts", lambda *_, **__: ["<unk> hi", "hi <s>"])
    folder = FOLDERS["mistral"](tmp_path / "mistral")
    result = convert(tokbench.load(folder), to="transformers", out=tmp_path / "out")
    assert any("texts without '<unk>'" in limit for limit in result.proof.limits)
    assert auto(tmp_path / "out")("hi").input_ids == auto(folder)("hi").input_ids == [1, 4]
