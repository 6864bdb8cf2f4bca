"""Training of SentencePiece's BPE: the kernel compared to its definition, and both to the library."""

from __future__ import annotations

import io
import re
from collections import Counter
from random import Random
from typing import Any

import pytest
import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st
from support.kernels import KERNEL_NAMES, chosen, kernel_named
from support.line_texts import counted_text, rules, spacings, texts

import tokbench
from tokbench.backends.sentencepiece import fallback, reference
from tokbench.backends.sentencepiece.options import chosen_options
from tokbench.backends.sentencepiece.reference import PieceRules
from tokbench.errors import TrainingError
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.libraries.sentencepiece.config import UnigramConfig

ALL_RULES: dict[str, Any] = {
    "longest": 16,
    "split_by_script": True,
    "split_by_number": True,
    "split_by_whitespace": True,
    "split_digits": False,
    "whitespace_only": True,
}


LETTERS = (
    "ab ",
    "ab1 ",
    "aあ漢1.9 ",
    "ae\u0301é b1",
    "x\u2581 y\0z",
    "<s>\x1f a",
    "a\t \u3000´ｂ¨",
)
NMT_NFKC = chosen_options(UnigramConfig(normalization="nmt_nfkc")).charsmap


def learned(
    module: Any, texts: list[str], *, num_pieces: int, threads: int = 2, **how: Any
) -> tuple[Any, ...]:
    text, seen = counted_text(module, texts, threads=threads, **how)
    reports: list[int] = []
    pieces = module.train_bpe(text, num_pieces=num_pieces, threads=threads, progress=reports.append)
    assert reports[-1] == len(pieces)
    return *seen, pieces


@given(
    texts=texts,
    rules=rules,
    spacing=spacings,
    num_pieces=st.integers(0, 60),
    coverage=st.sampled_from([1.0, 0.98, 0.8]),
    required=st.sampled_from([(), (0x61, 0x4E00)]),
    threads=st.integers(1, 3),
    charsmap=st.sampled_from([b"", NMT_NFKC]),
)
@example(  # words longer than the kernel's short words, and pairs that exist only temporarily
    texts=["ab" * 200 + "aab" * 50, "aaaaa aaaa"],
    rules=ALL_RULES,
    spacing={"dummy_prefix": True, "collapse": False},
    num_pieces=200,
    coverage=1.0,
    required=(),
    threads=2,
    charsmap=b"",
)
def test_kernel_learns_as_its_definition(texts: list[str], **options: Any) -> None:
    native = pytest.importorskip("tokbench.native._sentencepiece_training")
    assert learned(native, texts, **options) == learned(fallback, texts, **options)


def test_rare_pairs_are_learned_after_the_others() -> None:
    """With this many words the kernel skips rare pairs at first, and restarts when all others are learned."""
    native = pytest.importorskip("tokbench.native._sentencepiece_training")
    draw = Random(3)
    words = ["".join(draw.choices("abcdef", k=draw.randint(2, 5))) for _ in range(150)]
    text = [" ".join(words) + " ab" * 100_000]
    how: dict[str, Any] = {"rules": ALL_RULES, "spacing": {"dummy_prefix": True, "collapse": False}}
    expected = learned(fallback, text, num_pieces=400, **how)
    assert 250 < len(expected[-1]) < 400
    assert learned(native, text, num_pieces=400, **how) == expected
    assert learned(native, text, num_pieces=100, **how)[-1] == expected[-1][:100]


def test_a_hand_worked_example() -> None:
    """▁abab ×2 and ▁ab ×1: "ab" occurs 5 times, then ▁ab 3 times, and then only ▁ab ab is left, twice."""
    segments = Counter({"▁abab": 2, "▁ab": 1})
    assert reference.learn(segments, PieceRules(), num_pieces=3) == ["ab", "▁ab", "▁abab"]
    # Then, by length, pairs that no longer occur: b a, ▁ a, ab a and ab ab.
    assert reference.learn(segments, PieceRules(), num_pieces=9)[3:] == ["ba", "▁a", "aba", "abab"]


def pieces_of_the_library(lines: list[str], *, vocab_size: int, **options: Any) -> list[str]:
    """Return the pieces that the library learns, or the message of its error."""
    written = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=written,
            model_type="bpe",
            vocab_size=vocab_size,
            byte_fallback=True,
            hard_vocab_limit=False,
            max_sentence_length=1 << 16,
            minloglevel=4,
            **options,
        )
    except RuntimeError as error:
        return [str(error)]
    return [piece.text for piece in parse_model(written.getvalue()).pieces]


@pytest.mark.parametrize("name", KERNEL_NAMES)
@given(
    lines=st.sampled_from(LETTERS).flatmap(
        lambda letters: st.lists(st.text(letters, min_size=1, max_size=60), min_size=1, max_size=6)
    ),
    more=st.integers(0, 60),
    options=st.fixed_dictionaries(
        {
            "character_coverage": st.sampled_from([1.0, 0.98]),
            "add_dummy_prefix": st.booleans(),
            "allow_whitespace_only_pieces": st.booleans(),
            "split_digits": st.booleans(),
        }
    ),
    prepared=st.sampled_from(
        [("identity", False), ("nmt_nfkc", False), ("nmt_nfkc", True), ("nfkc_cf", True)]
    ),
    further=st.fixed_dictionaries(
        {
            "split_by_unicode_script": st.booleans(),
            "split_by_number": st.booleans(),
            "split_by_whitespace": st.booleans(),
        }
    ),
    longest=st.sampled_from([2, 5, 16]),
)
def test_pieces_equal_the_librarys(
    name: str,
    *,
    lines: list[str],
    more: int,
    options: dict[str, Any],
    prepared: tuple[str, bool],
    further: dict[str, bool],
    longest: int,
) -> None:
    kernel_named(name)  # skips the test where it is absent
    rule, extra_removed = prepared
    if extra_removed:  # docs/train.md lists the other differences
        options = options | {"add_dummy_prefix": True}
        lines = [line.replace("▁", "_") for line in lines]
    elif rule != "identity":
        lines = [re.sub(" \x1f+(?= )", " ", re.sub("[\t\u3000´¨]", "c", line)) for line in lines]
    size = 259 + len({*"".join(lines)} | {"▁"}) + more
    expected = pieces_of_the_library(
        lines,
        vocab_size=size,
        max_sentencepiece_length=longest,
        normalization_rule_name=rule,
        remove_extra_whitespaces=extra_removed,
        **options,
        **further,
    )
    with chosen(name):
        try:
            tokenizer = tokbench.train(
                ["\n".join(lines)],
                backend="sentencepiece",
                trainer="tokbench",
                vocab_size=size,
                max_token_length=longest,
                normalization=rule,
                remove_extra_whitespaces=extra_removed,
                options=tuple(f"{key}={str(value).lower()}" for key, value in further.items()),
                **options,
            )
        except TrainingError:  # the library also trains on a text of spaces alone
            assert len(expected) == 1 or not "".join(expected[259:]).strip("▁")
            return
    model: Any = tokenizer
    assert [piece.text for piece in model.model.pieces] == expected
