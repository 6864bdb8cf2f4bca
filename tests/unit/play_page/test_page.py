"""Tests for the page as a file: complete, well-formed, and with a policy that forbids any fetch."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from support.page_tokenizers import trained

from tokbench.play_page.check import Check
from tokbench.play_page.page import play_page
from tokbench.play_page.tokenizer_data import tokenizer_data

if TYPE_CHECKING:
    from tokbench.play_page.tokenizer_data import TokenizerData

HOSTILE = "</textarea></script><script>alert(1)</script>\"' @script@ &amp;"
CHECK = Check(texts=3000, num_bytes=2_000_000, characters=150_000)
VOID = {"meta", "input"}


class Parts(HTMLParser):
    """The elements of a page: their tags, attributes and texts."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]][-1] += data


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TokenizerData:
    opened = trained(tmp_path_factory.mktemp("mine") / "mine", special_tokens=[HOSTILE])
    return tokenizer_data(opened, name=HOSTILE)


def test_page_has_the_checked_data(data: TokenizerData) -> None:
    parts = Parts(play_page([(data, CHECK)]))
    [packed] = [
        (attributes, text)
        for (tag, attributes), text in zip(
            [element for element in parts.elements if element[0] == "script"],
            parts.texts["script"],
            strict=True,
        )
        if attributes
    ]
    assert gzip.decompress(b64decode(packed[1])).decode() == data.to_json()
    assert packed[0]["data-name"] == HOSTILE
    files = dict(json.loads(packed[0]["data-files"] or ""))
    manifest = data.opened.source.path / "tokbench.json"  # which has the hashes of the others
    assert files == {"tokbench.json": sha256(manifest.read_bytes()).hexdigest()}


def test_content_security_policy_allows_only_its_script_and_style(data: TokenizerData) -> None:
    parts = Parts(play_page([(data, CHECK)]))
    policy = next(
        attributes["content"] or "" for _, attributes in parts.elements if "http-equiv" in attributes
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        digest = b64encode(sha256(parts.texts[tag][-1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    page = play_page([(data, CHECK)]).decode()
    assert not re.search(r"(?:src|href)=|url\(|@import|fetch\(|XMLHttp|WebSocket|import\(", page)


def test_title_lists_the_tokenizers(data: TokenizerData) -> None:
    named = [(replace(data, name=name), CHECK) for name in ("one", "two", "three")]
    for number, title in (
        (1, "Tokens of one"),
        (2, "Tokens of one and two"),
        (3, "Tokens of one, two and three"),
    ):
        assert Parts(play_page(named[:number])).texts["title"] == [title]


def test_names_and_texts_are_not_read_as_markup(data: TokenizerData) -> None:
    page = play_page([(data, CHECK), (replace(data, name="other"), CHECK)], text=f"\n{HOSTILE}")
    parts = Parts(page)
    assert parts.open == []
    tags = [tag for tag, _ in parts.elements]
    assert tags.count("script") == 3
    assert tags.count("textarea") == 1
    assert parts.texts["textarea"] == [f"\n\n{HOSTILE}"]  # HTML drops the first line end of a textarea
    assert b"alert(1)</script>" not in page


def test_page_has_its_date_and_check(data: TokenizerData) -> None:
    date = datetime(2026, 2, 3, tzinfo=UTC)
    page = play_page([(data, CHECK)], made=date)
    assert b"on 2026-02-03" in page
    assert b"3,000 texts with 150,000 different characters" in page
    assert page == play_page([(data, CHECK)], made=date)
    assert b"@" not in re.sub(rb"@(media|script@)", b"", page)


def test_every_control_has_a_label(data: TokenizerData) -> None:
    parts = Parts(play_page([(data, CHECK)]))
    labelled = {attributes.get("for") for tag, attributes in parts.elements if tag == "label"}
    controls = {
        attributes.get("id") for tag, attributes in parts.elements if tag in ("textarea", "select", "input")
    }
    assert controls == labelled
    assert dict(parts.elements)["html"] == {"lang": "en"}
