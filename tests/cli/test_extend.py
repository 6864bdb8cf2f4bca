"""`tokbench extend`: the files that it writes, its messages, and its refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.byte_level_documents import SPLITTING, with_parts
from support.folders import json_of
from support.huggingface import added
from support.lint import byte_level

import tokbench

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Done

pytestmark = pytest.mark.usefixtures("short_proofs")

TEXT = "the then other the abc\n"


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """Write a text, and a tokenizer with 256 th, 257 " th" and 258 <eos> (its role eos); return its folder."""
    path = tmp_path / "old" / "tokenizer.json"
    path.parent.mkdir()
    document = byte_level(("t", "h"), (" ", "th"), added_tokens=[added("<eos>", 258)])
    path.write_text(json.dumps(document))
    (path.parent / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<eos>"}))
    (tmp_path / "text.txt").write_text(TEXT * 40)
    return path.parent


def test_tokens_are_learned_after_the_old_ones(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    """The pairs " th" + e and th + e both occur 80 times; the one with the lower ids comes first."""
    done = run("extend", tokenizer, "text.txt", "--tokens", "2", "--out", "new", "--json").good()
    assert done.json["schema"] == "tokbench.extend/1"
    assert (done.json["old_vocab_size"], done.json["new_vocab_size"], done.json["learned"]) == (259, 261, 2)
    assert [piece["bytes"] for piece in done.json["last_learned"]] == ["746865", "20746865"]
    assert done.json["new_tokens"] < done.json["old_tokens"]
    assert done.json["proofs"]["segmentations"]["texts"] == 1
    id_map = json_of(tmp_path / "new" / "id_map.json")
    assert id_map["old_to_new"] == list(range(259))
    assert id_map["new_to_old"][256:] == [256, 257, 258, -1, -1]
    rows = json_of(tmp_path / "new" / "init.json")
    assert rows["ids"][258:] == [[258], [256, 101], [257, 101]]
    assert json_of(tmp_path / "new" / "config_patch.json") == {"vocab_size": 320, "eos_token_id": 258}
    new = tokbench.load(tmp_path / "new")
    assert new.info.special_tokens == {"<eos>": 258}
    assert new.encode("the the") == [259, 260]
    assert json_of(tmp_path / "new" / "tokenizer_config.json")["eos_token"] == "<eos>"


def test_an_added_token_that_merges_make_as_well_is_extended(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    """As after `add_tokens` with a word that the vocabulary has already."""
    word = added("the", 257, special=False, single_word=True, normalized=True)
    document = byte_level(("t", "h"), ("th", "e"), added_tokens=[word])
    (tokenizer / "tokenizer.json").write_text(json.dumps(document))
    run("extend", tokenizer, "text.txt", "--tokens", "8", "--out", "new").good()
    old, new = tokbench.load(tokenizer), tokbench.load(tmp_path / "new")
    assert new.encode("the bathes") == old.encode("the bathes")
    assert new.encode("then") == [257, 110]
    assert len(new.encode(" other")) < len(old.encode(" other"))


def test_words_and_special_tokens_are_added_without_a_text(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    (tmp_path / "words.txt").write_bytes(b"\xef\xbb\xbfthee\r\n there\r\n\r\n")
    done = run(
        "extend", tokenizer, "--words", "words.txt", "--special-token", "<tool>", "--out", "new"
    ).good()
    assert any(line.startswith("to       265 ids: 5 for words, 1 special") for line in done.lines)
    new = tokbench.load(tmp_path / "new")
    assert len(new.encode("thee there")) == 2
    assert new.info.special_tokens == {"<eos>": 258, "<tool>": 264}
    assert run("inspect", "new", "--json").good().json["vocab_size"] == 265
    assert run("lint", "-t", "new", "--select", "reachability,bytes,roles").good().code == 0


def test_saved_tokenizer_is_extended_to_a_size(run: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT * 40)
    run("train", "text.txt", "--vocab-size", "260", "--special-token", "<|e|>", "--out", "saved").good()
    done = run("extend", "saved", "text.txt", "--size", "263", "--out", "new", "--json").good()
    assert done.json["new_vocab_size"] == 263
    assert len(done.json["proofs"]["encodings"]) == 2
    assert "ranks.tiktoken" in done.json["files"]
    run("train", "text.txt", "--vocab-size", "262", "--out", "longer").good()
    longer, new = (tokbench.load(tmp_path / name) for name in ("longer", "new"))
    pieces = [[tokenizer.token_bytes(id) for id in tokenizer.encode(TEXT)] for tokenizer in (longer, new)]
    assert pieces[0] == pieces[1]


def test_word_with_an_unreachable_token_is_reported(run: Callable[..., Done], tmp_path: Path) -> None:
    """Merging turns abc into "a bc", so the merge of "ab" + "c" into the token abc never happens."""
    document = byte_level(("b", "c"), ("a", "b"), ("ab", "c"))
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    (tmp_path / "words.txt").write_text("abc\n")
    said = "hint:  'abc' stays 2 tokens: it is a token already"
    run("extend", "tokenizer.json", "--words", "words.txt", "--out", "new").refused(
        2, "no token would be added", said
    )
    (tmp_path / "words.txt").write_text("abc\nbb\n")
    done = run("extend", "tokenizer.json", "--words", "words.txt", "--out", "new").good()
    assert said.removeprefix("hint:  ") in " ".join(done.lines)


def test_words_that_are_tokens_already_are_counted(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    (tmp_path / "words.txt").write_text("th\nthee\nt\nth\n")
    done = run("extend", tokenizer, "--words", "words.txt", "--out", "new").good()
    assert "note: of 3 words, 2 are tokens already" in done.stdout


def test_all_words_that_are_split_are_named_at_once(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    (tmp_path / "words.txt").write_text(
        "two words\nthee\na.b\na.b\n" + "".join(f"a {n}\n" for n in range(30))
    )
    run("extend", tokenizer, "--words", "words.txt", "--out", "new").refused(
        2,
        "the word 'two words' is not one pre-token: it is split into 'two', ' words'",
        "; nor can 31 other words be one token: 'a.b', 'a 0', 'a 1'",
        "'a 18' and 11 more",
        "hint:  leave them out, or give their parts",
    )


def test_word_that_is_an_added_token_is_refused_as_one(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    (tmp_path / "words.txt").write_text("<eos>\n")
    run("extend", tokenizer, "--words", "words.txt", "--out", "new").refused(
        2, "the word '<eos>' is an added token, which is taken out of text before words are found"
    )


def test_a_special_token_with_an_id_is_one_of_the_old_tokenizer(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    run("convert", "-t", tokenizer, "--to", "tiktoken", "--out", "old.tiktoken").good()
    special = ("--special-token", "<eos>=258", "--special-token", "<tool>")
    run("extend", "old.tiktoken", "--pattern", "gpt2", *special, "--out", "new").good()
    assert json_of(tmp_path / "new" / "id_map.json")["new_to_old"][257:] == [257, 258, -1]
    assert tokbench.load(tmp_path / "new").info.special_tokens == {"<eos>": 258, "<tool>": 259}


def test_too_little_text_is_reported(run: Callable[..., Done], tokenizer: Path) -> None:
    done = run(
        "extend", tokenizer, "text.txt", "--tokens", "900", "--min-frequency", "60", "--out", "new"
    ).good()
    assert "of 900 tokens: no pair is left that occurs 60 times or more" in " ".join(done.lines)
    run(
        "extend", tokenizer, "text.txt", "--tokens", "9", "--max-token-length", "1", "--out", "short"
    ).refused(2, "no pair is left that occurs 2 times or more and makes a token of at most 1 byte")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no tokens to add"),
        (["--tokens", "5"], "there is no text to learn tokens from"),
        (["text.txt", "--special-token", "<a>"], "text is named, but nothing is learned from it"),
        (["text.txt", "--tokens", "5", "--size", "300"], "--tokens and --size both say"),
        (["text.txt", "--size", "259"], "--size 259 leaves no id"),
        (["--special-token", "<eos>"], "'<eos>' is a token already"),
        (["--special-token", " \n"], "is white space, which libraries would find in every text"),
        (["--special-token", "<a>", "--special-token", "<a>=9"], "the special token '<a>' is given twice"),
        (
            ["--special-token", "<a>=259"],
            "give --tokens N with text, --words or --special-token TEXT; one with an id is not added",
        ),
        (
            ["--words", "two.txt"],
            "the word 'two words' is not one pre-token: it is split into 'two', ' words'",
        ),
        (["--words", "empty.txt"], "empty.txt has no words"),
        (["--words", "latin.txt"], "latin.txt is not UTF-8, at byte 1"),
        (["--words", "known.txt"], "no token would be added\nhint:  each word is a token already"),
        (["text.txt", "--tokens", "5", "--min-frequency", "9000"], "hint:  0 of 5 tokens: no pair is left"),
    ],
)
def test_invalid_options_are_refused(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "two.txt").write_text("two words\n")
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "latin.txt").write_bytes(b"a\xe9")
    (tmp_path / "known.txt").write_text("th\n")
    done = run("extend", tokenizer, *arguments, "--out", "new")
    assert done.code in (1, 2)
    assert said in done.stderr
    assert not (tmp_path / "new").exists()


def test_special_token_that_is_a_word_is_refused_with_ignore_merges(
    run: Callable[..., Done], tmp_path: Path
) -> None:
    document = byte_level(("t", "h"))
    document["model"]["ignore_merges"] = True
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    done = run("extend", "tokenizer.json", "--special-token", "tool", "--out", "new").refused(1)
    assert "could take the word 'tool'" in " ".join(done.stderr.split())


def test_baseline_tokenizers_are_refused(run: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT * 40)
    run("train", "text.txt", "--backend", "word", "--vocab-size", "40", "--out", "words").good()
    said = (
        "this vocabulary cannot be changed: the backend 'word' does not describe its tokenizers in terms of other "
        "formats\nhint:  tokens can be added and removed where the algorithm is BPE, Unigram or WordPiece"
    )
    run("extend", "words", "text.txt", "--tokens", "5", "--out", "new").refused(1, said)
    run("prune", "words", "--script", "Thai", "--out", "new").refused(1, said)


@pytest.mark.slow
def test_added_token_keeps_the_id_in_use(run: Callable[..., Done], tmp_path: Path) -> None:
    """The file states 300, as one cut by hand may; the library and tokbench both use 258, after the vocabulary."""
    path = tmp_path / "tokenizer.json"
    tokens = [added("<eos>", 300), added("<fim>", 301, special=False)]
    path.write_text(json.dumps(byte_level(("t", "h"), (" ", "th"), added_tokens=tokens)))
    (tmp_path / "words.txt").write_text("thee\n")
    run("extend", path, "--words", "words.txt", "--out", "new").good()
    new = tokbench.load(tmp_path / "new")
    assert new.info.special_tokens == {"<eos>": 258}
    assert new.encode("<fim>thee") == [259, 261]
    assert json_of(tmp_path / "new" / "id_map.json")["new_to_old"][257:] == [257, 258, 259, -1, -1]
    (tmp_path / "list.txt").write_text("257\n")
    run("prune", path, "--list", "list.txt", "--out", "smaller").good()
    assert tokbench.load(tmp_path / "smaller").encode("<fim> the") == [258, 32, 256, 101]


def test_partial_characters_are_learned_if_the_pattern_splits_bytes(
    run: Callable[..., Done], tmp_path: Path
) -> None:
    """Falcon's file splits at the second byte of "ü", which looks like the digit "¼": " fü" is 20 66 c3 and bc."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(with_parts(SPLITTING["falcon"], None))
    (tmp_path / "text.txt").write_text(" fü fü fa")
    done = run("extend", path, "text.txt", "--tokens", "2", "--out", "new", "--json").good()
    assert [piece["bytes"] for piece in done.json["last_learned"]] == ["2066", "2066c3"]
    (tmp_path / "words.txt").write_text("für\n")
    done = run("extend", path, "--words", "words.txt", "--out", "other")
    done.refused(2, r"the word 'für' is not one pre-token: it is split into 'f\xc3', '\xbc', 'r'")
