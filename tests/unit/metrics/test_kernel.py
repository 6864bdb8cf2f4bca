"""Tests for the choice of the counting kernel."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.kernels import KERNEL_NAMES, chosen
from support.measuring import new_measurer

from tokbench.errors import ConfigError
from tokbench.metrics.kernel import current_kernel


def test_slow_kernel_is_reported_once() -> None:
    ask = "from tokbench.metrics.kernel import current_kernel as ask; print(ask().name, ask().name)"
    without = "import sys; sys.modules['tokbench.native._metrics'] = None\n"
    environment = os.environ | {"TOKBENCH_KERNEL": "auto"}
    done = subprocess.run(
        [sys.executable, "-c", without + ask], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout == "python python\n"
    assert done.stderr == "tokbench: running the slow Python kernel (the compiled kernel is not installed)\n"
    for name in KERNEL_NAMES:
        new_measurer(name)
        with chosen(name):
            assert current_kernel().name == name


def test_unknown_kernel_is_refused() -> None:
    with chosen("fast"), pytest.raises(ConfigError, match="TOKBENCH_KERNEL is 'fast'"):
        current_kernel()
