"""The encoders of `tokbench play --html` for every family in a browser: exact, explained, and fast enough to type."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from support.page_tokenizers import opened, trained
from support.sentencepiece_models import variant

from tokbench.convert.proof_texts import generated_texts
from tokbench.core.tokens import SpecialPolicy
from tokbench.play_page.check import Check
from tokbench.play_page.page import play_page
from tokbench.play_page.tokenizer_data import tokenizer_data

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.browser import Browser

    from tokbench.opening.request import Opened

pytestmark = pytest.mark.slow  # CI installs a browser and runs these tests

PATIENCE = 60
HUNDRED_KILOBYTES = "the cat sat on the mat; 안녕하세요 1234 naïve " * 2200


def model(folder: Path, name: str) -> Opened:
    path = folder / "spiece.model"
    path.write_bytes(variant(name).proto)
    return opened(path)


FAMILIES: dict[str, tuple[Callable[[Path], Opened], str]] = {
    "wordpiece": (lambda folder: trained(folder / "saved", backend="wordpiece"), "the longest match"),
    "unigram": (lambda folder: model(folder, "unigram"), "the best segmentation"),
    "bpe": (lambda folder: model(folder, "bpe"), "its characters"),
}


@pytest.fixture(scope="module", params=FAMILIES)
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Opened, str]:
    make, step = FAMILIES[request.param]
    return make(tmp_path_factory.mktemp(request.param)), step


@pytest.fixture(scope="module")
def page(
    browser: Browser, tokenizer: tuple[Opened, str], tmp_path_factory: pytest.TempPathFactory
) -> Browser:
    data = tokenizer_data(tokenizer[0], name="mine")
    path = tmp_path_factory.mktemp("pages") / "play.html"
    check = Check(texts=1, num_bytes=1, characters=1)
    path.write_bytes(play_page([(data, check), (data, check)], text="the cat sat, naïve"))
    browser.prefer()
    browser.resize(1200)
    browser.open(path)
    deadline = time.monotonic() + PATIENCE
    while browser.ask("document.getElementById('views').getAttribute('aria-busy')") != "false":
        assert time.monotonic() < deadline, browser.complaints
        time.sleep(0.05)
    return browser


def test_ids_equal_the_tokenizers(page: Browser, tokenizer: tuple[Opened, str]) -> None:
    mine = tokenizer[0].tokenizer
    texts = list(generated_texts(sorted(mine.info.special_tokens), seed=7))[:1000]
    given = page.ask(f"{json.dumps(texts)}.map((text) => lists[0].tokenizer.encode(text, 'encode').ids)")
    assert given == [mine.encode(text, special=SpecialPolicy.ENCODE) for text in texts]
    assert page.complaints == []


def test_equal_tokenizers_have_no_differences_and_a_token_is_explained(
    page: Browser, tokenizer: tuple[Opened, str]
) -> None:
    assert page.ask("document.querySelectorAll('.differs').length") == 0
    page.ask("document.querySelector('.tokens').focus(); 0")
    page.press("End")
    details = page.ask("document.getElementById('details').textContent")
    assert tokenizer[1] in details


def test_hundred_kilobytes_are_encoded_within_two_seconds(page: Browser) -> None:
    page.ask(f"globalThis.long = {json.dumps(HUNDRED_KILOBYTES)}; 0")
    took = page.ask(
        "[1, 2, 3, 4, 5].map((n) => { const t = performance.now(); document.getElementById('text').value = long + n;"
        " encode(); document.body.offsetHeight; return performance.now() - t; }).sort((a, b) => a - b)[1]"
    )
    assert took < 2000  # for two tokenizers, even on a slow machine
