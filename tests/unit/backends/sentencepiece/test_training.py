"""Training SentencePiece's BPE on the kernel: the model equals the library's own, including its options."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
from support import sentencepiece_models
from support.sentencepiece_models import training_text

import tokbench
from tokbench.errors import TrainingError

if TYPE_CHECKING:
    from pathlib import Path


trained = partial(sentencepiece_models.trained, "sentencepiece")


# --- the result -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"vocab_size": 2500},  # more pieces than there are pairs
        {"character_coverage": 0.98, "byte_fallback": False, "vocab_size": 400},
        {"normalization": "nmt_nfkc", "remove_extra_whitespaces": True},
        {"normalization": "nfkc_cf", "add_dummy_prefix": False},
        {"special_tokens": ("<|x|>",), "user_defined_symbols": ("the", "<n>"), "split_digits": True},
        {"max_token_length": 3, "allow_whitespace_only_pieces": False},
        {"unk_id": 3, "bos_id": -1, "eos_id": 1, "pad_id": 0, "eos_piece": "</end>"},
        {"options": ("split_by_whitespace=false", "split_by_unicode_script=false")},
        {"options": ("required_chars=Ω𝄞", "split_by_number=false")},
    ],
    ids=str,
)
def test_model_equals_the_librarys(options: dict[str, Any]) -> None:
    options = {"vocab_size": 700, **options}
    ours, librarys = (trained(trainer=trainer, **options).model for trainer in ("tokbench", "sentencepiece"))
    assert ours == librarys


def test_library_opens_the_model_and_encodes_the_same() -> None:
    tokenizer = trained(vocab_size=700)
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)
    for text in (*training_text(), "  two  spaces ", "日本\t語", ""):
        assert tokenizer.encode(text) == processor.encode(text)


def test_threads_do_not_change_the_model() -> None:
    assert trained(vocab_size=600, threads=1).proto == trained(vocab_size=600, threads=3).proto


def test_training_on_files_equals_training_on_their_texts(tmp_path: Path) -> None:
    text = "\n".join(training_text()) + "\r\n   indented\r\nthree▅four ▁five\r\n\n"
    (tmp_path / "text.txt").write_bytes(text.encode())
    corpus = tokbench.open_corpus(tmp_path / "text.txt")
    from_file: Any = tokbench.train(corpus, backend="sentencepiece", vocab_size=600)
    assert from_file.proto == trained([text], vocab_size=600).proto
    assert from_file.model == trained([text], vocab_size=600, trainer="sentencepiece").model


def test_training_record_has_the_counts() -> None:
    record = trained(vocab_size=700, trainer="tokbench").training
    assert record is not None
    assert record.documents == sum(map(bool, training_text()))
    assert record.num_bytes == sum(len(text.encode()) for text in training_text())
    assert record.learned_unit == "merges"
    assert record.learned_ids.start == 259
    assert record.kernel in ("native", "python")


def test_progress_is_reported_in_pieces() -> None:
    told: list[tuple[str, int, int | None, str]] = []
    trained(vocab_size=700, trainer="tokbench", progress=lambda *each: told.append(each))
    pieces = [(done, total) for phase, done, total, unit in told if (phase, unit) == ("training", "pieces")]
    assert pieces[0][0] == 0
    assert pieces[-1][0] == pieces[-1][1] == pieces[0][1]


# --- refusals ---------------------------------------------------------------------------------


def test_unsupported_option_trains_in_the_library_or_is_refused() -> None:
    options = ("treat_whitespace_as_suffix=true",)
    by_library = trained(vocab_size=600, options=options)
    assert by_library.training is not None
    assert by_library.training.kernel.startswith("sentencepiece ")
    with pytest.raises(TrainingError, match="an option of SentencePiece's own trainer") as caught:
        trained(vocab_size=600, options=options, trainer="tokbench")
    assert "trainer=sentencepiece" in str(caught.value.hint)


def test_library_trains_without_the_compiled_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKBENCH_KERNEL", "python")
    by_library = trained(vocab_size=600)
    assert by_library.training is not None
    assert by_library.training.kernel.startswith("sentencepiece ")


def test_small_text_stops_early() -> None:
    tokenizer = trained(["to be or not to be"] * 4, vocab_size=5000)
    assert tokenizer.training is not None
    assert f"{tokenizer.info.vocab_size} of 5,000 tokens" in str(tokenizer.training.stopped_early)


@pytest.mark.parametrize("size", [5, 270])
def test_too_small_vocabulary_is_refused_with_the_smallest_size(size: int) -> None:
    with pytest.raises(TrainingError, match=f"a vocabulary of {size} is too small") as caught:
        trained(vocab_size=size)
    smallest = int(str(caught.value.hint).split()[1])
    assert trained(vocab_size=smallest).info.vocab_size == smallest
