"""The kernel compiles with Clang and libc++, as on a Mac, and for ARM, where such a compiler is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "tokbench" / "native"
SOURCES = sorted(NATIVE.glob("*/*.cpp"))

LACKING = re.compile(r"std::(?:atomic_ref|jthread|stop_token|execution|pmr|views::(?:zip|enumerate|chunk))\b")
"""Features of C++20 and of its surroundings that the libc++ of Macs in use lacks."""

COMPILERS = {
    "clang": ["clang++", "-stdlib=libc++"],
    "arm": ["aarch64-linux-gnu-g++"],
    "mac": [sys.executable, "-m", "ziglang", "c++", "-target", "aarch64-macos"],
}


def is_installed(name: str) -> bool:
    return shutil.which(COMPILERS[name][0]) is not None and (
        name != "mac" or find_spec("ziglang") is not None
    )


def compiled(name: str, source: Path, *options: str) -> tuple[int, str]:
    """Return the exit code of a compiler and its error output."""
    command = [*COMPILERS[name], "-std=c++20", "-c", str(source), *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stderr


def test_code_uses_nothing_missing_in_libcxx():
    found = {}
    for path in sorted(NATIVE.glob("*/*.[ch]pp")):
        code = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        for_others = re.compile(r"(#if defined\(__GNUC__\).*?)#else.*?#endif", re.DOTALL)
        if lacking := LACKING.findall(for_others.sub(r"\1", code)):
            found[path.name] = lacking
    assert found == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILERS)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_other_compilers_give_no_warnings(name, source, tmp_path):
    nanobind = pytest.importorskip("nanobind")
    object_file = ["-o", str(tmp_path / "compiled.o")]
    trial = tmp_path / "trial.cpp"
    trial.write_text("#include <vector>\n")
    if not is_installed(name) or compiled(name, trial, *object_file)[0] != 0:
        pytest.skip(f"it is not there: {' '.join(COMPILERS[name])}")
    headers = [nanobind.include_dir(), sysconfig.get_path("include")]
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"]
    includes = [f"-I{NATIVE}", *(f"-isystem{path}" for path in headers)]
    options = ["-O0", "-fvisibility=hidden", '-DTOKBENCH_SOURCES=""', *warnings, *includes, *object_file]
    assert compiled(name, source, *options) == (0, "")
