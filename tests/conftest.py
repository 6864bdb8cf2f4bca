"""What every test may use: Hypothesis profiles, the kernels, and the material beside the project.

HYPOTHESIS_PROFILE=thorough draws a thousand examples where "fast", the default, draws twenty, and "brief" ten:
enough for a kernel or a sanitizer that other tests have not met yet. Where CI is set, the examples are the same in
each run, so that what is tested there does not depend on chance; elsewhere they are others each time.
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

sys.path.append(str(Path(__file__).parent))  # so that a test can import `support`
# Small matrices gain nothing from threads, which wait by spinning, beside other workers that have work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from support.kernels import KERNEL_NAMES, kernel_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.backends.bpe.kernel import Kernel

SHARED = Path(__file__).parents[2] / "shared" / "real"

in_ci = "CI" in os.environ
settings.register_profile("brief", deadline=None, max_examples=10, derandomize=in_ci)
settings.register_profile("fast", deadline=None, max_examples=20, derandomize=in_ci)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


gc.disable()  # nothing that is collected is garbage


def pytest_collection_finish() -> None:
    """Leave what thousands of tests consist of out of what each search for garbage goes through: 15 % of the time."""
    gc.enable()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let go of what tests have cached.

    Hypothesis refers to test functions until the process ends, and these to the names of their modules: without this,
    nanobind would tell of leaked tokenizers.
    """
    gc.unfreeze()
    here = str(Path(__file__).parent)
    for module in list(sys.modules.values()):
        if str(getattr(module, "__file__", None)).startswith(here):
            for value in vars(module).values():
                if isinstance(value, _lru_cache_wrapper):
                    value.cache_clear()


@pytest.fixture
def ctrl_c_works() -> Iterator[None]:
    """Whatever ran here before, or started this run in the background, a process that a test starts hears Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before or signal.SIG_DFL)


@pytest.fixture
def short_proofs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs take a third of the time: they leave out most of the bundled texts, and no other ones.

    For tests of what a command writes. Its proofs are whole for real vocabularies, and in the sessions of docs/.
    """
    from support.proofs import some_corpus_texts

    if request.node.get_closest_marker("real"):
        return
    for module in ("proof", "proof_inputs"):
        monkeypatch.setattr(f"tokbench.convert.{module}.corpus_texts", some_corpus_texts)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real vocabularies, vectors and texts; a test that needs it is marked `real`."""
    if not SHARED.is_dir():
        pytest.skip(f"the real vocabularies and texts are not at {SHARED}")
    return SHARED


@pytest.fixture(scope="session", params=KERNEL_NAMES)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Each kernel; the native one is skipped where it is absent, unless TOKBENCH_KERNEL=native demands it."""
    return kernel_named(request.param)


@pytest.fixture(scope="session")
def bucket() -> Iterator[str]:
    """The URL of a bucket in a store that answers as S3 does; tests that use it are slow, as the store starts."""
    from support.object_store import object_store

    with object_store() as url:
        yield url


@pytest.fixture(scope="session")
def native() -> Kernel:
    """The native kernel alone, for what only scanners, threads and big texts can show."""
    return kernel_named("native")
