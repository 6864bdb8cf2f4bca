"""The HTML report in a browser: it works from disk with mouse and keyboard, at every window size, and in print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.comparisons import HOSTILE, TEXTS, Texts, compared, named, tokenizers

from tokbench.evaluation.samples import draw_samples
from tokbench.render.html.report import html_report

if TYPE_CHECKING:
    from pathlib import Path

    from support.browser import Browser

    from tokbench.core.tokens import Segmentation
    from tokbench.evaluation.samples import Sample

pytestmark = pytest.mark.slow  # CI installs a browser and runs these tests

LINE = "document.getElementById('line')"


@pytest.fixture(scope="module")
def samples() -> tuple[Sample, ...]:
    """Return the sample lines of the ordinary report."""
    return draw_samples(Texts(TEXTS), tokenizers())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, samples: tuple[Sample, ...]) -> Path:
    """Write the pages: an ordinary report, and one all of whose names try to be more than text."""
    folder = tmp_path_factory.mktemp("pages")
    comparison = compared(tokenizers(), TEXTS, parallel=["en", "fr", "he"])
    (folder / "report.html").write_bytes(html_report(comparison, samples))
    texts = dict.fromkeys(HOSTILE, "\n".join(HOSTILE))
    evaluated = named(*HOSTILE, "a-name-without-a-place-to-break-it-" * 8)
    comparison = compared(evaluated, texts)
    (folder / "hostile.html").write_bytes(html_report(comparison, draw_samples(Texts(texts), evaluated)))
    return folder


@pytest.fixture
def page(browser: Browser, folder: Path) -> Browser:
    """Open the ordinary report in a wide window."""
    browser.prefer()
    browser.resize(1600)
    browser.open(folder / "report.html")
    return browser


def column(page: Browser, number: int) -> list[str]:
    """Return a column of the summary from top to bottom."""
    return page.ask(
        f"[...document.querySelectorAll('#summary tbody tr')].map(row => row.cells[{number}].textContent)"
    )


def focused(page: Browser) -> str:
    """Return the text of the focused element."""
    return page.ask("document.activeElement.textContent")


@pytest.mark.parametrize("name", ["report.html", "hostile.html"])
def test_page_opens_without_errors_or_requests(browser: Browser, folder: Path, name: str) -> None:
    browser.open(folder / name)
    assert browser.ask("document.querySelectorAll('.token').length") > 10
    assert browser.complaints == []
    assert browser.requests == [(folder / name).as_uri()]


def test_hostile_names_stay_text(browser: Browser, folder: Path) -> None:
    browser.open(folder / "hostile.html")
    lines = browser.ask(f"{LINE}.options.length")
    for _ in range(lines):
        browser.ask("document.getElementById('next').click()")
        assert browser.ask("document.querySelectorAll('script').length") == 2
        assert browser.ask("document.querySelectorAll('img, main b').length") == 0
    assert browser.complaints == []


@pytest.mark.parametrize("name", ["report.html", "hostile.html"])
@pytest.mark.parametrize("width", [320, 400, 768, 1600])
def test_page_fits_every_window_width(browser: Browser, folder: Path, name: str, width: int) -> None:
    browser.prefer()
    browser.resize(width)
    browser.open(folder / name)
    for _ in range(4):
        assert browser.ask("document.documentElement.scrollWidth") <= width
        browser.ask("document.getElementById('next').click()")
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.ask("document.documentElement.scrollWidth") <= width


def test_charts_fit_the_window(page: Browser) -> None:
    def widths(kind: str) -> list[float]:
        return page.ask(
            f"[...document.querySelectorAll('.{kind} svg')].map(one => one.getBoundingClientRect().width)"
        )

    assert all(width > 500 for width in widths("wide"))
    assert not any(widths("narrow"))
    page.resize(400)
    assert not any(widths("wide"))
    assert all(300 < width <= 400 for width in widths("narrow"))


def test_table_sorts_by_mouse(page: Browser) -> None:
    page.ask("document.querySelectorAll('#summary th button')[1].click()")
    sizes = [int(size.replace(",", "")) for size in column(page, 1)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes != sorted(sizes)
    page.ask("document.querySelectorAll('#summary th button')[1].click()")
    assert [int(size.replace(",", "")) for size in column(page, 1)] == sizes[::-1]


def test_table_sorts_by_keyboard_and_reports_the_order(page: Browser) -> None:
    page.ask("document.querySelector('#summary th button').focus()")
    sorts = "[...document.querySelectorAll('#summary thead th')].map(head => head.getAttribute('aria-sort'))"
    page.press("Enter")
    assert column(page, 0) == sorted(column(page, 0))
    assert page.ask(sorts)[:2] == ["ascending", None]
    page.press("Enter")
    assert column(page, 0) == sorted(column(page, 0), reverse=True)
    assert page.ask(sorts)[:2] == ["descending", None]
    page.press("Tab", "Enter")
    assert page.ask(sorts)[:2] == [None, "descending"]


def test_unknown_values_are_last_in_either_order(page: Browser) -> None:
    page.ask(
        "document.querySelectorAll('#summary tbody tr').forEach((row, number) => { if (number < 2) {"
        " delete row.cells[1].dataset.value; row.cells[1].dataset.none = ''; row.cells[1].textContent = '–'; } })"
    )
    for _ in range(2):
        page.ask("document.querySelectorAll('#summary th button')[1].click()")
        assert column(page, 1) == ["256", "–", "–"]


def test_the_viewer_switches_lines_by_keyboard(page: Browser) -> None:
    number = page.ask(f"{LINE}.selectedIndex")
    before = page.ask("document.getElementById('rows').textContent")
    page.ask(f"{LINE}.focus()")
    page.press("ArrowDown")
    assert page.ask(f"{LINE}.selectedIndex") == number + 1
    after = page.ask("document.getElementById('rows').textContent")
    assert after != before
    page.press("Tab", "Enter")  # "previous"
    assert page.ask("document.getElementById('rows').textContent") == before
    page.press("Tab", "Enter")  # "next"
    assert page.ask("document.getElementById('rows').textContent") == after
    page.ask("document.querySelector('.token').focus()")
    page.press("p")
    assert page.ask(f"{LINE}.selectedIndex") == number
    assert page.ask("document.activeElement === document.querySelector('.token')")


def test_every_line_is_shown_in_every_tokenizer(page: Browser) -> None:
    lines = page.ask(f"{LINE}.options.length")
    seen = set()
    for _ in range(lines):
        page.ask("document.getElementById('next').click()")
        assert page.ask("document.querySelectorAll('.row').length") == 3
        line = page.ask("document.querySelector('.row:last-child .tokens').textContent")
        seen.add((page.ask(f"{LINE}.value"), line))
    assert len(seen) == lines


def test_tokens_are_selected_with_arrow_keys(page: Browser) -> None:
    page.ask("document.querySelector('.token').focus()")
    first = focused(page)
    page.press("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft")
    assert focused(page) == first
    page.press("End", "ArrowRight")
    assert page.ask("document.activeElement === document.querySelector('.row .token:last-child')")
    page.press("Home", "ArrowDown")
    assert page.ask("document.activeElement === document.querySelector('.row:nth-child(2) .token')")
    page.press("ArrowUp")
    assert focused(page) == first


def test_arrow_keys_follow_the_text_direction(page: Browser) -> None:
    page.ask(
        f"{LINE}.selectedIndex = [...{LINE}.options].findIndex(one => one.textContent.startsWith('he'));"
        f"{LINE}.dispatchEvent(new Event('change')); document.querySelector('.token').focus()"
    )
    place = "document.activeElement.getBoundingClientRect().left"
    before = page.ask(place)
    page.press("ArrowLeft")
    assert page.ask(place) < before


def test_tooltip_shows_id_bytes_and_rank(page: Browser) -> None:
    tip = "document.getElementById('tip')"
    page.point(".row:last-child .token:nth-child(2)")  # byte tokenizer: the id is the byte
    told = page.ask(f"{tip}.textContent")
    assert not page.ask(f"{tip}.hidden")
    text = page.ask("document.querySelector('.row:last-child .token:nth-child(2)').textContent")
    code = ord(text.replace("·", " "))
    assert told.startswith(f"id {code}bytes {code:02x}rank ")
    assert page.ask("document.querySelectorAll('.token.same').length") >= 2
    page.ask("document.querySelector('.token').focus()")
    assert page.ask("document.activeElement.getAttribute('aria-describedby')") == "tip"
    page.press("Escape")
    assert page.ask(f"{tip}.hidden")


def boundaries(segmentation: Segmentation) -> set[int]:
    """Return the byte offsets at which tokens that cover text start and stop."""
    return {edge for token in segmentation.tokens if token.span.length for edge in token.span}


def test_boundaries_missing_in_other_tokenizers_are_marked(
    page: Browser, samples: tuple[Sample, ...]
) -> None:
    for number, sample in enumerate(samples):
        page.ask(f"{LINE}.selectedIndex = {number}; {LINE}.dispatchEvent(new Event('change'))")
        ours, words, _ = map(boundaries, sample.segmentations)
        alone = (ours ^ words) - {0, len(sample.text.encode())}
        marks = page.ask(
            "[...document.querySelectorAll('.row')].map(row => row.querySelectorAll('.differs').length)"
        )
        assert marks == [len(alone & ours), len(alone & words), 0]


def test_only_shown_tokenizers_are_compared(page: Browser) -> None:
    marked = "[...document.querySelectorAll('.row')].map(row => row.querySelectorAll('.differs').length)"
    ours, words, in_bytes = page.ask(marked)
    assert ours + words > 0
    assert in_bytes == 0
    page.ask("document.querySelectorAll('#shown input')[1].click()")  # hides the word tokenizer
    assert len(page.ask(marked)) == 2
    page.ask("document.querySelectorAll('#shown input')[2].click()")  # hides the byte tokenizer
    assert page.ask(marked) == [0]


def test_dark_and_light_pages_differ_and_print_is_light(page: Browser) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.ask(ground) == "rgb(255, 255, 255)"
    page.prefer(dark=True)
    assert page.ask(ground) == "rgb(23, 26, 33)"
    assert page.ask("getComputedStyle(document.querySelector('.wide text')).fill") == "rgb(232, 234, 238)"
    page.prefer(dark=True, paper=True)
    assert page.ask(ground) == "rgb(255, 255, 255)"
    assert page.ask("getComputedStyle(document.getElementById('next')).display") == "none"


def test_tokens_have_borders_without_colours(page: Browser) -> None:
    edges = page.ask("[...document.querySelectorAll('.token')].map(one => getComputedStyle(one).boxShadow)")
    assert edges and all("rgb" in edge for edge in edges)


def test_every_control_is_reached_by_tab(page: Browser) -> None:
    page.ask("document.activeElement.blur(), window.scrollTo(0, 0)")
    reached = set()
    for _ in range(80):
        page.press("Tab")
        reached.add(page.ask("document.activeElement.id || document.activeElement.className"))
    assert {"line", "previous", "next", "scroll"} <= reached
    assert any("token" in name for name in reached)
