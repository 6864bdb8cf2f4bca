"""Fixtures that run the command as a user does: in its own process, in a terminal, or (fast) in this process.

All three run in the test's empty folder, share one cache so that the default tokenizer is trained only once, and
remove the warning about the slow Python kernel from stderr.
"""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tokbench
from tokbench.cli import error_messages
from tokbench.cli.app import main

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PATIENCE = 120
"""Seconds after which a run counts as hung: far more than any run needs on a busy machine."""

_SLOW_KERNEL = re.compile(rb"^tokbench: running the slow Python kernel .*\r?\n", re.MULTILINE)
_CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Done:
    """Exit code and output of a finished run."""

    code: int
    out: bytes
    err: bytes = b""

    @property
    def stdout(self) -> str:
        return self.out.decode()

    @property
    def stderr(self) -> str:
        return _SLOW_KERNEL.sub(b"", self.err).decode().replace("\r\n", "\n")

    @property
    def lines(self) -> list[str]:
        """Lines of stdout, without colours and trailing spaces."""
        return [line.rstrip() for line in _CONTROL_SEQUENCE.sub("", self.stdout).splitlines()]

    @property
    def json(self) -> Any:
        """The single JSON document on stdout."""
        [line] = self.stdout.splitlines()
        return json.loads(line)

    @property
    def documents(self) -> list[Any]:
        """The JSON documents on stdout, one per line."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    def good(self) -> Done:
        """Assert that the run succeeded, and return it."""
        assert self.code == 0, self.stderr
        assert "Traceback" not in self.stderr
        return self

    def refused(self, code: int, *parts: str) -> Done:
        """Assert that the run ended with this code, one error message with these parts and no data; return it."""
        assert "Traceback" not in self.stderr, self.stderr
        assert self.code == code, self.stderr
        for part in parts:
            assert part in self.stderr, self.stderr
        assert len(re.findall(r"^(error: |Error: )", self.stderr, re.MULTILINE)) == 1, self.stderr
        assert self.out == b""
        return self


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of child processes: this tokbench, an empty home, a shared cache, no colour options."""
    kept = ("PATH", "OPENBLAS_NUM_THREADS", "TOKBENCH_KERNEL", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SYSTEMROOT")
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "PYTHONPATH": str(Path(tokbench.__file__).parents[1]),
        "HOME": str(tmp_path_factory.mktemp("home")),
        "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
    }


@pytest.fixture(autouse=True)
def _let_commands_receive_ctrl_c(ctrl_c_works: None) -> None:
    """Let Ctrl-C reach the commands that these tests start."""


@pytest.fixture(scope="session")
def start(environment: dict[str, str]) -> Callable[..., subprocess.Popen[bytes]]:
    """Start the command in its own process, with pipes for its streams.

    `through` is a shell script that runs it as "$@": `start("encode", "x", through='"$@" >&-')`.
    """

    def start(
        *arguments: str | bytes | Path,
        folder: Path,
        through: str | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [sys.executable, "-W", "error", "-m", "tokbench", *arguments]
        if through is not None:
            command = ["sh", "-c", through, "sh", *command]
        return subprocess.Popen(command, cwd=folder, env=environment | dict(env or {}), **(pipes | options))

    return start


@pytest.fixture
def process(start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path) -> Callable[..., Done]:
    """Run the command in its own process: `process("count", "-", stdin=b"text")`."""

    def process(
        *arguments: str | bytes | Path, stdin: bytes | None = None, folder: Path = tmp_path, **options: Any
    ) -> Done:
        if stdin is None:
            options = {"stdin": subprocess.DEVNULL} | options
        with start(*arguments, folder=folder, **options) as running:
            try:
                out, err = running.communicate(stdin, timeout=PATIENCE)
            finally:
                running.kill()
        return Done(running.returncode, out or b"", err or b"")

    return process


@pytest.fixture
def run(
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> Callable[..., Done]:
    """Run the command in this process, many times faster: `run("encode", "text", "--json")`."""
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, environment[name])
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str | Path, stdin: bytes = b"") -> Done:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["tokbench", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            # An interrupted command ends this process at once if tests before it have loaded mini-racer.
            patch.setattr(error_messages, "_WAITS_AT_THE_END", "")
            with pytest.raises(SystemExit) as stopped:
                main()
        captured = capsysbinary.readouterr()
        return Done(int(stopped.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture(params=[80, 200])
def columns(request: pytest.FixtureRequest, run: Callable[..., Done], monkeypatch: pytest.MonkeyPatch) -> int:
    """Set the width of the output of `run`: once that of a narrow terminal, once that of a wide one."""
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


@pytest.fixture
def terminal(start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path) -> Callable[..., Done]:
    """Run the command in a terminal of a given width; `out` is everything sent to the terminal, including stderr.

    Ctrl-C is pressed as soon as `interrupt_at` is on the screen. `signals` are sent in order, each as soon as its text
    has been printed after the signal before it.
    """
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    def terminal(
        *arguments: str | Path,
        columns: int = 80,
        interrupt_at: bytes | None = None,
        signals: Sequence[tuple[bytes, int]] = (),
        **options: Any,
    ) -> Done:
        waiting = [*signals] if interrupt_at is None else [(interrupt_at, signal.SIGINT)]
        seen = 0
        keyboard, screen = pty.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        streams = {"stdin": screen, "stdout": screen, "stderr": screen}
        with start(*arguments, folder=tmp_path, **(streams | options)) as running:
            os.close(screen)
            out, deadline = bytearray(), time.monotonic() + PATIENCE
            while time.monotonic() < deadline and select.select([keyboard], [], [], PATIENCE)[0]:
                try:
                    block = os.read(keyboard, 1 << 16)
                except OSError:  # the end of the output, on Linux
                    break
                if not block:
                    break
                out += block
                if waiting and waiting[0][0] in out[seen:]:
                    seen, (_, number) = len(out), waiting.pop(0)
                    if number == signal.SIGCONT:
                        os.waitid(os.P_PID, running.pid, os.WSTOPPED | os.WNOWAIT)
                    running.send_signal(number)
            os.close(keyboard)
            try:
                running.wait(PATIENCE)
            finally:
                running.kill()
        return Done(running.returncode, _SLOW_KERNEL.sub(b"", bytes(out)))

    return terminal


@pytest.fixture(scope="session")
def trained(start: Callable[..., subprocess.Popen[bytes]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train and save a tokenizer of 1,024 tokens on the bundled texts; tests must not change it."""
    folder = tmp_path_factory.mktemp("trained")
    arguments = ["--vocab-size", "1024", "--special-token", "<|endoftext|>", "--special-token", "<|pad|>"]
    with start("train", *arguments, "--name", "mine", folder=folder) as running:
        _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err.decode()
    return folder / "tokenizers" / "mine"


@pytest.fixture(scope="session")
def special_ids(trained: Path) -> dict[str, int]:
    """Return the ids of the special tokens of `trained`."""
    return {"<|endoftext|>": 1022, "<|pad|>": 1023}
