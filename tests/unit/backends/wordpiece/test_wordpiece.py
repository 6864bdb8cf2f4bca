"""WordPiece: the textbook by hand, words, training, encoding, and saving."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from support.kernels import chosen
from support.texts import bundled_texts
from support.wordpiece import counted_words

from tokbench import store
from tokbench.backends.wordpiece import WordPieceBackend, reference
from tokbench.backends.wordpiece.config import WordPieceConfig
from tokbench.backends.wordpiece.reference import longest_match
from tokbench.backends.wordpiece.trainer import train
from tokbench.config import load_preset
from tokbench.core.capabilities import SupportsTemplate
from tokbench.core.tokens import Span, SpecialPolicy, TokenKind
from tokbench.core.training import fitted_size
from tokbench.errors import ConfigError, ModelFormatError, TextError, TrainingError
from tokbench.workbench.train import train as train_by_name

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.backends.wordpiece.kernel import WordCounter
    from tokbench.backends.wordpiece.tokenizer import WordPieceTokenizer

HUGS = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}


def learned(
    words: dict[str, int], *, objective: reference.Objective, num: int, min_frequency: int = 1
) -> list[str]:
    letters = reference.alphabet(words)
    first = reference.first_pieces(words, letters=letters, prefix="##")
    pieces = reference.train(
        words,
        pieces=first,
        letters=letters,
        num_pieces=len(first) + num,
        objective=objective,
        min_frequency=min_frequency,
    )
    return pieces[len(first) :]


def counted(texts: list[str], **options: object) -> WordCounter:
    config = WordPieceConfig(**options)  # type: ignore[arg-type]
    return counted_words(texts, config)


def trained(*texts: str, **options: object) -> WordPieceTokenizer:
    return WordPieceBackend().train(texts, WordPieceConfig(**options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def english() -> WordPieceTokenizer:
    return trained(bundled_texts()["parallel/en.txt"], vocab_size=800)


# The textbook


def test_hugs_example_is_trained_as_worked_by_hand() -> None:
    # By frequency: u·g stands 20 times, then u·n 16, then h·ug 15.
    assert learned(HUGS, objective="frequency", num=3) == ["##ug", "##un", "hug"]
    # By likelihood: g·s is 5 / (20 · 5) = 1/20. Then b·u, h·u and p·u are 1/36 each, and among equals the
    # smallest ids come first: bu. Now bu·n is 4 / (4 · 16) = 1/16.
    assert learned(HUGS, objective="likelihood", num=3) == ["##gs", "bu", "bun"]


def test_pair_score_is_exact() -> None:
    pairs, pieces = {(0, 1): 3}, {0: 7, 1: 9}
    likelihood = reference.score((0, 1), pairs=pairs, pieces=pieces, objective="likelihood")
    assert likelihood == Fraction(1, 21)
    assert reference.score((0, 1), pairs=pairs, pieces=pieces, objective="frequency") == 3


def test_piece_reached_by_two_merges_has_one_entry() -> None:
    # "abc" is joined from "ab" + "##c" in one word and from "a" + "##bc" in another.
    words = {"abx": 9, "bcx": 1, "xbc": 9, "abc": 3}
    pieces = learned(words, objective="frequency", num=50)
    assert len(pieces) == len(set(pieces))
    assert "abc" in pieces


def test_alphabet_limit_keeps_the_most_frequent_characters() -> None:
    assert reference.alphabet({"ba": 1, "ca": 1}) == ["a", "b", "c"]
    assert reference.alphabet({"ba": 1, "ca": 1}, limit=2) == ["a", "b"]


def test_initial_alphabet_is_always_in_the_vocabulary() -> None:
    assert reference.alphabet({"ba": 1, "ca": 9}, limit=3, initial="xb") == ["a", "b", "x"]
    vocabulary = json.loads(trained("ab ab", initial_alphabet="xy", limit_alphabet=3).document)["model"][
        "vocab"
    ]
    assert list(vocabulary)[5:] == ["a", "x", "y"]
    assert trained("ab ab", initial_alphabet="x").encode("x") != [1]


def test_word_is_fully_covered_or_unknown() -> None:
    vocabulary = {"?": 0, "a": 1, "ab": 2, "##c": 3, "##cd": 4}
    assert longest_match("abcd", vocabulary, unknown=0) == [2, 4]
    assert longest_match("abcc", vocabulary, unknown=0) == [2, 3, 3]
    assert longest_match("abx", vocabulary, unknown=0) == [0]
    assert longest_match("abc", vocabulary, unknown=0, max_characters=2) == [0]
    assert longest_match("", vocabulary, unknown=0) == []


# Words


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"the", "cafe", ",", "東", "京", "x"}),
        ({"lowercase": False}, {"The", "Café", ",", "東", "京", "X"}),
        ({"strip_accents": False}, {"the", "café", ",", "東", "京", "x"}),
        ({"handle_chinese_chars": False}, {"the", "cafe", ",", "東京", "x"}),
    ],
)
def test_words_are_split_as_by_bert(options: dict[str, bool], expected: set[str]) -> None:
    assert set(dict(counted(["The Café, 東京\tX\0"], **options).items())) == expected


def test_special_tokens_split_words_and_documents_are_separate() -> None:
    counter = counted(["a[SEP]b", "", "c"])
    assert dict(counter.items()) == {"a": 1, "b": 1, "c": 1}
    assert (counter.documents, counter.num_bytes, counter.words, counter.distinct_words) == (2, 8, 3, 3)


def test_words_beyond_the_maximum_length_are_not_trained_on() -> None:
    config = WordPieceConfig(max_characters_per_word=3)
    counter = counted(["abc abcd abcd"], max_characters_per_word=3)
    assert (counter.items(), counter.too_long) == ([("abc", 1)], 2)
    tokenizer = WordPieceBackend().train(["abc abcd abcd"], config)
    assert tokenizer.training is not None
    assert "2 words have more than 3 characters" in tokenizer.training.notes[0]
    assert tokenizer.encode("abcd") == [1]


# Training


def test_training_equals_the_reference() -> None:
    text = bundled_texts()["parallel/en.txt"][:1500]
    for objective in ("frequency", "likelihood"):
        tokenizer = trained(text, vocab_size=200, objective=objective)
        words = dict(counted([text]).items())
        letters = reference.alphabet(words)
        first = [
            *WordPieceConfig().special_tokens,
            *reference.first_pieces(words, letters=letters, prefix="##"),
        ]
        expected = reference.train(
            words,
            pieces=first,
            letters=letters,
            num_pieces=200,
            objective=objective,  # type: ignore[arg-type]
        )
        vocabulary = json.loads(tokenizer.document)["model"]["vocab"]
        assert sorted(vocabulary, key=vocabulary.__getitem__) == expected
        assert tokenizer.training is not None
        assert tokenizer.training.learned_ids == range(len(first), 200)


def test_seed_and_document_order_do_not_change_the_result() -> None:
    names = ["parallel/en.txt", "parallel/ru.txt", "code/c.c"]
    first = trained(*(bundled_texts()[name] for name in names), vocab_size=600)
    other = trained(*(bundled_texts()[name] for name in names[::-1]), vocab_size=600, seed=9)
    assert first.document == other.document


def test_training_record_has_the_counts(english: WordPieceTokenizer) -> None:
    record = english.training
    assert record is not None
    text = bundled_texts()["parallel/en.txt"]
    assert (record.documents, record.num_bytes) == (1, len(text.encode()))
    assert record.tokens == len(english.encode(text))
    assert record.stopped_early is None
    assert record.learned_unit == "pieces"


def test_early_stop_is_explained() -> None:
    tokenizer = trained("ab ab", vocab_size=100)
    assert tokenizer.training is not None
    assert "9 of 100 tokens" in (tokenizer.training.stopped_early or "")
    assert tokenizer.info.vocab_size == 9  # 5 special tokens, a, b, ##b and ab


def test_default_size_depends_on_the_text() -> None:
    assert [fitted_size(words, largest=32_768) for words in (1, 4096, 10**7)] == [512, 512, 32768]
    assert trained("a text of few words").training is not None


def test_progress_is_reported_in_pieces() -> None:
    seen: list[tuple[str, int, int | None, str]] = []
    with chosen("python"):  # the compiled kernel ends before it reports anything
        WordPieceBackend().train(
            [bundled_texts()["parallel/en.txt"]],
            WordPieceConfig(vocab_size=400),
            progress=lambda *report: seen.append(report),
        )
    assert seen[-1] == ("joining", 400, 400, "pieces")
    assert len(seen) > 2


@pytest.mark.parametrize(
    ("documents", "error", "message"),
    [
        ([], TrainingError, "no text"),
        (["[SEP]"], TrainingError, "only white space, control characters or special tokens"),
        ([" \n\x00"], TrainingError, "only white space, control characters or special tokens"),
        (["a" * 101], TrainingError, "the only word of the text has more than 100 characters"),
        (["a" * 101, "b" * 200], TrainingError, "all 2 words of the text have more than 100 characters"),
        ("a text", TrainingError, "one text"),
        ([b"bytes"], TrainingError, "document 0 is bytes"),
        (["a", "\ud800"], TextError, "lone surrogate"),
    ],
)
def test_invalid_documents_are_refused(documents: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        WordPieceBackend().train(documents, WordPieceConfig())  # type: ignore[arg-type]


def test_too_small_vocabulary_is_refused_with_the_smallest_size() -> None:
    with pytest.raises(TrainingError) as caught:
        trained("abc", vocab_size=8)
    assert caught.value.hint == "make vocab_size at least 10, or limit_alphabet smaller"
    assert trained("abc", vocab_size=10).info.vocab_size == 10
    assert trained("abc", vocab_size=8, limit_alphabet=2).info.vocab_size <= 8


@pytest.mark.parametrize(
    "options",
    [
        *[{"objective": "loudness"}, {"vocab_size": 0}, {"vocab_size": 2**40}],
        *[{"special_tokens": ("the",)}, {"special_tokens": ("!",)}, {"special_tokens": ("[A]", "[A]")}],
        *[{"special_tokens": ("##a",)}, {"special_tokens": ("__ab",), "continuing_prefix": "__"}],
        *[{"special_tokens": ("[A\n]",)}, {"unknown_token": "unknown"}, {"continuing_prefix": ""}],
        *[{"continuing_prefix": "_x"}, {"max_characters_per_word": 0}, {"min_frequency": 0}],
        *[{"limit_alphabet": 0}, {"initial_alphabet": "\ud800"}, {"threads": 0}, {"seed": -1}],
    ],
    ids=str,
)
def test_invalid_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        WordPieceConfig(**options)  # type: ignore[arg-type]


# Encoding


def test_encoding_takes_the_longest_match(english: WordPieceTokenizer) -> None:
    vocabulary = json.loads(english.document)["model"]["vocab"]
    for word in ("water", "unbelievable", "the", "x" * 101, "☃", "waterfall☃"):
        expected = longest_match(word, vocabulary, unknown=1)
        assert english.encode(word) == expected


def test_spans_refer_to_the_original_text(english: WordPieceTokenizer) -> None:
    tokens = english.segment("Thé ☃ [SEP]", special=SpecialPolicy.ENCODE).tokens
    assert [(token.span, token.kind) for token in tokens[-2:]] == [
        (Span(5, 8), TokenKind.UNKNOWN),
        (Span(9, 14), TokenKind.SPECIAL),
    ]
    assert tokens[0].span.start == 0
    assert tokens[-3].span.stop == 4


def test_template_adds_cls_and_sep(english: WordPieceTokenizer) -> None:
    assert isinstance(english, SupportsTemplate)
    cls, sep = (english.info.special_tokens[text] for text in ("[CLS]", "[SEP]"))
    one, other = english.encode("the water"), english.encode("a bread")
    assert english.with_template("the water") == [cls, *one, sep]
    assert english.with_template("the water", "a bread") == [cls, *one, sep, *other, sep]
    bare = trained("the water", special_tokens=("[PAD]",))
    assert bare.with_template("the") == bare.encode("the")
    assert bare.info.special_tokens == {"[PAD]": 1}


# Saving


def test_saved_folder_has_the_files_for_other_libraries(english: WordPieceTokenizer, tmp_path: Path) -> None:
    english.save(tmp_path / "mine")
    names = sorted(path.name for path in (tmp_path / "mine").iterdir())
    assert names == ["tokbench.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    lines = (tmp_path / "mine" / "vocab.txt").read_text(encoding="utf-8").split("\n")
    vocabulary = json.loads(english.document)["model"]["vocab"]
    assert lines == [*sorted(vocabulary, key=vocabulary.__getitem__), ""]
    opened = WordPieceBackend().load(tmp_path / "mine", store.read_manifest(tmp_path / "mine"))
    assert opened.info == replace(english.info, name="mine")
    assert opened.config == english.config


def test_changed_tokenizer_json_is_refused(english: WordPieceTokenizer, tmp_path: Path) -> None:
    directory = tmp_path / "mine"
    english.save(directory)
    manifest = store.read_manifest(directory)
    files = store.read_files(directory, manifest)
    document = json.loads(files["tokenizer.json"])
    changes = [
        {**document, "normalizer": None},
        {**document, "added_tokens": document["added_tokens"][:-1]},
        {
            **document,
            "model": {**document["model"], "vocab": dict(list(document["model"]["vocab"].items())[:-1])},
        },
    ]
    for change in changes:
        changed = {**files, "tokenizer.json": json.dumps(change).encode()}
        store.write(directory, manifest=manifest, files=changed, overwrite=True)
        with pytest.raises(ModelFormatError):
            WordPieceBackend().load(directory, store.read_manifest(directory))
    rest = {name: data for name, data in files.items() if name != "tokenizer.json"}
    store.write(directory, manifest=manifest, files=rest, overwrite=True)
    with pytest.raises(ModelFormatError, match="none in the manifest"):
        WordPieceBackend().load(directory, store.read_manifest(directory))


@pytest.mark.parametrize(("preset", "text"), [("bert", "the"), ("bert-cased", "The")])
def test_presets_can_be_trained(preset: str, text: str) -> None:
    assert load_preset(preset).backend == "wordpiece"
    tokenizer = train_by_name(["The The"], preset=preset)
    assert [token.piece.decode() for token in tokenizer.segment("The").tokens] == [text]


def test_fast_trainer_drops_pairs_that_no_longer_occur() -> None:
    # More pairs than fit into the first table, most of which are merged away.
    letters = [chr(0x4E00 + number) for number in range(100)]
    words = {letter + other: 2 for letter in letters for other in letters if letter != other}
    first = reference.first_pieces(words, letters=letters, prefix="##")
    num_pieces = len(first) + len(words)
    pieces = train(words, pieces=first, letters=letters, num_pieces=num_pieces, objective="frequency")
    ids = {piece: id for id, piece in enumerate(first)}
    assert pieces[len(first) :] == sorted(words, key=lambda word: (ids[word[0]], ids["##" + word[1]]))
