"""Characters that are lost in decoding: how many, and for which cause."""

from __future__ import annotations

import random
from time import perf_counter

import pytest

from tokbench.evaluation.lost_characters import CAUSES, losses_of
from tokbench.metrics.robustness import edit_distance

TEXT = (
    "Die Bürger von Überlingen, 1.234 an der Zahl, gingen am Abend über die Brücke. Café, naïve, Ångström!\n"
)


def distance(text: str, other: str) -> int:
    return edit_distance(list(map(ord, text)), list(map(ord, other)))


@pytest.mark.parametrize(
    ("text", "decoded", "expected"),
    [
        ("same", "same", {}),
        ("Über Ä", "über ä", {"case": 2}),
        ("Über Ä", "uber a", {"accents": 2}),
        ("ﬁn é", "ﬁn e\u0301", {"accents": 2}),  # another normal form
        ("हिन्दी", "हनद", {"accents": 3}),
        (" two  spaces\n", "two spaces", {"white space": 3}),
        ("don't", "don ' t", {"white space": 2}),
        ("a\tb", "a b", {"white space": 1}),
        ("漢字 ok", "[UNK] ok", {"unknown": 2}),
        ("a漢b", "a ⁇ b", {"unknown": 1}),
        ("[UNK] ok", "[unk] ok", {"case": 3}),
        ("a漢b字c", "a[UNK]b[UNK]c", {"unknown": 2}),
        ("a漢字b漢c", "a[UNK][UNK]b[UNK]c", {"unknown": 3}),
        ("a 漢字 or 漢字 c", "a [UNK] or [UNK] c", {"unknown": 4}),
        ("Über a漢b字c", "uber a ⁇ b ⁇ c", {"accents": 1, "unknown": 2}),
        ("a[b", "a[UNK]b", {"unknown": 1}),
        ("a]b", "a[UNK]b", {"unknown": 1}),
        ("x<y", "x<unk>y", {"unknown": 1}),
        ("[U", "[UNK]U", {"unknown": 1}),
        ("[[", "[UNK][UNK]", {"unknown": 2}),
        ("if (a[0] < b[1])", "if (a[UNK]0[UNK] [UNK] b[UNK]1[UNK])", {"unknown": 5}),
        ("[漢]", "[[UNK]]", {"unknown": 1}),
        ("<UNK> a", "<unk> a", {"case": 3}),
        ("[UNK] [", "[UNK] [UNK]", {"unknown": 1}),  # a text about unknown tokens
        ("\ufffd [", "\ufffd [UNK]", {"unknown": 1}),
        ("abc", "axc", {"other": 1}),
        ("abc", "", {"other": 3}),
        ("", "abc", {"other": 3}),
        ("", "", {}),
    ],
)
def test_causes_of_loss_of_examples_worked_by_hand(text: str, decoded: str, expected: dict[str, int]) -> None:
    losses = losses_of(text, decoded)
    assert {cause: count for cause, count in zip(CAUSES, losses.by_cause, strict=True) if count} == expected
    assert losses.total == sum(expected.values())


def test_losses_of_short_texts_equal_the_edit_distance() -> None:
    generator = random.Random(7)
    for _ in range(300):
        text, other = ("".join(generator.choices("abé ", k=generator.randint(0, 14))) for _ in range(2))
        assert losses_of(text, other).total == distance(text, other)


@pytest.mark.parametrize("seed", range(4))
def test_losses_of_long_texts_are_near_the_edit_distance(seed: int) -> None:
    generator = random.Random(seed)
    text = "".join(generator.choice(TEXT.split(" ")) + " " for _ in range(300))
    damaged = "".join(
        generator.choice(["", "x", character + "y"]) if generator.random() < 0.03 else character
        for character in text
    )
    least = distance(text, damaged)
    assert least <= losses_of(text, damaged).total <= 1.1 * least


@pytest.mark.parametrize("mark", ["[UNK]", " ⁇ ", "<unk>", "\ufffd"])
def test_unknown_tokens_count_as_one_character_of_the_edit_distance(mark: str) -> None:
    """Known and unknown characters in any order, so that a single known one is between unknown ones, too."""
    generator = random.Random(5)
    for _ in range(100):
        words = ["".join(generator.choices("漢字x ", k=generator.randint(1, 4))) for _ in range(60)]
        is_known = [generator.random() < 0.4 for _ in words]
        text = "".join(words)
        decoded = "".join(word if is_kept else mark for word, is_kept in zip(words, is_known, strict=True))
        assert losses_of(text, decoded).total == distance(text, decoded.replace(mark, "\U0010ffff"))


@pytest.mark.parametrize("known", ["b", "bc", " ", "日"])
def test_a_single_known_character_between_unknown_tokens_is_not_lost(known: str) -> None:
    text = f"漢字文{known}" * 200
    losses = losses_of(text, f"[UNK]{known}" * 200)
    assert dict(zip(CAUSES, losses.by_cause, strict=True))["unknown"] == losses.total == 600


def test_spaces_put_between_characters_count_beside_unknown_tokens_as_anywhere() -> None:
    by_cause = dict(zip(CAUSES, losses_of("中国漢字中国", "中 国 [UNK] [UNK] 中 国").by_cause, strict=True))
    assert {cause: number for cause, number in by_cause.items() if number} == {"white space": 5, "unknown": 2}


def test_an_unknown_token_that_the_text_itself_spells_is_kept() -> None:
    assert losses_of("the token <unk> of A", "the token <unk> of a").by_cause == (1, 0, 0, 0, 0)


@pytest.mark.parametrize("mark", ["[UNK]", " ⁇ ", "<unk>", "\ufffd"])
@pytest.mark.parametrize("between", ["", "b", '",\n    "', "and words between them"])
def test_unknown_tokens_close_to_each_other_are_counted_by_their_characters(mark: str, between: str) -> None:
    """Between them, less text than it takes to align two texts in general need be the same."""
    text, decoded = (f"start {between.join([one] * 100)} end" for one in ("漢", mark))
    losses = losses_of(text, decoded)
    assert dict(zip(CAUSES, losses.by_cause, strict=True))["unknown"] == losses.total == 100


def test_unknown_brackets_of_long_texts_are_counted_by_their_characters() -> None:
    """The mark of an unknown token begins with the character that it replaces."""
    text = "if (a[0] < b[1]) return; " * 40
    decoded = text.replace("[", "<unk>").replace("< ", "<unk> ")
    losses = losses_of(text, decoded)
    assert dict(zip(CAUSES, losses.by_cause, strict=True))["unknown"] == losses.total == 3 * 40


def test_texts_align_again_after_a_long_difference() -> None:
    before, between, after = TEXT * 9, "0123456789" * 70, "The end of it all, which is long enough. " * 20
    losses = losses_of(before + between + after, before.lower() + after)
    assert losses.total == distance(before + between + after, before.lower() + after)
    assert dict(zip(CAUSES, losses.by_cause, strict=True))["other"] == len(between)


def test_texts_without_common_characters_are_lost_entirely() -> None:
    assert losses_of("a" * 5000, "b" * 3000).total == 5000


@pytest.mark.timed
@pytest.mark.parametrize(
    "decoded", [TEXT.lower() * 2000, "b" * 90_000, TEXT[1:] * 900], ids=["case", "b", "lines"]
)
def test_time_is_linear_in_the_text(decoded: str) -> None:
    started = perf_counter()
    losses_of(TEXT * 2000, decoded)
    assert perf_counter() - started < 10
