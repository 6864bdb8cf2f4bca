"""One browser for all tests of pages, which are skipped without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.browser import Browser, find_browser

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start a headless Chromium."""
    browser = Browser(find_browser(), tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
