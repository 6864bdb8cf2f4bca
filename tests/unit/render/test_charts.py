"""Tests for the charts: their contents, their drawing, and colours that everyone can tell apart."""

from __future__ import annotations

import math
import re
import string
import struct
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from support.comparisons import HOSTILE, TEXTS, compared, named, tokenizers
from support.eyes import EYES, contrast, lab
from support.labels import labels, lines, touching
from support.toys import Toy

from tokbench.backends.baseline.byte import ByteTokenizer
from tokbench.errors import BackendUnavailableError, ConfigError
from tokbench.metrics.catalogue import METRICS
from tokbench.render.charts import layout
from tokbench.render.charts.comparison import (
    MOST_GROUPS,
    compression_chart,
    frequency_chart,
    length_chart,
    premium_chart,
    rank_frequencies,
    token_lengths,
)
from tokbench.render.charts.layout import Frame, check_plot_file, drawn, labels_of, png, svg
from tokbench.render.charts.sweep import sweep_chart
from tokbench.render.charts.theme import DARK, DASHES, LIGHT, PAGE, SHAPES, Theme

if TYPE_CHECKING:
    from tokbench.evaluation.comparison import Comparison

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compared(tokenizers(), TEXTS, parallel=["en", "fr", "he"])


def rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the data rows of the last layer."""
    return spec["layer"][-1]["data"]["values"]


def rgb(color: str) -> tuple[int, int, int]:
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return red, green, blue


# --- contents -------------------------------------------------------------------------------------


def test_compression_chart_has_a_dot_for_each_group_and_tokenizer(comparison: Comparison) -> None:
    dots = {(row["group"], row["tokenizer"]): row["value"] for row in rows(compression_chart(comparison))}
    assert dots == {
        (group, tokenizer.name): tokenizer.groups[group]["bytes_per_token"].value
        for tokenizer in comparison.tokenizers
        for group in TEXTS
    }


def test_groups_are_sorted_only_if_comparable(comparison: Comparison) -> None:
    """Parallel languages are sorted by the baseline's premium; scripts by name, as their bytes are not comparable."""
    encoding = compression_chart(comparison)["layer"][-1]["encoding"]
    base = comparison.tokenizers[0].fairness
    assert base is not None
    languages = sorted(base.premiums, key=lambda language: -(base.premiums[language] or 0))
    assert encoding["y"]["sort"] == [*languages, "code"]
    scripts = compression_chart(compared(tokenizers(), TEXTS))["layer"][-1]["encoding"]
    assert scripts["y"]["sort"] == sorted(TEXTS)
    ascii_only = {"b": "aaaa aaaa", "c": "the hat", "a": "1 2 3 4 5 6"}
    programs = compared(tokenizers(), ascii_only)
    values = {
        group: figures["bytes_per_token"].value for group, figures in programs.tokenizers[0].groups.items()
    }
    assert compression_chart(programs)["layer"][-1]["encoding"]["y"]["sort"] == sorted(
        values, key=lambda group: values[group] or 0
    )


def test_axis_of_a_dot_chart_begins_at_zero(comparison: Comparison) -> None:
    charts = [compression_chart(comparison), premium_chart(comparison)]
    for chart in charts:
        assert chart is not None
        assert chart["layer"][-1]["encoding"]["x"]["scale"]["zero"] is True


def test_only_the_largest_of_many_groups_are_shown() -> None:
    texts = {f"g{number:03}": "x" * (number + 1) for number in range(100)}
    spec = compression_chart(compared(named("byte"), texts))
    assert {row["group"] for row in rows(spec)} == {f"g{n:03}" for n in range(100 - MOST_GROUPS, 100)}
    assert "60 largest groups" in spec["title"]["subtitle"]


def test_premiums_are_relative_to_the_reference(comparison: Comparison) -> None:
    spec = premium_chart(comparison)
    assert spec is not None
    for tokenizer in comparison.tokenizers:
        assert tokenizer.fairness is not None
        premiums = {row["group"]: row["value"] for row in rows(spec) if row["tokenizer"] == tokenizer.name}
        assert premiums == dict(tokenizer.fairness.premiums)
        assert premiums["en"] == 1
    assert spec["layer"][0]["data"]["values"] == [{"value": 1.0}]


def test_lost_text_has_no_dot() -> None:
    """A run of unknown characters is one token, which would look like good compression."""
    kept, lost = ByteTokenizer(), Toy(*string.printable, name="ascii")
    comparison = compared([kept, lost], TEXTS, parallel=["en", "fr", "he"])
    compression, premiums = compression_chart(comparison), premium_chart(comparison)
    assert premiums is not None
    for chart, groups in [(compression, {"en", "code"}), (premiums, {"en"})]:
        dots = {(row["tokenizer"], row["group"]) for row in rows(chart)}
        assert groups <= {group for name, group in dots if name == "ascii"}
        assert ("ascii", "he") not in dots
        assert ("byte", "he") in dots
        assert "; ascii: no dot where more than 1 % is lost" in str(chart["title"])
    shares = compression_chart(comparison, metric=METRICS["unk_rate"])
    assert ("ascii", "he") in {(row["tokenizer"], row["group"]) for row in rows(shares)}


def test_without_translations_there_is_no_premium_chart() -> None:
    assert premium_chart(compared(tokenizers(), TEXTS)) is None


def test_token_lengths_are_shares(comparison: Comparison) -> None:
    for tokenizer in comparison.tokenizers:
        assert token_lengths(tokenizer).sum() == pytest.approx(1)
    assert token_lengths(comparison.tokenizers[-1]).tolist() == [0, 1, *([0] * 15)]


def test_tokenizers_with_one_token_length_are_omitted_and_named(comparison: Comparison) -> None:
    spec = length_chart(comparison)
    assert spec is not None
    assert "byte" not in {row["tokenizer"] for row in rows(spec)}
    assert "without byte" in spec["title"]["subtitle"]
    assert length_chart(compared(named("one", "two"), TEXTS)) is None


def test_tokenizer_has_the_same_colour_in_every_chart(comparison: Comparison) -> None:
    specs = [compression_chart(comparison), length_chart(comparison), frequency_chart(comparison)]
    scales = [spec["layer"][-1]["encoding"]["color"]["scale"] for spec in specs if spec is not None]
    assert scales == [scales[0]] * 3


@given(st.lists(st.integers(0, 10**6), max_size=3000))
def test_rank_frequency_line_falls_and_has_few_points(frequencies: list[int]) -> None:
    points = rank_frequencies(np.array(frequencies, dtype=np.int64))
    seen = sorted((count for count in frequencies if count), reverse=True)
    assert len(points) <= min(200, len(seen))
    if not seen:
        return
    assert [rank for rank, _ in points] == sorted({rank for rank, _ in points})
    assert points[0][0] == 1
    assert points[-1][0] == len(seen)
    for rank, share in points:
        assert share == seen[rank - 1] / sum(seen)


def test_sweep_chart_marks_the_knee() -> None:
    points = [(1024, 2.0, "all"), (2048, 3.0, "all"), (4096, None, "all"), (1024, 2.5, "code")]
    spec = sweep_chart(points, 2048)
    assert spec["layer"][0]["data"]["values"] == [
        {"size": 1024, "value": 2.0, "group": "all"},
        {"size": 2048, "value": 3.0, "group": "all"},
        {"size": 1024, "value": 2.5, "group": "code"},
    ]
    assert texts_of(spec) == ["knee: 2,048"]
    assert len(sweep_chart(points, None)["layer"]) == 2


def test_sweep_chart_marks_the_recommended_size() -> None:
    points = [(1024, 2.0, "all"), (2048, 3.0, "all"), (4096, 3.1, "all")]
    assert texts_of(sweep_chart(points, 2048, 4096)) == ["knee: 2,048", "recommended: 4,096"]
    assert texts_of(sweep_chart(points, 2048, 1024)) == ["recommended: 1,024", "knee: 2,048"]
    assert texts_of(sweep_chart(points, 2048, 2048)) == ["knee, recommended: 2,048"]
    assert texts_of(sweep_chart(points, None, 4096)) == ["recommended: 4,096"]
    assert "4,096 is recommended" in sweep_chart(points, None, 4096)["description"]
    assert texts_of(sweep_chart([(1024, None, "all")], 1024, 1024)) == []


def texts_of(spec: dict[str, Any]) -> list[str]:
    """Return the text labels of a chart."""
    return [layer["mark"]["text"] for layer in spec["layer"] if layer["mark"]["type"] == "text"]


# --- drawing --------------------------------------------------------------------------------------


def all_of(comparison: Comparison, frame: Frame) -> list[dict[str, Any]]:
    specs = [
        compression_chart(comparison, frame=frame),
        premium_chart(comparison, frame=frame),
        length_chart(comparison, frame=frame),
        frequency_chart(comparison, frame=frame),
        sweep_chart([(1024, 2.0, "all"), (2048, 3.0, "all")], 2048, frame=frame),
    ]
    return [spec for spec in specs if spec is not None]


@pytest.mark.parametrize("frame", [Frame(), Frame(width=350, theme=PAGE)], ids=["file", "page"])
def test_drawings_are_complete_and_labelled(comparison: Comparison, frame: Frame) -> None:
    specs = all_of(comparison, frame)
    assert len(specs) == 5
    for spec in specs:
        root = ElementTree.fromstring(svg(spec))
        assert root.get("role") == "img"
        assert root.get("aria-label") == spec["description"]
        assert float(root.get("width", "")) == pytest.approx(frame.width, abs=1)
        for element in root.iter():
            assert not {"href", "style", "id"} & set(element.attrib)
            assert not any(name.startswith("on") or "url(" in value for name, value in element.items())


def test_hostile_names_are_drawn_as_text() -> None:
    hostile = compared(named(*HOSTILE), dict.fromkeys(HOSTILE, "some text\n" * 6), parallel=HOSTILE)
    for spec in all_of(hostile, Frame()):
        drawing_of_it = svg(spec)
        root = ElementTree.fromstring(drawing_of_it)
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {"svg", "g", "path", "rect", "line", "text"}
        assert not set("\0\x07\x1b\u202e\u2066\u2028\u2029") & set(drawing_of_it)
    texts = set(ElementTree.fromstring(svg(compression_chart(hostile))).itertext())
    assert "a⟨RLO⟩b⟨LRI⟩c" in texts
    assert "datum.value ? 'x' : 'y'" in texts


def test_png_has_two_pixels_per_unit(comparison: Comparison) -> None:
    data = png(compression_chart(comparison, frame=Frame(width=400)))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">I", data[16:20])[0] == pytest.approx(800, abs=4)


def test_file_name_decides_the_format(comparison: Comparison) -> None:
    spec = compression_chart(comparison)
    assert drawn(spec, Path("a.svg")).startswith(b"<svg ")
    assert drawn(spec, Path("a.PNG")).startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match=r"a\.pdf.*SVG or PNG"):
        check_plot_file(Path("a.pdf"))


def test_missing_library_is_reported_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "find_spec", lambda name: None)
    for call in (lambda: svg({}), lambda: png({}), lambda: check_plot_file(Path("a.svg"))):
        with pytest.raises(BackendUnavailableError) as refused:
            call()
        assert refused.value.hint == "pip install 'tokbench[report]'"


# --- colours --------------------------------------------------------------------------------------


@THEMES
@pytest.mark.parametrize("eye", EYES)
def test_series_colours_differ_for_colour_blind_readers(theme: Theme, eye: str) -> None:
    for one, other in combinations(theme.series, 2):
        assert math.dist(lab(rgb(one), eye), lab(rgb(other), eye)) >= 24


@THEMES
def test_colours_contrast_with_the_page(theme: Theme) -> None:
    page = rgb(theme.background or "")
    assert all(contrast(rgb(color), page) >= 3 for color in theme.series)
    assert all(contrast(rgb(color), page) >= 4.5 for color in (theme.ink, theme.muted))


def test_series_differ_without_colour() -> None:
    for looks in (SHAPES, DASHES):
        assert len(set(looks)) == len(looks)
        assert math.gcd(len(looks), len(LIGHT.series)) == 1


def test_page_theme_names_all_colours() -> None:
    names = {PAGE.ink, PAGE.muted, PAGE.grid, *PAGE.series}
    assert names <= {f"var({part.partition(':')[0]})" for part in LIGHT.variables().split(";")}


# --- labels ---------------------------------------------------------------------------------------

SIZES = {
    "doubling": [1000 * 2**number for number in range(8)],
    "close together": [1000, 1050, 1100, 1200, 2000, 4000, 32000, 33000, 64000],
    "large": [100_000 * 2**number for number in range(7)],
}


@pytest.mark.parametrize(
    ("sizes", "width"),
    [*((sizes, 350) for sizes in SIZES.values()), (SIZES["close together"], 640)],
    ids=[*SIZES, "wide"],
)
def test_sweep_labels_overlap_neither_labels_nor_lines(sizes: list[int], width: int) -> None:
    half, last = len(sizes) // 2, len(sizes) - 1
    points = [(size, 5 - 4 * 0.5**place, "all text") for place, size in enumerate(sizes)]
    points += [(size, 1 + 0.1 * (place % 2), "a group that stays low") for place, size in enumerate(sizes)]
    pairs = [(1, 2), (half, half), (half, half + 1), (last - 1, last), (last - 1, 0), (None, half), (1, None)]
    for knee, recommended in pairs:
        marks = [None if place is None else sizes[place] for place in (knee, recommended)]
        drawing = svg(sweep_chart(points, *marks, frame=Frame(width)))
        assert touching(drawing) == []
        annotations = [label for label in labels(drawing) if re.match("knee|recommended", label.text)]
        assert {size for label in annotations for size in sizes if label.text.endswith(f" {size:,}")} == {
            size for size in marks if size is not None
        }
        assert len(list(lines(drawing))) == 2 + len(annotations)
        for label in annotations:
            assert 0 <= label.left <= label.right <= width
            assert not [at for line in lines(drawing) for at in line if label.is_over(*at)], marks


def test_comparison_labels_do_not_overlap(comparison: Comparison) -> None:
    texts = {f"a group of a long name, {number}": "the hat " * number for number in range(1, 13)}
    many = compared(named(*(f"a-tokenizer-of-a-long-name-{number}" for number in range(5))), texts)
    charts = (compression_chart, premium_chart, length_chart, frequency_chart)
    for evaluated in (comparison, many):
        specs = [draw(evaluated, frame=Frame(350)) for draw in charts]
        drawn = [spec for spec in specs if spec is not None]
        assert len(drawn) >= 2  # premiums need translations, lengths numbers
        assert [touching(svg(spec)) for spec in drawn] == [[]] * len(drawn)


@pytest.mark.parametrize("width", [350, 560, 640])
@pytest.mark.parametrize("most", [0.97, 2.2, 5.5, 10.4, 130.0])
def test_axis_labels_have_space_between_them(most: float, width: int) -> None:
    dots = [{"group": "one", "tokenizer": "mine", "value": most}]
    titles = {"title": "title", "subtitle": "of it", "unit": "bytes"}
    spec = layout.dots(Frame(width), dots, groups=["one"], names=["mine"], **titles)
    drawing = svg(spec)
    assert touching(drawing, gap=5) == []
    assert all(0 <= label.left <= label.right <= width for label in labels(drawing))


ALIKE = [
    *(f"customers/2026/contracts-and-invoices/part-{number}" for number in ("one", "two", "three")),
    *(f"customers/{year}/contracts-and-invoices/of-the-northern-region" for year in (2024, 2025)),
    *(f"customers/contracts/{part}{'x' * 40}/{year}/invoices/of-the-south" for part in "ab" for year in (2024, 2025)),
    "長い名前のグループの一つ目の部分・契約書", "長い名前のグループの二つ目の部分・契約書",
    "constructor", "__proto__", "short",
]  # fmt: skip


def test_long_names_have_distinct_labels() -> None:
    """Groups and tokenizers may have such names; each name keeps its own label, whichever others there are."""
    alike = compared(named(*ALIKE[:5]), dict.fromkeys(ALIKE, "the hat " * 9))
    for width in (350, 640):
        drawing = svg(compression_chart(alike, frame=Frame(width)))
        texts = [text for label in labels(drawing) if (text := label.text.strip())[:1] in "cs_長"]
        assert len({*texts}) >= len(ALIKE)
        assert len(texts) == len(ALIKE) + 5
        assert {"constructor", "__proto__", "short"} < {*texts}
        assert touching(drawing) == []
        assert all(0 <= label.left <= label.right <= width for label in labels(drawing))


@given(st.lists(st.text(string.ascii_letters + "ñ語🙂…()2 ", max_size=30), unique=True), st.integers(8, 24))
def test_labels_are_distinct_and_short(names: list[str], most: int) -> None:
    shortened = labels_of(names, most=most)
    assert list(shortened) == names
    assert len({*shortened.values()}) == len(names)
    assert all(shortened[name] == name for name in names if cell_len(name) <= most)
    assert all(
        cell_len(re.sub(r" \(\d+\)$", "", shortened[name])) <= most
        for name in names
        if shortened[name] != name
    )


def test_overlapping_labels_are_detected() -> None:
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"><g transform="translate(5,5)">{}</g></svg>'
    text = '<text transform="translate({},0)" font-size="10px">four</text>'
    assert touching(drawing.format(text.format(0) + text.format(19))) == [("four", "four")]
    assert touching(drawing.format(text.format(0) + text.format(21))) == []
    assert touching(drawing.format(text.format(0) + text.format(21)), gap=2) == [("four", "four")]
