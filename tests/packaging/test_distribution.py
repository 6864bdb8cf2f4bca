"""The distributions: the source distribution builds, and the wheel contains the package and nothing else."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tokbench"
PARTS = ("*.j2", "*.css", "*.html", "*.js", "*.tcss")
"""Patterns of the files that pages are built from."""
MODULES = (
    "_bpe",
    "_character_bpe",
    "_corpus",
    "_metrics",
    "_sentencepiece_training",
    "_unigram",
    "_wordpiece",
)
NATIVE = tuple(f"tokbench/native/{name}" for name in MODULES)
"""The compiled modules, without their suffixes."""
SOURCES = tuple(sorted({path.parent.relative_to(PACKAGE) for path in (PACKAGE / "native").rglob("*.[ch]pp")}))
"""The folders of C++ sources."""
EXPECTS_INSTALLED = os.environ.get("TOKBENCH_EXPECT_INSTALLED") == "1"


def run(*arguments: str | Path, cwd: Path, **variables: str) -> str:
    """Run Python outside the source tree and return its output, which is shown if it fails."""
    variables = os.environ | {"PYTHONSAFEPATH": "1", "TOKBENCH_REQUIRE_NATIVE": "1"} | variables
    finished = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=variables, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def source_distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the archive that would be published."""
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("scikit-build-core is not installed")
    folder = tmp_path_factory.mktemp("sdist")
    program = f"from scikit_build_core.build import build_sdist; build_sdist({str(folder)!r})"
    run("-c", program, cwd=ROOT)
    [archive] = folder.iterdir()
    return archive


@pytest.fixture
def wheel(source_distribution: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel built from that archive with the native kernel: the one at TOKBENCH_WHEEL, or a debug build,
    which takes longer.
    """
    if at_hand := os.environ.get("TOKBENCH_WHEEL"):
        return Path(at_hand)
    for needed in ("cmake", "nanobind"):
        if shutil.which(needed) is None and importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", folder)
    run("-m", "pip", "wheel", *options, source_distribution, cwd=folder, SKBUILD_CMAKE_BUILD_TYPE="Debug")
    [built] = folder.glob("*.whl")
    return built


def package_files(names: Iterable[str]) -> set[str]:
    paths = [PurePosixPath(name) for name in names]
    return {str(path) for path in paths if path.parts[0] == "tokbench" and "__pycache__" not in path.parts}


def source_files() -> set[str]:
    """Return the files that a wheel should contain, by their paths in it, without the compiled modules."""
    modules = {path for kind in ("*.py", "*.pyi", "py.typed", *PARTS) for path in PACKAGE.rglob(kind)}
    modules -= {path for folder in SOURCES for path in (PACKAGE / folder).rglob("*")}
    data = {
        path for folder in ("configs", "corpora") for path in (ROOT / folder).rglob("*") if path.is_file()
    }
    data = {path for path in data if path.suffix not in {".pyc"} and path.name != "make_manifest.py"}
    return {path.relative_to(ROOT).as_posix() for path in modules} | {
        f"tokbench/{path.relative_to(ROOT).as_posix()}" for path in data
    }


def check_contents(shipped: set[str]) -> None:
    """Check for the package, its texts and, where demanded, the native kernels, and nothing else."""
    stubs = {f"{module}.pyi" for module in NATIVE}
    assert {name for name in shipped if not is_compiled(name)} == source_files() - stubs
    for module in NATIVE if os.environ.get("TOKBENCH_KERNEL") == "native" else ():
        suffixes = {PurePosixPath(name).suffix for name in shipped if name.startswith(f"{module}.")}
        assert suffixes & {".so", ".pyd"}, module


def is_compiled(name: str) -> bool:
    return name.startswith(tuple(f"{module}." for module in NATIVE))


def test_installed_files_are_the_package_and_its_texts_only() -> None:
    if not EXPECTS_INSTALLED:
        pytest.skip("TOKBENCH_EXPECT_INSTALLED is not set: the package may be run from its source tree")
    check_contents(package_files(map(str, importlib.metadata.files("tokbench") or ())))


@pytest.mark.slow
def test_source_distribution_has_what_a_build_needs(source_distribution: Path) -> None:
    with tarfile.open(source_distribution) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    native = {
        path.relative_to(ROOT).as_posix()
        for folder in SOURCES
        for path in (PACKAGE / folder).glob("*.[ch]pp")
    }
    wanted = {"pyproject.toml", "README.md", "LICENSE", "corpora/MANIFEST.toml", "configs/tiny.toml"}
    wanted |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").iterdir()}
    assert native | wanted | {"tests/conftest.py"} <= names
    assert not {name for name in names if name.endswith((".so", ".pyd", ".pyc"))}


@pytest.mark.slow
def test_wheel_has_the_same_files_and_works_alone(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        check_contents(package_files(archive.namelist()))
    run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", "here", wheel, cwd=tmp_path)
    program = """if True:
        import tokbench
        from tokbench.backends.bpe.kernel import current_kernel

        tokenizer = tokbench.train(["some text", "more text"] * 9, vocab_size=260)
        assert tokenizer.decode(tokenizer.encode("some more")) == "some more"
        print(tokbench.__file__, current_kernel().name, len(list(tokbench.bundled_corpus())) > 30)
    """
    place = tmp_path / "here"
    found = run("-c", program, cwd=tmp_path, PYTHONPATH=str(place), TOKBENCH_KERNEL="native").split()
    assert found == [str(place / "tokbench/__init__.py"), "native", "True"]
