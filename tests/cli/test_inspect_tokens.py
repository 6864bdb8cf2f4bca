"""`tokbench inspect` on tokens: search, one token in detail, frequencies, two tokenizers, --vocab-out."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
from support.lint import byte_level

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Done

MERGES = (("l", "o"), ("lo", "w"), (b"\xe2", b"\x82"))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Write a tokenizer with 256 lo, 257 low, 258 two of the three bytes of €, and 259 a tab and a backslash."""
    return written(tmp_path / "mine" / "tokenizer.json", byte_level(*MERGES, tokens=["\t\\"]))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("low lot low", encoding="utf-8")  # low, space, lo, t, space, low
    return path


def written(path: Path, document: object) -> Path:
    path.parent.mkdir()
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_found_tokens_are_a_table(run: Callable[..., Done], mine: Path, columns: int) -> None:
    done = run("inspect", mine, "--find", "^lo").good()
    assert max(map(len, done.lines)) <= columns
    assert done.lines[1].split() == ["id", "token", "length", "rank"]
    assert [line.split() for line in done.lines[3:5]] == [["256", "lo", "2", "0"], ["257", "low", "3", "1"]]
    assert "2 tokens of mine" in done.stdout
    assert "129 tokens left out: their bytes are not whole characters" in done.stdout


def test_json_of_a_search_has_every_field(run: Callable[..., Done], mine: Path, text: Path) -> None:
    document = run("inspect", mine, "--bytes", "6c6f", "--corpus", text, "--json").good().json
    assert document["schema"] == "tokbench.inspect.tokens/1"
    assert document["found"] == 2
    assert document["corpus"] == {"documents": 1, "bytes": 11, "tokens": 6}
    first, second = document["tokens"]
    assert first == {
        "id": 257,
        "bytes": "6c6f77",
        "text": "low",
        "kind": "normal",
        "spelling": None,
        "score": None,
        "rank": 1,
        "frequency": 2,
    }
    assert (second["id"], second["frequency"]) == (256, 1)


def test_token_is_shown_in_detail(run: Callable[..., Done], mine: Path, text: Path, columns: int) -> None:
    done = run("inspect", mine, "--id", "257", "--id", "258", "--corpus", text).good()
    assert max(map(len, done.lines)) <= columns
    sheet = "\n".join(done.lines)
    for part in (
        *("low  rank 1\n", "├─ lo  rank 0\n", "│  ├─ l\n", "└─ w\n"),
        *("frequency  2 of 6 token occurrences (33.33 %)", "none: the bytes are not whole characters"),
    ):
        assert part in sheet


def test_json_of_a_token_has_its_derivation(run: Callable[..., Done], mine: Path) -> None:
    [token] = run("inspect", mine, "--id", "256", "--json").good().json["tokens"]
    assert [merge["rank"] for merge in token["derivation"]["merges"]] == [0]
    assert token["derivation"]["makes_the_token"] is True
    assert [use["merged"]["id"] for use in token["used_by"]] == [257]


def test_token_without_a_merge_is_reported(run: Callable[..., Done], mine: Path) -> None:
    done = run("inspect", mine, "--id", "259").good()
    assert "no merge makes it" in done.stdout


def test_inapplicable_options_are_reported(run: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\nlow\n##er\n", encoding="utf-8")
    assert "does not apply: WordPiece has no merges" in run("inspect", "vocab.txt", "--id", "2").good().stdout
    run("inspect", "vocab.txt", "--rank", "0:3").refused(2, "--rank does not apply")


def test_number_of_longest_tokens_is_an_option(run: Callable[..., Done], mine: Path) -> None:
    longest = run("inspect", "-t", mine, "--longest", "2", "--json").good().json["tokens"]
    assert [token["text"] for token in longest] == ["low", "lo"]
    assert (
        "tokens of mine, the 2 longest shown (--longest)"
        in run("inspect", mine, "--longest", "2").good().stdout
    )
    [of_those] = run("inspect", mine, "--find", "^l", "--longest", "1", "--json").good().json["tokens"]
    assert of_those["text"] == "low"


def test_tokenizer_by_option_and_by_argument_is_refused(run: Callable[..., Done], mine: Path) -> None:
    run("inspect", "-t", mine, "other").refused(2, str(mine)[:40], "'other'", "leave out -t to compare both")


def test_csv_and_markdown_list_the_tokens(run: Callable[..., Done], mine: Path) -> None:
    done = run("inspect", mine, "--longest", "1", "--csv").good()
    names, row = csv.reader(io.StringIO(done.stdout))
    assert dict(zip(names, row, strict=True))["bytes"] == "6c6f77"
    assert "| 257 | low |" in run("inspect", mine, "--longest", "1", "--markdown").good().stdout


def test_vocab_out_has_every_token(run: Callable[..., Done], mine: Path, text: Path, tmp_path: Path) -> None:
    run("inspect", mine, "--vocab-out", "all.tsv", "--corpus", text).good()
    names, *rows = [line.split("\t") for line in (tmp_path / "all.tsv").read_text("utf-8").splitlines()]
    assert names == ["id", "bytes", "text", "kind", "spelling", "score", "rank", "frequency"]
    assert len(rows) == 260
    assert rows[10][:3] == ["10", "0a", r"\n"]
    assert rows[258] == ["258", "e282", r"\xe2\x82", "normal", "", "", "2", "0"]
    assert rows[259][1:3] == ["095c", r"\t\\"]
    assert len({row[2] for row in rows}) == 260
    run("inspect", mine, "--vocab-out", "all.json").good()
    document = json.loads((tmp_path / "all.json").read_bytes())
    assert document["schema"] == "tokbench.vocabulary/1"
    assert [bytes.fromhex(token["bytes"]) for token in document["tokens"]] == [
        bytes.fromhex(row[1]) for row in rows
    ]
    assert document["tokens"][258]["text"] is None


def test_vocab_out_with_an_unknown_extension_is_refused(run: Callable[..., Done], mine: Path) -> None:
    run("inspect", mine, "--vocab-out", "all.txt").refused(2, "neither .tsv nor .json")


def test_saved_tokenizer_and_its_tokenizer_json_are_the_same_model(
    run: Callable[..., Done], text: Path, tmp_path: Path
) -> None:
    run("train", text, "--vocab-size", "257", "--out", "saved").good()
    comparison = run("inspect", "saved", "saved/tokenizer.json", "--json").good().json
    settings = {setting["name"] for setting in comparison["settings"]}
    assert "pre_tokenizer" in settings
    assert "model" not in settings


def test_two_tokenizers_are_compared(
    run: Callable[..., Done], mine: Path, tmp_path: Path, columns: int
) -> None:
    document = byte_level(MERGES[0], MERGES[2], tokens=["\t\\", "new"])  # 257 is the partial €, 258 the tab
    other = written(tmp_path / "other" / "tokenizer.json", document)
    done = run("inspect", mine, other).good()
    assert max(map(len, done.lines)) <= columns
    told = " ".join(done.stdout.split())
    assert "257 tokens under the same id, 2 under another, 1 only in mine, 1 only in other" in told
    assert "merges: different from rank 1 on; 1 only in mine, 0 only in other, 0 others moved" in told
    comparison = run("inspect", mine, other, "--json").good().json
    assert comparison["schema"] == "tokbench.inspect.comparison/1"
    assert comparison["moved_tokens"] == [
        {"bytes": "e282", "id": 258, "other_ids": [257]},
        {"bytes": "095c", "id": 259, "other_ids": [258]},
    ]
    assert comparison["only_first"] == [{"id": 257, "bytes": "6c6f77"}]
    assert comparison["only_second"] == [{"id": 259, "bytes": b"new".hex()}]
    assert comparison["merges"]["only_first"] == [{"rank": 1, "left": b"lo".hex(), "right": b"w".hex()}]
    assert {setting["name"]: setting["values"] for setting in comparison["settings"]} == {"merges": [3, 2]}


def test_equal_tokenizers_have_no_difference(run: Callable[..., Done], mine: Path) -> None:
    assert "nothing differs" in run("inspect", mine, mine).good().stdout
    assert run("inspect", mine, mine, "--json").good().json["same"] is True


def test_tokenizers_of_the_same_name_are_told_apart(
    run: Callable[..., Done], mine: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = written(tmp_path / "other" / "mine" / "tokenizer.json", byte_level(MERGES[0], tokens=["new"]))
    told = " ".join(run("inspect", mine, other).good().stdout.split())
    assert "3 only in mine, 1 only in mine#2" in told
    assert "2 only in mine, 0 only in mine#2, 0 others moved" in told
    assert "Only in mine (3)" in told
    assert "Only in mine#2 (1)" in told
    named = run("inspect", mine, other, "--json").good().json["tokenizers"]
    assert [tokenizer["name"] for tokenizer in named] == ["mine", "mine#2"]


def test_bytes_outside_utf8_need_no_token(run: Callable[..., Done], tmp_path: Path) -> None:
    """Vocabularies like GPT-NeoX's have no token for the bytes C0, C1, and F5 to FF."""
    document = byte_level(*MERGES, without=[0xC0, 0xC1, *range(0xF5, 0x100)])
    inspected = run("inspect", written(tmp_path / "neox" / "tokenizer.json", document), "--json").good().json
    assert (inspected["byte_level"], inspected["lossless"]) == (False, True)
    assert inspected["lossless_reason"].startswith("every byte of UTF-8 has a token")


def test_boolean_settings_are_shown_as_yes_and_no(
    run: Callable[..., Done], mine: Path, tmp_path: Path
) -> None:
    document = byte_level(*MERGES, tokens=["\t\\"], without=[0xFF])
    other = written(tmp_path / "other" / "tokenizer.json", document)
    shown = run("inspect", mine, other).good().lines
    assert [line.split()[1:] for line in shown if line.split()[:1] == ["byte_level"]] == [["yes", "no"]]


def test_different_special_tokens_and_normalizer_are_shown(
    run: Callable[..., Done], mine: Path, tmp_path: Path
) -> None:
    added = [{"id": 260, "content": "<|end|>", "special": True, "normalized": False}]
    added = [{**token, "single_word": False, "lstrip": False, "rstrip": False} for token in added]
    document = byte_level(*MERGES, tokens=["\t\\"], added_tokens=added, normalizer={"type": "NFC"})
    other = written(tmp_path / "other" / "tokenizer.json", document)
    comparison = run("inspect", mine, other, "--json").good().json
    assert comparison["special_tokens"] == [{"token": "<|end|>", "ids": [None, 260]}]
    assert "normalizer" in {setting["name"] for setting in comparison["settings"]}
    assert comparison["same"] is False


def test_search_in_two_tokenizers_is_refused(run: Callable[..., Done], mine: Path) -> None:
    run("inspect", mine, mine, "--find", "a").refused(2, "two are named")
    run("inspect", mine, mine, mine).refused(2, "3 tokenizers are named")


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "token_id", "made_of"),
    [
        ("gpt2", 1000, ["al", "e"]),
        ("gguf/ggml-vocab-gpt-2.gguf", 1000, ["al", "e"]),
        ("openai/r50k_base.tiktoken", 1000, ["al", "e"]),
        ("falcon", 300, ["i", "d"]),
        ("mistral", 300, ["o", "m"]),
        ("t5-small", 300, None),
        ("bert-base-uncased", 2000, None),
    ],
)
def test_real_vocabularies_have_derivations(
    run: Callable[..., Done], shared: Path, name: str, token_id: int, made_of: list[str] | None
) -> None:
    [token] = run("inspect", shared / "vocab" / name, "--id", str(token_id), "--json").good().json["tokens"]
    if made_of is None:
        assert "has no merges" in token["not_applicable"]
        assert token["derivation"] is None
    else:
        last = token["derivation"]["merges"][-1]
        assert [last["left"]["piece"], last["right"]["piece"]] == made_of
        assert token["derivation"]["makes_the_token"]
        assert all(token_id in (use["left"]["id"], use["right"]["id"]) for use in token["used_by"])


@pytest.mark.parametrize("backend", ["sentencepiece", "unigram", "wordpiece"])
def test_each_token_is_shown_in_detail(run, tmp_path, backend):
    """These include the unknown token, and bytes that no merge yields or joins."""
    (tmp_path / "words.txt").write_text("low lower newest widest\n" * 9)
    run("train", "words.txt", "--backend", backend, "--vocab-size", "290", "--name", "small").good()
    size = run("inspect", "small", "--json").good().json["vocab_size"]
    asked = [option for id in range(size) for option in ("--id", str(id))]
    tokens = run("inspect", "small", *asked, "--json").good().json["tokens"]
    assert [token["id"] for token in tokens] == list(range(size))
    assert [token["kind"] for token in tokens].count("unknown") == 1
