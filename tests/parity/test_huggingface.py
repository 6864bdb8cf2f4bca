"""The Hugging Face adapter and WordPiece give the ids of `tokenizers` and `transformers` on bundled and real data.

`transformers` and `tokenizers` add and find special tokens by default; here they are set to behave like tokbench:
no template, and special tokens only with SpecialPolicy.ENCODE.
"""

from __future__ import annotations

import lzma
from collections import Counter
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from support.texts import bundled_texts, texts
from support.wordpiece import counted_words
from tokenizers import models, normalizers, pre_tokenizers, trainers

from tokbench.backends.wordpiece import WordPieceBackend, reference
from tokbench.backends.wordpiece.config import WordPieceConfig
from tokbench.backends.wordpiece.kernel import current_kernel
from tokbench.core.tokens import SpecialPolicy
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

REAL = {
    "bert-base-uncased": (30522, False),
    "falcon": (65024, False),  # drops some control characters, for which it has no piece
    "gpt2": (50257, True),
    "t5-small": (32100, False),
}
"""Folders with a tokenizer.json → the sizes of their vocabularies, and whether they are lossless."""


# Real vocabularies


@cache
def _document(folder: Path) -> bytes:
    return (folder / "tokenizer.json").read_bytes()


@cache
def _opened(folder: Path) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(_document(folder), name=folder.name, backend="huggingface")


@cache
def _peer(folder: Path) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_buffer(_document(folder))


@pytest.fixture(scope="session", params=REAL)
def folder(request: pytest.FixtureRequest, shared: Path) -> Path:
    return shared / "vocab" / str(request.param)


@pytest.mark.real
def test_real_vocabulary_has_its_known_size_and_losslessness(folder: Path) -> None:
    info = _opened(folder).info
    assert (info.vocab_size, info.lossless) == REAL[folder.name]


@pytest.mark.real
def test_bundled_texts_have_the_ids_of_tokenizers(folder: Path) -> None:
    tokenizer, peer = _opened(folder), _peer(folder)
    marked = tuple(token.content for token in peer.get_added_tokens_decoder().values())
    some = list(bundled_texts().values())
    expected = [encoding.ids for encoding in peer.encode_batch(some, add_special_tokens=False)]
    assert [ids.tolist() for ids in tokenizer.encode_batch(some, special=SpecialPolicy.ENCODE)] == expected
    for text, ids in islice(zip(some, expected, strict=True), 0, None, 3):
        assert tokenizer.encode(text, special=SpecialPolicy.ENCODE) == ids
        if not any(mark in text for mark in marked):
            assert tokenizer.encode(text) == ids
        assert tokenizer.decode(ids) == peer.decode(ids, skip_special_tokens=False)
        assert (
            tokenizer.with_template(text[:500], special=SpecialPolicy.ENCODE) == peer.encode(text[:500]).ids
        )


@pytest.mark.real
def test_bundled_texts_have_ordered_spans(folder: Path) -> None:
    tokenizer = _opened(folder)
    for text in (text[:2000] for text in bundled_texts().values()):
        data, tokens = text.encode(), tokenizer.segment(text).tokens
        assert [token.id for token in tokens] == tokenizer.encode(text)
        assert all(one.span.stop <= other.span.start for one, other in pairwise(tokens))
        assert all(0 <= token.span.start <= token.span.stop <= len(data) for token in tokens)
        if tokenizer.info.lossless:
            assert all(token.piece == data[token.span.start : token.span.stop] for token in tokens)
            assert sum(token.span.length for token in tokens) == len(data)


@pytest.mark.real
@given(text=st.lists(texts | st.sampled_from(["[SEP]", "</s>", "<|endoftext|>"]), max_size=4).map("".join))
def test_any_text_has_the_ids_of_tokenizers(folder: Path, text: str) -> None:
    tokenizer, peer = _opened(folder), _peer(folder)
    ids = peer.encode(text, add_special_tokens=False).ids
    assert tokenizer.encode(text, special=SpecialPolicy.ENCODE) == ids
    peer.encode_special_tokens = True
    try:
        without = peer.encode(text, add_special_tokens=False).ids
    finally:
        peer.encode_special_tokens = False
    found = tokenizer.encode(text)
    assert set(tokenizer.info.special_tokens.values()).isdisjoint(found)
    if folder.name != "t5-small":  # its model finds </s> in its vocabulary regardless
        assert found == without


# WordPiece, trained


def _library_pieces(words_of: list[str], *, size: int) -> list[str]:
    """Return the vocabulary that the library's trainer learns, ordered by its ids, which differ between runs."""
    library = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, special_tokens=["[UNK]"], show_progress=False
    )
    library.train_from_iterator(words_of, trainer)
    vocabulary = library.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


def assert_same_pieces_as_library(texts: list[str], *, sizes: Sequence[int]) -> None:
    """Check that the pieces are equal given the order of the library's alphabet, a hash order that decides ties."""
    kernel = current_kernel()
    # The library also trains on the texts of special tokens.
    config = WordPieceConfig(max_characters_per_word=1000, special_tokens=(), unknown_token="[nowhere]")
    counter = counted_words(texts, config)
    words = dict(counter.items())
    letters = reference.alphabet(words)
    first = ["[UNK]", *reference.first_pieces(words, letters=letters, prefix="##")]
    for size in sizes:
        expected = _library_pieces(texts, size=len(first) + size)
        assert Counter(expected[: len(first)]) == Counter(first)
        pieces = kernel.train(
            counter,
            pieces=expected[: len(first)],
            letters=letters,
            num_pieces=len(first) + size,
            objective="frequency",
            min_frequency=2,
            prefix="##",
            seed=size,
            progress=None,
        )
        assert pieces == expected


@pytest.mark.parametrize(
    "names", [["parallel/en.txt"], ["parallel/fi.txt", "parallel/ru.txt", "code/rust.rs"]]
)
def test_pieces_by_frequency_equal_those_of_tokenizers(names: list[str]) -> None:
    assert_same_pieces_as_library([bundled_texts()[name] for name in names], sizes=(0, 50, 700))


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("name", ["en_100mb.txt.xz", "mixed_100mb.txt.xz"])
def test_pieces_of_a_megabyte_equal_those_of_tokenizers(shared: Path, name: str) -> None:
    with lzma.open(shared / "corpora" / name) as file:
        text = file.read(1 << 20).decode(errors="ignore")
    assert_same_pieces_as_library(text.splitlines(), sizes=(500, 8_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lowercase": False},
        {"strip_accents": False},
        {"handle_chinese_chars": False},
        {"objective": "likelihood"},
    ],
    ids=str,
)
def test_saved_folder_opens_in_tokenizers_and_transformers(
    options: dict[str, object], tmp_path: Path
) -> None:
    import transformers

    names = ("parallel/de.txt", "parallel/ja.txt", "code/html.html")
    config = WordPieceConfig(
        vocab_size=2500, special_tokens=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[X]"), **options
    )  # type: ignore[arg-type]
    tokenizer = WordPieceBackend().train([bundled_texts()[name] for name in names], config)
    tokenizer.save(tmp_path / "mine")
    exported = tokenizers.Tokenizer.from_file(str(tmp_path / "mine" / "tokenizer.json"))
    auto = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "mine"))
    bert = transformers.BertTokenizerFast.from_pretrained(str(tmp_path / "mine"))
    for text in ["", "[CLS] a [X] b [MASK]", *(text[:2000] for text in bundled_texts().values())]:
        ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
        assert exported.encode(text, add_special_tokens=False).ids == ids
        assert auto.encode(text, add_special_tokens=False) == ids
        assert bert.encode(text, add_special_tokens=False) == ids
        framed = tokenizer.with_template(text, "other text", special=SpecialPolicy.ENCODE)
        assert exported.encode(text, "other text").ids == framed
        assert auto(text, "other text")["input_ids"] == framed


@pytest.mark.parametrize(
    "options",
    [
        {"clean_text": False},
        {"continuing_prefix": "--"},
        {"max_characters_per_word": 3},
        {"special_tokens": ("<pad>", "<s>")},
        {"special_tokens": ("[CLS]", "[SEP]", "[PAD]")},
        {"special_tokens": (), "unknown_token": "<unk>"},
    ],
    ids=str,
)
def test_saved_folder_without_the_options_of_bert_opens_in_transformers(
    options: dict[str, object], tmp_path: Path
) -> None:
    """BERT's class would build another model for them, or add special tokens beyond the vocabulary."""
    import transformers

    config = WordPieceConfig(vocab_size=900, **options)  # type: ignore[arg-type]
    tokenizer = WordPieceBackend().train([bundled_texts()["parallel/de.txt"]], config)
    tokenizer.save(tmp_path / "mine")
    auto = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "mine"))
    assert len(auto) == tokenizer.info.vocab_size
    for text in ["a\0b \x1d", "[CLS] a [MASK]", "<s> a <pad>", bundled_texts()["parallel/de.txt"][:2000]]:
        ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
        assert auto.encode(text, add_special_tokens=False) == ids
        assert auto.encode(text) == tokenizer.with_template(text, special=SpecialPolicy.ENCODE)
        assert auto.decode(ids) == tokenizer.decode(ids)
    assert auto("a")["token_type_ids"]
