"""The compiled module of byte-level BPE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tokbench.backends.bpe.kernel import Kernel


@pytest.fixture(scope="module")
def module(native: Kernel) -> Any:
    """Return the compiled module."""
    from tokbench.native import _bpe

    return _bpe
