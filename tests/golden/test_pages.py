"""README.md, docs/ and the other pages of the project: complete, linked, and consistent with the code."""

from __future__ import annotations

import re

import pytest
from support.chat_formats_page import chat_formats_page
from support.lint_page import lint_page
from support.metrics_page import metrics_page
from support.pages import DOCS, README, ROOT, blocks, two_commands

NEIGHBOURS = [ROOT / name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")]
PAGES = [README, *sorted(DOCS.glob("*.md")), *NEIGHBOURS]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
SCRIPT = re.compile(r"(?<![\w/])(?:tests|tokbench|docs|configs|corpora)/[\w./-]+\.\w+")
ids = [str(page.relative_to(ROOT)) for page in PAGES]


def anchors(page):
    """Return the fragments that a forge derives from the headings of a page."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_readme_has_at_most_200_lines():
    assert README.read_text(encoding="utf-8").count("\n") <= 200


def test_readme_has_two_commands():
    commands = two_commands()
    assert len(commands) == 2
    assert not any("\n" in command for command in commands)


def test_metrics_page_is_up_to_date():
    """`python tests/golden/test_readme.py docs/metrics.md` rewrites it."""
    assert (DOCS / "metrics.md").read_text(encoding="utf-8") == metrics_page()


def test_chat_formats_page_is_up_to_date():
    """`python tests/golden/test_readme.py docs/chat-formats.md` rewrites it."""
    assert (DOCS / "chat-formats.md").read_text(encoding="utf-8") == chat_formats_page()


def test_lint_page_is_up_to_date():
    """`python tests/golden/test_readme.py docs/lint.md` rewrites it."""
    assert (DOCS / "lint.md").read_text(encoding="utf-8") == lint_page()


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_have_a_target(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), link
        if fragment:
            assert fragment in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_named_files_exist(page):
    for name in SCRIPT.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), name


def test_every_page_is_reached_from_the_readme():
    reached, waiting = set(), [README]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        links = (link.partition("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8")))
        waiting += [(page.parent / link).resolve() for link in links if link.endswith(".md")]
    assert set(PAGES) <= reached


def test_every_page_with_commands_is_tested():
    here = ROOT / "tests" / "golden"
    tests = "".join(file.read_text(encoding="utf-8") for file in here.glob("test_*.py"))
    for page in DOCS.glob("*.md"):
        if any(block.language in ("console", "sh", "python") for block in blocks(page)):
            assert re.search(rf'"{page.stem}(\.md)?"', tests), page.name
