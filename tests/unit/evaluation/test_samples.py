"""Sample lines: which ones are drawn, and that every tokenizer splits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.comparisons import TEXTS, Texts, compared, named, tokenizers

from tokbench.corpus import Document, open_corpus
from tokbench.evaluation.samples import LONGEST, MOST, PER_GROUP, draw_samples, samples_of

if TYPE_CHECKING:
    from pathlib import Path

NUMBERED = {
    language: "".join(f"{language}: this is the line number {number}\n" for number in range(50))
    for language in ("de", "en", "fr")
}


def test_samples_of_each_group_are_segmented_by_every_tokenizer() -> None:
    evaluated = tokenizers()
    samples = draw_samples(Texts(TEXTS), evaluated)
    assert {sample.group for sample in samples} == set(TEXTS)
    for sample in samples:
        assert sample.text in TEXTS[sample.group].split("\n")
        assert sample.segmentations == tuple(tokenizer.segment(sample.text) for tokenizer in evaluated)
    for group in TEXTS:
        assert len([sample for sample in samples if sample.group == group]) <= PER_GROUP


def test_languages_show_the_same_lines() -> None:
    samples = draw_samples(Texts(NUMBERED), [])
    chosen = {
        language: [sample.text.partition(": ")[2] for sample in samples if sample.group == language]
        for language in NUMBERED
    }
    assert len(chosen["en"]) == PER_GROUP
    assert chosen["de"] == chosen["en"] == chosen["fr"]


def test_seed_determines_the_samples() -> None:
    assert draw_samples(Texts(NUMBERED), []) == draw_samples(Texts(NUMBERED), [])
    assert draw_samples(Texts(NUMBERED), []) != draw_samples(Texts(NUMBERED), [], seed=1)


def test_uninformative_lines_are_drawn_last() -> None:
    text = "}\n" * 500 + "a line that is long enough to tell something\n"
    first, *_ = sorted(draw_samples(Texts({"c": text}), []), key=lambda sample: -len(sample.text))
    assert first.text == "a line that is long enough to tell something"
    assert draw_samples(Texts({"c": "}\n\n  \n"}), [])[0].text == "}"


def test_blank_text_has_no_samples() -> None:
    assert draw_samples(Texts({"x": "\n \n\t\n"}), []) == ()


@pytest.mark.parametrize("text", ["word " * 500, "x" * 5000, "שלום " * 500])
def test_long_line_is_truncated_at_its_end(text: str) -> None:
    (sample,) = draw_samples(Texts({"x": text}), [])
    assert LONGEST - 10 < len(sample.text) <= LONGEST
    assert text.startswith(sample.text)


def test_number_of_samples_is_limited() -> None:
    texts = {f"g{number}": "a line of some length, as they are\n" * 3 for number in range(500)}
    samples = draw_samples(Texts(texts), [])
    assert len(samples) == MOST == len({sample.group for sample in samples})


def test_sample_is_named_by_its_file_and_line() -> None:
    documents = [Document("only one line, without an end", "x", "a.jsonl:7"), *Texts(NUMBERED)]
    samples = draw_samples(documents, [])
    assert [sample.source for sample in samples if sample.group == "x"] == ["a.jsonl:7"]
    for sample in samples:
        if sample.group == "en":
            assert sample.source == f"en.txt, line {int(sample.text.split()[-1]) + 1}"


def test_crlf_line_ends_are_not_part_of_a_line() -> None:
    (sample,) = draw_samples(Texts({"x": "a line that ends as on Windows\r\n"}), [])
    assert sample.text == "a line that ends as on Windows"


def test_samples_are_drawn_from_the_evaluated_text(tmp_path: Path) -> None:
    for language, text in NUMBERED.items():
        (tmp_path / f"{language}.txt").write_text(text)
    corpus = open_corpus(tmp_path)
    samples = samples_of(compared(named("byte"), NUMBERED), corpus)
    assert len(samples) == PER_GROUP  # all three languages have Latin script
    assert all(len(sample.segmentations) == 1 for sample in samples)
