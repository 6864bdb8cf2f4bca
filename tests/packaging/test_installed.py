"""The installed package: the right one, its version, its command and its entry points."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution, entry_points, version
from pathlib import Path

import pytest

import tokbench
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.registry import ENTRY_POINT_GROUP, backend_names, get_backend

ROOT = Path(__file__).parents[2]
PACKAGE = Path(tokbench.__file__).parent


def test_source_tree_does_not_hide_the_installed_package() -> None:
    if os.environ.get("TOKBENCH_EXPECT_INSTALLED") != "1":
        pytest.skip("TOKBENCH_EXPECT_INSTALLED is not set: the package may be run from its source tree")
    assert ROOT not in Path(tokbench.__file__).resolve().parents
    assert not sys.path[0] or Path(sys.path[0]).resolve() != ROOT
    assert distribution("tokbench").locate_file("tokbench") == PACKAGE


def test_demanded_kernel_runs_from_the_package() -> None:
    demanded = os.environ.get("TOKBENCH_KERNEL", "auto")
    if demanded != "native":
        pytest.skip("TOKBENCH_KERNEL=native is not set")
    from tokbench.native import _bpe

    assert current_kernel().name == "native"
    assert Path(_bpe.__file__).parent == PACKAGE / "native"


def test_package_is_marked_as_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.parametrize(
    "command",
    [[sys.executable, "-m", "tokbench"], [str(Path(sysconfig.get_path("scripts")) / "tokbench")]],
    ids=["module", "script"],
)
def test_command_prints_the_version(command: list[str], tmp_path: Path) -> None:
    finished = subprocess.run(
        [*command, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert finished.stdout == f"tokbench {tokbench.__version__}\n"
    assert finished.stderr == ""


def test_versions_agree() -> None:
    assert version("tokbench") == tokbench.__version__


def test_every_backend_is_an_entry_point() -> None:
    points = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP) if point.dist is not None}
    ours = {name: point for name, point in points.items() if point.dist and point.dist.name == "tokbench"}
    assert set(ours) == set(backend_names()) - (set(points) - set(ours))
    for name, point in ours.items():
        assert point.load()().name == get_backend(name).name == name
