"""Texts in two languages, and a tokenizer to compare with the trained one."""

from __future__ import annotations

import pytest

ENGLISH = "".join(f"the quick brown fox number {number} jumps over\n" for number in range(40))
GERMAN = "".join(f"der schnelle braune Fuchs Nummer {number} springt darüber\n" for number in range(40))


@pytest.fixture
def texts(tmp_path):
    """Write parallel texts in two languages and a file of code; return their folder."""
    for name, text in {
        "c/parallel/en.txt": ENGLISH,
        "c/parallel/de.txt": GERMAN,
        "c/code/python.py": "def f(getUserName):\n    return getUserName == 1234\n" * 9,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / "c"


@pytest.fixture(scope="session")
def byte(start, tmp_path_factory):
    """Train and save a byte tokenizer; return its folder."""
    folder = tmp_path_factory.mktemp("byte")
    with start("train", "--backend", "byte", "--name", "byte", folder=folder) as running:
        _, err = running.communicate(timeout=120)
    assert running.returncode == 0, err.decode()
    return folder / "tokenizers" / "byte"
