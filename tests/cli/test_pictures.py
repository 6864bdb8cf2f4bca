"""`tokbench compare --html` and `--plot`: files written in addition to the printed output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Done

pytest.importorskip("vl_convert")
pytest.importorskip("jinja2")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Write a folder with two groups of text."""
    folder = tmp_path / "texts" / "code"
    folder.mkdir(parents=True)
    (folder / "python.py").write_text("def add(one, other):\n    return one + other\n" * 9)
    (folder / "c.c").write_text("int add(int one, int other) { return one + other; }\n" * 9)
    return tmp_path / "texts"


def test_files_are_written_in_addition_to_the_output(
    run: Callable[..., Done], trained: Path, texts: Path, tmp_path: Path
) -> None:
    evaluated = ("compare", texts, "-t", trained, "--no-times", "--json")
    files = [tmp_path / "new" / name for name in ("report.html", "chart.svg", "chart.png")]
    html, svg, png = files
    done = run(*evaluated, "--html", html, "--plot", svg, "--plot", png).good()
    assert done.out == run(*evaluated).good().out
    assert b"def" in html.read_bytes()
    assert html.read_bytes().startswith(b"<!DOCTYPE html>")
    assert svg.read_bytes().startswith(b"<svg ")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert sorted(html.parent.iterdir()) == sorted(files)


def test_columns_are_the_chosen_metrics(
    run: Callable[..., Done], trained: Path, texts: Path, tmp_path: Path
) -> None:
    html = tmp_path / "report.html"
    run("compare", texts, "-t", trained, "--no-times", "--metrics", "unk_rate", "--html", html).good()
    summary = html.read_text().partition("<tbody>")[0]
    assert "UNK" in summary
    assert "bytes/token" not in summary


@pytest.mark.parametrize(
    ("option", "value", "parts"),
    [
        ("--plot", "chart.pdf", ("chart.pdf", "SVG or PNG", ".svg or .png")),
        ("--plot", "chart", ("SVG or PNG",)),
        ("--plot", "folder.svg", ("is a folder", "--plot")),
        ("--html", "folder.svg", ("is a folder", "--html")),
    ],
)
def test_unwritable_picture_is_refused_before_any_work(
    run: Callable[..., Done], tmp_path: Path, option: str, value: str, parts: tuple[str, ...]
) -> None:
    (tmp_path / "folder.svg").mkdir()
    run("compare", "-t", "no-such-tokenizer", option, value).refused(2, *parts)
