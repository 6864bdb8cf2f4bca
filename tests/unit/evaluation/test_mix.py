"""A mix of groups: its cost, how certain that is, and which tokenizer is the cheapest for it."""

from __future__ import annotations

import csv
import io
import random
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.comparisons import compare
from support.toys import Toy, documents_of, parallel_documents

from tokbench.errors import ConfigError
from tokbench.evaluation.comparison_json import comparison_document
from tokbench.evaluation.costs import Model
from tokbench.evaluation.counting_pass import evaluate
from tokbench.evaluation.figures import AGGREGATIONS, Aggregate
from tokbench.evaluation.mix import Mix, Part, mix_among, mixed, parse_mix
from tokbench.evaluation.units import AlignedLines, Alignment
from tokbench.metrics.bootstrap import FEWEST_UNITS, resamples
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.metric import DOCUMENT_COUNTS
from tokbench.render.comparison import comparison_forms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.corpus import Document
    from tokbench.evaluation.comparison import Comparison

LETTERS = Toy("a", "b", " ", name="letters")
PAIRS = Toy("a", "b", " ", "ab", name="pairs")
DROPPING = Toy("a", "ab", "ba", "aa", otherwise="nothing", name="dropping")
HALF = Mix((Part("x", 0.75, frozenset("x")), Part("y", 0.25, frozenset("y"))))


def drawn(group: str, weights: Sequence[float], *, number: int = 30, seed: int = 1) -> list[Document]:
    generator = random.Random(seed)
    return documents_of(
        *("".join(generator.choices(["a", "b", "ab"], weights, k=20)) for _ in range(number)), group=group
    )


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [*drawn("x", [1, 1, 2]), *drawn("y", [4, 4, 1], seed=2), *drawn("z", [0, 0, 1], seed=3)]


def compared(
    documents: Sequence[Document], *tokenizers: Toy, mix: Mix = HALF, **options: object
) -> Comparison:
    return compare(*tokenizers, documents=documents, mix=mix, **options)


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("en=0.6,de=0.3,code=0.1", {"en": 0.6, "de": 0.3, "code": 0.1}),
        ("en=3, de=1", {"en": 0.75, "de": 0.25}),
        ("a=b=2", {"a=b": 1.0}),
    ],
)
def test_weights_are_normalized_to_one(text: str, shares: dict[str, float]) -> None:
    assert parse_mix(text) == pytest.approx(shares)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "en",
        "en=",
        "=1",
        "en=0",
        "en=-1",
        "en=nan",
        "en=inf",
        "en=1,,de=2",
        "en=1,en=2",
        "a=1e308,b=1e308",
    ],
)
def test_malformed_mix_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--mix"):
        parse_mix(text)


def test_unknown_group_is_refused_with_the_known_ones() -> None:
    folders = {"code": frozenset({"c", "python"})}
    assert mix_among({"en": 0.5, "code": 0.5}, ["en", "c", "python"], folders).parts[1].groups == {
        "c",
        "python",
    }
    with pytest.raises(ConfigError) as error:
        mix_among({"fr": 1.0}, ["en", "c", "python"], folders)
    assert error.value.message == "--mix names 'fr', and there is no such group"
    assert error.value.hint == "there are c, en, python; code for all in that folder"
    with pytest.raises(ConfigError, match="'c' twice"):
        mix_among({"c": 0.5, "code": 0.5}, ["en", "c", "python"], folders)
    only = mix_among({"code": 1.0}, ["en", "code"], folders)
    assert only.parts[0].groups == {"code"}, "a group of the name is meant first"


def test_mixed_cost_is_the_weighted_sum_of_tokens_per_byte(documents: list[Document]) -> None:
    comparison = compared(documents, LETTERS, PAIRS)
    for one in comparison.tokenizers:
        assert one.mixed is not None
        groups = one.evaluation.groups
        expected = (
            0.75 * groups["x"]["tokens"] / groups["x"]["bytes"]
            + 0.25 * groups["y"]["tokens"] / groups["y"]["bytes"]
        )
        figure = one.mixed.tokens_per_byte
        assert figure.value == pytest.approx(expected)
    letters, pairs = (tokenizer.mixed for tokenizer in comparison.tokenizers)
    assert letters is not None
    assert pairs is not None
    assert letters.tokens_per_byte.value == 1
    assert pairs.tokens_per_byte.difference == pytest.approx((pairs.tokens_per_byte.value or 0) - 1)
    assert letters.tokens_per_byte.interval == (1, 1)


def test_each_part_is_resampled_independently(documents: list[Document]) -> None:
    """The resamples are compared with adding up those of each group, which have different seeds."""
    evaluation = evaluate(PAIRS, documents, threads=1)
    _, resampled = mixed(HALF, evaluation, None, seed=7)
    assert resampled is not None
    expected = np.zeros(1000)
    for number, (group, share) in enumerate((("x", 0.75), ("y", 0.25))):
        units = evaluation.group_units[group]
        drawn = resamples(units, seed=7 + number)
        assert drawn is not None
        tokens, num_bytes = (units.counts[:, DOCUMENT_COUNTS.index(name)] for name in ("tokens", "bytes"))
        expected += share * (drawn.weights @ tokens) / (drawn.weights @ num_bytes)
    assert resampled.values == pytest.approx(expected)
    assert resampled.num_units == 30


@pytest.mark.parametrize("few", ["x", "y"])
def test_interval_width_follows_the_part_with_the_fewest_units(few: str) -> None:
    numbers = {"x": 30, "y": 30, few: 6}
    documents = [*drawn("x", [1, 1, 2], number=numbers["x"]), *drawn("y", [4, 4, 1], number=numbers["y"])]
    _, resamples = mixed(HALF, evaluate(PAIRS, documents, threads=1), None, seed=0)
    assert resamples is not None
    assert resamples.num_units == 6


def test_aligned_languages_are_resampled_together() -> None:
    """The mix of two languages with equal lines varies as much as each, not less by the square root of two."""
    generator = random.Random(3)
    lines = ["".join(generator.choices(["ab", "a", "b"], k=12)) for _ in range(40)]
    documents = parallel_documents(de=lines, en=lines)
    alignment = Alignment(("de", "en"), 40)
    evaluation = evaluate(PAIRS, documents, threads=1)
    by_line = evaluate(PAIRS, AlignedLines(documents, alignment), threads=1)
    both, one = (
        mixed(
            Mix(tuple(Part(name, 1 / len(names), frozenset([name])) for name in names)),
            evaluation,
            by_line,
            seed=0,
        )[1]
        for names in (["de", "en"], ["de"])
    )
    assert both is not None
    assert one is not None
    assert both.values.std() == pytest.approx(one.values.std())


def test_cheapest_tokenizer_is_named_only_if_significant(documents: list[Document]) -> None:
    comparison = compared(documents, LETTERS, PAIRS, DROPPING, model=Model(price=2.0))
    [sentence] = comparison.mix_summary
    assert sentence.startswith("for x 75 %, y 25 %: of the lossless tokenizers, pairs is the cheapest: ")
    assert "for a million bytes" in sentence
    assert sentence.endswith("less than letters, the second best")
    value = comparison.tokenizers[1].mixed
    assert value is not None
    assert f"{(value.tokens_per_byte.value or 0) * 2:.4g} for a million bytes" in sentence
    tie = compared(documents, *(Toy("a", "b", " ", letter * 2, name=letter) for letter in "ab"))
    assert re.search("no significant difference to [ab] on this text$", tie.mix_summary[0])
    same, best = compared(documents, PAIRS, PAIRS), compared(documents, PAIRS, LETTERS, PAIRS)
    assert same.mix_summary[0].startswith("for x 75 %, y 25 %: pairs and pairs#2 cost the same: ")
    assert best.mix_summary[0].startswith("for x 75 %, y 25 %: pairs and pairs#2 are the cheapest: ")
    assert best.mix_summary[0].endswith("less than letters, the second best")


def test_too_few_units_are_reported_instead_of_an_interval(documents: list[Document]) -> None:
    few = [*drawn("x", [1, 1, 2], number=FEWEST_UNITS - 1), *drawn("y", [4, 4, 1])]
    comparison = compared(few, LETTERS, PAIRS)
    assert all(
        tokenizer.mixed is not None and tokenizer.mixed.tokens_per_byte.interval is None
        for tokenizer in comparison.tokenizers
    )
    assert "no interval: a part was drawn in fewer than 5 units" in comparison.mix_summary[0]
    enough = compared([*drawn("x", [1, 1, 2], number=FEWEST_UNITS), *drawn("y", [4, 4, 1])], LETTERS, PAIRS)
    assert enough.tokenizers[1].mixed is not None
    assert enough.tokenizers[1].mixed.tokens_per_byte.interval is not None


def test_part_without_text_gives_no_cost(documents: list[Document]) -> None:
    mix = Mix((Part("x", 0.5, frozenset("x")), Part("w", 0.5, frozenset("w"))))
    comparison = compared(documents, LETTERS, PAIRS, mix=mix)
    assert all(
        tokenizer.mixed is not None and tokenizer.mixed.tokens_per_byte.value is None
        for tokenizer in comparison.tokenizers
    )
    assert comparison.mix_summary == ("for x 50 %, w 50 % there is no cost: a part of it has no text",)


def test_every_output_format_has_the_mix(documents: list[Document]) -> None:
    comparison = compared(documents, LETTERS, PAIRS, model=Model(price=3.0, dim=16, layers=1, context=100))
    chosen = [METRICS["bytes_per_token"]]
    mixed_figure = comparison.tokenizers[1].mixed
    assert mixed_figure is not None
    value = mixed_figure.tokens_per_byte.value or 0
    document = comparison_document(comparison)
    assert document["tokenizers"][1]["mix"]["value"] == value
    assert document["mix"]["shares"] == {"x": 0.75, "y": 0.25}
    assert document["mix"]["summary"] == list(comparison.mix_summary)
    forms = comparison_forms(comparison, metrics=chosen)
    for form in (forms["markdown"], forms["latex"]):
        text = form().decode().replace("\\ldots{}", "…").replace("\\", "")
        for part in (
            f"{value:.4f}",
            f"{value * 3:,.4g}",
            comparison.mix_summary[0],
            "MFLOP/byte",
            "price/M chars",
        ):
            assert part in text
    rows = list(csv.DictReader(io.StringIO(forms["csv"]().decode())))
    by_metric = {
        (row["tokenizer"], row["metric"]): row for row in rows if row["group"] not in ("x", "y", "z")
    }
    assert float(by_metric["pairs", "tokens_per_byte"]["value"]) == value
    assert float(by_metric["pairs", "relative_tokens"]["value"]) == comparison.tokenizers[1].relative_tokens
    assert float(by_metric["pairs", "embedding_bytes"]["value"]) == 5 * 16 * 2


# --- tokens compared with the baseline --------------------------------------------------------


def test_relative_tokens_have_the_interval_of_the_ratio(documents: list[Document]) -> None:
    comparison = compared(documents, LETTERS, PAIRS)
    one = comparison.tokenizers[1]
    tokens = [tokenizer.evaluation.total["tokens"] for tokenizer in comparison.tokenizers]
    assert one.relative.value == one.relative_tokens == tokens[1] / tokens[0]
    assert one.relative.difference == pytest.approx(tokens[1] / tokens[0] - 1)
    assert one.relative.interval is not None
    low, high = one.relative.interval
    assert low < tokens[1] / tokens[0] < high < 1
    assert one.relative.is_distinguishable
    bytes_per_token = one.figures["bytes_per_token"].difference_interval
    assert bytes_per_token is not None
    assert (1 / high - 1, 1 / low - 1) == pytest.approx(tuple(bytes_per_token), rel=0.05)
    assert (
        not compared(documents, PAIRS, Toy("a", "b", " ", "ab", name="same"))
        .tokenizers[1]
        .relative.is_distinguishable
    )


def test_relative_tokens_do_not_depend_on_the_aggregation(documents: list[Document]) -> None:
    letters, pairs = (evaluate(toy, documents, threads=1) for toy in (LETTERS, PAIRS))
    premiums = [
        Aggregate(pairs, aggregation=how).relative_tokens(Aggregate(letters, aggregation=how))
        for how in AGGREGATIONS
    ]
    assert premiums[0] is not None
    assert all(premium is not None and premium.interval == premiums[0].interval for premium in premiums)
