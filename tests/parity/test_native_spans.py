"""Spans of `tokenizer.json` documents come from the kernel, also where texts are normalized or spaces are added."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest
from support.byte_level_documents import BYTE_LEVEL, ONLY_BYTES, SPLITTING, sequence, with_parts
from support.huggingface import added, document
from support.native_documents import both
from support.sentencepiece_models import charsmap

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.core.token_arrays import segmented
from tokbench.formats.sentencepiece.pieces import BYTE_PIECES
from tokbench.opening.native_document import NativeDocument

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")

METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
TEXTS = [
    "\x01½the\x02\x7f \u2126",
    "the Low <s>É\u00a012345 don's",
    "  \n x!! 字 q ",
    "▁a ▁",
    "low",
    "",
    "the " * 40 + "字é" * 40,
]


def assert_spans_come_from_the_kernel(
    native: Any, library: Any, monkeypatch: pytest.MonkeyPatch, texts: list[str]
) -> None:
    defined = segmented(library, texts)
    segments = [library.segment(text) for text in texts]
    monkeypatch.setattr(NativeDocument, "_library", None)
    spans = native.encode_spans(texts, threads=2)
    assert spans.encoded.ids.tolist() == defined.encoded.ids.tolist()
    assert spans.starts.tolist() == defined.starts.tolist()
    assert spans.stops.tolist() == defined.stops.tolist()
    assert [native.segment(text) for text in texts] == segments


@pytest.mark.parametrize(
    "splitting",
    [
        *(
            SPLITTING[name]
            for name in ("clip", "white space", "spaces put before", "spaces put before digits")
        ),
        sequence(METASPACE, ONLY_BYTES),
    ],
    ids=["removed", "words", "prefix space", "prefix space before digits", "mark"],
)
@pytest.mark.parametrize(
    "normalizer",
    [
        None,
        {"type": "Lowercase"},
        {"type": "NFD"},
        {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Replace", "pattern": {"String": "the"}, "content": "ab"},
        {"type": "Precompiled", "precompiled_charsmap": b64encode(charsmap("nmt_nfkc")).decode()},
        {"type": "Replace", "pattern": {"Regex": "[t1É]"}, "content": ""},
        {"type": "Replace", "pattern": {"Regex": "[ \u00a0字]|h"}, "content": "th"},
    ],
    ids=lambda step: str(step.get("pattern", step["type"])) if step else "unchanged",
)
def test_spans_of_any_splitting_and_normalization_come_from_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, splitting: Any, normalizer: Any
) -> None:
    native, library = both(tmp_path, with_parts(splitting, normalizer))
    assert_spans_come_from_the_kernel(native, library, monkeypatch, TEXTS)


@pytest.mark.parametrize("has_bytes", [False, True], ids=["unknown", "bytes"])
@pytest.mark.parametrize(
    "splitting",
    [{"type": "Whitespace"}, {"type": "Punctuation", "behavior": "Isolated"}, METASPACE, None],
    ids=lambda step: step["type"] if step else "unsplit",
)
@pytest.mark.parametrize(
    "normalizer", [None, {"type": "NFKD"}], ids=lambda step: step["type"] if step else "unchanged"
)
def test_spans_of_a_unigram_come_from_the_kernel(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    splitting: Any,
    normalizer: dict[str, Any] | None,
    has_bytes: bool,
) -> None:
    """Adjacent unknown characters are one token, or bytes for which the library has the span of all of them."""
    pieces = ["[UNK]", "a", "b", "ab", "▁", "▁a", "é", "e", "<0x41>", *BYTE_PIECES * has_bytes]
    vocab = {piece: -0.5 * len(piece) for piece in pieces}
    model = {"type": "Unigram", "vocab": list(vocab.items()), "unk_id": 0, "byte_fallback": has_bytes}
    made = document(model, normalizer=normalizer, pre_tokenizer=splitting)
    native, library = both(tmp_path, json.dumps(made).encode())
    assert isinstance(native, NativeDocument)
    texts = [
        "ab xx字aé½ y",
        "字",
        "a 字字 é b字b",
        "<0x41>A <0x41>字",
        "[UNK] 字字字字字 [UNK]",
        "字[UNK]",
        "",
        " ",
        "ab" * 99,
    ]
    assert_spans_come_from_the_kernel(native, library, monkeypatch, texts)


def test_prefix_space_belongs_to_the_first_character(tmp_path: Path) -> None:
    native, _ = both(tmp_path, with_parts(BYTE_LEVEL | {"add_prefix_space": True}, None))
    assert _spans(native, "low ab") == [(b" low", 0, 3), (b" ", 3, 4), (b"ab", 4, 6)]
    assert _spans(native, "x") == [(b" ", 0, 0), (b"x", 0, 1)]


def _spans(tokenizer: Any, text: str) -> list[tuple[bytes, int, int]]:
    return [(token.piece, token.span.start, token.span.stop) for token in tokenizer.segment(text).tokens]


def test_spans_beside_added_tokens_come_from_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = json.loads(with_parts(BYTE_LEVEL | {"add_prefix_space": True}, {"type": "Lowercase"}))
    size = len(document["model"]["vocab"])
    document["added_tokens"] = [
        added("<S>", size, special=False),
        added("<m>", size + 1, special=False, lstrip=True, normalized=True),
    ]
    native, library = both(tmp_path, json.dumps(document).encode())
    texts = ["the <S>Low", "<S>", "É <M> x <m>", "a<S><S> É字<S>", " <M>"]
    assert_spans_come_from_the_kernel(native, library, monkeypatch, texts)


@pytest.mark.parametrize("text", ["The LOW É ab 12", "e\u0301 the", "THE é<s> the"])
def test_spans_after_composing_come_from_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    steps = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}
    native, library = both(tmp_path, with_parts(SPLITTING["clip"], steps))
    assert_spans_come_from_the_kernel(native, library, monkeypatch, [text])
