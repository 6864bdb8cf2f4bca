"""Tests for reachability: every verdict on small vocabularies is checked against all short texts."""

from __future__ import annotations

from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import huggingface
from support.descriptions import running
from support.lint import GPT2_SPLIT, NO_SPLIT, byte_level, findings_of, outcome_of, target_of

from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern
from tokbench.core.descriptions import ByteLevelBpe
from tokbench.lint.reachability.analysis import Analysis, analyse
from tokbench.lint.reachability.merging import merge_failure, merge_trail, rules_from_merges
from tokbench.lint.reachability.pattern_automaton import automaton_of
from tokbench.lint.reachability.verdicts import Cause
from tokbench.lint.reachability.witnesses import completions
from tokbench.lint.target import LintTarget
from tokbench.opening.recognition import Format, Source
from tokbench.opening.request import Composition, Opened

if TYPE_CHECKING:
    from tokbench.lint.reachability.verdicts import Reachability

ALPHABET, LONGEST = "ab 1", 5
TEXTS = ["".join(text) for size in range(1, LONGEST + 1) for text in product(ALPHABET, repeat=size)]
PATTERNS = {
    "none": None,
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "custom": r"a(?=b)|[ab]{1,3}|\s1?|1|[^ab\s1]",
}


def described(pairs: list[tuple[bytes, bytes]], pattern: str, **options: Any) -> ByteLevelBpe:
    """Return a byte-level BPE with these merges; parts that are not tokens yet are added as tokens."""
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in pairs:
        tokens += [token for token in dict.fromkeys((left, right, left + right)) if token not in tokens]
    merges = None
    if not options.get("whole_tokens_first"):
        merges = [
            tuple(map(tokens.index, (left, right, left + right))) for left, right in dict.fromkeys(pairs)
        ]
    regex = PATTERNS[pattern] if pattern in PATTERNS else resolve_pattern(pattern).regex
    return ByteLevelBpe(tokens, merges, regex, pattern, **options)


def target_of_bpe(bpe: ByteLevelBpe) -> LintTarget:
    source = Source(Format.SAVED, Path("made"), ())
    return LintTarget(Opened(running(bpe), source, "native", "made", partial(Composition, "BPE")))


def seen(target: LintTarget, texts: list[str] = TEXTS) -> set[int]:
    """Return every id that occurs in the short texts."""
    return set(target.tokenizer.encode_batch(texts).ids.tolist())


def check(target: LintTarget, texts: list[str] = TEXTS) -> Reachability:
    """Return the verdicts after checking that no short text contradicts any of them."""
    reachability = analyse(target)
    short = seen(target, texts) & target.ordinary.keys()
    assert short <= {*reachability.witnesses, *reachability.undecided}
    assert not short & reachability.unreachable.keys()
    for id, text in reachability.witnesses.items():
        assert id in target.tokenizer.encode(text)
    verdicts = [
        reachability.witnesses.keys(),
        reachability.unreachable.keys(),
        reachability.by_design.keys(),
        {*reachability.undecided},
    ]
    for one, other in pairwise(verdicts):
        assert not set(one) & set(other)
    assert set().union(*verdicts) == target.ordinary.keys()
    return reachability


PARTS = st.sampled_from(sorted({text.encode() for text in TEXTS if len(text) <= 2}))
MERGES = st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=8)


@given(MERGES, st.sampled_from(sorted(PATTERNS)))
def test_verdicts_on_merges_agree_with_all_short_texts(
    pairs: list[tuple[bytes, bytes]], pattern: str
) -> None:
    reachability = check(target_of_bpe(described(pairs, pattern)))
    assert pattern == "custom" or reachability.undecided == ()


@given(MERGES, st.sampled_from(sorted(PATTERNS)))
def test_verdicts_on_ranks_agree_with_all_short_texts(pairs: list[tuple[bytes, bytes]], pattern: str) -> None:
    reachability = check(target_of_bpe(described(pairs, pattern, whole_tokens_first=True)))
    assert pattern == "custom" or reachability.undecided == ()


PROSE = ["".join(text) for size in range(1, 5) for text in product("as' \n1A/", repeat=size)]
PROSE_PARTS = st.sampled_from(sorted({text.encode() for text in PROSE if len(text) <= 2}))


@given(
    st.lists(st.tuples(PROSE_PARTS, PROSE_PARTS), min_size=1, max_size=10),
    st.sampled_from(sorted({*PATTERN_NAMES} - {"none", "qwen2"})),
    st.booleans(),
)
def test_verdicts_on_named_patterns_agree_with_prose(
    pairs: list[tuple[bytes, bytes]], pattern: str, ranked: bool
) -> None:
    check(target_of_bpe(described(pairs, pattern, whole_tokens_first=ranked)), PROSE)


LETTERS = "éèоЀ1"
IN_CHARACTERS = ["".join(text) for size in range(1, 4) for text in product(LETTERS, repeat=size)]
_CUTS = {
    text.encode()[start:stop] for text in IN_CHARACTERS for start, stop in ((0, 1), (1, 2), (0, 3), (1, 4))
}
INCOMPLETE = st.sampled_from(sorted(_CUTS - {b""}))


@given(
    st.lists(st.tuples(INCOMPLETE, INCOMPLETE), min_size=1, max_size=10),
    st.sampled_from(["none", "gpt2", "gpt4o"]),
)
def test_verdicts_on_partial_characters_agree_with_all_short_texts(
    pairs: list[tuple[bytes, bytes]], pattern: str
) -> None:
    check(target_of_bpe(described(pairs, pattern)), IN_CHARACTERS)


SCORES = st.dictionaries(
    st.sampled_from([text for text in TEXTS if len(text) <= 3 and " " not in text]),
    st.integers(-60, -1).map(lambda tenths: tenths / 10),
    min_size=1,
    max_size=8,
)


@given(SCORES)
def test_verdicts_on_unigram_agree_with_all_short_texts(scores: dict[str, float]) -> None:
    pieces = {"<unk>": 0.0, "a": -4.0, "b": -3.0, "1": -5.0, " ": -3.0} | scores
    model = {"type": "Unigram", "unk_id": 0, "vocab": [list(item) for item in pieces.items()]}
    target = opened_document(huggingface.document(model))
    reachability = analyse(target)
    short = seen(target) & target.ordinary.keys()
    assert short <= {*reachability.witnesses, *reachability.undecided}
    assert not short & reachability.unreachable.keys()


def test_unigram_pieces_below_their_parts_are_told_in_one_sentence() -> None:
    names = ["ab", "ba", "aa", "bb"]
    pieces = {"<unk>": 0.0, "a": -1.0, "b": -1.5, **dict.fromkeys(names, -9.0)}
    model = {"type": "Unigram", "unk_id": 0, "vocab": [list(item) for item in pieces.items()]}
    target = opened_document(huggingface.document(model))
    evidence = [found.evidence for found in findings_of("unreachable-token", target)]
    assert evidence == [
        'other pieces have a higher score: …, against …: token 3 "ab", token 4 "ba", token 5 "aa", token 6 "bb"'
    ]
    reasons = [each.evidence for each in analyse(target).unreachable.values()]
    assert reasons[0] == 'other pieces have a higher score: "a" + "b" -2.5000, against -9.0000'


WORDS = st.sets(st.sampled_from([text for text in TEXTS if len(text) <= 3 and " " not in text]), max_size=6)


@given(WORDS, WORDS)
def test_verdicts_on_wordpiece_agree_with_all_short_texts(first: set[str], inside: set[str]) -> None:
    pieces = ["[UNK]", "a", *sorted(first - {"a"}), *(f"##{piece}" for piece in sorted(inside))]
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {piece: id for id, piece in enumerate(pieces)},
    }
    target = opened_document(huggingface.document(model, pre_tokenizer={"type": "BertPreTokenizer"}))
    reachability = analyse(target)
    short = seen(target) & target.ordinary.keys()
    assert short <= {*reachability.witnesses, *reachability.undecided}
    assert not short & reachability.unreachable.keys()


def opened_document(document: dict[str, Any]) -> LintTarget:
    from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer

    tokenizer = HuggingFaceTokenizer(huggingface.dump(document), name="made", backend="made")
    source = Source(Format.SENTENCEPIECE, Path("made"), ())
    return LintTarget(Opened(tokenizer, source, "library", "made", partial(Composition, "")))


def cause_of(target: LintTarget, token: bytes) -> tuple[Cause, str]:
    id = next(id for id, piece in target.ordinary.items() if piece == token)
    unreachable = analyse(target).unreachable[id]
    return unreachable.cause, unreachable.evidence


def test_evidence_names_the_earlier_merge_that_takes_a_part(tmp_path: Path) -> None:
    target = target_of(byte_level(("b", "c"), ("a", "b"), ("ab", "c"), pre_tokenizer=NO_SPLIT), tmp_path)
    cause, evidence = cause_of(target, b"abc")
    assert cause is Cause.MERGE_ORDER
    assert evidence == (
        '"abc" becomes "a" + "bc": merge 0 ("b" + "c") comes before merge 2 ("ab" + "c") and takes a part of it'
    )
    [finding] = findings_of("unreachable-token", target)
    assert finding.details["cause"] == "merge-order"


def test_missing_merge_of_a_part_is_named_first(tmp_path: Path) -> None:
    target = target_of(byte_level(("ab", "c"), ("b", "c"), tokens=["ab"], pre_tokenizer=NO_SPLIT), tmp_path)
    assert cause_of(target, b"abc") == (Cause.NO_MERGE, 'no merge makes "ab": its bytes become "a" + "b"')


def test_token_without_a_conflicting_merge_is_reachable(tmp_path: Path) -> None:
    target = target_of(byte_level(("a", "b"), ("ab", "c"), pre_tokenizer=NO_SPLIT), tmp_path)
    assert outcome_of("unreachable-token", target).findings == ()


def test_token_without_a_merge_is_found(tmp_path: Path) -> None:
    target = target_of(byte_level(("a", "b"), tokens=["abc"]), tmp_path)
    assert cause_of(target, b"abc") == (Cause.NO_MERGE, 'no merge makes "abc": its bytes become "ab" + "c"')


def test_pattern_that_always_splits_a_token_is_named(tmp_path: Path) -> None:
    target = target_of(byte_level(("a", "1"), pre_tokenizer=GPT2_SPLIT), tmp_path)
    cause, evidence = cause_of(target, b"a1")
    assert cause is Cause.PATTERN
    assert '"a" + "1"' in evidence


def test_normalizer_that_changes_a_token_is_named(tmp_path: Path) -> None:
    decomposed = byte_level(("e", b"\xcc"), (b"e\xcc", b"\x81"), normalizer={"type": "NFC"})
    assert cause_of(target_of(decomposed, tmp_path / "nfc"), "e\u0301".encode())[0] is Cause.NORMALIZER
    upper = byte_level(("A", "B"), normalizer={"type": "Lowercase"})
    cause, evidence = cause_of(target_of(upper, tmp_path / "lower"), b"AB")
    assert (cause, '"A", "B"' in evidence) == (Cause.NORMALIZER, True)


def test_added_token_that_hides_a_token_is_named(tmp_path: Path) -> None:
    spaces = huggingface.added("  ", 260, special=False)
    document = byte_level((" ", " "), ("  ", " "), ("a", "b"), ("c", "d"), added_tokens=[spaces])
    cause, evidence = cause_of(target_of(document, tmp_path), b"   ")
    assert (cause, evidence) == (Cause.ADDED_TOKEN, 'the added token "  " is found in it first')


def test_incomplete_tokens_have_valid_texts_as_witnesses(tmp_path: Path) -> None:
    document = byte_level((b"\xe4", b"\xb8"), (b"\xbd", b"\xe5"), (b"\xff", b"a"))
    target = target_of(document, tmp_path)
    reachability = analyse(target)
    ids = {piece: id for id, piece in target.ordinary.items()}
    for piece in (b"\xe4\xb8", b"\xbd\xe5"):
        assert piece in reachability.witnesses[ids[piece]].encode()
        assert ids[piece] in target.tokenizer.encode(reachability.witnesses[ids[piece]])
    assert cause_of(target, b"\xffa")[0] is Cause.NOT_TEXT
    assert ids[b"\xff"] in reachability.by_design


def test_unknown_piece_is_unused_by_design(tmp_path: Path) -> None:
    target = target_of(huggingface.byte_fallback(), tmp_path)
    verdict = analyse(target).verdict(0)
    assert (verdict["verdict"], verdict["reason"]) == (
        "by design",
        "it stands for characters that no piece covers",
    )
    assert findings_of("unreachable-token", target) == ()


STEPS = {
    "pattern": GPT2_SPLIT,
    "steps": {
        "type": "Sequence",
        "pretokenizers": [{"type": "Punctuation", "behavior": "Isolated"}, NO_SPLIT],
    },
}


@pytest.mark.parametrize("pre_tokenizer", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("leaving_out", [None, 0x80, 0xBF])
def test_token_ending_inside_a_character_depends_on_its_neighbours(
    tmp_path: Path, leaving_out: int | None, pre_tokenizer: dict[str, Any]
) -> None:
    ends = [bytes([end]) for end in range(0x80, 0xC0) if end != leaving_out]
    merges = *((b"\xc3", end) for end in ends), ("a", b"\xc3")
    target = target_of(byte_level(*merges, pre_tokenizer=pre_tokenizer), tmp_path)
    reachability = analyse(target)
    [id] = [id for id, token in target.ordinary.items() if token == b"a\xc3"]
    assert (id in reachability.unreachable) == (leaving_out is None)
    assert (id in reachability.witnesses) == (leaving_out is not None)
    assert not reachability.undecided


@pytest.mark.parametrize("pre_tokenizer", STEPS.values(), ids=STEPS)
def test_neighbours_are_computed_for_every_reachable_token(
    tmp_path: Path, pre_tokenizer: dict[str, Any]
) -> None:
    document = byte_level((b"\xe1", b"\x9e"), (b"\x9e", "x"), ("y", b"\xe1"), pre_tokenizer=pre_tokenizer)
    analysis = Analysis(target_of(document, tmp_path))
    reached = analysis.run()
    neighbours = analysis.neighbours()
    assert neighbours is not None
    assert reached.witnesses.keys() >= {256, 257, 258}
    for id in reached.witnesses:
        if id > 255 and analysis.text(id) is None:
            assert next(neighbours.surroundings(analysis.target.ordinary[id]), None) is not None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [(r"\p{L}+|\s|1", "unreachable"), (r"\p{L}+|\s", "reachable"), (r"\p{L}+|1(?!1)|\s", "reachable")],
)
def test_text_between_two_matches_is_a_pretoken(tmp_path: Path, pattern: str, expected: str) -> None:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    sequence = {"type": "Sequence", "pretokenizers": [split, NO_SPLIT]}
    added = [huggingface.added("<tool>", 257, special=False)]
    document = byte_level(("1", "1"), pre_tokenizer=sequence, added_tokens=added)
    target = target_of(document, tmp_path)
    assert target.bpe is None
    assert analyse(target).verdict(256)["verdict"] == expected


def test_some_tokens_are_reachable_only_in_context(tmp_path: Path) -> None:
    target = target_of(byte_level((b"\xe4", b"\xb8")), tmp_path)
    reachability = analyse(target)
    assert reachability.only_in_context > 0
    assert outcome_of("unreachable-token", target).figures["only_in_context"] == reachability.only_in_context


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (b"\x80\xe4", True),
        (b"\xbf", True),
        (b"\xbf\xbf\xbf", True),
        (b"\xbf\xbf\xbf\xbf", False),
        (b"\xc0\x80", False),
    ],
)
def test_completions_contain_the_bytes(piece: bytes, *, expected: bool) -> None:
    texts = list(completions(piece, most=20))
    assert bool(texts) == expected
    assert all(piece in text.encode() for text in texts)


@pytest.mark.slow
def test_completions_are_missing_only_for_impossible_bytes() -> None:
    data = [chr(point).encode() for point in range(0x80, 0x110000) if not 0xD800 <= point < 0xE000]
    whole = {piece for piece in data if len(piece) == 2}
    # Of one or two bytes, as all parts below.
    beginnings = {piece[:size] for size in (1, 2) for piece in data if size < len(piece)}
    inside = {
        piece[start : start + size]
        for start in (1, 2, 3)
        for size in (1, 2)
        for piece in data
        if start + size <= len(piece)
    }
    leads = [bytes([lead]) for lead in range(0xC0, 0x100)]
    following = [bytes([byte]) for byte in range(0x80, 0xC0)]
    for part in [*leads, *(lead + byte for lead in leads for byte in following)]:
        expected = part in beginnings or part in whole
        assert bool(list(completions(part, most=1))) == expected, part
    for part in [*following, *(one + other for one in following for other in following)]:
        assert (next(completions(part, most=1), None) is not None) == (part in inside), part


def test_automaton_accepts_every_pretoken() -> None:
    import regex

    for pattern in filter(None, PATTERNS.values()):
        automaton = automaton_of(pattern)
        assert automaton is not None
        for text in TEXTS:
            assert all(automaton.holds(match.group()) for match in regex.finditer(pattern, text))
    assert automaton_of(r"(a)\1") is None


def test_merge_failure_names_the_blocking_merge() -> None:
    merges = {
        ("b", "c"): (0.0, "bc"),
        ("a", "b"): (1.0, "ab"),
        ("ab", "c"): (2.0, "abc"),
        ("abc", "d"): (3.0, "abcd"),
    }
    rules = rules_from_merges(merges, list)
    assert merge_trail(rules, "abcd")[0] == ["a", "bc", "d"]
    failure = merge_failure(rules, "abcd")
    assert failure is not None
    assert (failure.token, failure.blocker and failure.blocker.rank) == ("abc", 0.0)
