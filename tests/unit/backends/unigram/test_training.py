"""Training Unigram on the kernel: the resulting tokenizer, and the options that it takes."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
from support import sentencepiece_models
from support.sentencepiece_models import training_text

import tokbench
from tokbench.backends.sentencepiece import training
from tokbench.errors import TrainingError
from tokbench.formats.sentencepiece.pieces import PieceType

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer

trained = partial(sentencepiece_models.trained, "unigram")


def normal_pieces(tokenizer: SentencePieceTokenizer) -> dict[str, float]:
    return {piece.text: piece.score for piece in tokenizer.model.pieces if piece.type is PieceType.NORMAL}


# --- the result -------------------------------------------------------------------------------


def test_library_opens_the_model_and_encodes_the_same() -> None:
    tokenizer = trained(vocab_size=700)
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)
    assert len(processor) == 700
    for text in (*training_text(), "  two  spaces ", "日本\t語", ""):
        assert tokenizer.encode(text) == processor.encode(text)


def test_probabilities_add_up_to_one() -> None:
    scores = normal_pieces(trained(vocab_size=700, round_scores=False)).values()
    assert math.isclose(math.fsum(map(math.exp, scores)), 1, abs_tol=1e-5)


def test_pieces_are_sorted_by_score_after_the_symbols() -> None:
    tokenizer = trained(vocab_size=700)
    assert [piece.text for piece in tokenizer.model.pieces[:4]] == ["<unk>", "<s>", "</s>", "<0x00>"]
    scores = [piece.score for piece in tokenizer.model.pieces[259:]]
    assert scores == sorted(scores, reverse=True)
    assert all(score * 32 == round(score * 32) for score in scores)


def test_text_is_more_probable_than_under_the_librarys_model() -> None:
    def bits(model: SentencePieceTokenizer) -> float:
        lines = [line for line in training_text() if line]
        return -math.fsum(model.n_best(line, n=2)[0].score for line in lines)

    assert bits(trained(vocab_size=900)) < bits(trained(vocab_size=900, trainer="sentencepiece"))


def test_threads_do_not_change_the_model() -> None:
    assert trained(vocab_size=600, threads=1).proto == trained(vocab_size=600, threads=3).proto


def test_training_on_files_equals_training_on_their_texts(tmp_path: Path) -> None:
    text = "\n".join(training_text()) + "\r\n   indented\r\n\n"
    (tmp_path / "text.txt").write_bytes(text.encode())
    from_file: Any = tokbench.train(
        tokbench.open_corpus(tmp_path / "text.txt"), backend="unigram", vocab_size=600
    )
    assert from_file.proto == trained([text], vocab_size=600).proto


def test_training_record_has_the_counts() -> None:
    record = trained(vocab_size=700).training
    assert record is not None
    assert record.kernel in ("native", "python")
    assert record.documents == sum(map(bool, training_text()))
    assert record.num_bytes == sum(len(text.encode()) for text in training_text())
    assert record.learned_ids == range(259, 700)
    assert record.pretokens is not None
    assert record.distinct_pretokens is not None
    assert record.pretokens > record.distinct_pretokens > 1000
    assert set(record.seconds) == {"reading", "training"}


def test_trainer_is_saved(tmp_path: Path) -> None:
    for trainer in ("tokbench", "sentencepiece"):
        trained(vocab_size=500, trainer=trainer).save(tmp_path / trainer)
        assert f'"trainer": "{trainer}"' in (tmp_path / trainer / "tokbench.json").read_text()


def test_progress_is_reported_in_rounds() -> None:
    told: list[tuple[str, int, int | None, str]] = []
    trained(vocab_size=600, progress=lambda *each: told.append(each))
    size = sum(len(text.encode()) for text in training_text())
    assert ("reading", size, size, "bytes") in told
    rounds = [(done, total) for phase, done, total, unit in told if (phase, unit) == ("training", "rounds")]
    assert rounds[0] == (0, None)
    assert [done for done, _ in rounds] == list(range(len(rounds)))
    assert rounds[-1][0] == rounds[-1][1]


# --- options ----------------------------------------------------------------------------------


def test_symbols_are_excluded_from_training_and_have_their_ids() -> None:
    tokenizer = trained(
        ["<x>ab<sep>ab</s> <0x41>ab\uff1cs\uff1e"] * 30,
        vocab_size=300,
        special_tokens=["<x>"],
        user_defined_symbols=["<sep>"],
        pad_id=263,
        normalization="nfkc",
    )
    assert tokenizer.info.special_tokens == {"<s>": 1, "</s>": 2, "<x>": 3, "<pad>": 263}
    assert tokenizer.token_id(b"<sep>") == 4
    learned = normal_pieces(tokenizer)
    assert not any(c in piece for piece in learned for c in "x0p")
    assert "<s>" not in learned


def test_normalization_equals_the_librarys() -> None:
    tokenizer = trained(["Ｈｅｌｌｏ\u3000ﬁne Hello fine"] * 5, vocab_size=300, normalization="nmt_nfkc")
    assert not any(ord(c) > 0x2581 for piece in normal_pieces(tokenizer) for c in piece)
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)
    assert processor.normalize("ﬁ") == "▁fi"


@pytest.mark.parametrize(
    ("options", "excluded", "included"),
    [
        ({"split_digits": True}, "11", "1"),
        ({"max_token_length": 2}, "▁aa", "▁a"),
        ({"options": ("split_by_unicode_script=false",)}, "\0", "▁a1a1"),
        ({"allow_whitespace_only_pieces": False}, "▁▁", "▁aa"),
        ({"options": ("split_by_whitespace=false",)}, "\0", "▁aa▁aa"),
        ({"options": ("required_chars=é",)}, "\0", "é"),
        ({"add_dummy_prefix": False}, "▁▁", "aa"),
    ],
)
def test_options_restrict_the_pieces(options: dict[str, Any], excluded: str, included: str) -> None:
    learned = normal_pieces(trained(["aa aa aa11", "aa aa a1a1"] * 20, vocab_size=330, **options))
    assert excluded not in learned
    assert included in learned


def test_tabs_are_trained_on() -> None:
    assert "▁\t\tif" in normal_pieces(
        trained(["\t\tif x:", "\t\tif y:"] * 20, vocab_size=300, options=("split_by_unicode_script=false",))
    )
    assert "▁\t\t" in normal_pieces(trained(["\t\tif x:", "\t\tif y:"] * 20, vocab_size=300))


def test_lines_are_sampled_and_skipped_as_by_the_library() -> None:
    tokenizer = trained(vocab_size=450, input_sentence_size=60, seed=1)
    assert tokenizer.training is not None
    assert tokenizer.training.notes[0].startswith("60 of ")
    assert tokenizer.training.documents == sum(map(bool, training_text()))
    short = trained(["long " * 50, "short"] * 9, vocab_size=270, max_sentence_length=100)
    assert not any("l" in piece for piece in normal_pieces(short))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("treat_whitespace_as_suffix=true", "SentencePiece's own trainer"),
        ("pretokenization_delimiter=|", "SentencePiece's own trainer"),
        ("shrinking_factor=7.5", "shrinking_factor is 7.5"),
        ("num_sub_iterations=0", "num_sub_iterations is 0"),
    ],
)
def test_unsupported_option_is_refused(option: str, message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        trained(vocab_size=600, options=(option,))


# --- refusals ---------------------------------------------------------------------------------


def test_small_text_stops_early_or_is_refused() -> None:
    texts = ["to be or not to be"] * 4
    tokenizer = trained(texts, vocab_size=5000)
    assert tokenizer.training is not None
    assert f"{tokenizer.info.vocab_size} of 5,000 tokens" in str(tokenizer.training.stopped_early)
    with pytest.raises(TrainingError, match="cannot fill a vocabulary of 5,000") as caught:
        trained(texts, vocab_size=5000, options=("hard_vocab_limit=true",))
    largest = int(str(caught.value.hint).split()[1])
    assert trained(texts, vocab_size=largest, options=("hard_vocab_limit=true",)).info.vocab_size == largest


@pytest.mark.parametrize("size", [5, 270])
def test_too_small_vocabulary_is_refused_with_the_smallest_size(size: int) -> None:
    with pytest.raises(TrainingError, match=f"a vocabulary of {size} is too small") as caught:
        trained(vocab_size=size)
    smallest = int(str(caught.value.hint).split()[1])
    assert trained(vocab_size=smallest).info.vocab_size == smallest


@pytest.mark.parametrize("texts", [[], [""], ["\n\n"], ["  "], ["\0"]])
def test_training_without_text_is_refused(texts: list[str]) -> None:
    with pytest.raises(TrainingError, match="no text") as caught:
        trained(texts)
    assert ("only white space" in str(caught.value)) == any(texts)


def test_id_beyond_the_vocabulary_is_refused() -> None:
    with pytest.raises(TrainingError, match="'<pad>' has the id 900"):
        trained(["some words"] * 3, vocab_size=1000, pad_id=900)


def test_long_segments_do_not_underflow() -> None:
    """Thousands of characters without a boundary have a probability far below the smallest double."""
    tokenizer = trained(["ab" * 20_000 + "ba" * 3000], vocab_size=300)
    assert max(len(piece) for piece in normal_pieces(tokenizer)) == 16
    assert len(tokenizer.encode("ab" * 800)) <= 110


def test_lines_are_not_spooled_if_all_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_count_lines", None)
    corpus = tokbench.open_corpus(__file__)
    tokenizer: Any = tokbench.train(corpus, backend="unigram", vocab_size=400, input_sentence_size=1 << 40)
    assert tokenizer.info.vocab_size == 400
