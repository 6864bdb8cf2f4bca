"""The encoders of the page in V8."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.page_engine import page_engine

if TYPE_CHECKING:
    from support.page_engine import Engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    return page_engine()
