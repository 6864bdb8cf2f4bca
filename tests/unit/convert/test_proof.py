"""The proof: differences are found, and shrunk to the smallest text that still shows them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from support import huggingface
from support.descriptions import SPECIALS, changed, described, ranked, running, trained
from support.sentencepiece_models import scored, unknown, written
from support.texts import texts

import tokbench
from tokbench.convert.disagreement import Disagreement, in_words, shrink
from tokbench.convert.proof import Peer, peer_of, prove, token_bytes_of
from tokbench.convert.proof_texts import corpus_texts, generated_texts, special_texts
from tokbench.convert.targets.tokenizers import opened
from tokbench.core.descriptions import ByteLevelBpe
from tokbench.errors import TextError
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.sentencepiece.models import open_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

BYTES = tuple(bytes([byte]) for byte in range(256))


def merging(*pairs: bytes, backwards: bool = False) -> Tokenizer:
    """Return a byte tokenizer that merges these pairs in order, or in reverse order with the same ids."""
    merges = [(pair[0], pair[1], 256 + index) for index, pair in enumerate(pairs)]
    return running(
        ByteLevelBpe(
            tokens=(*BYTES, *pairs),
            merges=tuple(reversed(merges) if backwards else merges),
            pattern=None,
            pattern_name="none",
        )
    )


def difference(first: Tokenizer, second: Tokenizer | Peer, **options: Any) -> Disagreement:
    peer = second if isinstance(second, Peer) else peer_of(second, name="other")
    disagreement = prove(first, peer, **options).disagreement
    assert disagreement is not None
    return disagreement


# --- shrinking --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "needed", "smallest"),
    [
        ("x", "x", "x"),
        ("aaaa x bbbb", "x", "x"),
        ("x" * 100, "x", "x"),
        ("one, two, three", "1", "one, two, three"),  # it holds for no text: the text cannot shrink
        ("a-b-c", "abc", "abc"),
        ("c b a", "abc", "cba"),
        ("東京 and 大阪", "京大", "京大"),
    ],
)
def test_shrinking_removes_unneeded_characters(text: str, needed: str, smallest: str) -> None:
    assert shrink(text, lambda shorter: set(needed) <= set(shorter)) == smallest


def test_shrinking_keeps_needed_neighbours() -> None:
    assert shrink("some of the words", lambda text: "the" in text) == "the"


def test_shrinking_never_tries_the_empty_text() -> None:
    asked: list[str] = []
    assert len(shrink("abc", lambda text: not asked.append(text))) == 1  # type: ignore[func-returns-value]
    assert "" not in asked
    assert shrink("", lambda text: True) == ""


def test_shrinking_a_long_text_is_bounded() -> None:
    asked: list[int] = []

    def differs(text: str) -> bool:
        asked.append(len(text))
        return len(text) == 200_000

    assert len(shrink("a" * 200_000, differs)) == 200_000
    assert sum(asked) < 8_000_000


@given(texts, texts, st.data())
def test_shrinking_keeps_only_the_needed_characters(before: str, after: str, data: st.DataObject) -> None:
    text = before + "x" + after
    needed = set(data.draw(st.lists(st.sampled_from(text), max_size=4))) | {"x"}
    smallest = shrink(text, lambda shorter: needed <= set(shorter))
    assert sorted(smallest) == sorted(needed)


@given(st.text(alphabet="ab", max_size=60), st.integers(2, 5))
def test_shrunk_text_is_minimal(text: str, modulus: int) -> None:
    def differs(shorter: str) -> bool:
        return shorter.count("a") % modulus == 1 and "b" in shorter

    if not differs(text):
        text = "bab"
    smallest = shrink(text, differs)
    assert differs(smallest)
    assert not any(differs(smallest[:place] + smallest[place + 1 :]) for place in range(len(smallest)))


# --- planted differences ----------------------------------------------------------------------


@pytest.mark.usefixtures("full_proofs")
def test_equal_tokenizers_agree() -> None:
    proof = prove(trained(), peer_of(running(described())))
    assert proof.agrees
    assert proof.vocabulary_tokens == trained().info.vocab_size
    assert proof.texts > 3_000
    assert proof.characters > 500_000
    assert proof.token_occurrences > 100_000


def test_swapped_merges_are_found() -> None:
    disagreement = difference(merging(b"th", b"he"), merging(b"th", b"he", backwards=True))
    assert (disagreement.way, disagreement.text) == ("encode", "the")
    assert (disagreement.expected, disagreement.expected_tokens) == ((256, ord("e")), (b"th", b"e"))
    assert (disagreement.found, disagreement.found_tokens) == ((ord("t"), 257), (b"t", b"he"))


def test_swapped_ids_are_shown_with_their_own_pieces() -> None:
    disagreement = difference(merging(b"th", b"he"), merging(b"he", b"th"))
    assert len(disagreement.text) == 2
    assert disagreement.expected != disagreement.found
    assert disagreement.expected_tokens == disagreement.found_tokens == (disagreement.text.encode(),)


def test_missing_merge_is_found() -> None:
    merges = described().merges or ()
    place = next(index for index, merge in enumerate(merges) if merge[2] == merges[-1][2])
    disagreement = difference(trained(), running(changed(merges=merges[:place])))
    assert disagreement.way == "encode"
    assert disagreement.text.encode() == trained().token_bytes(merges[-1][2])


def test_changed_piece_is_found() -> None:
    disagreement = difference(merging(b"th", b"he"), merging(b"th", b"hx"))
    assert (disagreement.way, disagreement.text) == ("encode", "he")


def test_changed_piece_that_no_text_contains_is_found() -> None:
    tokens = (*BYTES, b"\xff\xfe")
    source = ByteLevelBpe(tokens=tokens, merges=((255, 254, 256),), pattern=None, pattern_name="none")
    other = replace(source, tokens=(*BYTES, b"\xff\xfd"), merges=((255, 253, 256),))
    disagreement = difference(running(source), running(other))
    assert (disagreement.way, disagreement.expected, disagreement.found) == (
        "token",
        b"\xff\xfe",
        b"\xff\xfd",
    )
    assert disagreement.text.startswith("id 256")


def test_additional_and_missing_tokens_are_found() -> None:
    more = difference(merging(b"\xff\xfe"), merging(b"\xff\xfe", b"\xff\xfd"))
    assert (more.way, more.text, more.expected, more.found) == ("token", "id 257", None, b"\xff\xfd")
    fewer = difference(merging(b"\xff\xfe", b"\xff\xfd"), merging(b"\xff\xfe"))
    assert (fewer.way, fewer.expected, fewer.found) == ("token", b"\xff\xfd", None)


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4o", "none", r"\w+|\W"])
def test_different_pattern_is_found(pattern: str) -> None:
    other = described(pattern)
    mixed = replace(described(), pattern=other.pattern, pattern_name=other.pattern_name)
    disagreement = difference(trained(), running(mixed))
    assert disagreement.way == "encode"
    assert len(disagreement.text) <= 5


def test_missing_special_token_is_found() -> None:
    fewer = {text: id for text, id in described().special_tokens.items() if text != SPECIALS[1]}
    disagreement = difference(trained(), running(changed(special_tokens=fewer)))
    assert (disagreement.way, disagreement.text) == ("encode special", SPECIALS[1])
    assert disagreement.expected == (trained().info.special_tokens[SPECIALS[1]],)


def test_additional_special_token_is_found() -> None:
    more = dict(described().special_tokens) | {"<|x|>": 340}
    disagreement = difference(trained(), running(changed(special_tokens=more)))
    assert (disagreement.way, disagreement.text) == ("encode special", "<|x|>")


def test_swapped_special_tokens_are_found() -> None:
    (one, first), (other, second) = described().special_tokens.items()
    disagreement = difference(trained(), running(changed(special_tokens={one: second, other: first})))
    assert disagreement.way == "encode special"
    assert disagreement.text in (one, other)


def test_special_token_matched_in_ordinary_text_is_found() -> None:
    source = trained()
    peer = replace(peer_of(source), encode=peer_of(source).encode_special)
    disagreement = difference(source, peer)
    assert disagreement.way == "encode"
    assert disagreement.text in SPECIALS


def test_different_decoding_is_found() -> None:
    source = trained()
    peer = replace(peer_of(source), decode=lambda ids: source.decode(ids).replace("q", "k"))
    disagreement = difference(source, peer)
    assert (disagreement.way, disagreement.text, disagreement.expected, disagreement.found) == (
        "decode",
        "q",
        "q",
        "k",
    )


def test_dropping_incomplete_characters_in_decoding_is_not_a_difference() -> None:
    source = trained()
    peer = replace(peer_of(source), decode=lambda ids: source.decode_bytes(ids).decode(errors="ignore"))
    assert prove(source, peer, texts=["whole characters"]).agrees
    lossy = replace(peer, decode=lambda ids: source.decode(ids).rstrip())
    assert difference(source, lossy).text == " "


def test_additional_or_missing_normalizer_is_found() -> None:
    plain = changed("qwen2", normalization=None, pattern_name="custom")
    for first, second in ((trained("qwen2"), running(plain)), (running(plain), trained("qwen2"))):
        disagreement = difference(first, second)
        assert disagreement.way in ("encode", "decode")
        assert len(disagreement.text) <= 2


def test_different_options_of_a_sentencepiece_model_are_found() -> None:
    pieces = [unknown(), *scored({"▁": -1.0, "a": -2.0, "b": -2.0, "ab": -1.5})]
    source = open_model(written(pieces), name="mine", backend="unigram")
    without_prefix = written(pieces, normalizer={"add_dummy_prefix": False})
    disagreement = difference(source, open_model(without_prefix, name="other", backend="unigram"))
    assert len(disagreement.text) == 1
    other_scores = written([unknown(), *scored({"▁": -1.0, "a": -2.0, "b": -2.0, "ab": -9.0})])
    disagreement = difference(source, open_model(other_scores, name="other", backend="unigram"))
    assert disagreement.text == "ab"


def test_different_normalizer_of_a_tokenizer_json_is_found() -> None:
    document = json.loads(huggingface.wordpiece())
    document["normalizer"]["lowercase"] = False
    opened = [
        HuggingFaceTokenizer(data, name="mine", backend="wordpiece")
        for data in (huggingface.wordpiece(), huggingface.dump(document))
    ]
    disagreement = difference(opened[0], opened[1])
    assert disagreement.way == "encode"
    assert len(disagreement.text) == 1
    assert disagreement.text != disagreement.text.lower()


# --- what is compared -------------------------------------------------------------------------


def test_error_counts_as_a_result() -> None:
    def encode(text: str) -> list[int]:
        if "\0" in text:
            raise TextError("there is a NUL")
        return source.encode(text)

    source = trained()
    disagreement = difference(source, Peer(name="other", encode=encode))
    assert (disagreement.text, disagreement.found) == ("\0", "error: there is a NUL")
    assert disagreement.found_tokens == ()


def test_two_tokenizers_that_refuse_the_same_texts_agree(tmp_path: Path) -> None:
    library = tokenizers.Tokenizer(tokenizers.models.WordPiece({"a": 0, "##b": 1}, unk_token="[UNK]"))
    library.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    library.save(str(tmp_path / "tokenizer.json"))
    source = tokbench.load(tmp_path)
    assert prove(source, opened(tmp_path / "tokenizer.json")).disagreement is None
    lenient = Peer(name="other", encode=lambda text: [0] if "1" in text else library.encode(text).ids)
    disagreement = difference(source, lenient)
    assert (disagreement.text, disagreement.found) == ("1", (0,))
    assert str(disagreement.expected).startswith("error: ")


def test_peer_is_not_given_excluded_texts() -> None:
    asked: list[str] = []

    def encode(text: str) -> Sequence[int]:
        asked.append(text)
        return source.encode(text)

    source = trained()
    peer = Peer(name="other", encode=encode, excluded="\0q", domain="texts without q", longest=50)
    proof = prove(source, peer)
    assert proof.agrees
    assert proof.vocabulary_tokens == 0
    assert "texts without q" in proof.limits
    assert max(map(len, asked)) == 50
    assert not set("".join(asked)) & set("\0q")


def test_ids_that_a_peer_decodes_differently_are_excluded() -> None:
    source = trained()
    peer = replace(peer_of(source), decode=lambda ids: source.decode(ids).replace("q", ""))
    assert prove(source, replace(peer, undecoded=frozenset([ord("q")])), texts=["q", "aqa", "b"]).agrees
    assert not prove(source, peer, texts=["q"]).agrees


def test_peer_that_always_matches_special_tokens_is_compared() -> None:
    source = trained()
    peer = replace(peer_of(source), encode=None)
    assert prove(source, peer).agrees
    never = replace(peer_of(source), encode=None, encode_special=source.encode)
    assert difference(source, never).way == "encode special"


def test_proof_has_a_json_form() -> None:
    other = peer_of(merging(b"th", b"he", backwards=True), name="other")
    proof = prove(merging(b"th", b"he"), other, seed=7)
    document = json.loads(json.dumps(proof.to_json()))
    assert document["agrees"] is False
    assert (document["first"], document["second"], document["seed"]) == ("mine", "other", 7)
    assert document["disagreement"]["expected_tokens"] == ["th", "e"]
    as_json = Disagreement("token", "id 3", b"\xff", None).to_json()
    assert (as_json["expected"], as_json["found"]) == ("ff", None)


@pytest.mark.parametrize("way", ["encode", "encode special", "decode"])
def test_difference_is_described_briefly(way: str) -> None:
    assert "'ab'" in in_words(Disagreement(way, "ab", (1,), (2,)))
    assert len(in_words(Disagreement(way, "ab" * 5000, (1,), (2,)))) < 200


def test_difference_in_a_token_names_its_id() -> None:
    assert "id 3" in in_words(Disagreement("token", "id 3", b"\xff", None))


@pytest.mark.usefixtures("full_proofs")
def test_progress_is_reported_in_texts() -> None:
    told: list[tuple[object, ...]] = []
    prove(merging(b"th"), peer_of(merging(b"th")), progress=lambda *progress: told.append(progress))
    assert [done for _, done, _, _ in told][:3] == [0, 1000, 2000]


# --- the texts --------------------------------------------------------------------------------


def test_generated_texts_cover_special_tokens_and_scripts() -> None:
    generated = list(generated_texts(["<end>"], seed=3))
    assert generated == list(generated_texts(["<end>"], seed=3))
    assert generated != list(generated_texts(["<end>"], seed=4))
    together = "".join(generated)
    for code in (*range(0x21), 0x7F, 0x85, 0xFFFD, 0x10FFFF):
        assert chr(code) in together
    for first, last in ("az", "ая", "αω", "ぁん", "가힣", "กฮ", "一龠", "اي", "🌀🙏", "अह"):
        assert any(first <= character <= last for character in together), (first, last)
    assert {"<end>", "a<end>b", "<end", "end>"} <= set(generated)
    assert sum(map(len, corpus_texts())) > 400_000
    assert all(text == text.encode().decode() for text in special_texts(["<a>", "<b>"], seed=0))


def test_missing_token_has_no_bytes() -> None:
    assert token_bytes_of(trained(), 97) == b"a"
    assert token_bytes_of(trained(), 10_000) is None
    assert token_bytes_of(running(ranked(gap=7)), 339) is None


def test_differences_are_found_with_any_seed() -> None:
    first, second = merging(b"th", b"he"), merging(b"th", b"he", backwards=True)
    assert {difference(first, second, seed=seed).text for seed in range(3)} == {"the"}


def test_only_the_beginning_of_a_very_long_token_is_compared() -> None:
    sizes: list[int] = []
    runs = [b"a" * (1 << power) for power in range(1, 15)]
    merges = [(97, 97, 256), *((id, id, id + 1) for id in range(256, 256 + len(runs) - 1))]
    source = running(
        ByteLevelBpe(tokens=(*BYTES, *runs), merges=tuple(merges), pattern=None, pattern_name="none")
    )
    peer = peer_of(source)

    def encode(text: str) -> Sequence[int]:
        sizes.append(len(text) if set(text) == {"a"} else 0)
        return peer.encode(text) if peer.encode else ()

    assert prove(source, replace(peer, encode=encode)).agrees
    assert {1 << 12, 5000} <= set(sizes)
    assert max(sizes) == 5000
