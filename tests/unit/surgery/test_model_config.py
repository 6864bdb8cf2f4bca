"""Tests for the changes to the configuration of a model whose tokenizer changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.huggingface import added
from support.lint import byte_level, target_of

from tokbench.surgery.id_map import IdMap
from tokbench.surgery.model_config import config_patch, embedding_rows

if TYPE_CHECKING:
    from pathlib import Path

OLD = byte_level(("a", "b"), ("ab", "c"), ("b", "c"), added_tokens=[added("<eos>", 259)])
MAP = IdMap.closing_up([*range(257), 259], size=260)
"""Of what removes the token 257."""
LARGER = IdMap.of_pairs([(id, id) for id in range(260)], sizes=(260, 270))


def patched(
    folder: Path, *, beside: dict[str, Any] | None = None, pad_multiple: int = 64, id_map: IdMap = MAP
) -> dict[str, Any]:
    target = target_of(OLD, folder, beside=beside)
    return config_patch(target.opened, target.tokenizer, id_map, pad_multiple=pad_multiple)


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


def test_model_with_more_rows_than_tokens_keeps_them(tmp_path: Path) -> None:
    """Qwen's models have some hundred rows more than tokens; removing tokens is what makes a model smaller."""
    padded = {"config.json": {"vocab_size": 512}}
    assert patched(tmp_path / "room", beside=padded, id_map=LARGER) == {"vocab_size": 512}
    assert patched(tmp_path / "pruned", beside=padded) == {"vocab_size": 320}
    full = {"config.json": {"vocab_size": 260}}
    assert patched(tmp_path / "full", beside=full, id_map=LARGER) == {"vocab_size": 320}
    strange = {"config.json": {"vocab_size": "many"}}
    assert patched(tmp_path / "strange", beside=strange, id_map=LARGER) == {"vocab_size": 320}


def test_settings_of_the_language_model_are_changed_where_they_are(tmp_path: Path) -> None:
    """As in the config.json of Gemma 3 and LLaVA; `vision_config` has no ids of tokens."""
    text = {"vocab_size": 300, "eos_token_id": [259, 257], "hidden_size": 8}
    config = {"image_token_index": 256, "text_config": text, "vision_config": {"pad_token_id": 259}}
    patch = patched(tmp_path / "both", beside={"config.json": config})
    assert patch == {"image_token_index": 256, "text_config": {"vocab_size": 320, "eos_token_id": [257]}}
    assert embedding_rows(patch) == 320
    config = {"vocab_size": 300, "thinker_config": {"text_config": {"pad_token_id": 259}}}
    patch = patched(tmp_path / "deeper", beside={"config.json": config})
    assert patch == {"vocab_size": 320, "thinker_config": {"text_config": {"pad_token_id": 257}}}


def test_size_that_is_not_told_belongs_to_the_language_model(tmp_path: Path) -> None:
    """What equals the default of its class is often left out."""
    config = {"text_config": {"hidden_size": 8}, "eos_token_id": 259}
    patch = patched(tmp_path, beside={"config.json": config})
    assert patch == {"text_config": {"vocab_size": 320}, "eos_token_id": 257}
    assert embedding_rows(patch) == 320
