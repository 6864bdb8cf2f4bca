"""`tokbench prune`: the files that it writes, its messages, and its refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.folders import json_of
from support.huggingface import added, word_level, wordpiece
from support.lint import byte_level

import tokbench

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Done

pytestmark = pytest.mark.usefixtures("short_proofs")

TEXT = "the the the abc ab да\n"


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """Write a text, and a tokenizer with th, the, " the", ab, abc, д, а and да from id 256 on, and then <eos>."""
    cyrillic = [(b"\xd0", b"\xb4"), (b"\xd0", b"\xb0"), ("д", "а")]
    merges = [("t", "h"), ("th", "e"), (" ", "the"), ("a", "b"), ("ab", "c"), *cyrillic]
    path = tmp_path / "old" / "tokenizer.json"
    path.parent.mkdir()
    path.write_text(json.dumps(byte_level(*merges, added_tokens=[added("<eos>", 264)])))
    (path.parent / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<eos>"}))
    (tmp_path / "text.txt").write_text(TEXT * 40)
    return path.parent


def test_rarest_leaves_are_removed_and_ids_close_up(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    """As leaves, да, а, д and abc are equally frequent, and ab is more frequent once abc is gone."""
    done = run("prune", tokenizer, "--corpus", "text.txt", "--size", "261", "--out", "new", "--json").good()
    assert done.json["schema"] == "tokbench.prune/1"
    assert (done.json["old_vocab_size"], done.json["new_vocab_size"], done.json["removed"]) == (265, 261, 4)
    id_map = json_of(tmp_path / "new" / "id_map.json")
    assert id_map["old_to_new"][255:] == [255, 256, 257, 258, 259, -1, -1, -1, -1, 260]
    assert id_map["new_to_old"][255:] == [255, 256, 257, 258, 259, 264]
    new = tokbench.load(tmp_path / "new")
    assert new.info.special_tokens == {"<eos>": 260}
    assert new.encode("the abc") == [257, 32, 259, 99]
    figures = done.json["comparison"]["tokenizers"]
    assert figures[1]["metrics"]["bytes_per_token"]["difference"] < 0
    assert figures[1]["counts"]["bytes"] == figures[0]["counts"]["bytes"]
    assert done.json["proofs"]["segmentations"]["changed_pretokens"] == 2
    assert [proof["agrees"] for proof in done.json["proofs"]["encodings"]] == [True]


@pytest.mark.parametrize("command", ["prune", "extend"])
def test_tokens_that_only_the_configuration_lists_are_kept(
    run: Callable[..., Done], tmp_path: Path, command: str
) -> None:
    """As a padding token that was added for finetuning: it has a row in the model's embedding."""
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes(wordpiece())
    pad = {"content": "<pad>", "special": True}
    size = len(json.loads(wordpiece())["model"]["vocab"])
    settings = {"pad_token": "<pad>", "added_tokens_decoder": {str(size): pad}}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert tokbench.load(folder).info.special_tokens["<pad>"] == size
    (tmp_path / "text.txt").write_text(TEXT * 40)
    if command == "prune":
        run("prune", folder, "--corpus", "text.txt", "--size", size - 2, "--out", "new").good()
    else:
        run("extend", folder, "--special-token", "<new>", "--out", "new").good()
    new = tokbench.load(tmp_path / "new")
    id_map = json_of(tmp_path / "new" / "id_map.json")
    assert new.info.special_tokens["<pad>"] == id_map["old_to_new"][size] != -1
    assert new.encode("<pad>", special=tokbench.SpecialPolicy.ENCODE) == [id_map["old_to_new"][size]]


def test_configuration_keeps_the_space_in_front_of_a_text(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    """transformers 4 leaves the space out unless the configuration says add_prefix_space, too."""
    document = json_of(tokenizer / "tokenizer.json")
    document["pre_tokenizer"]["add_prefix_space"] = True
    (tokenizer / "tokenizer.json").write_text(json.dumps(document))
    run("prune", tokenizer, "--corpus", "text.txt", "--size", "261", "--out", "new").good()
    assert json_of(tmp_path / "new" / "tokenizer_config.json")["add_prefix_space"] is True


@pytest.mark.slow
def test_tokens_of_a_script_are_removed_without_a_corpus(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    done = run("prune", tokenizer, "--script", "cyrillic", "--out", "new").good()
    assert any(line.startswith("to       262 ids: 3 removed") for line in done.lines)
    assert any("bytes/token" in line for line in done.lines)
    inspected = run("inspect", "new", "--json").good().json
    assert inspected["vocab_size"] == 262
    assert run("lint", "-t", "new", "--select", "reachability,bytes,roles").good().code == 0
    assert json_of(tmp_path / "new" / "tokenizer_config.json")["eos_token"] == "<eos>"


@pytest.mark.slow
def test_listed_tokens_are_removed_unless_needed(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    (tmp_path / "list.tsv").write_text("id\tbytes\n260\t616263\n256\t7468\n97\t61\n")
    done = run("prune", tokenizer, "--list", "list.tsv", "--out", "new", "--json").good()
    assert (done.json["removed"], done.json["needed"], done.json["fixed"]) == (1, [256], [97])


@pytest.mark.slow
def test_ranks_are_written_and_proved_with_tiktoken(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    ranks = tmp_path / "ranks.tiktoken"
    run("convert", "-t", tokenizer, "--to", "tiktoken", "--out", ranks).good()
    done = run(
        "prune", ranks, "--pattern", "gpt2", "--special-token", "<eos>=300", "--script", "Latin", "--out", "new",
        "--json",
    )  # fmt: skip
    names = [proof["second"].split()[0] for proof in done.good().json["proofs"]["encodings"]]
    assert names == ["tokenizers", "tiktoken"]
    new = tokbench.load(tmp_path / "new" / "ranks.tiktoken", pattern="gpt2", special_tokens={"<eos>": 259})
    assert new.encode("abc да") == tokbench.load(tmp_path / "new").encode("abc да") == [97, 98, 99, 32, 258]
    assert tokbench.load(tmp_path / "new").info.special_tokens == {"<eos>": 259}


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ([], ["nothing selects tokens to remove"]),
        (["--size", "260"], ["rare in a text, and none is named", "--corpus"]),
        (["--size", "20", "--corpus", "text.txt"], ["alone are 257 tokens, more than 20"]),
        (
            ["--size", "300", "--corpus", "text.txt"],
            ["no token would be removed", "--size must be below the 265 tokens that it has"],
        ),
        (
            ["--script", "Klingon"],
            ["no script 'Klingon'", "hint:  names are those of Unicode, such as Latin"],
        ),
        (["--script", "Cyrilic"], ["no script 'Cyrilic'", "did you mean 'Cyrillic'?"]),
        (["--list", "missing"], ["the list missing cannot be read: No such file"]),
        (["--list", "binary"], ["the list cannot be read: binary: expected UTF-8, found 0xFF at byte 0"]),
        (["--list", "text.txt"], ["text.txt, line 1", "is not an id", "alone or before a tab"]),
        (["--list", "ids"], ["there is no ordinary token 264", "special and added tokens are never removed"]),
        (
            ["--list", "bytes"],
            ["no token would be removed", "the 2 selected tokens cannot be removed: bytes, single"],
        ),
        (["--list", "byte"], ["the 1 selected token cannot be removed"]),
    ],
)
def test_invalid_options_are_refused(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path, options: list[str], parts: list[str]
) -> None:
    (tmp_path / "ids").write_text("264\n")
    (tmp_path / "bytes").write_text("97\n98\n")
    (tmp_path / "byte").write_text("97\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    run("prune", tokenizer, *options, "--out", "new").refused(2, *parts)
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_folder_with_foreign_files_is_not_replaced(
    run: Callable[..., Done], tokenizer: Path, tmp_path: Path
) -> None:
    options = ("prune", tokenizer, "--script", "Latin", "--out", "new")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "notes.txt").write_text("mine")
    run(*options).refused(1, "new exists")
    run(*options, "--force").refused(1, "it contains 'notes.txt'")
    (tmp_path / "new" / "notes.txt").rename(tmp_path / "new" / "tokenizer.json")
    run(*options, "--force").good()
    run(*options[:-1], "text.txt").refused(1, "text.txt is a file")
    run(*options[:-1], "text.txt/new").refused(1, "text.txt/new cannot be created", "is a file")


def test_word_level_tokenizer_is_refused(run: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(word_level())
    run("prune", "tokenizer.json", "--script", "Latin", "--out", "new").refused(
        1, "a WordLevel has no pieces"
    )
