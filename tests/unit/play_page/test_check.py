"""Tests that a page is written only if its encoders give the tokenizer's ids."""

from __future__ import annotations

import builtins
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.page_tokenizers import trained

from tokbench.errors import BackendUnavailableError, ConfigError, PageError
from tokbench.play_page.check import Check, check_page
from tokbench.play_page.tokenizer_data import tokenizer_data
from tokbench.workbench import play_page as workbench
from tokbench.workbench.play_page import write_play_page

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.opening.request import Opened
    from tokbench.play_page.tokenizer_data import TokenizerData


@pytest.fixture(scope="module", autouse=True)
def _needs_the_engine() -> None:
    pytest.importorskip("py_mini_racer", reason="pip install mini-racer")


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return trained(tmp_path_factory.mktemp("mine") / "mine", special_tokens=["<|end|>"])


def broken(data: TokenizerData, **fields: Any) -> TokenizerData:
    return replace(data, fields={**data.fields, **fields})


@pytest.mark.usefixtures("full_proofs")
def test_check_covers_thousands_of_texts_and_every_character(mine: Opened) -> None:
    checked = check_page(tokenizer_data(mine, name="mine"))
    assert checked.texts > 3000
    assert checked.characters > 155_000
    assert checked.num_bytes > 2_000_000


@pytest.mark.slow
def test_difference_is_reported_with_the_smallest_text(mine: Opened) -> None:
    data = tokenizer_data(mine, name="mine")
    merges = data.fields["merges"]
    with pytest.raises(PageError, match=r"would give different ids than .* for \"\w{2,4}\": .* and not "):
        check_page(broken(data, merges=[merges[2], merges[3], merges[0], merges[1], *merges[6:]]))
    with pytest.raises(PageError, match=r"for \"<\|end\|>\""):
        check_page(broken(data, special=[]))
    with pytest.raises(PageError, match="different ids"):
        check_page(broken(data, split="[^]"))


def test_failed_check_leaves_the_old_page(
    mine: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    page.write_text("before", encoding="utf-8")

    def made(opened: Opened, *, name: str) -> TokenizerData:
        return broken(tokenizer_data(opened, name=name), merges=[])

    monkeypatch.setattr(workbench, "tokenizer_data", made)
    with pytest.raises(PageError):
        write_play_page([mine], page)
    assert page.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [page]


def test_duplicate_names_are_numbered(mine: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbench, "check_page", lambda _: Check(texts=1, num_bytes=1, characters=1))
    result = write_play_page([mine, mine], tmp_path / "page.html")
    name = mine.tokenizer.info.name
    assert [checked.name for checked in result.checks] == [name, f"{name} (2)"]
    assert result.num_bytes == (tmp_path / "page.html").stat().st_size


def test_folder_in_place_of_the_page_is_refused(mine: Opened, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder"):
        write_play_page([mine], tmp_path)


def test_missing_javascript_engine_is_named(
    mine: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = builtins.__import__

    def refuse(name: str, *rest: Any, **options: Any) -> Any:
        if name == "py_mini_racer":
            raise ImportError(name)
        return take(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(BackendUnavailableError, match="mini-racer") as caught:
        write_play_page([mine], tmp_path / "page.html")
    assert caught.value.hint == "pip install 'tokbench[play-page]'"
