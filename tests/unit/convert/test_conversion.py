"""Converting: either refused with a reason, or proved and written completely."""

from __future__ import annotations

import errno
import json
import math
import os
import struct
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support import huggingface
from support.descriptions import SPECIALS, ranked, running, trained
from support.sentencepiece_models import variant

import tokbench
import tokbench.workbench.convert as conversion
from tokbench.convert.conversion import TARGETS, Product, Source, Target
from tokbench.convert.proof import ProofError, peer_of, prove
from tokbench.convert.roles import known_roles
from tokbench.convert.targets.token_bytes import read_token_bytes
from tokbench.errors import ConfigError, ConversionError, ModelFormatError, StoreError
from tokbench.formats.tokenizer_json import dump_byte_level_bpe
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.workbench.convert import compare, convert

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

TEXTS = ("the cat", "", " the\n\n1234 東京 <|end|>", "isn't it?")


@pytest.fixture
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove on few texts, for tests that are not about the proof."""
    monkeypatch.setattr(conversion, "prove", partial(prove, texts=TEXTS))


@cache
def source_named(name: str) -> Any:
    """Return a small tokenizer of the named kind."""
    if name in ("byte", "char", "word"):
        return tokbench.train(["some words, some words"], backend=name)
    if name in huggingface.DOCUMENTS:
        return HuggingFaceTokenizer(huggingface.DOCUMENTS[name](), name=name, backend=name)
    if name == "bpe":
        return trained()
    return trained("qwen2") if name == "bpe with nfc" else variant(name)


# --- notes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["tokenizers", pytest.param("transformers", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("is_piece", "said"), [(True, "are pieces"), (False, "for untrusted text")])
@pytest.mark.usefixtures("few_texts")
def test_note_on_special_tokens_in_texts_depends_on_the_library(
    tmp_path: Path, to: str, is_piece: bool, said: str
) -> None:
    """A library's settings do not keep it from finding a special token that is a piece of a Unigram."""
    pieces = [["<unk>", 0.0], ["<", -9.0], *([character, -5.0] for character in "acehist\u2581"), [">", -9.0]]
    pieces += [["<x>", 0.0]] if is_piece else []
    id = len(pieces) - 1 if is_piece else len(pieces)
    source = HuggingFaceTokenizer(
        huggingface.dump(
            huggingface.document(
                {"type": "Unigram", "vocab": pieces, "unk_id": 0},
                added_tokens=[huggingface.added("<x>", id, special=True)],
            )
        ),
        name="x",
        backend="x",
    )
    [note, *_] = convert(source, to=to, out=tmp_path / "made").notes
    assert said in note
    assert ("are pieces" in note) == is_piece


@pytest.mark.parametrize(("name", "differs"), [("unigram without bytes", True), ("unigram", False)])
@pytest.mark.usefixtures("few_texts")
def test_different_decoding_of_unknown_characters_is_noted(tmp_path: Path, name: str, differs: bool) -> None:
    import tokenizers

    source = source_named(name)
    notes = convert(source, to="tokenizers", out=tmp_path / "made").notes
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "made"))
    decoded = library.decode(library.encode("漢").ids, skip_special_tokens=False)
    expected = source.decode(source.encode("漢"))
    assert (decoded != expected) == differs
    said = f"an unknown character is decoded as {decoded!r} there, and as {expected!r} by the source"
    assert (said in notes) == differs


# --- what is refused --------------------------------------------------------------------------

REFUSED = [
    ("bpe", "sentencepiece", "has no split pattern"),
    ("bpe", "vocab.txt", "the pieces of a WordPiece tokenizer, and this is a byte-level BPE"),
    ("bpe", "llama2c", "the scores of a SentencePiece BPE model, and this is a byte-level BPE"),
    ("bpe with nfc", "tiktoken", "normalized to NFC first, and tiktoken has no normalizer"),
    ("bpe as llama", "tiktoken", "byte-level BPE only"),
    (
        "bpe as llama",
        "vocab.txt",
        "the pieces of a WordPiece tokenizer, and this is a SentencePiece bpe model",
    ),
    ("char", "vocab.txt", "the backend 'char' does not describe its tokenizers"),
    ("char", "llama2c", "the backend 'char' does not describe its tokenizers"),
    ("char", "tiktoken", "the backend 'char' does not describe its tokenizers"),
    ("unigram with symbols", "tokenizers", "the score of the user-defined symbol '<sep>' has no exact form"),
    ("bpe, spaces after", "tokenizers", "spaces at the end of words"),
    ("bpe folded", "llama2c", "normalizes text, and llama2.c does not"),
    ("bpe without prefix", "llama2c", "puts a space before every text"),
    ("unigram as t5", "llama2c", "this is a unigram model"),
    ("unigram", "llama2c", "which has scores and no merges"),
    ("unigram", "sentencepiece", "does not support: NFKC"),
    ("wordpiece", "tiktoken", "byte-level BPE only"),
    (
        "wordpiece",
        "sentencepiece",
        "only a BPE or Unigram tokenizer.json can become a .model, and this is WordPiece",
    ),
    ("wordpiece", "llama2c", "only a BPE or Unigram tokenizer.json can become a .model"),
    ("unigram", "vocab.txt", "the pieces of a WordPiece tokenizer"),
    ("word-level", "vocab.txt", "this is WordLevel"),
    ("byte-level", "sentencepiece", "prepares or splits them in another way"),
    ("suffix", "sentencepiece", "prepares or splits them in another way"),
    ("char", "tokenizers", "the backend 'char' does not describe its tokenizers"),
    ("word", "tokbin", "the backend 'word' does not describe its tokenizers"),
    ("char", "transformers", "does not describe"),
    ("char", "sentencepiece", "does not describe"),
    ("byte", "sentencepiece", "has no split pattern"),
]


@pytest.mark.parametrize(("name", "target", "reason"), REFUSED)
def test_unsupported_source_is_refused_before_the_proof(
    name: str, target: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if target == "transformers":
        pytest.importorskip("transformers")
    monkeypatch.setattr(conversion, "prove", None)  # a call of the proof would fail
    with pytest.raises(ConversionError) as refused:
        convert(source_named(name), to=target, out=tmp_path / "out")
    assert not isinstance(refused.value, ProofError)
    assert refused.value.exit_code == 1
    assert reason in refused.value.message
    assert list(tmp_path.iterdir()) == []


def test_ids_that_contradict_the_merge_order_are_refused() -> None:
    description = trained().description()
    merges = description.merges
    backwards = running(
        tokbench.core.descriptions.ByteLevelBpe(
            tokens=description.tokens[:258],
            merges=tuple(reversed(merges[:2])),
            pattern=None,
            pattern_name="none",
        )
    )
    with pytest.raises(ConversionError, match="listed in another order"):
        convert(backwards, to="tiktoken", out="never")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "tokenizers", "roles": {"eos": "<|end|>"}}, "has neither roles nor chat templates"),
        ({"to": "tiktoken", "chat_template": "{{ messages }}"}, "has neither roles nor chat templates"),
        ({"to": "transformers", "roles": {"end": "<|end|>"}}, "there is no role 'end'"),
        ({"to": "transformers", "roles": {"eos": "</s>"}}, "is not a special token"),
    ],
)
def test_invalid_roles_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        convert(trained(), out="never", **options)


# --- what is written --------------------------------------------------------------------------


@pytest.mark.usefixtures("few_texts")
def test_result_has_every_field(tmp_path: Path) -> None:
    result = convert(trained(), to="tokbin", out=tmp_path / "deep" / "mine.tokbin")
    assert (result.to, result.backend, result.vocab_size) == ("tokbin", "bpe", 340)
    assert result.files == {"mine.tokbin": (tmp_path / "deep" / "mine.tokbin").stat().st_size}
    assert result.proof.agrees
    document = json.loads(json.dumps(result.to_json()))
    assert document["schema"] == "tokbench.convert/1"
    assert document["proof"]["texts"] == result.proof.texts
    assert set(document["seconds"]) == {"converting", "proving"}
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]


@pytest.mark.usefixtures("few_texts")
def test_existing_file_is_replaced_only_with_overwrite(tmp_path: Path) -> None:
    out = tmp_path / "mine.tokbin"
    out.write_bytes(b"old")
    with pytest.raises(StoreError, match="exists"):
        convert(trained(), to="tokbin", out=out)
    assert out.read_bytes() == b"old"
    convert(trained(), to="tokbin", out=out, overwrite=True)
    assert tokbench.load(out).encode("the cat") == trained().encode("the cat")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.tokbin"]


def test_folder_in_place_of_the_file_is_refused_before_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "prove", None)
    with pytest.raises(StoreError, match="is a folder"):
        convert(trained(), to="tokbin", out=tmp_path, overwrite=True)


@pytest.mark.usefixtures("few_texts")
def test_folder_with_foreign_files_is_never_replaced(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    out = tmp_path / "folder"
    convert(trained(), to="transformers", out=out)
    convert(trained(), to="transformers", out=out, overwrite=True)
    (out / "model.safetensors").write_bytes(b"weights")
    with pytest.raises(StoreError, match=r"contains 'model\.safetensors'"):
        convert(trained(), to="transformers", out=out, overwrite=True)
    (tmp_path / "file").write_text("text")
    with pytest.raises(StoreError, match="is a file"):
        convert(trained(), to="transformers", out=tmp_path / "file", overwrite=True)


def test_place_below_a_file_is_refused_before_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "prove", None)
    (tmp_path / "file").write_text("text")
    with pytest.raises(StoreError, match="a part of its path is a file"):
        convert(trained(), to="tokbin", out=tmp_path / "file" / "folder" / "mine.tokbin")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.usefixtures("few_texts")
def test_full_disk_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StoreError, match="nothing was changed"):
        convert(trained(), to="tokbin", out=tmp_path / "mine.tokbin")
    assert list(tmp_path.iterdir()) == []


# --- what the proof finds ---------------------------------------------------------------------


def planted(source: Tokenizer, **changes: Any) -> Target:
    """Return a format whose library gives different ids, or raises the given error."""

    def open(path: Path) -> Any:
        if "error" in changes:
            raise changes["error"]
        return peer_of(running(ranked(gap=1)), name="a library")

    class Planted(Target):
        def make(self, source: Source) -> Product:
            return Product(files={"": b"data"}, open=open)

    return Planted("planted", "differs", "")


def test_failed_proof_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "planted", planted(trained()))
    (tmp_path / "old").write_bytes(b"old")
    for out in ("new", "old"):
        with pytest.raises(ProofError) as failed:
            convert(trained(), to="planted", out=tmp_path / out, overwrite=True)
        assert failed.value.exit_code == 3
        assert failed.value.hint == "nothing was written"
        assert failed.value.proof.disagreement is not None
        assert failed.value.proof.disagreement.text in SPECIALS
        assert f"for the text {failed.value.proof.disagreement.text!r}" in failed.value.message
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"


def test_file_that_its_library_cannot_open_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TARGETS, "planted", planted(trained(), error=RuntimeError("no such thing")))
    with pytest.raises(ConversionError, match="cannot open the result: no such thing"):
        convert(trained(), to="planted", out=tmp_path / "new")
    monkeypatch.setitem(TARGETS, "planted", planted(trained(), error=ModelFormatError("x", "a", "b")))
    with pytest.raises(ModelFormatError):
        convert(trained(), to="planted", out=tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_compared_tokenizers_have_their_given_names() -> None:
    proof = compare(trained(), trained("gpt2"), names=("one", "other"))
    assert not proof.agrees
    assert (proof.first, proof.second) == ("one", "other")
    assert compare(trained(), trained("gpt2")).first == trained().info.name


# --- single formats ---------------------------------------------------------------------------


@pytest.mark.usefixtures("few_texts")
def test_token_bytes_are_the_token_lengths(tmp_path: Path) -> None:
    source = running(ranked(gap=7))
    result = convert(source, to="token_bytes", out=tmp_path / "bytes.npy")
    lengths = np.load(tmp_path / "bytes.npy")
    assert lengths.dtype == np.uint32
    assert lengths.shape == (source.info.vocab_size,)
    assert lengths[:256].tolist() == [1] * 256
    assert lengths[300] == len(source.token_bytes(300))
    assert lengths[338:].tolist() == [0] * 9  # a gap, and two special tokens
    assert result.notes == ()
    ids = source.encode("bits per byte are nats / ln 2 / bytes")
    assert int(lengths[ids].sum()) == len("bits per byte are nats / ln 2 / bytes")


@pytest.mark.usefixtures("few_texts")
def test_token_bytes_of_a_lossy_tokenizer_have_a_note(tmp_path: Path) -> None:
    result = convert(source_named("wordpiece"), to="token_bytes", out=tmp_path / "bytes.npy")
    assert "not lossless" in result.notes[0]


def test_malformed_token_bytes_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "wrong.npy", np.zeros((2, 2)))
    with pytest.raises(ModelFormatError, match=r"expected uint32\[vocab_size\]"):
        read_token_bytes(tmp_path / "wrong.npy")
    (tmp_path / "text.npy").write_bytes(b"text")
    with pytest.raises(ModelFormatError, match="a NumPy array"):
        read_token_bytes(tmp_path / "text.npy")


@pytest.mark.usefixtures("few_texts")
def test_tokbin_scores_follow_the_ranks(tmp_path: Path) -> None:
    convert(trained(), to="tokbin", out=tmp_path / "mine.tokbin")
    data = (tmp_path / "mine.tokbin").read_bytes()
    tokenizer = tokbench.opening.tokbin.open_tokbin(tmp_path / "mine.tokbin")
    assert tokenizer.score(256) == 0.0
    assert tokenizer.score(257) == pytest.approx(-math.log(2))
    assert tokenizer.score(97) == pytest.approx(-math.log(83))
    assert struct.unpack_from("<I", data, 20) == (82,)


def test_roles_are_taken_from_the_tokenizer() -> None:
    def roles(name: str) -> dict[str, str]:
        tokenizer = source_named(name)
        return known_roles(Source(tokenizer=tokenizer, description=tokenizer.description()))

    assert roles("bpe") == {}
    assert roles("bpe as llama") == {"bos": "<s>", "eos": "</s>"}
    assert roles("unigram as t5") == {"eos": "</s>", "pad": "<pad>"}
    assert roles("wordpiece") == {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]"}
    assert roles("word-level") == {}


def test_roles_are_taken_from_the_template(tmp_path: Path) -> None:
    specials = {text: 256 + place for place, text in enumerate(("<s>", "</s>", "<pad>"))}
    data = dump_byte_level_bpe(
        tokens=[bytes([byte]) for byte in range(256)], merges=[], special_tokens=specials, pattern=r"\s|\S+"
    )
    document = json.loads(data) | {
        "post_processor": {
            "type": "RobertaProcessing",
            "sep": ["</s>", 257],
            "cls": ["<s>", 256],
            "trim_offsets": True,
            "add_prefix_space": False,
        },
        "padding": {
            "strategy": "BatchLongest",
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 258,
            "pad_type_id": 0,
            "pad_token": "<pad>",
        },
    }
    alone = tmp_path / "tokenizer.json"
    alone.write_text(json.dumps(document))
    tokenizer = tokbench.load(alone)
    assert tokenizer.roles == {"cls": "<s>", "sep": "</s>", "pad": "<pad>"}
    assert known_roles(Source(tokenizer=tokenizer, description=tokenizer.description())) == tokenizer.roles
