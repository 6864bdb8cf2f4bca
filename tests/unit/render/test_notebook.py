"""Tests for `tokbench.as_html`, which notebooks call through `_repr_html_`."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from support.segmentations import in_words, odd_segmentations, view

import tokbench
from tokbench.errors import ConfigError
from tokbench.workbench.viz import VizResult

if TYPE_CHECKING:
    from tokbench.core.tokens import Segmentation

HOSTILE = "<script>alert(1)</script> & \"' \x1b[31m"
TEXT = "the cat sat on the mat; the cat was fat\n" * 40


class Elements(HTMLParser):
    """The elements of a fragment, with a check that each is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.open: list[str] = []
        self.labels: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        self.open.append(tag)
        self.labels += [value for name, value in attributes if name == "title" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def words_of(html: str) -> str:
    return unescape(re.sub("<style>.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL))


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tokbench.train([TEXT], vocab_size=280)


@given(odd_segmentations())
def test_html_has_every_token_of_a_segmentation(segmentation: Segmentation) -> None:
    elements = Elements(tokbench.as_html(segmentation))
    assert elements.open == []
    assert sum(label.startswith("id ") for label in elements.labels) == len(segmentation.tokens)


def test_texts_and_names_are_not_read_as_markup() -> None:
    words = in_words(*HOSTILE.split(" "))
    for result in (words, VizResult(words.text, (view(words, name=HOSTILE),))):
        html = tokbench.as_html(result)
        assert set(Elements(html).opened) <= {"div", "style", "section", "h3", "ol", "li", "i", "u", "p"}
        assert not re.search("[\0-\x08\x0b-\x1f]|(?:src|href)=|url\\(|@import", html)


def test_only_the_first_tokens_of_a_long_text_are_drawn() -> None:
    words = in_words(*["né "] * 2500)
    for result in (words, VizResult(words.text, (view(words),))):
        html = tokbench.as_html(result)
        assert html.count('title="id ') == 2000
        assert "2,500 tokens" in html
        assert "the first 2,000 shown" in html
        assert "in no token" not in html
    assert "shown" not in words_of(tokbench.as_html(in_words("a")))


def test_tokenizer_can_show_a_text(tokenizer: Any) -> None:
    result = tokenizer.viz("the cat", steps=True)
    assert result.views[0].segmentation == tokenizer.segment("the cat")
    assert repr(result) == f"<7 characters: bpe-273 {len(tokenizer.encode('the cat'))} tokens>"
    assert "Steps: byte-level BPE" in result._repr_html_()
    assert "Steps" not in tokenizer.viz("the cat")._repr_html_()
    both = tokbench.visualise([tokenizer, tokenizer], "the cat")
    assert "tokens: bpe-273" in words_of(both._repr_html_())


def test_results_are_shown_as_tables(tokenizer: Any) -> None:
    corpus = tokbench.open_corpus("corpora/code")
    compared = tokbench.compare(corpus, tokenizers=[tokenizer], times=False)
    swept = tokbench.sweep(corpus, sizes=[260, 300])
    reported = tokbench.report(corpus, tokenizer=tokenizer, times=False)
    figure = f"{compared.tokenizers[0].figures['bytes_per_token'].value:.3f}"
    for result, wanted in ((compared, figure), (swept, "300"), (reported, figure)):
        html = tokbench.as_html(result)
        elements = Elements(html)
        assert html == result._repr_html_()
        assert elements.open == []
        assert "table" in elements.opened
        assert wanted in words_of(html)
        assert len(repr(result)) < 100


def test_other_objects_are_refused() -> None:
    with pytest.raises(ConfigError, match="dict has no HTML representation"):
        tokbench.as_html(cast("Any", {}))
