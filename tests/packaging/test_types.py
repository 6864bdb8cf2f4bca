"""The types that users get: what the guides call passes a strict type checker in a project of one's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tokbench

USE = """
import tokbench

tok = tokbench.train(["some", "texts"] * 10, vocab_size=300, special_tokens={"<|pad|>": None})
same = tokbench.load("tokenizers/mine", roles={"pad": "<|pad|>"})
ids: list[int] = tok.encode("text")
text: str = tok.decode(ids)
part: str = tok.truncate("a text", 2)
chunks = [chunk.text for chunk in tok.chunk("a text", max_tokens=3)]
batch = same.batch(["a", "b"], max_length=8)
size: int = tok.vocab_size
pad: int = same.role_ids["pad"]
print(tok.viz("text"), batch.ids, text, part, chunks, size, pad, tok("text"))


def count(tokenizer: tokbench.Tokenizer) -> int:
    return len(tokenizer.encode("text"))


print(count(tok), tokbench.compare(tokbench.bundled_corpus(), tokenizers=["default"]).summary)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("added", "is_right"), [("", True), ("tok.vizualize('text')", False), ("size = tok.viz('')", False)]
)
def test_calls_of_the_guides_are_typed(tmp_path: Path, added: str, is_right: bool) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(f"{USE}\n{added}\n", encoding="utf-8")
    above = Path(tokbench.__file__).parents[1]
    is_installed = above.name == "site-packages"
    environment = {**os.environ, "MYPY_CACHE_DIR": str(tmp_path.parent / "mypy")}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "use.py"],
        cwd=tmp_path,
        env=environment if is_installed else {**environment, "MYPYPATH": str(above)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is is_right, done.stdout + done.stderr
