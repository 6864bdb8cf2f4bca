"""The subjects of the contract, each trained once for all of its tests."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from support.subjects import SUBJECTS, Subject

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.core.interfaces import Tokenizer


@pytest.fixture(scope="session", params=SUBJECTS, ids=str)
def subject(request: pytest.FixtureRequest) -> Subject:
    return request.param


@pytest.fixture(scope="session")
def trained(subject: Subject) -> Tokenizer:
    return subject.trained


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Subject], Tokenizer]:
    """Return a function that saves a subject and opens its folder, once per process."""

    @cache
    def opened(name: str) -> Tokenizer:
        subject = next(subject for subject in SUBJECTS if str(subject) == name)
        directory = tmp_path_factory.mktemp("saved") / "tokenizer"
        subject.trained.save(directory)
        return subject.open(directory)

    return lambda subject: opened(str(subject))


@pytest.fixture(scope="session", params=["opened", pytest.param("trained", marks=pytest.mark.slow)])
def tokenizer(
    request: pytest.FixtureRequest, subject: Subject, opened: Callable[[Subject], Tokenizer]
) -> Tokenizer:
    """Return the subject as opened from its folder, and as trained."""
    return subject.trained if request.param == "trained" else opened(subject)
