"""Holding out a tenth of a corpus: of everything, and the same lines of every language."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.toys import Toy

from tokbench.corpus import bundled_corpus, open_corpus
from tokbench.errors import CorpusError
from tokbench.evaluation import holdout_plan
from tokbench.evaluation.counting_pass import evaluate
from tokbench.evaluation.holdout import Side, gaps_of, hold_out
from tokbench.evaluation.holdout_plan import Counts, choose
from tokbench.evaluation.units import NO_TRANSLATIONS, Alignment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.corpus import Corpus
    from tokbench.evaluation.holdout import Holdout
    from tokbench.evaluation.holdout_plan import Part, Plan


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return folder


def numbered(count: int, *, mark: str = "") -> str:
    return "".join(f"{number} {mark}\n" for number in range(count))


def held_out_lines(holdout: Holdout) -> dict[str, list[str]]:
    """Return the numbers of the lines that are held out, by group."""
    lines: dict[str, list[str]] = defaultdict(list)
    for document in holdout.held_out:
        lines[document.group] += [line.split()[0] for line in document.text.splitlines()]
    return dict(lines)


def test_a_tenth_of_every_bundled_text_is_held_out() -> None:
    holdout = hold_out(bundled_corpus())
    sizes: Counter[str] = Counter()
    held: Counter[str] = Counter()
    for document in bundled_corpus().documents():
        sizes[document.group] += len(document.text.encode())
    for document in holdout.held_out:
        held[document.group] += len(document.text.encode())
    assert set(held) == set(sizes)
    total = sum(len(text.encode()) for text in bundled_corpus())
    assert holdout.training_bytes + held.total() == total
    assert all(held[group] / size == pytest.approx(0.1, abs=0.015) for group, size in sizes.items())
    assert holdout.num_training == sum(1 for _ in holdout.training)


def test_training_and_held_out_parts_partition_the_lines(tmp_path: Path) -> None:
    corpus = open_corpus(
        write(tmp_path, {"a.txt": numbered(1000, mark="a"), "b.txt": numbered(37, mark="b")})
    )
    holdout = hold_out(corpus)
    training = [line for text in holdout.training for line in text.splitlines()]
    held = [line for document in holdout.held_out for line in document.text.splitlines()]
    assert (
        sorted(training + held)
        == sorted([*numbered(1000, mark="a").split("\n"), *numbered(37, mark="b").split("\n")])[2:]
    )
    assert not {*training} & {*held}
    assert len(held) == pytest.approx(104, abs=15)


def parts_by_text(plan: Plan, corpus: Corpus) -> tuple[list[tuple[str, Part]], Counts]:
    """Apply a plan to each document by its text alone; return the parts and their counts."""
    counts, parts = Counts(), []
    for document, part in replace(plan, sides=None).parts(corpus.documents()):
        counts.add(
            document.group,
            len(part.text.encode()),
            is_held_out=part.is_held_out,
            is_cut=part.line is not None,
        )
        parts.append((document.group, part))
    return parts, counts


LINES = st.lists(st.sampled_from(["a", "b c", "é" * 30, "d" * 400, "words " * 90]), min_size=1, max_size=60)


@given(
    files=st.lists(st.tuples(st.sampled_from(["x", "y", "z"]), LINES), min_size=2, max_size=9),
    unit=st.sampled_from(["file", "lines"]),
    seed=st.integers(0, 3),
    most_bytes=st.sampled_from([0, 500, 1 << 20]),
)
def test_split_equals_the_plan_applied_to_each_text(
    files: list[tuple[str, list[str]]], unit: Any, seed: int, most_bytes: int
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(holdout_plan, "_MOST_BYTES", most_bytes)
        names = {f"code/{group}/{number}.txt": lines for number, (group, lines) in enumerate(files)}
        corpus = open_corpus(
            write(Path(folder), {name: "\n".join(lines) for name, lines in names.items()}), documents=unit
        )
        plan, counts = choose(corpus, {}, seed=seed)
        parts, again = parts_by_text(plan, corpus)
        assert [(document.group, part) for document, part in plan.parts(corpus.documents())] == parts
        assert (counts.numbers, counts.sizes) == (again.numbers, again.sizes)
        assert (counts.unit, counts.shares) == (again.unit, again.shares)
        for is_held_out in (False, True):
            texts = [part.text for _, part in parts if part.is_held_out == is_held_out]
            side = Side(corpus, plan, is_held_out=is_held_out, text_bytes=0)
            assert list(side) == texts
            assert list(Side.of_document(json.loads(json.dumps(side.to_json())))) == texts
            assert [document.text for document in side.documents()] == texts


def test_text_that_changes_while_being_read_is_reported(tmp_path: Path) -> None:
    corpus = open_corpus(write(tmp_path, {"a.txt": numbered(500)}), documents="lines")
    holdout = hold_out(corpus)
    for text in (numbered(501), numbered(499)):
        write(tmp_path, {"a.txt": text})
        for side in (holdout.training, holdout.held_out):
            with pytest.raises(CorpusError, match=r"changed while it was (being )?read"):
                list(side)


def test_document_source_names_the_first_line(tmp_path: Path) -> None:
    corpus = open_corpus(write(tmp_path, {"a.txt": numbered(500)}))
    held_out = list(hold_out(corpus).held_out)
    assert held_out
    for document in held_out:
        name, _, line = document.source.rpartition(":")
        assert name.endswith("a.txt")
        assert document.text.startswith(f"{int(line) - 1} ")


def test_seed_determines_the_held_out_part(tmp_path: Path) -> None:
    corpus = open_corpus(write(tmp_path, {"a.txt": numbered(300), "b.txt": numbered(300)}))
    one, same, *others = (held_out_lines(hold_out(corpus, seed=seed)) for seed in (1, 1, 2, 3, 4))
    assert one == same
    assert any(one != holdout for holdout in others)


@pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
def test_a_tenth_of_the_bytes_of_every_group_is_held_out(tmp_path: Path, unit: str) -> None:
    """Dealt out together, a small group could end up on one side, and large documents would decide alone."""
    words = {group: Random(group) for group in ("one", "few", "many", "heavy")}
    text = {group: lambda size, draw=draw: prose(draw, size) for group, draw in words.items()}
    files = {
        "parallel/alone.txt": text["one"](300),
        **{f"code/few/{number}.txt": text["few"](20 + 30 * number) for number in range(4)},
        **{f"code/many/{number}.txt": text["many"](4) for number in range(130)},
        **{f"code/heavy/{number}.txt": text["heavy"](1 + 400 * (number == 7)) for number in range(60)},
    }
    corpus = open_corpus(write(tmp_path, files), documents=unit)  # type: ignore[arg-type]
    for seed in range(3):
        holdout = hold_out(corpus, seed=seed)
        assert set(holdout.shares) == {"alone", "few", "many", "heavy"}
        assert all(share == pytest.approx(0.1, abs=0.006) for share in holdout.shares.values())
        held = Counter[str]()
        for document in holdout.held_out:
            held[document.group] += len(document.text.encode())
        whole = Counter[str]()
        for document in corpus.documents():
            whole[document.group] += len(document.text.encode())
        assert holdout.shares == {group: held[group] / size for group, size in whole.items()}


def prose(draw: Random, lines: int) -> str:
    """Return lines of words, with occasional blank lines."""
    return "".join(
        " ".join(f"w{draw.randrange(9999)}" for _ in range(draw.randrange(3, 15)))
        + ("\n\n" if draw.randrange(5) == 0 else "\n")
        for _ in range(lines)
    )


def test_large_documents_are_as_likely_as_small_ones(tmp_path: Path) -> None:
    """If documents were held out wherever they fit, small ones would fill the share before any large one."""
    draw = Random(0)
    files = {f"code/x/{number}.txt": prose(draw, 30 if number % 4 == 0 else 1) for number in range(240)}
    corpus = open_corpus(write(tmp_path, files))
    large = total = 0
    for seed in range(5):
        sizes = [len(document.text) for document in hold_out(corpus, seed=seed).held_out]
        large += sum(size for size in sizes if size > 500)
        total += sum(sizes)
    assert large / total == pytest.approx(0.9, abs=0.07)


def test_file_names_do_not_change_the_held_out_part(tmp_path: Path) -> None:
    texts = {f"{number}": prose(Random(number), 3 + 40 * (number < 3)) for number in range(90)}
    one = write(tmp_path / "one", {f"code/x/{name}.txt": text for name, text in texts.items()})
    other = write(tmp_path / "other", {f"code/x/{hash(name)}.md": text for name, text in texts.items()})
    held_out = [
        Counter(document.text for document in hold_out(open_corpus(folder)).held_out)
        for folder in (one, other)
    ]
    assert held_out[0] == held_out[1]


def test_equal_documents_are_on_the_same_side(tmp_path: Path) -> None:
    files = {f"{number}.txt": f"document {number % 70}\n" for number in range(210)}
    holdout = hold_out(open_corpus(write(tmp_path, files)))
    assert not {*holdout.training} & {document.text for document in holdout.held_out}
    assert holdout.unit == "documents"


def test_held_out_code_is_marked_as_code(tmp_path: Path) -> None:
    holdout = hold_out(open_corpus(write(tmp_path, {"code/c.txt": numbered(200), "a.txt": numbered(200)})))
    assert {
        document.source.rpartition("/")[2].partition(":")[0]: document.is_code
        for document in holdout.held_out
    } == {"c.txt": True, "a.txt": False}


# --- translations -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_same_lines_of_every_language_are_held_out(tmp_path: Path, seed: int) -> None:
    texts = {
        f"parallel/{name}.txt": numbered(230, mark=name * size)
        for size, name in enumerate(["de", "en", "zh"], 1)
    }
    holdout = hold_out(open_corpus(write(tmp_path, texts)), seed=seed)
    lines = held_out_lines(holdout)
    assert lines["de"] == lines["en"] == lines["zh"]
    assert len(lines["de"]) == pytest.approx(23, abs=3)
    assert holdout.alignment == Alignment(("de", "en", "zh"), lines=len(lines["de"]))


def test_long_line_of_a_translation_is_not_split(tmp_path: Path) -> None:
    """Cutting a line at the length where other texts are cut would shift all lines after it."""
    long = numbered(100).replace("3 \n", "3 " + "word " * 900 + "\n")
    corpus = open_corpus(write(tmp_path, {"parallel/de.txt": long, "parallel/en.txt": numbered(100)}))
    for seed in range(4):
        lines = held_out_lines(hold_out(corpus, seed=seed))
        assert lines["de"] == lines["en"]


@pytest.mark.parametrize("unit", ["lines", "paragraphs"])
def test_lines_as_documents_stay_aligned(tmp_path: Path, unit: str) -> None:
    """Dealt out by its content, each language would have other held-out lines, though often as many."""
    text = {"lines": numbered, "paragraphs": lambda count, mark: numbered(count, mark=f"{mark}\n")}[unit]
    files = {f"parallel/{name}.txt": text(200, mark=name) for name in ("de", "en")}
    corpus = open_corpus(write(tmp_path, files), documents=unit)  # type: ignore[arg-type]
    holdout = hold_out(corpus)
    lines = held_out_lines(holdout)
    assert lines["de"] == lines["en"]
    assert not isinstance(holdout.alignment, str)
    assert holdout.alignment.lines == len(lines["de"]) == pytest.approx(20, abs=2)


def test_a_hundred_languages_are_split_by_line(tmp_path: Path) -> None:
    files = {f"parallel/l{number:03}.txt": numbered(60, mark=str(number)) for number in range(101)}
    holdout = hold_out(open_corpus(write(tmp_path, files)))
    by_language = held_out_lines(holdout)
    assert len(by_language) == 101
    assert len({tuple(lines) for lines in by_language.values()}) == 1


@pytest.mark.parametrize("unit", ["file", "lines"])
def test_translations_of_held_out_lines_are_not_trained_on(tmp_path: Path, unit: str) -> None:
    """This holds even if a folder has two sets of translations, only one of which can be compared."""
    long = {f"parallel/{name}.txt": numbered(260, mark=name * 3) for name in ("de", "en", "fr")}
    short = {f"parallel/{name}.txt": numbered(170, mark=name) for name in ("ja", "zh")}
    holdout = hold_out(open_corpus(write(tmp_path, {**long, **short}), documents=unit))  # type: ignore[arg-type]
    held_out = held_out_lines(holdout)
    assert held_out["de"] == held_out["en"] == held_out["fr"]
    assert held_out["ja"] == held_out["zh"] != held_out["de"][: len(held_out["ja"])]
    learned = {tuple(line.split()) for text in holdout.training for line in text.splitlines()}
    assert not [
        line for line in held_out["de"] if any((line, name * 3) in learned for name in ("de", "en", "fr"))
    ]


def test_language_with_another_number_of_lines_is_not_aligned(tmp_path: Path) -> None:
    """It is left out even if as many of its lines are held out."""
    files = {
        "parallel/de.txt": numbered(100),
        "parallel/en.txt": numbered(100),
        "parallel/fr.txt": numbered(101),
    }
    corpus = open_corpus(write(tmp_path, files))
    for seed in range(6):
        alignment = hold_out(corpus, seed=seed).alignment
        assert alignment == Alignment(("de", "en"), lines=10, left_out=("fr",))


@pytest.mark.parametrize(
    ("files", "gap"),
    [
        ({"a.txt": numbered(200)}, NO_TRANSLATIONS),
        ({"parallel/de.txt": numbered(200)}, "there is one language only: de"),
        (
            {"parallel/de.txt": numbered(200), "parallel/en.txt": numbered(201)},
            "the translations do not have the same number of lines",
        ),
        (
            {"parallel/de.txt": numbered(20), "parallel/en.txt": numbered(20)},
            "the translations have 2 lines, too few to compare languages on",
        ),
    ],
    ids=["none", "one", "misaligned", "short"],
)
def test_missing_alignment_is_explained(tmp_path: Path, files: dict[str, str], gap: str) -> None:
    assert hold_out(open_corpus(write(tmp_path, files))).alignment == gap


# --- odd corpora ------------------------------------------------------------------------------


def test_many_documents_are_split_by_document(tmp_path: Path) -> None:
    corpus = open_corpus(write(tmp_path, {"a.txt": numbered(1500)}), documents="lines")
    holdout = hold_out(corpus)
    assert holdout.unit == "documents"
    num_held_out = sum(1 for _ in holdout.held_out)
    assert holdout.num_training + num_held_out == 1500
    assert num_held_out == pytest.approx(150, abs=45)


def test_blocks_of_a_record_are_one_unit_and_those_of_a_file_another(tmp_path: Path) -> None:
    """All parts of a record are one document, however many records a file has."""
    records = [{"text": numbered(400, mark=f"of {name}"), "kind": name} for name in "abcdef"]
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    write(
        tmp_path, {"r.jsonl": lines, "one.txt": numbered(400, mark="x"), "two.txt": numbered(300, mark="y")}
    )

    def units(name: str, **options: str) -> dict[str, int]:
        held_out = hold_out(open_corpus(tmp_path / name, **options)).held_out
        return evaluate(Toy(" "), held_out, threads=1).units

    assert units("r.jsonl", group_by="field:kind") == {"documents": 6}
    assert units("*.txt", group_by="extension") == {"files": 2}
    assert units("*.txt", group_by="extension", documents="lines") == {"files": 2}
    assert units("*", group_by="extension") == {"files": 2, "documents": 6}


def test_one_long_line_is_split_at_spaces(tmp_path: Path) -> None:
    text = " ".join(f"word{number}" for number in range(20_000))
    holdout = hold_out(open_corpus(write(tmp_path, {"a.txt": text})))
    held = "".join(document.text for document in holdout.held_out)
    assert 0.08 < len(held) / len(text) < 0.12
    words = {*text.split()}
    parts = [*holdout.training, *(document.text for document in holdout.held_out)]
    assert all({*part.split()} <= words for part in parts)


def test_one_long_word_is_split_anywhere(tmp_path: Path) -> None:
    holdout = hold_out(open_corpus(write(tmp_path, {"a.txt": "é" * 50_000})))
    assert (
        holdout.training_bytes + sum(len(document.text.encode()) for document in holdout.held_out) == 100_000
    )


@pytest.mark.parametrize("text", ["one line", "one\n", "a\nb\n"])
def test_too_little_text_is_refused(tmp_path: Path, text: str) -> None:
    corpus = open_corpus(write(tmp_path, {"a.txt": text}))
    with pytest.raises(CorpusError, match="too few to hold out a tenth") as error:
        hold_out(corpus)
    assert ("2 blocks of lines" if "b" in text else "1 document") in error.value.message


def test_equal_documents_only_are_refused(tmp_path: Path) -> None:
    corpus = open_corpus(write(tmp_path, {"a.txt": "the same\n" * 200}), documents="lines")
    with pytest.raises(CorpusError, match=r"200 documents \(equal ones stay together\), too few"):
        hold_out(corpus)


def test_groups_missing_on_one_side_are_reported(tmp_path: Path) -> None:
    files = {"code/c.txt": numbered(300), "code/note.txt": "a\nb\n", "code/few.txt": "aa\nbb\ncc\ndd\nee\n"}
    holdout = hold_out(open_corpus(write(tmp_path, files)))
    assert holdout.shares == {"c": pytest.approx(0.1, abs=0.002), "few": 0.2, "note": 0.0}
    assert list(gaps_of(holdout.shares)) == [
        "note is trained on and not evaluated: its text is too short to hold out a tenth",
        "more or less than a tenth is held out of few (20.0 %)",
    ]
    many = {f"group{number}": 0.0 for number in range(9)}
    assert list(gaps_of(many)) == [
        "group0, group1, group2, group3, group4 and 4 more are trained on and not evaluated: "
        "their texts are too short to hold out a tenth"
    ]
