"""Bounds that tokenizers are held to: how they are written, when they are kept, what is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import orjson
import pytest
from support.toys import Toy, documents_of, parallel_documents

from tokbench.errors import ConfigError
from tokbench.evaluation.alignment import align, lines_of
from tokbench.evaluation.comparison import Comparison, compare_contestants
from tokbench.evaluation.contestants import Contestant
from tokbench.evaluation.documents import comparison_document
from tokbench.evaluation.gates import (
    Gate,
    check_gates,
    findings_document,
    gates_from,
    parse_gate,
    parse_number,
)
from tokbench.metrics.catalogue import METRICS, metrics_named
from tokbench.render.junit import as_junit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.corpus import Document

LETTERS = Toy("a", "b", " ", name="letters")
PAIRS = Toy("a", "b", " ", "ab", name="pairs")
TEXTS = [*documents_of("ab ab", "ba", group="x"), *documents_of("aaéb", group="y")]


def compared(*tokenizers: Toy, documents: Sequence[Document] = TEXTS) -> Comparison:
    alignment = align(lines_of(documents, {"en", "de"}))
    return compare_contestants(
        [Contestant(one) for one in tokenizers], documents, alignment=alignment, times=False
    )


def saved(comparison: Comparison, *names: str) -> Any:
    chosen = metrics_named(names) if names else None
    return orjson.loads(orjson.dumps(comparison_document(comparison, metrics=chosen)))


def passed(comparison: Comparison, *gates: Gate) -> list[bool]:
    return [finding.passed for finding in check_gates(comparison, gates)]


# --- how they are written ---------------------------------------------------------------------


def test_gates_as_they_are_written() -> None:
    assert parse_gate("bytes_per_token=3.5", bound="min") == Gate(
        "bytes_per_token", None, "min", 3.5, "--min"
    )
    assert parse_gate("de:unk_rate = 1%", bound="max") == Gate("unk_rate", "de", "max", 0.01, "--max")
    assert parse_gate("a:b:unk_rate=0", bound="max").group == "a:b"
    assert parse_gate("premium=2", bound="max").metric == "premium"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("bytes_per_token", "has no limit", "--min bytes_per_token=3.5"),
        ("bytes_per_token=", "is no number", "3.5"),
        ("bytes_per_token=nan", "is no number", "3.5"),
        ("bytes_per_token=inf", "is no number", "3.5"),
        ("bytes_per_tokens=1", "there is no metric 'bytes_per_tokens'", "bytes_per_token"),
        ("de:premium=1", "of all groups together", "--min premium"),
        ("=1", "there is no metric ''", "bytes_per_token"),
    ],
)
def test_anything_else_is_an_error(text: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_gate(text, bound="min")
    assert message in error.value.message
    assert hint in str(error.value.hint)


def test_numbers_may_be_percentages() -> None:
    assert parse_number(" 12.5% ") == 0.125
    assert parse_number("-1e-3") == -0.001


# --- when they are kept -----------------------------------------------------------------------


def test_the_limit_itself_is_allowed() -> None:
    comparison = compared(LETTERS)
    value = comparison.tokenizers[0].figures["bytes_per_token"].value
    assert value == 12 / 11
    gates = [Gate("bytes_per_token", None, bound, value, "") for bound in ("min", "max")]  # type: ignore[arg-type]
    assert passed(comparison, *gates) == [True, True]
    assert passed(comparison, Gate("bytes_per_token", None, "min", value + 1e-12, "")) == [False]
    assert passed(comparison, Gate("bytes_per_token", None, "max", value - 1e-12, "")) == [False]


def test_every_tokenizer_is_held_to_every_gate() -> None:
    comparison = compared(LETTERS, PAIRS)
    found = check_gates(comparison, [Gate("bytes_per_token", "x", "min", 1.2, "--min")])
    assert [(one.tokenizer, one.passed) for one in found] == [("letters", False), ("pairs", True)]
    assert [one.value for one in found] == [1, 7 / 5]
    only = Gate("bytes_per_token", None, "min", 0, "", tokenizer="pairs")
    assert [one.tokenizer for one in check_gates(comparison, [only])] == ["pairs"]


def test_a_group_that_there_is_not_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no group 'z'") as error:
        check_gates(compared(LETTERS), [parse_gate("z:unk_rate=0", bound="max")])
    assert error.value.hint == "it has x, y"


def test_a_figure_that_there_is_not_fails_with_the_reason() -> None:
    comparison = compared(LETTERS)
    premium, lines = check_gates(
        comparison, [parse_gate("premium=2", bound="max"), parse_gate("indentation_fidelity=0", bound="min")]
    )
    assert not premium.passed
    assert premium.value is None
    assert premium.message == (
        "letters: premium is to be <= 2 (--max): there is none: "
        "the corpus has no folder of translations (parallel/<language>.txt)"
    )
    assert not lines.passed
    assert lines.message.endswith("there is none: the text has nothing to divide by")


def test_premiums_and_gini_are_figures_too() -> None:
    documents = parallel_documents(en=["ab"] * 5, de=["bba"] * 5)
    comparison = compared(Toy("a", "b", "\n"), documents=documents)
    assert passed(comparison, *(parse_gate(text, bound="max") for text in ("premium=1.51", "gini=0.11"))) == [
        True,
        True,
    ]
    assert passed(comparison, *(parse_gate(text, bound="max") for text in ("premium=1.49", "gini=0.09"))) == [
        False,
        False,
    ]


def test_a_figure_that_falls_short_by_little_is_shown_to_do_so() -> None:
    limit = 12 / 11 + 1e-12
    [finding] = check_gates(compared(LETTERS), [Gate("bytes_per_token", None, "min", limit, "--min")])
    assert finding.message == f"letters: bytes_per_token is to be >= {limit!r} (--min): {12 / 11!r}"


# --- an older comparison ----------------------------------------------------------------------


def older_gates(document: Any, *names: str, tolerance: float = 0.0) -> list[Gate]:
    return list(gates_from(document, tolerance=tolerance, names=names))


def test_the_same_again_passes_without_tolerance() -> None:
    comparison = compared(LETTERS, PAIRS)
    gates = older_gates(saved(comparison), "letters", "pairs")
    assert all(passed(comparison, *gates))
    held = {gate.metric for gate in gates}
    assert {"bytes_per_token", "unk_rate"} <= held
    assert not held & {name for name, metric in METRICS.items() if metric.direction == "neither"}
    assert {gate.bound for gate in gates if gate.metric == "unk_rate"} == {"max"}


def test_what_became_worse_fails_by_more_than_the_tolerance() -> None:
    better, worse = compared(PAIRS), compared(Toy("a", "b", " ", name="pairs"))
    document = saved(better, "bytes_per_token")
    share = (
        1
        - worse.tokenizers[0].figures["bytes_per_token"].value
        / better.tokenizers[0].figures["bytes_per_token"].value
    )  # type: ignore[operator]
    for tolerance, expected in ((0, False), (share * 0.9, False), (share * 1.1, True)):
        assert passed(worse, *older_gates(document, "pairs", tolerance=tolerance)) == [expected]
    assert passed(better, *older_gates(saved(worse, "bytes_per_token"), "pairs")) == [True]


def test_a_tokenizer_of_another_name_is_held_to_the_only_one() -> None:
    assert older_gates(saved(compared(PAIRS)), "new")
    with pytest.raises(ConfigError, match="no tokenizer 'new'") as error:
        older_gates(saved(compared(PAIRS, LETTERS)), "new")
    assert error.value.hint == "it has pairs, letters"


def test_a_figure_that_there_was_not_is_no_gate() -> None:
    document = saved(compared(LETTERS))
    assert document["tokenizers"][0]["metrics"]["indentation_fidelity"]["value"] is None
    assert "indentation_fidelity" not in {gate.metric for gate in older_gates(document, "letters")}


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"schema": "tokbench.report/1"},
        {"schema": "tokbench.compare/1"},
        {"schema": "tokbench.compare/1", "tokenizers": [1]},
        {"schema": "tokbench.compare/1", "tokenizers": [{"name": "letters"}]},
        {"schema": "tokbench.compare/1", "tokenizers": [{"name": "letters", "metrics": {"unk_rate": 1}}]},
        {
            "schema": "tokbench.compare/1",
            "tokenizers": [{"name": "letters", "metrics": {"unk_rate": {"value": "1"}}}],
        },
    ],
)
def test_another_document_is_an_error(document: Any) -> None:
    with pytest.raises(ConfigError, match="the baseline is"):
        older_gates(document, "letters")


def test_a_tolerance_below_nothing_is_an_error() -> None:
    with pytest.raises(ConfigError, match="below 0"):
        older_gates(saved(compared(LETTERS)), "letters", tolerance=-0.1)


# --- for other programs -----------------------------------------------------------------------


def test_json_tells_every_finding() -> None:
    found = check_gates(
        compared(LETTERS), [parse_gate("unk_rate=0", bound="max"), parse_gate("gini=1", bound="max")]
    )
    document = findings_document(found)
    assert document["schema"] == "tokbench.check/1"
    assert document["passed"] is False
    assert [one["value"] for one in document["findings"]] == [1 / 11, None]
    assert [bool(one["gap"]) for one in document["findings"]] == [False, True]


def test_junit_is_xml_whatever_the_names() -> None:
    odd = Toy("a", name='<&">\x00\u2028é')
    found = check_gates(
        compared(odd), [parse_gate("unk_rate=0", bound="max"), parse_gate("x:unk_rate=1", bound="max")]
    )
    suite = ET.fromstring(as_junit(found))  # it is our own
    assert suite.attrib["tests"] == "2"
    assert suite.attrib["failures"] == "1"
    failed, kept = suite.findall("testcase")
    assert failed.attrib == {"classname": '<&">\ufffd\u2028é', "name": "max unk_rate"}
    assert kept.attrib["name"] == "max x:unk_rate"
    failure = failed.find("failure")
    assert failure is not None
    assert "unk_rate is to be <= 0" in failure.attrib["message"]
    assert kept.find("failure") is None
