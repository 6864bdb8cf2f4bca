"""The subjects of the contract, each trained once for all of its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.subjects import SUBJECTS, Subject

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer


@pytest.fixture(scope="session", params=SUBJECTS, ids=str)
def subject(request: pytest.FixtureRequest) -> Subject:
    return request.param


@pytest.fixture(scope="session")
def trained(subject: Subject) -> Tokenizer:
    return subject.train()


@pytest.fixture(scope="session", params=["opened", pytest.param("trained", marks=pytest.mark.slow)])
def tokenizer(
    request: pytest.FixtureRequest,
    subject: Subject,
    trained: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Tokenizer:
    """The subject as it is opened from its folder, and as it was trained."""
    if request.param == "trained":
        return trained
    directory = tmp_path_factory.mktemp("saved") / "tokenizer"
    trained.save(directory)
    return subject.open(directory)
