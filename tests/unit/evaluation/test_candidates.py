"""Tokenizers that are trained to be compared: their sizes, which are left out, and trainings in other processes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.toys import documents_of

from tokbench.core.progress import no_progress
from tokbench.core.time_and_memory import peak_bytes
from tokbench.corpus import open_corpus
from tokbench.errors import ConfigError, TrainingError
from tokbench.evaluation import candidates
from tokbench.evaluation.candidates import train_candidates, train_in_process
from tokbench.evaluation.holdout import Holdout, Side, hold_out
from tokbench.evaluation.units import NO_TRANSLATIONS

if TYPE_CHECKING:
    from pathlib import Path


def holdout_of(text: str) -> Holdout:
    return Holdout([text], documents_of(text), "documents", 1, len(text.encode()), NO_TRANSLATIONS)


TEXT = " ".join(f"{first}{rest}" for first in "abcdefghij" for rest in ["lo", "wer", "ing", "est", "ly"] * 3)


def test_trained_candidates_share_a_size_that_baselines_do_not() -> None:
    trained = train_candidates(holdout_of(TEXT), backends=("bpe", "wordpiece"), vocab_size=290)
    infos = [candidate.tokenizer.info for candidate in trained.candidates]
    sizes = {info.backend: info.vocab_size for info in infos}
    assert list(sizes) == ["bpe", "wordpiece", "byte", "char"]
    assert sizes["bpe"] == trained.vocab_size == 290
    assert sizes["byte"] == 256
    assert all(candidate.training_bytes == len(TEXT) for candidate in trained.candidates)


def test_vocabulary_size_has_a_minimum() -> None:
    trained = train_candidates(holdout_of(TEXT), backends=("bpe",), baselines=())
    assert trained.vocab_size == 512
    assert trained.candidates[0].tokenizer.info.vocab_size < trained.vocab_size


def test_size_below_the_base_skips_an_algorithm_or_is_refused() -> None:
    trained = train_candidates(holdout_of(TEXT), backends=("bpe", "sentencepiece"), vocab_size=300)
    assert set(trained.left_out) <= {"sentencepiece"}
    with pytest.raises((ConfigError, TrainingError)):
        train_candidates(holdout_of(TEXT), backends=("sentencepiece",), vocab_size=3)


def test_a_baseline_is_not_trained_twice() -> None:
    trained = train_candidates(holdout_of(TEXT), backends=("byte", "bpe"), vocab_size=280)
    assert [candidate.tokenizer.info.backend for candidate in trained.candidates] == ["byte", "bpe", "char"]


LINES = "".join(
    f"the line {number} of {number * number % 97} words, which go on and on\n" for number in range(3000)
)

needs_proc = pytest.mark.skipif(
    peak_bytes() is None, reason="this system does not tell the peak of a process"
)


@pytest.fixture
def holdout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holdout:
    """Hold out part of files that are named relative to the current folder, as users do."""
    monkeypatch.chdir(tmp_path)
    for name in ("parallel/x/de.txt", "parallel/x/en.txt", "code/c/a.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(LINES, encoding="utf-8")
    return hold_out(open_corpus("parallel/x/de.txt", "parallel/x/en.txt", "code"), seed=3)


def trained_in_process(holdout: Holdout, **config: Any) -> Any:
    return train_in_process("bpe", holdout.training, config, sample=None, progress=no_progress)


@needs_proc
def test_training_in_a_process_gives_the_same_tokenizer(holdout: Holdout) -> None:
    [here], [there] = (
        train_candidates(holdout, backends=("bpe",), baselines=(), vocab_size=400, memory=memory).candidates
        for memory in (False, True)
    )
    assert here.training_peak_bytes is None
    assert there.training_peak_bytes is not None
    assert there.tokenizer.info == here.tokenizer.info
    assert there.tokenizer.encode(LINES[:5000]) == here.tokenizer.encode(LINES[:5000])
    assert there.training_bytes == here.training_bytes == holdout.training_bytes


@needs_proc
def test_peak_memory_does_not_depend_on_the_parent_process(holdout: Holdout) -> None:
    """In this process, a training would reuse freed memory, and the high-water mark would not move."""
    peaks = []
    for _ in range(2):
        training = trained_in_process(holdout, vocab_size=400)
        peaks.append(training.peak_bytes)
        ballast = [bytes(1000) for _ in range(100_000)]
        del ballast
    assert min(peaks) > 15_000_000  # every interpreter takes more
    assert max(peaks) < 1.2 * min(peaks)
    own = peak_bytes()
    assert own is not None
    assert max(peaks) < own


@needs_proc
def test_peak_memory_includes_child_processes() -> None:
    """Some libraries train in a process of their own, a child of the process that was started."""
    program = (
        "import subprocess, sys;"
        "from tokbench.core.time_and_memory import peak_bytes, training_peak_bytes;"
        "subprocess.run([sys.executable, '-c', 'len(bytes(1) * 200_000_000)'], check=True);"
        "print(peak_bytes(), training_peak_bytes());"
        "held = bytes(1) * 400_000_000;"
        "print(peak_bytes(), training_peak_bytes())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    (before, with_child), (after, with_both) = (map(int, line.split()) for line in ran.stdout.splitlines())
    assert before < 100_000_000
    assert 200_000_000 < with_child < 400_000_000
    assert 400_000_000 < after <= with_both < after + 1_000_000


@needs_proc
def test_peak_memory_of_a_library_is_that_of_its_own_process(
    holdout: Holdout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process in which the library trains takes 200 MB whatever the text, by far more than its parent."""
    monkeypatch.syspath_prepend(tmp_path / "first")
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "sitecustomize.py").write_text(
        "import sys\nif 'tokbench.libraries.sentencepiece.worker' in sys.orig_argv:\n    b'x' * 200_000_000\n",
        encoding="utf-8",
    )
    one = train_in_process(
        "sentencepiece",
        holdout.training,
        {"vocab_size": 400, "trainer": "sentencepiece"},
        sample=None,
        progress=no_progress,
    )
    assert one is not None
    assert 200_000_000 < one.peak_bytes < 400_000_000


@needs_proc
def test_errors_equal_those_of_training_in_this_process(holdout: Holdout) -> None:
    with pytest.raises((ConfigError, TrainingError), match="a vocabulary of 3 is too small") as error:
        trained_in_process(holdout, vocab_size=3)
    with pytest.raises(type(error.value), match="a vocabulary of 3 is too small") as here:
        train_candidates(holdout, backends=("bpe",), baselines=(), vocab_size=3)
    assert error.value.hint == here.value.hint


@needs_proc
@pytest.mark.parametrize(
    ("script", "expected"),
    [("kill -9 $$", "killed"), ("exit 1", None), ("cat > /dev/null; echo text; echo '[1]'", None)],
)
def test_abnormal_end_of_the_process_is_handled(
    holdout: Holdout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, expected: str | None
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    if expected is None:
        assert trained_in_process(holdout, vocab_size=300) is None
    else:
        with pytest.raises(TrainingError, match=r"killed \(signal 9\)") as error:
            trained_in_process(holdout, vocab_size=300)
        assert "--no-times" in str(error.value.hint)


def test_unknown_peak_memory_trains_in_this_process(
    holdout: Holdout, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train_in_process("bpe", ["text"], {}, sample=None, progress=no_progress) is None
    monkeypatch.setattr(candidates, "peak_bytes", lambda: None)
    assert trained_in_process(holdout, vocab_size=300) is None
    [one] = train_candidates(holdout, backends=("bpe",), baselines=(), vocab_size=300, memory=True).candidates
    assert one.training_peak_bytes is None
    assert one.tokenizer.info.vocab_size == 300


def test_corpus_survives_the_transfer_to_another_process(holdout: Holdout) -> None:
    assert isinstance(holdout.training, Side)
    read = Side.of_document(json.loads(json.dumps(holdout.training.to_json())))
    assert list(read.documents()) == list(holdout.training.documents())
    assert {document.group for document in read.documents()} == {"x", "c"}
