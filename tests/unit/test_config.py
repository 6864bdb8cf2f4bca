"""Tests for backend options written as key=value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tokbench.config import build_config, load_preset, parse_option, parse_options
from tokbench.errors import ConfigError, UnknownBackendError
from tokbench.libraries.sentencepiece.config import UnigramConfig
from tokbench.workbench.train import train
from tokbench.workbench.training_config import parsed_options

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Config:
    size: int | None = None
    share: float = 1.0
    exact: bool = False
    name: str = ""
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("size=32000", 32000),
        ("size=32_000", 32000),
        ("size=32k", 32000),
        ("size=-1", -1),
        ("size=none", None),
        ("share=0.5", 0.5),
        ("share=1", 1.0),
        ("exact=true", True),
        ("exact=False", False),
        ("name=a=b,c", "a=b,c"),
        ("name=", ""),
        ("names=a, b", ["a", "b"]),
        ("names=", []),
        ('names=["a, b", " c", "d\\n"]', ["a, b", " c", "d\n"]),
        ('names= ["a"] ', ["a"]),
        ("names=[UNK],[PAD]", ["[UNK]", "[PAD]"]),
        ("names=[1]", ["[1]"]),
        ("names=[]", ["[]"]),
        ('names=["a"', ['["a"']),
        pytest.param("names=" + "[" * 9_999, ["[" * 9_999], id="deep"),
        ("sizes=1,2k", [1, 2000]),
    ],
)
def test_value_is_parsed_by_its_type(text: str, value: object) -> None:
    assert parse_option(Config, text, where="the backend") == (text.partition("=")[0], value)


def test_name_may_be_written_as_on_the_command_line() -> None:
    @dataclass(frozen=True)
    class Named:
        vocab_size: int = 0

    assert parse_option(Named, "vocab-size=3", where="the backend") == ("vocab_size", 3)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("size", "'size' has no value", "key=value"),
        ("=3", "no option ''", "the options are size, share"),
        ("sizee=3", "the backend 'x' has no option 'sizee'", "did you mean 'size'?"),
        ("size=", "size is '', where a whole number or nothing is needed", None),
        ("size=3.5", "size is '3.5'", None),
        ("size=k", "size is 'k'", None),
        ("share=x", "share is 'x', where a number", None),
        ("share=none", "share is 'none'", None),
        ("exact=yes", "exact is 'yes', where true or false", None),
        ("sizes=1,x", "sizes is '1,x', where a list of whole numbers", None),
    ],
)
def test_malformed_option_is_refused(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_option(Config, text, where="the backend 'x'")
    assert message in caught.value.message
    assert hint is None or hint in (caught.value.hint or "")


def test_options_of_the_library_are_passed_to_it() -> None:
    where = "the backend 'unigram'"
    texts = ["vocab-size=8k", "split_by_number=false", "shrinking-factor=0.7", "options=unk_surface=?"]
    options = parse_options(UnigramConfig, texts, where=where)
    assert options == {
        "vocab_size": 8000,
        "options": ["split_by_number=false", "shrinking_factor=0.7", "unk_surface=?"],
    }
    config = build_config(UnigramConfig, options, where=where)
    assert config.library_options()["shrinking_factor"] == "0.7"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("vocab_sise=3", "SentencePiece has no option 'vocab_sise'", "did you mean 'vocab_size'?"),
        (
            "split_by_numbr=true",
            "SentencePiece has no option 'split_by_numbr'",
            "did you mean 'split_by_number'?",
        ),
        ("num_threads=2", "the library's num_threads cannot be set here", "it follows threads"),
        ("split_by_number=maybe", "the option split_by_number is 'maybe'", "it needs true or false"),
    ],
)
def test_unknown_options_of_the_library_are_refused(text: str, message: str, hint: str) -> None:
    options = parse_options(UnigramConfig, [text], where="the backend 'unigram'")
    with pytest.raises(ConfigError, match=message) as caught:
        build_config(UnigramConfig, options, where="the backend 'unigram'")
    assert caught.value.hint == hint


def test_list_values_are_joined_and_the_last_other_value_counts() -> None:
    texts = ["names=a", "size=1", "names=b,c", "size=2"]
    assert parse_options(Config, texts, where="the backend") == {"names": ["a", "b", "c"], "size": 2}


def test_options_belong_to_the_chosen_backend() -> None:
    assert parsed_options(["split_digits=true"], preset="llama2") == {"split_digits": True}
    assert parsed_options(["min_frequency=3"]) == {"min_frequency": 3}
    with pytest.raises(ConfigError, match="the backend 'bpe' has no option 'split_digits'"):
        parsed_options(["split_digits=true"])
    with pytest.raises(UnknownBackendError):
        parsed_options(["a=b"], backend="no such")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("vocab_sise = 300", "the preset {} for bpe has no option 'vocab_sise'"),
        ('vocab_size = "32k"', "the preset {} for bpe: vocab_size is '32k', where a whole number"),
        ('special_tokens = "<a>"', "the preset {} for bpe: special_tokens is '<a>', where a list of strings"),
    ],
)
def test_a_wrong_option_of_a_preset_is_said_to_be_there(tmp_path: Path, option: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'backend = "bpe"\n[options]\n{option}\n')
    with pytest.raises(ConfigError) as caught:
        train(["text"], preset=str(path))
    assert caught.value.message.startswith(message.format(path))


def test_place_of_the_options_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('backend = "bpe"\nvocab_size = 300\n')
    with pytest.raises(ConfigError, match="has no option 'vocab_size'") as caught:
        load_preset(str(path))
    assert "below a line [options]" in str(caught.value.hint)


def test_the_encoding_of_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b'\xef\xbb\xbfbackend = "bpe"\n[options]\nvocab_size = 300\n')
    assert load_preset(str(path)).options == {"vocab_size": 300}
    path.write_bytes(b'backend = "bp\xe9"')
    with pytest.raises(ConfigError, match="expected UTF-8, found 0xE9 at byte 13"):
        load_preset(str(path))
