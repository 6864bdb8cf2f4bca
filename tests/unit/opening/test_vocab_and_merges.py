"""Tests for a vocabulary with merges, read as the user or the files beside it say, or refused."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from support.huggingface import added, document
from support.small_files import opened
from support.vocab_and_merges import BYTES, END, MERGES, PIECES, folder_of

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.formats.tokenizer_config.fields import TokenizerConfig
from tokbench.opening.tokenizer_classes import Declared, class_tokenizer_json, known_class

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("vocab", "merges"),
    [
        ("gpt2-vocab.json", "gpt2-merges.txt"),
        ("robbert-vocab-1000.json", "robbert-merges-1000.txt"),
        ("gpt2.vocab", "gpt2.merges.txt"),
    ],
)
def test_file_names_may_share_a_prefix_or_suffix(tmp_path: Path, vocab: str, merges: str) -> None:
    path = folder_of(tmp_path)
    (path / "vocab.json").rename(path / vocab)
    (path / "merges.txt").rename(path / merges)
    for name in (vocab, merges, "."):
        assert opened(path / name, pattern="gpt2").tokenizer.encode("low low") == [257, 258]
    folder_of(tmp_path, merges=["l o"])  # a second pair of files, with the usual names
    assert opened(path / merges, pattern="gpt2").tokenizer.encode("low") == [257]


# Options of the user


@pytest.mark.parametrize("named", ["vocab.json", "merges.txt", "."])
def test_opens_by_either_file_and_by_the_folder(tmp_path: Path, named: str) -> None:
    tokenizer = tokbench.load(folder_of(tmp_path) / named, pattern="gpt2")
    assert tokenizer.encode("low low") == [257, 258]
    assert dict(tokenizer.info.special_tokens) == {END: 259}


def test_missing_pattern_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"merges\.txt does not define how to split text") as caught:
        tokbench.load(folder_of(tmp_path))
    assert "--pattern takes a name" in (caught.value.hint or "")
    assert "tokenizer_class" in (caught.value.hint or "")
    usual = [*PIECES, *(f"<|{number}|>" for number in range(50257 - len(PIECES)))]
    with pytest.raises(ConfigError) as caught:
        tokbench.load(folder_of(tmp_path, usual))
    assert "50,257 pieces are usual with --pattern gpt2" in (caught.value.hint or "")


def test_pattern_option_overrides_the_configuration(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, tokenizer_config={"tokenizer_class": "GPT2Tokenizer"})
    assert opened(folder, pattern="llama3").composition.pattern[0] == "llama3"  # type: ignore[index]


def test_qwen2_pattern_normalizes_to_nfc(tmp_path: Path) -> None:
    tokenizer = tokbench.load(folder_of(tmp_path), pattern="qwen2")
    assert tokenizer.encode("e\u0301") == tokenizer.encode("é")


# Files beside it


@pytest.mark.parametrize(
    "beside",
    [
        {"tokenizer_config": {"tokenizer_class": "GPT2Tokenizer"}},
        {"tokenizer_config": {"tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": False}},
        {"config": {"model_type": "gpt2"}},
        {"config": {"tokenizer_class": "CodeGenTokenizer", "model_type": "phi"}},
        {
            "tokenizer_config": {"tokenizer_class": "PreTrainedTokenizerFast"},
            "config": {"model_type": "gpt_neo"},
        },
    ],
    ids=str,
)
def test_class_in_the_configuration_defines_the_pattern(
    tmp_path: Path, beside: dict[str, dict[str, Any]]
) -> None:
    model = opened(folder_of(tmp_path, **beside))
    assert model.engine == "native"
    assert model.composition.pattern is not None
    assert model.composition.pattern[0] == "gpt2"
    assert model.warnings == ()
    assert model.tokenizer.encode("low low") == [257, 258]
    assert dict(model.tokenizer.info.special_tokens) == {END: 259}


def test_class_without_a_pattern_does_not_define_it(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, tokenizer_config={"tokenizer_class": "PreTrainedTokenizerFast"})
    with pytest.raises(ConfigError, match="nor does a file beside it"):
        tokbench.load(folder)


def test_roles_flags_and_template_come_from_the_configuration(tmp_path: Path) -> None:
    pieces = [*PIECES, "[M]", "<s>", "</s>"]
    folder = folder_of(
        tmp_path,
        pieces,
        tokenizer_config={
            "tokenizer_class": "RobertaTokenizer",
            "mask_token": "[X]",
            "add_prefix_space": True,
        },
        special_tokens_map={"mask_token": {"content": "[M]", "lstrip": False}},
    )
    tokenizer: Any = tokbench.load(folder)
    assert set(tokenizer.info.special_tokens) == {"[M]", "<s>", "</s>", "<unk>", "<pad>"}
    assert tokenizer.encode("low [M]", special=SpecialPolicy.ENCODE) == [258, 32, pieces.index("[M]")]
    start, end = pieces.index("<s>"), pieces.index("</s>")
    assert tokenizer.with_template("low", "low") == [start, 258, end, end, 258, end]


def test_a_declared_class_has_no_other_special_tokens_than_its_own(tmp_path: Path) -> None:
    """RoBERTa's vocabulary has <|endoftext|>, which its class in transformers reads as ordinary text."""
    roles = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    folder = folder_of(tmp_path, [*PIECES, *roles], tokenizer_config={"tokenizer_class": "RobertaTokenizer"})
    tokenizer = opened(folder).tokenizer
    assert set(tokenizer.info.special_tokens) == {*roles}
    assert tokenizer.encode(END, special=SpecialPolicy.ENCODE) == tokenizer.encode(END)
    (folder / "tokenizer_config.json").unlink()
    assert END in opened(folder, pattern="gpt2").tokenizer.info.special_tokens


def test_a_class_appends_the_special_tokens_that_the_vocabulary_lacks(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(folder_of(tmp_path, config={"model_type": "blenderbot"}))
    ends = {"bos": 260, "eos": 261, "unk": 262, "pad": 263, "mask": 264}
    assert tokenizer.role_ids == {**ends, "sep": 261, "cls": 260}
    assert tokenizer.encode("low <mask>", special=SpecialPolicy.ENCODE) == [258, 264]
    assert tokenizer.with_template("low") == [258, 261]


def test_known_merges_alone_append_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpt2 = known_class("GPT2Tokenizer")
    monkeypatch.setattr("tokbench.opening.vocab_and_merges.class_of_merges", lambda merges: gpt2)
    tokenizer = tokbench.load(folder_of(tmp_path, PIECES[:-1]))
    assert tokenizer.info.vocab_size == len(PIECES) - 1


def test_whisper_begins_with_its_tokens_for_a_transcript(tmp_path: Path) -> None:
    pieces = [*PIECES, "<|startoftranscript|>", "<|notimestamps|>"]
    tokenizer: Any = tokbench.load(folder_of(tmp_path, pieces, config={"model_type": "whisper"}))
    assert tokenizer.with_template("low") == [260, 261, 257, 259]


def test_a_dictionary_of_fairseq_beside_it_is_warned_of(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "dict.txt").write_text("13 850\n262 800\n", encoding="utf-8")
    assert any("dict.txt beside it gives" in warning for warning in opened(folder, pattern="gpt2").warnings)


def test_an_unknown_class_is_named(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, tokenizer_config={"tokenizer_class": "TapexTokenizer"})
    with pytest.raises(
        ConfigError, match=r"and the TapexTokenizer that the files beside it name is not known"
    ):
        tokbench.load(folder)


def test_tokenizer_json_with_the_same_pieces_defines_everything(tmp_path: Path) -> None:
    vocab = {piece: id for id, piece in enumerate(PIECES)}
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    fields = document(
        {"type": "BPE", "vocab": vocab, "merges": MERGES},
        added_tokens=[added(END, vocab[END])],
        normalizer={"type": "Lowercase"},
        pre_tokenizer=byte_level,
        decoder=byte_level,
    )
    path = folder_of(tmp_path, tokenizer=fields) / "merges.txt"
    assert tokbench.load(path).encode("LOW") == [258]
    fields["model"]["merges"] = MERGES[:2]  # merges of another tokenizer
    folder_of(tmp_path, tokenizer=fields)
    with pytest.raises(ConfigError, match="nor does a file beside it"):
        tokbench.load(path)
    (tmp_path / "tokenizer.json").write_text("{", encoding="utf-8")
    assert tokbench.load(path, pattern="gpt2").encode("low") == [257]


@pytest.mark.parametrize("name", ["XLMTokenizer", "FlaubertTokenizer", "BioGptTokenizer", "CTRLTokenizer"])
def test_classes_with_split_rules_of_their_own_are_refused(tmp_path: Path, name: str) -> None:
    folder = folder_of(tmp_path, tokenizer_config={"tokenizer_class": name})
    with pytest.raises(ModelFormatError, match=f"that of a {name}, which"):
        tokbench.load(folder)


# Conclusions from the pieces


@pytest.mark.parametrize(
    ("pieces", "merges", "message"),
    [
        ([*BYTES, "w</w>", "lo", "low</w>"], ["l o", "lo w</w>"], "begin with 'w</w>', at the end of a word"),
        (["l", "##o", "l##o"], ["l ##o"], "begin with '##o', inside a word"),
        (["l@@", "o", "l@@o"], ["l@@ o"], "begin with 'l@@', with more of the word after it"),
        (["▁", "l", "▁l"], ["▁ l"], "begin with '▁', with SentencePiece's sign for a space"),
        (["日", "本", "日本"], ["日 本"], "begin with '日', which is not a byte"),
        ([*BYTES, "<0x0A>", "lo"], ["l o"], "the piece '<0x0A>' for a byte"),
        ([*BYTES, "lo", "ab"], [], "none, where the vocabulary has pieces of several bytes"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"pattern": "gpt2"}], ids=str)
def test_pieces_that_are_not_byte_level_are_refused(
    tmp_path: Path, pieces: list[str], merges: list[str], message: str, options: dict[str, str]
) -> None:
    with pytest.raises(ModelFormatError, match=message) as caught:
        tokbench.load(folder_of(tmp_path, pieces, merges), **options)
    assert "tokenizer.json" in (caught.value.hint or "") or not merges


def test_folder_without_a_few_merges_opens(tmp_path: Path) -> None:
    """Some folders lack the merges that begin with #, which were taken for comments."""
    letters = [left + right for left in BYTES[97:123] for right in BYTES[65:105]]
    merges = [f"{piece[0]} {piece[1]}" for piece in letters]
    folder = folder_of(tmp_path, [*BYTES, *letters, "##", "Ġ##"], [*merges, "Ġ ##"])
    model = opened(folder, pattern="gpt2")
    assert model.tokenizer.encode(" ##") == [32, 35, 35]
    assert model.tokenizer.encode("ab") == tokbench.load(folder, pattern="gpt2", engine="library").encode(
        "ab"
    )
    assert "1 piece is made by no merge, as '##'" in model.warnings
    folder_of(tmp_path, [*BYTES, *letters, "##", "Ġ##"], [*merges[:900], "Ġ ##"])
    with pytest.raises(ModelFormatError, match="begin with '##', inside a word"):
        tokbench.load(tmp_path, pattern="gpt2")


def test_merges_of_digits_are_not_taken_for_words_with_counts(tmp_path: Path) -> None:
    pairs = [f"{left}{right}" for left in "12" for right in "01234"]
    folder = folder_of(tmp_path, [*BYTES, *pairs], [])
    (folder / "merges.txt").write_text("".join(f"{pair[0]} {pair[1]}\n" for pair in pairs), encoding="utf-8")
    for named in (folder, folder / "merges.txt"):
        assert opened(named, pattern="gpt2").tokenizer.encode("10") == [256]


def test_hint_for_word_end_suffixes_makes_the_folder_open(tmp_path: Path) -> None:
    pieces, merges = [*BYTES, *(f"{byte}</w>" for byte in BYTES), "lo", "low</w>"], ["l o", "lo w</w>"]
    with pytest.raises(ModelFormatError) as caught:
        tokbench.load(folder_of(tmp_path, pieces, merges))
    assert '{"tokenizer_class": "CLIPTokenizer"}, or OpenAIGPTTokenizer' in (caught.value.hint or "")
    folder_of(tmp_path, pieces, merges, tokenizer_config={"tokenizer_class": "CLIPTokenizer"})
    assert tokbench.load(tmp_path).encode("LOW") == [pieces.index("low</w>")]


def test_class_that_contradicts_the_pieces_is_refused(tmp_path: Path) -> None:
    folder_of(tmp_path, tokenizer_config={"tokenizer_class": "CLIPTokenizer"})
    with pytest.raises(
        ModelFormatError, match="pieces with </w> at the end of words, as a CLIPTokenizer has"
    ):
        tokbench.load(tmp_path)
    pieces, merges = [*BYTES, "w</w>", "lo", "low</w>"], ["l o", "lo w</w>"]
    folder_of(tmp_path, pieces, merges, tokenizer_config={"tokenizer_class": "GPT2Tokenizer"})
    with pytest.raises(ModelFormatError, match="at the end of a word"):
        tokbench.load(tmp_path)


SUPERWORDS = (["l o", "lo w", "Ġ low", "low Ġlow"], [*PIECES, "lowĠlow"])


def test_merges_across_spaces_rule_out_the_named_patterns(tmp_path: Path) -> None:
    merges, pieces = SUPERWORDS
    folder = folder_of(tmp_path, pieces, merges)
    with pytest.raises(ConfigError) as caught:
        tokbench.load(folder)
    assert "merges cross spaces, as in 'lowĠlow'" in (caught.value.hint or "")
    assert tokbench.load(folder, pattern="none").encode("low low") == [260]
    told = opened(folder, pattern="gpt2")
    assert told.warnings == ("pieces of several words are made by 1 merge, as 'lowĠlow': is text cut there?",)


def test_bytes_without_a_piece_are_reported(tmp_path: Path) -> None:
    model = opened(folder_of(tmp_path, PIECES[1:]), pattern="gpt2")
    assert model.engine == "native"
    assert model.warnings == ("1 of the 256 bytes have no piece: a text loses them",)


def test_merges_with_counts_are_refused_as_written_by_fastbpe(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, merges=["l o 123", "lo w 7", "Ġ low 3"])
    for path in (folder, folder / "vocab.json", folder / "merges.txt"):
        with pytest.raises(ModelFormatError, match=r"line 2: .*with a count, as fastBPE writes merges"):
            tokbench.load(path)


def test_merges_of_clip_open_without_a_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "bpe_simple_vocab_16e6.txt"
    path.write_text('"bpe_simple_vocab_16e6.txt#version: 0.2\nl o\nlo w</w>\n', encoding="utf-8")
    (tmp_path / "config.json").write_text('{"model_type": "clip"}', encoding="utf-8")
    tokenizer = tokbench.load(path)
    assert tokenizer.encode("LOW lo") == [513, ord("l") - 33, 256 + ord("o") - 33]
    assert dict(tokenizer.info.special_tokens) == {"<|startoftext|>": 514, "<|endoftext|>": 515}


# Real tokenizers


@pytest.mark.real
@pytest.mark.parametrize(
    ("vocab", "merges", "whole"),
    [
        ("clip/encoder.json", "clip/vocab.bpe", "clip"),
        ("gpt2/encoder.json", "gpt2/vocab.bpe", "gpt2"),
        ("roberta-base/vocab.json", "roberta-base/merges.txt", "roberta-base"),
    ],
)
def test_known_merges_open_without_a_configuration(
    shared: Path, tmp_path: Path, vocab: str, merges: str, whole: str
) -> None:
    for path in (vocab, merges):
        (tmp_path / path.partition("/")[2]).write_bytes((shared / "vocab" / path).read_bytes())
    bare, peer = tokbench.load(tmp_path), tokbench.load(shared / "vocab" / whole / "tokenizer.json")
    for text in (
        "The quick brown fox's 12345 jumps!!",
        "  \n\tÄrger über 中文 и ещё 👩‍🚀",
        "it's <|x|> LOWER",
    ):
        assert bare.encode(text) == peer.encode(text)
        assert bare.decode(peer.encode(text)) == peer.decode(peer.encode(text))


@pytest.mark.real
@pytest.mark.parametrize("names", [("encoder.json", "vocab.bpe"), ("bpe_simple_vocab_16e6.txt.gz",)])
def test_clip_has_its_recorded_ids(shared: Path, tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        data = (shared / "vocab" / "clip" / name).read_bytes()
        (tmp_path / name.removesuffix(".gz")).write_bytes(gzip.decompress(data) if ".gz" in name else data)
    tokenizer: Any = tokbench.load(tmp_path / names[-1].removesuffix(".gz"))
    path = shared / "vectors" / "transformers_js" / "Xenova__clip-vit-base-patch16.jsonl"
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(cases) == 25
    for case in cases:
        assert tokenizer.with_template(case["text"]) == case["ids"]


def test_tokens_of_a_template_are_listed_in_its_order() -> None:
    whisper = known_class("WhisperTokenizer")
    assert whisper is not None
    expected = ["<|startoftranscript|>", "<|notimestamps|>", "<|endoftext|>"]
    vocab = {text: id for id, text in enumerate(sorted(expected))}
    made = class_tokenizer_json(whisper, vocab, [], declared=Declared(TokenizerConfig()), specials={})
    assert list(made["post_processor"]["special_tokens"]) == expected
