"""Encoding gives the ids of `tiktoken`, `tokenizers` and `transformers`, and those of recorded runs."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import chosen, kernel_named, learned
from support.texts import REPRESENTATIVES, bundled_texts, characters_alike, corpora, long_words, words
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

from tokbench.backends.bpe import BpeBackend, reference
from tokbench.backends.bpe.config import BpeConfig
from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConversionError
from tokbench.formats.tokenizer_json import to_byte_level

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokbench.backends.bpe.kernel import Kernel

BYTES = [bytes([value]) for value in range(256)]
SPECIAL_TOKENS = ("<|endoftext|>", "<pad>")
WITHOUT_NORMALIZATION = [name for name in PATTERN_NAMES if name != "qwen2"]


# tiktoken, on rank vocabularies


def tiktoken_of(tokens: Sequence[bytes], pattern: str) -> tiktoken.Encoding:
    ranks = {token: rank for rank, token in enumerate(tokens)}
    text = resolve_pattern(pattern).regex or r"(?s:.+)"
    return tiktoken.Encoding("peer", pat_str=text, mergeable_ranks=ranks, special_tokens={})


def by_ranks(kernel: Kernel, tokens: Sequence[bytes], pattern: str) -> BpeTokenizer:
    return BpeTokenizer.from_ranks(tokens, pattern=resolve_pattern(pattern), kernel=kernel)


@given(
    tokens=st.lists(st.text("abé", min_size=1, max_size=5).map(str.encode), unique=True, max_size=12),
    order=st.randoms(use_true_random=False),
    text=st.text("abé 1", max_size=60),
)
def test_any_ranks_merge_as_in_tiktoken(kernel: Kernel, tokens: list[bytes], order: Any, text: str) -> None:
    # Bytes need not come first, and tokens need not be reachable by merging.
    tokens = [*{*BYTES, *tokens}]
    order.shuffle(tokens)
    found = by_ranks(kernel, tokens, "gpt4").encode(text)
    assert found == tiktoken_of(tokens, "gpt4").encode_ordinary(text)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([*BYTES, b""], "token 256 is empty"),
        ([*BYTES, b"ab", b"ab"], "token 257 occurs twice"),
        (BYTES[:200] + BYTES[201:], "no token for the byte 200"),
    ],
)
def test_invalid_ranks_are_refused(kernel: Kernel, tokens: list[bytes], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        kernel.encoder_from_ranks(tokens, "gpt4")


REAL = {"cl100k_base": "gpt4", "r50k_base": "gpt2"}
real_vocabularies = pytest.mark.parametrize("name", REAL)


@cache
def ranks_of(path: Path) -> tuple[bytes, ...]:
    rows = [line.split() for line in path.read_bytes().splitlines()]
    assert [int(rank) for _, rank in rows] == list(range(len(rows)))
    return tuple(base64.b64decode(token) for token, _ in rows)


@cache
def real_tokenizer(kernel_name: str, shared: Path, name: str) -> BpeTokenizer:
    tokens = ranks_of(shared / f"vocab/openai/{name}.tiktoken")
    return by_ranks(kernel_named(kernel_name), tokens, REAL[name])


@cache
def real_tiktoken(shared: Path, name: str) -> tiktoken.Encoding:
    return tiktoken_of(ranks_of(shared / f"vocab/openai/{name}.tiktoken"), REAL[name])


@cache
def settled_characters() -> str:
    """Return the characters that every peer puts into the same classes as the `regex` package does."""
    among = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x20000)]))
    alike = characters_alike(classes_of_tiktoken, among=among)
    return characters_alike(classes_of_tokenizers, among=alike)


def classes_of_tiktoken(each: str, among: str) -> str:
    # tiktoken silently drops text that its pattern does not match.
    peer = tiktoken.Encoding(
        "classes",
        pat_str=each,
        mergeable_ranks={token: rank for rank, token in enumerate(BYTES)},
        special_tokens={},
    )
    return peer.decode(peer.encode_ordinary(among))


def classes_of_tokenizers(each: str, among: str) -> str:
    splitter = pre_tokenizers.Split(Regex(each), "removed", invert=True)
    return "".join(piece for piece, _ in splitter.pre_tokenize_str(among))


settled_texts = st.deferred(
    lambda: st.lists(
        st.sampled_from(
            [*REPRESENTATIVES, "'ll", "'S", "the", " The", "HTTPServer", "\n\n", "  ", "12345", "//"]
        )
        | st.sampled_from(settled_characters()),
        max_size=30,
    )
).map("".join)


def test_most_characters_are_classified_alike() -> None:
    assert set(REPRESENTATIVES) <= set(settled_characters())
    assert len(settled_characters()) > 0x1FFFF * 0.9


@pytest.mark.real
@real_vocabularies
@given(text=settled_texts)
def test_real_ranks_encode_any_text_as_in_tiktoken(
    kernel: Kernel, shared: Path, name: str, text: str
) -> None:
    found = real_tokenizer(kernel.name, shared, name).encode(text)
    assert found == real_tiktoken(shared, name).encode_ordinary(text)


@pytest.mark.real
@real_vocabularies
def test_real_ranks_encode_the_bundled_texts_as_in_tiktoken(kernel: Kernel, shared: Path, name: str) -> None:
    tokenizer, peer = real_tokenizer(kernel.name, shared, name), real_tiktoken(shared, name)
    for text in bundled_texts().values():
        assert tokenizer.encode(text) == peer.encode_ordinary(text)


@pytest.mark.real
@real_vocabularies
def test_every_real_token_is_encoded_as_in_tiktoken(native: Kernel, shared: Path, name: str) -> None:
    tokenizer, peer = real_tokenizer("native", shared, name), real_tiktoken(shared, name)
    pieces = [token.decode(errors="replace") for token in ranks_of(shared / f"vocab/openai/{name}.tiktoken")]
    expected = peer.encode_ordinary_batch(pieces)
    assert [ids.tolist() for ids in tokenizer.encode_batch(pieces)] == expected


@pytest.mark.slow
@pytest.mark.real
@real_vocabularies
def test_real_ranks_encode_real_texts_as_in_tiktoken(native: Kernel, shared: Path, name: str) -> None:
    tokenizer, peer = real_tokenizer("native", shared, name), real_tiktoken(shared, name)
    for path in [
        *(shared / "corpora/parallel_ntrex").glob("*.txt"),
        *(shared / "corpora/code").glob("*.txt"),
    ]:
        text = path.read_bytes().decode()
        assert tokenizer.encode(text) == peer.encode_ordinary(text), path.name


@pytest.mark.real
@real_vocabularies
def test_recorded_ids_are_reproduced(kernel: Kernel, shared: Path, name: str) -> None:
    tokenizer = real_tokenizer(kernel.name, shared, name)
    path = shared / f"vectors/gpt_tokenizer_testplans/{name}.jsonl"
    rows = list(map(json.loads, path.read_text(encoding="utf-8").splitlines()))
    assert rows
    for row in rows:
        assert tokenizer.encode(row["text"]) == row["ids"]
        assert tokenizer.decode(row["ids"]) == row["text"]


# tokenizers, on its vocabularies: ids in any order, gaps, listed merges, whole tokens first


@given(
    corpus=corpora,
    order=st.randoms(use_true_random=False),
    whole_tokens_first=st.booleans(),
    further=st.lists(st.text("abc", min_size=2, max_size=5).map(str.encode), unique=True, max_size=4),
    word=words | long_words,
)
def test_any_listed_merges_merge_as_in_tokenizers(
    kernel: Kernel,
    *,
    corpus: dict[str, int],
    order: Any,
    whole_tokens_first: bool,
    further: list[bytes],
    word: str,
) -> None:
    merges = learned(kernel, corpus)
    tokens = reference.vocabulary(merges)
    places = list(range(len(tokens) + 3))
    order.shuffle(places)
    by_id = [b""] * len(places)
    for number, token in enumerate(tokens):
        by_id[places[number]] = token
    by_id += [token for token in further if token not in tokens]
    rows = [(places[left], places[right], places[256 + i]) for i, (left, right, _) in enumerate(merges)]
    encoder = kernel.encoder_from_parts(
        by_id,
        np.array(rows, dtype=np.uint32).reshape(-1, 3),
        whole_tokens_first=whole_tokens_first,
        pattern=None,
    )
    peer = Tokenizer(
        models.BPE(
            vocab={to_byte_level(token): id for id, token in enumerate(by_id) if token},
            merges=[(to_byte_level(by_id[left]), to_byte_level(by_id[right])) for left, right, _ in rows],
            ignore_merges=whole_tokens_first,
        )
    )
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    assert encoder.encode(word) == peer.encode(word).ids


# Trained tokenizers, opened by other libraries


@cache
def trained(name: str) -> BpeTokenizer:
    with chosen(kernel_named("native").name):
        documents = [text for path, text in bundled_texts().items() if not path.startswith("edge")]
        config = BpeConfig(vocab_size=2000, pattern=name, special_tokens=SPECIAL_TOKENS)
        return BpeBackend().train(documents, config)


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tokenizers")
    for name in PATTERN_NAMES:
        trained(name).save(root / name)
    return root


with_specials = st.lists(settled_texts | st.sampled_from(SPECIAL_TOKENS), max_size=3).map("".join)


@pytest.fixture(scope="session", params=WITHOUT_NORMALIZATION)
def as_tiktoken(request: pytest.FixtureRequest) -> tuple[BpeTokenizer, tiktoken.Encoding]:
    tokenizer = trained(request.param)
    return tokenizer, tokenizer.to_tiktoken()


def test_tiktoken_gives_the_ids_of_the_bundled_texts(
    as_tiktoken: tuple[BpeTokenizer, tiktoken.Encoding],
) -> None:
    tokenizer, peer = as_tiktoken
    for text in bundled_texts().values():
        assert peer.encode_ordinary(text) == tokenizer.encode(text)


@given(text=with_specials)
def test_tiktoken_gives_the_ids_of_any_text(
    as_tiktoken: tuple[BpeTokenizer, tiktoken.Encoding], text: str
) -> None:
    tokenizer, peer = as_tiktoken
    assert peer.encode_ordinary(text) == tokenizer.encode(text)
    ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
    assert peer.encode(text, allowed_special="all") == ids
    assert peer.decode_bytes(ids) == tokenizer.decode_bytes(ids)


def test_tiktoken_has_the_same_special_tokens(as_tiktoken: tuple[BpeTokenizer, tiktoken.Encoding]) -> None:
    tokenizer, peer = as_tiktoken
    assert peer.special_tokens_set == set(SPECIAL_TOKENS)
    assert peer.n_vocab == tokenizer.info.vocab_size


def test_conversion_of_a_normalizer_to_tiktoken_is_refused() -> None:
    with pytest.raises(ConversionError, match="tiktoken has no normalizer") as caught:
        trained("qwen2").to_tiktoken()
    assert caught.value.hint


def test_tiktoken_opens_the_saved_ranks(saved: Path) -> None:
    for name in WITHOUT_NORMALIZATION:
        peer = tiktoken_of(ranks_of(saved / name / "ranks.tiktoken"), name)
        for text in list(bundled_texts().values())[::7]:
            assert peer.encode_ordinary(text) == trained(name).encode(text)


@pytest.fixture(scope="session", params=PATTERN_NAMES)
def as_tokenizers(request: pytest.FixtureRequest, saved: Path) -> tuple[BpeTokenizer, Tokenizer]:
    return trained(request.param), Tokenizer.from_file(str(saved / request.param / "tokenizer.json"))


def test_tokenizers_gives_the_ids_of_the_bundled_texts(as_tokenizers: tuple[BpeTokenizer, Tokenizer]) -> None:
    tokenizer, peer = as_tokenizers
    every = list(bundled_texts().values())
    for special, some in ((SpecialPolicy.TEXT, every[::3]), (SpecialPolicy.ENCODE, every[::7])):
        peer.encode_special_tokens = special is SpecialPolicy.TEXT
        for text in some:
            assert peer.encode(text).ids == tokenizer.encode(text, special=special)


@given(text=with_specials)
def test_tokenizers_gives_the_ids_of_any_text(
    as_tokenizers: tuple[BpeTokenizer, Tokenizer], text: str
) -> None:
    tokenizer, peer = as_tokenizers
    ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
    peer.encode_special_tokens = False
    assert peer.encode(text).ids == ids
    assert peer.decode(ids, skip_special_tokens=False) == tokenizer.decode(ids)
    peer.encode_special_tokens = True
    assert peer.encode(text).ids == tokenizer.encode(text)


def test_tokenizers_has_the_same_special_tokens(as_tokenizers: tuple[BpeTokenizer, Tokenizer]) -> None:
    tokenizer, peer = as_tokenizers
    added = peer.get_added_tokens_decoder()
    assert {token.content: id for id, token in added.items()} == tokenizer.info.special_tokens
    assert all(isinstance(token, AddedToken) and token.special for token in added.values())
    assert peer.get_vocab_size() == tokenizer.info.vocab_size


@pytest.mark.slow
@pytest.mark.parametrize("name", PATTERN_NAMES)
def test_transformers_gives_the_same_ids(saved: Path, name: str) -> None:
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    peers = [
        PreTrainedTokenizerFast(tokenizer_file=str(saved / name / "tokenizer.json")),
        PreTrainedTokenizerFast.from_pretrained(saved / name),
        AutoTokenizer.from_pretrained(saved / name),
    ]
    tokenizer = trained(name)
    texts = [text if name.startswith("edge/") else text[:3000] for name, text in bundled_texts().items()]
    for text in [*texts, "a<pad> b<|endoftext|>", "<pad><pad>", "  two  spaces ,  here .", ""]:
        ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
        for peer in peers:
            assert peer(text)["input_ids"] == ids
            assert peer.decode(ids) == tokenizer.decode(ids)
