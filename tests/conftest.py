"""Fixtures for all tests: Hypothesis profiles, the kernels, and the material beside the project.

HYPOTHESIS_PROFILE=thorough draws a thousand examples, "fast" (the default) twenty, and "brief" ten, which is enough to
repeat tests on another kernel or with a sanitizer. Where CI is set, each run draws the same examples, so that its
result does not depend on chance; elsewhere each run draws others.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

sys.path.append(str(Path(__file__).parent))  # tests import `support`
# Threads do not speed up small matrices, and their busy waiting takes time from the other test workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from support.kernels import KERNEL_NAMES, kernel_named

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from tokbench.backends.bpe.kernel import Kernel

SHARED = Path(__file__).parents[2] / "shared" / "real"

in_ci = "CI" in os.environ
settings.register_profile("brief", deadline=None, max_examples=10, derandomize=in_ci)
settings.register_profile("fast", deadline=None, max_examples=20, derandomize=in_ci)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


gc.disable()  # collection of tests creates no garbage


def pytest_collection_finish() -> None:
    """Exclude the objects of thousands of collected tests from garbage collection, which saves 15 % of the time.

    Collect more rarely, too: vocabularies of a hundred thousand objects would otherwise be traversed again and again.
    """
    gc.enable()
    gc.freeze()
    gc.set_threshold(5_000, 5, 20)


@pytest.fixture(scope="session", autouse=True)
def _files_need_not_survive_a_power_cut() -> Iterator[None]:
    """Do not wait for the disk; tests of what is synchronized, and when, replace the function themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which refuses the same descriptors
        yield


def _clear_caches(module: ModuleType) -> None:
    for value in vars(module).values():
        if isinstance(value, _lru_cache_wrapper) and value.__module__ == module.__name__:
            value.cache_clear()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Clear the caches of a module after its last test: real tokenizers take hundreds of megabytes."""
    module = getattr(item, "module", None)
    if module is not None and module is not getattr(nextitem, "module", None):
        _clear_caches(module)


def pytest_unconfigure() -> None:
    """Clear the caches of the test modules.

    Hypothesis keeps test functions alive until the process ends, and with them the globals of their modules: without
    this, nanobind would report leaked tokenizers.
    """
    gc.unfreeze()
    here = str(Path(__file__).parent)
    for module in list(sys.modules.values()):
        if str(getattr(module, "__file__", None)).startswith(here):
            _clear_caches(module)


@pytest.fixture
def ctrl_c_works() -> Iterator[None]:
    """Let processes that a test starts receive Ctrl-C, even if this run was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before or signal.SIG_DFL)


@pytest.fixture
def short_proofs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten proofs to a fifth of their time: they leave out most of the bundled and generated texts, and no others.

    For tests of the output of commands. Proofs remain complete for real vocabularies and in the sessions of docs/.
    """
    from support.proofs import some_corpus_texts, some_generated_texts

    if request.node.get_closest_marker("real"):
        return
    for module in ("convert.proof", "convert.proof_inputs", "play_page.check"):
        monkeypatch.setattr(f"tokbench.{module}.corpus_texts", some_corpus_texts)
    for module in ("convert.proof", "play_page.check"):
        monkeypatch.setattr(f"tokbench.{module}.generated_texts", some_generated_texts)


@pytest.fixture
def full_proofs() -> None:
    """Leave the proofs of a quick test complete, as their texts are its subject."""


@pytest.fixture(autouse=True)
def _short_proofs_in_quick_tests(request: pytest.FixtureRequest) -> None:
    """Shorten the proofs of all tests but the slow ones, and those that ask for `full_proofs`."""
    if "full_proofs" not in request.fixturenames and not request.node.get_closest_marker("slow"):
        request.getfixturevalue("short_proofs")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real vocabularies, vectors and texts; a test that needs it is marked `real`."""
    if not SHARED.is_dir():
        pytest.skip(f"the real vocabularies and texts are not at {SHARED}")
    return SHARED


@pytest.fixture(scope="session", params=KERNEL_NAMES)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Return each kernel in turn; the native one is skipped where absent, unless TOKBENCH_KERNEL=native demands it."""
    return kernel_named(request.param)


@pytest.fixture(scope="session")
def bucket() -> Iterator[str]:
    """Yield the URL of a bucket in an S3-compatible store; tests that use it are slow because the store must start."""
    from support.object_store import object_store

    with object_store() as url:
        yield url


@pytest.fixture(scope="session")
def native() -> Kernel:
    """Return the native kernel alone, for properties of scanners, threads and big texts."""
    return kernel_named("native")
