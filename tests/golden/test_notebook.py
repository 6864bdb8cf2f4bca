"""docs/notebook.ipynb shows the actual outputs of its cells, which are run here without Jupyter.

`python tests/golden/test_notebook.py` rewrites its outputs.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # so that this file also runs as a script

from support.pages import DOCS, ROOT

NOTEBOOK = DOCS / "notebook.ipynb"


def test_outputs_equal_those_of_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    stored = notebook()
    cells = [cell for cell in stored["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 5
    for cell, outputs in zip(cells, run(stored), strict=True):
        assert cell["outputs"] == outputs, "".join(cell["source"])


def test_notebook_has_format_4_5() -> None:
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(NOTEBOOK, as_version=4))


def notebook() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return found


def run(stored: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the outputs of all code cells, which share one namespace."""
    names: dict[str, Any] = {}
    cells = (cell for cell in stored["cells"] if cell["cell_type"] == "code")
    return [outputs_of("".join(cell["source"]), names, number) for number, cell in enumerate(cells, 1)]


def outputs_of(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell; return the output that Jupyter would store for the value of its last line."""
    *statements, last = ast.parse(source).body
    assert isinstance(last, ast.Expr), "the last line of a cell is shown"
    exec(compile(ast.Module(statements, []), f"cell {number}", "exec"), names)
    value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    data = {"text/plain": lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = lines(value._repr_html_())
    return [{"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}]


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    written = notebook()
    cells = [cell for cell in written["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(cells, run(written), strict=True), 1):
        cell |= {"outputs": outputs, "execution_count": number}
    NOTEBOOK.write_text(json.dumps(written, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
