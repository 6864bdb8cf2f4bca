"""Benchmarks: the text that is timed, the check for equal ids, and toy libraries."""

from __future__ import annotations

import pytest
from support.benches import add_peer
from support.toys import Toy

from tokbench.bench import benchmark, entrants, measurements
from tokbench.bench.entrants import Subject, subjects_of
from tokbench.bench.measurements import Expected, Sample, sample_of
from tokbench.bench.peers import PEERS, Peer, peers_named
from tokbench.bench.results import MEASURES, PARTS, Bench, leader_of
from tokbench.bench.runner import Runner, runner_of
from tokbench.corpus import Document
from tokbench.errors import ConfigError, CorpusError
from tokbench.render.bench import bench_table

TEXTS = ("abcab", "ba", "cabbage")
SAMPLE = Sample(TEXTS, sum(map(len, TEXTS)), ("ab", "cab"))


# --- text -------------------------------------------------------------------------------------


def test_documents_are_kept_whole_and_the_last_is_truncated():
    documents = [Document(text, "x", "g") for text in ("ab", "", "cdé", "left out")]
    sample = sample_of(documents, max_bytes=5)
    assert sample.texts == ("ab", "cd")  # é has two bytes, and only one of them fits
    assert sample.num_bytes == 4
    assert sample.prompts == sample_of(documents, max_bytes=5).prompts


def test_prompts_are_excerpts_of_the_text():
    text = "".join(chr(0x100 + number) for number in range(3000))
    prompts = sample_of([Document(text, "x", "g")], max_bytes=10_000).prompts
    assert len(prompts) == 1000
    assert all(prompt in text and 20 <= len(prompt) <= 200 for prompt in prompts)
    assert len(set(prompts)) > 900


def test_empty_text_is_refused():
    with pytest.raises(CorpusError, match="no text"):
        sample_of([Document("", "x", "g")], max_bytes=5)


# --- equality ---------------------------------------------------------------------------------


def runner(encode, **options):
    return Runner(version="toy 1", encode=encode, **options)


@pytest.fixture
def toy():
    return Toy("a", "b", "c", "ab", otherwise="bytes")


def test_a_tokenizer_equals_itself(toy):
    ours = runner_of(toy)
    assert Expected(ours, SAMPLE).difference(ours, threads=[1, 2]) is None


def test_first_difference_is_reported(toy):
    other = runner(lambda text: [*toy.encode(text)[:1], 99])
    difference = Expected(runner_of(toy), SAMPLE).difference(other, threads=[])
    assert difference == "document 1: at token 2 it gives 99 instead of 3 4"


@pytest.mark.parametrize(
    ("batch", "told"),
    [
        (lambda ids: [*ids[:2], [7]], "document 3 in a batch: at token 1 it gives 7 instead of 3"),
        (lambda ids: ids[:2], "a batch of 3 documents became 2"),
        (
            lambda ids: [*ids[:2], ids[2][:-1]],
            "document 3 in a batch: at token 6 it gives nothing instead of",
        ),
    ],
)
def test_batch_is_compared(toy, batch, told):
    other = runner(toy.encode, encode_batch=lambda texts, _: batch([toy.encode(text) for text in texts]))
    assert Expected(runner_of(toy), SAMPLE).difference(other, threads=[1]).startswith(told)


def test_prompts_and_token_bytes_are_compared(toy):
    expected = Expected(runner_of(toy), SAMPLE)
    other = runner(lambda text: [5] if text == "cab" else toy.encode(text))
    assert expected.difference(other, threads=[]).startswith("prompt 2: ")
    other = runner(toy.encode, token_bytes=lambda one: b"x" if one == 4 else toy.token_bytes(one))
    assert expected.difference(other, threads=[]) == "id 4: b'x' instead of b'ab'"


# --- peers ------------------------------------------------------------------------------------


def test_peers_are_selected_by_name():
    assert [peer.name for peer in peers_named("all")] == list(PEERS)
    assert [peer.name for peer in peers_named("rustbpe,tiktoken,rustbpe")] == ["rustbpe", "tiktoken"]
    with pytest.raises(ConfigError) as caught:
        peers_named("tiktokn")
    assert caught.value.hint.startswith("did you mean 'tiktoken'?")
    for names in ("none,all", "tiktoken,installed", "all,tiktokn"):
        with pytest.raises(ConfigError, match="cannot be combined with other names") as told:
            peers_named(names)
        assert "alone" in str(told.value.hint)


def test_supported_numbers_of_threads_are_reported():
    def on(threads):
        return runner(str, encode_batch=str, threads=threads)

    assert not runner(str).can_batch(1, processors=1)
    assert on("any").can_batch(3, processors=8)
    assert [on("one or all").can_batch(count, processors=8) for count in (1, 3, 8)] == [True, False, True]
    assert [on("all").can_batch(count, processors=8) for count in (1, 3, 8)] == [False, False, True]


def test_names_are_short_and_unique():
    names = [subject.name for subject in subjects_of(["a/b.json", "c/b/", "default"], engine="auto")]
    assert names == ["b", "b#2", "default"]
    files = ["vocab/gpt2/tokenizer.json", "vocab/t5/spiece.model", "models--a--b/snapshots/0f/vocab.json"]
    assert [subject.name for subject in subjects_of(files)] == ["gpt2", "t5", "b"]


# --- whole benchmarks -------------------------------------------------------------------------


class Described(Toy):
    """A toy tokenizer with a description that peers can be made from."""

    def description(self):
        return object()


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Return a function that benchmarks the toy together with the named peers."""
    toy = Described("a", "b", "c", "ab", otherwise="bytes")
    monkeypatch.setattr(Subject, "opened", lambda self: toy)

    def bench(*peers, **options) -> Bench:
        subjects = subjects_of(["toy"])
        return benchmark.run_bench(subjects, SAMPLE, peers=[PEERS[name] for name in peers], **options)

    def add(name, **options):
        add_peer(name, folder=tmp_path / "libraries", monkeypatch=monkeypatch, **options)

    bench.add = add
    return bench


def test_all_parts_are_measured(bench):
    bench.add("goodlib")
    benchmark = bench("goodlib", parts=PARTS[:-1], runs=3, threads=2)
    ours, theirs = benchmark.entries
    assert set(ours.figures) == set(MEASURES) - {"memory"}
    assert set(theirs.figures) == set(MEASURES) - {"memory", "batch", "batch_one"}  # the peer has no batches
    assert all(figure.value.runs == 3 and figure.ratio is None for figure in ours.figures.values())
    assert all(figure.ratio.runs == 3 for figure in theirs.figures.values())
    for figure in (*ours.figures.values(), *theirs.figures.values()):
        assert 0 < figure.value.low <= figure.value.median <= figure.value.high
    assert (theirs.name, theirs.tokenizer, theirs.peer) == ("toy · goodlib", "toy", "goodlib")


@pytest.mark.parametrize(
    ("rounds", "leader"),
    [
        ({"a": [3.0, 4.0, 9.0], "b": [2.0, 3.0, 8.0]}, "a"),  # the machine became faster for both
        ({"a": [3.0, 4.0, 9.0], "b": [2.0, 4.5, 1.0]}, None),
        ({"a": [3.0, 4.0], "b": [3.0, 3.0]}, None),
        ({"a": [3.0, 4.0], "b": [2.9]}, "a"),
        ({"a": [3.0, 4.0], "b": [3.5]}, None),
        ({"a": [3.0], "b": [1.0]}, None),
        ({"a": [3.0, 4.0]}, None),
        ({}, None),
    ],
)
def test_leader_is_better_in_every_round(rounds, leader):
    assert leader_of(rounds, MEASURES["encode"]) == leader
    inverted = {name: [1 / value for value in values] for name, values in rounds.items()}
    assert leader_of(inverted, MEASURES["p50"]) == leader


def test_leader_has_the_star(bench):
    bench.add("slowlib", encode="lambda text: (__import__('time').sleep(0.002), encoder.encode(text))[1]")
    result = bench("slowlib", parts=["encode"], runs=3)
    assert result.leaders["encode"] == "toy"
    assert result.to_json()["leaders"] == dict(result.leaders)
    stars = {column.title: [cell.best for cell in column.cells] for column in bench_table(result).columns}
    assert stars["MB/s"] == [True, False]


@pytest.mark.parametrize("part", PARTS[:-1])
def test_only_requested_parts_are_measured(bench, part):
    benchmark = bench(parts=[part], runs=1, threads=2)
    assert {MEASURES[name].part for name in benchmark.entries[0].figures} == {part}
    assert benchmark.parts == (part,)


def test_peer_with_different_ids_is_shown_and_not_timed(bench):
    bench.add("badlib", encode="lambda text: [1, *encoder.encode(text)]")
    benchmark = bench("badlib", runs=1)
    assert benchmark.entries[1].figures == {}
    assert benchmark.entries[1].difference == "document 1: at token 1 it gives 1 4 3 4 instead of 4 3 4"


def test_failing_peer_is_shown_and_not_timed(bench):
    bench.add("deadlib", encode="lambda text: [][7]")
    benchmark = bench("deadlib", runs=1)
    assert benchmark.entries[1].difference == "it fails: list index out of range"


def test_unavailable_peers_are_reported_with_the_reason(bench, monkeypatch):
    monkeypatch.setitem(PEERS, "nolib", Peer("nolib", "nolib"))
    bench.add("refuses", prepare="raise ConversionError('it is too small')")
    bench.add("crashes", opened="raise BaseException('panicked\\nat a place')")
    benchmark = bench("nolib", "refuses", "crashes", runs=1, parts=["load"])
    assert [(entry.tokenizer, entry.peer, entry.reason) for entry in benchmark.left_out] == [
        (None, "nolib", "not installed: pip install nolib"),
        ("toy", "refuses", "it is too small"),
        ("toy", "crashes", "it cannot open it: panicked"),
    ]
    assert len(benchmark.entries) == 1


def test_ctrl_c_in_a_library_ends_the_benchmark(bench):
    bench.add("stops", opened="raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        bench("stops", runs=1)


def test_tokenizer_without_a_description_has_no_peers(toy, tmp_path):
    reason = entrants.peer_of(Subject("toy", {}), toy, Peer("json", "json"), tmp_path / "x")
    assert reason == "tokenizers of the backend 'toy' do not describe their model"


def test_lookups_use_ids_of_the_text(toy):
    asked = []
    entrant = entrants.Entrant(
        "toy",
        "toy",
        None,
        5,
        open=lambda: None,
        recipe={},
        runner=runner(toy.encode, token_bytes=asked.append),
    )
    budget = measurements.Budget(runs=1, seconds=1, threads=1, processors=1)
    times = measurements.lookups([entrant], {"toy": [3, 1]}, budget)
    assert set(times) == {"lookups"}
    assert asked == [3, 1] * 5000
