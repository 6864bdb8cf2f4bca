"""Tests that a Unigram `tokenizer.json` on the kernel gives the library's ids for any scores, table and text."""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import huggingface, small_files
from support.byte_level_documents import sequence
from support.huggingface import added
from support.texts import characters_of_all_kinds, texts
from support.word_documents import WHITESPACE_SPLIT, table_of

from tokbench.core.tokens import SpecialPolicy, TokenKind
from tokbench.errors import SpecialTokenError
from tokbench.native.kernel_choice import is_installed
from tokbench.opening import unigram_document
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.opening.unigram_description import unigram_description
from tokbench.opening.unigram_document import UnigramDocument

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not is_installed(unigram_document.COMPILED), reason="not compiled")

LETTERS = "▁ab日éh"
PIECES: list[list[Any]] = [
    *([special, 0.0] for special in ("<pad>", "</s>", "<unk>")),
    *([letter, -3.5 - number] for number, letter in enumerate(LETTERS)),
    *([piece, -2.0] for piece in ("▁a", "ab", "ba", "▁ab", "日日", "fi", "1")),
    *([piece, -4.25] for piece in ("aba", "▁▁", "b▁a", "ééé", " ", "क्ष", "นำ")),
]


def document(
    *, rule: str = "nmt_nfkc", pieces: list[list[Any]] | None = None, **model: Any
) -> dict[str, Any]:
    return huggingface.document(
        {"type": "Unigram", "unk_id": 2, "vocab": pieces or PIECES, "byte_fallback": False, **model},
        added_tokens=[added(content, id) for id, content in enumerate(("<pad>", "</s>", "<unk>"))],
        normalizer=table_of(rule) if rule else None,
        pre_tokenizer=sequence(WHITESPACE_SPLIT, METASPACE),
    )


def opened(fields: dict[str, Any], *, engine: str = "auto") -> UnigramDocument:
    tokenizer = UnigramDocument(json.dumps(fields).encode(), name="mine", engine=engine)
    tokenizer._missing = 0  # make the encoder at the first text
    return tokenizer


def check(ours: UnigramDocument, library: UnigramDocument, given_texts: list[str]) -> None:
    """Compare ids, counts, spans and errors, of single texts and batches on two threads, with the library's."""
    for special in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
        expected = [library.encode(text, special=special) for text in given_texts]
        assert [ours.encode(text, special=special) for text in given_texts] == expected
        encoded = ours.encode_batch(given_texts, special=special, threads=2)
        assert encoded.ids.tolist() == [id for row in expected for id in row]
        assert ours.count_batch(given_texts, special=special, threads=2).tolist() == list(map(len, expected))
    for text in given_texts:
        assert ours.segment(text) == library.segment(text)
        assert outcome(ours, text) == outcome(library, text)
    placed, defined = (tokenizer.encode_spans(given_texts, threads=2) for tokenizer in (ours, library))
    assert placed.encoded.ids.tolist() == defined.encoded.ids.tolist()
    for name in ("starts", "stops", "kinds"):
        assert getattr(placed, name).tolist() == getattr(defined, name).tolist(), name


def outcome(tokenizer: UnigramDocument, text: str) -> object:
    """Return the ids of a text, or the error message if it contains a special token."""
    try:
        return tokenizer.encode(text, special=SpecialPolicy.RAISE)
    except SpecialTokenError as error:
        return str(error)


@cache
def pair(rule: str) -> tuple[UnigramDocument, UnigramDocument]:
    return opened(document(rule=rule)), opened(document(rule=rule), engine="library")


FRAGMENTS = [
    *("e\u0301", "\r\n", "\u0301", "\u200d", "\u200c", "ی\u200c", "ا\u064e", "ا\u0653", "क्षि", "นำ", "한"),
    *("①\u0301", "ﬁ\u0301", "1\ufe0f\u20e3", "©\u200d©", "🇩🇪", "👩\u200d🚀", "\u00a0", "\u3000", "▁", "</s>"),
    *("ab", "日日", " ", "\n", "\u0085", "\x0b", "\u00a8", "ﷺ", "<unk>", "\u2028", "\u0600a", "\u1112\u1161"),
]
any_character = st.characters(exclude_categories=["Cs"])
any_text = st.one_of(texts, st.lists(st.sampled_from(FRAGMENTS) | any_character).map("".join))


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nmt_nfkc_cf", ""])
@given(given_texts=st.lists(any_text, max_size=4))
def test_any_text_is_encoded_as_by_the_library(rule: str, given_texts: list[str]) -> None:
    check(*pair(rule), given_texts)


MARKED = (
    "\x01aeo½éọا日©\u1112\u1161\u00a0 \t\u200d\u200e\u0600\u0903" + 3 * "\u0300\u0301\u0308\u0323\u0344\u0653"
)


@settings(max_examples=60)
@given(given_texts=st.lists(st.text(MARKED, max_size=12), min_size=4, max_size=30))
def test_characters_with_marks_are_encoded_as_by_the_library(given_texts: list[str]) -> None:
    check(*pair("nmt_nfkc"), given_texts)


def normalized_by(
    *normalizers: dict[str, Any], words: bool = False, rule: str = "nmt_nfkc", prepend: str = "always"
) -> dict[str, Any]:
    """Return a document as written by transformers' converters; `words` keeps the pre-tokenizer at all white space."""
    fields = document(rule=rule)
    table = [table_of(rule)] if rule else []
    steps = [
        step
        for normalizer in normalizers
        for step in (table if normalizer["type"] == "table" else [normalizer])
    ]
    fields["normalizer"] = {"type": "Sequence", "normalizers": steps}
    if not words:
        fields["pre_tokenizer"] = METASPACE | {"prepend_scheme": prepend}
    return fields


TABLE = {"type": "table"}
TABLE_STEP = {"type": "Precompiled", "precompiled_charsmap": ""}
LOWER = {"type": "Lowercase"}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
STRIP_RIGHT = {"type": "Strip", "strip_left": False, "strip_right": True}
QUOTES = {"type": "Replace", "pattern": {"String": "``"}, "content": '"'}
ACCENTS = ({"type": "NFKD"}, {"type": "StripAccents"})


def runs(content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": content}


CONVERTED: dict[str, Any] = {
    "xlm-roberta": lambda: normalized_by(TABLE, STRIP_RIGHT, runs("▁")),
    "xlm-roberta of another table": lambda: normalized_by(TABLE, STRIP_RIGHT, runs("▁"), rule="nmt_nfkc_cf"),
    "deberta": lambda: normalized_by({"type": "Lowercase"}, STRIP, TABLE, runs(" ")),
    "albert": lambda: normalized_by(QUOTES, *ACCENTS, {"type": "Lowercase"}, TABLE, words=True),
    "albert, in one piece": lambda: normalized_by(QUOTES, *ACCENTS, {"type": "Lowercase"}, TABLE, runs(" ")),
    "t5 with runs": lambda: normalized_by(TABLE, STRIP_RIGHT, runs(" "), words=True),
    "t5, not legacy": lambda: normalized_by(TABLE, STRIP_RIGHT, runs("▁"), prepend="first"),
    "mbart, not legacy": lambda: normalized_by(TABLE, runs(" "), prepend="first"),
    "xlnet, without prefix": lambda: normalized_by(QUOTES, *ACCENTS, TABLE, runs(" "), prepend="never"),
    "pegasus, without prefix": lambda: normalized_by(TABLE, runs(" "), prepend="never"),
}


@cache
def converted(name: str) -> tuple[UnigramDocument, UnigramDocument]:
    native = opened(CONVERTED[name]())
    assert not native.library_reason
    assert native.encoder is not None
    return native, opened(CONVERTED[name](), engine="library")


@pytest.mark.parametrize("name", CONVERTED)
@given(given_texts=st.lists(any_text, max_size=4))
def test_any_text_of_a_converted_model_is_encoded_as_by_the_library(
    name: str, given_texts: list[str]
) -> None:
    check(*converted(name), given_texts)


@pytest.mark.parametrize("name", CONVERTED)
def test_converted_models_run_most_texts_on_the_kernel(name: str) -> None:
    ours, library = converted(name)
    given_texts = [
        *["plain", "  two  lines\n of it", "日本語、中文。", "Ünïcödé ´ ½", "한국어"],
        *["a\r\nb", "a\u00a0b\u3000c"],
        *["a line\n", "a \u3000\n", "\n", " "],
    ]
    assert all(ours._covers(text) for text in given_texts)
    check(ours, library, [*given_texts, "a ", "a\n", "\u200b", " ", "a\x0bb", "a\u0085b", "a▁b", "▁ a"])


TOKENS = ["<a>", "x", "ab日", "\n", "<", "</s>b", "é", "a b", " c", "[FI]", "日本", "_w_", "a"]
FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "special")
added_tokens = st.lists(
    st.tuples(st.sampled_from(TOKENS), st.frozensets(st.sampled_from(FLAGS), max_size=3)),
    max_size=4,
    unique_by=lambda token: token[0],
)
SHAPES: dict[str, Any] = {"t5": document, **CONVERTED}


def with_added(fields: dict[str, Any], tokens: list[tuple[str, frozenset[str]]]) -> dict[str, Any]:
    """Add tokens to a document and return it."""
    first = len(fields["model"]["vocab"])
    for id, (content, flags) in enumerate(tokens, start=first):
        fields["added_tokens"].append(
            {"id": id, "content": content} | {flag: flag in flags for flag in FLAGS}
        )
    return fields


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
def test_added_tokens_are_encoded_as_by_the_library(shape: str, data: st.DataObject) -> None:
    tokens = data.draw(added_tokens)
    texts_with_them = st.lists(
        st.sampled_from([*TOKENS, *FRAGMENTS, "ﬁ", "＜a＞", "［ﬁ］", "\u00ad", "\x01"]) | any_character,
        max_size=12,
    ).map("".join)
    given_texts = data.draw(st.lists(texts_with_them, max_size=4))
    ours, library = (
        opened(with_added(SHAPES[shape](), tokens), engine=engine) for engine in ("auto", "library")
    )
    normalizer = library._engines.plain.normalizer
    assume(all(normalizer.normalize_str(content) for content, _ in tokens))  # else the library panics
    check(ours, library, given_texts)


@pytest.mark.parametrize(
    "flags", [frozenset[str](), frozenset({"normalized"}), frozenset({"lstrip", "rstrip"})]
)
def test_texts_with_added_tokens_run_on_the_kernel(flags: frozenset[str]) -> None:
    ours = opened(with_added(document(), [("<a>", flags), *([(f"<{n}>", flags) for n in range(40)])]))
    assert not ours.library_reason
    assert ours._covers("text <a> and＜a＞日本<7>")
    assert ours._covers("a </s> b", specials=True)
    assert (ours._kernel_spans is not None) and ours._covers_places("text <a> 日本")


@pytest.mark.parametrize(
    ("shape", "content", "flags", "text"),
    [
        ("t5", "日本", {"normalized"}, "x日本éy é日本"),
        ("t5", "ab", {"normalized"}, "aby xab aba ab"),  # also a piece: with ▁ it is as long as the word
        ("xlm-roberta", "<a>", set(), "a<a>b <a> b<a>"),
        ("t5, not legacy", "<a>", set(), "a<a>b <a> b<a>"),
        ("deberta", "a", set(), "xA b"),
        ("deberta", "a", set(), "xA\u0301b"),
    ],
)
def test_spans_beside_added_tokens_equal_the_librarys(
    shape: str, content: str, flags: set[str], text: str
) -> None:
    ours, library = (
        opened(with_added(SHAPES[shape](), [(content, frozenset(flags))]), engine=engine)
        for engine in ("auto", "library")
    )
    assert ours._covers(text)
    check(ours, library, [text])


def test_clusters_of_six_bytes_are_replaced_character_by_character() -> None:
    """A shorter cluster is replaced by the shortest key that it begins with, which drops the other marks."""
    fields = document(pieces=[*PIECES, *([character, -3.0] for character in ("2", "⁄", "\u0301", "Ͱ"))])
    ours, library = opened(fields), opened(fields, engine="library")
    half = [PIECES.index(["1", -2.0]), len(PIECES) + 1, len(PIECES)]
    for text, marks in (("½", 0), ("½\u0301", 0), ("½\u0301\u0301", 2), ("½\u0301\u0301\u0301", 3)):
        assert ours._covers(text)
        assert ours.encode(text)[1:] == [*half, *[len(PIECES) + 2] * marks]
        assert library.encode(text) == ours.encode(text)
    assert ours.encode("½Ͱ") == library.encode("½Ͱ")  # a letter, right after the marks
    assert ours.encode("½Ͱ")[1:] == [*half, len(PIECES) + 3]


def test_only_the_first_of_removed_characters_is_the_origin_of_an_inserted_one() -> None:
    check(*pair("nmt_nfkc"), ["a½\x01\x01b", "½\x01\x7f\x01 a", "ab\x01"])


@pytest.mark.parametrize("shape", SHAPES)
def test_long_text_is_not_split_within_a_line_end(shape: str) -> None:
    """Threads encode parts of 128 thousand characters, which begin at white space."""
    ours, library = (opened(SHAPES[shape](), engine=engine) for engine in ("auto", "library"))
    placed, defined = (
        tokenizer.encode_spans(["ab\r\n" * 40_000], threads=2) for tokenizer in (ours, library)
    )
    assert placed.starts.tolist() == defined.starts.tolist()
    assert placed.stops.tolist() == defined.stops.tolist()


SCORES = st.one_of(st.sampled_from([-1.0, -2.0, -3.0, -0.5, 0.0, 2.0]), st.floats(-20, 5))


@given(
    scores=st.dictionaries(st.text(LETTERS, min_size=1, max_size=4), SCORES, max_size=12),
    words=st.lists(st.text(LETTERS + " x", max_size=12), max_size=5),
    byte_fallback=st.booleans(),
)
def test_models_of_few_letters_encode_as_in_the_library(
    scores: dict[str, float], words: list[str], *, byte_fallback: bool
) -> None:
    bytes_ = [[f"<0x{byte:02X}>", 0.0] for byte in range(256)] if byte_fallback else []
    pieces = [*PIECES[:3], *([piece, score] for piece, score in scores.items()), *bytes_]
    fields = document(rule="", pieces=pieces, byte_fallback=byte_fallback)
    check(opened(fields), opened(fields, engine="library"), [" ".join(words), *words])


@pytest.mark.slow
def test_every_kind_of_character_is_encoded_as_by_the_library() -> None:
    ours, library = pair("nmt_nfkc")
    everything = characters_of_all_kinds()
    covered = 0
    for start in range(0, len(everything), 512):
        some = [character for character in everything[start : start + 512] if ours._covers(f"a{character}")]
        covered += len(some)
        text = " ".join(f"a{character}b é{character} 日{character} {character}" for character in some)
        assert ours.encode(text) == library.encode(text)
    assert covered > 0.9 * len(everything)


def test_most_texts_run_on_the_kernel() -> None:
    ours, _ = pair("nmt_nfkc")
    for text in (
        *("plain", "日本語、中文。", "मैं हिन्दी", "ภาษาไทย นำ", "한국어", "می‌خواهم", "بَيتٌ", "Ünïcödé"),
        *("🇩🇪 👍🏽 ❤️", "a\r\nb", unicodedata.normalize("NFD", "Ọjọ́ kéré ½ ǘ")),
    ):
        assert ours._covers(text), text
    for text in ("①\u0301", "\u0600a", "e\u0301\u200d"):
        assert not ours._covers(text), text


@pytest.mark.parametrize("unknown", [2, 5])
@pytest.mark.parametrize("is_special", [True, False])
def test_pieces_listed_again_are_encoded_and_decoded_as_by_the_library(
    tmp_path: Path, unknown: int, is_special: bool
) -> None:
    fields = document(
        pieces=[*PIECES[:5], ["<unk>", -9.0], ["ab", -80.0], *PIECES[5:], ["xé", -8.9]], unk_id=unknown
    )
    if not is_special:
        fields["added_tokens"] = []
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(fields))
    library = tokenizers.Tokenizer.from_file(str(path))
    given_texts = ["ab aab", "日x<unk> ab", "", "<unk>", "▁ab</s>x", "xééé"]
    ours, reference = opened(fields), opened(fields, engine="library")
    check(ours, reference, given_texts)
    assert not ours.library_reason
    for text in given_texts:
        expected = library.encode(text, add_special_tokens=False).ids
        assert ours.encode(text, special=SpecialPolicy.ENCODE) == expected
    for id in range(library.get_vocab_size()):
        assert ours.decode([id]) == library.decode([id], skip_special_tokens=False)
    assert ours.segment("x").tokens[-1].kind is TokenKind.UNKNOWN
    assert ours.encode("x")[-1] == unknown
    assert any(
        "2 pieces listed again, as '<unk>', 'ab'" in warning for warning in small_files.opened(path).warnings
    )


def test_scores_are_parsed_as_by_the_library() -> None:
    score = -2.0122928619384766  # a score of T5 that the library reads as a slightly different number
    pieces = [*PIECES[:3], ["▁", score], ["-", -5.129043102264404], ["---", -12.130167007446289]]
    fields = document(rule="", pieces=pieces)
    check(opened(fields), opened(fields, engine="library"), ["-" * count for count in range(1, 40)])


def test_scores_of_pieces_that_look_like_json_are_found() -> None:
    odd = ['"', "\\", '",1]', '\\",1]', '["a",-2]', '"vocab":[["a",3]', "],[", "\u2028\x00\n", "\\u0022"]
    scores = [-1.5, -1e-7, -123456789.25, 0, -3, 2.5, -1e300, -7, 1e-300]
    pieces = [*PIECES[:3], *map(list, zip(odd, scores, strict=True))]
    fields = document(pieces=pieces)
    fields["added_tokens"].append(added('"vocab":[["<s>",1]', len(pieces)))
    tokenizer = opened(fields)
    assert tokenizer.scores_as_read() == [score for _, score in pieces]


def test_unsupported_documents_are_left_to_the_library() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"normalizer": {"type": "ByteLevel"}}, "it normalizes the text"),
        ({"normalizer": {"type": "Sequence", "normalizers": [TABLE_STEP, LOWER]}}, "after its table"),
        ({"normalizer": {"type": "Sequence", "normalizers": [TABLE_STEP, TABLE_STEP]}}, "two tables"),
        ({"pre_tokenizer": METASPACE}, "does not collapse spaces"),
        ({"pre_tokenizer": None}, "it does not split by WhitespaceSplit and Metaspace"),
        ({"model": {"type": "Unigram", "unk_id": None, "vocab": PIECES}}, "it has no unknown token"),
    ]
    for change, reason in cases:
        with pytest.raises(NotNativeError, match=reason):
            unigram_description({**document(), **change}, ids={}, normalize=str)


@pytest.mark.real
def test_t5_encodes_as_in_the_library(shared: Path) -> None:
    data = (shared / "vocab" / "t5-small" / "tokenizer.json").read_bytes()
    ours, library = (UnigramDocument(data, name="t5", engine=engine) for engine in ("auto", "library"))
    folder = shared / "corpora" / "parallel_ntrex"
    given_texts = [path.read_text(encoding="utf-8")[:6_000] for path in sorted(folder.glob("*.txt"))[:12]]
    assert sum(map(ours.encoder.covers, given_texts)) > 0.8 * len(given_texts)  # type: ignore[union-attr]
    check(ours, library, given_texts)
