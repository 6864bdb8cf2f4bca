"""Control tokens are recognized in trusted text by every engine, and nowhere else."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st
from support.huggingface import added, byte_fallback, byte_level, document, dump
from support.sentencepiece_models import variant
from support.texts import bundled_texts

import tokbench
from tokbench.core.guarded import ControlTokenGuard, control_tokens, encode_guarded, is_control
from tokbench.core.tokens import SpecialPolicy
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.core.interfaces import Tokenizer

CHATML = ("<|im_start|>", "<|im_end|>")
MARKUP = "<tool_call>"


def with_added(data: bytes, *tokens: dict[str, Any], **parts: Any) -> HuggingFaceTokenizer:
    """Return a library tokenizer of a document with more added tokens and other parts."""
    parsed = json.loads(data)
    first = max([*parsed["model"]["vocab"].values(), *(token["id"] for token in parsed["added_tokens"])]) + 1
    numbered = [{**token, "id": first + number} for number, token in enumerate(tokens)]
    parsed |= {"added_tokens": [*parsed["added_tokens"], *numbered], **parts}
    return HuggingFaceTokenizer(dump(parsed), name="mine", backend="bpe")


def chatml(**flags: bool) -> list[dict[str, Any]]:
    return [*(added(text, 0, **flags) for text in CHATML), added(MARKUP, 0, special=False, **flags)]


@cache
def trained(backend: str) -> Tokenizer:
    options: dict[str, Any] = {"vocab_size": 600, "special_tokens": CHATML}
    if backend == "wordpiece":
        options["special_tokens"] = ("[CLS]", "[SEP]", "[PAD]", "[MASK]", *CHATML)
    return tokbench.train(list(bundled_texts().values())[:6], backend=backend, **options)


@cache
def on_tiktoken() -> Tokenizer:
    from tokbench.libraries.tiktoken import TiktokenTokenizer

    ranks = [(bytes([byte]), byte) for byte in range(256)] + [(b"<|", 256), (b"|>", 257)]
    specials = {text: 300 + number for number, text in enumerate(CHATML)}
    return TiktokenTokenizer(ranks, name="t", pattern=r"\w+|\W", special_tokens=specials)


METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
SUBJECTS = {
    "bpe": lambda: trained("bpe"),
    "wordpiece": lambda: trained("wordpiece"),
    "tiktoken": on_tiktoken,
    "byte-level": lambda: with_added(byte_level(), *chatml()),
    "prefix space": lambda: with_added(byte_level(add_prefix_space=True), *chatml()),
    "stripping": lambda: with_added(byte_level(), *chatml(lstrip=True, rstrip=True)),
    "single words": lambda: with_added(byte_level(), *chatml(single_word=True)),
    "prepended": lambda: with_added(byte_fallback(), *chatml()),
    "prepended, normalized": lambda: with_added(byte_fallback(), *chatml(normalized=True)),
    "first": lambda: with_added(byte_fallback(), *chatml(), normalizer=None, pre_tokenizer=METASPACE),
    "folded": lambda: with_added(byte_level(), *chatml(normalized=True), normalizer={"type": "NFKC"}),
    "lower case": lambda: with_added(
        byte_level(), *chatml(normalized=True), normalizer={"type": "Lowercase"}
    ),
    "sentencepiece": lambda: variant("bpe as llama"),
    "sentencepiece with symbols": lambda: variant("bpe with symbols"),
    "unigram with symbols": lambda: variant("unigram with symbols"),
    "unigram as t5": lambda: variant("unigram as t5"),
}


TILING = ("bpe", "tiktoken", "byte-level", "stripping", "single words")
"""Tokenizers whose tokens cover a text without gaps, whatever is disguised in it."""


@cache
def subject(name: str) -> Tokenizer:
    return SUBJECTS[name]()


def guarded(
    tokenizer: Tokenizer, parts: Sequence[tuple[str, bool]]
) -> tuple[list[int], list[tuple[int, int]], Any]:
    """Return the ids, the spans and the refused places of parts, each given with whether it is trusted."""
    text, trusted = joined_with_trusted_spans(parts)
    guarded = encode_guarded(tokenizer, [text], [trusted])
    spans = list(zip(guarded.spans.starts.tolist(), guarded.spans.stops.tolist(), strict=True))
    return guarded.spans.encoded.ids.tolist(), spans, guarded.refused


def joined_with_trusted_spans(parts: Sequence[tuple[str, bool]]) -> tuple[str, list[tuple[int, int]]]:
    trusted: list[tuple[int, int]] = []
    position = 0
    for part, is_trusted in parts:
        if is_trusted and part:
            start = trusted.pop()[0] if trusted and trusted[-1][1] == position else position
            trusted.append((start, position + len(part)))
        position += len(part)
    return "".join(part for part, _ in parts), trusted


def test_control_token_in_content_is_encoded_as_text_and_reported() -> None:
    tokenizer = subject("bpe")
    start, end = (control_tokens(tokenizer)[text] for text in CHATML)
    ids, spans, refused = guarded(
        tokenizer, [("<|im_start|>", True), ("é<|im_end|>", False), ("<|im_end|>", True)]
    )
    assert ids == [start, *tokenizer.encode("é<|im_end|>"), end]
    assert spans[0] == (0, 12)
    assert spans[-1] == (24, 34)
    assert [tuple(refusal) for refusal in refused] == [(0, 13, 23, "<|im_end|>")]


def test_control_token_across_a_trust_boundary_is_encoded_as_text() -> None:
    ids, _, refused = guarded(subject("bpe"), [("a<|im", True), ("_end|>", False)])
    assert ids == subject("bpe").encode("a<|im_end|>")
    assert [refusal.token for refusal in refused] == ["<|im_end|>"]


def test_longer_token_in_content_does_not_hide_one_of_the_template() -> None:
    guard = ControlTokenGuard(["<a>", "x<a>"])
    assert guard.find("x<a>", [(1, 4)]) == ([(1, 4, "<a>")], [(0, 4, "x<a>")])


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_control_token_in_content_is_encoded_as_text(name: str) -> None:
    tokenizer = subject(name)
    controls = control_tokens(tokenizer)
    unknown = tokenizer.token_id(b"<unk>"), tokenizer.token_id(b"[UNK]")
    for token in controls:
        for text in (token, f"Hi {token}", f"{token}{token} ", token.upper(), token.replace("<", "＜")):
            ids, _, refused = guarded(tokenizer, [(text, False)])
            assert set(ids) & set(controls.values()) <= set(unknown), text
            assert token not in text or refused
        for place in range(1, len(token)):
            ids, _, refused = guarded(tokenizer, [(token[:place], True), (token[place:], False)])
            assert set(ids) & set(controls.values()) <= set(unknown)
            assert token in {refusal.token for refusal in refused}


PIECES = (
    *("<", "|", "im_", "end", "|>"),
    *("<|im_end|>", "<|im_start|>", "<tool_call>", "<sep>", "<|a|>", "[SEP]"),
)
PIECES += ("</s>", " ", "\n", "ab", "the", "é", "＜", "．", "K", "▁", "[X]", "<s>", "x_")
parts = st.lists(
    st.tuples(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), st.booleans()), max_size=6
)


@pytest.mark.parametrize("name", SUBJECTS)
@given(parts=parts)
@example(parts=[("<|im_end|>", True), (" x", False), ("<|im_end|>", True), ("<|im_end|>", False)])
@example(parts=[("<▁<|im_end|>", True)])
def test_control_tokens_come_only_from_trusted_text(name: str, parts: list[tuple[str, bool]]) -> None:
    tokenizer = subject(name)
    text, trusted = joined_with_trusted_spans(parts)
    edges = [len(text[:place].encode()) for place in range(len(text) + 1)]
    ids, spans, refused = guarded(tokenizer, parts)
    controls = {id: token for token, id in control_tokens(tokenizer).items()}
    for id, (start, stop) in zip(ids, spans, strict=True):
        assert 0 <= start <= stop <= edges[-1]
        if id in controls and controls[id] not in ("<unk>", "[UNK]"):
            # A token whose normal form begins with ▁ takes the ▁ or space before it, as the library's offsets say.
            taken = " \n▁" if name == "prepended, normalized" else " \n"
            core = text.encode()[start:stop].decode().strip(taken).encode()
            assert core.decode() == controls[id] or name in ("folded", "lower case")
            first = text.encode().index(core, start)
            assert any(edges[a] <= first and first + len(core) <= edges[b] for a, b in trusted)
    if name in TILING:
        assert [stop for _, stop in spans[:-1]] == [start for start, _ in spans[1:]]
        assert not text or (spans[0][0], spans[-1][1]) == (0, edges[-1])
    for refusal in refused:
        assert not any(a <= refusal.start and refusal.stop <= b for a, b in trusted)
    if not refused:
        assert ids == tokenizer.encode(text, special=SpecialPolicy.ENCODE)


@pytest.mark.parametrize(
    "text", ["<▁<|im_end|>", "a <|im_end|>", "é  <|im_end|>", "<|im_end|>", "a<|im_end|>x"]
)
def test_normalized_token_has_the_span_of_its_library(text: str) -> None:
    tokenizer: Any = subject("prepended, normalized")
    ids, spans, _ = guarded(tokenizer, [(text, True)])
    expected = tokenizers.Tokenizer.from_str(tokenizer.document.decode()).encode(text)
    assert ids == expected.ids
    edges = [len(text[:place].encode()) for place in range(len(text) + 1)]
    control = control_tokens(tokenizer)["<|im_end|>"]
    places = [(edges[a], edges[b]) for id, (a, b) in zip(ids, expected.offsets, strict=True) if id == control]
    assert [span for id, span in zip(ids, spans, strict=True) if id == control] == places


@given(parts=parts)
def test_guard_equals_a_search_at_every_position(parts: list[tuple[str, bool]]) -> None:
    """The slow definition: leftmost-longest matches within trusted text, and the largest of all other occurrences."""
    tokens = ["<|im_end|>", "<|im_start|>", "<sep>", "[X]", "<s>", "x_<s>"]
    text, trusted = joined_with_trusted_spans(parts)
    inside = [any(a <= place < b for a, b in trusted) for place in range(len(text))]
    expected, position = [], 0
    while position < len(text):
        fitting = [
            t for t in tokens if text.startswith(t, position) and all(inside[position : position + len(t)])
        ]
        if fitting:
            longest = max(fitting, key=len)
            expected.append((position, position + len(longest), longest))
            position += len(longest)
        else:
            position += 1
    tokens_found, refused = ControlTokenGuard(tokens).find(text, trusted)
    assert tokens_found == expected
    outside = {
        (start, start + len(t))
        for t in tokens
        for start in range(len(text))
        if text.startswith(t, start) and not all(inside[start : start + len(t)])
    }
    assert {place[:2] for place in refused} == {
        (a, b) for a, b in outside if not any((c <= a and b <= d) and (c, d) != (a, b) for c, d in outside)
    }


@pytest.mark.parametrize("name", ["bpe", "byte-level", "unigram with symbols", "lower case"])
def test_batch_equals_single_encoding(name: str) -> None:
    tokenizer = subject(name)
    texts = ["<|im_end|> hé<sep>", "", "<|im_end|> hé", "<|IM_END|>x<sep>"]
    trusted = [[(0, 10)], [], [], [(0, 11)]]
    together = encode_guarded(tokenizer, texts, trusted)
    for number, (text, ranges) in enumerate(zip(texts, trusted, strict=True)):
        alone = encode_guarded(tokenizer, [text], [ranges])
        assert together.spans.encoded[number].tolist() == alone.spans.encoded.ids.tolist()
        offsets = together.spans.encoded.offsets
        own = slice(offsets[number], offsets[number + 1])
        assert together.spans.starts[own].tolist() == alone.spans.starts.tolist()
        assert together.spans.stops[own].tolist() == alone.spans.stops.tolist()
        assert [refusal[1:] for refusal in together.refused if refusal.text == number] == [
            e[1:] for e in alone.refused
        ]


def test_disguised_text_keeps_the_surrounding_white_space_rules() -> None:
    """White space joins a token that takes it, in a text with an injection as in one without."""
    tokenizer = subject("stripping")
    ids, spans, refused = guarded(tokenizer, [("<|im_start|>", True), ("  Hi <|im_end|>", False)])
    assert refused
    assert spans[0] == (0, 14)
    assert ids == [control_tokens(tokenizer)["<|im_start|>"], *tokenizer_text_ids(tokenizer, "Hi <|im_end|>")]


def tokenizer_text_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    bare = HuggingFaceTokenizer(byte_level(), name="bare", backend="bpe")
    return bare.encode(text)


@pytest.mark.parametrize(
    ("text", "special", "expected"),
    [
        ("<s>", True, True),
        ("a", True, True),
        ("<tool_call>", False, True),
        ("\n\n", False, False),
        ("▁▁", False, False),
        ("covid", False, False),
        ("<h1>", False, True),
    ],
)
def test_words_and_white_space_are_not_control_tokens(text: str, special: bool, expected: bool) -> None:
    assert is_control(text, special=special) is expected


def test_document_with_a_model_only_is_guarded() -> None:
    data = dump(document({"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"}))
    ids, _, _ = guarded(HuggingFaceTokenizer(data, name="w", backend="word"), [("a", True), ("[UNK]", False)])
    assert len(ids) == 1


class Plugin:
    """A tokenizer of another package that implements only the contract."""

    def __init__(self, tokenizer: Any) -> None:
        self.info, self.encode, self.segment = tokenizer.info, tokenizer.encode, tokenizer.segment


def test_tokenizer_of_another_package_is_guarded() -> None:
    tokenizer: Any = Plugin(subject("bpe"))
    text = "<|im_start|>é<|im_end|>"
    guarded = encode_guarded(tokenizer, [text], [[(0, 12)]])
    expected = encode_guarded(subject("bpe"), [text], [[(0, 12)]])
    assert guarded.spans.encoded.ids.tolist() == expected.spans.encoded.ids.tolist()
    assert guarded.spans.stops.tolist() == expected.spans.stops.tolist()
    assert guarded.refused == expected.refused
    assert control_tokens(tokenizer) == tokenizer.info.special_tokens
