"""What opens, how it is recognised, and what the user may add to it."""

from __future__ import annotations

import base64
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

import tokbench
from tokbench import SpecialPolicy, TokenKind, store
from tokbench.core.descriptions import ByteLevelBpe
from tokbench.errors import ConfigError, ConversionError, StoreError, UnknownIdError
from tokbench.formats.tokenizer_json import dump_byte_level_bpe
from tokbench.opening.open import open_found
from tokbench.opening.patterns import known_pattern
from tokbench.opening.recognition import Format, recognise
from tokbench.opening.request import OpenRequest
from tokbench.workbench.convert import convert
from tokbench.workbench.open import load

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.manifest import Manifest
    from tokbench.opening.request import Opened

BYTES = [bytes([byte]) for byte in range(256)]
TOKENS = [*BYTES, b"lo", b"low", b" low"]
MERGES = [(0x6C, 0x6F), (256, 0x77), (0x20, 257)]


def rank_file(tokens: list[bytes | None]) -> bytes:
    return b"".join(
        base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens) if token is not None
    )


def ranks(folder: Path, tokens: list[Any] = TOKENS, *, name: str = "mine.tiktoken") -> Path:
    path = folder / name
    path.write_bytes(rank_file(tokens))
    return path


def document(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(
        dump_byte_level_bpe(
            tokens=TOKENS, merges=MERGES, special_tokens={"<|end|>": 259}, pattern=known_pattern("llama3")[1]
        )
    )
    return made | changes


def document_file(folder: Path, made: dict[str, Any], *, name: str = "tokenizer.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(made), encoding="utf-8")
    return path


def opened(path: Path, **options: Any) -> Opened:
    return open_found(recognise(path), OpenRequest(**options))


# Recognition


def test_the_content_decides_and_not_the_name(tmp_path: Path) -> None:
    """Llama 3 calls its rank file `tokenizer.model`; anything may be called `.txt`."""
    path = ranks(tmp_path, name="tokenizer.model")
    assert recognise(path).format is Format.RANKS
    assert recognise(tmp_path).format is Format.RANKS
    assert recognise(document_file(tmp_path, document(), name="notes.txt")).format is Format.TOKENIZER_JSON


def test_a_folder_is_its_tokenizer_json_before_anything_else(tmp_path: Path) -> None:
    ranks(tmp_path)
    document_file(tmp_path, document())
    (tmp_path / "vocab.txt").write_text("[UNK]\nlow\n", encoding="utf-8")
    source = recognise(tmp_path)
    assert source.format is Format.TOKENIZER_JSON
    assert source.name == tmp_path.name


def test_a_saved_folder_opens_as_before(tmp_path: Path) -> None:
    trained = tokbench.train(["low lower lowest"] * 3, vocab_size=262)
    trained.save(tmp_path / "saved")
    found = opened(tmp_path / "saved")
    assert found.source.format is Format.SAVED
    assert found.tokenizer.encode("lowest") == trained.encode("lowest")
    exported = opened(tmp_path / "saved" / "tokenizer.json")
    assert exported.tokenizer.encode("lowest") == trained.encode("lowest")


@pytest.mark.parametrize("backend", ["bpe", "byte", "char"])
def test_the_manifest_of_a_saved_folder_is_read_once(
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


def test_a_word_list_says_what_it_guessed(tmp_path: Path) -> None:
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


# Rank files: the pattern and the special tokens


def test_a_rank_file_asks_for_its_pattern(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not define how to split text") as caught:
        tokbench.load(ranks(tmp_path))
    assert "--pattern takes a name" in (caught.value.hint or "")


def test_a_usual_size_suggests_the_usual_pattern(tmp_path: Path) -> None:
    pairs = [bytes([first, second]) for first in range(256) for second in range(196)]
    with pytest.raises(ConfigError) as caught:
        tokbench.load(ranks(tmp_path, [*BYTES, *pairs][:50256]))
    assert caught.value.hint == "50,256 ranks are usual with --pattern gpt2"


def test_special_tokens_go_where_they_are_put_or_behind_everything(tmp_path: Path) -> None:
    tokenizer = tokbench.load(
        ranks(tmp_path), pattern="gpt4o", special_tokens={"<|eot|>": 300, "<|pad|>": None, "<|x|>": None}
    )
    assert dict(tokenizer.info.special_tokens) == {"<|eot|>": 300, "<|pad|>": 301, "<|x|>": 302}
    assert tokenizer.info.vocab_size == 303
    text = "low<|eot|> low<|pad|>"
    assert tokenizer.encode(text, special=SpecialPolicy.ENCODE) == [257, 300, 258, 301]
    assert 300 not in tokenizer.encode(text)
    assert tokenizer.decode([257, 300, 258]) == "low<|eot|> low"
    with pytest.raises(UnknownIdError):
        tokenizer.decode([280])


@pytest.mark.parametrize(
    ("special_tokens", "message"),
    [
        ({"<a>": 97}, "the id 97, which is of an ordinary token"),
        ({"<a>": 300, "<b>": 300}, "the id 300, which is of '<b>'"),
        ({"<a>": -1}, "the id -1, which is impossible"),
        ({"<a>": 1 << 30}, "which is impossible"),
        ({"<a>": 300, "<a><b>": 301}, "is part of"),
        ({"": 300}, "is empty"),
    ],
)
def test_special_tokens_that_cannot_be(
    tmp_path: Path, special_tokens: dict[str, int | None], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        tokbench.load(ranks(tmp_path), pattern="gpt4", special_tokens=special_tokens)


@pytest.mark.parametrize("engine", ["native", "library"])
def test_gaps_in_the_ranks_and_special_tokens_in_them(tmp_path: Path, engine: str) -> None:
    tokens: list[Any] = [*BYTES, b"lo", None, None, b"low", None, b" low"]
    tokenizer = tokbench.load(
        ranks(tmp_path, tokens), pattern="gpt4", special_tokens={"<|mid|>": 258}, engine=engine
    )
    assert tokenizer.encode("low low") == [259, 261]
    assert tokenizer.decode_bytes([259, 258, 261]) == b"low<|mid|> low"
    assert tokenizer.token_bytes(258) == b"<|mid|>"
    assert tokenizer.token_id(b"<|mid|>") == 258
    for gap in (257, 260):
        with pytest.raises(UnknownIdError):
            tokenizer.token_bytes(gap)
        with pytest.raises(UnknownIdError):
            tokenizer.decode_bytes([259, gap])
    assert tokenizer.info.vocab_size == 262


def test_a_pattern_of_ones_own_runs_in_tiktoken(tmp_path: Path) -> None:
    found = opened(ranks(tmp_path), pattern=r"\w+|\W+")
    assert found.engine == "library"
    assert found.reason == "its split pattern is not one of those that the native kernel implements"
    assert found.tokenizer.encode("low low") == [257, 32, 257]
    with pytest.raises(ConfigError, match="--engine native cannot run this tokenizer"):
        opened(ranks(tmp_path), pattern=r"\w+|\W+", engine="native")


def test_qwen2_needs_our_kernel_over_ranks(tmp_path: Path) -> None:
    tokenizer = tokbench.load(ranks(tmp_path), pattern="qwen2")
    assert not tokenizer.info.lossless
    assert tokenizer.encode("e\u0301") == tokenizer.encode("é")
    with pytest.raises(ConfigError, match="tiktoken has no normaliser"):
        tokbench.load(ranks(tmp_path), pattern="qwen2", engine="library")


@pytest.mark.parametrize("engine", ["native", "library"])
def test_an_empty_token_among_the_ranks_is_an_entry_that_no_text_becomes(tmp_path: Path, engine: str) -> None:
    """As in Whisper's file, which spells it as a lone "="."""
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(rank_file([*BYTES, b"lo"]) + b"= 257\n" + base64.b64encode(b"low") + b" 258\n")
    tokenizer = tokbench.load(path, pattern="gpt2", engine=engine, special_tokens={"<|end|>": 259})
    assert tokenizer.encode("low lo") == [258, 32, 256]
    assert tokenizer.encode("") == []
    assert tokenizer.token_bytes(257) == b""
    assert tokenizer.decode_bytes([258, 257, 256]) == b"lowlo"
    assert tokenizer.token_id(b"") == 257
    out = tmp_path / "mine.tokbin"
    convert(tokenizer, to="tokbin", out=out)
    assert tokbench.load(out).decode_bytes([258, 257, 256]) == b"lowlo"
    assert tokbench.load(out).encode("low<|end|>") == tokenizer.encode("low<|end|>")


def test_a_description_is_what_was_opened(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(ranks(tmp_path, [*BYTES, None, b"lo"]), pattern="gpt4")
    described = tokenizer.description()
    assert isinstance(described, ByteLevelBpe)
    assert described.tokens[256:] == (None, b"lo")
    assert described.merges is None
    assert described.pattern_name == "gpt4"
    assert tokenizer.to_tiktoken().encode("lolo") == [257, 257]
    with pytest.raises(ConversionError):
        tokenizer.save(tmp_path / "saved")


# tokenizer.json: which engine, and why


def test_a_plain_byte_level_bpe_runs_on_the_kernel(tmp_path: Path) -> None:
    found = opened(document_file(tmp_path, document()))
    assert found.engine == "native"
    assert found.composition.pattern is not None
    assert found.composition.pattern[0] == "llama3"
    assert found.tokenizer.encode("low low<|end|>", special=SpecialPolicy.ENCODE) == [257, 258, 259]


def added(content: str, id: int, **flags: Any) -> dict[str, Any]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id, "content": content, **plain, "special": True, **flags}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


BERT = {"type": "BertProcessing", "cls": ["<|end|>", 259], "sep": ["<|end|>", 259]}
TWO_TEMPLATES = {"type": "Sequence", "processors": [BERT, BERT]}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": {"type": "StripAccents"}}, r"normalises the text \(StripAccents\)"),
        ({"pre_tokenizer": None}, "does not map text to bytes"),
        (
            {"added_tokens": [added("<a>", 259, lstrip=True), added(" <b>", 260)]},
            "strips white space that another begins",
        ),
        ({"added_tokens": [added("<a>", 259), added("<a>", 259)]}, "listed twice"),
    ],
)
def test_what_could_change_an_id_is_left_to_the_library(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    path = document_file(tmp_path, document(**changes))
    assert opened(path).engine == "library"
    with pytest.raises(ConfigError, match=reason):
        opened(path, engine="native")


def test_dropout_is_left_to_the_library(tmp_path: Path) -> None:
    made = document()
    made["model"] |= {"dropout": 0.1}
    with pytest.raises(ConfigError, match="skips merges at random"):
        opened(document_file(tmp_path, made), engine="native")


@pytest.mark.parametrize("engine", ["native", "library"])
def test_special_tokens_among_the_others_and_gaps(tmp_path: Path, engine: str) -> None:
    made = document()
    vocab = made["model"]["vocab"]
    made["model"]["vocab"] = {piece: id + (id > 255) * 3 for piece, id in vocab.items()} | {"<|mid|>": 256}
    made["added_tokens"] = [added("<|mid|>", 256)]
    tokenizer = tokbench.load(document_file(tmp_path, made), engine=engine)
    assert tokenizer.encode("low<|mid|> low", special=SpecialPolicy.ENCODE) == [260, 256, 261]
    assert tokenizer.decode_bytes([260, 256, 261]) == b"low<|mid|> low"
    assert tokenizer.info.vocab_size == 262
    assert tokenizer.segment("<|mid|>", special=SpecialPolicy.ENCODE).tokens[0].kind is TokenKind.SPECIAL
    assert 256 not in tokenizer.encode("<|mid|>")
    for gap in (257, 258):
        with pytest.raises(UnknownIdError):
            tokenizer.token_bytes(gap)


def test_whole_pretokens_come_first_where_the_file_says_so(tmp_path: Path) -> None:
    made = document()
    made["model"]["ignore_merges"] = True
    made["model"]["vocab"]["xyz"] = 259
    made["added_tokens"] = []
    path = document_file(tmp_path, made)
    for engine in ("native", "library"):
        assert tokbench.load(path, engine=engine).encode("xyz axyz") == [259, 32, 97, 120, 121, 122]


def test_pieces_that_no_merge_makes_are_told(tmp_path: Path) -> None:
    made = document()
    made["model"]["vocab"]["zz"] = 259
    made["added_tokens"] = []
    assert opened(document_file(tmp_path, made)).warnings == ("1 piece is made by no merge, as 'zz'",)


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
def test_patterns_are_known_by_their_texts(text: str, name: str) -> None:
    assert known_pattern(text)[0] == name


# Names


def test_names_are_paths_then_folders_then_built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokenizers").mkdir()
    document_file(tmp_path / "tokenizers", document(), name="foreign.json")
    assert load("foreign.json").encode("low") == [257]
    with pytest.raises(StoreError, match="there is no tokenizer 'nothing'") as caught:
        load("nothing")
    assert "tiktoken:NAME" in (caught.value.hint or "")


def test_tiktoken_names_are_asked_of_tiktoken_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import tiktoken

    made = tiktoken.Encoding(
        "tiny",
        pat_str=r"\p{L}+|\P{L}+",
        mergeable_ranks={token: rank for rank, token in enumerate(TOKENS)},
        special_tokens={"<|end|>": 300},
    )
    monkeypatch.setattr(tiktoken, "list_encoding_names", lambda: ["tiny"])
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: made)
    tokenizer = load("tiktoken:tiny")
    assert tokenizer.info.name == "tiny"
    assert tokenizer.encode("low<|end|>", special=SpecialPolicy.ENCODE) == [257, 300]
    with pytest.raises(StoreError, match="tiktoken has no 'big'") as caught:
        load("tiktoken:big")
    assert caught.value.hint == "it has tiny"


def test_what_cannot_be_fetched_says_which_file_to_put_where(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    import tiktoken

    def offline(*arguments: object, **options: object) -> None:
        raise ConnectionError("no network\nand a long story")

    monkeypatch.setattr(tiktoken, "get_encoding", offline)
    with pytest.raises(StoreError, match=r"cannot fetch 'cl100k_base': no network$") as caught:
        load("tiktoken:cl100k_base")
    assert "TIKTOKEN_CACHE_DIR" in (caught.value.hint or "")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    with pytest.raises(StoreError, match=r"hf:org/model cannot be fetched: no network$") as caught:
        load("hf:org/model")
    assert "tokenizer.json" in (caught.value.hint or "")


def test_a_model_of_the_hub_is_its_data_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked: dict[str, Any] = {}

    def download(name: str, *, allow_patterns: list[str]) -> str:
        asked.update(name=name, patterns=allow_patterns)
        document_file(tmp_path, document())
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert load("hf:org/model").encode("low") == [257]
    assert asked["name"] == "org/model"
    assert not any(pattern.endswith((".py", ".bin", "*")) for pattern in asked["patterns"])


def test_opening_imports_no_library_before_it_needs_one() -> None:
    import subprocess

    code = (
        "import sys, tokbench.opening, tokbench.opening.recognition, tokbench.opening.remote\n"
        "heavy = {'tiktoken', 'tokenizers', 'sentencepiece', 'huggingface_hub', 'transformers', 'numpy'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
