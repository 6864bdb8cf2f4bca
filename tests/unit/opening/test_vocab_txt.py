"""Tests for word lists: pieces with characters that Python takes for line ends, repeated lines, and flags."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface
from support.huggingface import added
from support.small_files import opened
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConversionError, ModelFormatError, UnknownWordError
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.opening.open import open_path
from tokbench.opening.request import OpenRequest
from tokbench.workbench.convert import convert
from tokbench.workbench.inspect import inspect_opened

if TYPE_CHECKING:
    from pathlib import Path

LINE_ENDS_TO_PYTHON = ["\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


def word_piece(*more: str) -> HuggingFaceTokenizer:
    """Return a trained WordPiece with more pieces before its last one, so that a lost line would shift an id."""
    document = json.loads(huggingface.wordpiece())
    vocab = document["model"]["vocab"]
    last = max(vocab, key=vocab.__getitem__)
    pieces = [*(piece for piece in sorted(vocab, key=vocab.__getitem__) if piece != last), *more, last]
    document["model"]["vocab"] = {piece: id for id, piece in enumerate(pieces)}
    document["added_tokens"] = [added(text, vocab[text]) for text in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")]
    return HuggingFaceTokenizer(json.dumps(document).encode(), name="bert", backend="wordpiece")


@pytest.mark.parametrize(
    "inside", ["{}", *(pytest.param(form, marks=pytest.mark.slow) for form in ("##{}", "x{}y", "##{}z"))]
)
def test_pieces_may_contain_line_ends_of_python(inside: str, tmp_path: Path) -> None:
    pieces = [inside.format(end) for end in LINE_ENDS_TO_PYTHON]
    source = word_piece(*pieces)
    result = convert(source, to="vocab.txt", out=tmp_path / "vocab.txt")
    assert result.out.read_bytes().decode().split("\n")[source.info.vocab_size :] == [""]
    opened = tokbench.load(result.out)
    library = BertWordPieceTokenizer.from_file(str(result.out))
    last = source.token_bytes(source.info.vocab_size - 1).decode()
    for text in (f"{last} the", "the x\u2028y", "and\x85the\x1cand", "x\u2028"):
        assert opened.encode(text) == source.encode(text)
        assert library.encode(text, add_special_tokens=False).ids == source.encode(text)
    for piece in pieces:
        if piece == piece.rstrip():  # a piece with trailing white space is read as another one
            id = source.token_id(piece.encode())
            assert id is not None
            assert opened.token_bytes(id) == source.token_bytes(id)
    stripped = inside in ("{}", "##{}")
    assert any("strips the white space" in note for note in result.notes) == stripped


@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        ("x\u2028", r"ends in white space, and would be read as 'x'"),
        ("the\xa0", "would be read as 'the'"),
        ("x\ny", "contains a line end"),
        ("\r", "contains a line end"),
        ("", "is an empty line"),
    ],
)
def test_piece_that_would_be_read_back_differently_is_refused(
    piece: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ConversionError, match=reason):
        convert(word_piece(piece), to="vocab.txt", out=tmp_path / "vocab.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("beside", "pieces"),
    [
        ({}, [b"ecole", "東".encode(), "京".encode()]),
        ({"strip_accents": False}, ["école".encode(), "東".encode(), "京".encode()]),
        ({"tokenize_chinese_chars": False}, [b"ecole", "東京".encode()]),
    ],
    ids=str,
)
def test_configuration_defines_the_normalization(
    beside: dict[str, bool], pieces: list[bytes], tmp_path: Path
) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[UNK]\n[CLS]\n[SEP]\necole\nécole\n東\n京\n東京\n", encoding="utf-8")
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, **beside}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    opened = tokbench.load(tmp_path)
    assert [opened.token_bytes(id) for id in opened.encode("École 東京")] == pieces


def test_last_of_repeated_lines_counts(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[UNK]\n[CLS]\n[SEP]\nthe\n##s\nthe\ncat\n")
    tokenizer, library = tokbench.load(path), BertWordPieceTokenizer(str(path))
    for text in ("the cats", "thes the"):
        assert tokenizer.encode(text) == library.encode(text, add_special_tokens=False).ids
    assert tokenizer.encode("the") == [5]
    assert tokenizer.info.vocab_size == 7
    inspection = inspect_opened(open_path(path, OpenRequest()))
    assert (
        "1 line of vocab.txt is repeated, and the last one counts: 'the' on the lines 4 and 6"
        in inspection.warnings
    )


def test_lines_are_stripped_and_empty_lines_never_occur_in_a_text(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes("[UNK]\n[CLS]\n[SEP]\n\nthe\n##s \n \u3000\r\ncat\r\ncats\u2028\n\n".encode())
    tokenizer, library = tokbench.load(path), BertWordPieceTokenizer(str(path))
    for text in ("the cats", "thes cat  the", "", " "):
        assert tokenizer.encode(text) == library.encode(text, add_special_tokens=False).ids
    assert tokenizer.encode("thes cats") == [4, 5, 8]
    assert tokenizer.info.vocab_size == 10
    assert tokenizer.token_bytes(9) == b""
    assert tokenizer.decode([4, 9, 7]) == library.decode([4, 9, 7])
    inspection = inspect_opened(open_path(path, OpenRequest()))
    assert "3 lines of vocab.txt are empty, and no text has their ids: 4, 7, 10" in inspection.warnings


LIST = ["<pad>", "<unk>", "<cls>", "<sep>", "<mask>", "<s>", "</s>", "[UNK]", "low", "##er", "é"]


def listed(folder: Path, config: dict[str, Any]) -> Any:
    """Return the tokenizer of a word list beside a configuration."""
    (folder / "vocab.txt").write_text("\n".join(LIST), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True, **config}))
    return tokbench.load(folder)


@pytest.mark.parametrize(
    ("config", "ids", "type_ids"),
    [
        ({"tokenizer_class": "FunnelTokenizer"}, [2, 8, 9, 3, 1, 3], [2, 0, 0, 0, 1, 1]),
        ({"tokenizer_class": "MPNetTokenizer"}, [5, 8, 9, 6, 6, 7, 6], [0, 0, 0, 0, 0, 1, 1]),
        (
            {
                "tokenizer_class": "BertTokenizer",
                "unk_token": "<unk>",
                "cls_token": "<s>",
                "sep_token": "</s>",
            },
            [5, 8, 9, 6, 1, 6],
            [0, 0, 0, 0, 1, 1],
        ),
    ],
)
def test_special_tokens_come_from_class_and_configuration(
    tmp_path: Path, config: dict[str, Any], ids: list[int], type_ids: list[int]
) -> None:
    tokenizer = listed(tmp_path, config)
    row = tokenizer.model_input("Lower", "x")
    assert (list(row.ids), list(row.type_ids)) == (ids, type_ids)
    alone = tokenizer.model_input("Lower")
    assert (list(alone.ids), list(alone.type_ids)) == (ids[:4], type_ids[:4])


def test_flags_of_special_tokens_come_from_the_configuration(tmp_path: Path) -> None:
    mask = {"4": {"content": "<mask>", "lstrip": True, "special": True}}
    listed(tmp_path, {"tokenizer_class": "MPNetTokenizer", "added_tokens_decoder": mask})
    model = opened(tmp_path)
    assert model.warnings == ()
    assert model.tokenizer.encode("low <mask>", special=SpecialPolicy.ENCODE) == [8, 4]
    span = model.tokenizer.segment("low <mask>", special=SpecialPolicy.ENCODE).tokens[1].span
    assert (span.start, span.stop) == (3, 10)


@pytest.mark.parametrize("name", ["EsmTokenizer", "BertJapaneseTokenizer", "RoFormerTokenizer"])
def test_class_with_other_word_rules_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelFormatError, match=f"found that of an? {name}, which"):
        listed(tmp_path, {"tokenizer_class": name})


@pytest.mark.parametrize("setting", [{"do_basic_tokenize": False}, {"never_split": ["a-b"]}], ids=str)
def test_settings_of_slow_classes_only_are_reported(tmp_path: Path, setting: dict[str, Any]) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\na\n")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))
    assert opened(tmp_path).warnings == ()
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True, **setting}))
    [warning] = opened(tmp_path).warnings
    assert warning.startswith(f"tokenizer_config.json says {next(iter(setting))}, which the slow classes")


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "hi"]


def of_class(folder: Path, words: list[str], *, name: str = "vocab.txt", **config: Any) -> Any:
    """Open a word list with the class that a configuration names."""
    (folder / name).write_text("\n".join(words) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"do_lower_case": True, **config}), encoding="utf-8"
    )
    return opened(folder)


def test_splinter_and_tapas_have_tokens_of_their_own(tmp_path: Path) -> None:
    splinter: Any = of_class(tmp_path, [*WORDS, "[QUESTION]"], tokenizer_class="SplinterTokenizer").tokenizer
    assert splinter.encode("hi[QUESTION]", special=SpecialPolicy.ENCODE) == [6, 7]
    assert splinter.with_template("hi", "hi") == [2, 6, 7, 5, 3, 6, 3]
    tapas: Any = of_class(tmp_path, [*WORDS, "[EMPTY]"], tokenizer_class="TapasTokenizer").tokenizer
    assert tapas.encode("[EMPTY]", special=SpecialPolicy.ENCODE) == [7]


@pytest.mark.parametrize(
    ("name", "appended", "ids"),
    [
        ("MPNetTokenizer", ["<s>", "</s>", "<pad>", "<mask>"], [7, 6, 8, 8, 6, 8]),
        (
            "FunnelTokenizer",
            ["<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"],
            [12, 6, 10, 6, 10],
        ),
        ("SplinterTokenizer", ["[QUESTION]"], [2, 6, 7, 5, 3, 6, 3]),
    ],
)
def test_tokens_of_a_class_that_the_list_lacks_follow_it_in_the_order_of_transformers(
    tmp_path: Path, name: str, appended: list[str], ids: list[int]
) -> None:
    model = of_class(tmp_path, WORDS, tokenizer_class=name)
    tokenizer: Any = model.tokenizer
    added = {token.content: token.id for token in tokenizer.tokenizer_config.added_tokens}
    assert added == {text: len(WORDS) + place for place, text in enumerate(appended)}
    assert tokenizer.encode(appended[-1], special=SpecialPolicy.ENCODE) == [len(WORDS) + len(appended) - 1]
    assert tokenizer.with_template("hi", "hi") == ids
    said = f"of a {name}, as {appended[0]!r}: they follow with the ids from 7 on"
    assert len([each for each in model.warnings if said in each]) == 1


def test_prophetnet_names_its_list_otherwise_and_only_ends_a_text(tmp_path: Path) -> None:
    model = of_class(tmp_path, WORDS, name="prophetnet.tokenizer", tokenizer_class="ProphetNetTokenizer")
    tokenizer: Any = model.tokenizer
    assert tokenizer.with_template("hi", "hi") == [6, 3, 6, 3]
    [warning] = model.warnings
    assert "drops characters that Unicode does not assign" in warning


def test_an_unknown_class_is_warned_of(tmp_path: Path) -> None:
    model = of_class(tmp_path, WORDS, tokenizer_class="MyTokenizer")
    assert any("a MyTokenizer, whose rules are not known here" in warning for warning in model.warnings)


def test_a_named_class_appends_the_tokens_that_its_list_lacks(tmp_path: Path) -> None:
    tokenizer: Any = of_class(tmp_path, [*WORDS[:4], "hi"], tokenizer_class="BertTokenizer").tokenizer
    assert tokenizer.role_ids["mask"] == 5
    assert tokenizer.encode("hi[MASK]", special=SpecialPolicy.ENCODE) == [4, 5]


def test_texts_with_unknown_words_are_refused_if_the_unknown_token_is_only_added(tmp_path: Path) -> None:
    """As with a list to which a Whisper's tokens were added later, and its unknown token with them."""
    end = {"content": "<|end|>", "special": True, "normalized": False}
    model = of_class(
        tmp_path,
        WORDS,
        tokenizer_class="BertTokenizer",
        unk_token="<|end|>",
        added_tokens_decoder={"7": end},
    )
    tokenizer: Any = model.tokenizer
    assert any("'<|end|>' is an added token, and not in vocab.txt" in warning for warning in model.warnings)
    assert tokenizer.with_template("hi.<|end|>", special=SpecialPolicy.ENCODE) == [2, 6, 5, 7, 3]
    for special in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
        with pytest.raises(UnknownWordError):
            tokenizer.encode("hi ho", special=special)
    both = of_class(
        tmp_path,
        [*WORDS, "<|end|>"],
        tokenizer_class="BertTokenizer",
        unk_token="<|end|>",
        added_tokens_decoder={"7": end},
    )
    assert not any("is an added token" in warning for warning in both.warnings)
    with pytest.raises(ModelFormatError, match="a word list of WordPiece with <unk>"):
        of_class(tmp_path, WORDS, tokenizer_class="BertTokenizer", unk_token="<unk>")
