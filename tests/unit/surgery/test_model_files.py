"""Tests for the files for a model: embedding rows from old ones, a configuration patch, and a resizing script."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tokbench.surgery import resize_embeddings
from tokbench.surgery.id_map import IdMap, InitialRows
from tokbench.surgery.model_files import model_files
from tokbench.surgery.resize_embeddings import generation_ids, main, resized, rows_of, update

if TYPE_CHECKING:
    from pathlib import Path

MAP = IdMap.closing_up([*range(257), 259], size=260)


def test_embedding_rows_follow_their_tokens() -> None:
    """New row 0 is old row 3, row 1 the mean of old rows 0 and 2, row 2 has no old row, and row 3 is padding."""
    rows = np.arange(10.0).reshape(5, 2)
    initial = InitialRows.of(IdMap.of_pairs([(3, 0)], sizes=(4, 3)), {1: [0, 2]})
    new = resized(rows, initial.to_json(), 4)
    assert new.tolist() == [[6, 7], [2, 3], [3, 4], [3, 4]]
    assert resized(rows[:, 0], initial.to_json(), 4).tolist() == [6, 2, 3, 3]  # a bias


def test_script_prints_its_usage() -> None:
    done = subprocess.run(
        [sys.executable, resize_embeddings.__file__, "one model"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "Give a model the rows of its new vocabulary: python resize_embeddings.py OLD"
    )


def test_row_of_one_old_row_is_copied_exactly() -> None:
    rows = np.random.default_rng(0).normal(size=(260, 3)).astype(np.float32)
    new = resized(rows, InitialRows.of(MAP).to_json(), 320)
    assert (new[:258] == rows[list(MAP.new_to_old)]).all()


def test_configurations_in_a_configuration_are_changed() -> None:
    text = SimpleNamespace(vocab_size=300, eos_token_id=259)
    config = SimpleNamespace(image_token_index=258, text_config=text)
    generation = SimpleNamespace(eos_token_id=259, bos_token_id=None)
    patch = {"image_token_index": 256, "text_config": {"vocab_size": 320, "eos_token_id": 257}}
    update(config, patch)
    assert (vars(text), config.image_token_index) == ({"vocab_size": 320, "eos_token_id": 257}, 256)
    assert config.text_config is text
    assert rows_of(patch) == [320]
    assert rows_of({"vocab_size": 64, **patch}) == [64]
    assert generation_ids(patch, generation) == {"eos_token_id": 257}
    assert generation_ids({"eos_token_id": 7, **patch}, generation) == {"eos_token_id": 7}


@pytest.mark.slow
def test_kept_tokens_have_the_same_logits(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=300, n_embd=8, n_layer=1, n_head=2, n_positions=16, eos_token_id=259, bos_token_id=259
    )
    old = transformers.GPT2LMHeadModel(config).eval()
    old.save_pretrained(tmp_path / "old")
    patch = {"vocab_size": 320, "eos_token_id": 257}
    for name, data in model_files(MAP, InitialRows.of(MAP), patch).items():
        (tmp_path / name).write_bytes(data)
    main(str(tmp_path / "old"), str(tmp_path / "new"), beside=tmp_path)
    new = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "new").eval()
    kept, text = list(MAP.new_to_old), [97, 256, 257]
    with torch.no_grad():
        after = new(torch.tensor([text])).logits[..., : len(kept)]
        before = old(torch.tensor([[kept[id] for id in text]])).logits[..., kept]
    assert torch.equal(after, before)
    assert json.loads((tmp_path / "new" / "config.json").read_bytes())["vocab_size"] == 320
    assert new.config.eos_token_id == new.generation_config.eos_token_id == 257
