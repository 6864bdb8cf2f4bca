"""What the README shows is what happens: its session, its Python and its backend are run.

`python tests/golden/test_readme.py` writes the session anew.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMES = re.compile(r"^(time +).*$", re.MULTILINE)
SIZES = re.compile(r"\d+\.\d MB")
BENCH = re.compile(r"^(\$ tokbench bench .*\n)((?:(?!\$ ).*\n)*)", re.MULTILINE)
TIMED = re.compile(r"^(\w+(?: · \w+)?) {2,}[\d.,*]+ ", re.MULTILINE)


PICTURE = "corpora/parallel --backend bpe --backend sentencepiece --backend wordpiece --vocab-size 8000"


def blocks(language):
    return [text for found, text in BLOCK.findall(README.read_text(encoding="utf-8")) if found == language]


def environment(folder):
    names = ("HOME", "PATH", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "TOKBENCH_KERNEL", "VIRTUAL_ENV")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return kept | {"XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "100", "PYTHONUTF8": "1"}


def run_session(session, folder):
    """A session with the output of each of its commands written behind it."""
    command = f"{shlex.quote(sys.executable)} -m tokbench"
    lines = []
    for line in session.splitlines():
        if not line.startswith("$ "):
            continue
        shell = re.sub(r"(^|\| )tokbench ", rf"\1{command} ", line.removeprefix("$ "))
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", shell],
            cwd=folder,
            env=environment(folder),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        output = "\n".join(part.rstrip() for part in done.stdout.strip("\n").split("\n"))
        lines += [line, output] if output else [line]
    return "\n".join(lines) + "\n"


def without_times(text):
    """Of a benchmark nothing but times is printed: the command and who was timed are left of it."""
    text = BENCH.sub(lambda found: found[1] + "\n".join(TIMED.findall(found[2])) + "\n", text)
    return SIZES.sub("N MB", TIMES.sub(r"\1…", text))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("readme")
    bring_corpora(place)
    return place


@pytest.mark.slow
def test_the_session_is_what_the_commands_print(folder):
    if os.environ.get("TOKBENCH_KERNEL") == "python":
        pytest.skip("the session shows the native kernel")
    for session in blocks("console"):
        assert without_times(run_session(session, folder)) == without_times(session)


def test_the_first_command_trains_and_shows(folder):
    """Without its `pip install .`, which the checks around the tests run."""
    install, *commands = blocks("sh")[0].strip().split(" && ")
    assert install == "pip install ."
    output = run_session("".join(f"$ {command}\n" for command in commands), folder)
    assert "4,096 entries (chosen to fit the text)" in output
    assert "tokens" in output.splitlines()[-1] or "cut" in output


@pytest.mark.slow
def test_the_other_commands_run(folder):
    """In the order in which they stand, with what the session trains; those that install or test run elsewhere."""
    if not (folder / "tokenizers" / "mine").exists():
        [train] = [line for line in blocks("console")[0].splitlines() if line.startswith("$ ")]
        run_session(f"{train}\n", folder)
    commands = [line for text in blocks("sh")[2:] for line in text.splitlines()]
    assert len(commands) > 5
    for command in commands:
        assert command.startswith("tokbench ")
        run_session(f"$ {command}\n", folder)


def test_the_python_runs(folder):
    [example] = [text for text in blocks("python") if text.startswith("import tokbench")]
    subprocess.run(
        [sys.executable, "-W", "error", "-c", example], cwd=folder, env=environment(folder), check=True
    )


@pytest.mark.slow
def test_the_backend_works_as_an_installed_package(folder):
    [module] = [text for text in blocks("python") if text.startswith("# toy_backend.py")]
    [project] = blocks("toml")
    assert module.count("\n") + project.count("\n") < 60
    package, site = folder / "toy-backend", folder / "site"
    package.mkdir()
    (package / "toy_backend.py").write_text(module, encoding="utf-8")
    (package / "pyproject.toml").write_text(project, encoding="utf-8")
    options = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--target", site]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, package], cwd=folder, check=True)

    def tokbench(*arguments):
        settings = environment(folder)
        path = os.pathsep.join(filter(None, [str(site), settings.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "tokbench", *arguments]
        return subprocess.run(
            command,
            cwd=folder,
            env=settings | {"PYTHONPATH": path},
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout

    assert "a token for every character" in tokbench("backends")
    assert "saved in" in tokbench("train", "--backend", "toy", "--name", "toy")
    assert tokbench("encode", "-t", "toy", "aé") == "97 233\n"
    assert tokbench("decode", "-t", "toy", "97 233") == "aé"
    assert "2 tokens" in tokbench("viz", "-t", "toy", "aé")


def bring_corpora(folder):
    """As in a clone, where the README is read."""
    for kind in ("parallel", "code"):
        shutil.copytree(README.parent / "corpora" / kind, folder / "corpora" / kind)


def write_session():
    """Run the session and write its output, and its picture, into the repository."""
    text = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        bring_corpora(Path(name))
        for session in blocks("console"):
            text = text.replace(session, run_session(session, Path(name)))
        run_session(f"$ tokbench compare {PICTURE} --no-times --plot compare.svg > printed\n", Path(name))
        shutil.copy(Path(name) / "compare.svg", README.parent / "tests" / "golden" / "compare.svg")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_session()
