"""Tests for training with SentencePiece: the library's arguments, its input, and the result."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
from support import sentencepiece_models
from support.sentencepiece_models import training_text, variant

import tokbench
from tokbench.core.training import fitted_size
from tokbench.errors import CorpusError, ModelFormatError, SelfTestError, TrainingError
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.libraries.sentencepiece import training
from tokbench.libraries.sentencepiece.config import LONGEST_LINE, PARTS
from tokbench.libraries.sentencepiece.training_lines import Lines, drawn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer

BACKENDS = ("sentencepiece", "unigram")


trained = partial(sentencepiece_models.trained, trainer="sentencepiece")


# --- the result -------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_model_equals_that_of_a_plain_library_call(backend: str) -> None:
    """The pieces and scores are those that the library gives without our process, spool and pipe.

    Unigram scores are rounded afterwards.
    """
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for line in training_text() if line),
        model_writer=written,
        model_type="bpe" if backend == "sentencepiece" else "unigram",
        vocab_size=700,
        character_coverage=0.9995,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        hard_vocab_limit=False,
        num_threads=PARTS,
        max_sentence_length=LONGEST_LINE,
        minloglevel=2,
    )
    # The files differ only in which defaults are written out, so the parsed models are compared.
    expected = parse_model(written.getvalue())
    if backend == "unigram":
        pieces = [piece._replace(score=round(piece.score * 32) / 32) for piece in expected.pieces]
        assert expected.pieces != tuple(pieces)
        expected = replace(expected, pieces=tuple(pieces))
    assert trained(backend, vocab_size=700).model == expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_and_repetition_do_not_change_the_model(backend: str) -> None:
    protos = {trained(backend, vocab_size=600, threads=threads).proto for threads in (None, 1, 2)}
    assert len(protos) == 1


def test_seed_determines_the_sampled_lines() -> None:
    def drawn_by(seed: int) -> SentencePieceTokenizer:
        return trained("sentencepiece", vocab_size=450, input_sentence_size=60, seed=seed)

    one = drawn_by(1)
    assert one.proto == drawn_by(1).proto != drawn_by(2).proto
    assert one.training is not None
    (note,) = one.training.notes
    assert note.startswith("60 of ")
    assert note.endswith(" lines were drawn at random")


def test_lines_are_sampled_uniformly() -> None:
    lines = [bytes([value]) for value in range(10)]
    draws = [list(drawn(lines, size=3, total=10, seed=seed)) for seed in range(2000)]
    assert all(len(draw) == 3 and draw == sorted(draw) for draw in draws)
    counts = Counter(line for draw in draws for line in draw)
    assert all(abs(counts[line] - 600) < 4.5 * 21 for line in lines)


@pytest.mark.parametrize("backend", BACKENDS)
def test_default_size_depends_on_the_text(backend: str) -> None:
    tokenizer = trained(backend, ["some words and more words, so that there is a text"] * 3)
    assert tokenizer.training is not None
    assert tokenizer.training.requested_vocab_size is None
    assert 270 < tokenizer.info.vocab_size <= 512


def test_default_size_exceeds_the_number_of_characters() -> None:
    assert fitted_size(0, reserved=300) == 512
    assert fitted_size(30_000, reserved=300) == 4096
    assert fitted_size(1_000, reserved=4_000) == 8192
    assert fitted_size(10**9, reserved=300) == 65_536


def test_training_record_has_the_counts() -> None:
    tokenizer = trained("sentencepiece", vocab_size=700)
    bpe, unigram = tokenizer.training, trained("unigram", vocab_size=700).training
    assert bpe is not None
    assert unigram is not None
    assert bpe.documents == sum(map(bool, training_text()))
    assert bpe.num_bytes == sum(len(text.encode()) for text in training_text())
    assert bpe.learned_unit == "merges"
    assert bpe.learned_ids.start == unigram.learned_ids.start == 3 + 256
    assert all(len(tokenizer.model.pieces[id].text) > 1 for id in bpe.learned_ids)
    assert unigram.learned_ids == range(259, 700)
    assert bpe.kernel.startswith("sentencepiece ")
    assert set(bpe.seconds) == {"reading", "training"}


# --- the input --------------------------------------------------------------------------------


def test_documents_are_split_at_special_tokens_and_line_ends() -> None:
    lines = Lines(["one<x>two\r\n\nthree▅four", "", "fi\0ve"], ["<x>"])
    assert list(lines) == [b"one", b"two", b"three", b"four", b"fi\0ve"]
    assert (lines.documents, lines.lines, lines.notes()) == (2, 5, ())


def test_long_lines_are_split_or_skipped_and_counted() -> None:
    long = "word " * 30_000
    cut = Lines([long])
    parts = list(cut)
    assert b"".join(parts) == long.encode()
    assert all(len(part) <= LONGEST_LINE for part in parts)
    assert all(part.startswith(b" word") for part in parts[1:])
    assert cut.notes() == ("1 line of more than 65,536 bytes was cut, at a space if possible",)
    left_out = Lines([long, "short"], longest=100)
    assert list(left_out) == [b"short"]
    assert left_out.notes() == ("1 line was left out as longer than max_sentence_length=100",)


def test_notes_on_lines_reach_the_training_record() -> None:
    tokenizer = trained("sentencepiece", ["x " * 100_000, "some words"], vocab_size=270)
    assert tokenizer.training is not None
    assert tokenizer.training.notes == ("1 line of more than 65,536 bytes was cut, at a space if possible",)


def test_special_tokens_are_not_trained_on() -> None:
    tokenizer = trained(
        "sentencepiece", ["ab<|zzzzzz|>ab"] * 20, special_tokens=["<|zzzzzz|>"], vocab_size=270
    )
    assert tokenizer.info.special_tokens["<|zzzzzz|>"] == 3
    assert not any("z" in piece.text for piece in tokenizer.model.pieces[4:])


def test_corpus_error_is_raised_unchanged() -> None:
    def documents() -> Iterator[str]:
        yield from training_text()
        raise CorpusError("the disk is gone")

    with pytest.raises(CorpusError, match="the disk is gone"):
        trained("sentencepiece", documents())


def test_progress_is_reported_in_the_calling_thread() -> None:
    import threading

    told: list[tuple[str, int, int | None, str]] = []

    def report(phase: str, done: int, total: int | None, unit: str) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.append((phase, done, total, unit))

    trained("unigram", vocab_size=600, progress=report)
    size = sum(len(text.encode()) for text in training_text())
    assert ("reading", size, size, "bytes") in told
    assert ("training", 0, None, "rounds") in told


@pytest.mark.parametrize("backend", BACKENDS)
def test_library_prints_nothing(backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    trained(backend, vocab_size=600)
    assert capfd.readouterr() == ("", "")


# --- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_small_text_stops_early_with_a_reason(backend: str) -> None:
    tokenizer = trained(backend, ["to be or not to be"] * 4, vocab_size=5000)
    assert tokenizer.training is not None
    assert tokenizer.training.stopped_early is not None
    assert f"{tokenizer.info.vocab_size} of 5,000 tokens" in tokenizer.training.stopped_early


@pytest.mark.parametrize("backend", BACKENDS)
def test_hard_limit_beyond_the_text_is_refused_with_the_largest_size(backend: str) -> None:
    texts, hard = ["to be or not to be"] * 4, ("hard_vocab_limit=true",)
    with pytest.raises(TrainingError, match="cannot fill a vocabulary of 5,000") as caught:
        trained(backend, texts, vocab_size=5000, options=hard)
    assert caught.value.hint is not None
    largest = int(caught.value.hint.split()[1])
    assert trained(backend, texts, vocab_size=largest, options=hard).info.vocab_size == largest


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [5, 200, 270])
def test_too_small_vocabulary_is_refused_with_the_smallest_size(backend: str, size: int) -> None:
    with pytest.raises(TrainingError, match=f"a vocabulary of {size} is too small for this text") as caught:
        trained(backend, vocab_size=size)
    assert caught.value.hint is not None
    smallest = int(caught.value.hint.split()[1])
    assert trained(backend, vocab_size=smallest).info.vocab_size == smallest


@pytest.mark.parametrize("texts", [[], [""], ["\n\n  \n"], ["<x><x>"]])
def test_training_without_text_is_refused(texts: list[str]) -> None:
    with pytest.raises(TrainingError, match="no text"):
        trained("sentencepiece", texts, special_tokens=["<x>"])


@pytest.mark.parametrize("texts", [[1], [b"bytes"]])
def test_documents_of_another_type_are_refused(texts: Any) -> None:
    with pytest.raises(TrainingError, match="needed"):
        trained("sentencepiece", texts)


def test_option_that_the_library_refuses_is_reported() -> None:
    with pytest.raises(TrainingError, match="SentencePiece could not train: ") as caught:
        trained("unigram", vocab_size=600, options=("shrinking_factor=7.5",))
    assert "INTERNAL" not in str(caught.value)
    assert ".cc" not in str(caught.value)


def test_aborting_library_process_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def dying(*_: object, **options: Any) -> subprocess.Popen[bytes]:
        code = "import os, sys; sys.stderr.write('F0000 what must not be\\n'); sys.stderr.flush(); os.abort()"
        return real([sys.executable, "-c", code], **options)

    real = subprocess.Popen
    monkeypatch.setattr(training.subprocess, "Popen", dying)
    with pytest.raises(TrainingError, match=r"ended its process .*what must not be"):
        trained("sentencepiece", vocab_size=600)


# --- the folder -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bpe as llama", "unigram as t5"])
def test_saved_folder_opens_here_and_in_the_library(name: str, tmp_path: Path) -> None:
    tokenizer = variant(name)
    tokenizer.save(tmp_path / "mine")
    opened: Any = tokbench.load(tmp_path / "mine")
    assert type(opened) is type(tokenizer)
    assert opened.proto == tokenizer.proto
    assert opened.config["vocab_size"] == tokenizer.config["vocab_size"]
    assert "threads" not in opened.config
    peer = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "mine" / "tokenizer.model"))
    assert peer.encode("Hello, wörld") == opened.encode("Hello, wörld")


def test_folder_with_another_model_is_refused(tmp_path: Path) -> None:
    from tokbench.store import read_manifest, write

    variant("bpe").save(tmp_path / "mine")
    manifest = read_manifest(tmp_path / "mine")
    for index, (other, error) in enumerate(
        {"unigram": SelfTestError, "bpe as llama": ModelFormatError}.items()
    ):
        write(tmp_path / str(index), manifest=manifest, files={"tokenizer.model": variant(other).proto})
        with pytest.raises(error):
            tokbench.load(tmp_path / str(index))
    write(tmp_path / "none", manifest=manifest, files={"notes.txt": b""})
    with pytest.raises(ModelFormatError, match=r"a file tokenizer\.model"):
        tokbench.load(tmp_path / "none")


# --- the process ------------------------------------------------------------------------------


@pytest.mark.timed
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
@pytest.mark.usefixtures("ctrl_c_works")
def test_interrupt_stops_the_training_soon(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"{i * 7919 % 100003} {i:x} some words {i}" for i in range(200_000)))
    code = (
        "import sys, tokbench\n"
        "def told(phase, *_):\n"
        "    phase == 'training' and print(phase, flush=True)\n"
        f"texts = tokbench.open_corpus({str(text)!r})\n"
        "tokbench.train(texts, backend='unigram', trainer='sentencepiece', progress=told)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"training\n"
    started = time.perf_counter()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert time.perf_counter() - started < 5  # about one second on an idle machine, more on a busy one
    assert process.returncode != 0
