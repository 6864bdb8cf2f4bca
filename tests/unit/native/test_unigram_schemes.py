"""Tests that the kernel's encoder of Unigram documents refuses what it does not do."""

from __future__ import annotations

import numpy as np
import pytest

from tokbench.native.kernel_choice import is_installed

pytestmark = pytest.mark.skipif(not is_installed("tokbench.native._unigram"), reason="not compiled")


@pytest.mark.parametrize(
    ("scheme", "only_spaces", "message"),
    [("first", False, "every word that white space ends has ▁"), ("last", True, "no such scheme")],
)
def test_compiled_encoder_refuses_other_schemes(scheme: str, only_spaces: bool, message: str) -> None:
    from tokbench.native._unigram import DocumentEncoder

    with pytest.raises(ValueError, match=message):
        DocumentEncoder(
            [b"a"],
            np.array([1], np.uint32),
            np.array([-1.0]),
            unknown=0,
            unknown_score=-9.0,
            bytes=None,
            charsmap=b"",
            joining=np.zeros(0x110000, np.uint8),
            only_spaces=only_spaces,
            prepend_scheme=scheme,
            added=([], []),
        )
