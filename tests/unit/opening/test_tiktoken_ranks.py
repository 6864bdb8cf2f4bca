"""Tests for rank files: their pattern, special tokens, gaps, and engine."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from support.small_files import BYTES, opened, rank_file, ranks

import tokbench
from tokbench import SpecialPolicy
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.core.descriptions import ByteLevelBpe
from tokbench.core.tokens import Span
from tokbench.errors import ConfigError, ConversionError, UnknownIdError
from tokbench.opening.known_ranks import KNOWN_BY_SHA256, KnownRanks
from tokbench.opening.native_with_fallback import NativeBpeWithFallback
from tokbench.opening.request import OpenRequest
from tokbench.workbench.convert import convert
from tokbench.workbench.open import open_tokenizer

if TYPE_CHECKING:
    from pathlib import Path


def test_rank_file_requires_a_pattern(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not define how to split text") as caught:
        tokbench.load(ranks(tmp_path))
    assert "--pattern takes a name" in (caught.value.hint or "")


def test_load_prepares_for_much_text_and_a_command_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[NativeBpeWithFallback] = []

    def noted(self: NativeBpeWithFallback) -> None:
        prepared.append(self)

    monkeypatch.setattr(NativeBpeWithFallback, "make_ready", noted)
    open_tokenizer(ranks(tmp_path), OpenRequest(pattern="gpt4"))
    assert prepared == []
    assert [tokbench.load(ranks(tmp_path), pattern="gpt4")] == prepared


def test_usual_number_of_ranks_suggests_its_pattern(tmp_path: Path) -> None:
    pairs = [bytes([first, second]) for first in range(256) for second in range(196)]
    with pytest.raises(ConfigError) as caught:
        tokbench.load(ranks(tmp_path, [*BYTES, *pairs][:50256]))
    assert caught.value.hint == "50,256 ranks are usual with --pattern gpt2"


def test_special_tokens_get_their_given_ids_or_the_next_free_ones(tmp_path: Path) -> None:
    tokenizer = tokbench.load(
        ranks(tmp_path), pattern="gpt4o", special_tokens={"<|eot|>": 300, "<|pad|>": None, "<|x|>": None}
    )
    assert dict(tokenizer.info.special_tokens) == {"<|eot|>": 300, "<|pad|>": 301, "<|x|>": 302}
    assert tokenizer.info.vocab_size == 303
    text = "low<|eot|> low<|pad|>"
    assert tokenizer.encode(text, special=SpecialPolicy.ENCODE) == [257, 300, 258, 301]
    assert 300 not in tokenizer.encode(text)
    assert tokenizer.decode([257, 300, 258]) == "low<|eot|> low"
    with pytest.raises(UnknownIdError):
        tokenizer.decode([280])


@pytest.mark.parametrize(
    ("special_tokens", "message"),
    [
        ({"<a>": 97}, "the id 97, which is of an ordinary token"),
        ({"<a>": 300, "<b>": 300}, "the id 300, which is of '<b>'"),
        ({"<a>": -1}, "the id -1, which is impossible"),
        ({"<a>": 1 << 30}, "which is impossible"),
        ({"<a>": 300, "<a><b>": 301}, "is part of"),
        ({"": 300}, "is empty"),
    ],
)
def test_invalid_special_tokens_are_refused(
    tmp_path: Path, special_tokens: dict[str, int | None], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        tokbench.load(ranks(tmp_path), pattern="gpt4", special_tokens=special_tokens)


@pytest.mark.parametrize("engine", ["native", "library"])
def test_gaps_in_the_ranks_may_hold_special_tokens(tmp_path: Path, engine: str) -> None:
    tokens: list[Any] = [*BYTES, b"lo", None, None, b"low", None, b" low"]
    tokenizer = tokbench.load(
        ranks(tmp_path, tokens), pattern="gpt4", special_tokens={"<|mid|>": 258}, engine=engine
    )
    assert tokenizer.encode("low low") == [259, 261]
    assert tokenizer.decode_bytes([259, 258, 261]) == b"low<|mid|> low"
    assert tokenizer.token_bytes(258) == b"<|mid|>"
    assert tokenizer.token_id(b"<|mid|>") == 258
    for gap in (257, 260):
        with pytest.raises(UnknownIdError):
            tokenizer.token_bytes(gap)
        with pytest.raises(UnknownIdError):
            tokenizer.decode_bytes([259, gap])
    assert tokenizer.info.vocab_size == 262


@pytest.mark.parametrize(
    ("pattern", "reason", "ids"),
    [
        (r"(?:lo)+|\w|\W+", "the native kernel does not run its split pattern", [256, 119]),
        (r"\w+|[^\w🙂]", "its split pattern may leave out parts of a text", [257]),
        (r"\s+$|\w+|\W", "its split pattern matches ends of lines", [257]),
    ],
)
def test_pattern_that_engines_may_read_differently_runs_in_tiktoken(
    tmp_path: Path, pattern: str, reason: str, ids: list[int]
) -> None:
    model = opened(ranks(tmp_path), pattern=pattern)
    assert model.engine == "library"
    assert model.reason.startswith(reason)
    assert model.tokenizer.encode("low") == ids
    with pytest.raises(ConfigError, match="--engine native cannot run this tokenizer"):
        opened(ranks(tmp_path), pattern=pattern, engine="native")


def test_panic_of_tiktoken_becomes_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tiktoken's regex engine panics on a million spaces, which pyo3 raises as a `BaseException`."""

    class PanicException(BaseException):
        pass

    class Panicking:
        def encode_ordinary(self, text: str) -> list[int]:
            raise PanicException("RuntimeError(StackOverflow)")

    tokenizer = tokbench.load(ranks(tmp_path), pattern=r"(?:lo)+|\w|\W+")
    monkeypatch.setattr(tokenizer, "_encoding", Panicking())
    with pytest.raises(ConfigError, match="tiktoken cannot split a text of 3 characters"):
        tokenizer.encode("low")


def test_qwen2_requires_our_kernel_over_ranks(tmp_path: Path) -> None:
    tokenizer = tokbench.load(ranks(tmp_path), pattern="qwen2")
    assert not tokenizer.info.lossless
    assert tokenizer.encode("e\u0301") == tokenizer.encode("é")
    with pytest.raises(ConfigError, match="tiktoken has no normalizer"):
        tokbench.load(ranks(tmp_path), pattern="qwen2", engine="library")


@pytest.mark.parametrize("engine", ["native", "library"])
def test_empty_token_among_the_ranks_never_occurs_in_a_text(tmp_path: Path, engine: str) -> None:
    """Whisper's file has such a token, written as a lone "="."""
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(rank_file([*BYTES, b"lo"]) + b"= 257\n" + base64.b64encode(b"low") + b" 258\n")
    tokenizer = tokbench.load(path, pattern="gpt2", engine=engine, special_tokens={"<|end|>": 259})
    assert tokenizer.encode("low lo") == [258, 32, 256]
    assert tokenizer.encode("") == []
    assert tokenizer.token_bytes(257) == b""
    assert tokenizer.decode_bytes([258, 257, 256]) == b"lowlo"
    assert tokenizer.token_id(b"") == 257
    out = tmp_path / "mine.tokbin"
    convert(tokenizer, to="tokbin", out=out)
    assert tokbench.load(out).decode_bytes([258, 257, 256]) == b"lowlo"
    assert tokbench.load(out).encode("low<|end|>") == tokenizer.encode("low<|end|>")


def test_description_equals_the_opened_ranks(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(ranks(tmp_path, [*BYTES, None, b"lo"]), pattern="gpt4")
    described = tokenizer.description()
    assert isinstance(described, ByteLevelBpe)
    assert described.tokens[256:] == (None, b"lo")
    assert described.merges is None
    assert described.pattern_name == "gpt4"
    assert tokenizer.to_tiktoken().encode("lolo") == [257, 257]
    with pytest.raises(ConversionError):
        tokenizer.save(tmp_path / "saved")


def test_known_file_is_normalized_before_its_own_pattern_splits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of Qwen 3.5, whose pattern keeps marks with letters. A pattern that is given has no normalization."""
    path = ranks(tmp_path, [*BYTES, "é".encode()])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    known = KnownRanks("composed", r"[\p{L}\p{M}]+|[^\p{L}\p{M}]+", normalization="nfc")
    monkeypatch.setitem(KNOWN_BY_SHA256, digest, known)
    found = opened(path)
    assert (found.engine, found.tokenizer.info.lossless) == ("native", False)
    splitter = "the kernel" if current_kernel().name == "native" else "regex"
    assert found.reason.startswith(f"{splitter} splits by its pattern, after NFC, and merging")
    assert found.tokenizer.encode("e\u0301") == [256]
    tokens = found.tokenizer.segment("e\u0301.").tokens
    assert [(token.id, token.span) for token in tokens] == [(256, Span(0, 3)), (46, Span(3, 4))]
    assert opened(path, pattern="gpt4").tokenizer.encode("e\u0301") == [101, 204, 129]
    with pytest.raises(ConfigError, match="composed normalizes text to NFC first"):
        opened(path, engine="library")
