"""BPE dropout: equal to its definition, reproducible, the same on both kernels; and the option --dropout."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import KERNEL_NAMES, chosen, kernel_named
from support.texts import bundled_texts, texts
from typer.testing import CliRunner

from tokbench.backends.bpe import BpeBackend
from tokbench.backends.bpe.config import BpeConfig
from tokbench.backends.bpe.split_patterns import resolve_pattern
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.cli.app import app
from tokbench.core.capabilities import SupportsSampling
from tokbench.core.merging import merge_symbols
from tokbench.core.sampling import Sampling, sample_segmentation
from tokbench.core.tokens import SpecialPolicy, TokenKind
from tokbench.corpus.inputs import read_inputs
from tokbench.errors import ConfigError, TextError
from tokbench.workbench.encode import encode_ids, encode_texts
from tokbench.workbench.train import train
from tokbench.workbench.viz import visualise

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROBABILITIES = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])


@cache
def trained(kernel: str = "python", pattern: str = "gpt4") -> BpeTokenizer:
    kernel_named(kernel)
    with chosen(kernel):
        return BpeBackend().train(
            [bundled_texts()["parallel/en.txt"], bundled_texts()["parallel/ko.txt"]],
            BpeConfig(vocab_size=700, pattern=pattern),
        )


def by_definition(
    symbols: list[int], ranks: Mapping[tuple[int, int], int], *, dropout: float, source: random.Random
) -> list[int]:
    """Apply the textbook: at each step, go through the possible merges by rank and apply the first not dropped."""
    while True:
        possible = sorted(
            (ranks[pair], place) for place, pair in enumerate(pairwise(symbols)) if pair in ranks
        )
        kept = next((merge for merge in possible if source.random() >= dropout), None)
        if kept is None:
            return symbols
        token, place = kept
        symbols = [*symbols[:place], token, *symbols[place + 2 :]]


# The definition


@given(
    symbols=st.lists(st.integers(0, 2), max_size=12),
    merges=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=8, unique=True),
    dropout=PROBABILITIES,
    seed=st.integers(0, 2**32),
)
def test_merging_with_dropout_equals_its_definition(
    symbols: list[int], merges: list[tuple[int, int]], dropout: float, seed: int
) -> None:
    ranks = {pair: 3 + rank for rank, pair in enumerate(merges)}
    merges = {pair: (rank, rank) for pair, rank in ranks.items()}
    drawn = random.Random(seed)
    merged = merge_symbols(symbols, merges.get, is_dropped=lambda: drawn.random() < dropout)
    assert merged == by_definition(symbols, ranks, dropout=dropout, source=random.Random(seed))


def test_merges_are_dropped_with_the_given_probability() -> None:
    # "ab" with one merge stays split with the probability of dropout.
    source = random.Random(7)
    outcomes = Counter(
        len(merge_symbols([0, 1], {(0, 1): (0, 2)}.get, is_dropped=lambda: source.random() < 0.3))
        for _ in range(20_000)
    )
    assert outcomes[2] / 20_000 == pytest.approx(0.3, abs=0.01)


# Sampling by a tokenizer


@pytest.mark.parametrize("pattern", ["gpt4", "qwen2", "none", r"\w+|\W"])
@given(text=texts, seed=st.integers(0, 9))
def test_dropout_0_encodes_and_dropout_1_gives_bytes(pattern: str, text: str, seed: int) -> None:
    tokenizer = trained(pattern=pattern)
    assert isinstance(tokenizer, SupportsSampling)
    assert tokenizer.sample(text, seed=seed, alpha=0.0) == tokenizer.encode(text)
    assert tokenizer.sample(text, seed=seed, alpha=1.0) == list(
        tokenizer.decode_bytes(tokenizer.encode(text))
    )


@given(text=texts, seed=st.integers(0, 2**64), alpha=PROBABILITIES)
def test_sample_decodes_to_the_text_and_repeats_with_its_seed(text: str, seed: int, alpha: float) -> None:
    tokenizer = trained()
    ids = tokenizer.sample(text, seed=seed, alpha=alpha)
    assert ids == tokenizer.sample(text, seed=seed, alpha=alpha)
    assert tokenizer.decode_bytes(ids) == text.encode()


def test_seeds_give_different_samples() -> None:
    text = bundled_texts()["parallel/en.txt"][:300]
    assert len({tuple(trained().sample(text, seed=seed)) for seed in range(20)}) == 20
    assert trained().sample(text, seed=1) == trained().sample(text, seed=1, alpha=0.1)


def test_both_kernels_draw_the_same_samples() -> None:
    text = bundled_texts()["parallel/ko.txt"][:500]
    samples = {name: trained(name).sample(text, seed=3, alpha=0.4) for name in KERNEL_NAMES}
    assert samples["native"] == samples["python"]


def test_tokenizer_of_ranks_can_sample() -> None:
    tokens = [trained().token_bytes(id) for id in range(700)]
    tokenizer = BpeTokenizer.from_ranks(
        tokens, pattern=resolve_pattern("gpt4"), kernel=kernel_named("python")
    )
    text = bundled_texts()["parallel/en.txt"][:300]
    assert tokenizer.sample(text, seed=1, alpha=0.0) == tokenizer.encode(text)
    assert tokenizer.sample(text, seed=1, alpha=1.0) == list(text.encode())
    assert tokenizer.decode(tokenizer.sample(text, seed=1, alpha=0.5)) == text


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan")])
def test_invalid_probability_is_refused(alpha: float) -> None:
    with pytest.raises(ConfigError, match="not a probability"):
        trained().sample("a", seed=1, alpha=alpha)


def test_option_of_other_algorithms_is_refused() -> None:
    with pytest.raises(ConfigError, match="nbest_size"):
        trained().sample("a", seed=1, nbest_size=3)
    with pytest.raises(TextError):
        trained().sample("\ud800", seed=1)


# Tokens with spans


@given(text=texts, seed=st.integers(0, 9), alpha=PROBABILITIES)
def test_tokens_of_a_sample_partition_the_text(text: str, seed: int, alpha: float) -> None:
    sampling = Sampling(dropout=alpha, seed=seed)
    segmentation = sample_segmentation(trained(), text, sampling, special=SpecialPolicy.TEXT)
    assert segmentation.ids == trained().sample(text, seed=seed, alpha=alpha)
    data, position = text.encode(), 0
    for token in segmentation.tokens:
        assert token.span.start == position
        assert data[token.span.start : token.span.stop] == token.piece
        assert token.kind is TokenKind.NORMAL
        position = token.span.stop
    assert position == len(data)


@given(text=texts, seed=st.integers(0, 9))
def test_spans_of_a_normalized_sample_are_ordered_and_in_range(text: str, seed: int) -> None:
    sampling = Sampling(dropout=0.5, seed=seed)
    tokens = sample_segmentation(trained(pattern="qwen2"), text, sampling, special=SpecialPolicy.TEXT).tokens
    edges = [0, *(edge for token in tokens for edge in token.span), len(text.encode())]
    assert edges == sorted(edges)


def test_workbench_encodes_with_dropout() -> None:
    sampling, inputs = (
        Sampling(dropout=0.5, seed=4),
        list(read_inputs(["some unbelievable text"], kind="text")),
    )
    expected = trained().sample("some unbelievable text", seed=4, alpha=0.5)
    assert list(encode_ids(trained(), inputs, sampling=sampling)) == [expected]
    assert [ids.segmentation.ids for ids in encode_texts(trained(), inputs, sampling=sampling)] == [expected]
    result = visualise([trained()], "some unbelievable text", sampling=sampling)
    assert result.views[0].segmentation.ids == expected
    with pytest.raises(ConfigError, match="every text is ordinary text"):
        visualise([trained()], "text", sampling=sampling, special=SpecialPolicy.ENCODE)


# The command line


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("saved") / "mine"
    trained().save(directory)
    return directory


def test_encode_and_viz_accept_dropout(saved: Path) -> None:
    expected = trained().sample("unbelievable", seed=5, alpha=0.5)
    arguments = ["-t", str(saved), "--dropout", "0.5", "--seed", "5", "unbelievable"]
    assert run("encode", *arguments) == (0, " ".join(map(str, expected)) + "\n", "")
    code, shown, _ = run("viz", *arguments)
    assert code == 0
    assert f"{len(expected)} tokens" in shown
    assert (
        run("encode", "-t", str(saved), "--dropout", "0", "a b")[1]
        == run("encode", "-t", str(saved), "a b")[1]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dropout", "7"], "not a probability"),
        (["--seed", "7"], "--seed needs --dropout"),
        (["--dropout", "0.1", "--special-policy", "encode"], "every text is ordinary text"),
    ],
)
def test_invalid_dropout_options_are_refused(saved: Path, arguments: list[str], message: str) -> None:
    code, _, errors = run("encode", "-t", str(saved), *arguments, "text")
    assert code == 2
    assert message in errors


def test_tokenizer_without_sampling_is_refused(tmp_path: Path) -> None:
    train(["text"], backend="byte").save(tmp_path / "bytes")
    code, _, errors = run("viz", "-t", str(tmp_path / "bytes"), "--dropout", "0.1", "text")
    assert code == 2
    assert "cannot sample segmentations, which --dropout needs" in errors
