"""Tests for `tokbench viz --html` and `--svg`: files are well-formed and complete and fetch nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from rich.cells import cell_len
from support.segmentations import cut_at, in_words, odd_segmentations, token, view

from tokbench.core.tokens import Segmentation, TokenKind
from tokbench.render.viz import ShownText
from tokbench.render.viz_files import viz_page, viz_picture
from tokbench.workbench.viz import VizResult

HOSTILE = "<script>alert(1)</script> & \"'\0\x1b[31m\u202e\ufffe\uffff\x85\U0001f642]]>"
SVG = "{http://www.w3.org/2000/svg}"


def shown(*segmentations: Segmentation, source: str = "") -> ShownText:
    views = tuple(view(each, name=f"t{number}") for number, each in enumerate(segmentations))
    return ShownText(source, VizResult(segmentations[0].text, views))


def drawn(picture: bytes) -> str:
    """Return the text of a picture without its title."""
    return "".join(element.text or "" for element in ElementTree.fromstring(picture).iter(f"{SVG}text"))


class Page(HTMLParser):
    """The opened elements of a page and the labels of its tokens."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.labels: list[str] = []
        self.open: list[str] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        if tag != "meta":
            self.open.append(tag)
        self.labels += [value for name, value in attributes if name == "title" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_labels_each_token_and_closes_its_elements() -> None:
    page = viz_page([shown(in_words("Hi", " x\n", "y"))])
    read = Page(page)
    assert read.open == []
    assert [label.partition(",")[2] for label in read.labels] == [
        " bytes 48 69, at byte 0",
        " bytes 20 78 0a, at byte 2",
        " bytes 79, at byte 5",
    ]
    assert page.count(b'class="break"') == 1  # only one token contains a line end
    assert b"4 characters" not in page
    assert b"6 characters \xc2\xb7 6 bytes \xc2\xb7 3 tokens" in page


@pytest.mark.parametrize("ids", [False, True])
def test_text_is_not_read_as_markup(ids: bool) -> None:
    words = in_words(*re.findall("..?", HOSTILE, re.DOTALL))
    page = viz_page([shown(words, source=HOSTILE)], ids=ids)
    assert {"script", "a", "img", "link", "iframe"}.isdisjoint(Page(page).opened)
    picture = viz_picture([shown(words, source=HOSTILE)] * 2, columns=80, ids=ids)
    for written in (page.decode(), picture.decode()):
        assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202e\ufffe\uffff]", written)
    assert ElementTree.fromstring(picture).tag == f"{SVG}svg"


def test_page_and_picture_fetch_nothing() -> None:
    one = shown(in_words("see ", "https://example.org/x.js"))
    assert b"default-src 'none'" in viz_page([one])
    for written in (viz_page([one]), viz_picture([one], columns=80)):
        assert not re.search(rb"(?:src|href)=|url\(|@import|@font-face", written)


def test_ids_are_shown_if_requested() -> None:
    text = shown(Segmentation("ab", (token(0, 1, "a", id=4711), token(1, 2, "b", id=4712))))
    assert viz_page([text], ids=True).count(b"<small>471") == 2
    assert b"<small>" not in viz_page([text])
    assert "47114712" in drawn(viz_picture([text], columns=80, ids=True))
    assert "4711" not in drawn(viz_picture([text], columns=80))


def test_kinds_and_cut_characters_are_marked() -> None:
    special = Segmentation("<|x|>", (token(0, 5, "<|x|>", kind=TokenKind.SPECIAL),))
    page = viz_page([shown(special)]).decode()
    assert 'class="special c0"' in page
    assert ", special, bytes" in page
    cut = viz_page([shown(cut_at("é", 1))]).decode()
    assert cut.count("<i class=cut>") == 2
    assert "1 character is cut:" in cut
    assert "U+00E9 LATIN SMALL LETTER E WITH ACUTE" in unescape(cut)


def test_several_texts_and_tokenizers_are_shown() -> None:
    both = [shown(in_words("a", "b"), in_words("ab"), source=f"file{number}") for number in range(2)]
    page = viz_page(both, beside=True).decode()
    wanted = {"<h2>": 2, "<h3>": 4, "views beside": 2, "tokens: t1 1 · t0 2": 2}
    assert {part: page.count(part) for part in wanted} == wanted
    text = drawn(viz_picture(both, columns=90))
    assert [text.count(part) for part in ("file0", "file1", "t0· bpe", "t1· bpe")] == [1, 1, 2, 2]


def test_tokens_that_occur_again_keep_their_own_places_and_colours() -> None:
    words = in_words(*["a"] * 12)
    page = viz_page([shown(Segmentation(words.text, tuple(replace(each, id=7) for each in words.tokens)))])
    items = re.findall(r'<li class=c(\d) title="id 7, bytes 61, at byte (\d+)">a</li>', page.decode())
    assert items == [(str(number % 5), str(number)) for number in range(12)]


@given(odd_segmentations())
def test_any_spans_give_a_well_formed_page_and_picture(segmentation: Segmentation) -> None:
    text = shown(segmentation)
    page = Page(viz_page([text], ids=True))
    assert page.open == []
    assert sum(label.startswith("id ") for label in page.labels) == len(segmentation.tokens)
    ElementTree.fromstring(viz_picture([text], columns=40, ids=True))


def test_picture_has_no_leading_or_trailing_spaces_in_text_elements() -> None:
    words = shown(in_words("a", "    b", " ccccc", "  d  e"), source="many   spaces")
    picture = ElementTree.fromstring(viz_picture([words] * 2, columns=60, ids=True))
    elements = list(picture.iter(f"{SVG}text"))
    assert len(elements) > 10
    for element in elements:
        assert element.text == " ".join((element.text or "").split())
        assert float(element.attrib["textLength"]) == 9 * cell_len(element.text)


def test_picture_width_depends_on_the_columns() -> None:
    words = shown(in_words(*["word "] * 60))
    widths, heights = zip(
        *(
            map(
                float,
                ElementTree.fromstring(viz_picture([words], columns=columns)).attrib["viewBox"].split()[2:],
            )
            for columns in (40, 120)
        ),
        strict=True,
    )
    assert widths[0] <= 2 * 16 + 9 * 40 < widths[1] <= 2 * 16 + 9 * 120
    assert heights[0] > heights[1]
