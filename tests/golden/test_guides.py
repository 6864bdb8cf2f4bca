"""The guides to training, to files and to inspecting tokenizers show the actual output."""

from __future__ import annotations

import os

import pytest
from support.pages import DOCS, check_page

PAGES = [
    "chat",
    "convert",
    "debug",
    "explain",
    "formats",
    "misbehaving",
    "shards",
    "special_tokens",
    "surgery",
    "terabyte",
    "train",
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_guide_shows_the_actual_output(page, tmp_path):
    if os.environ.get("TOKBENCH_KERNEL") == "python":
        pytest.skip("the sessions show the native kernel")
    check_page(DOCS / f"{page}.md", tmp_path)
