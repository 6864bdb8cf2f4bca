"""The three baselines: bytes, characters, words."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import orjson
import pytest
import regex
from hypothesis import given
from support.texts import bundled_texts, texts

from tokbench import store
from tokbench.backends.baseline import ByteBackend, CharBackend, WordBackend
from tokbench.backends.baseline.byte import ByteConfig, ByteTokenizer
from tokbench.backends.baseline.frequent import FrequentConfig, FrequentTokenizer, WordTokenizer
from tokbench.core.tokens import Span, SpecialPolicy, TokenKind
from tokbench.errors import ConfigError, ModelFormatError, TextError, TrainingError
from tokbench.registry import backend_names, get_backend

if TYPE_CHECKING:
    from pathlib import Path


def trained(backend: CharBackend | WordBackend, *texts: str, **options: object) -> FrequentTokenizer:
    return backend.train(texts, FrequentConfig(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["byte", "char", "word"])
def test_baselines_are_registered(name: str) -> None:
    assert name in backend_names()
    assert get_backend(name).name == name


# Bytes


def test_byte_ids_are_their_values_and_special_tokens_follow() -> None:
    tokenizer = ByteBackend().train([], ByteConfig(special_tokens=("<s>", "</s>")))
    assert tokenizer.info.special_tokens == {"<s>": 256, "</s>": 257}
    assert tokenizer.info.vocab_size == 258
    assert tokenizer.encode("é<s>", special=SpecialPolicy.ENCODE) == [0xC3, 0xA9, 256]
    assert tokenizer.token_id(b"<s>") == 256
    assert tokenizer.token_id(b"ab") is None


@given(text=texts)
def test_bytes_are_lossless(text: str) -> None:
    tokenizer = ByteTokenizer()
    assert tokenizer.decode_bytes(tokenizer.encode(text)) == text.encode()
    assert tokenizer.encode(text) == tokenizer.segment(text).ids == list(text.encode())


def test_changed_ids_of_special_tokens_are_refused(tmp_path: Path) -> None:
    ByteTokenizer(special_tokens=["<s>", "</s>"]).save(tmp_path / "mine")
    path = tmp_path / "mine" / store.MANIFEST_NAME
    document = orjson.loads(path.read_bytes())
    document["special_tokens"] = {"<s>": 7, "</s>": 257}
    path.write_bytes(orjson.dumps(document))
    with pytest.raises(ModelFormatError, match="id 256"):
        ByteBackend().load(tmp_path / "mine", store.read_manifest(tmp_path / "mine"))


# Characters


def test_characters_are_sorted_by_frequency_then_code_point() -> None:
    tokenizer = trained(CharBackend(), "cabbac", "é", vocab_size=4)
    assert tokenizer.parts == ("[UNK]", "a", "b", "c")
    tokens = tokenizer.segment("aéb").tokens
    assert [(token.id, token.piece, token.span, token.kind) for token in tokens] == [
        (1, b"a", Span(0, 1), TokenKind.NORMAL),
        (0, b"[UNK]", Span(1, 3), TokenKind.UNKNOWN),
        (2, b"b", Span(3, 4), TokenKind.NORMAL),
    ]


def test_rare_characters_have_no_entry() -> None:
    tokenizer = trained(CharBackend(), "aab", min_frequency=2, vocab_size=9)
    assert tokenizer.parts == ("[UNK]", "a")
    assert tokenizer.training is not None
    assert "2 of 9 tokens" in (tokenizer.training.stopped_early or "")


def test_special_tokens_are_excluded_from_the_trained_text() -> None:
    tokenizer = trained(CharBackend(), "a<s>b<s>", special_tokens=("<s>",))
    assert tokenizer.parts == ("[UNK]", "<s>", "a", "b")
    assert tokenizer.info.special_tokens == {"<s>": 1}
    assert tokenizer.encode("<s>") == [0, 0, 0]
    assert tokenizer.encode("<s>", special=SpecialPolicy.ENCODE) == [1]
    assert (tokenizer.token_id(b"[UNK]"), tokenizer.token_id(b"<s>"), tokenizer.token_id(b"\xff")) == (
        0,
        1,
        None,
    )


# Words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("don't stop", ["don't", " ", "stop"]),
        ("3.14, ... x", ["3.14", ", ... ", "x"]),
        (" \n\t", [" \n\t"]),
        ("東京タワー", ["東", "京", "タワー"]),
        ("e\u0301tat a", ["e\u0301tat", " ", "a"]),
        ("snake_case", ["snake_case"]),
    ],
)
def test_words_follow_uax_29(text: str, words: list[str]) -> None:
    assert WordTokenizer.cut(text) == words


@given(text=texts)
def test_words_partition_the_text(text: str) -> None:
    words = list(WordTokenizer.cut(text))
    assert "".join(words) == text
    assert all(words)
    between = [regex.search(r"\w", word) is None for word in words]
    assert not any(one and other for one, other in pairwise(between))


def test_words_and_separators_are_tokens() -> None:
    tokenizer = trained(WordBackend(), "the cat, the dog, the end", vocab_size=4)
    assert tokenizer.parts == ("[UNK]", " ", "the", ", ")
    assert tokenizer.decode(tokenizer.encode("the cat, the")) == "the [UNK], the"


def test_long_run_of_punctuation_is_split_in_linear_time() -> None:
    assert WordTokenizer.cut("!" * 200_000) == ["!" * 200_000]


# Both


@pytest.mark.parametrize("backend", [CharBackend(), WordBackend()], ids=lambda backend: backend.name)
def test_training_record_has_the_counts(backend: CharBackend | WordBackend) -> None:
    text = bundled_texts()["parallel/de.txt"]
    tokenizer = trained(backend, text, "", vocab_size=50)
    record = tokenizer.training
    assert record is not None
    assert (record.documents, record.num_bytes, record.tokens) == (
        1,
        len(text.encode()),
        len(tokenizer.encode(text)),
    )
    assert (record.learned_ids, record.stopped_early) == (range(1, 50), None)


@pytest.mark.parametrize("backend", [CharBackend(), WordBackend()], ids=lambda backend: backend.name)
def test_document_order_does_not_change_the_vocabulary(backend: CharBackend | WordBackend) -> None:
    some = [bundled_texts()[name] for name in ("parallel/de.txt", "parallel/ja.txt", "code/go.go")]
    assert (
        trained(backend, *some, vocab_size=500).parts == trained(backend, *some[::-1], vocab_size=500).parts
    )


@pytest.mark.parametrize("backend", [CharBackend(), WordBackend()], ids=lambda backend: backend.name)
def test_training_without_valid_texts_is_refused(backend: CharBackend | WordBackend) -> None:
    with pytest.raises(TrainingError, match="no text"):
        backend.train([""], FrequentConfig())
    with pytest.raises(TrainingError, match="one text"):
        backend.train("text", FrequentConfig())
    with pytest.raises(TextError):
        backend.train(["\ud800"], FrequentConfig())


@pytest.mark.parametrize(
    "options",
    [{"vocab_size": 1}, {"vocab_size": 2**30}, {"min_frequency": 0}, {"special_tokens": ("a", "ab")}],
    ids=str,
)
def test_invalid_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        FrequentConfig(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "vocabulary",
    [
        *[b"", b"{}", b'["a"]', b'["[UNK]", "a", 3]', b'["[UNK]", "a", ""]', b'["[UNK]", "a"]'],
        b'["a", "[UNK]", "b"]',
    ],
    ids=bytes.decode,
)
def test_damaged_vocabulary_is_refused(vocabulary: bytes, tmp_path: Path) -> None:
    trained(CharBackend(), "ab").save(tmp_path / "mine")
    assert CharBackend().load(tmp_path / "mine", store.read_manifest(tmp_path / "mine")).parts == (
        "[UNK]",
        "a",
        "b",
    )
    manifest = store.read_manifest(tmp_path / "mine")
    store.write(tmp_path / "mine", manifest=manifest, files={"vocabulary.json": vocabulary}, overwrite=True)
    with pytest.raises(ModelFormatError):
        CharBackend().load(tmp_path / "mine", store.read_manifest(tmp_path / "mine"))
