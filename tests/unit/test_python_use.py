"""Tests of the Python API: paths in place of a corpus, short reprs, and our errors for wrong types."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tokbench
from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.tokens import Encoded
from tokbench.errors import (
    ConfigError,
    CorpusError,
    DecodeError,
    ModelFormatError,
    StoreError,
    TemplateError,
    TokbenchError,
)
from tokbench.registry import backend_names

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = "the cat sat on the mat; the cat was fat\n" * 40


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT, encoding="utf-8")
    return "text.txt"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tokbench.train([TEXT], vocab_size=280)


def vocabulary(tokenizer: Any) -> list[bytes]:
    return [tokenizer.token_bytes(id) for id in range(tokenizer.vocab_size)]


def test_train_accepts_a_path(path: str) -> None:
    expected = vocabulary(tokbench.train(tokbench.open_corpus(path), vocab_size=280))
    assert vocabulary(tokbench.train(path, vocab_size=280)) == expected
    assert vocabulary(tokbench.train(Path(path), vocab_size=280)) == expected
    assert vocabulary(tokbench.train("*.txt", vocab_size=280)) == expected


def test_compare_accepts_paths_of_texts_and_tokenizers(path: str, tokenizer: Any) -> None:
    tokenizer.save("mine")
    expected = tokbench.compare(tokbench.open_corpus(path), tokenizers=[tokenizer], times=False)
    for given in (path, Path(path)):
        comparison = tokbench.compare(given, tokenizers=["mine"], times=False)
        assert comparison.num_bytes == expected.num_bytes == len(TEXT)
        assert comparison.tokenizers[0].figures == expected.tokenizers[0].figures
    assert tokbench.report(path, tokenizer=Path("mine"), times=False).evaluated.name == "mine"
    points = tokbench.sweep(path, sizes=[260, 270]).points
    assert [point.vocab_size for point in points] == [260, 270]


def test_load_and_visualise_accept_any_path(path: str, tokenizer: Any) -> None:
    tokenizer.save(PurePosixPath("tokenizers/mine"))
    expected = tokenizer.encode(TEXT)
    for given in (
        "mine",
        Path("tokenizers/mine"),
        PurePosixPath("tokenizers/mine"),
        os.scandir("tokenizers"),
    ):
        for each in [given] if isinstance(given, str | os.PathLike) else given:
            assert tokbench.load(each).encode(TEXT) == expected
    shown = tokbench.visualise(["mine", Path("tokenizers/mine"), tokenizer], "the cat")
    assert [view.segmentation.ids for view in shown.views] == [tokenizer.encode("the cat")] * 3


def test_shards_are_written_and_verified_by_paths(path: str, tokenizer: Any) -> None:
    Path("rows.jsonl").write_text('{"a": "one", "b": "two"}\n{"a": "three"}\n', encoding="utf-8")
    assert len(tokbench.write_shards(tokenizer, path, "shards")) == 1
    corpus = tokbench.open_corpus("rows.jsonl", text_field=("a", "b"))
    tokbench.write_shards(tokenizer, corpus, "rows")
    tokenizer.save("mine")
    for given in (tokenizer, "mine", Path("mine")):
        verified = tokbench.verify_shards("rows", tokenizer=given, corpus="rows.jsonl")
        assert (verified.problems, verified.compared) == ((), 2)
    tokbench.write_shards("mine", path, "again")
    assert Path("again/shard-00000.npy").read_bytes() == Path("shards/shard-00000.npy").read_bytes()


def test_pickled_shards_exclude_their_tokens(path: str, tokenizer: Any) -> None:
    shards = tokbench.write_shards(tokenizer, tokbench.open_corpus(path, documents="lines"), "shards")
    ids = [document.tolist() for document in shards]
    assert shards.tokens > 400
    assert len(pickle.dumps(shards)) < len(pickle.dumps(tokbench.open_shards("shards"))) + 100
    again = pickle.loads(pickle.dumps(shards))
    assert [document.tolist() for document in again] == ids
    assert [document.tolist() for document in copy.copy(shards)] == ids


def test_numpy_integers_are_accepted_as_options(path: str) -> None:
    assert tokbench.train(path, vocab_size=np.int64(270), min_frequency=np.uint8(2)).vocab_size == 270
    swept = tokbench.sweep(path, sizes=np.array([260, 270]))  # type: ignore[arg-type]
    assert [point.vocab_size for point in swept.points] == [260, 270]


def test_train_on_accepts_one_role(path: str, tokenizer: Any) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "No."}]
    source = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    Path("mine.jinja").write_text(source, encoding="utf-8")
    template = tokbench.ChatTemplate.from_text(source)
    for role in ("user", "assistant", "system"):
        one = tokenizer.render(messages, template=template, train_on=role)
        assert one == tokenizer.render(messages, template=template, train_on=[role])
        assert one.loss_mask.any() == (role != "system")
    for path_of_it in ("mine.jinja", Path("mine.jinja")):
        assert tokenizer.render(messages, template=path_of_it, train_on="system") == one


@pytest.mark.parametrize("backend", backend_names())
def test_missing_path_is_refused_by_every_backend(backend: str, path: str) -> None:
    with pytest.raises(CorpusError, match=r"missing.txt does not exist"):
        tokbench.train("missing.txt", backend=backend)
    for given in (3, None, b"bytes"):
        with pytest.raises(
            CorpusError, match="texts must be an iterable of strings, a corpus or a path, not"
        ):
            tokbench.train(given, backend=backend)  # type: ignore[arg-type]


WRONG: dict[str, tuple[Callable[[Any], object], type[TokbenchError]]] = {
    "compare 3": (lambda tokenizer: tokbench.compare(3, tokenizers=[tokenizer]), CorpusError),  # type: ignore[arg-type]
    "compare a list": (lambda _: tokbench.compare(["text.txt"]), CorpusError),  # type: ignore[arg-type]
    "compare missing": (lambda tokenizer: tokbench.compare("no", tokenizers=[tokenizer]), CorpusError),
    "compare by one name": (lambda _: tokbench.compare("text.txt", tokenizers="mine"), ConfigError),
    "aggregation": (
        lambda tokenizer: tokbench.compare("text.txt", tokenizers=[tokenizer], aggregation="mean"),  # type: ignore[arg-type]
        ConfigError,
    ),
    "report 3": (lambda tokenizer: tokbench.report(3, tokenizer=tokenizer), CorpusError),  # type: ignore[arg-type]
    "sweep 3": (lambda _: tokbench.sweep(3, sizes=[300]), CorpusError),  # type: ignore[arg-type]
    "compare seed": (
        lambda tokenizer: tokbench.compare("text.txt", tokenizers=[tokenizer], seed=-1),
        ConfigError,
    ),
    "report seed": (lambda tokenizer: tokbench.report("text.txt", tokenizer=tokenizer, seed=-1), ConfigError),
    "sweep seed": (lambda _: tokbench.sweep("text.txt", sizes=[300], seed=-1), ConfigError),
    "truncate None": (lambda tokenizer: tokenizer.truncate("a text", None), ConfigError),
    "chunk None": (lambda tokenizer: tokenizer.chunk("a text", max_tokens=None), ConfigError),
    "compare by one tokenizer": (
        lambda tokenizer: tokbench.compare("text.txt", tokenizers=tokenizer),
        ConfigError,
    ),
    "compare by a number": (lambda _: tokbench.compare("text.txt", tokenizers=[3]), ConfigError),  # type: ignore[list-item]
    "visualise by one tokenizer": (lambda tokenizer: tokbench.visualise(tokenizer, "a"), ConfigError),
    "visualise by one name": (lambda _: tokbench.visualise("mine", "a"), ConfigError),
    "visualise by a number": (lambda _: tokbench.visualise([3], "a"), ConfigError),  # type: ignore[list-item]
    "as_html 3": (lambda _: tokbench.as_html(3), ConfigError),  # type: ignore[arg-type]
    "open_corpus 3": (lambda _: tokbench.open_corpus(3), CorpusError),  # type: ignore[arg-type]
    "open_corpus a list": (lambda _: tokbench.open_corpus(["text.txt"]), CorpusError),  # type: ignore[arg-type]
    "bound": (lambda _: tokbench.open_corpus("text.txt", max_document_bytes="1"), ConfigError),  # type: ignore[arg-type]
    "sweep by a number": (lambda _: tokbench.sweep("text.txt", sizes=300), ConfigError),  # type: ignore[arg-type]
    "sweep by a text": (lambda _: tokbench.sweep("text.txt", sizes="1k:2k"), ConfigError),  # type: ignore[arg-type]
    "sweep by fractions": (lambda _: tokbench.sweep("text.txt", sizes=[300.0]), ConfigError),  # type: ignore[list-item]
    "write_shards by 3": (lambda _: tokbench.write_shards(3, "text.txt", "s"), ConfigError),  # type: ignore[arg-type]
    "write_shards by a name": (lambda _: tokbench.write_shards("no", "text.txt", "s"), StoreError),
    "policy": (
        lambda tokenizer: tokbench.write_shards(tokenizer, "text.txt", "s", special="text"),
        ConfigError,
    ),
    "shard_tokens": (
        lambda tokenizer: tokbench.write_shards(tokenizer, "text.txt", "s", shard_tokens=1e6),
        ConfigError,
    ),
    "template 3": (lambda tokenizer: tokenizer.render([], template=3), TemplateError),
    "template None": (lambda tokenizer: tokenizer.render([], template=None), TemplateError),
    "template of 3": (lambda _: tokbench.ChatTemplate.from_text(3), TemplateError),  # type: ignore[arg-type]
    "messages": (
        lambda tokenizer: tokenizer.render(None, template=tokbench.ChatTemplate.from_text("")),
        ModelFormatError,
    ),
    "write_shards 3": (lambda tokenizer: tokbench.write_shards(tokenizer, 3, "s"), CorpusError),  # type: ignore[arg-type]
    "open_shards 3": (lambda _: tokbench.open_shards(3), StoreError),  # type: ignore[arg-type]
    "verify_shards 3": (lambda _: tokbench.verify_shards(3), StoreError),  # type: ignore[arg-type]
    "preset 3": (lambda _: tokbench.train(["a"], preset=3), ConfigError),  # type: ignore[arg-type]
    "backend 3": (lambda _: tokbench.train(["a"], backend=3), ConfigError),  # type: ignore[arg-type]
    "decoder of 3": (lambda _: tokbench.StreamingDecoder(3), DecodeError),  # type: ignore[arg-type]
    "fed a text": (lambda tokenizer: tokbench.StreamingDecoder(tokenizer).feed("7"), DecodeError),  # type: ignore[arg-type]
    "fed texts": (lambda tokenizer: tokbench.StreamingDecoder(tokenizer).feed(["7"]), DecodeError),  # type: ignore[list-item]
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_type_raises_a_tokbench_error(what: str, path: str, tokenizer: Any) -> None:
    call, error = WRONG[what]
    with pytest.raises(error) as caught:
        call(tokenizer)
    assert caught.value.message


def test_array_results_compare_by_value() -> None:
    tokenizer = tokbench.train(
        [TEXT], vocab_size=280, special_preset="chatml", roles={"pad": "<|endoftext|>"}
    )

    def results(text: str) -> list[Any]:
        encoded = tokenizer.encode_batch([text, "more"])
        template = tokbench.ChatTemplate("chatml")
        chat = tokenizer.render([{"role": "user", "content": text}], template=template)
        return [encoded, tokenizer.batch([text, "more"]), tokenizer.pad(encoded), chat]

    for one, same, other in zip(results("the cat"), results("the cat"), results("the mat"), strict=True):
        assert one == same
        assert one != other
        assert one != "another type"
        with pytest.raises(TypeError, match=f"unhashable type: '{type(one).__name__}'"):
            hash(one)


def test_encoded_is_indexed_and_iterated_by_text(tokenizer: Any) -> None:
    texts = ["the cat", "", "sat"]
    encoded = tokenizer.encode_batch(texts)
    assert [ids.tolist() for ids in encoded] == [tokenizer.encode(text) for text in texts]
    assert encoded[np.int64(-1)].tolist() == tokenizer.encode("sat")
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=f"text {wrong} of 3"):
            encoded[wrong]
    for wrong in (slice(1), "1", 1.0, None):
        with pytest.raises(TypeError):
            encoded[wrong]


def test_reprs_are_one_line(path: str, tokenizer: Any) -> None:
    corpus = tokbench.open_corpus(path, documents="lines")
    training, held_out = corpus.split()
    tokbench.write_shards(tokenizer, corpus, "shards")
    decoder = tokbench.StreamingDecoder(tokenizer)
    decoder.feed([72, 73])
    many = {f"<|{number}|>": number for number in range(1000)}
    eight = ", ".join(["72 b'H'"] * 8)
    shown = {
        repr(corpus): "<corpus of 1 file, 1,600 bytes: text.txt>",
        repr(training): "<training part of a corpus of 1 file, 1,600 bytes: text.txt>",
        repr(held_out): "<held-out part of a corpus of 1 file, 1,600 bytes: text.txt>",
        repr(next(tokbench.open_corpus(path).documents())): (
            "<document text.txt, Latin: 'the cat sat on the mat; the cat was fat\\n'…>"
        ),
        repr(Encoded(np.zeros(3, np.uint32), np.array([0, 3]))): "<1 text, 3 ids>",
        repr(tokenizer.segment("H" * 1000)): f"<1,000 tokens: {eight}, …>",
        repr(decoder): "<decoder of 'bpe-273', 2 ids fed>",
        repr(TokenizerInfo("mine", "bpe", 2000, many, lossless=True, kernel="native")): (
            "<mine: bpe, 2,000 tokens, 1,000 special tokens, lossless, native>"
        ),
        repr(tokbench.compare(path, tokenizers=[tokenizer], times=False)): (
            "<comparison of bpe-273 on 1 document, 1,600 bytes>"
        ),
    }
    assert list(shown) == list(shown.values())
    assert repr(tokbench.open_shards("shards")).startswith("<shards in shards: 40 documents, ")
    assert max(map(len, shown)) < 120
