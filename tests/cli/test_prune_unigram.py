"""`tokbench prune` of Unigrams: SentencePiece models, trained ones, and `tokenizer.json` files."""

from __future__ import annotations

import json
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
def model(tmp_path: Path) -> Path:
    """Write a `.model` of 500 pieces with its configuration, and the text it was trained on; return its folder."""
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "spiece.model").write_bytes(variant("unigram as t5").proto)
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>", "pad_token": "<pad>"}))
    (tmp_path / "text.txt").write_text("\n".join(training_text()))
    return folder


@pytest.mark.slow
def test_pieces_are_removed_by_loss(run: Callable[..., Done], model: Path, tmp_path: Path) -> None:
    done = run("prune", model, "--corpus", "text.txt", "--size", "400", "--out", "new", "--json").good()
    assert (done.json["algorithm"], done.json["new_vocab_size"], done.json["removed"]) == (
        "unigram",
        400,
        100,
    )
    old, new = tokbench.load(model), tokbench.load(tmp_path / "new" / "spiece.model")
    ids = json_of(tmp_path / "new" / "id_map.json")
    assert [old.token_bytes(id) for id in ids["new_to_old"]] == [new.token_bytes(id) for id in range(400)]
    assert new.info.special_tokens == old.info.special_tokens
    assert json_of(tmp_path / "new" / "config_patch.json") == {
        "vocab_size": 448, "eos_token_id": 1, "pad_token_id": 0,
    }  # fmt: skip
    names = [proof["second"].split()[0] for proof in done.json["proofs"]["encodings"]]
    assert names == ["sentencepiece", "tokenizers"]
    processor = sentencepiece.SentencePieceProcessor(model_proto=(tmp_path / "new/spiece.model").read_bytes())
    assert processor.get_piece_size() == 400
    assert processor.encode(training_text()[0]) == new.encode(training_text()[0])
    assert done.json["proofs"]["segmentations"]["changed_pretokens"] > 0


@pytest.mark.slow
def test_unigram_tokenizer_json_is_pruned(run: Callable[..., Done], model: Path, tmp_path: Path) -> None:
    run("convert", "-t", model, "--to", "tokenizers", "--out", "document/tokenizer.json").good()
    done = run(
        "prune", "document", "--corpus", "text.txt", "--min-count", "9", "--out", "new", "--json"
    ).good()
    assert [proof["second"].split()[0] for proof in done.json["proofs"]["encodings"]] == ["tokenizers"]
    assert sorted(done.json["files"])[-1] == "tokenizer_config.json"
    again = run("prune", model, "--corpus", "text.txt", "--min-count", "9", "--out", "other", "--json").good()
    assert again.json["removed"] == done.json["removed"]
    assert json_of(tmp_path / "new" / "id_map.json") == json_of(tmp_path / "other" / "id_map.json")


@pytest.mark.slow
def test_script_is_removed_except_its_single_characters(run: Callable[..., Done], tmp_path: Path) -> None:
    variant("unigram").save(tmp_path / "mine")
    done = run("prune", "mine", "--script", "Cyrillic", "--out", "new").good()
    assert any("single characters" in line and line.startswith("kept") for line in done.lines)
    new = tokbench.load(tmp_path / "new" / "tokenizer.model")
    tokens = [new.token_bytes(id).decode(errors="replace") for id in range(new.info.vocab_size)]
    cyrillic = [token for token in tokens if any("а" <= letter <= "я" for letter in token)]
    assert len(cyrillic) > 20
    assert all(len(token) == 1 for token in cyrillic)


def test_size_below_the_single_characters_is_refused(
    run: Callable[..., Done], model: Path, tmp_path: Path
) -> None:
    run("prune", model, "--corpus", "text.txt", "--size", "20", "--out", "new").refused(
        2, "single characters", "20"
    )
    assert not (tmp_path / "new").exists()


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", ["t5-base/spiece.model", "t5-small"])
def test_real_vocabularies_are_pruned(
    run: Callable[..., Done], shared: Path, tmp_path: Path, name: str
) -> None:
    corpus = shared / "corpora" / "parallel_ntrex" / "deu.txt"
    options = ("--corpus", corpus, "--size", "4000", "--out", "new", "--json")
    done = run("prune", shared / "vocab" / name, *options).good()
    old, new = tokbench.load(shared / "vocab" / name), tokbench.load(tmp_path / "new")
    new_to_old = json_of(tmp_path / "new" / "id_map.json")["new_to_old"]
    assert len(new_to_old) == new.info.vocab_size == 4000
    unchanged = 0
    for line in corpus.read_text().splitlines():
        before, after = old.encode(line), [new_to_old[id] for id in new.encode(line)]
        if set(before) <= set(new_to_old):
            assert after == before
            unchanged += 1
    assert unchanged > 100
    difference = done.json["comparison"]["tokenizers"][1]["metrics"]["bytes_per_token"]["difference"]
    assert -0.2 < difference < 0
