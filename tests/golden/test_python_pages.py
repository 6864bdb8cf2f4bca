"""docs/python.md and docs/backends.md show the actual output."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from support.pages import DOCS, Clone, blocks, check_page

import tokbench
from tokbench.core import capabilities


def test_python_examples_run(tmp_path):
    page = DOCS / "python.md"
    assert sum(block.language == "python" for block in blocks(page)) > 3
    check_page(page, tmp_path)


def test_documented_capabilities_exist_with_their_methods():
    named = re.findall(
        r"`(Supports\w+)`(?:\s+\(([^)]*)\))?", (DOCS / "python.md").read_text(encoding="utf-8")
    )
    assert len(named) > 5
    for name, methods in named:
        protocol = getattr(capabilities, name)
        for method in re.findall(r"`(\w+)`", methods):
            assert callable(getattr(protocol, method))
    for name in re.findall(r"`(Supports\w+)`", (DOCS / "backends.md").read_text(encoding="utf-8")):
        assert hasattr(capabilities, name)


def test_table_lists_every_public_name():
    table = (DOCS / "python.md").read_text(encoding="utf-8").partition("\n\nDocstrings")[0]
    named = set(re.findall(r"`(\w+)", table))
    assert not set(tokbench.__all__) - named - {"__version__"}


@pytest.mark.slow
def test_backend_works_as_an_installed_package(tmp_path):
    clone = Clone(tmp_path)
    files = {block.file_name: block.text for block in blocks(DOCS / "backends.md") if block.file_name}
    assert files.keys() == {"toy_backend.py", "pyproject.toml"}
    assert sum(text.count("\n") for text in files.values()) < 75
    package, site = tmp_path / "toy-backend", tmp_path / "site"
    package.mkdir()
    for name, text in files.items():
        (package / name).write_text(text, encoding="utf-8")
    options = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--target", site]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, package], cwd=tmp_path, check=True)
    path = [str(site), clone.environment.get("PYTHONPATH")]
    clone.environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))

    assert "a token for every character" in clone.shell("tokbench backends")
    assert "saved in" in clone.shell("tokbench train --backend toy --name toy")
    assert clone.shell("tokbench encode -t toy aé") == "97 233\n"
    assert clone.shell("tokbench decode -t toy '97 233'") == "aé"
    assert "2 tokens" in clone.shell("tokbench viz -t toy aé")
    assert "special tokens, numbered last" in clone.shell("tokbench backends")
    assert "by toy (1,112,064 tokens)" in clone.shell("tokbench count -t toy aé")

    clone.shell("tokbench train --backend toy --name marked --special-token '<e>' --role 'eos=<e>'")
    assert clone.shell("tokbench encode -t marked --special-policy encode 'a<e>'") == "97 1112064\n"
    assert "<e> after each document" in clone.shell(
        "tokbench shards write corpora/code/c.c -t marked --out toys --append-eos"
    )
    (clone.folder / "tokenizers" / "marked" / "toy.json").write_text('["<x>"]', encoding="utf-8")
    assert "toy.json" in clone.shell("tokbench encode -t marked a", code=1)
