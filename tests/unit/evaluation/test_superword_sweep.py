"""Compression by the size at which superwords begin: worked out by hand, and compared with separate trainings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tokbench.core.progress import no_progress
from tokbench.corpus import open_corpus
from tokbench.errors import ConfigError
from tokbench.evaluation.holdout import Holdout, hold_out
from tokbench.evaluation.superword_sweep import superword_sweep_document, sweep_superwords
from tokbench.evaluation.sweep import sweep_sizes
from tokbench.files.bundled import corpora_directory
from tokbench.registry import get_backend
from tokbench.render.charts.sweep import sweep_chart
from tokbench.render.sweep import curve_through

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer


@pytest.fixture(scope="module")
def holdout() -> Holdout:
    folder = corpora_directory() / "parallel"
    return hold_out(open_corpus(folder / "en.txt", folder / "de.txt"))


def tokens_of(tokenizer: Tokenizer, holdout: Holdout) -> int:
    return sum(len(tokenizer.encode(document.text)) for document in holdout.held_out)


def test_phrase_becomes_one_token_as_worked_by_hand(tmp_path: Path) -> None:
    # Each text is "ab ab " and two digits of its own, too rare to be learned. Plain: ab, then " ab", and no word has
    # a pair left; ab, " ab", a space and two digits are five tokens for eight bytes. Across spaces after the first
    # merge: "ab " (twice per text), then "ab ab "; with two digits, three tokens.
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(f'{{"text": "ab ab {number}"}}\n' for number in range(10, 50)))
    sweep = sweep_superwords(
        hold_out(open_corpus(path)), [257], vocab_size=259, options={"min_frequency": 30}
    )
    assert list(sweep.points) == [257, 259]
    assert [point.bytes_per_token for point in sweep.points.values()] == [pytest.approx(8 / 3), 1.6]
    assert [point.is_filled for point in sweep.points.values()] == [True, False]
    across, plain = (point.figures["bytes_per_token"] for point in sweep.points.values())
    assert across.difference == pytest.approx(8 / 3 / 1.6 - 1)
    assert plain.difference is None


@pytest.mark.parametrize(
    "options", [{}, {"special_tokens": ("<a>",), "pattern": "gpt2"}], ids=["plain", "options"]
)
def test_each_point_equals_a_separate_training(holdout: Holdout, options: dict[str, Any]) -> None:
    sweep = sweep_superwords(holdout, [600, 300, 600], vocab_size=700, options=options)
    assert list(sweep.points) == [300, 600, 700]
    backend = get_backend("bpe")
    [plain] = sweep_sizes(holdout, [700], options=options).points
    last = sweep.points[700]
    assert last.tokens == plain.tokens
    assert last.figures == plain.figures
    for superwords in (300, 600):
        config = backend.config_type(vocab_size=700, superwords=superwords, **options)
        tokenizer = backend.train(holdout.training, config, progress=no_progress)
        point = sweep.points[superwords]
        assert point.tokens == tokens_of(tokenizer, holdout)
        assert point.figures["bytes_per_token"].difference == pytest.approx(last.tokens / point.tokens - 1)


def test_every_output_format_has_every_point(holdout: Holdout) -> None:
    sweep = sweep_superwords(holdout, [300], vocab_size=400)
    document = orjson.loads(orjson.dumps(superword_sweep_document(sweep)))
    assert document["schema"] == "tokbench.superword-sweep/1"
    assert document["vocab_size"] == 400
    values = {point["superwords"]: point["bytes_per_token"] for point in document["points"]}
    assert values == {size: point.bytes_per_token for size, point in sweep.points.items()}
    curve = curve_through(sweep.points)
    assert {size: value for size, value, group in curve if group == "all text"} == values
    assert {group for _, _, group in curve} == {"all text", "de", "en"}
    chart = sweep_chart(curve, None, title="Where", axis="after")
    assert chart["title"]["text"] == "Where"


@pytest.mark.parametrize(
    ("beginnings", "options", "words"),
    [
        ([255], {}, "superwords is 255"),
        ([401], {}, "superwords is 401"),
        ([300], {"backend": "unigram"}, "unigram learns no superwords"),
    ],
)
def test_invalid_superword_sizes_are_refused_before_training(
    holdout: Holdout, beginnings: list[int], options: dict[str, Any], words: str
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("training has begun")

    with pytest.raises(ConfigError, match=words):
        sweep_superwords(holdout, beginnings, vocab_size=400, progress=refuse, **options)
