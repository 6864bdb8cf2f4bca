"""Tokens of several words: worked out by hand, trained, saved, and opened by libraries."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING

import pytest
import tokenizers
from support.kernels import chosen, counted, counted_by_definition, new_counter
from support.texts import bundled_texts

import tokbench
from tokbench.backends.bpe import BpeBackend, reference, superwords
from tokbench.backends.bpe.config import BpeConfig
from tokbench.backends.bpe.reference import Merge
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.word_input import merger_room
from tokbench.errors import ConfigError, CorpusError, TrainingError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tokbench.backends.bpe.kernel import Kernel

SPACE, A, B = b" ab"
BUNDLED = list(bundled_texts().values())[::4]
TEXTS = ["by the way, in 1984 it was: by the way", "it was by the way", "", "by the way <e> it was so..."] * 3


def train(kernel: Kernel, documents: Iterable[str], **options: object) -> BpeTokenizer:
    with chosen(kernel.name):
        return BpeBackend().train(documents, BpeConfig(**options))


def textbook(documents: Iterable[str], *, vocab_size: int, superwords: int) -> tuple[Merge, ...]:
    texts = list(documents)
    merges = reference.train_superwords(
        counted_by_definition(texts),
        counted_by_definition(texts, pattern="superwords"),
        num_first=superwords - 256,
        num_merges=vocab_size - 256,
    )
    return tuple(merges)


# --- the textbook -----------------------------------------------------------------------------------


def test_training_continues_across_spaces_as_worked_by_hand() -> None:
    # Within words: (a, b) 4 times → Z. Across: "Z Z" has (Z, " ") and (" ", Z) twice each; the smaller ids
    # are those of (" ", Z) → Y; then (Z, Y) → X.
    z, y = 256, 257
    merges = reference.train_superwords({b"ab": 2, b" ab": 2}, {b"ab ab": 2}, num_first=1, num_merges=9)
    assert merges == [Merge(A, B, 4), Merge(SPACE, z, 2), Merge(z, y, 2)]


def test_first_merges_apply_across_word_boundaries() -> None:
    # "a" and " " never share a word, but their merge exists: it applies to the text before anything is learned.
    merges = reference.train_superwords({b"a ": 5}, {b"a b": 2}, num_first=1, num_merges=2)
    assert merges == [Merge(A, SPACE, 5), Merge(256, B, 2)]


@pytest.mark.parametrize(
    ("token", "may_be"),
    [
        (b"a b c d", True),
        (b" a  b c d ", True),  # a run of spaces counts once
        (b"a b c d e", False),
        (b" a b c d e", False),
        (b"a\nb\nc\nd\ne", True),  # only spaces are counted
        (b"a: b", False),
        (b"a:b", True),
        (b": ", False),
        (b"   ", True),
    ],
)
def test_superword_rule_accepts_few_words_only(token: bytes, *, may_be: bool) -> None:
    assert reference.may_be_superword(token) is may_be


def test_pairs_that_may_not_become_superwords_are_skipped() -> None:
    merges = reference.train_superwords({b"a": 1}, {b"a: a: a: ": 9}, num_first=0, num_merges=20)
    tokens = reference.vocabulary(merges)
    # (":", " ") and (a, ":") occur 27 times each: the first one is refused. Then ("a:", " ") is refused, and of the
    # others (" ", "a:") has 18 left; after that every pair contains ": ".
    assert tokens[256:] == [b"a:", b" a:"]


# --- a training ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("vocab_size", "superwords"), [(300, 256), (300, 270), (300, 300), (310, 300)])
def test_merges_equal_the_reference(kernel: Kernel, vocab_size: int, superwords: int) -> None:
    tokenizer = train(kernel, iter(TEXTS), vocab_size=vocab_size, superwords=superwords)
    assert tokenizer.merges == textbook(TEXTS, vocab_size=vocab_size, superwords=superwords)


def test_merges_of_bundled_texts_equal_the_reference(kernel: Kernel) -> None:
    texts = [text[:600] for text in BUNDLED][:20]
    tokenizer = train(kernel, texts, vocab_size=360, superwords=300)
    assert tokenizer.merges == textbook(texts, vocab_size=360, superwords=300)
    assert tokenizer.training is not None
    assert tokenizer.training.tokens == sum(map(len, tokenizer.encode_batch(texts)))


def test_training_on_files_equals_training_on_their_texts(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The blocks of a plain file and of a compressed one go to both counters; they may end inside a character."""
    monkeypatch.setattr(superwords, "_READ_BYTES", 7)
    (tmp_path / "a.txt").write_text(BUNDLED[0], newline="")
    with gzip.open(tmp_path / "b.txt.gz", "wt", newline="") as file:
        file.write(BUNDLED[1])
    options = {"vocab_size": 420, "superwords": 340}
    with chosen(kernel.name):
        corpus = tokbench.open_corpus(tmp_path / "a.txt", tmp_path / "b.txt.gz")
        tokenizer = BpeBackend().train(corpus, BpeConfig(**options))
    monkeypatch.setattr(superwords, "_ENCODED_BYTES", 100)
    assert tokenizer.merges == train(kernel, BUNDLED[:2], **options).merges


def test_file_is_read_once(kernel: Kernel) -> None:
    data = "by the way, é 1984\n".encode() * 9
    readable, writable = os.pipe()  # whose bytes are gone once they are read
    os.write(writable, data)
    os.close(writable)
    patterns = ("gpt4", "superwords")
    counters = [new_counter(kernel, pattern=pattern) for pattern in patterns]
    reported: list[int] = []
    both = superwords._TwoCounters(*counters)
    assert both.add_file(readable, "file", reported.append) == reported[-1] == len(data)
    both.finish()
    os.close(readable)
    for counter, pattern in zip(counters, patterns, strict=True):
        assert dict(counter.items()) == dict(counted(kernel, [data.decode()], pattern=pattern).items())


def test_position_of_invalid_bytes_in_a_file_is_reported(kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"by the way " * 200_000 + b"\xff" + b" by" * 9)
    with chosen(kernel.name), pytest.raises(CorpusError, match="not UTF-8 at byte 2200000"):
        BpeBackend().train(
            tokbench.open_corpus(tmp_path / "a.txt"), BpeConfig(vocab_size=300, superwords=280)
        )


def test_special_tokens_are_excluded_from_both_phases(kernel: Kernel) -> None:
    tokenizer = train(kernel, TEXTS, vocab_size=320, superwords=280, special_tokens=("<e>",))
    assert tokenizer.info.special_tokens == {"<e>": tokenizer.info.vocab_size - 1}
    assert not any(b"<" in tokenizer.token_bytes(id) for id in range(256, tokenizer.info.vocab_size - 1))


def test_phrase_becomes_a_token_and_texts_roundtrip(kernel: Kernel) -> None:
    tokenizer = train(kernel, TEXTS, vocab_size=320, superwords=280)
    assert [tokenizer.token_bytes(id) for id in tokenizer.encode("by the way")] == [b"by the way"]
    for text in (*TEXTS, "by the way  1\n\n"):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_saved_folder_opens_here_and_in_other_libraries(kernel: Kernel, tmp_path: Path) -> None:
    texts = BUNDLED
    trained = train(kernel, texts, vocab_size=1000, superwords=600)
    folder = tmp_path / "superwords"
    trained.save(folder)
    document = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    with chosen(kernel.name):
        again, opened = tokbench.load(folder), tokbench.load(folder / "tokenizer.json")
    assert opened.info.kernel == kernel.name
    encoding = trained.to_tiktoken()
    for text in texts:
        ids = trained.encode(text)
        assert ids == again.encode(text) == opened.encode(text)
        assert ids == document.encode(text, add_special_tokens=False).ids
        assert ids == encoding.encode_ordinary(text)


def test_merging_by_ranks_equals_merging_by_list(kernel: Kernel) -> None:
    trained = train(kernel, BUNDLED, vocab_size=1200, superwords=500)
    tokens = [trained.token_bytes(id) for id in range(trained.info.vocab_size)]
    ranked = BpeTokenizer.from_ranks(tokens, pattern=trained.pattern, kernel=kernel)
    for token in tokens[256:]:
        text = token.decode(errors="replace") * 3
        assert ranked.encode(text) == trained.encode(text)


def test_smaller_vocabularies_are_prefixes_down_to_the_superwords(kernel: Kernel) -> None:
    texts = BUNDLED[:8]
    largest, trained = (train(kernel, texts, vocab_size=size, superwords=320) for size in (400, 360))
    with chosen(kernel.name):
        smaller = BpeBackend().smaller(largest, 360)
        assert isinstance(smaller, BpeTokenizer)
        assert smaller.merges == trained.merges
        assert all(smaller.encode(text) == trained.encode(text) for text in texts)
        assert BpeBackend().smaller(largest, 319) is None


# --- refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"superwords": 300}, "need a vocabulary size"),
        ({"superwords": 255, "vocab_size": 300}, "superwords is 255"),
        ({"superwords": 301, "vocab_size": 300}, "superwords is 301"),
        ({"superwords": 300, "vocab_size": 300, "special_tokens": ("<e>",)}, "superwords is 300"),
        ({"superwords": 300, "vocab_size": 300, "trace": True}, "trace cannot be combined"),
        ({"superwords": 300, "vocab_size": 300, "pattern": "qwen2"}, "normalizes"),
    ],
)
def test_contradictory_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BpeConfig(**options)


def test_too_many_words_to_merge_are_refused(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(superwords, "merger_room", lambda step: merger_room(30, step=step))
    with pytest.raises(TrainingError, match="times what can be merged at once") as error:
        train(kernel, TEXTS, vocab_size=290, superwords=270)
    assert error.value.hint == "train on less text"


def test_training_superwords_from_counted_words_is_refused() -> None:
    with pytest.raises(ConfigError, match="whole texts"):
        BpeBackend().word_counting(BpeConfig(superwords=300, vocab_size=300))
