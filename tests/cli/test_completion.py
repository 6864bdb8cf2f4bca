"""Shell completion: existing names, without delay, in the form that each shell asks for."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tokbench.backends.bpe.split_patterns import PATTERN_NAMES
from tokbench.bench.peers import PEERS
from tokbench.bench.results import PARTS
from tokbench.chat.formats.catalogue import all_formats
from tokbench.cli.app import main
from tokbench.config import preset_names
from tokbench.convert.conversion import TARGETS
from tokbench.metrics.catalogue import METRICS
from tokbench.registry import backend_names

if TYPE_CHECKING:
    from collections.abc import Callable

SLOW = ("numpy", "pydantic", "regex", "tokenizers", "transformers", "sentencepiece", "tiktoken")


@pytest.fixture
def completed(tmp_path, monkeypatch, capsysbinary) -> Callable[[str], list[str]]:
    """Return a function that completes the last word of a line as bash is told to."""
    monkeypatch.chdir(tmp_path)

    def completed(line: str) -> list[str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["tokbench"])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
            patch.setenv("_TOKBENCH_COMPLETE", "complete_bash")
            patch.setenv("COMP_WORDS", line)
            patch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
            with pytest.raises(SystemExit) as stopped:
                main()
        assert stopped.value.code == 0
        return capsysbinary.readouterr().out.decode().split()

    return completed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tokbench cou", ["count-words", "count"]),
        ("tokbench train --backend ", backend_names()),
        ("tokbench compare --backend w", ["wordpiece", "word"]),
        ("tokbench sweep --backend un", ["unigram"]),
        ("tokbench train --pattern ", list(PATTERN_NAMES)),
        ("tokbench encode --pattern gpt4", ["gpt4", "gpt4o"]),
        ("tokbench train --preset ", preset_names()),
        ("tokbench convert --to ", list(TARGETS)),
        ("tokbench compare --metrics ", [*METRICS, "all", "help"]),
        ("tokbench report --metrics unk_rate,bytes_", ["unk_rate,bytes_per_token"]),
        ("tokbench bench --peers ", [*PEERS, "installed", "all", "none"]),
        ("tokbench bench --peers tiktoken,t", ["tiktoken,tokenizers"]),
        ("tokbench bench --only ", list(PARTS)),
        ("tokbench check --min bytes_per", ["bytes_per_token="]),
        ("tokbench compare --group-by ", ["auto", "path", "script", "extension", "field:"]),
        ("tokbench compare --aggregate m", ["macro"]),
        ("tokbench chat --template qwen2", ["qwen2.5", "qwen2"]),
        ("tokbench lint --template au", ["auto"]),
        ("tokbench shards write --chat llama3", ["llama3.1", "llama3.2", "llama3"]),
        ("tokbench shards verify --chat harm", ["harmony"]),
        ("tokbench play --template gem", ["gemma"]),
        ("tokbench count --engine ", ["auto", "native", "library"]),
    ],
)
def test_existing_names_are_completed(completed, line, expected):
    assert completed(line) == expected


@pytest.mark.parametrize(
    "option",
    [
        *["encode -t", "count -t", "viz -t", "report -t", "compare -t", "check -t", "bench -t"],
        *["explain -t", "inspect", "convert --check"],
    ],
)
def test_saved_tokenizers_and_paths_are_completed(completed, tmp_path, option):
    for name in ("mine", "other", ".hidden"):
        (tmp_path / "tokenizers" / name).mkdir(parents=True)
        (tmp_path / "tokenizers" / name / "tokbench.json").write_text("{}")
    (tmp_path / "mine.json").write_text("{}")
    assert completed(f"tokbench {option} mi") == ["mine", "mine.json"]
    assert completed(f"tokbench {option} tokenizers/o") == ["tokenizers/other/"]
    assert completed(f"tokbench {option} de") == ["default"]


def test_built_in_chat_templates_and_files_are_completed(completed, tmp_path):
    (tmp_path / "mine.jinja").write_text("")
    assert completed("tokbench chat --template mi")[-1] == "mine.jinja"
    assert completed("tokbench chat --template ") == [
        "auto",
        *(template.name for template in all_formats()),
        "mine.jinja",
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_completes_without_slow_imports(environment, tmp_path, shell):
    line = "tokbench compare --metrics bytes_per"
    env = environment | {
        "_TOKBENCH_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": "3",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    program = (
        "import sys; sys.argv = ['tokbench']; from tokbench.cli.app import main\n"
        "try: main()\n"
        f"finally: print(*sorted(set({SLOW}) & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert "bytes_per_token" in done.stdout
