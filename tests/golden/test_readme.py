"""The README shows the actual output: its session and its Python are run.

`python tests/golden/test_readme.py [PAGE…]` rewrites the sessions of README.md and docs/ (or of some pages),
the pages of metrics, chat templates and lint, and the pictures.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # so that this file also runs as a script

from support.chat_formats_page import chat_formats_page
from support.lint_page import lint_page
from support.metrics_page import metrics_page
from support.pages import DOCS, README, ROOT, Clone, blocks, check_page, rewritten, two_commands

VIZ = (
    """viz --svg viz.svg --ids -t mine "Hello, wörld! 안녕하세요 if x == 1:" "    return fibonacci(n - 1)\""""
)
COMPARE = (
    "compare corpora/parallel --backend bpe --backend sentencepiece --backend wordpiece --vocab-size 8000"
)


@pytest.mark.slow
def test_session_equals_the_output_of_the_commands(tmp_path):
    if os.environ.get("TOKBENCH_KERNEL") == "python":
        pytest.skip("the session shows the native kernel")
    check_page(README, tmp_path)


def test_first_command_trains_and_shows_tokens(tmp_path):
    """Runs without `pip install .`, which CI runs around the tests."""
    install, *commands = two_commands()[0].split(" && ")
    assert install == "pip install ."
    output = Clone(tmp_path).session("".join(f"$ {command}\n" for command in commands))
    assert "4,096 tokens (chosen to fit the text)" in output
    assert re.search(r"^\d+ characters · \d+ bytes · \d+ tokens · [\d.]+ bytes/token$", output, re.MULTILINE)


def test_python_examples_run(tmp_path):
    clone = Clone(tmp_path)
    examples = [block for block in blocks(README) if block.language == "python"]
    assert examples
    for example in examples:
        clone.run(example)


def test_picture_equals_the_output_of_viz(tmp_path):
    clone = Clone(tmp_path)
    clone.copy_mine()
    assert (DOCS / "viz.svg").read_text(encoding="utf-8") == picture_of_viz(clone)


def picture_of_viz(clone):
    clone.shell(f"COLUMNS=84 tokbench {VIZ}")
    return (clone.folder / "viz.svg").read_text(encoding="utf-8")


def write_pages(pages):
    """Run pages and write their current output."""
    for page in pages:
        with tempfile.TemporaryDirectory() as name:
            try:
                page.write_text(rewritten(page, Path(name)), encoding="utf-8")
            except (AssertionError, subprocess.CalledProcessError) as error:
                print(f"{page.relative_to(ROOT)} is left as it is: {error}", file=sys.stderr)
    (DOCS / "metrics.md").write_text(metrics_page(), encoding="utf-8")
    (DOCS / "chat-formats.md").write_text(chat_formats_page(), encoding="utf-8")
    (DOCS / "lint.md").write_text(lint_page(), encoding="utf-8")


def write_pictures():
    """Draw the pictures again."""
    with tempfile.TemporaryDirectory() as name:
        clone = Clone(Path(name))
        clone.copy_mine()
        (DOCS / "viz.svg").write_text(picture_of_viz(clone), encoding="utf-8")
        clone.shell(f"tokbench {COMPARE} --no-times --plot compare.svg")
        (DOCS / "compare.svg").write_bytes((clone.folder / "compare.svg").read_bytes())


if __name__ == "__main__":
    named = [ROOT / name for name in sys.argv[1:]]
    write_pages(named or [README, *sorted(DOCS.glob("*.md"))])
    if not named:
        write_pictures()
