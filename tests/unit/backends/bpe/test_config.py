"""Options of the byte-level BPE: which values are refused, and the nearest values that work."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from tokbench.backends.bpe.config import BpeConfig
from tokbench.backends.bpe.split_patterns import PATTERN_NAMES
from tokbench.errors import ConfigError


def test_defaults_are_valid() -> None:
    config = BpeConfig()
    assert (config.vocab_size, config.pattern, config.special_tokens) == (None, "gpt4", ())
    assert (config.min_frequency, config.max_token_length, config.threads, config.seed) == (2, None, None, 0)


def test_every_option_has_help() -> None:
    assert [field.name for field in fields(BpeConfig) if not field.metadata.get("help")] == []


@pytest.mark.parametrize("name", PATTERN_NAMES)
def test_every_named_pattern_can_be_chosen(name: str) -> None:
    assert BpeConfig(pattern=name).pattern == name


def test_configuration_is_immutable() -> None:
    with pytest.raises(FrozenInstanceError):
        BpeConfig().vocab_size = 300  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (
            {"vocab_size": 255},
            "a vocabulary of 255 is too small: it must contain the 256 bytes",
            "the smallest that works is 256",
        ),
        (
            {"vocab_size": 257, "special_tokens": ("<a>", "<b>")},
            "a vocabulary of 257 is too small: it must contain the 256 bytes and 2 special tokens",
            "the smallest that works is 258",
        ),
        (
            {"vocab_size": 256, "special_tokens": ("<a>",)},
            "a vocabulary of 256 is too small: it must contain the 256 bytes and 1 special token",
            "the smallest that works is 257",
        ),
        (
            {"vocab_size": 0},
            "a vocabulary of 0 is too small: it must contain the 256 bytes",
            "the smallest that works is 256",
        ),
        (
            {"vocab_size": 2**31 + 1},
            "a vocabulary of 2147483649 is too large",
            "it must be at most 2,147,483,648",
        ),
        ({"min_frequency": 0}, "min_frequency is 0", "it must be at least 1"),
        ({"min_frequency": -3}, "min_frequency is -3", "it must be at least 1"),
        ({"max_token_length": 0}, "max_token_length is 0", "it must be at least 1"),
        ({"threads": 0}, "threads is 0", "it must be at least 1"),
        ({"seed": -1}, "seed is -1", "it must be at least 0"),
    ],
)
def test_option_out_of_range_is_refused_with_a_hint(
    options: dict[str, object], message: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        BpeConfig(**options)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize("name", ["min_frequency", "max_token_length", "threads", "seed"])
def test_number_beyond_64_bits_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        BpeConfig(**{name: 2**63})


@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": 256},
        {"vocab_size": 258, "special_tokens": ("<a>", "<b>")},
        {"vocab_size": 2**31},
        {"min_frequency": 1, "max_token_length": 1, "threads": 1, "seed": 0},
        {"min_frequency": 2**63 - 1, "seed": 2**63 - 1},
    ],
)
def test_limits_themselves_are_accepted(options: dict[str, object]) -> None:
    assert BpeConfig(**options)


@pytest.mark.parametrize("tokens", [("",), ("<a>", "<a>"), ("<a>", "x<a>"), ("\ud800",)])
def test_invalid_special_tokens_are_refused(tokens: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="special token"):
        BpeConfig(special_tokens=tokens)


@pytest.mark.parametrize("pattern", ["", "gpt-4", "(", r"\w*|\W", r"\w+"])
def test_invalid_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="split pattern"):
        BpeConfig(pattern=pattern)
