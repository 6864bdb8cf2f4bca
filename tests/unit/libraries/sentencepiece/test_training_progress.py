"""Tests for reading the progress of SentencePiece's training from its log."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tokbench.libraries.sentencepiece.training_progress import AddedPieces, PruningRounds
from tokbench.registry import get_backend

TEXTS = [
    f"line {number * number % 9973} of some text and word{number % 500} x{number % 777}y"
    for number in range(3000)
]


def rounds(*sizes: int, each: int = 2) -> list[bytes]:
    return [
        f"unigram_model_trainer.cc:903] EM sub_iter={number} size={size} obj=13.2 num_tokens=1187908".encode()
        for size in sizes
        for number in range(each)
    ]


def places(steps: Any, lines: list[bytes]) -> list[tuple[int, int | None]]:
    reached = [steps.place]
    for line in [b"trainer_interface.cc:661] Tokenizing input sentences: 40000", *lines]:
        steps.read(line)
        reached.append(steps.place)
    return reached


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ((2019, 1514, 1135, 851, 638, 478), {}),  # sizes shrink by the factor exactly
        ((2019, 1259, 944, 708, 531), {}),  # more pieces than that are removed
        ((2019, 1009, 504), {"num_sub_iterations": "3", "shrinking_factor": "0.5"}),
        ((400,), {}),  # fewer pieces than wanted from the start
    ],
)
def test_pruning_rounds_reach_their_total(sizes: tuple[int, ...], options: dict[str, str]) -> None:
    each = int(options.get("num_sub_iterations", "2"))
    first, second, *pruning = places(PruningRounds(400, options), rounds(*sizes, each=each))
    assert first == second == (0, None)
    assert [done for done, _ in pruning] == list(range(1, each * len(sizes) + 1))
    shares = [done / total for done, total in pruning if total is not None]
    assert len(shares) == len(pruning)
    assert shares[-1] == 1
    assert all(one < other for one, other in pairwise(shares))


def test_without_pruning_no_total_is_known() -> None:
    *_, last = places(PruningRounds(400, {"shrinking_factor": "1.0"}), rounds(2019, 2019))
    assert last == (4, None)


def test_added_pieces_count_towards_the_total() -> None:
    lines = [b"trainer.cc] Added: freq=36 size=20 all=1", b"Added: freq=6 size=40 all=1", b"size=90 freq=1"]
    assert places(AddedPieces(30), lines) == [(0, 30), (0, 30), (20, 30), (40, None), (40, None)]


def test_unigram_training_reports_its_rounds() -> None:
    told: list[tuple[str, int, int | None, str]] = []
    backend = get_backend("unigram")
    backend.train(TEXTS, backend.config_type(vocab_size=350), progress=lambda *report: told.append(report))
    training = [report for report in told if report[0] == "training"]
    assert {unit for *_, unit in training} == {"rounds"}
    _, done, total, _ = training[-1]
    assert done == total
    assert done > 3
