"""Training within a memory limit: the same tokenizer as without it, and never more memory than allowed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.folders import files_of

from tokbench.backends.bpe.training import merging_bytes
from tokbench.corpus import open_corpus
from tokbench.counting import part_task, spilled_words
from tokbench.counting.spilled_words import PROCESS_BYTES
from tokbench.errors import ConfigError, TrainingError
from tokbench.files.bundled import corpora_directory
from tokbench.workbench.train import train_and_save

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pyarrow")
pytest.importorskip("tokbench.native._bpe")

MEMORY = 2_000_000_000


@pytest.fixture
def texts() -> list[Path]:
    """Return four files, each in another script."""
    return bundled()[:4]


def bundled() -> list[Path]:
    return sorted((corpora_directory() / "parallel").rglob("*.txt"))


@pytest.fixture
def spills(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Write tables out at each check; the returned list grows with each time."""
    written: list[int] = []
    write = part_task.Spill.write
    monkeypatch.setattr(part_task.Spill, "write", lambda self: (written.append(1), write(self)))
    monkeypatch.setattr(spilled_words, "_TABLE_GROWTH", MEMORY)
    return written


def trained(paths: list[Path], directory: Path, **options: Any) -> dict[str, bytes]:
    """Train, and return the tokenizer's files, whose content does not depend on the folder above."""
    directory /= "tokenizer"
    train_and_save(
        open_corpus(*paths), directory=directory, options={"vocab_size": 700, "threads": 2}, **options
    )
    return files_of(directory)


def test_tokenizer_equals_that_without_a_limit(texts: list[Path], spills: list[int], tmp_path: Path) -> None:
    within = trained(texts, tmp_path / "within", memory=MEMORY)
    assert len(spills) > len(texts) == 4
    assert within == trained(texts, tmp_path / "without")


def test_rare_words_are_dropped_from_the_total(texts: list[Path], spills: list[int], tmp_path: Path) -> None:
    """Rare words are left out of the total, as by `count-words` and `train --counts`, not of each table written."""
    from tokbench.distributed.engines.open import InProcessEngine
    from tokbench.workbench.count_words import count_words, training_words

    within = trained(texts, tmp_path / "within", memory=MEMORY, min_count=3)
    assert len(spills) > len(texts) == 4
    count_words(
        open_corpus(*texts), out=str(tmp_path / "words"), options={}, engine=InProcessEngine(threads=1)
    )
    train_and_save(
        training_words(str(tmp_path / "words"), min_count=3),
        directory=tmp_path / "counts",
        options={"vocab_size": 700},
    )
    record = json.loads(within["tokbench.json"])["training"]
    assert record["words"] == {"min_count": 3} and record["tokens"] is None
    assert within["merges.npy"] == (tmp_path / "counts" / "merges.npy").read_bytes()
    assert within["merges.npy"] != trained(texts, tmp_path / "all")["merges.npy"]


def test_excessive_merge_memory_is_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = bundled()
    monkeypatch.setattr(spilled_words, "PROCESS_BYTES", spilled_words.LEAST_MEMORY - 1_000_000)
    with pytest.raises(TrainingError, match=r"takes up to \d MB of memory, and 1 MB are left") as error:
        trained(texts, tmp_path / "t", memory=spilled_words.LEAST_MEMORY)
    assert "--min-count 2 " in str(error.value.hint) and "--memory" in str(error.value.hint)
    assert not (tmp_path / "t").exists()
    trained(texts, tmp_path / "t", memory=spilled_words.LEAST_MEMORY, min_count=2)


def test_other_backends_are_refused(texts: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs the backend bpe"):
        trained(texts, tmp_path / "t", memory=MEMORY, backend="wordpiece")
    with pytest.raises(ConfigError, match="--memory of 1,000 bytes is too little"):
        trained(texts, tmp_path / "t", memory=1000)


def write_distinct_words(path: Path, number: int) -> None:
    """Write a text of random words, nearly all of which occur once."""
    random = np.random.default_rng(7)
    with path.open("wb") as file:
        for _ in range(number >> 18):
            ends = np.cumsum(random.integers(7, 14, 1 << 18)) - 1
            text = random.integers(ord("a"), ord("j"), ends[-1] + 1, dtype=np.uint8)
            text[ends] = ord(" ")
            file.write(text.tobytes())


def train_in_process(*arguments: object) -> tuple[subprocess.CompletedProcess[str], int]:
    """Run `tokbench train`; return the finished process and its peak memory in bytes."""
    program = (
        "import resource, subprocess, sys\n"
        "code = subprocess.run([sys.executable, '-m', 'tokbench', 'train', *sys.argv[1:]]).returncode\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    unit = 1 if sys.platform == "darwin" else 1024
    return done, int(done.stdout.split()[-1]) * unit


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the system does not tell how much memory a process had")
def test_peak_memory_stays_below_the_limit(tmp_path: Path) -> None:
    text, memory = tmp_path / "words.txt", 400_000_000
    write_distinct_words(text, 4 << 20)
    common = (text, "--vocab-size", "1000", "--memory", f"{memory}")
    refused, peak = train_in_process(*common, "--out", tmp_path / "a")
    assert refused.returncode == 1 and "--min-count 2 leaves out" in refused.stderr
    assert peak < memory
    done, peak = train_in_process(*common, "--min-count", "2", "--out", tmp_path / "b")
    assert done.returncode == 0, done.stderr
    assert peak < memory
    counted, peak = train_in_process(text, "--vocab-size", "1000", "--out", tmp_path / "c")
    assert counted.returncode == 0 and peak > memory


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the system does not tell how much memory a process had")
def test_counting_and_merging_parts_stay_within_the_stated_memory(tmp_path: Path) -> None:
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from tokbench.core.progress import no_progress\n"
        "from tokbench.corpus import open_corpus\n"
        "from tokbench.counting.part_task import make_plan\n"
        "from tokbench.counting.run import count_all, count_share\n"
        "from tokbench.distributed.engines.open import InProcessEngine\n"
        "from tokbench.distributed.plan_folder import Share\n"
        "from tokbench.files.storage.open import place_of\n"
        "text, folder, memory = sys.argv[1], place_of(sys.argv[2]), int(sys.argv[3])\n"
        "plan = make_plan(open_corpus(text), backend='bpe', options={}, cuts_at_lines=True)\n"
        "engine, distinct = InProcessEngine(threads=2), 0\n"
        "if memory:\n"
        "    count_share(plan, folder, Share(1, 1), engine=engine, memory=memory, progress=no_progress)\n"
        "else:\n"
        "    words, _ = count_all(plan, folder, engine=engine, resume=True, progress=no_progress)\n"
        "    distinct = words.index.distinct\n"
        "most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "if sys.platform == 'linux':\n"  # where ru_maxrss includes the process that started it
        "    lines = Path('/proc/self/status').read_text().splitlines()\n"
        "    most = next(int(line.split()[1]) for line in lines if line.startswith('VmHWM:'))\n"
        "print(distinct, most)\n"
    )

    def peak(memory: int) -> tuple[int, int]:
        arguments = [sys.executable, "-c", program, str(tmp_path / "a.txt"), str(tmp_path / "w"), str(memory)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        distinct, most = map(int, done.stdout.split())
        return distinct, most * (1 if sys.platform == "darwin" else 1024)

    write_distinct_words(tmp_path / "a.txt", 2 << 20)
    table = 30_000_000  # all words at once take 100 MB
    assert peak(table)[1] < PROCESS_BYTES + table
    distinct, most = peak(0)
    assert PROCESS_BYTES < most < PROCESS_BYTES + 120 * distinct


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_merging_stays_within_the_stated_memory() -> None:
    program = (
        "import sys, numpy as np\n"
        "from tokbench.native.kernel_choice import chosen_module\n"
        "name, _bpe = chosen_module(compiled='tokbench.native._bpe', fallback='tokbench.backends.bpe.fallback')\n"
        "assert name == 'native'\n"
        "random = np.random.default_rng(7)\n"
        "sizes = random.integers(2, 24, 1_500_000)\n"
        "offsets = np.concatenate([[0], np.cumsum(sizes)])\n"
        "data = random.integers(97, 103, offsets[-1], dtype=np.uint8)\n"
        "counts = np.ones(len(sizes), np.int64)\n"
        "words = _bpe.WordList()\n"
        "def peak(name):\n"
        "    return next(int(line.split()[1]) * 1024 for line in open('/proc/self/status') if line.startswith(name))\n"
        "before = peak('VmRSS')\n"
        "words.add_arrays(data, offsets, counts)\n"
        "_bpe.train(words, num_merges=int(sys.argv[1]) - 256, min_frequency=2, max_token_length=0, seed=0,"
        " progress=None)\n"
        "print(peak('VmHWM') - before)\n"
    )
    sizes = np.random.default_rng(7).integers(2, 24, 1_500_000)
    for vocab_size in (1_000, 30_000):
        done = subprocess.run(
            [sys.executable, "-c", program, str(vocab_size)], capture_output=True, text=True, check=True
        )
        said = int(merging_bytes(sizes, vocab_size=vocab_size).sum())
        assert said / 3 < int(done.stdout) < said
