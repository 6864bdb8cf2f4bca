"""Run the examples of all docstrings."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import tokbench
from tokbench.backends.bpe import reference

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(tokbench.__path__, "tokbench.")
    if module.name.rpartition(".")[2] not in {"_bpe", "_metrics", "_wordpiece", "__main__"}
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_pass(name: str) -> None:
    runner = doctest.DocTestRunner()
    for examined in doctest.DocTestFinder().find(importlib.import_module(name)):
        if examined.examples:  # running a docstring without examples would still set up a debugger
            runner.run(examined)
    assert runner.summarize().failed == 0


def test_every_function_of_the_reference_has_an_example() -> None:
    functions = [value for _, value in inspect.getmembers(reference, inspect.isfunction)]
    of_its_own = [function for function in functions if function.__module__ == reference.__name__]
    assert of_its_own
    assert [function.__name__ for function in of_its_own if ">>>" not in (function.__doc__ or "")] == []
