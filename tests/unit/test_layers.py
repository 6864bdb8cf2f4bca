"""Tests that dependencies point one way, as ARCHITECTURE.md says.

Imports are read from the sources, including imports inside functions. Imports under `TYPE_CHECKING` are ignored,
except in the search for cycles: an annotation may name a type of a higher layer.
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import tokbench

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(tokbench.__file__).parent

# Each part may import only from itself and from the parts before it. A new part must be added here.
ORDER = [
    "errors", "native", "files", "core", "registry", "config", "corpus", "distributed", "words", "metrics", "formats",
    "store", "explain", "libraries", "backends", "counting", "opening", "inspection", "evaluation", "shards", "chat",
    "convert", "lint", "surgery", "play_page", "workbench", "bench", "render", "play", "cli",
]  # fmt: skip

RENDER_IMPORTS = {"chat", "core", "errors", "evaluation", "explain", "metrics", "workbench"}


class Import(NamedTuple):
    """An import, as the dotted names of the importing module and of the imported module or name."""

    importer: str
    imported: str

    @property
    def part(self) -> str:
        """The importing part of tokbench: the first name below the package."""
        return part_of(self.importer)


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def module_name(path: Path) -> str:
    parts = ("tokbench", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def statements(
    node: ast.AST, *, for_types: bool = False
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield every import below a node and whether it is under `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, for_types
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            named = isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id
            yield from statements(child, for_types=for_types or named == "TYPE_CHECKING")


def imports_of(path: Path) -> Iterator[tuple[Import, bool]]:
    importer = module_name(path)
    for statement, for_types in statements(ast.parse(path.read_bytes())):
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        else:
            assert statement.level == 0, f"{importer}: a relative import"
            names = [f"{statement.module}.{alias.name}" for alias in statement.names]
        yield from ((Import(importer, name), for_types) for name in names)


# An installed package contains the bundled texts, one of which is Python code.
SOURCES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not {"native", "corpora"} & set(path.relative_to(PACKAGE).parts)
]


@cache
def all_imports() -> list[tuple[Import, bool]]:
    """Return every import in the package and whether it is for type checkers only."""
    return [edge for path in SOURCES for edge in imports_of(path)]


def imports(*, types: bool = False) -> list[Import]:
    """Return the imports that are executed and, if `types`, those for type checkers too."""
    return [imported for imported, for_types in all_imports() if types or not for_types]


@cache
def ours(*, types: bool = False) -> list[Import]:
    """Return the imports of tokbench's own modules."""
    return [module for module in imports(types=types) if module.imported.startswith("tokbench.")]


def importers_of(*libraries: str) -> set[str]:
    """Return the parts that import any of the given libraries or parts of tokbench."""
    return {
        module.part
        for module in imports()
        if any(module.imported == name or module.imported.startswith(f"{name}.") for name in libraries)
    }


def test_every_package_is_in_the_order() -> None:
    parts = {part_of(module_name(path)) for path in SOURCES} - {"", "__main__"}
    assert parts - set(ORDER) == set()


@pytest.mark.parametrize("part", ORDER)
def test_package_imports_only_earlier_ones(part: str) -> None:
    allowed = {*ORDER[: ORDER.index(part) + 1], "__version__"}
    wrong = [edge for edge in ours() if edge.part == part and part_of(edge.imported) not in allowed]
    assert wrong == []


def test_modules_have_no_import_cycles() -> None:
    """Imports in functions and for types count too; `tokbench` itself is left out as it only re-exports names."""
    modules = {module_name(path) for path in SOURCES}

    def module_of(imported: str) -> str:
        return imported if imported in modules else module_of(imported.rpartition(".")[0])

    needs: dict[str, set[str]] = {name: set() for name in modules}
    for edge in ours(types=True):
        pair = (edge.importer, module_of(edge.imported))
        if len(set(pair)) == 2 and "tokbench" not in pair:
            needs[pair[0]].add(pair[1])
    TopologicalSorter(needs).prepare()  # raises `CycleError`, which names a cycle


def test_only_cli_imports_typer() -> None:
    assert importers_of("typer", "click") == {"cli"}


def test_only_render_play_and_cli_import_rich() -> None:
    assert importers_of("rich") <= {"render", "play", "cli"}


def test_only_play_and_cli_import_textual() -> None:
    assert importers_of("textual") == {"play", "cli"}


def test_only_play_and_cli_import_render() -> None:
    assert importers_of("tokbench.render") - {"render"} <= {"play", "cli"}


def test_render_imports_only_results() -> None:
    imported = {part_of(edge.imported) for edge in ours() if edge.part == "render"}
    assert imported - {"render", "__version__"} <= RENDER_IMPORTS


def test_render_imports_only_the_results_of_bench() -> None:
    imported = {edge.imported for edge in ours() if edge.part == "render"}
    of_bench = {name for name in imported if name.startswith("tokbench.bench")}
    assert {".".join(name.split(".")[:3]) for name in of_bench} <= {"tokbench.bench.results"}


def test_only_opening_and_surgery_import_backends() -> None:
    # Surgery continues the training of byte-level BPEs of every format.
    assert importers_of("tokbench.backends") - {"backends"} <= {"opening", "surgery"}


def test_backends_never_import_one_another() -> None:
    """The exception is Unigram, which uses the code that SentencePiece's algorithms share."""

    def backend(module: str) -> str:
        return ".".join(module.split(".")[:3])

    inside = [edge for edge in ours() if edge.part == part_of(edge.imported) == "backends"]
    others = {
        (backend(edge.importer), backend(edge.imported))
        for edge in inside
        if backend(edge.importer) != backend(edge.imported)
    }
    assert others == {("tokbench.backends.unigram", "tokbench.backends.sentencepiece")}


def test_top_level_module_imports_no_package() -> None:
    assert [edge for edge in ours() if edge.importer == "tokbench"] == []
