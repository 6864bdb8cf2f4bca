"""Tests for the rules on roles, ids beyond the model's rows, begin-of-text tokens and turn ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface, model_folders
from support.lint import byte_level, findings_of, outcome_of, target_of
from support.sentencepiece_models import scored, unknown, written

from tokbench.lint.findings import Severity

if TYPE_CHECKING:
    from pathlib import Path

RULES = (
    "id-beyond-model",
    "id-gap",
    "pad-is-eos",
    "missing-role",
    "class-adds-token",
    "bos-count",
    "turn-end-not-eos",
)
BOS, EOS, PAD, END = "<|bos|>", "<|eos|>", "<|pad|>", "<|im_end|>"
ROLES = {"bos_token": BOS, "eos_token": EOS, "pad_token": PAD}
TEMPLATE = "{{ bos_token }}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}"


def with_roles(*before: str, **parts: Any) -> dict[str, Any]:
    """Return a vocabulary with all roles whose template puts the tokens `before` in front of a text."""
    ids = {text: 256 + n for n, text in enumerate((BOS, EOS, PAD, END))}
    processor = {
        "type": "TemplateProcessing",
        "single": [
            *({"SpecialToken": {"id": text, "type_id": 0}} for text in before),
            {"Sequence": {"id": "A", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {text: {"id": text, "ids": [id], "tokens": [text]} for text, id in ids.items()},
    }
    added = [huggingface.added(text, id) for text, id in ids.items()]
    return byte_level(added_tokens=added, **{"post_processor": processor if before else None, **parts})


def config(**more: Any) -> dict[str, Any]:
    return {"tokenizer_config.json": {**ROLES, **more}}


@pytest.mark.parametrize("rule", RULES)
def test_valid_folder_has_no_findings(tmp_path: Path, rule: str) -> None:
    beside = config(chat_template=TEMPLATE, add_bos_token=False)
    beside |= {"generation_config.json": {"eos_token_id": [257, 259]}, "config.json": {"vocab_size": 260}}
    assert findings_of(rule, target_of(with_roles(), tmp_path, beside=beside)) == ()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("damage", [b"{", b"[1]", b'{"vocab_size": "many", "eos_token_id": [[]]}', b"null"])
def test_damaged_configuration_files_are_ignored(tmp_path: Path, rule: str, damage: bytes) -> None:
    names = ("config.json", "tokenizer_config.json", "generation_config.json")
    outcome = outcome_of(rule, target_of(with_roles(), tmp_path, beside=dict.fromkeys(names, damage)))
    assert outcome.findings == ()


def test_ids_beyond_the_models_vocabulary_size_are_found(tmp_path: Path) -> None:
    [finding] = findings_of("id-beyond-model", target_of(with_roles(), tmp_path, model_vocab_size=258))
    assert finding.token_ids == (258, 259)
    beside = {"config.json": {"text_config": {"vocab_size": 259}}}
    [finding] = findings_of("id-beyond-model", target_of(with_roles(), tmp_path / "config", beside=beside))
    assert finding.token_ids == (259,)


def test_unknown_id_in_the_generation_config_is_found(tmp_path: Path) -> None:
    beside = {"generation_config.json": {"eos_token_id": 999}}
    [finding] = findings_of("id-beyond-model", target_of(with_roles(), tmp_path, beside=beside))
    assert finding.subject == "eos_token_id 999"


def test_gaps_in_the_ids_are_found(tmp_path: Path) -> None:
    vocab = {text: id + (id > 99) * 3 for text, id in byte_level()["model"]["vocab"].items()}
    [finding] = findings_of("id-gap", target_of(byte_level(model={"vocab": vocab}), tmp_path))
    assert finding.details == {"ids": [100, 101, 102]}
    assert "100–102" in finding.evidence


def test_pad_token_equal_to_eos_is_found(tmp_path: Path) -> None:
    target = target_of(with_roles(), tmp_path, beside=config(pad_token=EOS))
    [finding] = findings_of("pad-is-eos", target)
    assert EOS in finding.subject
    assert finding.severity is Severity.WARNING


def test_pad_equal_to_eos_by_the_classs_default_is_a_note(tmp_path: Path) -> None:
    text = "<|endoftext|>"
    config = {"tokenizer_class": "CLIPTokenizer", "eos_token": text, "pad_token": text}
    document = byte_level(tokens=[text], added_tokens=[huggingface.added(text, 256)])
    target = target_of(document, tmp_path, beside={"tokenizer_config.json": config})
    [finding] = findings_of("pad-is-eos", target)
    assert finding.severity is Severity.NOTE
    assert "as CLIPTokenizer has it" in finding.evidence


def test_missing_roles_are_found(tmp_path: Path) -> None:
    beside = {"tokenizer_config.json": {"bos_token": BOS}}
    eos, pad = findings_of("missing-role", target_of(with_roles(), tmp_path, beside=beside))
    assert (eos.severity, pad.severity) == (Severity.WARNING, Severity.NOTE)


def test_unknown_piece_of_a_model_has_the_role_unk(tmp_path: Path) -> None:
    roles = {"unk_token": "<unk>", "eos_token": "a", "pad_token": "b"}
    pieces = written([unknown(), *scored({"▁": -1.0, "a": -1.0, "b": -2.0})])
    model_folders.put(tmp_path, {"tokenizer.model": pieces, "tokenizer_config.json": roles})
    assert findings_of("missing-role", target_of(tmp_path, tmp_path)) == ()


def test_template_with_two_bos_tokens_is_found(tmp_path: Path) -> None:
    [finding] = findings_of("bos-count", target_of(with_roles(BOS, BOS), tmp_path, beside=config()))
    assert finding.severity is Severity.ERROR
    assert "2 times" in finding.evidence


def test_add_bos_token_that_contradicts_the_template_is_found(tmp_path: Path) -> None:
    target = target_of(with_roles(EOS), tmp_path, beside=config(add_bos_token=True))
    [finding] = findings_of("bos-count", target)
    assert "add_bos_token=true" in finding.evidence


@pytest.mark.parametrize(
    ("template", "severity"), [(TEMPLATE, Severity.NOTE), ("{{ messages }}", Severity.WARNING)]
)
def test_chat_template_with_two_or_no_bos_tokens_is_found(
    tmp_path: Path, template: str, severity: Severity
) -> None:
    target = target_of(with_roles(BOS), tmp_path, beside=config(chat_template=template))
    [finding] = findings_of("bos-count", target)
    assert finding.severity is severity


def test_turn_end_that_does_not_stop_generation_is_found(tmp_path: Path) -> None:
    beside = config(chat_template=TEMPLATE) | {"generation_config.json": {"eos_token_id": 257}}
    [finding] = findings_of("turn-end-not-eos", target_of(with_roles(), tmp_path, beside=beside))
    assert finding.token_ids == (259,)
    assert "as generation_config.json says" in finding.evidence
    assert finding.severity is Severity.WARNING


def test_turn_end_without_a_generation_config_is_a_note(tmp_path: Path) -> None:
    target = target_of(with_roles(), tmp_path, beside=config(chat_template=TEMPLATE))
    [finding] = findings_of("turn-end-not-eos", target)
    assert finding.severity is Severity.NOTE
    assert "no generation_config.json says more" in finding.evidence


def test_turn_end_that_is_no_token_is_found(tmp_path: Path) -> None:
    template = "{{ messages[0].content }}<|eot_id|>"
    target = target_of(with_roles(), tmp_path, beside=config(chat_template=template))
    [finding] = findings_of("turn-end-not-eos", target)
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize("make", [model_folders.llama3, model_folders.qwen])
def test_well_known_folders_stop_at_their_turn_end(tmp_path: Path, make: Any) -> None:
    assert findings_of("turn-end-not-eos", target_of(make(tmp_path / "model"), tmp_path)) == ()


@pytest.mark.parametrize(
    ("settings", "model", "added"),
    [
        ({"tokenizer_class": "GPT2Tokenizer"}, {}, ("<|endoftext|>",)),
        ({"tokenizer_class": "RobertaTokenizer", "mask_token": None}, {}, ("<s>", "</s>", "<unk>", "<pad>")),
        (
            {"tokenizer_class": "GPT2Tokenizer", **dict.fromkeys(("bos_token", "eos_token", "unk_token"))},
            {},
            (),
        ),
        ({"tokenizer_class": "PreTrainedTokenizerFast"}, {}, ()),
        ({}, {"tokenizer_class": "BertTokenizer"}, ("[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]")),
    ],
)
def test_special_tokens_that_only_the_class_has_are_found(
    tmp_path: Path, settings: dict[str, Any], model: dict[str, Any], added: tuple[str, ...]
) -> None:
    beside = {"tokenizer_config.json": settings, "config.json": model}
    found = findings_of("class-adds-token", target_of(byte_level(), tmp_path, beside=beside))
    assert [sorted(each.details["tokens"]) for each in found] == ([sorted(added)] if added else [])
    assert all("with new ids, from 256 on" in each.evidence for each in found)


@pytest.mark.parametrize(
    ("settings", "model_type", "version"),
    [
        ({"tokenizer_class": "GemmaTokenizer"}, "gemma", "transformers adds"),
        ({"tokenizer_class": "GPT2Tokenizer"}, "olmo2", "transformers 4 adds"),
        ({"tokenizer_class": "LlamaTokenizer"}, "llama", "transformers 4 adds"),
        ({}, "gpt2", "transformers 4 adds"),
    ],
    ids=["named", "the file as it is", "a LlamaTokenizer of bytes", "implied"],
)
def test_version_5_adds_none_where_it_takes_the_file_as_it_is(
    tmp_path: Path, settings: dict[str, Any], model_type: str, version: str
) -> None:
    beside = {"tokenizer_config.json": settings, "config.json": {"model_type": model_type}}
    [finding] = findings_of("class-adds-token", target_of(byte_level(), tmp_path, beside=beside))
    assert version in finding.evidence
