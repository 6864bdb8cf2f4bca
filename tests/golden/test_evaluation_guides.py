"""The guides to comparing, checking and timing tokenizers show the actual output."""

from __future__ import annotations

import os
import re

import pytest
from support.pages import DOCS, blocks, check_page

PAGES = ["BENCHMARKS", "choose", "ci"]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_guide_shows_the_actual_output(page, tmp_path):
    if os.environ.get("TOKBENCH_KERNEL") == "python":
        pytest.skip("the sessions show the native kernel")
    check_page(DOCS / f"{page}.md", tmp_path)


def test_workflow_commands_are_in_the_session():
    page = blocks(DOCS / "ci.md")
    sessions = "".join(block.text for block in page if block.language == "console")
    [workflow] = [block.text for block in page if block.language == "yaml"]
    commands = re.findall(r"- run: (tokbench .*)", workflow)
    assert commands
    assert all(f"$ {command}\n" in sessions for command in commands)
