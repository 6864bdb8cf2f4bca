"""Tests that a `tokenizer.json` of BPE over characters gives the library's ids on our kernel or runs in the library."""

from __future__ import annotations

import copy
from base64 import b64encode
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.byte_level_documents import sequence
from support.huggingface import added
from support.sentencepiece_models import charsmap, training_text
from support.texts import bundled_texts, texts
from support.word_documents import AS_CONVERTED
from tokenizers import Tokenizer, models, normalizers, trainers

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.libraries.huggingface import engines
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.native.kernel_choice import is_installed
from tokbench.opening.character_bpe import COMPILED, CharacterBpe, character_bpe
from tokbench.opening.character_document import CharacterDocument
from tokbench.opening.character_places import character_places
from tokbench.opening.native_bpe import NotNativeError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not is_installed(COMPILED), reason="not compiled")

PREPEND = {"type": "Prepend", "prepend": "▁"}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
LLAMA: dict[str, Any] = {"type": "Sequence", "normalizers": [PREPEND, REPLACE]}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
METASPACE_ALWAYS = METASPACE | {"prepend_scheme": "always"}
DIGITS = {"type": "Digits", "individual_digits": True}
LOWER = {"type": "Lowercase"}
NFC = {"type": "NFC"}
GEMMA_SPLIT = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
FRAGMENTS = [
    *[" ", "  ", "\t", "\x01", "▁", "▁▁", "\n", "\n\n", "the ", "</s>", "<0x41>", "é\u0301", "中", "aaa"],
    *["<sep>", "<b>", "ﬁ", "É"],
]
WOVEN = st.lists(st.sampled_from(FRAGMENTS) | texts)


@cache
def trained() -> dict[str, Any]:
    """Return a BPE trained by `tokenizers` with byte tokens and three special tokens."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=["<unk>", "<s>", "</s>", *BYTES], show_progress=False
    )
    tokenizer.train_from_iterator(training_text(), trainer)
    document: dict[str, Any] = orjson.loads(tokenizer.to_str())
    document["added_tokens"] = document["added_tokens"][:3]
    return document


def changed(
    *, added: list[dict[str, Any]] | None = None, model: dict[str, Any] | None = None, **parts: Any
) -> dict[str, Any]:
    document = copy.deepcopy(trained())
    document |= parts
    document["model"] |= model or {}
    document["added_tokens"] += added or []
    return document


token = partial(added, special=False)


def without_bytes(*characters: str) -> dict[str, Any]:
    """Return a document in which these characters replace the tokens of their bytes."""
    vocab = dict(trained()["model"]["vocab"])
    for character in characters:
        vocab[character] = vocab.pop(f"<0x{ord(character):02X}>")
    pairs = [[each, each] for each in characters]
    vocab |= {left + right: 900 + number for number, (left, right) in enumerate(pairs)}
    return changed(model={"vocab": vocab, "merges": [*trained()["model"]["merges"], *pairs]})


def split(text: str, behavior: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"String": text}, "behavior": behavior, "invert": False}


def with_ids(ids: dict[str, int]) -> dict[str, Any]:
    return changed(
        model={"vocab": dict(trained()["model"]["vocab"]) | ids}, added_tokens=trained()["added_tokens"][1:]
    )


def merging_bytes() -> dict[str, Any]:
    vocab = dict(trained()["model"]["vocab"]) | {"<0x41><0x42>": 900}
    merges = [*trained()["model"]["merges"], ["<0x41>", "<0x42>"]]
    return changed(model={"vocab": vocab, "merges": merges})


def with_a_special_merge(number: int) -> dict[str, Any]:
    """Return a document in which the token of the given merge is a special token."""
    merged = "".join(trained()["model"]["merges"][number])
    return changed(added=[token(merged, trained()["model"]["vocab"][merged], special=True)])


def many_tokens() -> list[dict[str, Any]]:
    """Return added tokens for markup and white space as in Gemma, more than share a first character."""
    texts = ["<sep>", "<b>", "</b>", "[x]", "\n\n", "\n\n\n", "\t\t", "▁▁", "é", "{", "}", "|", "~a b", "  "]
    return [token(text, 900 + number) for number, text in enumerate(texts)]


def sequence_of_normalizers(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(steps)}


DOCUMENTS: dict[str, Any] = {
    "as llama": changed,
    "as gemma": lambda: changed(normalizer=REPLACE, pre_tokenizer=GEMMA_SPLIT),
    "metaspace": lambda: changed(normalizer=None, pre_tokenizer=METASPACE),
    "metaspace never": lambda: changed(
        normalizer=None, pre_tokenizer=METASPACE | {"prepend_scheme": "never"}
    ),
    "without bytes": lambda: changed(model={"byte_fallback": False}),
    "unknown apart": lambda: changed(model={"byte_fallback": False, "fuse_unk": False}),
    "a tab for its byte": lambda: without_bytes("\t", "\x01"),
    "with a symbol": lambda: changed(added=[token("<sep>", 900)]),
    "with many symbols": lambda: changed(added=many_tokens()),
    "symbols, a mark in front of each part": lambda: changed(
        normalizer=None, pre_tokenizer=METASPACE | {"prepend_scheme": "always"}, added=many_tokens()
    ),
    "symbols, a mark in front of the text": lambda: changed(
        normalizer=None, pre_tokenizer=METASPACE, added=many_tokens()
    ),
    "symbols that strip": lambda: changed(
        added=[
            token("<sep>", 900, lstrip=True, rstrip=True),
            token("<b>", 901, single_word=True),
            token("a</s>", 902, lstrip=True),
        ]
    ),
    "symbols in the normalized text": lambda: changed(
        normalizer=REPLACE, added=[token("<sep>", 900, normalized=True), token("the", 901, normalized=True)]
    ),
    "symbols with spaces in the normalized text": lambda: changed(
        added=[token("<sep>", 900, normalized=True), token("the ", 901, normalized=True), token("<b>", 902)]
    ),
    "words": lambda: changed(normalizer=None, pre_tokenizer=METASPACE | {"split": True}),
    "words, a mark in front of each part": lambda: changed(
        normalizer=None,
        pre_tokenizer=METASPACE | {"split": True, "prepend_scheme": "always"},
        added=many_tokens(),
    ),
    "words cut further": lambda: changed(
        normalizer=None,
        pre_tokenizer=sequence(METASPACE_ALWAYS | {"split": True}, DIGITS, {"type": "Punctuation"}),
    ),
    "digits together": lambda: changed(pre_tokenizer=DIGITS | {"individual_digits": False}),
    "lines apart": lambda: changed(pre_tokenizer=split("\n", "Contiguous")),
    "a letter ends words": lambda: changed(
        pre_tokenizer=sequence(
            split("e", "MergedWithPrevious"), split("t", "MergedWithNext"), split("a", "Isolated")
        )
    ),
    "a space in front": lambda: changed(
        normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": " "}, REPLACE]}
    ),
    "normal forms": lambda: changed(normalizer={"type": "NFKC"}, pre_tokenizer=METASPACE_ALWAYS),
    "as nllb": lambda: changed(
        normalizer=sequence_of_normalizers(
            {"type": "Precompiled", "precompiled_charsmap": b64encode(charsmap("nmt_nfkc")).decode()},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        ),
        pre_tokenizer=METASPACE_ALWAYS,
    ),
    "as converted": lambda: changed(
        normalizer=sequence_of_normalizers(*AS_CONVERTED),
        pre_tokenizer=METASPACE_ALWAYS | {"split": False},
        added=[token("<sep>", 900)],
    ),
    "as converted, symbols in the normalized text": lambda: changed(
        normalizer=sequence_of_normalizers(*AS_CONVERTED),
        pre_tokenizer=METASPACE_ALWAYS | {"split": False},
        added=[token("▁the", 900, normalized=True), token("a", 901, normalized=True)],
    ),
    "as converted, marks doubled only": lambda: changed(
        normalizer=sequence_of_normalizers(*AS_CONVERTED),
        pre_tokenizer=METASPACE | {"prepend_scheme": "never", "split": False},
    ),
    "as converted, no mark in front": lambda: changed(normalizer=sequence_of_normalizers(*AS_CONVERTED[:3])),
    "composed, then marked": lambda: changed(normalizer=sequence_of_normalizers(NFC, PREPEND, REPLACE)),
    "folded, unknown characters": lambda: changed(
        normalizer=sequence_of_normalizers({"type": "NFD"}, LOWER, {"type": "StripAccents"}),
        pre_tokenizer=METASPACE_ALWAYS,
        model={"byte_fallback": False},
    ),
    "normalized otherwise": lambda: changed(
        normalizer={
            "type": "Sequence",
            "normalizers": [
                {"type": "Strip", "strip_left": True, "strip_right": True},
                LOWER,
                REPLACE,
                PREPEND,
            ],
        },
        added=[token("<sep>", 900, special=True), token("<b>", 901)],
    ),
    "spaces as they are": lambda: changed(normalizer=None),
    "as chatglm": lambda: changed(
        normalizer={"type": "Sequence", "normalizers": [REPLACE | {"pattern": {"String": "aaa"}}, REPLACE]},
        pre_tokenizer=split("aaa", "MergedWithNext"),
    ),
    "gaps": lambda: with_ids({"the": 1000, "▁the": 1010, "<unk>": 2000}),
    "a letter is special": lambda: changed(
        added=[token("▁", trained()["model"]["vocab"]["▁"], special=True)]
    ),
    "merges make a special token": lambda: with_a_special_merge(len(trained()["model"]["merges"]) - 1),
    "merges take a special token": lambda: with_a_special_merge(0),
    "bytes for all that is unknown": lambda: changed(model={"unk_token": None}),
}


def described(document: dict[str, Any]) -> CharacterBpe:
    library = HuggingFaceTokenizer(orjson.dumps(document), name="mine", backend="bpe")
    return character_bpe(document, ids=library.spelled_ids)


@cache
def opened(name: str) -> tuple[CharacterDocument, HuggingFaceTokenizer]:
    return pair_of(DOCUMENTS[name](), name=name)


def pair_of(document: dict[str, Any], *, name: str) -> tuple[CharacterDocument, HuggingFaceTokenizer]:
    library = HuggingFaceTokenizer(orjson.dumps(document), name=name, backend="bpe")
    native = CharacterDocument(library, description=described(document))
    return native, HuggingFaceTokenizer(orjson.dumps(document), name=name, backend="bpe")


@pytest.mark.parametrize("name", DOCUMENTS)
@given(given_texts=st.lists(WOVEN.map("".join), max_size=4))
def test_any_text_is_encoded_as_by_the_library(name: str, given_texts: list[str]) -> None:
    ours, library = opened(name)
    spans, places = ours.encode_spans(given_texts), library.encode_spans(given_texts)
    assert spans.starts.tolist() == places.starts.tolist()
    assert spans.stops.tolist() == places.stops.tolist()
    rows = [places.encoded[number].tolist() for number in range(len(given_texts))]
    assert [ours.encode(text) for text in given_texts] == rows
    for policy, expected in (
        (SpecialPolicy.TEXT, places.encoded),
        (SpecialPolicy.ENCODE, library.encode_batch(given_texts, special=SpecialPolicy.ENCODE)),
    ):
        batch = ours.encode_batch(given_texts, special=policy, threads=2)
        assert batch.ids.tolist() == expected.ids.tolist()
        assert batch.offsets.tolist() == expected.offsets.tolist()
        assert ours.count_batch(given_texts, special=policy).tolist() == expected.counts.tolist()


@pytest.mark.parametrize(
    ("normalizer", "text"), [(NFC, "йи\u0306\u05b0"), (NFC, "йй\u05b0"), (LOWER, "ЙЙ\u05b0")]
)
def test_single_word_tokens_are_searched_in_normalized_text(normalizer: dict[str, Any], text: str) -> None:
    """A combining mark beside a token is a letter of a word to the library, but not to the kernel."""
    document = changed(
        normalizer={"type": "Sequence", "normalizers": [normalizer, PREPEND, REPLACE]},
        added=[token("йй", 900, single_word=True, normalized=True)],
    )
    ours, library = pair_of(document, name="mine")
    assert ours.encode(text) == library.encode(text)
    assert ours.encode(text[:-1]) == library.encode(text[:-1]) == [900]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_bundled_texts_are_encoded_as_by_the_library(name: str) -> None:
    """Each document has every third of them, and each of them every third document."""
    ours, library = opened(name)
    given_texts = list(bundled_texts().values())[list(DOCUMENTS).index(name) % 3 :: 3]
    assert ours.encode_batch(given_texts).ids.tolist() == library.encode_batch(given_texts).ids.tolist()


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (lambda: changed(normalizer={"type": "ByteLevel"}), "ByteLevel"),
        (lambda: changed(pre_tokenizer={"type": "Whitespace"}), "splits by Whitespace"),
        (lambda: changed(pre_tokenizer=split("a", "Removed")), "splits by Split"),
        (lambda: changed(pre_tokenizer=sequence(DIGITS, METASPACE)), "splits by Metaspace"),
        (lambda: changed(pre_tokenizer=DIGITS, model={"byte_fallback": False}), "joins unknown characters"),
        (merging_bytes, "merges byte tokens"),
        (lambda: changed(normalizer={"type": "NFKC"}, pre_tokenizer=METASPACE), "to normalized texts"),
        (lambda: changed(normalizer=PREPEND, pre_tokenizer=GEMMA_SPLIT), "splits by Split"),
        (
            lambda: changed(
                normalizer={
                    "type": "Sequence",
                    "normalizers": [
                        REPLACE | {"pattern": {"String": "aaa"}},
                        REPLACE | {"pattern": {"String": "é"}, "content": ""},
                    ],
                },
                pre_tokenizer=split("aaa", "MergedWithNext"),
            ),
            "splits by Split",
        ),
        (lambda: changed(model={"dropout": 0.1}), "dropout"),
        (lambda: changed(model={"ignore_merges": True}), "ignore_merges"),
        (lambda: changed(model={"unk_token": None, "byte_fallback": False}), "no unknown token"),
        (lambda: without_bytes("\x80"), "without a token for the byte 80"),
        (lambda: changed(added=[token("a ", 900, lstrip=True), token("b ", 901)]), "strips white space"),
    ],
)
def test_unsupported_documents_are_left_to_the_library(document: Any, reason: str) -> None:
    with pytest.raises(NotNativeError, match=reason):
        described(document())


def test_document_opens_on_the_native_kernel_unless_the_library_is_requested(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(orjson.dumps(changed()))
    assert isinstance(tokbench.load(path), CharacterDocument)
    assert tokbench.load(path).info.kernel == "native"
    assert not isinstance(tokbench.load(path, engine="library"), CharacterDocument)
    path.write_bytes(orjson.dumps(changed(model={"ignore_merges": True})))
    assert not isinstance(tokbench.load(path), CharacterDocument)


def test_first_texts_are_encoded_without_building_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(orjson.dumps(changed()))
    expected = Tokenizer.from_file(str(path)).encode("the theory", add_special_tokens=False).ids
    tokenizer = tokbench.load(path)

    def built(*_: object) -> None:
        raise AssertionError("the library's tokenizer was built, which takes several times as long")

    monkeypatch.setattr(engines, "engine_of", built)
    assert tokenizer.encode("the theory") == expected
    assert [token.id for token in tokenizer.segment("the theory").tokens] == expected


@pytest.mark.parametrize(
    "name",
    ["as llama", "as gemma", "metaspace", "words", "normal forms", "as nllb", "composed, then marked"],
)
def test_spans_are_computed_without_the_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given_texts = ["", " ", "x", "The  the", " é\x01\x02 中", "\n\n<sep>the</s>"]
    ours, library = opened(name)
    expected = [library.segment(text).tokens for text in given_texts]

    def asked(*_: object, **__: object) -> None:
        raise AssertionError("the library was asked")

    monkeypatch.setattr(HuggingFaceTokenizer, "encode_spans", asked)
    monkeypatch.setattr(HuggingFaceTokenizer, "segment_ordinary", asked)
    assert [ours.segment(text).tokens for text in given_texts] == expected
    starts = [token.span.start for tokens in expected for token in tokens]
    assert ours.encode_spans(given_texts).starts.tolist() == starts


def test_added_token_of_normalized_spaces_spans_the_spaces() -> None:
    """Gemma lists the added token ▁▁, which covers two bytes where two spaces are normalized to it."""
    id = trained()["model"]["vocab"]["▁▁"]
    ours, library = pair_of(changed(normalizer=REPLACE, added=[token("▁▁", id)]), name="mine")
    expected = library.encode_spans(["a  b"])
    assert id in expected.encoded.ids
    places = character_places(ours._description)
    assert places is not None
    rows = places.of(["a  b"], expected.encoded)
    assert rows is not None
    assert [row.tolist() for row in rows] == [expected.starts.tolist(), expected.stops.tolist()]
