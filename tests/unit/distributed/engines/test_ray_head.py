"""The loss of a Ray cluster's head: Ray silently ends the process a minute later, so it is reported before that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from tokbench.core.module_process import module_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 60.0
ADDRESS = "127.0.0.1"
DRIVER = """
import sys
from tokbench.core.progress import no_progress
from tokbench.distributed.engines import ray
from tokbench.distributed.tasks import Slice
from tokbench.errors import DistributedError

ray._SECONDS_TO_RETURN = 1.0
with ray.RayEngine.at(sys.argv[1]) as engine:
    one = Slice("part 1 of 1", {"number": 0, "folder": sys.argv[2]})
    try:
        list(engine.run("support.distributed_tasks:wait_for", [one], phase="x", progress=no_progress))
    except DistributedError as error:
        print(error.message, error.hint, sep="; ")
"""


def environment() -> dict[str, str]:
    """Return the environment of a cluster on this machine alone, without authentication and usage statistics."""
    return module_environment() | {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}


@contextmanager
def head(folder: Path) -> Iterator[str]:
    """Start a head with one worker; yield its address."""
    with subprocess.Popen(
        [
            *(sys.executable, "-P", "-m", "ray.scripts.scripts", "start", "--head", "--block"),
            *("--node-ip-address", ADDRESS, "--port", "0", "--num-cpus", "1", "--include-dashboard", "false"),
            *("--temp-dir", str(folder), "--disable-usage-stats"),
        ],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield next(line.split("'")[1] for line in process.stdout if "ray start --address=" in line)
        finally:
            process.terminate()
            process.wait(PATIENCE)


def pid_of_head(folder: Path) -> int:
    """Return the id of the process that keeps the cluster's state."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = path.read_bytes()
        except OSError:
            continue
        if b"gcs_server" in arguments.partition(b"\0")[0] and str(folder).encode() in arguments:
            return int(path.parent.name)
    raise AssertionError("there is no head")


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes in /proc")
def test_lost_head_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the package ray is not installed")
    out, mark = tmp_path / "out", tmp_path / "out" / "pid-0"
    out.mkdir()
    with (
        TemporaryDirectory(
            prefix="ray-", dir="/tmp", ignore_cleanup_errors=True
        ) as folder,  # a short path, for sockets
        head(Path(folder)) as address,
        subprocess.Popen(
            [sys.executable, "-c", DRIVER, address, str(out)], env=environment(), stdout=subprocess.PIPE
        ) as driver,
    ):
        until = time.monotonic() + PATIENCE
        while not mark.exists():
            assert time.monotonic() < until and driver.poll() is None
            time.sleep(0.05)
        os.kill(pid_of_head(Path(folder)), signal.SIGKILL)
        told, _ = driver.communicate(timeout=PATIENCE)
    assert told.decode() == (
        f"the head of the Ray cluster at {address} was lost; "
        "start it again, then repeat the command; with --resume, finished parts are kept\n"
    )
    assert driver.returncode == 0
