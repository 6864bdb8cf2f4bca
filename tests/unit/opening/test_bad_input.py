"""Tests that damaged, foreign and hostile files raise an error that says where and what was expected."""

from __future__ import annotations

import json
import pickle
import struct
from typing import TYPE_CHECKING, Any

import pytest
from support.small_files import rank_file

import tokbench
from tokbench.errors import ConfigError, ModelFormatError, StoreError
from tokbench.formats.gguf import read_metadata
from tokbench.formats.tokenizer_json import dump_byte_level_bpe, to_byte_level

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BYTES = [bytes([byte]) for byte in range(256)]


def document() -> dict[str, Any]:
    """Return a valid `tokenizer.json` as a dictionary."""
    return json.loads(
        dump_byte_level_bpe(
            tokens=[*BYTES, b"ab", b"abc"],
            merges=[(97, 98), (256, 99)],
            special_tokens={"<|end|>": 258},
            pattern=r"\s+|\S+",
        )
    )


def load(folder: Path, name: str, data: bytes, **options: Any) -> Any:
    path = folder / name
    path.write_bytes(data)
    return tokbench.load(path, **options)


# tokenizer.json


def changed_document(change: Callable[[dict[str, Any]], object]) -> bytes:
    changed = document()
    change(changed)
    return json.dumps(changed).encode()


def test_unmodified_document_opens(tmp_path: Path) -> None:
    assert load(tmp_path, "tokenizer.json", changed_document(lambda d: None)).encode("abc") == [257]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["model"]["merges"].append(["ab", "zz"]), r"merge 2: .*'zz', which is not in it"),
        (lambda d: d["model"]["merges"].append(["b", "c"]), r"merge 2: .*make 'bc'"),
        (lambda d: d["model"]["merges"].append("   "), r"merge 2: expected two pieces, found '   '"),
        (lambda d: d["model"]["merges"].append("a b c"), r"merge 2: expected two pieces"),
        (lambda d: d["model"]["merges"].append(["a", 7]), r"merge 2: expected two pieces"),
        (lambda d: d["model"]["merges"].append(None), r"merge 2: expected two pieces"),
        (lambda d: d["model"].pop("merges") and d["model"].update(type="BPE"), "a list of merges"),
        (lambda d: d["model"]["vocab"].update(ab=3), r"each id once, found the id 3"),
        (lambda d: d["model"]["vocab"].update(new=-1), r"an id from 0 to .* found -1 for 'new'"),
        (lambda d: d["model"]["vocab"].update(new=10**12), r"an id from 0 to .* found 1000000000000"),
        (lambda d: d["model"]["vocab"].update(new="7"), r"an id from 0 to .* found '7'"),
        (lambda d: d["model"]["vocab"].update({"\ud800": 500}), "a lone surrogate"),
        (lambda d: d["model"].update(vocab={}), "a vocabulary of pieces with ids, found none"),
        (lambda d: d["model"].update(vocab=None), "a vocabulary of pieces with ids, found none"),
        (lambda d: d["model"].update(type="Magic"), "a model of the type .* found 'Magic'"),
        (lambda d: d["model"].update(type=["BPE"]), r"a model of the type .* found \['BPE'\]"),
        (lambda d: d["model"].update(continuing_subword_prefix=7), "a string as continuing_subword_prefix"),
        (lambda d: d.update(normalizer={"type": [1], "lowercase": True}), "with a type as normalizer"),
        (lambda d: d.update(decoder={"type": "Sequence", "decoders": [7]}), "with a type as decoder"),
        (lambda d: d.update(pre_tokenizer={"type": "Nothing"}), "accepts"),
        (lambda d: d.update(normalizer="NFC"), "normalizer"),
        (lambda d: d.update(added_tokens=[{"id": 1}]), "added_tokens"),
        (lambda d: d["model"].update(type="Unigram", vocab=[["a", -1.0], "b"]), "piece 1: expected a piece"),
    ],
)
def test_contradictory_document_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    with pytest.raises(ModelFormatError, match=message) as caught:
        load(tmp_path, "tokenizer.json", changed_document(change))
    assert "tokenizer.json" in str(caught.value)


def test_duplicate_piece_in_json_is_refused(tmp_path: Path) -> None:
    text = changed_document(lambda d: None).replace(b'"ab": 256', b'"ab": 256, "ab": 255')
    with pytest.raises(ModelFormatError, match="each key once, found 'ab' twice"):
        load(tmp_path, "tokenizer.json", text)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"model": {', r"line 1, column \d+: expected JSON"),
        (b'{"model": {}} trailing', "expected JSON, found a syntax error: extra data"),
        (b'{"model": {"a": ' + b"[" * 100_000, "JSON of at most 64 levels"),
        (b'{"model": {"a": "\xff"}}', "expected UTF-8, found 0xFF at byte 17"),
        (b'{"model": {}}', "a vocabulary"),
        (b'  {"model": {"vocab": 3}}', "a vocabulary"),
        (b'{"model":' + b"[" * 1000 + b"]" * 1000 + b"}", 'a JSON object with "model": .*, found neither'),
        (b'{"vocab": {"a": 1}}', "or of tokens and ids, found neither"),
        (b'{"merges": 50, "vocab": {"a": 1}}', "or of tokens and ids, found neither"),
        (b'{"class_name": "Tokenizer", "config": {}}', "found the list of words of a Keras Tokenizer"),
        (rb'"{\"class_name\": \"Tokenizer\"}"', "found the list of words of a Keras Tokenizer"),
        (b'{"a": 1}', "expected merges.txt or vocab.bpe beside it, found none"),
        (b"[" * 1000 + b"]" * 1000, "expected a JSON object, found a JSON array"),
    ],
)
def test_malformed_json_is_refused_with_its_position(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path, "tokenizer.json", data)


@pytest.mark.slow
def test_json_of_two_hundred_megabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with path.open("wb") as stream:
        stream.write(b'{"model": {')
        stream.truncate(200 * 2**20)
    with pytest.raises(ModelFormatError, match="at most 134,217,728 bytes, found 209,715,200"):
        tokbench.load(path)


def test_vocabulary_without_a_byte_leaves_such_texts_to_the_library(tmp_path: Path) -> None:
    def remove_byte_token(fields: dict[str, Any]) -> None:
        del fields["model"]["vocab"][to_byte_level(b"\xc3")]
        fields["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
        fields["added_tokens"] = []

    data = changed_document(remove_byte_token)
    tokenizer = load(tmp_path, "tokenizer.json", data)
    assert not tokenizer.info.lossless
    assert tokenizer.info.kernel == "native"
    library = load(tmp_path, "tokenizer.json", data, engine="library")
    for text in ("low", "é low", "ü"):
        assert tokenizer.encode(text) == library.encode(text)


# Rank files


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (rank_file(BYTES)[:-6], r"line 256: expected a token in base64"),
        (rank_file(BYTES) + b"!!!! 256\n", r"line 257: expected a token in base64"),
        (rank_file(BYTES) + b"YWI= 255\n", r"line 257: expected each rank once"),
        (rank_file(BYTES) + b"YQ== 256\n", r"line 257: expected each token once"),
        (rank_file(BYTES[:-1]), "a token for each of the 256 bytes, found none for byte 0xFF"),
        (rank_file(BYTES) + b"YWI= 4000000000\n", "ids below 262144 for 257 tokens, found the id 4000000000"),
        (b"\x00\x01\x02", "line 1: expected a token in base64"),
        (b"QUJD\n", "line 1: expected a token in base64"),
    ],
)
def test_malformed_rank_file_is_refused_with_its_line(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path, "ranks.tiktoken", data, pattern="gpt4")


def test_unrecognized_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match="a tokenizer, found a file that begins"):
        load(tmp_path, "noise.bin", bytes(range(128, 256)) * 4)


@pytest.mark.parametrize("name", ["tokenizer.json", "merges.txt", "vocab.txt"])
def test_utf_16_is_named(tmp_path: Path, name: str) -> None:
    """Redirecting output to a file gives such files in older versions of PowerShell."""
    (tmp_path / name).write_text('{"model": {}}\n', encoding="utf-16")
    with pytest.raises(ModelFormatError, match=r"expected UTF-8, found UTF-16"):
        tokbench.load(tmp_path / name)


def test_rank_file_with_crlf_line_ends_opens_alike(tmp_path: Path) -> None:
    plain = rank_file([*BYTES, b"ab"])
    windows = load(tmp_path, "crlf.tiktoken", plain.replace(b"\n", b"\r\n"), pattern="gpt4")
    assert windows.encode("abab") == load(tmp_path, "lf.tiktoken", plain, pattern="gpt4").encode("abab")


def test_ranks_out_of_merge_order_encode_as_in_tiktoken(tmp_path: Path) -> None:
    """A token ranks before its parts and another one has no parts; tiktoken still encodes, and so do we."""
    data = rank_file([b"abcd", b"xyz", *BYTES, b"cd", b"ab", b" ab"])
    native = load(tmp_path, "odd.tiktoken", data, pattern="gpt4")
    library = load(tmp_path, "odd.tiktoken", data, pattern="gpt4", engine="library")
    assert native.info.kernel in ("native", "python")
    for text in ("abcd", "xyz", "xabcdz abcd", "aabcdd cdab", "wxyz xyz"):
        assert native.segment(text) == library.segment(text)


# SentencePiece models


def test_truncated_sentencepiece_model_is_refused(tmp_path: Path) -> None:
    model = b"".join(b"\n\x0e\n\x05<%c00>\x15\x00\x00\x00\x00\x18\x01" % letter for letter in b"abcdef")
    for size in (5, 17, 40, len(model) - 1):
        with pytest.raises(ModelFormatError, match=r"cut\.model.*expected a SentencePiece model"):
            load(tmp_path, "cut.model", model[:size])


@pytest.mark.real
def test_real_sentencepiece_model_truncated_anywhere_is_refused(shared: Path, tmp_path: Path) -> None:
    whole = (shared / "vocab/t5-base/spiece.model").read_bytes()
    for size in range(1000, len(whole), len(whole) // 20):
        with pytest.raises(ModelFormatError, match=r"spiece\.model"):
            load(tmp_path, "spiece.model", whole[:size])


def test_file_that_is_no_sentencepiece_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match="a SentencePiece model, found a file that begins"):
        load(tmp_path, "x.model", b"\x00\x01\x02\x03")


# Vocabulary and merges, word lists


def vocab_and_merges(folder: Path, merges: str) -> Path:
    pieces = [to_byte_level(token) for token in [*BYTES, b"ab"]]
    ids = {piece: id for id, piece in enumerate(pieces)}
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    (folder / "merges.txt").write_text(merges, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ("#version: 0.2\na b\n   \n", r"merges\.txt, line 3: expected two pieces .* found '   '"),
        ("#version: 0.2\na b\nab\n", r"merges\.txt, line 3: expected two pieces"),
        ("#version: 0.2\na b\na  b\n", r"merges\.txt, line 3: expected two pieces"),
        ("#version: 0.2\na b\na zz\n", r"merge 1: expected pieces of the vocabulary, found 'zz'"),
        ("#version: 0.2\na c\n", r"merge 0: .*make 'ac'"),
    ],
)
def test_malformed_merges_are_refused_with_their_line(tmp_path: Path, merges: str, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        tokbench.load(vocab_and_merges(tmp_path, merges))


def test_vocabulary_without_its_merges_is_refused(tmp_path: Path) -> None:
    path = vocab_and_merges(tmp_path, "") / "vocab.json"
    (tmp_path / "merges.txt").unlink()
    with pytest.raises(ModelFormatError, match=r"merges\.txt or vocab\.bpe beside it, found none"):
        tokbench.load(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"the\n##re\n", r"with \[UNK\], found 2 lines without it"),
        (b"[UNK]\n" + b"x%d\n" * 2000 % tuple(range(2000)) + b"\xff\n", "expected UTF-8, found 0xFF"),
    ],
)
def test_malformed_word_list_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path, "vocab.txt", data)


# GGUF


def gguf(entries: bytes, count: int, *, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, count) + entries


def entry(key: bytes, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(key)) + key + struct.pack("<I", kind) + value


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GGUF", "expected 4 more bytes"),
        (gguf(b"", 0, version=1), "version 2 or 3"),
        (gguf(b"", 0, version=0x03000000), "version 2 or 3"),
        (gguf(b"", 2**63), "at most 65536 entries"),
        (gguf(struct.pack("<Q", 2**62), 1), "a string that fits into the file"),
        (gguf(entry(b"tokenizer.x", 8, struct.pack("<Q", 2**40)), 1), "a string that fits into the file"),
        (gguf(entry(b"tokenizer.x", 9, struct.pack("<IQ", 8, 2**40)), 1), "an array that fits into the file"),
        (gguf(entry(b"tokenizer.x", 9, struct.pack("<IQ", 4, 1000)), 1), "an array that fits into the file"),
        (gguf(entry(b"tokenizer.x", 99, b""), 1), "a type of value between 0 and 12"),
        (gguf(entry(b"tokenizer.x", 9, struct.pack("<IQIQIQ", 9, 1, 9, 1, 9, 0)), 1), "a type of value|fits"),
        (gguf(entry(b"tokenizer.ggml.x", 7, b"\x01") * 2, 2), "each key once"),
        (gguf(b"", 0), "a tokenizer of the model"),
        (gguf(entry(b"tokenizer.ggml.model", 8, struct.pack("<Q", 4) + b"rwkv"), 1), "found 'rwkv'"),
        (
            gguf(entry(b"tokenizer.ggml.model", 8, struct.pack("<Q", 4) + b"gpt2"), 1),
            "a list tokenizer.ggml.tokens",
        ),
    ],
)
def test_gguf_with_impossible_lengths_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path, "x.gguf", data)


@pytest.mark.real
def test_gguf_truncated_anywhere_is_refused(shared: Path, tmp_path: Path) -> None:
    whole = (shared / "vocab/gguf/ggml-vocab-gpt-2.gguf").read_bytes()
    path = tmp_path / "cut.gguf"
    for size in [*range(4, 700, 7), *range(700, len(whole), len(whole) // 25)]:
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFormatError, match=r"cut\.gguf, byte \d+"):
            read_metadata(path)


def test_rwkv_vocabulary_is_refused_by_name(tmp_path: Path) -> None:
    data = b"".join(b"%d '\\x%02x' 1\n" % (byte + 1, byte) for byte in range(9))
    with pytest.raises(ModelFormatError, match="one of RWKV, which takes the longest match"):
        load(tmp_path, "rwkv_vocab.txt", data)


# Files that would run code


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("the pickle was opened",))


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", ["tokenizer.pkl", "tokenizer.model", "tokenizer.json", "vocab.txt"])
def test_pickle_is_refused_without_opening_it(tmp_path: Path, name: str, protocol: int) -> None:
    data = pickle.dumps({"vocab": Bomb()}, protocol=protocol)
    with pytest.raises(ModelFormatError, match="a Python pickle") as caught:
        load(tmp_path, name, data)
    assert "it was not opened" in (caught.value.hint or "")


def test_code_that_comes_with_a_model_is_never_run(tmp_path: Path) -> None:
    config = {"auto_map": {"AutoTokenizer": ["evil.Tokenizer", None]}, "tokenizer_class": "Evil"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "evil.py").write_text("raise SystemExit('it ran')", encoding="utf-8")
    with pytest.raises(ModelFormatError, match="names Python code to run"):
        tokbench.load(tmp_path / "tokenizer_config.json")
    with pytest.raises(ModelFormatError, match="a folder with a tokenizer"):
        tokbench.load(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(changed_document(lambda d: None))
    assert tokbench.load(tmp_path).encode("abc") == [257]


# Paths and options


def test_missing_file_and_empty_file_and_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no file or folder"):
        tokbench.load(tmp_path / "none")
    with pytest.raises(ModelFormatError, match="a folder with a tokenizer"):
        tokbench.load(tmp_path)
    with pytest.raises(ModelFormatError, match="an empty file"):
        load(tmp_path, "empty", b"")


def test_folder_with_two_rank_files_is_refused(tmp_path: Path) -> None:
    for name in ("a.tiktoken", "b.tiktoken"):
        (tmp_path / name).write_bytes(rank_file(BYTES))
    with pytest.raises(ModelFormatError, match=r"several: a\.tiktoken, b\.tiktoken"):
        tokbench.load(tmp_path, pattern="gpt4")


def test_options_that_contradict_a_complete_file_are_refused(tmp_path: Path) -> None:
    data = changed_document(lambda d: None)
    with pytest.raises(ConfigError, match="already defines what --pattern"):
        load(tmp_path, "tokenizer.json", data, pattern="gpt4")
    with pytest.raises(ConfigError, match="already defines what --special-token"):
        load(tmp_path, "tokenizer.json", data, special_tokens={"<x>": 7})
    with pytest.raises(ConfigError, match="there is no engine 'fast'"):
        load(tmp_path, "tokenizer.json", data, engine="fast")
