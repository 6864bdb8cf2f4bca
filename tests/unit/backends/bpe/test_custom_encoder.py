"""Custom patterns: `regex` splits the first texts, the kernel those that follow, with the same ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.kernels import chosen
from support.texts import bundled_texts

from tokbench.backends.bpe import BpeBackend, custom_encoder
from tokbench.backends.bpe.config import BpeConfig
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.split_patterns import SplitPattern
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.progress import no_progress
from tokbench.errors import ConfigError, TextError

if TYPE_CHECKING:
    from tokbench.backends.bpe.kernel import Kernel

COMPILED = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"
NOT_COMPILED = r"\b\w+|[\s\S]"
TEXTS = ["low lower lowest 2026", "", "e\u0301te\u0301, naïve\u3000\U0001f642\n", "日本語 のテキスト"]


def trained(pattern: str) -> BpeTokenizer:
    config = BpeConfig(vocab_size=400, pattern=pattern, special_tokens=("<e>",))
    return BpeBackend().train(list(bundled_texts().values())[:4], config, progress=no_progress)


def refuse_regex(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("regex split a text")

    monkeypatch.setattr(custom_encoder, "split_offsets", fail)


@pytest.mark.parametrize("pattern", [COMPILED, NOT_COMPILED])
def test_ids_are_the_same_before_and_after_compiling(kernel: Kernel, pattern: str) -> None:
    with chosen(kernel.name):
        tokenizer = trained(pattern)
    before = [tokenizer.encode(text) for text in TEXTS]
    tokenizer.make_ready()
    assert [tokenizer.encode(text) for text in TEXTS] == before
    for threads in (1, 3):
        encoded = tokenizer.encode_batch(TEXTS * 20, threads=threads)
        assert [encoded[i].tolist() for i in range(len(TEXTS) * 20)] == before * 20
        assert tokenizer.count_batch(TEXTS, threads=threads).tolist() == [len(ids) for ids in before]


@pytest.mark.parametrize("method", ["encode", "encode_batch", "count_batch"])
def test_regex_splits_until_much_text_was_encoded(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if current_kernel().name != "native":
        pytest.skip("the compiled kernel is not chosen")
    tokenizer = trained(COMPILED)
    monkeypatch.setattr(custom_encoder, "_CHARACTERS_BEFORE_COMPILING", 100)
    text: object = "low lower" if method == "encode" else ["low lower"]
    with monkeypatch.context() as patch:
        refuse_regex(patch)
        with pytest.raises(AssertionError, match="regex split"):
            getattr(tokenizer, method)(text)
    for _ in range(10):
        expected = getattr(tokenizer, method)(text)
    refuse_regex(monkeypatch)
    for found, wanted in zip(getattr(tokenizer, method)(text), expected, strict=True):
        assert list(found) == list(wanted) if method == "encode_batch" else found == wanted


def test_a_large_batch_is_not_split_by_regex(monkeypatch: pytest.MonkeyPatch) -> None:
    if current_kernel().name != "native":
        pytest.skip("the compiled kernel is not chosen")
    tokenizer = trained(COMPILED)
    refuse_regex(monkeypatch)
    assert tokenizer.count_batch(["low lower " * 60_000])[0] > 60_000


def test_gap_of_a_pattern_is_refused_after_much_text(kernel: Kernel) -> None:
    with chosen(kernel.name):
        tokenizer = trained("[^\ue123]")
    tokenizer.make_ready()
    for encode in (tokenizer.encode, lambda text: tokenizer.encode_batch([text])):
        with pytest.raises(ConfigError, match="matches nothing at character 2"):
            encode("ab\ue123c")


@pytest.mark.parametrize("is_ready", [False, True])
def test_lone_surrogate_is_refused(kernel: Kernel, is_ready: bool) -> None:
    with chosen(kernel.name):
        tokenizer = trained(COMPILED)
    if is_ready:
        tokenizer.make_ready()
    with pytest.raises(TextError, match=r"U\+DC80, at character 2"):
        tokenizer.encode("ab\udc80")
    with pytest.raises(TextError, match="lone surrogate"):
        tokenizer.encode_batch(["ab", "ab\udc80"])


def test_text_is_normalized_before_it_is_split(kernel: Kernel) -> None:
    pattern = SplitPattern(name="custom", regex=COMPILED, normalization="nfc")
    tokens = [bytes([byte]) for byte in range(256)] + ["é".encode()]
    tokenizer = BpeTokenizer.from_ranks(tokens, pattern=pattern, kernel=kernel)
    for _ in range(2):
        assert tokenizer.encode("e\u0301") == [256]
        assert tokenizer.encode_batch(["e\u0301"])[0].tolist() == [256]
        tokenizer.make_ready()
