"""Tests for every metric of the catalogue, by an example computed by hand and by its formula written out."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from support.toys import Toy, documents_of

from tokbench.errors import ConfigError
from tokbench.evaluation import costs
from tokbench.evaluation.costs import Model
from tokbench.evaluation.counting_pass import evaluate
from tokbench.evaluation.fairness import gini, premiums
from tokbench.metrics.catalogue import METRICS, metric_named, metrics_named
from tokbench.metrics.metric import (
    COUNTS,
    FIDELITY,
    NUM_COUNTS,
    TOKEN_COUNTS,
    Tally,
    average_rank,
    frequency_deciles,
    length_histogram,
    pooled,
    position_of,
    ratio,
    renyi_efficiency,
    shannon_efficiency,
    utilization,
)
from tokbench.metrics.robustness import edit_distance, rewritings, with_typos
from tokbench.metrics.vocabulary import vocabulary_from, vocabulary_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class Example(NamedTuple):
    """Texts, a tokenizer, and the metric's value for them."""

    tokenizer: Toy
    texts: tuple[str, ...]
    value: float


WORDS = Toy("low", " low", "er")  # "low lower" is low|" low"|er
LATIN = Toy("a", "b")  # é is unknown
FALLBACK = Toy("a", "b", otherwise="bytes")  # é is the bytes C3 A9
BYTES = Toy("a", "é", b"\xc3", b"\xa0")  # à is two tokens
FOUR = Toy("a", "b", "c")  # four entries including <unk>
IDENTIFIER = Toy("get", "Us", "e", "rName")  # "getUserName" is cut at 3, 5 and 6; its parts meet at 3 and 7

EXAMPLES = {
    "bytes_per_token": Example(Toy("hé", "llo"), ("héllo",), 6 / 2),
    "chars_per_token": Example(Toy("hé", "llo"), ("héllo",), 5 / 2),
    "tokens_per_word": Example(WORDS, ("low lower",), 3 / 2),
    "tokens_per_line": Example(Toy("a", "\n"), ("a\na\na",), 5 / 3),
    "split_word_rate": Example(WORDS, ("low lower",), 1 / 2),
    "single_token_word_types": Example(WORDS, ("low lower low low",), 1 / 2),
    # Of a, b, é, 1 and à only à is cut; the unknown comma and line feed are neither letters nor digits.
    "character_coverage": Example(Toy("ab", "é1", b"\xc3", b"\xa0"), ("ab,é1à\n",), 4 / 5),
    "vocab_coverage": Example(FALLBACK, ("abé",), 2 / 4),
    "unk_rate": Example(LATIN, ("aéb",), 1 / 3),
    "byte_fallback_rate": Example(FALLBACK, ("aéb",), 2 / 4),
    "byte_token_rate": Example(BYTES, ("aéà",), 2 / 4),
    "vocab_utilization": Example(FOUR, ("ab",), 2 / 4),
    "reachable_utilization": Example(FOUR, ("ab",), 2 / 3),
    "shannon_efficiency": Example(FOUR, ("aabc",), 1.5 / 2),
    "renyi_efficiency": Example(
        FOUR, ("aabc",), math.log2(0.5**2.5 + 0.25**2.5 + 0.25**2.5) / (1 - 2.5) / math.log2(4)
    ),
    "average_rank": Example(FOUR, ("abaa",), (3 * 1 + 1 * 2) / 4),
    "character_error_rate": Example(LATIN, ("ab", "aéxb"), 2 / 6),
    "roundtrip_rate": Example(LATIN, ("ab", "aé", "a", "b"), 3 / 4),
    "id_stability": Example(Toy("a", "<"), ("a", "aé"), 1 / 2),  # é decodes to "<unk>"
    "whitespace_fidelity": Example(Toy("a", " ", otherwise="nothing"), ("a a", "a\ta"), 1 / 2),
    "indentation_fidelity": Example(Toy("a", "\n", "  ", otherwise="nothing"), ("a\n  a\n a",), 1 / 2),
    "incomplete_utf8_token_rate": Example(BYTES, ("aéà",), 2 / 4),
    "split_char_rate": Example(BYTES, ("aéà",), 1 / 2),
    "digit_boundary_f1": Example(Toy("1", "23", "4567"), ("1234567",), 2 * 1 / (2 + 2)),  # {1, 3}, not {1, 4}
    "whole_number_rate": Example(Toy("7", "4", "2", " "), ("7 42",), 1 / 2),
    "tokens_per_number": Example(Toy("7", "4", "2", " "), ("7 42",), 3 / 2),
    "identifier_precision": Example(IDENTIFIER, ("getUserName",), 1 / 3),
    "identifier_recall": Example(IDENTIFIER, ("getUserName",), 1 / 2),
    "identifier_alignment": Example(IDENTIFIER, ("getUserName",), 2 * 1 / (3 + 2)),
    "operator_isolation": Example(Toy("a", "b", "c", " ", "==", "-", ">"), ("a == b -> c",), 1 / 2),
    "indentation_tokens_per_line": Example(Toy("a", "\n", "  "), ("    a\n  a",), 3 / 2),
}


def test_every_metric_has_an_example() -> None:
    assert set(EXAMPLES) == set(METRICS)


@pytest.mark.parametrize("name", METRICS)
def test_metric_equals_its_worked_example(name: str) -> None:
    tokenizer, texts, expected = EXAMPLES[name]
    evaluation = evaluate(tokenizer, documents_of(*texts, is_code=True))
    metric = METRICS[name]
    assert metric.value(evaluation.total, evaluation.vocabulary) == pytest.approx(expected, rel=1e-12)
    assert not metric.share or 0 <= expected <= 1


@pytest.mark.parametrize("name", METRICS)
def test_metric_without_a_denominator_is_none(name: str) -> None:
    nothing = Tally(
        np.zeros(NUM_COUNTS, np.int64), np.zeros(3, np.int64), (0, 0), np.zeros((17, 2), np.int64)
    )
    of_the_vocabulary = {"vocab_utilization", "reachable_utilization"}
    value = METRICS[name].value(nothing, vocabulary_from([b"a", b"b", None]))
    assert value == 0 if name in of_the_vocabulary else value is None


def test_metric_without_kept_frequencies_is_none() -> None:
    sums = np.ones(NUM_COUNTS, np.int64)
    tally = Tally(sums, None, (1, 1), np.zeros((17, 2), np.int64))
    none = {name for name, metric in METRICS.items() if metric.value(tally, vocabulary_from([b"a"])) is None}
    assert none == {
        *("vocab_utilization", "reachable_utilization", "shannon_efficiency", "renyi_efficiency"),
        "average_rank",
    }


def test_counts_of_every_ratio_exist() -> None:
    known = {*COUNTS, *FIDELITY, *TOKEN_COUNTS, "documents", "empty_documents"}
    for metric in METRICS.values():
        assert {*metric.numerator, *metric.denominator} <= known
        assert (metric.compute is None) == bool(metric.numerator)


def test_unknown_metric_suggests_the_nearest_name() -> None:
    with pytest.raises(ConfigError) as error:
        metric_named("byte_per_tokens")
    assert error.value.hint is not None
    assert error.value.hint.startswith("did you mean bytes_per_token")
    with pytest.raises(ConfigError) as error:
        metric_named("§")
    assert all(name in str(error.value.hint) for name in METRICS)


def test_named_metrics_keep_their_order_without_duplicates() -> None:
    names = [metric.name for metric in metrics_named(["unk_rate", "bytes_per_token", "unk_rate"])]
    assert names == ["unk_rate", "bytes_per_token"]


# --- distributions, against their formulas ----------------------------------------------------


def random_frequencies(seed: int) -> list[int]:
    generator = random.Random(seed)
    return [generator.choice([0, 0, 1, 2, 50, 3000]) for _ in range(generator.randint(2, 60))] + [1]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("alpha", [0.5, 2, 2.5, 7])
def test_renyi_efficiency_equals_its_formula(seed: int, alpha: float) -> None:
    counts = random_frequencies(seed)
    shares = [count / sum(counts) for count in counts]
    entropy = math.log2(sum(share**alpha for share in shares)) / (1 - alpha)
    value = renyi_efficiency(np.array(counts), alpha=alpha)
    assert value == pytest.approx(entropy / math.log2(len(counts)), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_shannon_efficiency_equals_its_formula_and_the_limit_of_renyi(seed: int) -> None:
    counts = random_frequencies(seed)
    shares = [count / sum(counts) for count in counts if count]
    entropy = -sum(share * math.log2(share) for share in shares)
    value = shannon_efficiency(np.array(counts))
    assert value == pytest.approx(entropy / math.log2(len(counts)), rel=1e-12)
    assert value == pytest.approx(renyi_efficiency(np.array(counts), alpha=1 + 1e-7), abs=1e-5)


def test_entropy_of_one_type_is_positive_zero() -> None:
    for value in (shannon_efficiency(np.array([0, 9])), renyi_efficiency(np.array([0, 9]))):
        assert value == 0
        assert value is not None
        assert math.copysign(1, value) == 1


def test_high_renyi_orders_do_not_underflow() -> None:
    assert renyi_efficiency(np.full(1000, 3), alpha=500) == pytest.approx(1)


def test_efficiency_requires_two_entries_and_a_token() -> None:
    assert renyi_efficiency(np.array([5])) is None
    assert renyi_efficiency(np.array([0, 0])) is None


def test_distribution_metrics_of_an_example_worked_by_hand() -> None:
    frequencies = np.array([4, 0, 1, 1])
    assert utilization(frequencies) == 3 / 4
    assert utilization(frequencies, among=np.zeros(4, np.bool_)) is None
    assert average_rank(frequencies) == (4 * 1 + 1 * 2 + 1 * 3) / 6
    assert average_rank(np.zeros(4, np.int64)) is None
    assert frequency_deciles(frequencies) == (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4)
    assert frequency_deciles(np.zeros(4, np.int64)) is None
    assert length_histogram(frequencies, np.array([1, 2, 16, 40]))[16] == 2


# --- fairness, against its definition ---------------------------------------------------------


def gini_by_definition(values: Sequence[float]) -> float:
    """Return the mean absolute difference between two values, divided by twice the mean."""
    n, mean = len(values), sum(values) / len(values)
    return sum(abs(value - other) for value in values for other in values) / (2 * n * n * mean)


@pytest.mark.parametrize("seed", range(8))
def test_gini_equals_its_formula(seed: int) -> None:
    generator = random.Random(seed)
    values = [generator.choice([0, generator.random() * 9]) for _ in range(generator.randint(1, 30))] + [1]
    assert gini(values) == pytest.approx(gini_by_definition(values), rel=1e-12, abs=1e-15)


def test_gini_by_hand() -> None:
    assert gini([1, 3]) == (2 + 2) / (2 * 4 * 2)
    assert gini([0, 0]) is None
    assert gini([]) is None


def test_premiums_are_ratios_of_sums() -> None:
    assert premiums({"en": 4, "ta": 10}, reference="en") == {"en": 1.0, "ta": 2.5}
    assert premiums({"en": 0, "ta": 10}, reference="en") == {"en": None, "ta": None}


# --- tallies and vocabularies -----------------------------------------------------------------


def test_ratio_without_a_denominator_is_none() -> None:
    assert ratio(0, 3) == 0
    assert ratio(3, 0) is None


def test_tallies_are_read_by_name_and_added() -> None:
    def tally(tokens: int, frequencies: Sequence[int] | None) -> Tally:
        sums = np.zeros(NUM_COUNTS, np.int64)
        sums[position_of("tokens")] = tokens
        kept = None if frequencies is None else np.array(frequencies)
        return Tally(sums, kept, (tokens, 1), np.full((17, 2), tokens))

    both = pooled([tally(3, [1, 2]), tally(4, [4, 0])])
    assert both["tokens"] == both.as_counts()["tokens"] == 7
    assert both.frequencies is not None
    assert both.frequencies.tolist() == [5, 2]
    assert both.words == (7, 2)
    assert both.numbers.tolist() == [[7, 7]] * 17
    assert pooled([tally(3, [1, 2]), tally(4, None)]).frequencies is None
    with pytest.raises(ValueError, match="no tally"):
        pooled([])


def test_vocabulary_has_properties_of_its_entries() -> None:
    vocabulary = vocabulary_from([b"a", b"\xc3", b"\xc3\xa9", b"\xa9a", None, b"<s>"], special_ids=[5, 99])
    assert vocabulary.lengths.tolist() == [1, 1, 2, 2, 0, 3]
    assert vocabulary.special.tolist() == [False, False, False, False, True, True]
    assert vocabulary.incomplete.tolist() == [False, True, False, True, False, False]
    assert vocabulary.lone_bytes.tolist() == [False, True, False, False, False, False]


def test_vocabulary_is_read_from_a_tokenizer() -> None:
    vocabulary = vocabulary_of(Toy("ab", "é"))
    assert vocabulary.pieces == (b"<unk>", b"ab", "é".encode())
    assert vocabulary.special.tolist() == [True, False, False]


# --- costs and rewritings ---------------------------------------------------------------------


def test_costs_by_hand() -> None:
    model = Model(dim=10, layers=3, kv_heads=2, head_dim=5, context=100, bytes_per_parameter=4, price=2)
    assert costs.embedding_bytes(7, model, tied=True) == 7 * 10 * 4
    assert costs.embedding_bytes(7, model, tied=False) == 7 * 10 * 4 * 2
    assert costs.kv_cache_bytes(9, model) == 2 * 3 * 2 * 5 * 9 * 4
    text = costs.text_cost(30, 10, model)
    assert text.context_chars == 300
    assert text.kv_cache_bytes_per_thousand_chars == pytest.approx(2 * 3 * 2 * 5 * 4 * 1000 / 3)
    assert text.price_per_million_chars == pytest.approx(2 / 3)
    assert text.attention_flops_per_thousand_chars == pytest.approx(4 * 3 * 10 * (1000 / 3) ** 2)


def test_flops_per_byte_by_hand() -> None:
    """12 · 3 · 10² layer parameters, 7 · 10 output parameters, 4 · 3 · 10 · 100 for attention, 2 bytes per token."""
    model = Model(dim=10, layers=3, context=100)
    assert costs.flops_per_byte(7, 2.0, model) == (2 * (12 * 3 * 100 + 70) + 12000) / 2
    assert costs.flops_per_byte(7, 2.0, Model(dim=10, layers=3)) == (2 * (12 * 3 * 100 + 70)) / 2
    assert costs.flops_per_byte(7, 2.0, Model(dim=640)) == costs.flops_per_byte(
        7, 2.0, Model(dim=640, layers=10)
    )
    assert costs.flops_per_byte(7, 2.0, Model(layers=3)) is None
    assert costs.flops_per_byte(7, 0.0, model) is None


def test_unknown_model_properties_give_no_costs() -> None:
    unknown = Model()
    assert costs.embedding_bytes(7, unknown, tied=True) is None
    assert costs.kv_cache_bytes(9, unknown) is None
    assert costs.text_cost(30, 10, unknown) == costs.TextCost(None, None, None, None)
    assert costs.text_cost(0, 0, Model(context=9, price=2)) == costs.TextCost(None, None, None, None)


def test_rewritings_by_hand() -> None:
    expected = {
        "upper case": "CAFÉ 1",
        "NFD for NFC": "cafe\u0301 1",
        "space before": " café 1",
        "space after": "café 1 ",
        "full-width": "\uff43\uff41\uff46é\u3000\uff11",
        "homoglyphs": "\u0441\u0430fé 1",
    }
    rewritten = {name: rewrite("café 1") for name, rewrite in rewritings().items() if name != "typos"}
    assert rewritten == expected


def test_typos_permute_letters_and_depend_on_the_seed() -> None:
    text = "the quick brown foxes were jumping over lazy sleeping dogs again and again " * 20
    once, again, other = (with_typos(text, seed=seed) for seed in (1, 1, 2))
    assert once == again != other
    assert [sorted(word) for word in once.split()] == [sorted(word) for word in text.split()]
    changed = sum(one != two for one, two in zip(once.split(), text.split(), strict=True))
    assert 0 < changed < len(text.split()) / 4


def test_edit_distances_by_hand() -> None:
    assert edit_distance([], []) == 0
    assert edit_distance([1, 2], []) == edit_distance([], [1, 2]) == 2
    assert edit_distance([1, 2, 3], [1, 9, 3]) == 1
    assert edit_distance([2**32 - 1, 5], [5]) == 1
