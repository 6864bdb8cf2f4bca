"""`tokbench prune` of WordPieces and of BPEs over characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sentencepiece
from support.folders import json_of
from support.sentencepiece_models import training_text, variant

import tokbench

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Done


pytestmark = pytest.mark.usefixtures("short_proofs")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(training_text()))
    return path


def proofs(done: Done) -> list[str]:
    return [proof["second"].split()[0] for proof in done.json["proofs"]["encodings"]]


@pytest.mark.slow
def test_trained_wordpiece_is_pruned(run: Callable[..., Done], text: Path, tmp_path: Path) -> None:
    tokbench.train(training_text(), backend="wordpiece", vocab_size=700).save(tmp_path / "mine")
    done = run("prune", "mine", "--corpus", text, "--size", "500", "--out", "new", "--json").good()
    assert (done.json["algorithm"], done.json["new_vocab_size"]) == ("wordpiece", 500)
    assert proofs(done) == ["tokenizers", "tokenizers"]
    old, new = tokbench.load(tmp_path / "mine"), tokbench.load(tmp_path / "new")
    new_to_old = json_of(tmp_path / "new" / "id_map.json")["new_to_old"]
    assert (tmp_path / "new" / "vocab.txt").read_text().splitlines() == [
        line
        for id, line in enumerate((tmp_path / "mine" / "vocab.txt").read_text().splitlines())
        if id in new_to_old
    ]
    for line in training_text():
        before, after = old.encode(line), [new_to_old[id] for id in new.encode(line)]
        assert after == before or not set(before) <= set(new_to_old)
        assert new.decode(new.encode(line)) == old.decode(before)


def test_pruned_bpe_model_keeps_its_symbols(run: Callable[..., Done], text: Path, tmp_path: Path) -> None:
    (tmp_path / "it.model").write_bytes(variant("bpe with symbols").proto)
    done = run("prune", "it.model", "--corpus", text, "--size", "300", "--out", "new", "--json").good()
    assert (done.json["algorithm"], done.json["new_vocab_size"]) == ("character_bpe", 300)
    assert proofs(done)[0] == "sentencepiece"
    processor = sentencepiece.SentencePieceProcessor(model_proto=(tmp_path / "new/it.model").read_bytes())
    assert [processor.id_to_piece(processor.piece_to_id(piece)) for piece in ("<sep>", "ab", "the")] == [
        "<sep>", "ab", "the",
    ]  # fmt: skip
    new = tokbench.load(tmp_path / "new" / "it.model")
    assert processor.encode("about the <sep>") == new.encode("about the <sep>")


@pytest.mark.slow
def test_character_bpe_tokenizer_json_is_pruned(run: Callable[..., Done], text: Path, tmp_path: Path) -> None:
    (tmp_path / "it.model").write_bytes(variant("bpe as llama").proto)
    run("convert", "-t", "it.model", "--to", "tokenizers", "--out", "document/tokenizer.json").good()
    options = ("--corpus", text, "--size", "500", "--json")
    done = run("prune", "document", *options, "--out", "new").good()
    assert (done.json["algorithm"], proofs(done)) == ("character_bpe", ["tokenizers"])
    run("prune", "it.model", *options, "--out", "other").good()
    assert json_of(tmp_path / "new" / "id_map.json") == json_of(tmp_path / "other" / "id_map.json")


def test_size_that_cannot_be_reached_is_reported(run: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\na\n##b\nab\nax\n")
    (tmp_path / "some.txt").write_text("ab ax ab")
    done = run("prune", "vocab.txt", "--corpus", "some.txt", "--size", "3", "--out", "new").good()
    assert any("4 tokens remain, more than the 3 asked for" in line for line in done.lines)
    assert any("1 character of its pieces, as ##x, are not pieces" in line for line in done.lines)
    assert any("note: vocab.txt is left out: the library" in line for line in done.lines)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert-base-uncased", "mistral/tokenizer.model.v1"])
def test_real_vocabularies_are_pruned(
    run: Callable[..., Done], shared: Path, tmp_path: Path, name: str
) -> None:
    corpus = shared / "corpora" / "parallel_ntrex" / "eng.txt"
    options = ("--corpus", corpus, "--documents", "lines", "--size", "6000", "--out", "new", "--json")
    done = run("prune", shared / "vocab" / name, *options).good()
    assert done.json["new_vocab_size"] == 6000
    proof = done.json["proofs"]["segmentations"]
    assert min(proof["unchanged_pretokens"], proof["changed_pretokens"]) > 1000
