"""Results of plain calls of the target are proved: template, truncation, padding, flags, special tokens."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from support import huggingface
from support.descriptions import running, trained
from support.templates import BERT, ROBERTA, documented, template

import tokbench
import tokbench.workbench.convert as conversion
from tokbench.convert.disagreement import in_words
from tokbench.convert.proof import ProofError, prove
from tokbench.convert.roles import model_config
from tokbench.convert.targets import tokenizers as to_tokenizers
from tokbench.convert.targets import transformers as to_transformers
from tokbench.core.descriptions import ByteLevelBpe
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError
from tokbench.workbench.convert import compare, convert
from tokbench.workbench.open import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LLAMA = template(["<s>", 0], ["<s>", 0, "<s>", 1])
CUT = {"truncation": {"max_length": 12, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}}
FILL = {
    "padding": {
        "strategy": {"Fixed": 16},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 339,
        "pad_type_id": 0,
        "pad_token": "</s>",
    }
}
TEXTS = ("the", "the cat", " the <mask> cat", "<s> the\n\n1234 東京 </s>", "isn't it? " * 9)


@pytest.fixture(autouse=True)
def _few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "prove", partial(prove, texts=TEXTS))


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that opens a byte-level BPE with a post-processor from its file."""

    def opened(processor: Any, *, engine: str = "native", flags: tuple[str, ...] = (), **parts: Any) -> Any:
        ids = json.loads(json.dumps(processor).replace('", 2]', '", 338]').replace('", 3]', '", 339]'))
        if ids and ids["type"] == "TemplateProcessing":
            for place, token in enumerate(ids["special_tokens"].values()):
                token["ids"] = [338 + place]
        path = tmp_path / "source" / "tokenizer.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(documented(ids, flags=flags, **parts))
        return load(path, engine=engine)

    return opened


# --- what is kept -----------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["native", "library"])
@pytest.mark.parametrize("processor", [LLAMA, BERT, ROBERTA, None])
def test_tokenizers_file_gives_the_inputs_of_its_source(
    opened: Callable[..., Any], tmp_path: Path, processor: Any, engine: str
) -> None:
    source = opened(processor, engine=engine, flags=("lstrip",), **CUT, **FILL)
    result = convert(source, to="tokenizers", out=tmp_path / "out.json")
    assert result.proof.inputs == 2 * 2 * len(TEXTS)
    ours = tokenizers.Tokenizer.from_file(str(tmp_path / "source" / "tokenizer.json"))
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "out.json"))
    for text in TEXTS:
        for pair in (None, "the mat"):
            one, other = ours.encode(text, pair), theirs.encode(text, pair)
            assert (one.ids, one.type_ids, one.attention_mask, one.offsets) == (
                other.ids,
                other.type_ids,
                other.attention_mask,
                other.offsets,
            )
    assert "encode() truncates at 12 tokens" in result.notes
    assert "encode() pads to 16 tokens with '</s>'" in result.notes


@pytest.mark.parametrize("processor", [LLAMA, ROBERTA])
def test_transformers_folder_gives_the_inputs_of_its_source(
    opened: Callable[..., Any], tmp_path: Path, processor: Any
) -> None:
    transformers = pytest.importorskip("transformers")
    source = opened(processor, flags=("lstrip", "normalized"), **CUT, **FILL)
    result = convert(source, to="transformers", out=tmp_path / "folder")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "folder"))
    for text in TEXTS:
        whole = source.with_template(text, special=SpecialPolicy.ENCODE)
        assert tokenizer(text)["input_ids"] == tokenizer.encode(text) == whole
        cut = source.model_input(text, special=SpecialPolicy.ENCODE).ids
        assert (
            tuple(
                tokenizer.pad(tokenizer(text, truncation=True), padding="max_length", max_length=16)[
                    "input_ids"
                ]
            )
            == cut
        )
    notes = " ".join(result.notes)
    assert "truncates at 12 tokens, and AutoTokenizer only with truncation=True" in notes
    assert "pads to 16 tokens with '</s>', and AutoTokenizer only with padding" in notes
    document = result.to_json()["post_processing"]
    assert document["source"]["truncation"]["max_length"] == 12
    assert document["target"]["truncation"] is None
    assert document["source"]["template"] == document["target"]["template"]


def test_rstrip_tokens_are_converted_to_transformers(tmp_path: Path) -> None:
    """As in Phi-3's file: special tokens, and an end-of-text token that is not special."""
    transformers = pytest.importorskip("transformers")
    document = json.loads(huggingface.byte_fallback())
    flags = dict.fromkeys(("single_word", "lstrip", "normalized"), False) | {"rstrip": True}
    following = max(document["model"]["vocab"].values()) + 1
    for place, (text, is_special) in enumerate((("<|user|>", True), ("<|end|>", True), ("<|out|>", False))):
        token = {"id": following + place, "content": text, **flags, "special": is_special}
        document["added_tokens"].append(token)
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    source = load(tmp_path / "tokenizer.json")
    convert(source, to="transformers", out=tmp_path / "folder")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "folder"))
    text = "<|user|>\nthe cat<|end|> \n<|out|>  the"
    assert tokenizer(text)["input_ids"] == source.encode(text, special=SpecialPolicy.ENCODE)


def test_tokbin_keeps_template_and_flags(opened: Callable[..., Any], tmp_path: Path) -> None:
    source = opened(LLAMA, flags=("rstrip",), **CUT, **FILL)
    convert(source, to="tokbin", out=tmp_path / "out.tokbin")
    tokenizer: Any = tokbench.load(tmp_path / "out.tokbin")
    assert tokenizer.description().post_processing == source.description().post_processing
    assert tokenizer.description().token_flags == source.description().token_flags
    assert tokenizer.with_template("the cat") == [338, *source.encode("the cat")]
    again = convert(tokenizer, to="tokenizers", out=tmp_path / "again.json")
    assert "encode() truncates at 12 tokens" in again.notes


@pytest.mark.parametrize("target", ["tiktoken", "token_bytes"])
def test_template_and_flags_without_equivalent_are_reported(
    opened: Callable[..., Any], tmp_path: Path, target: str
) -> None:
    source = opened(ROBERTA, flags=("lstrip",), **CUT, **FILL)
    result = convert(source, to=target, out=tmp_path / "out")
    assert result.to_json()["post_processing"]["target"] is None
    if target == "tiktoken":
        notes = " ".join(result.notes)
        assert "tiktoken has no template; the source writes <s> $A </s> for a text" in notes
        assert "tiktoken does not truncate; the source does, at 12 tokens" in notes
        assert "tiktoken does not pad; the source does, to 16 tokens with '</s>'" in notes
        assert "the special token '<mask>' has the flag lstrip, which tiktoken does not have" in notes
        assert any("it is matched differently there" in limit for limit in result.proof.limits)


def test_whole_tokens_that_merges_do_not_reach_are_kept(tmp_path: Path) -> None:
    """As in Llama 3's file: "he" merges first, so that "th" and "e" never merge to "the"."""
    merges = [(0x68, 0x65, 256), (0x74, 0x68, 257), (257, 0x65, 258)]
    source = running(
        ByteLevelBpe(
            tokens=(*(bytes([byte]) for byte in range(256)), b"he", b"th", b"the"),
            merges=tuple(merges),
            pattern=None,
            pattern_name="none",
            whole_tokens_first=True,
        )
    )
    assert (source.encode("the"), source.encode("xthe")) == ([258], [0x78, 0x74, 256])
    convert(source, to="tokenizers", out=tmp_path / "out.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "out.json"))
    assert theirs.encode("the").ids == [258]


def test_empty_template_needs_no_note(opened: Callable[..., Any], tmp_path: Path) -> None:
    result = convert(opened(template([0], [0, 1])), to="tokenizers", out=tmp_path / "out.json")
    assert not any("encode() writes" in note for note in result.notes)
    assert not any(
        "template" in note
        for note in convert(opened(template([0], [0, 1])), to="tiktoken", out=tmp_path / "x").notes
    )


def test_template_of_a_bert_vocabulary_is_reported(tmp_path: Path) -> None:
    bare = json.loads(huggingface.wordpiece())
    (tmp_path / "tokenizer.json").write_text(json.dumps(bare))
    result = convert(load(tmp_path / "tokenizer.json"), to="vocab.txt", out=tmp_path / "vocab.txt")
    assert any(
        "write [CLS] $A [SEP] around a text; the source writes nothing" in note for note in result.notes
    )
    assert result.proof.inputs == 0
    source: Any = load(tmp_path / "vocab.txt")
    cls, sep = (source.info.special_tokens[text] for text in ("[CLS]", "[SEP]"))
    assert source.with_template("the", "cat") == [cls, *source.encode("the"), sep, *source.encode("cat"), sep]
    again = convert(source, to="vocab.txt", out=tmp_path / "again.txt")
    assert again.proof.inputs > 0
    assert (tmp_path / "again.txt").read_bytes() == (tmp_path / "vocab.txt").read_bytes()


def test_bert_folder_gives_type_ids_in_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n")
    convert(load(tmp_path / "vocab.txt"), to="transformers", out=tmp_path / "folder")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "folder"))
    encoded = tokenizer("the cat", "cat")
    assert encoded["input_ids"] == [2, 5, 6, 3, 6, 3]
    assert encoded["token_type_ids"] == [0, 0, 0, 0, 1, 1]


def test_compare_uses_ids_without_templates(opened: Callable[..., Any]) -> None:
    one, other = opened(LLAMA), opened(None)
    proof = compare(one, other)
    assert proof.agrees
    assert any("templates, truncation and padding differ" in limit for limit in proof.limits)
    assert not any("templates" in limit for limit in compare(one, opened(LLAMA)).limits)


# --- what is lost is found --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "value", "way", "said"),
    [
        ("post_processor", None, "ids", "by encode(text)"),
        ("truncation", None, "ids", "by encode(text)"),
        ("truncation", {**CUT["truncation"], "direction": "Left"}, "ids", "gives a model different ids"),
        ("padding", None, "ids", "by encode(text)"),
        ("padding", {**FILL["padding"], "pad_type_id": 3}, "type ids", "different type ids"),
        ("padding", {**FILL["padding"], "pad_id": 0}, "ids", "gives a model different ids"),
    ],
)
def test_lost_post_processing_fails_the_proof(  # noqa: PLR0917 -- fixtures and cases
    opened: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    value: Any,
    way: str,
    said: str,
) -> None:
    right = to_tokenizers.tokenizer_json_of
    monkeypatch.setattr(
        to_tokenizers,
        "tokenizer_json_of",
        lambda *given, **options: json.dumps({**json.loads(right(*given, **options)), part: value}).encode(),
    )
    with pytest.raises(ProofError) as failed:
        convert(opened(ROBERTA, **CUT, **FILL), to="tokenizers", out=tmp_path / "never.json")
    disagreement = failed.value.proof.disagreement
    assert disagreement is not None
    assert disagreement.way == way
    assert disagreement.call == "encode(text)"
    assert said in in_words(disagreement)
    assert disagreement.to_json()["call"] == "encode(text)"
    assert not (tmp_path / "never.json").exists()


def test_lost_flag_fails_the_proof(
    opened: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setattr(
        to_transformers,
        "model_config",
        lambda source: replace(
            model_config(source),
            added_tokens=tuple(replace(token, lstrip=False) for token in model_config(source).added_tokens),
        ),
    )
    with pytest.raises(ProofError) as failed:
        convert(opened(None, flags=("lstrip",)), to="transformers", out=tmp_path / "never")
    assert failed.value.proof.disagreement is not None
    assert failed.value.proof.disagreement.text == " <mask>"


def test_difference_in_pairs_is_shrunk(
    opened: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = to_tokenizers.tokenizer_json_of

    def swapped(*given: Any, **options: Any) -> bytes:
        document = json.loads(right(*given, **options))
        document["post_processor"]["pair"][0]["SpecialToken"]["id"] = "</s>"
        return json.dumps(document).encode()

    monkeypatch.setattr(to_tokenizers, "tokenizer_json_of", swapped)
    both = template(["<s>", 0, "</s>"], ["<s>", 0, "</s>", 1])
    with pytest.raises(ProofError) as failed:
        convert(opened(both), to="tokenizers", out=tmp_path / "never.json")
    disagreement = failed.value.proof.disagreement
    assert disagreement is not None
    assert (len(disagreement.text), len(str(disagreement.pair))) == (1, 1)
    assert isinstance(disagreement.expected, tuple)
    assert isinstance(disagreement.found, tuple)
    assert (disagreement.expected[0], disagreement.found[0]) == (338, 339)
    assert disagreement.expected_tokens[0] == b"<s>"
    assert f"{disagreement.text!r} with {disagreement.pair!r}" in in_words(disagreement)


def test_panic_of_the_library_is_a_difference(
    opened: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = to_tokenizers.tokenizer_json_of

    def unknown(*given: Any, **options: Any) -> bytes:
        document = json.loads(right(*given, **options))
        document["post_processor"]["special_tokens"] = {}
        return json.dumps(document).encode()

    monkeypatch.setattr(to_tokenizers, "tokenizer_json_of", unknown)
    with pytest.raises(ProofError) as failed:
        convert(opened(LLAMA), to="tokenizers", out=tmp_path / "never.json")
    assert failed.value.proof.disagreement is not None
    assert str(failed.value.proof.disagreement.found).startswith("error: ")


def test_padding_follows_the_tokenizer_config(opened: Callable[..., Any], tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    opened(ROBERTA, **CUT, **FILL)
    beside = {"bos_token": "<s>", "pad_token": "<mask>", "padding_side": "right", "truncation_side": "left"}
    beside |= {"model_max_length": 512}
    (tmp_path / "source" / "tokenizer_config.json").write_text(json.dumps(beside))
    source: Any = load(tmp_path / "source", engine="native")
    convert(source, to="transformers", out=tmp_path / "folder")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "folder"))
    filled = tokenizer("the cat", padding="max_length", max_length=8)["input_ids"]
    assert filled == [338, *source.encode("the cat"), 339, 340, 340, 340][:8]
    assert tokenizer.model_max_length == 512


def test_ineffective_add_bos_and_add_eos_are_reported(opened: Callable[..., Any], tmp_path: Path) -> None:
    """transformers follows the tokenizer.json if there is one, and not add_bos_token."""
    transformers = pytest.importorskip("transformers")
    opened(template([0, "</s>"], [0, 1]))
    beside = {"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": True, "add_eos_token": True}
    (tmp_path / "source" / "tokenizer_config.json").write_text(json.dumps(beside))
    source: Any = load(tmp_path / "source", engine="native")
    result = convert(source, to="transformers", out=tmp_path / "folder")
    told = [note for note in result.notes if "no template writes" in note]
    assert len(told) == 1
    assert told[0].startswith("add_bos_token is true beside the source")
    assert told[0] in convert(source, to="tokenizers", out=tmp_path / "tokenizer.json").notes
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "folder"))
    assert tokenizer("the")["input_ids"] == source.with_template("the") == [*source.encode("the"), 339]


# --- special tokens as text -------------------------------------------------------------------


def test_special_as_text_is_written_for_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    text = "the <|end|> cat"
    plain = convert(trained(), to="transformers", out=tmp_path / "plain")
    assert "convert with --special-as-text" in " ".join(plain.notes)
    asked = convert(trained(), to="transformers", out=tmp_path / "asked", special_as_text=True)
    assert "split_special_tokens=False" in " ".join(asked.notes)
    for folder, policy in (("plain", SpecialPolicy.ENCODE), ("asked", SpecialPolicy.TEXT)):
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(tmp_path / folder))
        assert tokenizer(text)["input_ids"] == trained().encode(text, special=policy)
    assert tokenizer(text, split_special_tokens=False)["input_ids"] == trained().encode(
        text, special=SpecialPolicy.ENCODE
    )


def test_special_as_text_without_an_equivalent_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot say that the texts of special tokens are ordinary text"):
        convert(trained(), to="tokenizers", out="never", special_as_text=True)
