"""Converting tokenizers of other libraries to tiktoken, which need to split by one pattern and merge bytes."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from support import huggingface
from support.huggingface import added
from support.sentencepiece_models import variant

from tokbench import SpecialPolicy
from tokbench.convert.conversion import Source, target_named
from tokbench.convert.proof import prove
from tokbench.errors import ConversionError
from tokbench.formats.tiktoken import parse_ranks
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.opening.tokenizer_json_tokens import overlapping
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def tokenizer_with(*tokens: dict[str, Any], **parts: Any) -> HuggingFaceTokenizer:
    """Return a BPE like GPT-2's with more added tokens, numbered from 600."""
    document = json.loads(huggingface.byte_level())
    document["added_tokens"] += [token | {"id": 600 + number} for number, token in enumerate(tokens)]
    return HuggingFaceTokenizer(json.dumps(document | parts).encode(), name="mine", backend="bpe")


def encoding_of(path: Path, notes: Sequence[str]) -> tiktoken.Encoding:
    """Make the encoding from only the file and the conversion's first note."""
    pattern, special = notes[0].split("pat_str=")[1].split(", special_tokens=")
    return tiktoken.Encoding(
        "converted",
        pat_str=ast.literal_eval(pattern),
        mergeable_ranks=dict(parse_ranks(path.read_bytes(), path=path)),
        special_tokens=ast.literal_eval(special),
    )


@pytest.mark.usefixtures("short_proofs")
def test_thousands_of_special_tokens_are_not_written_out(tmp_path: Path) -> None:
    """Llama 4 has 2,048, which would fill a page; up to sixteen can be copied."""
    reserved = [added(f"<|reserved_{number}|>", 0, lstrip=number > 1000) for number in range(1100)]
    result = convert(tokenizer_with(*reserved), to="tiktoken", out=tmp_path / "mine.tiktoken")
    arguments, options, flags = result.notes
    assert "'</s>': 1, '<|reserved_0|>': 600}, and so on for all 1,102 special tokens" in arguments
    assert options.endswith(" and so on for all 1,102 special tokens, which tokbench inspect --json lists")
    assert "the special tokens '<|reserved_1001|>', " in flags
    assert "and 96 more have the flag lstrip" in flags


@pytest.mark.usefixtures("short_proofs")
def test_special_token_with_a_flag_converts_with_a_note(tmp_path: Path) -> None:
    """RoBERTa's <mask> takes the space before it, which does not affect ordinary text."""
    source = tokenizer_with(added("<mask>", 0, lstrip=True))
    result = convert(source, to="tiktoken", out=tmp_path / "mine.tiktoken")
    assert any("'<mask>' has the flag lstrip" in note for note in result.notes)
    assert any(
        "texts without '<mask>' where special tokens are found" in limit for limit in result.proof.limits
    )
    encoding = encoding_of(result.out, result.notes)
    for text in ("a <mask> b", "the the </s>", ""):
        assert encoding.encode_ordinary(text) == source.encode(text)
    assert encoding.encode("<s>a", allowed_special="all") == source.encode(
        "<s>a", special=SpecialPolicy.ENCODE
    )


def test_proof_excludes_only_texts_affected_by_the_flag(tmp_path: Path) -> None:
    source = tokenizer_with(added("<mask>", 0, lstrip=True))
    product = target_named("tiktoken").make(Source(tokenizer=source, description=source.description()))
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(product.files[""])
    peer = product.open(path)
    assert peer.encode_special is not None
    assert list(peer.encode_special("a <mask>")) != source.encode("a <mask>", special=SpecialPolicy.ENCODE)
    assert prove(source, peer).agrees


@given(
    parts=st.lists(
        st.sampled_from(["<|0.00|>", "<|0.02|>", "<s>", " the", "and", " ", "\n", "é", "<|0.", "|>"]),
        max_size=8,
    )
)
@pytest.mark.usefixtures("short_proofs")
def test_added_tokens_that_are_not_special_become_special_in_tiktoken(
    parts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whisper's time stamps are matched after the other added tokens, which makes no difference to these texts."""
    source = tokenizer_with(*TIMES)
    encoding = encoding_of(*_timed(tmp_path_factory))
    text = "".join(parts)
    times = {token["content"] for token in TIMES}
    assert encoding.encode(text, allowed_special=times, disallowed_special=()) == source.encode(text)


TIMES = [added(f"<|0.0{digit}|>", 0, special=False, normalized=True) for digit in (0, 2, 4, 6)]
_TIMED: list[tuple[Path, tuple[str, ...]]] = []


def _timed(factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, ...]]:
    """Return the converted file and its notes, which are made once."""
    if not _TIMED:
        result = convert(
            tokenizer_with(*TIMES), to="tiktoken", out=factory.mktemp("timed") / "timed.tiktoken"
        )
        assert "'<|0.00|>', '<|0.02|>', '<|0.04|>' and 1 more) are found in every text" in result.notes[2]
        _TIMED.append((result.out, result.notes))
    return _TIMED[0]


def test_custom_pattern_is_converted(tmp_path: Path) -> None:
    split = {
        "type": "Split",
        "pattern": {"Regex": r"\p{N}|[^\p{N}]+"},
        "behavior": "Isolated",
        "invert": False,
    }
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    source = tokenizer_with(pre_tokenizer={"type": "Sequence", "pretokenizers": [split, byte_level]})
    result = convert(source, to="tiktoken", out=tmp_path / "mine.tiktoken")
    assert encoding_of(result.out, result.notes).encode_ordinary("the 12 the") == source.encode("the 12 the")


REFUSED = [
    (
        [added("<x>", 0, special=False, lstrip=True)],
        {},
        "'<x>' is found in every text and has the flag lstrip",
    ),
    ([added("  ", 0, special=False), added("    ", 0, special=False)], {}, "'  ' and '    ' can overlap"),
    ([], {"normalizer": {"type": "Lowercase"}}, r"it normalizes the text \(Lowercase\)"),
    (
        [],
        {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}},
        "it prepends a space to the text",
    ),
    ([], {"normalizer": {"type": "NFC"}}, "normalized to NFC first"),
]


@pytest.mark.parametrize(("tokens", "parts", "reason"), REFUSED)
def test_refusal_names_the_unsupported_setting(
    tokens: list[dict[str, Any]], parts: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ConversionError, match=reason) as refused:
        convert(tokenizer_with(*tokens, **parts), to="tiktoken", out=tmp_path / "out")
    assert "another kind" not in refused.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [("bpe as llama", "SentencePiece bpe model"), ("unigram as t5", "SentencePiece unigram model")],
)
def test_refusal_names_a_sentencepiece_model(name: str, kind: str, tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match=f"byte-level BPE only, and this is a {kind}"):
        convert(variant(name), to="tiktoken", out=tmp_path / "out")


@given(texts=st.sets(st.text("ab<>", min_size=1, max_size=4), max_size=4))
def test_overlapping_texts_share_characters_in_some_text(texts: set[str]) -> None:
    def share(one: str, other: str) -> bool:
        ends = range(1, min(len(one), len(other)) + 1)
        return one != other and (one in other or any(one.endswith(other[:size]) for size in ends))

    pair = overlapping(sorted(texts))
    assert (pair is not None) == any(share(text, other) for text in texts for other in texts)
    assert pair is None or share(*pair)
