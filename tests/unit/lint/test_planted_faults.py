"""Tests that every rule finds a fault planted for it, and that a clean folder has no errors or warnings."""

from __future__ import annotations

import struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from support import huggingface
from support.lint import CHATML, GPT2_SPLIT, NO_SPLIT, PLAIN, byte_level, findings_of, target_of

from tokbench.backends.bpe.split_patterns import resolve_pattern
from tokbench.lint import speed_rules
from tokbench.lint.catalogue import all_rules
from tokbench.lint.findings import Severity
from tokbench.workbench.lint import lint_target

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

START, END, BOS, PAD = "<|im_start|>", "<|im_end|>", "<|bos|>", "<|pad|>"
MERGES = (("a", "b"), ("c", "d"), ("ab", "cd"))
SPACES = ((" ", " "), ("  ", "  "), ("    ", "    "))
TENS = [(str(left), str(right)) for left in range(10) for right in range(10)]


class Plant(NamedTuple):
    """A tokenizer with a fault, as arguments of `support.lint.target_of`."""

    document: Any
    options: Mapping[str, Any] = MappingProxyType({})


def added(*texts: str, flags: dict[str, bool] | None = None, **parts: Any) -> dict[str, Any]:
    """Return a vocabulary with added tokens."""
    tokens = [huggingface.added(text, 256 + number, **(flags or {})) for number, text in enumerate(texts)]
    return byte_level(tokens=texts, added_tokens=tokens, **parts)


def configured(document: Any = None, *, beside: dict[str, Any] | None = None, **config: Any) -> Plant:
    """Return a folder with a `tokenizer_config.json` beside the vocabulary."""
    document = byte_level(*MERGES) if document is None else document
    return Plant(document, {"beside": {"tokenizer_config.json": config, **(beside or {})}})


def chat(template: str, *, beside: dict[str, Any] | None = None, **config: Any) -> Plant:
    """Return a folder with the given chat template and no other fault."""
    roles = {"eos_token": END, "bos_token": BOS, "pad_token": PAD, "chat_template": template}
    document = added(START, END, BOS, PAD, pre_tokenizer=GPT2_SPLIT)
    return configured(document, beside=beside, **{**roles, **config})


def with_reference(document: Any, reference: Any) -> Plant:
    return Plant(document, {"reference": reference})


def split(pattern: dict[str, str]) -> dict[str, Any]:
    step = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    return byte_level(*MERGES, pre_tokenizer={"type": "Sequence", "pretokenizers": [step, NO_SPLIT]})


def replacing(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return byte_level(normalizer={"type": "Replace", "pattern": pattern, "content": content})


def wordpiece(*pieces: str) -> dict[str, Any]:
    model = {"type": "WordPiece", "vocab": {piece: id for id, piece in enumerate(("[UNK]", *pieces))}}
    settings = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    return huggingface.document({**model, **settings}, pre_tokenizer={"type": "BertPreTokenizer"})


def swapped() -> dict[str, Any]:
    document = byte_level(*MERGES)
    vocab = document["model"]["vocab"]
    vocab["ab"], vocab["cd"] = vocab["cd"], vocab["ab"]
    return document


def unigram(score: float) -> dict[str, Any]:
    vocab = [["<unk>", 0.0], ["a", -1.0], ["b", score]]
    return huggingface.document({"type": "Unigram", "vocab": vocab, "unk_id": 0})


def with_id_gap() -> dict[str, Any]:
    vocab = {text: id + (id > 99) * 3 for text, id in byte_level()["model"]["vocab"].items()}
    return byte_level(model={"vocab": vocab})


def undecidable() -> dict[str, Any]:
    """Return a vocabulary with a token whose text is changed by a normalizer that the linter cannot analyse."""
    before = {"type": "Replace", "pattern": {"Regex": "(?<=x)y"}, "content": "z"}
    return byte_level(("x", "y"), normalizer=before)


def overwritten() -> dict[str, Any]:
    regex = (resolve_pattern("llama3").regex or "").replace(r"\p{N}{1,3}", r"\p{N}{1,4}")
    return split({"Regex": regex})


UNUSED = [("q", "x"), *((chr(left), chr(right)) for left in range(97, 113) for right in range(97, 123))]
USED = " ".join("".join(pair) for pair in UNUSED[1:])
PLANTS: dict[str, Plant] = {
    "unreachable-token": Plant(byte_level(("a", "b"), tokens=["abc"])),
    "undecided-token": Plant(undecidable()),
    "merge-not-best": Plant(byte_level(("c", "d"), ("a", "b")), {"corpus": ["ab ab ab cd cd"]}),
    "merge-without-count": Plant(byte_level(("a", "b"), ("a", "z")), {"corpus": ["ab ab ab"]}),
    "merge-count-overflow": Plant(byte_level(("a", "b")), {"word_counts": {"ab": 2**31}}),
    "missing-byte": Plant(byte_level(without=[0xE4])),
    "missing-continuation": Plant(wordpiece("a", "b", "##a", ".")),
    "vanishing-character": Plant(replacing({"String": "\u200d"}, "")),
    "bidi-in-token": Plant(byte_level(tokens=["x\u202e"])),
    "invisible-in-token": Plant(byte_level(tokens=["x\u200b"])),
    "control-in-token": Plant(byte_level(tokens=["x\x1b"])),
    "lost-white-space": Plant(replacing({"Regex": " +"}, " ")),
    "space-at-special-token": Plant(added("<a>", flags={"lstrip": True})),
    "uneven-digits": Plant(byte_level(*TENS[:7])),
    "indentation-by-space": Plant(byte_level()),
    "duplicate-token": Plant(byte_level(tokens=["é", "e\u0301"])),
    "straddling-token": Plant(byte_level((" ", b"\xe4"))),
    "junk-token": Plant(byte_level(tokens=["-" * 32])),
    "unused-token": Plant(byte_level(*UNUSED), {"corpus": [f"{USED} " * 300]}),
    "intermediate-token": Plant(byte_level(("t", "h"), ("th", "e")), {"corpus": ["the " * 200]}),
    "overlapping-added-token": Plant(added("[xy]", "y]z")),
    "indistinct-added-token": Plant(added("Go", "go", flags={"normalized": True}, normalizer={"type": "Lowercase"})),
    "added-token-takes-space": Plant(added("tok", flags={"single_word": True})),
    "special-token-from-text": Plant(
        byte_level(
            ("<", "x"), ("<x", ">"), added_tokens=[huggingface.added("<x>", 257)], pre_tokenizer=NO_SPLIT
        )
    ),
    "plain-special-token": Plant(added("user")),
    "byte-characters-in-added-token": Plant(added("<|aĠb|>")),
    "id-beyond-model": Plant(byte_level(), {"model_vocab_size": 255}),
    "id-gap": Plant(with_id_gap()),
    "pad-is-eos": chat(CHATML, pad_token=END),
    "missing-role": configured(added(BOS), bos_token=BOS),
    "class-adds-token": configured(tokenizer_class="GPT2Tokenizer"),
    "bos-count": chat(BOS + BOS + CHATML),
    "turn-end-not-eos": chat(CHATML, beside={"generation_config.json": {"eos_token_id": 258}}),
    "template-refuses": chat("{% if %}"),
    "template-drops": chat(CHATML.replace("in messages %}", "in messages if m.role != 'system' %}")),
    "template-null": chat(PLAIN),
    "template-arguments": chat(CHATML.replace("c.function.arguments is string", "false")),
    "template-parts": chat(PLAIN),
    "template-history": chat("{{ messages|length }}" + CHATML),
    "template-date": chat("{{ strftime_now('%Y') }}" + CHATML),
    "template-prompt": chat(CHATML.replace("assistant\n{% endif %}", "assistant\n<s>{% endif %}")),
    "template-empty-mask": chat(CHATML + "{% generation %}{% endgeneration %}"),
    "template-mask-to-end": chat("{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"),
    "class-disagrees": configured(tokenizer_class="BertTokenizer"),
    "needs-transformers-5": configured(tokenizer_class="TokenizersBackend"),
    "settings-disagree": configured(add_prefix_space=True),
    "vocabulary-files-disagree": configured(beside={"vocab.json": swapped()["model"]["vocab"]}),
    "tokenizers-disagree": configured(beside={"other_tokenizer.json": swapped()}),
    "pattern-as-string": Plant(split({"String": r"\p{L}+|\s+"})),
    "almost-known-pattern": Plant(overwritten()),
    "clean-up-spaces": configured(clean_up_tokenization_spaces=True),
    "program-beside": configured(beside={"tokenizer.pkl": b""}),
    "swapped-id": with_reference(swapped(), byte_level(*MERGES)),
    "other-token": with_reference(byte_level(*MERGES, tokens=["new"]), byte_level(*MERGES)),
    "changed-merge": with_reference(byte_level(MERGES[1], MERGES[0], MERGES[2]), byte_level(*MERGES)),
    "changed-score": with_reference(unigram(-2.0), unigram(-3.0)),
    "changed-setting": with_reference(byte_level(normalizer={"type": "NFC"}), byte_level()),
    "other-ids": with_reference(byte_level(("a", " "), pre_tokenizer=NO_SPLIT), byte_level(("a", " "))),
    "slow-input": Plant(byte_level()),
}  # fmt: skip
IN_A_GGUF = "gguf-pre-tokenizer"


def test_every_rule_has_a_planted_fault() -> None:
    assert PLANTS.keys() | {IN_A_GGUF} == all_rules().keys()


@pytest.mark.parametrize("rule", PLANTS)
def test_a_planted_fault_is_found(rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if rule == "slow-input":
        monkeypatch.setattr(speed_rules, "growth", quadratic)
    plant = PLANTS[rule]
    assert findings_of(rule, target_of(plant.document, tmp_path, **plant.options))


def test_gguf_without_a_pre_tokenizer_name_is_found(tmp_path: Path) -> None:
    pieces = [*byte_level(("a", "b"))["model"]["vocab"]]
    path = tmp_path / "nameless.gguf"
    path.write_bytes(gguf(model="gpt2", tokens=pieces, merges=["a b"]))
    assert findings_of(IN_A_GGUF, target_of(path, tmp_path))


def gguf(**entries: str | list[str]) -> bytes:
    """Return a GGUF file with strings and lists of strings below `tokenizer.ggml`, and no tensors."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    data = b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries))
    for name, value in entries.items():
        data += text(f"tokenizer.ggml.{name}")
        if isinstance(value, str):
            data += struct.pack("<I", 8) + text(value)
        else:
            data += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    return data


def quadratic(tokenizer: Tokenizer, character: str) -> tuple[int, float, float]:
    """Return a measurement as of a tokenizer whose time grows with the square of the text's length."""
    return 80_000, 16.0, 1.0


def test_valid_folder_has_no_errors_or_warnings(tmp_path: Path) -> None:
    beside = {"generation_config.json": {"eos_token_id": 257}, "config.json": {"vocab_size": 260}}
    plant = chat(CHATML, beside=beside, tokenizer_class="PreTrainedTokenizerFast")
    result = lint_target(target_of(plant.document, tmp_path, **plant.options), tuple(all_rules().values()))
    grave = [finding for finding in result.findings if finding.severity is not Severity.NOTE]
    assert not grave
