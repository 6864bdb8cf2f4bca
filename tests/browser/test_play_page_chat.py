"""Conversations on the page of `tokbench play --html`: written, encoded, marked, linked to, by keyboard, accessibly."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from support.page_checks import CONTRAST, NAMELESS
from support.page_tokenizers import ranks, trained

from tokbench.chat.template import ChatTemplate
from tokbench.play_page.chat_data import chat_data
from tokbench.play_page.check import Check
from tokbench.play_page.page import play_page
from tokbench.play_page.tokenizer_data import tokenizer_data

if TYPE_CHECKING:
    from pathlib import Path

    from support.browser import Browser

    from tokbench.chat.encoding import EncodedChat
    from tokbench.opening.request import Opened

pytestmark = pytest.mark.slow  # CI installs a browser and runs these tests

PATIENCE = 20
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is <|im_end|> for? 안녕 &#%"},
    {"role": "assistant", "content": "It ends\na turn."},
]


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return trained(tmp_path_factory.mktemp("talk") / "talk", special_tokens=["<|im_start|>", "<|im_end|>"])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, talk: Opened) -> Path:
    pairs = []
    for opened, name in ((talk, "talk"), (ranks(tmp_path_factory.mktemp("ranks")), "ranks")):
        data = tokenizer_data(opened, name=name)
        special = [entry[0] for entry in data.fields["special"]]
        chat = chat_data(opened.tokenizer, special, date=datetime(2026, 2, 3, tzinfo=UTC))
        pairs.append((replace(data, chat=chat), Check(texts=1, num_bytes=1, characters=1)))
    path = tmp_path_factory.mktemp("pages") / "talk.html"
    path.write_bytes(play_page(pairs, text="cat"))
    return path


@pytest.fixture
def page(browser: Browser, path: Path) -> Browser:
    browser.prefer()
    browser.resize(1200)
    return shown(browser, path)


def shown(browser: Browser, path: Path, fragment: str = "") -> Browser:
    browser.call("Page.navigate", url="about:blank")
    browser.complaints.clear()
    browser.call("Page.navigate", url=path.as_uri() + fragment)
    deadline = time.monotonic() + PATIENCE
    while browser.ask("document.getElementById('views')?.getAttribute('aria-busy')") != "false":
        assert time.monotonic() < deadline, browser.complaints
        time.sleep(0.05)
    return browser


def write(page: Browser) -> None:
    """Switch to the chat editor and enter the conversation of these tests."""
    page.ask("document.getElementById('as-chat').click(); 0")
    page.ask(f"editor.set({json.dumps(TALK)}); editor.read(); 0")


def wanted(talk: Opened) -> EncodedChat:
    return ChatTemplate("chatml").encode(talk.tokenizer, TALK)


def marked(page: Browser, name: str) -> list[int]:
    return page.ask(
        f"[...document.querySelectorAll('.tokens .{name}[role=option]')].map((e) => Number(e.dataset.at))"
    )


def test_tokens_and_marks_equal_those_of_the_chat_command(page: Browser, talk: Opened) -> None:
    write(page)
    chat = wanted(talk)
    assert page.ask("results[0].ids") == chat.ids.tolist()
    assert marked(page, "learned") == chat.loss_mask.nonzero()[0].tolist()
    assert marked(page, "special") == (chat.kinds == 3).nonzero()[0].tolist()
    assert marked(page, "refused")
    told = page.ask("document.querySelector('.count').textContent")
    assert f"{chat.loss_mask.sum()} learned" in told
    assert "stays text: <|im_end|>" in told
    headings = page.ask("[...document.querySelectorAll('.tokens .part')].map((e) => e.textContent)")
    assert headings == ["message 0, system", "message 1, user", "message 2, assistant"]
    assert "No conversations: it has no chat template" in page.ask("document.body.textContent")
    assert page.complaints == []


def test_conversation_is_written_by_keyboard(page: Browser, talk: Opened) -> None:
    page.ask("document.getElementById('as-text').focus(); 0")
    page.press("ArrowRight")
    assert page.ask("document.getElementById('plain').hidden")
    page.ask("document.getElementById('add').focus(); 0")
    page.press("Enter")
    assert page.ask("document.activeElement.id") == "said-2"
    page.press("H", "i")
    assert page.ask("editor.messages[2]") == {"role": "user", "content": "Hi"}
    page.press("Tab")
    page.ask("document.getElementById('prompt').click(); 0")
    messages = page.ask("editor.messages")
    prompt = ChatTemplate("chatml").encode(talk.tokenizer, messages, prompt=True)
    assert page.ask("results[0].ids") == prompt.ids.tolist()
    page.ask("document.querySelector('[aria-label=\"Remove message 0\"]').focus(); 0")
    page.press("Enter")
    assert page.ask("editor.messages.length") == 2
    assert page.ask("document.activeElement.id") == "said-0"


def test_token_details_name_the_message_and_the_loss_mask(page: Browser) -> None:
    write(page)
    last = page.ask("results[0].ids.length - 2")
    page.ask(f"lists[0].select({last}); 0")
    details = page.ask("document.getElementById('details').textContent")
    assert "control token, learned, of message 2, assistant" in details
    assert "no text of a message becomes a control token" in details


def test_link_restores_the_conversation(page: Browser, path: Path, talk: Opened) -> None:
    write(page)
    page.ask("document.getElementById('prompt').click(); 0")
    link = page.ask("fragment()")
    shown(page, path, link)
    assert page.ask("editor.messages") == TALK
    assert page.ask("document.getElementById('prompt').checked")
    prompt = ChatTemplate("chatml").encode(talk.tokenizer, TALK, prompt=True)
    assert page.ask("results[0].ids") == prompt.ids.tolist()
    shown(page, path, "#chat=[[%22nobody%22,1]]")
    assert page.ask("document.getElementById('as-text').checked")
    assert page.complaints == []


@pytest.mark.parametrize(("width", "dark"), [(360, False), (390, True), (1280, True)])
def test_page_fits_the_window_with_readable_contrast(
    browser: Browser, path: Path, width: int, dark: bool
) -> None:
    browser.prefer(dark=dark)
    browser.resize(width)
    page = shown(browser, path)
    write(page)
    assert page.ask("document.documentElement.scrollWidth") <= width
    assert page.ask(CONTRAST) >= 4.5
    assert page.ask(NAMELESS) == []
    browser.prefer()


def test_wide_tables_are_scrolled_by_keys(browser: Browser, path: Path) -> None:
    browser.prefer()
    browser.resize(360)
    page = shown(browser, path)
    write(page)
    page.ask("lists[0].select(3); 0")
    wide = "[...document.querySelectorAll('#details table')].filter((e) => e.scrollWidth > e.clientWidth)"
    assert page.ask(f"{wide}.length") > 0
    assert page.ask(f"{wide}.every((e) => e.tabIndex === 0)")
