"""Training from documents: what is read, what is reported, and what is refused."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from support.kernels import chosen, counted_by_definition
from support.texts import bundled_texts

from tokbench.backends.bpe import BpeBackend, reference
from tokbench.backends.bpe.config import BpeConfig
from tokbench.core.documents import ByteDocuments, ByteSource, TextIdentity
from tokbench.core.progress import no_progress
from tokbench.core.training import fitted_size
from tokbench.errors import ConfigError, CorpusError, TextError, TrainingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tokbench.backends.bpe.kernel import Kernel
    from tokbench.backends.bpe.tokenizer import BpeTokenizer
    from tokbench.core.progress import Progress

TEXTS = ["the cat sat on the mat\n", "the hat that the cat had", "", "<e>that hat<e>"]


def train(
    kernel: Kernel, documents: Iterable[str], *, progress: Progress = no_progress, **options: object
) -> BpeTokenizer:
    with chosen(kernel.name):
        return BpeBackend().train(documents, BpeConfig(**options), progress=progress)


def test_merges_equal_the_reference(kernel: Kernel) -> None:
    tokenizer = train(kernel, TEXTS, vocab_size=270, special_tokens=("<e>",))
    pretokens = counted_by_definition(TEXTS, special_tokens=["<e>"])
    assert tokenizer.merges == tuple(reference.train(pretokens, num_merges=270 - 256 - 1))


def test_custom_pattern_trains_on_its_splits(kernel: Kernel) -> None:
    pattern = r"[aeiou]+|\w|\W+"
    tokenizer = train(kernel, TEXTS, vocab_size=280, pattern=pattern, special_tokens=("<e>",))
    pretokens = counted_by_definition(TEXTS, pattern=pattern, special_tokens=["<e>"])
    assert tokenizer.merges == tuple(reference.train(pretokens, num_merges=280 - 256 - 1))
    assert tokenizer.training is not None
    assert (tokenizer.training.pretokens, tokenizer.training.distinct_pretokens) == (
        pretokens.total(),
        len(pretokens),
    )
    assert (tokenizer.training.documents, tokenizer.training.num_bytes) == (3, sum(map(len, TEXTS)))


def test_qwen2_trains_on_composed_text(kernel: Kernel) -> None:
    decomposed = ["e\u0301te\u0301 ne\u0301e " * 3, "\u1112\u1161\u11ab\u1100\u1173\u11af " * 3]
    composed = [unicodedata.normalize("NFC", text) for text in decomposed]
    assert decomposed != composed
    learned = train(kernel, decomposed, vocab_size=300, pattern="qwen2").merges
    assert learned == train(kernel, composed, vocab_size=300, pattern="qwen2").merges
    assert learned != train(kernel, decomposed, vocab_size=300, pattern="llama3").merges


def test_special_tokens_come_last_and_count_towards_the_size(kernel: Kernel) -> None:
    tokenizer = train(kernel, TEXTS, vocab_size=262, special_tokens=("<e>", "<pad>"))
    assert tokenizer.info.vocab_size == 262
    assert tokenizer.info.special_tokens == {"<e>": 260, "<pad>": 261}
    assert len(tokenizer.merges or ()) == 262 - 256 - 2


def test_special_tokens_in_the_text_are_not_trained_on(kernel: Kernel) -> None:
    often = "<|endoftext|>".join(TEXTS * 50)
    tokenizer = train(kernel, [often], special_tokens=("<|endoftext|>",))
    tokens = reference.vocabulary(tokenizer.merges or ())
    assert not any(b"|" in token for token in tokens[256:])


def test_training_record_has_the_counts(kernel: Kernel) -> None:
    texts = list(bundled_texts().values())[::3]
    tokenizer = train(kernel, [*texts, ""], vocab_size=600, threads=2)
    record = tokenizer.training
    assert record is not None
    pretokens = counted_by_definition(texts)
    assert record.documents == len(texts)
    assert record.num_bytes == sum(len(text.encode()) for text in texts)
    assert record.pretokens == pretokens.total()
    assert record.distinct_pretokens == len(pretokens)
    assert record.tokens == sum(len(tokenizer.encode(text)) for text in texts)
    assert record.learned_ids == range(256, 600)
    assert (record.kernel, record.threads) == (kernel.name, 2)
    assert record.requested_vocab_size == 600
    assert record.stopped_early is None
    assert set(record.seconds) == {"counting", "merging"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "2 times or more: "),
        ({"min_frequency": 4}, "4 times or more: "),
        ({"max_token_length": 2}, "2 times or more and makes a token of at most 2 bytes: "),
    ],
)
def test_early_stop_is_explained(kernel: Kernel, options: dict[str, int], words: str) -> None:
    tokenizer = train(kernel, TEXTS, vocab_size=1000, **options)
    assert tokenizer.training is not None
    assert tokenizer.training.stopped_early is not None
    learned = len(tokenizer.merges or ())
    assert words + f"{learned} of 744 merges were learned" in tokenizer.training.stopped_early
    assert tokenizer.info.vocab_size == 256 + learned


def test_minimum_frequency_of_one_learns_single_occurrences(kernel: Kernel) -> None:
    assert train(kernel, ["ab"], vocab_size=257).merges == ()
    assert train(kernel, ["ab"], vocab_size=257, min_frequency=1).merges == ((97, 98, 1),)


def test_default_size_depends_on_the_text(kernel: Kernel) -> None:
    tokenizer = train(kernel, TEXTS)
    assert tokenizer.training is not None
    assert tokenizer.training.requested_vocab_size is None
    assert tokenizer.training.stopped_early is not None
    assert "of 256 merges" in tokenizer.training.stopped_early  # 512 tokens


def test_default_size_is_a_power_of_two_between_512_and_65536() -> None:
    sizes = [fitted_size(distinct) for distinct in range(0, 2_000_000, 1000)]
    assert sizes == sorted(sizes)
    assert set(sizes) == {1 << power for power in range(9, 17)}


def test_progress_reports_counting_then_merging(kernel: Kernel) -> None:
    reports: list[tuple[str, int, int | None, str]] = []
    documents = list(bundled_texts().values()) * 4
    train(kernel, documents, vocab_size=600, progress=lambda *report: reports.append(report))
    phases = [phase for phase, *_ in reports]
    assert sorted(set(phases)) == ["counting", "merging"]
    assert phases == sorted(phases)
    for phase in ("counting", "merging"):
        done = [report[1] for report in reports if report[0] == phase]
        assert done == sorted(done)
    assert reports[-1] == ("merging", 600 - 256, 600 - 256, "merges")


# Refusals


@pytest.mark.parametrize("documents", [[], [""], ["", "<e>", "<e><e>"]])
@pytest.mark.parametrize("pattern", ["gpt4", "qwen2", r"\w+|\W+"])
def test_training_without_text_is_refused(kernel: Kernel, documents: list[str], pattern: str) -> None:
    with pytest.raises(TrainingError, match="there is no text to train on"):
        train(kernel, documents, pattern=pattern, special_tokens=("<e>",))


@pytest.mark.parametrize("documents", ["one text", b"bytes"])
def test_single_string_instead_of_texts_is_refused(kernel: Kernel, documents: str | bytes) -> None:
    with pytest.raises(TrainingError, match="documents is one text"):
        train(kernel, documents)  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", ["gpt4", r"\w+|\W+"])
def test_document_of_another_type_is_refused(kernel: Kernel, pattern: str) -> None:
    with pytest.raises(TrainingError, match="document 1 is bytes, where a string is needed"):
        train(kernel, ["text", b"bytes"], pattern=pattern)  # type: ignore[list-item]


@pytest.mark.parametrize("pattern", ["gpt4", "qwen2", r"\w+|(?s:\W)"])
def test_lone_surrogate_in_a_document_is_refused(kernel: Kernel, pattern: str) -> None:
    with pytest.raises(TextError, match=r"lone surrogate, U\+DC80, at character 6"):
        train(kernel, ["good text", "bade\u0301 \udc80"], pattern=pattern)


def test_text_that_a_custom_pattern_does_not_cover_is_refused(kernel: Kernel) -> None:
    with pytest.raises(ConfigError, match="matches nothing at character 2"):
        train(kernel, ["abüc"], pattern="[^ü]")


# Documents that are available as bytes


@dataclass(frozen=True)
class Sources:
    """Hand-made `ByteDocuments`; `texts` are its documents for callers that read strings."""

    sources: tuple[ByteSource, ...]
    texts: tuple[str, ...] | Exception = ()

    def __iter__(self) -> Iterator[str]:
        if isinstance(self.texts, Exception):
            raise self.texts
        return iter(self.texts)

    @property
    def num_bytes(self) -> int:
        return 100

    def identity(self) -> TextIdentity:
        return TextIdentity(fingerprint="f", sample=())

    def byte_sources(self) -> Iterator[ByteSource]:
        return iter(self.sources)


def file_source(path: Path, text: bytes, *, documents: str = "file") -> ByteSource:
    path.write_bytes(text)
    return ByteSource(name=path.name, path=path, blocks=None, documents=documents)


def block_source(*blocks: bytes, documents: str = "file") -> ByteSource:
    return ByteSource(name="blocks", path=None, blocks=blocks, documents=documents)


@pytest.mark.parametrize("pattern", ["gpt4", r" ?\w+|\s+|[^\w\s]+"])
def test_bytes_train_as_their_strings(kernel: Kernel, pattern: str, tmp_path: Path) -> None:
    strings = ["the cät\n sat <e>", "the hat", "the mat", "the cät", "that", "hat"]
    is_read = kernel.name == "native" or pattern == "gpt4"  # otherwise the strings are
    documents = Sources(
        (
            file_source(tmp_path / "a", "the cät\n sat <e>".encode()),
            file_source(tmp_path / "b", b"the hat\r\n \n\nthe mat", documents="lines"),
            block_source(b"the c\xc3", b"", b"\xa4t"),
            block_source(b"that\nh", b"at\n", documents="lines"),
            block_source(),
        ),
        texts=AssertionError("strings were read") if is_read else tuple(strings),
    )
    assert isinstance(documents, ByteDocuments)
    by_bytes = train(kernel, documents, vocab_size=300, pattern=pattern, special_tokens=("<e>",))
    by_strings = train(kernel, strings, vocab_size=300, pattern=pattern, special_tokens=("<e>",))
    assert by_bytes.merges == by_strings.merges
    assert by_bytes.training is not None
    assert by_strings.training is not None
    assert replace(by_bytes.training, seconds={}) == replace(by_strings.training, seconds={})


@pytest.mark.parametrize("pattern", ["qwen2", r"\b\w+|\W+"])
def test_patterns_that_require_strings_train_on_strings(kernel: Kernel, pattern: str) -> None:
    documents = Sources((), texts=tuple(TEXTS))
    learned = train(kernel, documents, vocab_size=280, pattern=pattern).merges
    assert learned == train(kernel, TEXTS, vocab_size=280, pattern=pattern).merges


def test_invalid_utf8_has_the_error_of_reading_strings(kernel: Kernel, tmp_path: Path) -> None:
    bad = file_source(tmp_path / "bad", b"good \xff")
    error = CorpusError("bad: not UTF-8 at byte 5")
    with pytest.raises(CorpusError) as caught:
        train(kernel, Sources((block_source(b"good"), bad), texts=error))
    assert caught.value is error
    with pytest.raises(CorpusError, match="not UTF-8 at byte 5"):  # valid at the second reading
        train(kernel, Sources((bad,), texts=("good",)))


def test_unreadable_file_is_named(kernel: Kernel, tmp_path: Path) -> None:
    gone = ByteSource(name="notes/gone.txt", path=tmp_path / "gone", blocks=None, documents="file")
    with pytest.raises(CorpusError, match=r"^notes/gone.txt cannot be read: "):
        train(kernel, Sources((gone,)))
    folder = ByteSource(name="notes", path=tmp_path, blocks=None, documents="file")
    with pytest.raises(CorpusError, match=r"^notes cannot be read: "):
        train(kernel, Sources((folder,)))


@pytest.mark.parametrize("left", [12, 15])
def test_file_that_became_shorter_is_refused(kernel: Kernel, tmp_path: Path, left: int) -> None:
    """Its end would be taken for the end of the text, or, within a character, for bytes that are not UTF-8."""
    text = "the cat, the hät".encode()
    source = replace(file_source(tmp_path / "a.txt", text), size=len(text))
    train(kernel, Sources((source,)))
    os.truncate(tmp_path / "a.txt", left)
    with pytest.raises(CorpusError, match=r"^a\.txt changed while it was read: it is shorter now") as error:
        train(kernel, Sources((source,)))
    assert error.value.hint == "start again when no other program writes to it"


def test_progress_is_reported_in_bytes(kernel: Kernel) -> None:
    reports: list[tuple[str, int, int | None, str]] = []
    sources = Sources((block_source(b"the cat ", b"the cat "), block_source(b"x" * 100)))
    train(kernel, sources, progress=lambda *report: reports.append(report))
    counting = [report[1:] for report in reports if report[0] == "counting"]
    assert counting == [(8, 100, "bytes"), (16, 100, "bytes"), (116, None, "bytes")]
