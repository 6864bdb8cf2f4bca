"""A `tokenizer.json` that asks for more than a pattern and merges gives its library's ids on our kernel.

The claim is made for added tokens with any flags, normalisers, pre-tokenizers in steps, and vocabularies with holes,
each in random combination, on texts that hold the tokens, parts of them and what they may swallow.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.huggingface import added, document, dump
from support.texts import characters_of_all_kinds, texts

import tokbench
from tokbench import SpecialPolicy
from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.core.token_arrays import segmented
from tokbench.errors import ConfigError
from tokbench.explain.assembling import explain
from tokbench.formats.tokenizer_json import from_byte_level, to_byte_level
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.opening.kernel_document import kernel_document
from tokbench.opening.native_document import NativeDocument

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")

BYTES = [to_byte_level(bytes([byte])) for byte in range(256)]
MERGES = [
    *[("t", "h"), ("th", "e"), ("Ġ", "the"), ("a", "b"), ("ab", "c"), ("1", "2"), ("Ġ", "Ġ"), ("ĠĠ", "Ġ")],
    *[("<", "s"), ("<s", ">"), ("Ã", "©"), ("l", "o"), ("lo", "w"), ("Ġ", "low"), ("Ċ", "Ċ"), ("'", "s")],
    *[("ä", "º"), ("!", "!"), ("a", "Ġ")],
]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
ONLY_BYTES = BYTE_LEVEL | {"use_regex": False}


def split(pattern: str, behavior: str = "Isolated", *, invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}


DIGITS = {"type": "Digits", "individual_digits": True}
RUNS_OF_DIGITS = {"type": "Digits", "individual_digits": False}
LLAMA3 = "|".join(
    [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ]
)
SPLITTING = {
    "starcoder": sequence(DIGITS, BYTE_LEVEL),
    "falcon": sequence(
        {"type": "Punctuation", "behavior": "Contiguous"},
        BYTE_LEVEL,
        RUNS_OF_DIGITS,
        split("[0-9][0-9][0-9]"),
    ),
    "deepseek-v3": sequence(
        split(r"\p{N}{1,3}"),
        split("[一-龥぀-ゟ゠-ヿ]+"),
        split(
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
            "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
        ),
        ONLY_BYTES,
    ),
    "deepseek-coder": sequence(
        split("[\r\n]"),
        split(r"\s?\p{L}+"),
        split(r"\s?\p{P}+"),
        split("[一-龥ࠀ-一가-퟿]+"),
        DIGITS,
        ONLY_BYTES,
    ),
    "bloom": sequence(split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), ONLY_BYTES),
    "tekken": sequence(
        split(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
            r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        ONLY_BYTES,
    ),
    "clip": sequence(
        split(
            r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
            "Removed",
            invert=True,
        ),
        BYTE_LEVEL,
    ),
    "words and digits": sequence(split(LLAMA3), DIGITS, ONLY_BYTES),
    "optional group": sequence(
        split(r"\p{Lu}?(?i:'s|th)?\p{Ll}+|(?:ab|a)(?=b)|\d{2,}|[^\w\s]++"), ONLY_BYTES
    ),
    "line ends": sequence(split(r"\s+$|[ \n]+\p{L}$|\p{L}+(?=$)"), ONLY_BYTES),
    "joined before": sequence(split(r"\s", "MergedWithPrevious"), ONLY_BYTES),
    "joined behind": sequence(split(r"[\s.]", "MergedWithNext"), BYTE_LEVEL),
    "joined together": sequence(split("[a-c]", "Contiguous"), ONLY_BYTES),
    "inverted": sequence(split(r"\p{L}+", "MergedWithNext", invert=True), ONLY_BYTES),
    "fixed text": sequence(
        {"type": "Split", "pattern": {"String": "the"}, "behavior": "Isolated", "invert": False}, BYTE_LEVEL
    ),
    "white space": sequence({"type": "Whitespace"}, ONLY_BYTES),
    "between spaces": sequence({"type": "WhitespaceSplit"}, BYTE_LEVEL),
    "between commas": sequence({"type": "CharDelimiterSplit", "delimiter": ","}, BYTE_LEVEL),
    "spaces put before": BYTE_LEVEL | {"add_prefix_space": True},
    "spaces put before digits": sequence(DIGITS, BYTE_LEVEL | {"add_prefix_space": True}),
    "bytes": ONLY_BYTES | {"add_prefix_space": True},
}
"""Pre-tokenizers as well-known models have them, and such as try each kind of step."""


def normalizers(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(steps)}


NORMALIZERS: list[dict[str, Any] | None] = [
    None,
    {"type": "NFC"},
    {"type": "NFKC"},
    {"type": "Lowercase"},
    normalizers(
        {"type": "NFC"},
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
        {"type": "Lowercase"},
    ),
    normalizers({"type": "Replace", "pattern": {"String": "a"}, "content": "bb"}, {"type": "NFD"}),
    normalizers(
        {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Prepend", "prepend": "the "}
    ),
]

TOKENS = [
    "<s>",
    "<S>",
    "<s> ",
    "<mask>",
    "<m",
    "sk>",
    "  ",
    "   ",
    "\n\n",
    "the",
    "é",
    "e\u0301",
    "Σ",
    "x",
    "a b",
    "<s><s>",
]


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """A document of everything that the kernel is claimed to run; a few that it does not are among them."""
    missing = draw(st.sets(st.sampled_from([0x00, 0x7F, 0xC3, 0xE4, ord("q"), 0xFF]), max_size=2))
    pieces = [piece for byte, piece in enumerate(BYTES) if byte not in missing]
    merges = [
        (left, right)
        for left, right in draw(st.permutations(MERGES))
        if draw(st.integers(0, 3)) and len(left) < 9
    ]
    made: list[tuple[str, str]] = []
    for left, right in sorted(merges, key=lambda pair: len("".join(pair))):
        if left in pieces and right in pieces:
            made.append((left, right))
            pieces.append(left + right)
    order = draw(st.permutations(made))
    pieces.extend(draw(st.sampled_from([[], ["字"], ["<unk>", "dead entry"]])))
    tokens = draw(st.lists(st.sampled_from(TOKENS), max_size=5, unique=True))
    flag = st.sampled_from([False, False, False, True])
    return dump(
        document(
            {
                "type": "BPE",
                "vocab": {piece: id for id, piece in enumerate(pieces)},
                "merges": [list(pair) for pair in order],
                "ignore_merges": draw(st.booleans()),
                "unk_token": draw(st.sampled_from([None, "a"])),
            },
            normalizer=draw(st.sampled_from(NORMALIZERS)),
            pre_tokenizer=draw(st.sampled_from([BYTE_LEVEL, *SPLITTING.values()])),
            decoder=BYTE_LEVEL,
            added_tokens=[
                added(
                    text,
                    len(pieces) + place,
                    special=draw(st.booleans()),
                    **{name: draw(flag) for name in ("lstrip", "rstrip", "single_word", "normalized")},
                )
                for place, text in enumerate(tokens)
            ],
        )
    )


mixed = st.lists(
    st.sampled_from(
        [*TOKENS, " ", "    ", "\t", "\u3000", "low", "12345", "don'S", "\x00", "q", "字", "_", "ſ", "A"]
    )
    | texts,
    max_size=12,
).map("".join)


def both(folder: Path, data: bytes) -> tuple[Any, Any]:
    path = folder / "tokenizer.json"
    path.write_bytes(data)
    return tokbench.load(path), tokbench.load(path, engine="library")


def assert_alike(native: Any, library: Any, given_texts: Sequence[str]) -> None:
    for special in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
        expected = [library.encode(text, special=special) for text in given_texts]
        batch = native.encode_batch(given_texts, special=special)
        assert [batch[place].tolist() for place in range(len(given_texts))] == expected
        assert native.count_batch(given_texts, special=special).tolist() == list(map(len, expected))
        assert [native.encode(text, special=special) for text in given_texts] == expected
    spans, defined = native.encode_spans(given_texts), segmented(library, given_texts)
    assert np.array_equal(spans.starts, defined.starts)
    assert np.array_equal(spans.stops, defined.stops)
    assert np.array_equal(spans.kinds, defined.kinds)
    assert [native.segment(text) for text in given_texts] == [library.segment(text) for text in given_texts]


@settings(max_examples=60)
@given(data=documents(), given_texts=st.lists(mixed, max_size=6))
def test_any_document_has_its_librarys_ids_and_spans(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, given_texts: list[str]
) -> None:
    native, library = both(tmp_path_factory.mktemp("any"), data)
    if isinstance(native, NativeDocument):
        assert_alike(native, library, given_texts)


@given(data=documents(), given_texts=st.lists(mixed, max_size=3))
def test_any_document_is_explained_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, given_texts: list[str]
) -> None:
    native, _ = both(tmp_path_factory.mktemp("explained"), data)
    for text in given_texts:
        try:
            explanation = explain(native, text)
        except ConfigError as error:
            assert "cannot be explained" in error.message or "does not tell" in error.message
            continue
        ids = [symbol.id for step in explanation.steps for symbol in step.trace.tokens]
        assert ids == native.encode(text)


@pytest.mark.parametrize("name", SPLITTING)
def test_texts_of_well_known_splits_are_explained(name: str, tmp_path: Path) -> None:
    native, _ = both(tmp_path, with_parts(SPLITTING[name], None))
    for text in ("the low éab 12345 don's", "  \n\n x\t!! 字q", "abc<s>the", ""):
        explanation = explain(native, text)
        assert [token.id for token in explanation.tokens] == native.encode(text)
        assert len(explanation.boundaries) == max(len(explanation.tokens) - 1, 0)


def test_most_documents_run_on_the_kernel(tmp_path: Path) -> None:
    for splitting in SPLITTING.values():
        for normalizer in NORMALIZERS:
            native, _ = both(tmp_path, with_parts(splitting, normalizer))
            assert isinstance(native, NativeDocument)
            assert native.info.kernel == "native"


def with_parts(splitting: dict[str, Any] | None, normalizer: dict[str, Any] | None, **model: Any) -> bytes:
    vocab = {piece: id for id, piece in enumerate(dict.fromkeys([*BYTES, *map("".join, MERGES)]))}
    fields = {"type": "BPE", "vocab": vocab, "merges": [list(pair) for pair in MERGES], **model}
    return dump(document(fields, pre_tokenizer=splitting, normalizer=normalizer, decoder=BYTE_LEVEL))


# --- splitting --------------------------------------------------------------------------------


@cache
def splitters(name: str) -> tuple[NativeDocument, Any]:
    data = with_parts(SPLITTING[name], None)
    library = HuggingFaceTokenizer(data, name=name, backend="bpe")
    plan = kernel_document(json.loads(data), ids=library.spelled_ids, path=name)
    return NativeDocument(library, plan=plan), library._engines.plain.pre_tokenizer


def assert_split_alike(name: str, text: str) -> None:
    native, pre_tokenizer = splitters(name)
    if native._covers(text):
        expected = [from_byte_level(piece) for piece, _ in pre_tokenizer.pre_tokenize_str(text)]
        assert native._encoder.pretokens(text.encode()) == expected


@pytest.mark.parametrize("name", SPLITTING)
@given(text=texts)
def test_steps_split_as_the_library_does(name: str, text: str) -> None:
    assert_split_alike(name, text)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["falcon", "deepseek-v3", "tekken", "bloom"])
def test_steps_split_characters_of_all_kinds_as_the_library_does(name: str) -> None:
    native, pre_tokenizer = splitters(name)
    covered = [character for character in characters_of_all_kinds() if native._covers(character)]
    covered += (
        "\u07ff\u0800\u4dff\u4e00\u9fa5\u9fa6\uabff\uac00\ud7ff\ue000"  # where ranges of the patterns end
    )
    assert len(covered) > 35_000
    for start in range(0, len(covered), 1 << 14):
        text = "".join(f"a{one} {one}1 '{one}\n" for one in covered[start : start + (1 << 14)])
        # The pre-tokens cover the text, and the library spells each byte as a character: lengths say all.
        expected = [len(piece) for piece, _ in pre_tokenizer.pre_tokenize_str(text)]
        assert list(map(len, native._encoder.pretokens(text.encode()))) == expected


def test_a_run_that_could_be_tried_again_and_again_takes_linear_time() -> None:
    native, _ = splitters("deepseek-v3")
    for text in (" " * 300_000, "\n " * 150_000, "a" * 300_000, "!" * 300_000):
        assert sum(map(len, native._encoder.pretokens(text.encode()))) == len(text)


# --- letters at the end of a word ---------------------------------------------------------------


def clip_like() -> bytes:
    ends = [f"{piece}</w>" for piece in BYTES]
    merges = [("t", "h"), ("th", "e</w>"), ("a", "b</w>"), ("1", "2</w>"), ("t", "he</w>"), ("h", "e</w>")]
    pieces = [*BYTES, *ends, *dict.fromkeys(left + right for left, right in merges), "<|end|>"]
    model = {
        "type": "BPE",
        "vocab": {piece: id for id, piece in enumerate(pieces)},
        "merges": [list(pair) for pair in merges],
        "end_of_word_suffix": "</w>",
        "unk_token": "<|end|>",
    }
    return dump(
        document(
            model,
            normalizer=NORMALIZERS[4],
            pre_tokenizer=SPLITTING["clip"],
            decoder=BYTE_LEVEL,
            added_tokens=[added("<|end|>", len(pieces) - 1)],
        )
    )


@given(
    given_texts=st.lists(
        mixed | st.sampled_from(["the", "THE<|end|>ab", "th the</w>", "12 the12"]), max_size=4
    )
)
def test_a_suffix_at_the_end_of_words_is_a_letter_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, given_texts: list[str]
) -> None:
    native, library = both(tmp_path_factory.mktemp("clip"), clip_like())
    assert isinstance(native, NativeDocument)
    assert_alike(native, library, given_texts)


# --- what the kernel is not given ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pre_tokenizer": sequence(split(r"\bthe\b"), ONLY_BYTES)}, r"holds '\\\\b'"),
        ({"pre_tokenizer": sequence(split(r"(?<!a)b"), ONLY_BYTES)}, "holds '\\(\\?<!'"),
        ({"pre_tokenizer": sequence(split(r"a*"), ONLY_BYTES)}, "matches the empty string"),
        ({"pre_tokenizer": sequence(split(r"(?:ab)+"), ONLY_BYTES)}, "repeats in a way"),
        ({"pre_tokenizer": sequence(split(r"(?i:strasse)"), ONLY_BYTES)}, "one character together"),
        ({"pre_tokenizer": sequence(BYTE_LEVEL, BYTE_LEVEL)}, "bytes twice"),
        ({"pre_tokenizer": sequence({"type": "UnicodeScripts"}, BYTE_LEVEL)}, "UnicodeScripts"),
        ({"normalizer": {"type": "StripAccents"}}, "StripAccents"),
        ({"added_tokens": [added(" <b>", 300), added("<a>", 301, lstrip=True)]}, "strips white space"),
    ],
)
def test_what_is_not_understood_is_left_to_the_library(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    made = json.loads(with_parts(BYTE_LEVEL, None)) | changes
    with pytest.raises(ConfigError, match=reason):
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(made))
        tokbench.load(path, engine="native")


def test_a_text_with_a_byte_that_the_vocabulary_lacks_goes_to_the_library(tmp_path: Path) -> None:
    made = json.loads(with_parts(BYTE_LEVEL, None))
    del made["model"]["vocab"]["q"]
    native, library = both(tmp_path, dump(made))
    assert isinstance(native, NativeDocument)
    assert (native._covers("the low"), native._covers("aqua")) == (True, False)
    assert native.encode("aqua low") == library.encode("aqua low")


def test_a_long_text_is_cut_for_threads_where_its_added_tokens_allow(tmp_path: Path) -> None:
    made = json.loads(with_parts(BYTE_LEVEL, None))
    for token in ("<s>", "the\n", "e low"):
        made["added_tokens"] = [added(token, 300, special=False)]
        native, library = both(tmp_path, dump(made))
        text = "the low the\nlow <s>the  \nlow" * 12_000
        assert native.encode_batch([text], threads=2).ids.tolist() == library.encode(text)
