"""Ctrl-C at any moment: exit code 130, one message, nothing half-written, nothing lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from support.folders import files_of

import tokbench
from tokbench.backends.bpe.kernel import current_kernel

pytestmark = [pytest.mark.timed, pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")]

PHASES = ["reading", "counting", "merging", "saving"]
NOTHING_LEFT = "no partial output was left behind"
KEPT = "the finished parts are kept: {} continues with them"
MESSAGE = f"error: interrupted\nhint:  {NOTHING_LEFT}\n"
SECONDS = {"native": 10, "python": 20}
"""Seconds within which a run must end: it takes about two, and more on a busy machine."""


def random_words(megabytes):
    """Return words of random letters, nearly all different, so that merging them takes seconds."""
    letters = bytes(b"etaoinshrdlu    "[byte & 15] for byte in range(256))
    return random.Random(7).randbytes(megabytes << 20).translate(letters)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Write a text for each kernel that keeps it busy for seconds."""
    folder = tmp_path_factory.mktemp("texts")
    for kernel, megabytes in {"native": 40, "python": 1}.items():
        (folder / f"{kernel}.txt").write_bytes(random_words(megabytes))
    return folder


@pytest.fixture(params=["native", "python"])
def kernel(request):
    """Return the name of a kernel; the tests here select it through the child's environment."""
    from tokbench.backends.bpe.kernel import has_native_kernel

    if request.param == "native" and not has_native_kernel():
        pytest.skip("the compiled kernel is not installed")
    return request.param


def wait_for(running, phase, *, done=0):
    """Read progress reports until they reach this amount of this phase, or a later phase."""
    for line in running.stderr:
        if line.startswith(b"{"):
            report = json.loads(line)
            after = PHASES.index(report["phase"]) - PHASES.index(phase)
            if after > 0 or (after == 0 and report["done"] >= done):
                return
    raise AssertionError(f"it ended before {phase}")


def interrupted(running, kernel):
    """Press Ctrl-C, and assert that the run ends in time, with the exit code and the message."""
    pressed = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert time.monotonic() - pressed < SECONDS[kernel]
    assert running.returncode == 130, err.decode()
    assert out == b""
    # Python itself may warn of a file that it was importing from before, as warnings are errors here.
    assert err.decode().endswith(MESSAGE)
    assert b"KeyboardInterrupt" not in err


@pytest.mark.parametrize(
    "moment",
    [
        ("merging", 0),
        *(
            pytest.param(progress, marks=pytest.mark.slow)
            for progress in [("reading", 0), ("counting", 1), ("merging", 1)]
        ),
    ],
)
def test_interrupt_while_training(start, texts, tmp_path, kernel, moment):
    phase, done = moment
    arguments = ["--vocab-size", "60000", "--progress", "json", "--name", "new"]
    env = {"TOKBENCH_KERNEL": kernel}
    with start("train", texts / f"{kernel}.txt", *arguments, folder=tmp_path, env=env) as running:
        wait_for(running, phase, done=done)
        interrupted(running, kernel)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_interrupt_with_force_keeps_the_older_tokenizer(start, run, texts, tmp_path):
    run("train", "--vocab-size", "300", "--name", "old", "--json").good()
    before = files_of(tmp_path)
    kernel = tokbench.load(tmp_path / "tokenizers" / "old").info.kernel
    arguments = ["--vocab-size", "60000", "--progress", "json", "--name", "old", "--force"]
    with start("train", texts / f"{kernel}.txt", *arguments, folder=tmp_path) as running:
        wait_for(running, "merging")
        interrupted(running, kernel)
    assert files_of(tmp_path) == before
    assert run("encode", "-t", "old", "still here").good().out


@pytest.mark.slow
def test_interrupt_while_reading_standard_input(start, tmp_path):
    with start("train", "-", "--progress", "json", folder=tmp_path) as running:
        running.stdin.write(b"some text\n" * 300_000)
        running.stdin.flush()
        wait_for(running, "counting")
        interrupted(running, "native")
    assert list(tmp_path.iterdir()) == []
    with start("encode", "-", folder=tmp_path) as running:
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=120)
    assert running.returncode in (130, -signal.SIGINT)  # killed by the signal if Python was still starting
    assert running.returncode != 130 or err.decode().endswith(MESSAGE)


@pytest.mark.parametrize("force", [False, True])
def test_interrupt_while_saving(environment, run, tmp_path, force):
    """The signal arrives while the second file is being synced to disk."""
    if force:
        run("train", "--vocab-size", "300", "--name", "mine", "--json").good()
    before = files_of(tmp_path)
    code = (
        "import os, signal, sys\n"
        "from tokbench.cli.app import main\n"
        "fsync, calls = os.fsync, []\n"
        "def interrupt(descriptor):\n"
        "    calls.append(descriptor)\n"
        "    if len(calls) == 2:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    fsync(descriptor)\n"
        "os.fsync = interrupt\n"
        "sys.argv = ['tokbench', 'train', '--preset', 'tiny', '--name', 'mine', '--force']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 130, done.stderr.decode()
    assert done.stderr.decode().endswith(MESSAGE)
    assert "Traceback" not in done.stderr.decode()
    assert files_of(tmp_path) == before
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_interrupt_inside_exec_has_the_usual_exit_code(environment, tmp_path):
    """An interrupt inside `exec`, as when an import makes a dataclass, makes Python want to end by the signal."""
    (tmp_path / "interrupted.py").write_text(
        "import sys\n"
        "from tokbench.workbench import doctor\n"
        "from tokbench.cli.app import main\n"
        "doctor.examine = lambda: exec('raise KeyboardInterrupt')\n"
        "sys.argv = ['tokbench', 'doctor']\n"
        "main()\n"
    )
    places = os.pathsep.join(filter(None, [str(tmp_path), environment.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        env=environment | {"PYTHONPATH": places},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr.decode()) == (130, MESSAGE)


def test_interrupt_while_importing_typer(environment):
    """A short run spends most of its time on this import, before any command is looked up."""
    code = (
        "import runpy, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *places):\n"
        "        if name == 'typer':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv = ['tokbench', 'list']\n"
        "runpy.run_module('tokbench', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (130, MESSAGE)


def test_interrupt_while_importing_numpy(environment):
    """The kernel's first array imports numpy, far below the code that handles Ctrl-C."""
    code = (
        "import sys\n"
        "from tokbench.backends.bpe.kernel import current_kernel\n"
        "class Finder:\n"
        "    def find_spec(self, name, *places):\n"
        "        if name == 'numpy':\n"
        "            raise KeyboardInterrupt\n"
        "kernel = current_kernel()\n"
        "if kernel.name == 'native':\n"
        "    counter = kernel.new_counter(pattern='gpt4', special_tokens=[], threads=1, seed=0)\n"
        "    counter.add_texts(['aa bb'] * 9)\n"
        "    counter.finish()\n"
        "    assert 'numpy' not in sys.modules\n"
        "    sys.meta_path.insert(0, Finder())\n"
        "    try:\n"
        "        kernel.train(counter, num_merges=2, min_frequency=1, max_token_length=0, seed=0, progress=None)\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted')\n"
        "else:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert done.stdout == b"interrupted\n", done.stderr.decode()


def test_repeated_interrupts_print_one_message(start, texts, tmp_path):
    with start(
        "train", texts / "python.txt", "--vocab-size", "60000", "--progress", "json", folder=tmp_path
    ) as running:
        wait_for(running, "merging")
        for _ in range(5):
            running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=120)
    assert running.returncode == 130, err.decode()
    assert err.decode().endswith(MESSAGE)
    assert "Traceback" not in err.decode()


@pytest.mark.parametrize("gap", [0.005, 0.01, 0.02, 0.04])
def test_second_interrupt_while_counting_and_hashing(start, texts, tmp_path, gap):
    """The second Ctrl-C interrupts the code that ends the hashing thread."""
    with start("train", texts / "native.txt", "--progress", "json", folder=tmp_path) as running:
        wait_for(running, "counting", done=1)
        running.send_signal(signal.SIGINT)
        time.sleep(gap)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=120)
    assert running.returncode == 130, err.decode()
    assert err.decode().endswith(MESSAGE)
    assert b"Traceback" not in err


@pytest.mark.parametrize("seconds", [0.3, 0.6, 0.9])
def test_interrupt_while_checking_a_play_page(start, tmp_path, seconds):
    """Code that was running in the JavaScript engine once kept the process from ending."""
    pytest.importorskip("py_mini_racer")
    options = ["--html", "page.html", "-t", "default", "-t", "default", "--progress", "json"]
    with start("play", *options, folder=tmp_path) as running:
        next(line for line in running.stderr if b'"checking"' in line)
        time.sleep(seconds)
        running.send_signal(signal.SIGINT)
        try:
            _, err = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 130, err.decode()
    assert err.decode().endswith(MESSAGE)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("function", "options", "hint"),
    [
        ("tokbench.cli.output_options.PictureChoices.write", ["--parts", "parts"], KEPT.format("--resume")),
        ("tokbench.cli.output_options.PictureChoices.write", ["--engine", "local"], NOTHING_LEFT),
        (
            "tokbench.workbench.evaluation_parts.PartedCorpus.count_parts",
            ["--parts", "parts", "--part", "1/2"],
            KEPT.format("the same command"),
        ),
    ],
)
def test_interrupt_of_an_evaluation_in_parts_says_what_continues(
    environment, tmp_path, function, options, hint
):
    """Parts are reused also if figures are drawn when the signal arrives; without a folder there are none."""
    code = (
        "import sys\n"
        "from unittest.mock import patch\n"
        "from tokbench.cli.app import main\n"
        f"sys.argv = ['tokbench', 'compare', '-t', 'default', 'a.txt', '--no-times', *{options}]\n"
        f"with patch({function!r}, side_effect=KeyboardInterrupt):\n"
        "    main()\n"
    )
    (tmp_path / "a.txt").write_text("some words\n" * 9)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.decode()) == (130, f"error: interrupted\nhint:  {hint}\n")


def test_interrupt_removes_the_progress_bar(terminal, texts, tmp_path):
    text = texts / f"{current_kernel().name}.txt"
    done = terminal("train", text, "--vocab-size", "60000", interrupt_at=b"merge ")
    assert done.code == 130, done.stdout
    assert done.stdout.endswith(MESSAGE.replace("error:", "\x1b[1;31merror:\x1b[0m").replace("\n", "\r\n"))
    assert done.stdout.count("\x1b[?25l") == done.stdout.count("\x1b[?25h") == 1
    assert list(tmp_path.iterdir()) == []
