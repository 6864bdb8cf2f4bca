"""Tests for the choice of the kernel by TOKBENCH_KERNEL, with and without the compiled kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.kernels import KERNEL_NAMES, chosen, kernel_named

from tokbench.backends.bpe.kernel import current_kernel, has_native_kernel
from tokbench.errors import ConfigError
from tokbench.native.kernel_choice import digest_of_sources

PACKAGE = Path(__file__).parents[3] / "tokbench"

WITHOUT_NATIVE = "import sys; sys.modules['tokbench.native._bpe'] = None\n"
ASK = "from tokbench.backends.bpe.kernel import current_kernel as ask; print(ask().name, ask().name)"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the package as in a fresh clone, without compiled modules."""
    shutil.copytree(
        PACKAGE, tmp_path / "tokbench", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    )
    return tmp_path


def asked(code: str, *, choice: str | None, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter, since an interpreter keeps the kernel that it has chosen."""
    environment = {name: value for name, value in os.environ.items() if name != "TOKBENCH_KERNEL"}
    if choice is not None:
        environment["TOKBENCH_KERNEL"] = choice
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("choice", [None, "", "auto", "native"])
def test_compiled_kernel_runs_if_installed(native: object, choice: str | None) -> None:
    process = asked(ASK, choice=choice)
    assert (process.stdout, process.stderr) == ("native native\n", "")


def test_python_kernel_runs_on_demand_with_one_message() -> None:
    process = asked(ASK, choice="python")
    assert process.stdout == "python python\n"
    assert process.stderr == "tokbench: running the slow Python kernel (TOKBENCH_KERNEL=python)\n"


def test_python_kernel_runs_without_the_compiled_one_with_one_message() -> None:
    process = asked(WITHOUT_NATIVE + ASK, choice="auto")
    assert process.stdout == "python python\n"
    assert (
        process.stderr == "tokbench: running the slow Python kernel (the compiled kernel is not installed)\n"
    )


ASK_WHERE = f"{ASK}; import tokbench; print(tokbench.__file__)"


def is_built_from_these_sources() -> bool:
    from tokbench.native import _bpe

    return digest_of_sources(PACKAGE) == _bpe.SOURCES


@pytest.mark.parametrize("choice", ["auto", "native"])
def test_clone_uses_the_installed_kernel(native: object, clone: Path, choice: str) -> None:
    if not is_built_from_these_sources():
        pytest.skip("the installed kernel was built from other sources")
    process = asked(ASK_WHERE, choice=choice, folder=clone)
    assert (process.stdout, process.stderr) == (f"native native\n{clone / 'tokbench/__init__.py'}\n", "")


def test_every_compiled_module_is_found_from_a_clone(native: object, clone: Path) -> None:
    if not is_built_from_these_sources():
        pytest.skip("the installed kernel was built from other sources")
    code = """if True:
        import tokbench
        from tokbench.backends.wordpiece import WordPieceBackend
        from tokbench.metrics.kernel import current_kernel

        tokenizer = tokbench.train(["some text", "more text"] * 9, backend="wordpiece", vocab_size=60)
        print(current_kernel().name, tokenizer.encode_batch(["some more"])[0].size > 0)
    """
    process = asked(code, choice="auto", folder=clone)
    assert (process.stdout, process.stderr) == ("native True\n", "")


def test_kernel_of_other_sources_is_not_used(native: object, clone: Path) -> None:
    (clone / "tokbench/native/metrics/added.hpp").write_text("// not there when it was built\n")
    process = asked(ASK, choice="auto", folder=clone)
    assert process.stdout == "python python\n"
    reason = f"the installed kernel was not built from the sources in {clone / 'tokbench'}: pip install ."
    assert process.stderr == f"tokbench: running the slow Python kernel ({reason})\n"


def test_demanding_a_missing_kernel_is_refused() -> None:
    process = asked(WITHOUT_NATIVE + ASK, choice="native")
    assert process.returncode != 0
    assert "BackendUnavailableError: TOKBENCH_KERNEL=native" in process.stderr


def test_unknown_kernel_is_refused() -> None:
    with chosen("fast"), pytest.raises(ConfigError, match="TOKBENCH_KERNEL is 'fast'") as caught:
        current_kernel()
    assert caught.value.hint == "it must be auto, native or python"


SPLIT_BY_EXPRESSION = rf"""
{ASK}
from tokbench.backends.bpe.split_programs.compiled import compiled_pattern
from tokbench.native import _bpe
pattern = compiled_pattern(r"\w+|\s+|[^\w\s]+")
print(_bpe.simd_tier(), *[_bpe.split(pattern, b"low lower", tier).tolist() for tier in (None, "scalar", "swar")])
"""


@pytest.mark.parametrize("tier", ["scalar", "swar", "avx2", "avx512"])
def test_requested_simd_tier_splits_by_expressions(
    native: object, monkeypatch: pytest.MonkeyPatch, tier: str
) -> None:
    monkeypatch.setenv("TOKBENCH_SIMD", tier)
    process = asked(SPLIT_BY_EXPRESSION, choice="native")
    if "does not have" in process.stderr:
        pytest.skip(f"this processor does not have {tier}")
    assert process.stdout == f"native native\n{tier} [3, 4, 9] [3, 4, 9] [3, 4, 9]\n"


@pytest.mark.parametrize("tier", ["", "scalar", "swar", "avx2", "avx512"])
def test_requested_simd_tier_runs(native: object, monkeypatch: pytest.MonkeyPatch, tier: str) -> None:
    monkeypatch.setenv("TOKBENCH_SIMD", tier)
    code = f"{ASK}; from tokbench.native import _bpe; print(_bpe.simd_tier())"
    process = asked(code, choice="native")
    if "does not have" in process.stderr:
        pytest.skip(f"this processor does not have {tier}")
    assert process.stdout.split()[-1] in ({tier} if tier else {"swar", "avx2", "avx512"})


def test_unknown_simd_tier_is_refused(native: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKBENCH_SIMD", "mmx")
    process = asked(ASK, choice="native")
    assert 'ConfigError: TOKBENCH_SIMD is "mmx"; it may be scalar, swar, avx2 or avx512' in process.stderr


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_kernel_has_its_name(name: str) -> None:
    assert kernel_named(name).name == name


def test_installed_kernel_is_found(native: object) -> None:
    assert has_native_kernel()
