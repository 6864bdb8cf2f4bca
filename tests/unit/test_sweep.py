"""Compression against vocabulary size: the curve is that of retraining, and what it says follows from it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tokbench.corpus import Corpus, open_corpus
from tokbench.errors import ConfigError, TrainingError
from tokbench.evaluation.splitting import Split, split_corpus
from tokbench.evaluation.sweeping import SweepPoint, knee_of, nested_merges, recommend, sweep_sizes
from tokbench.interfaces import no_progress
from tokbench.judging import parse_sizes, sweep
from tokbench.registry import get_backend
from tokbench.render.sweep import sweep_csv, sweep_document
from tokbench.resources import corpora_directory

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.interfaces import Tokenizer

SIZES = [258, 300, 417, 700, 1100]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    folder = corpora_directory()
    return open_corpus(*(folder / "parallel" / f"{name}.txt" for name in ("en", "de", "ja")), folder / "code")


@pytest.fixture(scope="module")
def split(corpus: Corpus) -> Split:
    return split_corpus(corpus)


def retrained(split: Split, size: int, *, backend: str = "bpe", **options: Any) -> Tokenizer:
    found = get_backend(backend)
    return found.train(split.training, found.config_type(vocab_size=size, **options), progress=no_progress)


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
def test_one_training_is_a_training_for_each_size(split: Split, options: dict[str, Any]) -> None:
    found = sweep_sizes(split, SIZES, options=options)
    assert found.trainings == 1
    assert [point.vocab_size for point in found.points] == SIZES
    documents = list(split.held_out)
    for point in found.points:
        tokenizer = retrained(split, point.vocab_size, **options)
        assert tokenizer.info.vocab_size == point.vocab_size
        tokens: dict[str, int] = {}
        sizes: dict[str, int] = {}
        for document in documents:
            tokens[document.group] = tokens.get(document.group, 0) + len(tokenizer.encode(document.text))
            sizes[document.group] = sizes.get(document.group, 0) + len(document.text.encode())
        assert point.tokens == sum(tokens.values())
        assert point.bytes_per_token == sum(sizes.values()) / sum(tokens.values())
        assert point.groups == {group: sizes[group] / tokens[group] for group in sorted(sizes)}
    assert found.num_bytes == sum(len(document.text.encode()) for document in documents)
    assert found.documents == len(documents)


def test_the_base_vocabulary_is_a_size_too(split: Split) -> None:
    found = sweep_sizes(split, [256, 300])
    assert found.points[0].tokens == found.num_bytes
    assert found.points[0].bytes_per_token == 1
    only = sweep_sizes(split, [256])
    assert only.recommended == 256
    assert only.reason == "it is the only size that was tried"
    assert only.knee is None


def test_sizes_come_once_and_by_size(split: Split) -> None:
    assert [point.vocab_size for point in sweep_sizes(split, [300, 280, 300]).points] == [280, 300]


@pytest.mark.parametrize(
    ("sizes", "options", "smallest"),
    [([100, 400], {}, 256), ([100], {}, 256), ([257, 400], {"special_tokens": ("<a>", "<b>")}, 258)],
)
def test_a_size_below_the_base_is_an_error(
    split: Split, sizes: list[int], options: dict[str, Any], smallest: int
) -> None:
    with pytest.raises((ConfigError, TrainingError)) as error:
        sweep_sizes(split, sizes, options=options)
    assert str(smallest) in f"{error.value.message} {error.value.hint}"


def test_no_size_is_an_error(split: Split) -> None:
    with pytest.raises(ConfigError, match="no size"):
        sweep_sizes(split, [])


def test_an_algorithm_of_one_size_cannot_be_swept(split: Split) -> None:
    with pytest.raises(ConfigError, match="byte has one size only"):
        sweep_sizes(split, [300], backend="byte")


def test_what_the_text_cannot_fill_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("so few words\n" * 100)
    found = sweep(open_corpus(tmp_path), sizes=[258, 1000, 2000])
    assert found.points[0].vocab_size == 258
    assert len(found.points) == 2
    assert found.points[1].vocab_size < 300
    assert found.missing == (1000, 2000)


def test_other_algorithms_are_trained_for_each_size(split: Split) -> None:
    found = sweep_sizes(split, [1500, 1800], backend="wordpiece")
    assert found.trainings == 2
    for point in found.points:
        tokenizer = retrained(split, point.vocab_size, backend="wordpiece")
        assert point.tokens == sum(len(tokenizer.encode(document.text)) for document in split.held_out)


def test_only_byte_level_bpe_is_nested(split: Split) -> None:
    assert nested_merges(retrained(split, 300, backend="char")) is None
    merges = nested_merges(retrained(split, 300, special_tokens=("<a>",)))
    assert merges is not None
    assert len(merges) == 300 - 256 - 1


# --- what the curve says ----------------------------------------------------------------------


def points_of(*values: tuple[int, float]) -> list[SweepPoint]:
    return [SweepPoint(size, 1, value, {}) for size, value in values]


def test_the_knee_is_farthest_above_the_line() -> None:
    """Over log2 of the size: by 0, 0.4, 0.35 and 0."""
    assert knee_of(points_of((1000, 1.0), (2000, 1.75), (4000, 2.0), (8000, 2.05))) == 2000
    assert knee_of(points_of((1000, 1.0), (2000, 2.0))) is None
    assert knee_of(points_of((1000, 2.0), (2000, 2.0), (4000, 2.0))) is None


def test_the_smallest_size_is_recommended_whose_doubling_no_longer_pays() -> None:
    assert recommend(points_of((1000, 2.0), (2000, 2.5), (4000, 2.53), (8000, 3.0))) == (
        2000,
        "from 2,000 to 4,000 entries a token holds only 1.2 % more bytes",
    )


def test_steps_that_are_no_doublings_count_as_what_they_are() -> None:
    """Twice 3 % for 4,000 times four, and half a doubling that adds 1.5 %."""
    assert recommend(points_of((4000, 2.0), (16000, 2.0 * 1.03**2)))[0] == 16000
    assert recommend(points_of((4000, 2.0), (16000, 2.0 * 1.019**2)))[0] == 4000
    size, reason = recommend(points_of((4096, 2.0), (65536, 2.0 * 1.1**4)))
    assert size == 65536
    assert "at the end 10.0 %" in reason


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
def test_sizes_as_they_are_written(text: str, sizes: tuple[int, ...]) -> None:
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize(
    "text", ["", "k", "1k:", ":4k", "0", "-5", "1.5", "1.0005k", "8k:1k", "1k,,2k", "٣", "1e9", "99999999"]
)
def test_anything_else_is_no_size(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_sizes(text)


# --- for other programs -----------------------------------------------------------------------


def test_json_and_csv_hold_every_point(split: Split) -> None:
    found = sweep_sizes(split, [300, 600])
    document = orjson.loads(orjson.dumps(sweep_document(found, model_dim=10)))
    assert document["schema"] == "tokbench.sweep/1"
    assert [point["embedding_parameters"] for point in document["points"]] == [3000, 6000]
    lines = sweep_csv(found).decode().splitlines()
    assert lines[0] == "vocab_size,group,bytes_per_token"
    assert len(lines) == 1 + 2 * (1 + len(found.points[0].groups))
    for point in found.points:
        assert f"{point.vocab_size},,{point.bytes_per_token}" in lines
    values = [point["bytes_per_token"] for point in document["points"]]
    assert all(one < other for one, other in pairwise(values))
