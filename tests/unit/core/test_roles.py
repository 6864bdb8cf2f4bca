"""The roles of special tokens, from every source that states them, through one interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface, model_folders
from support.sentencepiece_models import variant

import tokbench
from tokbench.core.roles import ROLES, TURN_ENDS, role_ids_of, roles_of
from tokbench.errors import ConfigError
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SPECIALS = ["<s>", "</s>", "<|im_end|>", "<pad>"]


@pytest.fixture(scope="module")
def plain() -> Any:
    return tokbench.train(["low lower lowest"] * 3, vocab_size=265, special_tokens=SPECIALS)


def test_tokenizer_without_roles_has_none() -> None:
    assert roles_of(object()) == role_ids_of(object()) == {}


def test_turn_end_is_recognized_by_its_name(plain: Any) -> None:
    assert roles_of(plain) == {"turn_end": "<|im_end|>"}
    assert role_ids_of(plain) == {"turn_end": plain.info.special_tokens["<|im_end|>"]}


def test_configuration_files_state_roles(tmp_path: Path) -> None:
    opened = tokbench.load(model_folders.llama3(tmp_path / "llama3"))
    assert roles_of(opened) == {"bos": "<|begin_of_text|>", "eos": "<|eot_id|>", "turn_end": "<|eot_id|>"}
    assert role_ids_of(opened) == {"bos": 259, "eos": 263, "turn_end": 263}


def test_sentencepiece_model_states_roles() -> None:
    model = variant("unigram as t5")
    assert role_ids_of(model) == {"eos": 1, "pad": 0, "unk": 2}
    assert roles_of(model)["unk"] == "<unk>"


@pytest.mark.parametrize(
    ("document", "roles"),
    [
        (huggingface.wordpiece(), {"unk": "[UNK]"}),
        (huggingface.word_level(), {"unk": "<unk>"}),
        (huggingface.byte_level(), {}),
    ],
)
def test_tokenizer_json_states_roles(tmp_path: Path, document: bytes, roles: Mapping[str, str]) -> None:
    (tmp_path / "tokenizer.json").write_bytes(document)
    stated = roles_of(tokbench.load(tmp_path / "tokenizer.json"))
    assert {role: stated[role] for role in roles} == roles
    assert "eos" not in stated


def test_roles_given_by_the_user_win(tmp_path: Path) -> None:
    folder = model_folders.llama3(tmp_path / "llama3")
    opened = tokbench.load(folder, roles={"eos": "<|end_of_text|>", "pad": "<|end_of_text|>"})
    assert role_ids_of(opened) == {"bos": 259, "eos": 260, "pad": 260, "turn_end": 263}


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"end": "<s>"}, "there is no role 'end'"),
        ({"eos": "</S>"}, "'</S>', given as eos, is not a special token"),
        (
            {"pad": "no such token"},
            "--special-token adds one to a bare vocabulary, `tokbench extend` to others",
        ),
    ],
)
def test_unknown_role_or_token_is_refused(tmp_path: Path, roles: Mapping[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tokbench.load(model_folders.llama3(tmp_path / "llama3"), roles=roles)
    assert words in f"{caught.value.message} {caught.value.hint}"


def test_role_of_a_missing_token_is_ignored(tmp_path: Path) -> None:
    folder = model_folders.llama3(tmp_path / "llama3")
    (folder / "special_tokens_map.json").write_text('{"pad_token": "<|nowhere|>"}')
    (folder / "tokenizer_config.json").write_text('{"eos_token": "<|eot_id|>"}')
    assert roles_of(tokbench.load(folder)) == {"eos": "<|eot_id|>", "turn_end": "<|eot_id|>"}


@pytest.mark.slow
@pytest.mark.usefixtures("short_proofs")
def test_roles_survive_training_saving_and_conversion(tmp_path: Path) -> None:
    given = {"bos": "<s>", "eos": "</s>", "turn_end": "<|im_end|>", "pad": "<pad>"}
    tokenizer = tokbench.train(["low lower lowest"] * 3, vocab_size=265, special_tokens=SPECIALS, roles=given)
    ids = {role: tokenizer.info.special_tokens[text] for role, text in given.items()}
    assert roles_of(tokenizer) == given
    assert list(roles_of(tokenizer)) == [role for role in ROLES if role in given]
    tokenizer.save(tmp_path / "mine")
    assert role_ids_of(tokbench.load(tmp_path / "mine")) == ids
    for to, out in (("tokbin", "mine.tokbin"), ("transformers", "folder")):
        result = convert(tokenizer, to=to, out=tmp_path / out)
        assert result.proof.agrees
        assert role_ids_of(tokbench.load(tmp_path / out)) == ids


def test_transformers_reads_the_turn_end(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    roles = {"eos": "</s>", "turn_end": "<|im_end|>"}
    tokbench.train(["low"] * 9, vocab_size=261, special_tokens=SPECIALS, roles=roles).save(tmp_path / "mine")
    opened = transformers.AutoTokenizer.from_pretrained(tmp_path / "mine")
    assert (opened.eos_token, opened.eot_token) == ("</s>", "<|im_end|>")
    generation = transformers.GenerationConfig.from_pretrained(tmp_path / "mine")
    assert generation.eos_token_id == opened.convert_tokens_to_ids(["</s>", "<|im_end|>"])


def test_first_known_turn_end_name_wins() -> None:
    tokenizer = tokbench.train(["low"] * 9, vocab_size=261, special_tokens=[TURN_ENDS[3], TURN_ENDS[1]])
    assert roles_of(tokenizer) == {"turn_end": TURN_ENDS[1]}


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"pad": 5}, "which is not a string"),
        ({"pad": None}, "which is not a string"),
        ({5: "x"}, "there is no role 5"),
        ({"pad": "\ud800"}, "has no UTF-8 form"),
        ({"pad": ""}, "not a special token"),
        ("pad", "from their names"),
    ],
)
def test_invalid_roles_are_refused(roles: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        tokbench.load("default", roles=roles)
    with pytest.raises(ConfigError, match=words):
        tokbench.train(["text"], vocab_size=256, roles=roles)


@pytest.mark.parametrize("backend", ["bpe", "wordpiece", "sentencepiece", "unigram", "byte", "char", "word"])
@pytest.mark.parametrize("preset", ["mistral", "gemma", "bert", "chatml"])
def test_text_never_encodes_to_the_token_of_a_role(backend: str, preset: str) -> None:
    texts = ["low lower <unk> [MASK] pad s INST"] * 20
    tokenizer = tokbench.train(texts, backend=backend, special_preset=preset)
    text = " ".join(["", *tokenizer.info.special_tokens, *tokenizer.roles.values()]) + "<s></s>[CLS]"
    roles = {id: role for role, id in tokenizer.role_ids.items() if role != "unk"}
    for ids in (
        tokenizer.encode(text),
        tokenizer.encode_batch([text]).ids.tolist(),
        tokenizer.batch([text], template=False).ids[0],
    ):
        assert not roles.keys() & set(ids)
