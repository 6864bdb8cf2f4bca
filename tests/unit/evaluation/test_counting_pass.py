"""One pass over a corpus: its counts, whatever the order, the batches and the groups."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.subjects import SUBJECTS, Subject
from support.texts import bundled_texts
from support.toys import Toy, documents_of
from support.units import column

from tokbench.backends.baseline import ByteBackend
from tokbench.core.token_arrays import KIND_NUMBERS
from tokbench.corpus import Document
from tokbench.errors import ConfigError, TextError
from tokbench.evaluation import counting_pass, fidelity
from tokbench.evaluation.counting_pass import Evaluation, evaluate
from tokbench.evaluation.fidelity import Failure, failure_of, indentation_lost
from tokbench.metrics import reference, unit_counts
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.metric import COUNTS, DOCUMENT_COUNTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer

FAMILIES = {
    subject.backend: subject
    for subject in (Subject("bpe"), *SUBJECTS)
    if subject.backend in ("bpe", "sentencepiece", "wordpiece", "char") and subject.kernel is None
}


def trained(backend: str) -> Tokenizer:
    return FAMILIES[backend].trained


@pytest.fixture(scope="module", params=FAMILIES)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return trained(request.param)


@cache
def some_documents() -> tuple[Document, ...]:
    """Return beginnings of bundled texts in four groups, with hard cases among them, in random order."""
    documents = []
    for name, text in bundled_texts().items():
        group = name.partition("/")[0] if "python" not in name else "python"
        documents += [
            Document(text[start : start + 90], group, f"{name}:{start}", is_code=name.startswith("code/"))
            for start in (0, 90, 180)
        ]
    documents = [document for document in documents if document.text]
    random.Random(0).shuffle(documents)
    return (*documents[:110], Document("   ", "edge", "white"), Document(" ", "blank", "white"))


def frequencies_of(evaluation: Evaluation, group: str) -> list[int]:
    frequencies = evaluation.groups[group].frequencies
    assert frequencies is not None
    return frequencies.tolist()


def everything(evaluation: Evaluation) -> dict[str, object]:
    """Return everything that must not depend on the order and the batches of the documents."""
    return {
        "groups": {
            name: (tally.as_counts(), tally.words, tally.numbers.tolist(), frequencies_of(evaluation, name))
            for name, tally in evaluation.groups.items()
        },
        "documents": {
            group: Counter(map(tuple, units.counts.tolist()))
            for group, units in evaluation.group_units.items()
        },
        "frequencies": evaluation.frequencies.tolist(),
        "words": evaluation.worst_words,
        "bytes": evaluation.num_bytes,
    }


def counted_in(document: Document, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts that a document contributes: identifiers are counted only in program code."""
    return {name: n for name, n in counts.items() if document.is_code or not name.startswith("identifier")}


def test_identifiers_are_counted_in_program_code_only() -> None:
    """Prose has words that look like identifiers, with and without boundaries inside them."""
    prose = [Document("the getName", "all", "a.md"), Document("only prose", "prose", "b.md")]
    code = Document("getName x", "all", "a.py", is_code=True)
    for threads in (1, 2):
        evaluation = evaluate(Toy("get", "Name", "x", " "), [*prose, code], threads=threads)
        alone = evaluate(Toy("get", "Name", "x", " "), [code])
        counts = {name: evaluation.total[name] for name in COUNTS if name.startswith("identifier")}
        assert counts == {name: alone.total[name] for name in counts}
        assert counts["identifiers"] == 2
        assert evaluation.groups["prose"]["identifiers"] == 0
        assert sum(column(evaluation, [*prose, code], "identifiers")) == 2


def test_counts_equal_those_of_single_documents(tokenizer: Tokenizer) -> None:
    """The counts are compared with `segment` and the definition of each count."""
    documents = some_documents()
    evaluation = evaluate(tokenizer, documents)
    sums: Counter[str] = Counter()
    ids: Counter[int] = Counter()
    for document in documents:
        tokens = tokenizer.segment(document.text).tokens
        kinds = [KIND_NUMBERS[token.kind] for token in tokens]
        if tokens:
            measured = reference.measure(document.text.encode(), [token.span for token in tokens], kinds)
            sums.update(counted_in(document, measured.counts))
        ids.update(token.id for token in tokens)
        sums["documents"] += 1
        sums["empty_documents"] += not tokens
        sums["roundtrips"] += tokenizer.decode([token.id for token in tokens]) == document.text
    total = evaluation.total
    assert {name: total[name] for name in COUNTS} == {name: sums[name] for name in COUNTS}
    for name in ("documents", "empty_documents", "roundtrips"):
        assert total[name] == sums[name]
    assert {id: count for id, count in enumerate(evaluation.frequencies.tolist()) if count} == ids
    assert evaluation.num_bytes == sum(len(document.text.encode()) for document in documents)


def test_document_order_does_not_change_the_counts(tokenizer: Tokenizer) -> None:
    documents = list(some_documents())
    first = evaluate(tokenizer, documents)
    random.Random(1).shuffle(documents)
    assert everything(evaluate(tokenizer, documents)) == everything(first)


def test_batches_and_threads_do_not_change_the_counts(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = some_documents()
    whole = evaluate(tokenizer, documents, threads=1)
    monkeypatch.setattr(counting_pass, "_BATCH_DOCUMENTS", 7)
    seen: list[int] = []
    in_parts = evaluate(
        tokenizer, documents, threads=2, progress=lambda phase, done, total, unit: seen.append(done)
    )
    assert len(seen) == -(-len(documents) // 7)
    assert seen == sorted(seen)
    assert seen[-1] == whole.num_bytes
    assert everything(in_parts) == everything(whole)
    monkeypatch.setattr(counting_pass, "_BATCH_CHARACTERS", 200)
    assert everything(evaluate(tokenizer, documents)) == everything(whole)


def test_groups_add_up_to_the_total() -> None:
    evaluation = evaluate(trained("bpe"), some_documents())
    total = evaluation.total.as_counts()
    assert list(evaluation.groups) == sorted(evaluation.groups)
    for name in total:
        assert total[name] == sum(tally[name] for tally in evaluation.groups.values())
    by_group = sum(np.array(frequencies_of(evaluation, group)) for group in evaluation.groups)
    assert evaluation.frequencies.tolist() == by_group.tolist()  # type: ignore[union-attr]
    for name, group in evaluation.groups.items():
        rows = evaluation.group_units[name].counts
        assert len(rows) == group["documents"]
        assert rows.sum(axis=0).tolist() == [group[count] for count in DOCUMENT_COUNTS]


def test_documents_without_tokens_are_counted_but_excluded_from_ratios() -> None:
    tokenizer = Toy("a", otherwise="nothing")
    documents = documents_of("aa", "ééé", "a")
    evaluation = evaluate(tokenizer, documents)
    assert evaluation.total["documents"] == 3
    assert evaluation.total["empty_documents"] == 1
    assert evaluation.total["bytes"] == 3
    assert evaluation.num_bytes == 9
    assert column(evaluation, documents, "bytes") == [2, 0, 1]
    assert METRICS["roundtrip_rate"].value(evaluation.total, evaluation.vocabulary) == 2 / 3
    nothing = evaluate(tokenizer, documents_of("é", "ü"))
    values = {name: metric.value(nothing.total, nothing.vocabulary) for name, metric in METRICS.items()}
    assert {name for name, value in values.items() if value is not None} == {
        *("roundtrip_rate", "character_error_rate", "id_stability", "whitespace_fidelity"),
        *("vocab_utilization", "reachable_utilization"),
    }


def test_frequencies_by_group_are_dropped_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Toy("a", "b")
    documents = [document for group in "xyz" for document in documents_of("ab", group=group)]
    monkeypatch.setattr(unit_counts, "_MOST_FREQUENCIES", 2 * tokenizer.info.vocab_size)
    evaluation = evaluate(tokenizer, documents)
    assert [tally.frequencies for tally in evaluation.groups.values()] == [None, None, None]
    assert evaluation.frequencies.tolist() == [0, 3, 3]
    assert evaluation.total.frequencies is not None


def test_document_that_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(TextError, match=r"^all\.txt:2: the text has a lone surrogate"):
        evaluate(trained("bpe"), documents_of("fine", "a \ud800 b"))


def test_most_fragmented_words_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokbench.evaluation.counting_pass.WORST_WORDS", 2)
    evaluation = evaluate(Toy("ab", "c", "d", " "), documents_of("ab cd dcd cd"))
    assert evaluation.worst_words == {"all": ((b"dcd", 3, 1), (b"cd", 2, 2))}


# --- fidelity ---------------------------------------------------------------------------------


NO_ERRORS = dict.fromkeys(
    ("error_chars", "case_errors", "accent_errors", "white_space_errors", "unknown_errors"), 0
)


def test_characters_lost_beside_unknown_tokens_are_attributed_to_them() -> None:
    counts, _ = fidelity_of(Toy("a", "b", " "), "a xéz b", "ab")
    assert counts == counts | {"error_chars": 3, "unknown_errors": 3, "decoded_chars": 9}


def test_lost_characters_are_counted_in_the_first_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fidelity, "_CHECKED_FOR_STABILITY", 5)
    counts, _ = fidelity_of(Toy("a", otherwise="nothing"), "aab", "aba", "bbb", "aaa")
    assert counts == counts | {"decoded_chars": 6, "error_chars": 2, "roundtrips": 1}


def fidelity_of(tokenizer: Toy, *texts: str) -> tuple[dict[str, int], Sequence[Failure]]:
    evaluation = evaluate(tokenizer, documents_of(*texts))
    counts = evaluation.total.as_counts()
    return {name: counts[name] for name in fidelity.FIDELITY}, evaluation.failures


def test_roundtrips_are_counted() -> None:
    counts, failures = fidelity_of(Toy("a", "b", " ", "\n", otherwise="bytes"), "a b", "é\n", "\ufffd")
    assert counts == {
        "roundtrips": 3,
        "checked_for_stability": 3,
        "stable": 3,
        "whitespace_kept": 3,
        "indentation_lost": 0,
        "decoded_chars": 6,
        **NO_ERRORS,
    }
    assert failures == ()


def test_failed_roundtrips_are_reported_with_their_offset() -> None:
    tokenizer = Toy("a", "b", " ", "\n", otherwise="nothing")
    counts, failures = fidelity_of(tokenizer, "a b", "a éb", "a\tb\n", "\tb")
    assert counts == {
        "roundtrips": 1,
        "checked_for_stability": 4,
        "stable": 4,
        "whitespace_kept": 2,  # "a b" and "a éb"
        "indentation_lost": 1,
        "decoded_chars": 13,
        **NO_ERRORS,
        "error_chars": 3,  # an é and two tabs
        "white_space_errors": 2,
    }
    assert [(failure.source, failure.offset) for failure in failures] == [
        ("all.txt:2", 2),
        ("all.txt:3", 1),
        ("all.txt:4", 0),
    ]
    assert failures[0].expected == "a éb"
    assert failures[0].found == "a b"


def test_false_lossless_flag_is_detected() -> None:
    """The flag `lossless` only allows decoding whole batches at once; it is not trusted."""

    class Liar(Toy):
        def decode(self, ids: Sequence[int], *, errors: str = "replace") -> str:
            return super().decode(ids, errors=errors).upper()

        def decode_bytes(self, ids: Sequence[int]) -> bytes:
            return super().decode_bytes(list(ids)).upper()

    tokenizer = Liar("a")
    tokenizer.info = replace(tokenizer.info, lossless=True)
    counts, failures = fidelity_of(tokenizer, "a", "aa")
    assert counts["roundtrips"] == 0
    assert len(failures) == 2


def test_only_the_first_failures_are_kept() -> None:
    counts, failures = fidelity_of(Toy("a"), *["é"] * 9)
    assert counts["roundtrips"] == 0
    assert len(failures) == fidelity.FAILURES_KEPT


def test_stability_is_checked_at_the_beginning_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fidelity, "_CHECKED_FOR_STABILITY", 3)
    counts, _ = fidelity_of(Toy("a"), "aa", "aa", "aa", "aa")
    assert counts["checked_for_stability"] == counts["stable"] == 2


@pytest.mark.parametrize(
    ("decoded", "lost"),
    [
        ("if x:\n    y\n\tz", 0),
        ("if x:\n   y\n\tz", 1),
        ("if x: y z", 2),
        ("if x:\n     y\n    z", 2),
        ("", 2),
    ],
)
def test_indentation_is_compared_exactly(decoded: str, lost: int) -> None:
    assert indentation_lost("if x:\n    y\n\tz", decoded) == lost


@pytest.mark.parametrize("rest", ["", "\r", " \xa0\u3000", "\x0b\x0c\x85\u2028"])
def test_blank_lines_have_no_indentation_to_lose(rest: str) -> None:
    assert indentation_lost(f"a\n   {rest}\nb", "a\n\nb") == 0


@pytest.mark.parametrize(
    "text", ["  a\r\n  \r\n\tb\r\n", "  \x1ca\n \x1c\n  \u200b", "\u3000a\n \u3000b\n \u3000"]
)
def test_lost_indentation_is_of_lines_counted_as_indented(text: str) -> None:
    """Otherwise the share of lines that keep their indentation would be below 0."""
    tokenizer = Toy("a", "b", "\r", "\n", "\x1c", "\u3000", "\u200b", otherwise="nothing")
    counts = evaluate(tokenizer, documents_of(text)).total
    assert counts["indentation_lost"] == counts["indented_lines"] > 0


def test_document_without_tokens_loses_no_indentation() -> None:
    total = evaluate(Toy("a", otherwise="nothing"), documents_of("  b", " a")).total
    assert (total["indentation_lost"], total["indented_lines"]) == (1, 1)


def test_failure_shows_the_surrounding_text() -> None:
    text = "x" * 100 + "é" + "y" * 100
    failure = failure_of("a.txt", text, text.replace("é", ""))
    assert failure.offset == 100
    assert failure.expected == "x" * 20 + "é" + "y" * 39
    assert failure.found == "x" * 20 + "y" * 40
    assert failure_of("a.txt", "ab", "abc") == Failure("a.txt", 2, "ab", "abc")


def test_evaluate_refuses_ids_outside_the_vocabulary() -> None:
    wrong = ByteBackend().train([], ByteBackend.config_type())
    wrong.info = replace(wrong.info, vocab_size=99)
    with pytest.raises(ConfigError, match="gives the id 99, outside its vocabulary of 99 tokens"):
        evaluate(wrong, documents_of("aab", "abc"))
