"""Errors that cross processes: what a worker raises reaches the process that waits for it, complete."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tokbench import errors
from tokbench.backends.baseline import ByteBackend
from tokbench.core.tokens import Span
from tokbench.errors import TokbenchError, UnknownIdError

if TYPE_CHECKING:
    from collections.abc import Iterator

MADE: dict[str, tuple[object, ...]] = {
    "SpecialTokenError": ("<e>", Span(1, 4)),
    "UnknownIdError": (9, 0, 5),
    **dict.fromkeys(("ModelFormatError", "SelfTestError", "UnknownWordError"), ("a.json", "a list", "3")),
}


def every_error() -> Iterator[TokbenchError]:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    for kind in kinds:
        if issubclass(kind, TokbenchError):
            error = kind(*MADE.get(kind.__name__, ("a message",)))
            error.hint = "what to do next"
            yield error


@pytest.mark.parametrize("error", list(every_error()), ids=lambda error: type(error).__name__)
def test_errors_survive_pickle_and_copy(error: TokbenchError) -> None:
    error.add_note("a note")
    copies = [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for same in [*copies, copy.copy(error), copy.deepcopy(error)]:
        assert type(same) is type(error)
        assert (str(same), same.args, vars(same)) == (str(error), error.args, vars(error))


def test_worker_error_does_not_break_the_pool() -> None:
    tokenizer = ByteBackend().train([], ByteBackend.config_type())
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for _ in range(2):
            with pytest.raises(UnknownIdError, match="id 999 at position 1") as told:
                pool.submit(tokenizer.decode_bytes, [97, 999]).result()
            assert told.value.position == 1
