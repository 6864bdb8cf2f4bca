"""Compression against vocabulary size: the curve equals retraining, and its conclusions follow from it."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tokbench.core.progress import no_progress
from tokbench.corpus import Corpus, open_corpus
from tokbench.errors import ConfigError, TrainingError
from tokbench.evaluation.costs import Model
from tokbench.evaluation.holdout import Holdout, hold_out
from tokbench.evaluation.sweep import SWEPT, SweepPoint, nested_merges, sweep_document, sweep_sizes
from tokbench.evaluation.sweep_point import knee_of, recommend
from tokbench.files.bundled import corpora_directory
from tokbench.registry import get_backend
from tokbench.render.sweep import sweep_forms
from tokbench.workbench.compare import compare
from tokbench.workbench.sweep import parse_sizes, sweep

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

SIZES = [258, 300, 417, 700, 1100]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    folder = corpora_directory()
    return open_corpus(*(folder / "parallel" / f"{name}.txt" for name in ("en", "de", "ja")), folder / "code")


@pytest.fixture(scope="module")
def holdout(corpus: Corpus) -> Holdout:
    return hold_out(corpus)


def retrained(holdout: Holdout, size: int, *, backend: str = "bpe", **options: Any) -> Tokenizer:
    trainer = get_backend(backend)
    return trainer.train(
        holdout.training, trainer.config_type(vocab_size=size, **options), progress=no_progress
    )


def test_threads_are_those_of_the_training_too(holdout: Holdout) -> None:
    one, three, own = (
        sweep_sizes(holdout, [300], threads=threads, options=options).largest
        for threads, options in ((1, {}), (3, {}), (1, {"threads": 2}))
    )
    assert [tokenizer.training.threads for tokenizer in (one, three, own)] == [1, 3, 2]
    assert sweep_sizes(holdout, [300], backend="char", threads=1).trainings == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"special_tokens": ("<|endoftext|>", "<|pad|>")},
        {"pattern": "none", "min_frequency": 9},
        {"max_token_length": 4},
    ],
    ids=["plain", "special", "none", "short"],
)
def test_one_training_equals_separate_trainings(holdout: Holdout, options: dict[str, Any]) -> None:
    sweep = sweep_sizes(holdout, SIZES, options=options)
    assert sweep.trainings == 1
    assert [point.vocab_size for point in sweep.points] == SIZES
    documents = list(holdout.held_out)
    for point in sweep.points:
        tokenizer = retrained(holdout, point.vocab_size, **options)
        assert tokenizer.info.vocab_size == point.vocab_size
        tokens: dict[str, int] = {}
        sizes: dict[str, int] = {}
        for document in documents:
            tokens[document.group] = tokens.get(document.group, 0) + len(tokenizer.encode(document.text))
            sizes[document.group] = sizes.get(document.group, 0) + len(document.text.encode())
        assert point.tokens == sum(tokens.values())
        assert point.bytes_per_token == sum(sizes.values()) / sum(tokens.values())
        assert {group: figure.value for group, figure in point.groups.items()} == {
            group: sizes[group] / tokens[group] for group in sorted(sizes)
        }
    assert sweep.num_bytes == sum(len(document.text.encode()) for document in documents)
    assert sweep.documents == len(documents)


def test_base_vocabulary_is_a_valid_size(holdout: Holdout) -> None:
    sweep = sweep_sizes(holdout, [256, 300])
    assert sweep.points[0].tokens == sweep.num_bytes
    assert sweep.points[0].bytes_per_token == 1
    only = sweep_sizes(holdout, [256])
    assert only.recommended == 256
    assert only.reason == "it is the only size that was tried"
    assert only.knee is None


def test_sizes_are_deduplicated_and_sorted(holdout: Holdout) -> None:
    assert [point.vocab_size for point in sweep_sizes(holdout, [300, 280, 300]).points] == [280, 300]


@pytest.mark.parametrize(
    ("sizes", "options", "smallest"),
    [([100, 400], {}, 256), ([100], {}, 256), ([257, 400], {"special_tokens": ("<a>", "<b>")}, 258)],
)
def test_size_below_the_base_is_refused(
    holdout: Holdout, sizes: list[int], options: dict[str, Any], smallest: int
) -> None:
    with pytest.raises((ConfigError, TrainingError)) as error:
        sweep_sizes(holdout, sizes, options=options)
    assert str(smallest) in f"{error.value.message} {error.value.hint}"


def test_no_size_is_refused(holdout: Holdout) -> None:
    with pytest.raises(ConfigError, match="no size"):
        sweep_sizes(holdout, [])


def test_algorithm_with_a_fixed_size_is_refused(holdout: Holdout) -> None:
    with pytest.raises(ConfigError, match="byte has one size only"):
        sweep_sizes(holdout, [300], backend="byte")


def test_sizes_beyond_the_text_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("so few words\n" * 100)
    swept = sweep(open_corpus(tmp_path), sizes=[258, 1000, 2000])
    assert swept.points[0].vocab_size == 258
    assert len(swept.points) == 2
    assert swept.points[1].vocab_size < 300
    assert swept.missing == (1000, 2000)
    assert [point.is_filled for point in swept.points] == [True, False]
    assert swept.recommended == 258
    for sizes in ([1000], [500, 1000]):
        none = sweep(open_corpus(tmp_path), sizes=sizes)
        assert none.recommended is None
        reached = swept.points[1].vocab_size
        assert none.reason == f"the text is too short for any of these sizes: it yields {reached} tokens"


def test_other_algorithms_are_trained_for_each_size(holdout: Holdout) -> None:
    sweep = sweep_sizes(holdout, [1500, 1800], backend="wordpiece")
    assert sweep.trainings == 2
    for point in sweep.points:
        tokenizer = retrained(holdout, point.vocab_size, backend="wordpiece")
        assert point.tokens == sum(len(tokenizer.encode(document.text)) for document in holdout.held_out)


def test_only_byte_level_bpe_has_nested_merges(holdout: Holdout) -> None:
    assert nested_merges(retrained(holdout, 300, backend="char")) is None
    merges = nested_merges(retrained(holdout, 300, special_tokens=("<a>",)))
    assert merges is not None
    assert len(merges) == 300 - 256 - 1


# --- what the curve says ----------------------------------------------------------------------


def points_of(*values: tuple[int, float]) -> list[SweepPoint]:
    return [SweepPoint(size, 1, value, {}) for size, value in values]


def curve(*gains: float, first: int = 1000) -> list[SweepPoint]:
    """Return the points of doublings from a first size, each with its gain."""
    points, value = [(first, 1.0)], 1.0
    for number, gain in enumerate(gains, start=1):
        value *= 1 + gain
        points.append((first * 2**number, value))
    return points_of(*points)


GAINS = (0.25, 0.2, 0.12, 0.08, 0.045, 0.03, 0.015, 0.01)


def test_knee_does_not_depend_on_the_swept_range() -> None:
    """The fifth doubling, from 16,000 tokens, is the first to add less than 5 %, whatever range is swept."""
    points = curve(*GAINS)
    knees = {
        (first, last): knee_of(points[first:last])
        for first in range(len(points))
        for last in range(first + 1, len(points) + 1)
    }
    for (first, last), knee in knees.items():
        assert knee == (16000 if first < 4 < last - 1 else None), (first, last)


def test_recommended_size_does_not_depend_on_the_swept_range() -> None:
    points = curve(*GAINS)
    for first in range(6):
        for last in range(8, 10):
            assert recommend(points[first:last], model=Model()).vocab_size == 64000
    assert recommend(points[:5], model=Model()).vocab_size == 16000
    assert "a larger vocabulary may pay off, too" in recommend(points[:5], model=Model()).reason


def test_size_that_was_not_reached_is_neither_knee_nor_recommended() -> None:
    points = curve(0.3, 0.2)
    cut = SweepPoint(4100, 1, points[-1].bytes_per_token, {}, is_filled=False)
    assert knee_of([*points, cut]) is None
    recommendation = recommend([*points, cut], model=Model())
    assert recommendation.vocab_size == 4000
    assert "the text is too short for a larger size" in recommendation.reason


def test_lossy_size_is_not_recommended() -> None:
    lossy = [SweepPoint(size, 1, 2.0, {}, keeps_text=False) for size in (1000, 2000)]
    assert recommend(lossy, model=Model()).vocab_size is None
    kept = points_of((4000, 2.5), (8000, 2.51))
    assert recommend([*lossy, *kept], model=Model()).vocab_size == 4000
    assert recommend([*lossy, *kept[:1]], model=Model()).vocab_size == 4000


def test_recommended_size_is_the_smallest_whose_doubling_gains_little() -> None:
    recommendation = recommend(points_of((1000, 2.0), (2000, 2.5), (4000, 2.53), (8000, 3.0)), model=Model())
    assert recommendation.vocab_size == 2000
    assert (
        recommendation.reason
        == "from 2,000 to 4,000 tokens, bytes per token rise by 1.2 %, less than 2 % per doubling"
    )


def test_gain_is_counted_per_doubling() -> None:
    """The gain is counted per doubling: a step from 4,000 to 16,000 tokens counts as two of them."""
    assert recommend(points_of((4000, 2.0), (16000, 2.0 * 1.03**2)), model=Model()).vocab_size == 16000
    assert recommend(points_of((4000, 2.0), (16000, 2.0 * 1.019**2)), model=Model()).vocab_size == 4000
    recommendation = recommend(points_of((4096, 2.0), (65536, 2.0 * 1.1**4)), model=Model())
    assert recommendation.vocab_size == 65536
    assert "the last one 10.0 %" in recommendation.reason


def test_recommended_size_depends_on_the_model_width() -> None:
    """With 12 · 64² parameters and 64 per token, 1,000 more tokens cost more than 25 % longer tokens save."""
    points = curve(0.25, 0.2, 0.18, 0.17)
    small, large = (
        recommend(points, model=Model(dim=dim, layers=layers)) for dim, layers in ((64, 1), (4096, 32))
    )
    assert small.vocab_size == 1000
    more = (12 * 64**2 + 2000 * 64) / (12 * 64**2 + 1000 * 64) / 1.25 - 1
    assert f"compute per byte by {more * 100:.1f} % in 1 layer of width 64" in small.reason
    assert large.vocab_size == 16000
    assumed = recommend(points, model=Model(dim=64))
    assert assumed.vocab_size == 1000
    assert "assumed: --layers says otherwise" in assumed.reason


def test_figures_and_intervals_equal_those_of_a_comparison(corpus: Corpus, holdout: Holdout) -> None:
    sweep = sweep_sizes(holdout, [300, 700])
    compared = compare(corpus, backends=["bpe"], vocab_size=300, times=False)
    figures = compared.tokenizers[0].figures
    first, second = sweep.points
    for name in SWEPT:
        assert first.figures[name].value == figures[name].value
        assert first.figures[name].interval == figures[name].interval
        assert first.figures[name].difference is None
    assert first.bytes_per_token == figures["bytes_per_token"].value
    gain = second.figures["bytes_per_token"]
    assert gain.difference == pytest.approx((second.bytes_per_token or 0) / (first.bytes_per_token or 1) - 1)
    assert gain.difference_interval is not None
    low, high = gain.difference_interval
    assert 0 < low < (gain.difference or 0) < high
    by_group = compared.tokenizers[0].groups
    for group, figure in first.groups.items():
        assert (figure.value, figure.interval) == (
            by_group[group]["bytes_per_token"].value,
            by_group[group]["bytes_per_token"].interval,
        )
    assert sweep.group_interval_gaps == compared.group_interval_gaps
    assert {group for group, figure in first.groups.items() if figure.interval is None} == set(
        sweep.group_interval_gaps
    )
    assert {"en", "de", "ja"}.isdisjoint(sweep.group_interval_gaps)
    english = second.groups["en"]
    assert english.difference == pytest.approx((english.value or 0) / (first.groups["en"].value or 1) - 1)
    assert english.is_distinguishable
    assert first.keeps_text
    assert first.figures["unk_rate"].value == 0


def test_lossy_tokenizer_is_recommended_at_no_size(holdout: Holdout) -> None:
    sweep = sweep_sizes(holdout, [1500, 1800], backend="wordpiece")
    assert sweep.recommended is None
    lost = sweep.points[-1].figures["character_error_rate"].value or 0
    assert sweep.reason == f"every size loses text, at 1,800 tokens {lost * 100:.1f} % of the characters"
    assert not any(point.keeps_text for point in sweep.points)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1k:64k", (1000, 2000, 4000, 8000, 16000, 32000, 64000)),
        ("1k:5k", (1000, 2000, 4000, 5000)),
        ("300:300", (300,)),
        ("300", (300,)),
        ("500, 1_000,2K", (500, 1000, 2000)),
    ],
)
def test_sizes_are_parsed(text: str, sizes: tuple[int, ...]) -> None:
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize(
    "text", ["", "k", "1k:", ":4k", "0", "-5", "1.5", "1.0005k", "8k:1k", "1k,,2k", "٣", "1e9", "99999999"]
)
def test_malformed_sizes_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_sizes(text)


# --- for other programs -----------------------------------------------------------------------


def test_json_and_csv_have_every_point(holdout: Holdout) -> None:
    sweep = sweep_sizes(holdout, [300, 600], model=Model(dim=10))
    document = orjson.loads(orjson.dumps(sweep_document(sweep)))
    assert document["schema"] == "tokbench.sweep/1"
    assert [point["embedding_parameters"] for point in document["points"]] == [3000, 6000]
    rows = list(csv.DictReader(io.StringIO(sweep_forms(sweep)["csv"]().decode())))
    assert len(rows) == 2 * (1 + len(sweep.points[0].groups))
    all_text = [row for row in rows if not row["group"]]
    for point, row in zip(sweep.points, all_text, strict=True):
        assert float(row["bytes_per_token"]) == point.bytes_per_token
        interval = point.figures["bytes_per_token"].interval
        assert interval == (float(row["low"]), float(row["high"]))
        assert float(row["character_coverage"]) == point.figures["character_coverage"].value
        assert (row["unk_rate"], row["filled"], row["keeps_text"]) == ("0.0", "1", "1")
        assert float(row["embedding_bytes"]) == point.vocab_size * 10 * 2
    for row in rows:
        if row["group"] == "en":
            [point] = [one for one in document["points"] if one["vocab_size"] == int(row["vocab_size"])]
            english = point["groups"]["en"]
            assert float(row["bytes_per_token"]) == english["value"]
            assert [float(row["low"]), float(row["high"])] == english["interval"]
            assert row["gain"] == str(english["difference"] or "")
        assert len(row) == len(rows[0])
        assert None not in row.values()
    assert "c" in document["group_interval_gaps"]
    values = [point["bytes_per_token"] for point in document["points"]]
    assert all(one < other for one, other in pairwise(values))
