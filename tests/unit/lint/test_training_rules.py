"""Tests for the replay of merges: it equals a full recount after each merge, and planted faults are found."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import huggingface
from support.lint import byte_level, findings_of, outcome_of, target_of
from support.sentencepiece_models import variant
from support.texts import bundled_texts

from tokbench.backends.bpe.reference import count_pairs, merge_pair, train
from tokbench.corpus.opening import open_corpus
from tokbench.errors import ConfigError
from tokbench.lint.training import Turn, merges_of, replay
from tokbench.workbench.lint import read_word_counts
from tokbench.workbench.train import train_and_save

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

TEXT = "the cat and the hat sat on that mat, and the cat ate the fat rat " * 3


def replay_by_definition(
    words: Mapping[tuple[int, ...], int], merges: Sequence[tuple[int, int, int]]
) -> list[Turn]:
    turns = []
    passed_over: set[tuple[int, int]] = set()
    now = Counter(words)
    for rank, merge in enumerate(merges):
        counts = {pair: count for pair, count in count_pairs(now).items() if count}
        left = counts.keys() - passed_over
        best = min(left, key=lambda pair: (-counts[pair], pair), default=None)
        turns.append(Turn(rank, merge, counts.get(merge[:2], 0), best, counts[best] if best else 0))
        if best and not turns[-1].is_best:
            passed_over.add(best)
        passed_over.discard(merge[:2])
        following: Counter[tuple[int, ...]] = Counter()
        for word, count in now.items():
            following[merge_pair(word, merge[:2], merge[2])] += count
        now = following
    return turns


WORDS = st.dictionaries(st.text("abc", min_size=1, max_size=8), st.integers(1, 9), min_size=1, max_size=8)


@settings(max_examples=150)
@given(WORDS, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=12))
def test_replay_equals_the_reference(words: dict[str, int], picks: list[tuple[int, int]]) -> None:
    symbols = [97, 98, 99]
    merges = []
    for left, right in picks:
        id = 256 + len(merges)
        merges.append((symbols[left % len(symbols)], symbols[right % len(symbols)], id))
        symbols.append(id)
    counted = {tuple(word.encode()): count for word, count in words.items()}
    assert list(replay(counted, merges, sizes={})) == replay_by_definition(counted, merges)


@given(WORDS)
def test_trained_merges_are_the_best_at_every_step(words: dict[str, int]) -> None:
    learned = train({word.encode(): count for word, count in words.items()}, num_merges=20)
    merges = [(merge.left, merge.right, 256 + rank) for rank, merge in enumerate(learned)]
    counted = {tuple(word.encode()): count for word, count in words.items()}
    turns = list(replay(counted, merges, sizes={}))
    assert [turn.count for turn in turns] == [merge.count for merge in learned]
    assert all(turn.is_best and turn.best == turn.merge[:2] for turn in turns)


def learned(num_merges: int = 12) -> list[tuple[bytes, bytes]]:
    """Return the merges that training on `TEXT` learns, as arguments for `byte_level`."""
    import regex

    words = Counter(regex.findall(r" ?\p{L}+| ?[^\s\p{L}]+|\s+(?!\S)|\s", TEXT))
    tokens = [bytes([byte]) for byte in range(256)]
    pairs = []
    for merge in train({word.encode(): count for word, count in words.items()}, num_merges=num_merges):
        pairs.append((tokens[merge.left], tokens[merge.right]))
        tokens.append(b"".join(pairs[-1]))
    return pairs


def test_unmodified_training_has_no_findings(tmp_path: Path) -> None:
    target = target_of(byte_level(*learned()), tmp_path, corpus=[TEXT])
    for rule in ("merge-not-best", "merge-without-count", "merge-count-overflow"):
        assert findings_of(rule, target) == ()
    assert outcome_of("merge-not-best", target).figures == {"merges_replayed": 12, "not_the_best": 0}


@pytest.mark.parametrize("option", ["superwords", "parity"])
def test_superword_and_parity_merges_are_not_replayed(option: str, tmp_path: Path) -> None:
    text, texts, dev = "the cat die Katze " * 20, tmp_path / "text", tmp_path / "dev"
    for folder in (texts, dev):
        folder.mkdir()
        for language, line in (("en", "the cat "), ("de", "die Katze ")):
            (folder / f"{language}.txt").write_text(f"{line * 20}\n")
    options = {"superwords": {"superwords": 258}, "parity": {"parity": str(dev)}}[option]
    train_and_save(
        open_corpus(texts, group_by="path"),
        options={"vocab_size": 262, **options},
        directory=tmp_path / "mine",
    )
    outcome = outcome_of("merge-not-best", target_of(tmp_path / "mine", tmp_path, corpus=[text]))
    assert outcome.findings == ()
    assert option in str(outcome.skipped)


def test_moved_merge_is_not_the_best(tmp_path: Path) -> None:
    merges = learned()
    late = next(
        rank for rank in range(1, 12) if {*b"".join(merges[rank])} and len(b"".join(merges[rank])) == 2
    )
    merges.insert(0, merges.pop(late))
    [finding] = findings_of("merge-not-best", target_of(byte_level(*merges), tmp_path, corpus=[TEXT]))
    assert finding.details["rank"] == 0
    assert finding.details["count"] < finding.details["best_count"]
    assert finding.token_ids == (256,)


def test_merge_that_never_occurs_in_the_text_is_found(tmp_path: Path) -> None:
    merges = learned()
    merges.insert(5, (b"q", b"x"))
    target = target_of(byte_level(*merges), tmp_path, corpus=[TEXT])
    [finding] = findings_of("merge-without-count", target)
    assert finding.subject == 'merge 5 "q" + "x"'
    assert findings_of("merge-not-best", target) == ()


def test_counts_beyond_32_bits_are_found(tmp_path: Path) -> None:
    target = target_of(byte_level(("a", "b")), tmp_path, word_counts={"ab": 2**31})
    [finding] = findings_of("merge-count-overflow", target)
    assert "2,147,483,648 times" in finding.evidence
    fewer = target_of(byte_level(("a", "b")), tmp_path, word_counts={"ab": 2**31 - 1})
    assert findings_of("merge-count-overflow", fewer) == ()


def test_different_text_is_recognized_as_not_the_training_text(tmp_path: Path) -> None:
    letters = [chr(code) for code in range(97, 123)]
    merges = [(left, right) for left in letters for right in letters][:400]
    target = target_of(byte_level(*merges), tmp_path, corpus=[TEXT])
    assert "not the one it was trained on" in (outcome_of("merge-not-best", target).skipped or "")


def test_rule_is_skipped_without_a_corpus(tmp_path: Path) -> None:
    outcome = outcome_of("merge-not-best", target_of(byte_level(("a", "b")), tmp_path))
    assert outcome.skipped == "it needs the training corpus, or --word-counts"


@pytest.mark.parametrize("content", ["[1]", "{", '{"a": -1}', '{"a": 1.5}'])
def test_malformed_word_counts_are_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"word counts"):
        read_word_counts(path)
    path.write_text(json.dumps({" the": 2}))
    assert read_word_counts(path) == {" the": 2}


@pytest.mark.parametrize("trained", [huggingface.with_suffix, huggingface.byte_level])
def test_trainings_of_the_library_are_replayed(trained: Callable[[], bytes], tmp_path: Path) -> None:
    texts = [bundled_texts()[name] for name in ("parallel/en.txt", "parallel/de.txt", "code/python.py")]
    target = target_of(trained(), tmp_path, corpus=texts)
    assert findings_of("merge-without-count", target) == ()
    assert outcome_of("merge-not-best", target).figures["not_the_best"] == 0
    document = json.loads(trained())
    document["model"]["merges"].append(document["model"]["merges"].pop(3))
    changed = target_of(document, tmp_path / "changed", corpus=texts)
    findings = findings_of("merge-not-best", changed)
    assert findings[0].details["rank"] == 3
    assert len(findings) < 40  # the other findings are merges whose counts the move changed


def test_rule_is_skipped_for_unknown_pretokens(tmp_path: Path) -> None:
    outcome = outcome_of("merge-not-best", target_of(huggingface.byte_fallback(), tmp_path, corpus=["ab"]))
    assert outcome.skipped == "its file does not define the pre-tokens that it was trained on"


def test_rule_is_skipped_for_sentencepiece_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(variant("bpe").description().proto)
    outcome = outcome_of("merge-not-best", target_of(path, tmp_path, corpus=["some text"]))
    assert str(outcome.skipped).startswith("up to version 0.2.1, SentencePiece's trainer considers")


def test_merges_of_sentencepiece_produce_its_pieces(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    model = variant("bpe without prefix")
    path.write_bytes(model.description().proto)
    target = target_of(path, tmp_path)
    merges = merges_of(target)
    pieces = {id: piece.text for id, piece in enumerate(target.sentencepiece.pieces)}  # type: ignore[union-attr]
    assert all(pieces[left] + pieces[right] == pieces[merged] for left, right, merged in merges)
    scores = [target.sentencepiece.pieces[merged].score for _, _, merged in merges]  # type: ignore[union-attr]
    assert scores == sorted(scores, reverse=True)
    assert len(merges) > 50


def test_word_counts_are_read_from_a_counted_folder(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from tokbench.corpus import open_corpus
    from tokbench.distributed.engines.open import InProcessEngine
    from tokbench.workbench.count_words import count_words

    (tmp_path / "a.txt").write_text("the end of the end")
    corpus, engine = open_corpus(tmp_path / "a.txt"), InProcessEngine(threads=1)
    count_words(corpus, out=str(tmp_path / "words"), options={}, engine=engine)
    assert read_word_counts(tmp_path / "words") == {"the": 1, " end": 2, " of": 1, " the": 1}
    count_words(corpus, out=str(tmp_path / "other"), backend="wordpiece", options={}, engine=engine)
    with pytest.raises(ConfigError, match="words of wordpiece"):
        read_word_counts(tmp_path / "other")
