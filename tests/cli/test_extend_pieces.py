"""`tokbench extend` of lists of pieces: SentencePiece models, BPEs over characters, Unigrams and WordPieces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
from support.folders import json_of
from support.huggingface import added
from support.sentencepiece_models import scored, training_text, unknown, variant, written

import tokbench
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Done

pytestmark = pytest.mark.usefixtures("short_proofs")

TEXT = "The tokenizer tokenizes tokenizers; 日本 and 日本語 are untokenizable.\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT * 30)
    return path


def proofs(done: Done) -> list[str]:
    return [proof["second"].split()[0] for proof in done.json["proofs"]["encodings"]]


def ends(tokenizer: Any, text: str) -> set[int]:
    """Return the offsets at which tokens end, in bytes of their pieces."""
    sizes = [len(tokenizer.token_bytes(id)) for id in tokenizer.encode(text)]
    return {sum(sizes[: number + 1]) for number in range(len(sizes))}


@pytest.mark.parametrize("name", ["bpe", "bpe as llama", "bpe with symbols", "bpe, spaces after"])
def test_bpe_model_becomes_coarser_only(
    run: Callable[..., Done], text: Path, tmp_path: Path, name: str
) -> None:
    old = variant(name)
    (tmp_path / "it.model").write_bytes(old.proto)
    done = run(
        "extend", "it.model", text, "--tokens", "15", "--special-token", "<|tool|>", "--out", "new", "--json"
    ).good()
    size = old.info.vocab_size
    assert (done.json["algorithm"], done.json["learned"]) == ("character_bpe", 15)
    assert done.json["new_vocab_size"] == size + 16
    assert done.json["new_tokens"] < done.json["old_tokens"]
    assert proofs(done)[0] == "sentencepiece"
    proto = (tmp_path / "new" / "it.model").read_bytes()
    before, after = parse_model(old.proto), parse_model(proto)
    assert after.pieces[:size] == before.pieces
    lowest = min(piece.score for piece in before.pieces)
    scores = [piece.score for piece in after.pieces[size:-1]]
    assert scores == sorted(scores, reverse=True)
    assert max(scores) < lowest
    assert after.pieces[-1] == ModelPiece("<|tool|>", 0.0, PieceType.CONTROL)
    assert (after.trainer, after.normalizer) == (
        {**before.trainer, "vocab_size": size + 16},
        before.normalizer,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
    new = tokbench.load(tmp_path / "new" / "it.model")
    for line in [*training_text(), TEXT]:
        assert processor.encode(line) == new.encode(line)
        if old.model.trainer["byte_fallback"]:
            assert ends(new, line) <= ends(old, line)
    used = set(new.encode(TEXT))
    assert any(id >= size for id in used)
    rows = json_of(tmp_path / "new" / "init.json")["ids"]
    for id in range(size, size + 15):
        assert new.token_bytes(id).startswith(b"".join(map(old.token_bytes, rows[id])))


def test_character_is_learned_from_its_byte_tokens(
    run: Callable[..., Done], text: Path, tmp_path: Path
) -> None:
    (tmp_path / "it.model").write_bytes(variant("bpe as llama").proto)
    run("extend", "it.model", text, "--tokens", "9", "--out", "new").good()
    new = tokbench.load(tmp_path / "new" / "it.model")
    [id] = [id for id in range(600, 609) if new.token_bytes(id).decode() == "日"]
    sources = json_of(tmp_path / "new" / "init.json")["ids"][id]
    assert b"".join(map(new.token_bytes, sources)).decode() == "日"
    assert len(sources) == 3


@pytest.mark.slow
def test_character_bpe_tokenizer_json_learns_the_same(
    run: Callable[..., Done], text: Path, tmp_path: Path
) -> None:
    (tmp_path / "it.model").write_bytes(variant("bpe as llama").proto)
    run("convert", "-t", "it.model", "--to", "tokenizers", "--out", "document/tokenizer.json").good()
    done = run("extend", "document", text, "--tokens", "15", "--out", "new", "--json").good()
    assert (done.json["algorithm"], proofs(done)) == ("character_bpe", ["tokenizers"])
    run("extend", "it.model", text, "--tokens", "15", "--out", "other").good()
    new, other = tokbench.load(tmp_path / "new"), tokbench.load(tmp_path / "other" / "it.model")
    assert [new.token_bytes(id) for id in range(259, 615)] == [
        other.token_bytes(id) for id in range(259, 615)
    ]
    old = json_of(tmp_path / "document" / "tokenizer.json")["model"]
    model = json_of(tmp_path / "new" / "tokenizer.json")["model"]
    assert model["merges"][: len(old["merges"])] == old["merges"]


@pytest.mark.parametrize("name", ["unigram", "unigram as t5", "unigram with symbols"])
@pytest.mark.slow
def test_unigram_model_becomes_more_likely(
    run: Callable[..., Done], text: Path, tmp_path: Path, name: str
) -> None:
    old = variant(name)
    (tmp_path / "it.model").write_bytes(old.proto)
    done = run("extend", "it.model", text, "--tokens", "12", "--out", "new", "--json").good()
    size = old.info.vocab_size
    assert (done.json["algorithm"], done.json["learned"]) == ("unigram", 12)
    assert proofs(done)[0] == "sentencepiece"
    new: Any = tokbench.load(tmp_path / "new" / "it.model")
    assert new.model.pieces[:size] == old.model.pieces
    scores = [piece.score for piece in old.model.pieces if piece.type is PieceType.NORMAL]
    assert all(min(scores) <= piece.score <= max(scores) for piece in new.model.pieces[size:])
    for line in [*training_text(), TEXT]:
        before, after = old.encode(line), new.encode(line)
        assert after == before or max(after) >= size
        known = [[new.score(id) for id in ids] for ids in (before, after)]
        if None not in [*known[0], *known[1]]:
            assert sum(known[1]) >= sum(known[0]) - 1e-3
    used = [id for id in range(size, size + 12) if id in new.encode(TEXT)]
    assert len(used) >= 8  # the others are in other words only, or are characters that those words need


@pytest.mark.slow
def test_unigram_tokenizer_json_is_extended(run: Callable[..., Done], text: Path, tmp_path: Path) -> None:
    (tmp_path / "it.model").write_bytes(variant("unigram as t5").proto)
    run("convert", "-t", "it.model", "--to", "tokenizers", "--out", "document/tokenizer.json").good()
    done = run("extend", "document", text, "--size", "512", "--out", "new", "--json").good()
    assert (done.json["new_vocab_size"], done.json["learned"], proofs(done)) == (512, 12, ["tokenizers"])
    run("extend", "it.model", text, "--size", "512", "--out", "other").good()
    new, other = tokbench.load(tmp_path / "new"), tokbench.load(tmp_path / "other" / "it.model")
    assert [new.token_bytes(id) for id in range(3, 512)] == [other.token_bytes(id) for id in range(3, 512)]


@pytest.mark.slow
def test_added_tokens_after_a_unigram_keep_their_ids(
    run: Callable[..., Done], text: Path, tmp_path: Path
) -> None:
    (tmp_path / "it.model").write_bytes(variant("unigram as t5").proto)
    run("convert", "-t", "it.model", "--to", "tokenizers", "--out", "document/tokenizer.json").good()
    document = json_of(tmp_path / "document" / "tokenizer.json")
    size = len(document["model"]["vocab"])
    document["added_tokens"] += [added("the", size, special=False), added("ten", size + 1)]
    (tmp_path / "document" / "tokenizer.json").write_text(json.dumps(document))
    run("extend", "document", text, "--tokens", "9", "--special-token", "<x>", "--out", "new").good()
    run("extend", "new", text, "--tokens", "9", "--out", "newer").good()  # reuses the placeholders
    for name in ("new", "newer"):
        opened = tokbench.load(tmp_path / name)
        assert [opened.token_bytes(size + offset) for offset in (0, 1)] == [b"the", b"ten"]
        assert opened.info.special_tokens["ten"] == size + 1
        assert size + 1 not in opened.encode("ten tens attend")
        assert max(opened.encode(TEXT)) > size + 1


@pytest.mark.slow
def test_saved_wordpiece_changes_by_new_pieces_only(
    run: Callable[..., Done], text: Path, tmp_path: Path
) -> None:
    tokbench.train(training_text(), backend="wordpiece", vocab_size=400).save(tmp_path / "mine")
    options = ("--tokens", "8", "--special-token", "[TOOL]", "--out", "new", "--json")
    done = run("extend", "mine", text, *options).good()
    assert (done.json["algorithm"], done.json["new_vocab_size"]) == ("wordpiece", 409)
    assert proofs(done) == ["tokenizers", "tokenizers"]
    old, new = tokbench.load(tmp_path / "mine"), tokbench.load(tmp_path / "new")
    lines = (tmp_path / "mine" / "vocab.txt").read_text().splitlines()
    pieces = (tmp_path / "new" / "vocab.txt").read_text().splitlines()
    assert (pieces[:400], pieces[408]) == (lines, "[TOOL]")
    assert json_of(tmp_path / "new" / "tokenizer_config.json")["added_tokens_decoder"]["408"]["special"]
    assert any(
        "tokenizer_config.json lists and a vocab.txt cannot: '[TOOL]'" in n for n in done.json["notes"]
    )
    for line in training_text():
        for word in line.split():
            before, after = old.encode(word), new.encode(word)
            assert after == before or max(after) >= 400
    assert "日" in {new.token_bytes(id).decode() for id in range(400, 408)}  # its words were unknown before
    assert done.json["proofs"]["segmentations"]["changed_pretokens"] > 0


@pytest.mark.parametrize("name", ["bpe as llama", "unigram", "wordpiece"])
@pytest.mark.slow
def test_given_words_become_one_token_each(run: Callable[..., Done], tmp_path: Path, name: str) -> None:
    if name == "wordpiece":
        tokbench.train(training_text(), backend="wordpiece", vocab_size=400).save(tmp_path / "old")
    else:
        variant(name).save(tmp_path / "old")
    words = ["untokenizable", "hyperparameter", "hyper", "the"]
    (tmp_path / "words.txt").write_text("\n".join(words))
    done = run("extend", "old", "--words", "words.txt", "--out", "new", "--json").good()
    assert name == "bpe as llama" or done.json["words"] == 3
    new = tokbench.load(
        next(p for p in (tmp_path / "new").iterdir() if p.name in ("tokenizer.model", "tokenizer.json"))
    )
    assert [len(new.encode(word)) for word in words] == [1] * 4
    assert done.json["proofs"]["segmentations"]["texts"] > 10


@pytest.mark.slow
def test_piece_inside_words_gets_the_prefix(run: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\na\nb\n##a\n##b\n")
    (tmp_path / "words.txt").write_text("##ba\nAB\n")
    run("extend", "vocab.txt", "--words", "words.txt", "--out", "new").good()
    assert (tmp_path / "new" / "vocab.txt").read_text().splitlines()[7:] == ["##ba", "ab"]
    assert tokbench.load(tmp_path / "new").encode("aba") == [8, 5]


def test_piece_that_would_make_words_unknown_is_refused(run: Callable[..., Done], tmp_path: Path) -> None:
    """abx is "a", "##bx"; a new piece "ab" would need "##x", which is missing, unless abx is a piece itself."""
    (tmp_path / "vocab.txt").write_text("[UNK]\na\n##b\n##bx\n")
    (tmp_path / "text.txt").write_text("abx abx ab\n" * 5)
    (tmp_path / "words.txt").write_text("ab\n")
    done = run("extend", "vocab.txt", "text.txt", "--tokens", "5", "--out", "new", "--json").good()
    assert [piece["bytes"] for piece in done.json["last_learned"]] == ["616278", "6162"]
    options = ["--tokens", "1", "--min-frequency", "99", "--words", "words.txt", "--out", "other"]
    run("extend", "vocab.txt", "text.txt", *options).refused(1, "would become unknown")


def test_existing_pieces_are_not_learned_again(run: Callable[..., Done], tmp_path: Path) -> None:
    """An unused piece, a control symbol and a user-defined symbol are not learned again, and stay as they are."""
    pieces = [
        unknown(),
        ModelPiece("ab", -1.0, PieceType.UNUSED),
        ModelPiece("cd", 0.0, PieceType.CONTROL),
        ModelPiece("de", 0.0, PieceType.USER_DEFINED),
        *scored({"▁": -2.0, "a": -3.0, "b": -4.0, "c": -5.0, "d": -6.0}),
    ]
    for kind in (1, 2):
        (tmp_path / "it.model").write_bytes(written(pieces, trainer={"model_type": kind}))
        (tmp_path / "text.txt").write_text("abab cdcd dede\n" * 9)
        (tmp_path / "words.txt").write_text("ab\n")
        options = ("--tokens", "30", "--words", "words.txt", "--out", f"new{kind}")
        done = run("extend", "it.model", "text.txt", *options, "--json").good()
        model = parse_model((tmp_path / f"new{kind}" / "it.model").read_bytes())
        assert model.pieces[: len(pieces)] == tuple(pieces)
        assert len({piece.text for piece in model.pieces}) == len(model.pieces)
        assert done.json["learned"] > 0
        assert not any("de" in piece.text for piece in model.pieces[len(pieces) :])


def test_unknown_fields_of_a_model_are_kept(run: Callable[..., Done], text: Path, tmp_path: Path) -> None:
    """A newer library's field after the options is kept; a self-test is dropped, as its ids may change."""
    from tokbench.formats.protobuf import fields, length_field

    test = length_field(1, length_field(1, b"the") + length_field(2, "▁the".encode()))
    following = length_field(4, test) + length_field(200, b"newer")
    (tmp_path / "it.model").write_bytes(variant("bpe").proto + following)
    run("extend", "it.model", text, "--tokens", "5", "--out", "new").good()
    kept = list(fields((tmp_path / "new" / "it.model").read_bytes()))
    assert (200, b"newer") in kept
    assert all(number != 4 for number, _ in kept)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bpe as llama", "unigram", "wordpiece"])
def test_budget_keeps_the_vocabulary_size(
    run: Callable[..., Done], text: Path, tmp_path: Path, name: str
) -> None:
    if name == "wordpiece":
        tokbench.train(training_text(), backend="wordpiece", vocab_size=500).save(tmp_path / "old")
    else:
        variant(name).save(tmp_path / "old")
    done = run("extend", "old", text, "--budget", "15", "--out", "new", "--json").good()
    assert done.json["old_vocab_size"] == done.json["new_vocab_size"]
    assert 0 < done.json["swapped"] <= 15
    assert done.json["new_tokens"] < done.json["old_tokens"]
    ids = json_of(tmp_path / "new" / "id_map.json")
    assert ids["old_to_new"].count(-1) == ids["new_to_old"].count(-1) == done.json["swapped"]


def test_without_a_tokenizer_json_the_configuration_names_no_class(
    run: Callable[..., Done], tmp_path: Path
) -> None:
    """The library's own scores are no multiples of a power of two, so tokenizers may add them up differently."""
    pieces = [unknown(), *scored({"▁": -2.1, "a": -2.3, "b": -2.7, "▁a": -3.3})]
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "spiece.model").write_bytes(written(pieces, trainer={"model_type": 1}))
    (tmp_path / "old" / "tokenizer_config.json").write_text('{"pad_token": "<pad>"}')
    done = run("extend", "old", "--special-token", "<pad>", "--out", "new").good()
    assert "note: tokenizer.json is left out: SentencePiece adds up" in done.stdout
    config = json_of(tmp_path / "new" / "tokenizer_config.json")
    assert "tokenizer_class" not in config
    assert config["pad_token"] == "<pad>"
    assert not (tmp_path / "new" / "tokenizer.json").exists()
    assert tokbench.load(tmp_path / "new").info.special_tokens["<pad>"] == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("New York", "'New York' is not one word: it is split into ' New', ' York'"),
        ("x" * 20 + " ", "is not one word"),
    ],
)
def test_words_that_are_split_are_refused(
    run: Callable[..., Done], tmp_path: Path, words: str, said: str
) -> None:
    variant("unigram").save(tmp_path / "old")
    (tmp_path / "words.txt").write_text(words)
    run("extend", "old", "--words", "words.txt", "--out", "new").refused(2, said)
    assert not (tmp_path / "new").exists()


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["mistral/tokenizer.model.v1", "t5-base/spiece.model", "t5-small", "bert-base-uncased"]
)
def test_real_vocabularies_are_extended(
    run: Callable[..., Done], shared: Path, tmp_path: Path, name: str
) -> None:
    corpus = shared / "corpora" / "parallel_ntrex" / "fin.txt"
    options = ("--tokens", "300", "--documents", "lines", "--out", "new", "--json")
    done = run("extend", shared / "vocab" / name, corpus, *options).good().json
    assert done["learned"] == 300
    assert done["new_tokens"] < 0.95 * done["old_tokens"]
    proof = done["proofs"]["segmentations"]
    assert min(proof["unchanged_pretokens"], proof["changed_pretokens"]) > 1000
