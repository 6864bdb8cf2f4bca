"""Processes that run a module: they find this package, and end with their pipes closed."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING

from tokbench.core.module_process import end_process, start_module

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_module_runs_with_the_import_path_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "greeting.py").write_text("print(input() + '!')")
    monkeypatch.syspath_prepend(tmp_path)
    process = start_module("greeting", encoding="utf-8")
    answer, _ = process.communicate("hello")
    assert (answer, process.returncode) == ("hello!\n", 0)


def test_a_running_process_is_killed_and_its_threads_are_joined() -> None:
    process = start_module("code", encoding="utf-8")  # the interactive interpreter waits for input
    assert process.stdout is not None
    reader = threading.Thread(target=process.stdout.read)
    reader.start()
    end_process(process, [reader])
    assert process.returncode not in (None, 0)
    assert not reader.is_alive()
    assert process.stdin is not None
    assert process.stdin.closed
    assert process.stdout.closed


def test_data_that_an_ended_process_did_not_read_is_dropped() -> None:
    process = start_module("this", stderr=subprocess.PIPE)
    process.wait()
    assert process.stdin is not None
    process.stdin.write(b"unread")  # stays in the buffer
    end_process(process)
    assert process.stdin.closed
    assert process.returncode == 0
