"""Tests for resolving names: paths, saved tokenizers, tiktoken's encodings and models of the hub."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.small_files import TOKENS, document, document_file

from tokbench import SpecialPolicy
from tokbench.errors import ModelFormatError, StoreError
from tokbench.workbench.open import load

if TYPE_CHECKING:
    from pathlib import Path


def test_names_resolve_to_paths_then_saved_folders_then_built_in_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokenizers").mkdir()
    document_file(tmp_path / "tokenizers", document(), name="foreign.json")
    assert load("foreign.json").encode("low") == [257]
    with pytest.raises(StoreError, match="there is no tokenizer 'nothing'") as caught:
        load("nothing")
    assert "tiktoken:NAME" in (caught.value.hint or "")


def test_dangling_link_is_named_in_the_error(tmp_path: Path) -> None:
    link = tmp_path / "tokenizer.json"
    link.symlink_to("blobs/3fa1c2")
    with pytest.raises(StoreError, match=r"tokenizer\.json is a link to blobs/3fa1c2, which does not exist"):
        load(str(link))
    with pytest.raises(ModelFormatError, match=r"found links to missing files: tokenizer\.json") as error:
        load(tmp_path)
    assert str(error.value.hint).startswith("download the files again, or copy the folder together with")


def test_tiktoken_name_is_resolved_by_tiktoken_only(monkeypatch: pytest.MonkeyPatch) -> None:
    import tiktoken

    tiny = tiktoken.Encoding(
        "tiny",
        pat_str=r"\p{L}+|\P{L}+",
        mergeable_ranks={token: rank for rank, token in enumerate(TOKENS)},
        special_tokens={"<|end|>": 300},
    )
    monkeypatch.setattr(tiktoken, "list_encoding_names", lambda: ["tiny"])
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: tiny)
    tokenizer = load("tiktoken:tiny")
    assert tokenizer.info.name == "tiny"
    assert tokenizer.encode("low<|end|>", special=SpecialPolicy.ENCODE) == [257, 300]
    with pytest.raises(StoreError, match="tiktoken has no 'big'") as caught:
        load("tiktoken:big")
    assert caught.value.hint == "it has tiny"


def test_failed_download_says_which_file_to_put_where(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_hub_model_downloads_its_data_files_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_opening_imports_no_library_before_it_is_needed() -> None:
    import subprocess

    code = (
        "import sys, tokbench.opening, tokbench.opening.recognition, tokbench.opening.remote\n"
        "heavy = {'tiktoken', 'tokenizers', 'sentencepiece', 'huggingface_hub', 'transformers', 'numpy'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
