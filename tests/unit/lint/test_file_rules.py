"""Tests that files that contradict one another are found and that consistent files give no findings."""

from __future__ import annotations

import hashlib
import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface, model_folders
from support.lint import GPT2_SPLIT, NO_SPLIT, byte_level, findings_of, outcome_of, target_of
from support.places import SHARED

from tokbench.backends.bpe.split_patterns import resolve_pattern, split
from tokbench.lint.agreement import near_pattern
from tokbench.lint.findings import Severity
from tokbench.lint.llama_cpp_names import HASHES, converter_hash, names_of_hash
from tokbench.opening.patterns import pattern_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DOCUMENT = byte_level(("a", "b"), ("ab", "c"))
VOCAB = DOCUMENT["model"]["vocab"]
MERGES = "#version: 0.2\na b\nab c\n"
RULES = (
    *("class-disagrees", "vocabulary-files-disagree", "pattern-as-string", "almost-known-pattern"),
    *("clean-up-spaces", "program-beside"),
)
REAL = SHARED / "vocab"


def splitting(pattern: Mapping[str, str]) -> dict[str, Any]:
    step = {"type": "Split", "pattern": dict(pattern), "behavior": "Isolated", "invert": False}
    return byte_level(pre_tokenizer={"type": "Sequence", "pretokenizers": [step, NO_SPLIT]})


@pytest.mark.parametrize("rule", RULES)
def test_consistent_files_have_no_findings(tmp_path: Path, rule: str) -> None:
    config = {"tokenizer_class": "GPT2TokenizerFast", "clean_up_tokenization_spaces": False}
    beside = {"vocab.json": VOCAB, "merges.txt": MERGES, "tokenizer_config.json": config}
    outcome = outcome_of(rule, target_of(DOCUMENT, tmp_path, beside=beside))
    assert outcome.findings == ()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("damage", [b"[[]]", b"7", b'{"auto_map": 3, "tokenizer_class": []}'])
def test_malformed_configuration_files_do_not_stop_a_rule(tmp_path: Path, rule: str, damage: bytes) -> None:
    names = ("config.json", "tokenizer_config.json", "vocab.json")
    assert outcome_of(rule, target_of(DOCUMENT, tmp_path, beside=dict.fromkeys(names, damage))) is not None


@pytest.mark.parametrize("name", ["BertTokenizer", "LlamaTokenizerFast", "T5TokenizerFast"])
def test_class_of_another_model_type_is_found(tmp_path: Path, name: str) -> None:
    beside = {"tokenizer_config.json": {"tokenizer_class": name}}
    [finding] = findings_of("class-disagrees", target_of(DOCUMENT, tmp_path, beside=beside))
    assert "tokenizer.json has byte-level BPE" in finding.evidence
    # AutoTokenizer of 5.24 looks for bytes in the file of a LlamaTokenizer, as DeepSeek's, and leaves it unchanged.
    assert ("5.24 take the file as it is" in finding.evidence) is name.startswith("Llama")


@pytest.mark.parametrize(
    ("name", "settings", "document", "part"),
    [
        ("Qwen2TokenizerFast", {}, byte_level(("1", "2")), "pre_tokenizer"),
        ("GPT2Tokenizer", {"add_prefix_space": True}, byte_level(("a", "b")), "pre_tokenizer"),
        ("GPT2Tokenizer", {}, byte_level(("a", " "), pre_tokenizer=NO_SPLIT), "pre_tokenizer"),
        ("BertTokenizer", {"do_lower_case": False}, huggingface.wordpiece(), "normalizer"),
        ("T5Tokenizer", {}, huggingface.unigram(), "normalizer"),
        ("LlamaTokenizer", {}, huggingface.byte_fallback(), "normalizer"),
    ],
    ids=["pattern", "prefix space", "no pattern", "lower case", "T5", "Llama"],
)
def test_class_with_another_pattern_or_normalizer_is_found_with_a_text(
    tmp_path: Path, name: str, settings: dict[str, Any], document: Any, part: str
) -> None:
    beside = {"tokenizer_config.json": {"tokenizer_class": name, **settings}}
    [finding] = findings_of("class-disagrees", target_of(document, tmp_path, beside=beside))
    assert finding.severity is Severity.WARNING, finding.evidence
    assert part in finding.details["parts"]
    assert finding.details["text"]
    # transformers 4 follows these settings, too, and takes the rest of the file as it is.
    assert [name for name in settings if f"as it is but for {name}: " in finding.evidence] == [*settings]


@pytest.mark.parametrize(
    ("setting", "value"), [("max_input_chars_per_word", 3), ("continuing_subword_prefix", "--")]
)
def test_class_with_another_model_is_found_with_a_text(tmp_path: Path, setting: str, value: object) -> None:
    document = json.loads(huggingface.wordpiece())
    document["model"][setting] = value
    beside = {"tokenizer_config.json": {"tokenizer_class": "BertTokenizer"}}
    [finding] = findings_of("class-disagrees", target_of(document, tmp_path, beside=beside))
    assert finding.details["parts"] == (setting,)
    assert finding.details["text"]


@pytest.mark.parametrize(
    ("name", "document"),
    [("BertTokenizer", huggingface.wordpiece), ("RobertaTokenizer", huggingface.byte_level)],
)
def test_class_of_the_same_pipeline_has_no_findings(tmp_path: Path, name: str, document: Any) -> None:
    beside = {"tokenizer_config.json": {"tokenizer_class": name}}
    assert findings_of("class-disagrees", target_of(document(), tmp_path, beside=beside)) == ()


@pytest.mark.parametrize(
    ("name", "listed", "flags", "lost"),
    [
        ("Qwen2Tokenizer", ["<x>"], {"lstrip": True, "rstrip": True}, "lstrip, rstrip"),
        ("Qwen2TokenizerFast", ["<x>"], {"normalized": True}, "normalized"),
        ("Qwen2Tokenizer", ["<x>"], {}, None),
        ("Qwen2Tokenizer", [], {"lstrip": True}, None),
        ("GPT2Tokenizer", ["<x>"], {"lstrip": True}, None),
    ],
)
def test_flags_that_a_class_drops_are_found(
    tmp_path: Path, name: str, listed: list[str], flags: dict[str, bool], lost: str | None
) -> None:
    document = byte_level(added_tokens=[huggingface.added("<x>", 256) | flags])
    roles = dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"))
    config = {"tokenizer_class": name, "additional_special_tokens": listed, **roles}
    target = target_of(document, tmp_path, beside={"tokenizer_config.json": config})
    found = [each.evidence for each in findings_of("class-disagrees", target) if "flags" in each.evidence]
    assert len(found) == (lost is not None)
    assert all(f'as {lost} of "<x>"' in each for each in found)


def test_different_ids_and_missing_tokens_are_found(tmp_path: Path) -> None:
    swapped = {**VOCAB, "a": VOCAB["b"], "b": VOCAB["a"]}
    [finding] = findings_of(
        "vocabulary-files-disagree", target_of(DOCUMENT, tmp_path, beside={"vocab.json": swapped})
    )
    assert finding.severity is Severity.ERROR
    assert finding.evidence.startswith("different ids than in tokenizer.json for 2 tokens: ")
    fewer = {piece: id for piece, id in VOCAB.items() if piece != "abc"}
    [finding] = findings_of(
        "vocabulary-files-disagree", target_of(DOCUMENT, tmp_path / "fewer", beside={"encoder.json": fewer})
    )
    assert finding.severity is Severity.WARNING


def test_different_merges_are_found_at_their_rank(tmp_path: Path) -> None:
    beside = {"merges.txt": "#version: 0.2\na b\nb c\n"}
    [finding] = findings_of("vocabulary-files-disagree", target_of(DOCUMENT, tmp_path, beside=beside))
    assert finding.evidence.startswith('merge 1 is "b c" there and "ab c"')


def test_unreadable_vocabulary_is_reported(tmp_path: Path) -> None:
    beside = {"vocab.json": b"{"}
    [finding] = findings_of("vocabulary-files-disagree", target_of(DOCUMENT, tmp_path, beside=beside))
    assert finding.evidence.startswith("it cannot be read")


def test_regex_saved_as_a_plain_string_is_found(tmp_path: Path) -> None:
    [finding] = findings_of("pattern-as-string", target_of(splitting({"String": r"\p{L}+|\s+"}), tmp_path))
    assert finding.subject == "a Split of the pre_tokenizer"
    assert findings_of("pattern-as-string", target_of(splitting({"String": " "}), tmp_path / "space")) == ()


@pytest.mark.parametrize("name", [name for name in pattern_names() if name != "none"])
def test_known_patterns_are_not_almost_known(name: str) -> None:
    regex = resolve_pattern(name).regex
    assert regex is not None
    near = near_pattern(regex)
    assert near is None


def test_almost_known_pattern_is_found_with_a_text(tmp_path: Path) -> None:
    regex = (resolve_pattern("llama3").regex or "").replace(r"\p{N}{1,3}", r"\p{N}{1,4}")
    [finding] = findings_of("almost-known-pattern", target_of(splitting({"Regex": regex}), tmp_path))
    details = finding.details
    assert details["name"] == "llama3"
    assert list(details["here"]) == split(resolve_pattern(regex), details["text"])
    assert list(details["there"]) == split(resolve_pattern("llama3"), details["text"])
    assert details["here"] != details["there"]


def test_clean_up_spaces_is_found_for_bpe_only(tmp_path: Path) -> None:
    beside = {"tokenizer_config.json": {"clean_up_tokenization_spaces": True}}
    assert findings_of("clean-up-spaces", target_of(DOCUMENT, tmp_path, beside=beside)) != ()
    words = target_of(huggingface.wordpiece(), tmp_path / "words", beside=beside)
    assert findings_of("clean-up-spaces", words) == ()
    assert findings_of("clean-up-spaces", target_of(model_folders.llama3(tmp_path / "l"), tmp_path)) != ()


def test_pickles_and_python_files_are_found(tmp_path: Path) -> None:
    beside = {
        "tokenizer.pkl": b"",
        "pytorch_model.bin": b"",
        "tokenization_x.py": b"",
        "config.json": {"auto_map": {"AutoTokenizer": ["tokenization_x.XTokenizer", None]}},
    }
    findings = findings_of("program-beside", target_of(DOCUMENT, tmp_path, beside=beside))
    assert {finding.subject: finding.severity for finding in findings} == {
        "pytorch_model.bin": Severity.NOTE,
        "tokenizer.pkl": Severity.WARNING,
        "tokenization_x.py": Severity.WARNING,
        "auto_map of config.json": Severity.WARNING,
    }


def test_the_program_that_tokbench_writes_is_not_found(tmp_path: Path) -> None:
    """It stands beside each pruned or extended tokenizer, and nothing loads it; a changed copy is any program."""
    own = (files("tokbench") / "surgery" / "resize_embeddings.py").read_bytes()
    beside = {"resize_embeddings.py": own}
    assert findings_of("program-beside", target_of(DOCUMENT, tmp_path, beside=beside)) == ()
    for number, other in enumerate(({"resize_embeddings.py": own + b"#"}, {"tokenization_x.py": own})):
        target = target_of(DOCUMENT, tmp_path / str(number), beside=other)
        assert len(findings_of("program-beside", target)) == 1


def test_converter_hash_is_computed_from_the_ids(tmp_path: Path) -> None:
    tokenizer = target_of(byte_level(pre_tokenizer=GPT2_SPLIT), tmp_path).tokenizer
    computed = converter_hash(tokenizer)
    assert names_of_hash(computed) == ()
    assert len(computed) == len(hashlib.sha256().hexdigest())


@pytest.mark.real
@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("gpt2", "gpt-2"),
        ("roberta-base", "roberta-bpe"),
        ("baai-bge-small-en", "bert-bge"),
        ("falcon", "falcon"),
        ("gguf/ggml-vocab-mpt.gguf", "olmo"),
    ],
)
def test_converter_hashes_of_real_vocabularies_equal_llama_cpps(
    tmp_path: Path, place: str, name: str
) -> None:
    if not (REAL / place).exists():
        pytest.skip("the real vocabularies are not here")
    assert name in names_of_hash(converter_hash(target_of(REAL / place, tmp_path).tokenizer))


def test_known_converter_hashes_are_valid() -> None:
    listed = [digest for hashes in HASHES.values() for digest in hashes]
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in listed)
    assert {len(names_of_hash(digest)) for digest in listed} == {1, 2}


def test_vocabulary_unknown_to_llama_cpp_is_reported(tmp_path: Path) -> None:
    outcome = outcome_of("gguf-pre-tokenizer", target_of(DOCUMENT, tmp_path))
    assert (outcome.findings, outcome.figures["known_as"]) == ((), "nothing: its converter refuses it")


@pytest.mark.real
@pytest.mark.slow
def test_gguf_with_a_wrong_pre_tokenizer_is_found(tmp_path: Path) -> None:
    original = REAL / "gguf/ggml-vocab-gpt-2.gguf"
    if not original.is_file():
        pytest.skip("the real vocabularies are not here")
    assert findings_of("gguf-pre-tokenizer", target_of(original, tmp_path)) == ()
    data = original.read_bytes()
    entry = b"tokenizer.ggml.pre" + (8).to_bytes(4, "little") + (5).to_bytes(8, "little")
    assert entry + b"gpt-2" in data
    changed = tmp_path / "changed.gguf"
    changed.write_bytes(data.replace(entry + b"gpt-2", entry + b"qwen2"))
    [finding] = findings_of("gguf-pre-tokenizer", target_of(changed, tmp_path))
    assert (finding.subject, finding.severity) == ("tokenizer.ggml.pre qwen2", Severity.ERROR)
    assert "that of gpt-2" in finding.evidence
