"""Tests for opening tokenizers: recognition of formats, the choice of the engine, and the user's options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from support.huggingface import added
from support.small_files import document, document_file, opened, ranks

import tokbench
from tokbench import SpecialPolicy, TokenKind, store
from tokbench.errors import ConfigError, ModelFormatError, UnknownIdError
from tokbench.opening.native_document import NativeDocument
from tokbench.opening.patterns import known_pattern
from tokbench.opening.recognition import Format, recognize
from tokbench.surgery.contents import document_of

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.manifest import Manifest


def test_load_builds_the_encoder_at_once_and_a_command_at_the_first_text(tmp_path: Path) -> None:
    library = tokenizers.Tokenizer(tokenizers.models.BPE({"l": 0, "o": 1, "lo": 2}, [("l", "o")]))
    library.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    library.save(str(tmp_path / "tokenizer.json"))
    waiting, ready = opened(tmp_path).tokenizer, tokbench.load(tmp_path)
    assert isinstance(ready, NativeDocument) and isinstance(waiting, NativeDocument)
    assert ["_encoder" in vars(tokenizer) for tokenizer in (waiting, ready)] == [False, True]
    assert waiting.encode("lo lo") == ready.encode("lo lo") == [2, 2]
    assert "_encoder" in vars(waiting)


# Recognition


def test_format_is_recognized_by_content_not_name(tmp_path: Path) -> None:
    """Llama 3's rank file is called `tokenizer.model`, and any file may be called `.txt`."""
    path = ranks(tmp_path, name="tokenizer.model")
    assert recognize(path).format is Format.RANKS
    assert recognize(tmp_path).format is Format.RANKS
    assert recognize(document_file(tmp_path, document(), name="notes.txt")).format is Format.TOKENIZER_JSON


def test_tokenizer_json_is_preferred_in_a_folder(tmp_path: Path) -> None:
    ranks(tmp_path)
    document_file(tmp_path, document())
    (tmp_path / "vocab.txt").write_text("[UNK]\nlow\n", encoding="utf-8")
    source = recognize(tmp_path)
    assert source.format is Format.TOKENIZER_JSON
    assert source.name == tmp_path.name


@pytest.mark.parametrize("name", ["20B_tokenizer.json", "tokenizer-midi.json", "my.tokenizer.v2.json"])
def test_folder_with_one_tokenizer_of_any_name_opens(tmp_path: Path, name: str) -> None:
    path = document_file(tmp_path, document(), name=name)
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 5}', encoding="utf-8")
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "my-tokenizer-vocab.json").write_text('{"a": 0}', encoding="utf-8")
    source = recognize(tmp_path)
    assert (source.format, source.files) == (Format.TOKENIZER_JSON, (path,))
    document_file(tmp_path, document(), name="z_tokenizer.json")
    with pytest.raises(ModelFormatError, match=f"several: {name}, z_tokenizer.json"):
        recognize(tmp_path)
    ranks(tmp_path)
    assert recognize(tmp_path).format is Format.RANKS


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tokenizer_config.json", "{}", "with a tokenizer, found only its configuration"),
        (
            "tokenizer_config.json",
            '{"tokenizer_class": "ByT5Tokenizer"}',
            "a ByT5Tokenizer, whose tokens are bytes",
        ),
        ("config.json", '{"model_type": "canine"}', "a CanineTokenizer, whose tokens are characters"),
        ("config.json", '{"tokenizer_class": "ByT5Tokenizer"}', "a ByT5Tokenizer, whose tokens are bytes"),
        (
            "config.json",
            '{"model_type": "fsmt"}',
            "that of a FSMTTokenizer, which splits words by Moses' rules",
        ),
        ("vocab.json", '{"a": 0}', "expected merges.txt or vocab.bpe beside it, found none"),
        ("config.json", "{}", "with a tokenizer, found none of its files"),
        ("vocab.txt", "".join(f"tôi_{count} {count}\n" for count in range(9)), "found words with counts"),
    ],
)
def test_folder_without_a_complete_tokenizer_is_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ModelFormatError, match=message):
        recognize(tmp_path)


def test_a_folder_around_that_of_a_tokenizer_names_it(tmp_path: Path) -> None:
    for name in ("text_encoder", "tokenizer", "tokenizer_2"):
        (tmp_path / name).mkdir()
    for name in ("tokenizer", "tokenizer_2"):
        (tmp_path / name / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    with pytest.raises(ModelFormatError) as caught:
        recognize(tmp_path)
    named = [str(tmp_path / name) for name in ("tokenizer", "tokenizer_2")]
    assert caught.value.hint == f"name a folder inside it: {', '.join(named)}"
    for number in range(20):
        (tmp_path / f"a{number:02}").mkdir()
        (tmp_path / f"a{number:02}" / "merges.txt").touch()
    with pytest.raises(ModelFormatError) as caught:
        recognize(tmp_path)
    named = [str(tmp_path / f"a{number:02}") for number in range(8)]
    assert caught.value.hint == f"name a folder inside it: {', '.join(named)}, …"


def test_of_a_gguf_in_several_files_the_first_is_opened(tmp_path: Path) -> None:
    for name in ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "mmproj-m.gguf"):
        (tmp_path / name).write_bytes(b"GGUF" + b"\0" * 20)
    source = recognize(tmp_path)
    assert [path.name for path in source.files] == ["m-00001-of-00002.gguf"]
    (tmp_path / "other.gguf").write_bytes(b"GGUF" + b"\0" * 20)
    with pytest.raises(ModelFormatError, match=r"several: m-00001-of-00002\.gguf, other\.gguf"):
        recognize(tmp_path)


def test_a_word_list_of_another_name_is_found_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "bert-vocab.txt").write_text("[UNK]\na\n", encoding="utf-8")
    assert recognize(tmp_path).format is Format.WORDPIECE_VOCAB


def test_the_pieces_of_a_model_as_text_name_the_model(tmp_path: Path) -> None:
    (tmp_path / "m.vocab").write_text("<unk>\t0\n<s>\t0\na\t-1.5e-05\n", encoding="utf-8")
    with pytest.raises(ModelFormatError, match="its pieces and scores as text"):
        recognize(tmp_path / "m.vocab")


def test_saved_folder_opens(tmp_path: Path) -> None:
    trained = tokbench.train(["low lower lowest"] * 3, vocab_size=262)
    trained.save(tmp_path / "saved")
    model = opened(tmp_path / "saved")
    assert model.source.format is Format.SAVED
    assert model.tokenizer.encode("lowest") == trained.encode("lowest")
    exported = opened(tmp_path / "saved" / "tokenizer.json")
    assert exported.tokenizer.encode("lowest") == trained.encode("lowest")


@pytest.mark.parametrize("backend", ["bpe", "byte", "char"])
def test_manifest_of_a_saved_folder_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    tokbench.train(["abc abd"], backend=backend).save(tmp_path / "mine")
    read, parse = [], store.parse_manifest

    def counted(data: bytes, *, path: Path) -> Manifest:
        read.append(path)
        return parse(data, path=path)

    monkeypatch.setattr(store, "parse_manifest", counted)
    tokbench.load(tmp_path / "mine")
    assert read == [tmp_path / "mine" / "tokbench.json"]


def test_word_list_warns_of_guessed_settings(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[PAD]\n[UNK]\nlow\n##er\n", encoding="utf-8")
    uncased = opened(path)
    assert uncased.tokenizer.encode("LOWER zzz") == [2, 3, 1]
    assert "no token has capitals" in uncased.warnings[0]
    path.write_text("[PAD]\n[UNK]\nlow\n##er\nLow\n", encoding="utf-8")
    assert opened(path).tokenizer.encode("Lower lower") == [4, 3, 2, 3]
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true}', encoding="utf-8")
    told = opened(path)
    assert told.tokenizer.encode("Lower") == [2, 3]
    assert told.warnings == ()


# tokenizer.json: which engine, and why


def test_plain_byte_level_bpe_runs_on_the_kernel(tmp_path: Path) -> None:
    model = opened(document_file(tmp_path, document()))
    assert model.engine == "native"
    assert model.composition.pattern is not None
    assert model.composition.pattern[0] == "llama3"
    assert model.tokenizer.encode("low low<|end|>", special=SpecialPolicy.ENCODE) == [257, 258, 259]


def test_empty_added_tokens_are_skipped_as_by_the_library(tmp_path: Path) -> None:
    changed = document(added_tokens=[added("<|end|>", 259), added("", 260), added("<new>", 261)])
    path = document_file(tmp_path, changed)
    model = opened(path)
    assert model.warnings == ("an added token of no text is left out, as by its library",)
    peer = tokenizers.Tokenizer.from_file(str(path))
    assert model.tokenizer.encode("<new>", special=SpecialPolicy.ENCODE) == peer.encode("<new>").ids == [260]
    assert [token["id"] for token in document_of(model)["added_tokens"]] == [259, 260]


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
BERT = {"type": "BertProcessing", "cls": ["<|end|>", 259], "sep": ["<|end|>", 259]}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": {"type": "ByteLevel"}}, r"normalizes the text \(ByteLevel\)"),
        (
            {"pre_tokenizer": {"type": "UnicodeScripts"}},
            "UnicodeScripts is not one that the native kernel runs",
        ),
        (
            {"added_tokens": [added("<a>", 259, lstrip=True), added(" <b>", 260)]},
            "strips white space that another begins",
        ),
        ({"added_tokens": [added("<a>", 259), added("<a>", 259)]}, "listed twice"),
        (
            {
                "normalizer": {"type": "Lowercase"},
                "added_tokens": [added("<a>", 259, normalized=True), added("<A>", 260, normalized=True)],
            },
            "'<a>' and '<A>' are searched for by the same text",
        ),
    ],
)
def test_unsupported_settings_are_left_to_the_library(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    path = document_file(tmp_path, document(**changes))
    assert opened(path).engine == "library"
    with pytest.raises(ConfigError, match=reason):
        opened(path, engine="native")


def test_dropout_is_left_to_the_library(tmp_path: Path) -> None:
    changed = document()
    changed["model"] |= {"dropout": 0.1}
    with pytest.raises(ConfigError, match="skips merges at random"):
        opened(document_file(tmp_path, changed), engine="native")


@pytest.mark.parametrize("engine", ["native", "library"])
def test_special_tokens_inside_the_vocabulary_and_gaps_open(tmp_path: Path, engine: str) -> None:
    changed = document()
    vocab = changed["model"]["vocab"]
    changed["model"]["vocab"] = {piece: id + (id > 255) * 3 for piece, id in vocab.items()} | {"<|mid|>": 256}
    changed["added_tokens"] = [added("<|mid|>", 256)]
    tokenizer = tokbench.load(document_file(tmp_path, changed), engine=engine)
    assert tokenizer.encode("low<|mid|> low", special=SpecialPolicy.ENCODE) == [260, 256, 261]
    assert tokenizer.decode_bytes([260, 256, 261]) == b"low<|mid|> low"
    assert tokenizer.info.vocab_size == 262
    assert tokenizer.segment("<|mid|>", special=SpecialPolicy.ENCODE).tokens[0].kind is TokenKind.SPECIAL
    assert 256 not in tokenizer.encode("<|mid|>")
    for gap in (257, 258):
        with pytest.raises(UnknownIdError):
            tokenizer.token_bytes(gap)


def test_ignore_merges_encodes_whole_pretokens_first(tmp_path: Path) -> None:
    changed = document()
    changed["model"]["ignore_merges"] = True
    changed["model"]["vocab"]["xyz"] = 259
    changed["added_tokens"] = []
    path = document_file(tmp_path, changed)
    for engine in ("native", "library"):
        assert tokbench.load(path, engine=engine).encode("xyz axyz") == [259, 32, 97, 120, 121, 122]


def test_pieces_that_no_merge_produces_are_reported(tmp_path: Path) -> None:
    changed = document()
    changed["model"]["vocab"]["zz"] = 259
    changed["added_tokens"] = []
    assert opened(document_file(tmp_path, changed)).warnings == ("1 piece is made by no merge, as 'zz'",)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "gpt2"),
        (
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\r\n]*"
            "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
            "llama3",
        ),
        (
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+",
            "qwen2",
        ),
        (r"\p{L}+|\P{L}+", "custom"),
    ],
)
def test_patterns_are_recognized_by_their_text(text: str, name: str) -> None:
    assert known_pattern(text)[0] == name
