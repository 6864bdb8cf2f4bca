"""Tests for the files for a model: embedding rows from old ones, a configuration patch, and a resizing script."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.huggingface import added
from support.lint import byte_level, target_of

from tokbench.surgery import resize_embeddings
from tokbench.surgery.id_map import IdMap, InitialRows
from tokbench.surgery.model_files import config_patch, model_files
from tokbench.surgery.resize_embeddings import main, resized

if TYPE_CHECKING:
    from pathlib import Path

OLD = byte_level(("a", "b"), ("ab", "c"), ("b", "c"), added_tokens=[added("<eos>", 259)])
MAP = IdMap.closing_up([*range(257), 259], size=260)


def patched(folder: Path, *, beside: dict[str, Any] | None = None, pad_multiple: int = 64) -> dict[str, Any]:
    target = target_of(OLD, folder, beside=beside)
    return config_patch(target.opened, target.tokenizer, MAP, pad_multiple=pad_multiple)


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


def test_embedding_size_is_padded(tmp_path: Path) -> None:
    assert patched(tmp_path / "64")["vocab_size"] == 320
    assert patched(tmp_path / "1", pad_multiple=1)["vocab_size"] == 258
    assert patched(tmp_path / "129", pad_multiple=129)["vocab_size"] == 258


def test_ids_in_the_model_configuration_are_renumbered(tmp_path: Path) -> None:
    config = {"eos_token_id": [259, 257], "bos_token_id": 259, "pad_token_id": 258, "hidden_size": 8}
    assert patched(tmp_path, beside={"config.json": config}) == {
        "vocab_size": 320,
        "eos_token_id": [257],
        "bos_token_id": 257,
        "pad_token_id": None,
    }


def test_ids_of_tokens_for_images_are_renumbered(tmp_path: Path) -> None:
    """LLaVA and Gemma 3 call these ids indices."""
    config = {"image_token_index": 259, "eoi_token_index": 257, "mm_tokens_per_image": 256}
    assert patched(tmp_path, beside={"config.json": config}) == {
        "vocab_size": 320,
        "image_token_index": 257,
        "eoi_token_index": None,
    }


def test_without_a_model_configuration_roles_give_the_ids(tmp_path: Path) -> None:
    """Here the tokenizer stands for the new tokenizer, so its id is taken unchanged."""
    beside = {"tokenizer_config.json": {"eos_token": "<eos>"}}
    assert patched(tmp_path / "roles", beside=beside) == {"vocab_size": 320, "eos_token_id": 259}
    assert patched(tmp_path / "damaged", beside={**beside, "config.json": "{"})["eos_token_id"] == 259


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
