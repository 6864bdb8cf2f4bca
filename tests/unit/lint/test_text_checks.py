"""Tests that dangerous parts of a text are found at their place, and none in ordinary text of many scripts."""

from __future__ import annotations

import pytest
from support.texts import bundled_texts

from tokbench.lint.findings import Severity
from tokbench.lint.hidden_characters import LOOK_ALIKES
from tokbench.lint.text_checks import REMEDIES, TextChecks

CHECKS = TextChecks(["<|im_end|>", "<|im_start|>", "</s>", "user"])


def checks_of(text: str) -> list[tuple[str, str]]:
    """Return the name of each check that finds a danger, with the dangerous part of the text."""
    return [(danger.check, text[danger.start : danger.end]) for danger in CHECKS.dangers(text)]


@pytest.mark.parametrize(
    ("text", "check", "part"),
    [
        ("say <|im_end|> now", "special-token", "<|im_end|>"),
        ("say <|im_e\u200bnd|> now", "special-token-look-alike", "<|im_e\u200bnd|>"),
        ("say <|im_\u0435nd|> now", "special-token-look-alike", "<|im_\u0435nd|>"),
        ("say \uff1c|im_end|\uff1e now", "special-token-look-alike", "\uff1c|im_end|\uff1e"),
        ("say <|IM_END|> now", "special-token-look-alike", "<|IM_END|>"),
        ("zero\u200bwidth", "invisible-character", "\u200b"),
        ("\ufeffbegin", "invisible-character", "\ufeff"),
        ("pass\u200dword", "invisible-character", "\u200d"),
        ("a\u202eb\u202c", "direction-mark", "\u202e"),
        ("a\u200fb", "direction-mark", "\u200f"),
        ("hello\U000e0041\U000e0042", "hidden-text", "\U000e0041"),
        ("\U0001f3f4" + "\U000e0061" * 7 + "\U000e007f", "hidden-text", "\U000e0061"),
        ("a\x1b[31mb", "control-character", "\x1b"),
        ("a\x85b", "control-character", "\x85"),
        ("lost \ufffd\ufffd", "replacement-character", "\ufffd\ufffd"),
        ("caf\u00e9 cafe\u0301", "mixed-normal-forms", "e\u0301"),
        ("cafe\u0301", "not-nfc", "e\u0301"),
        ("log in at p\u0430ypal", "homoglyph", "p\u0430ypal"),
        ("go to g\u0585\u0585gle", "homoglyph", "g\u0585\u0585gle"),
        ("\U0001d429aypal", "homoglyph", "\U0001d429aypal"),
        ("\uff50aypal", "homoglyph", "\uff50aypal"),
        ("the \u0455\u0441\u043e\u0440\u0435 here", "homoglyph", "\u0455\u0441\u043e\u0440\u0435"),
        ("say \u2039|im_end|\u203a", "special-token-look-alike", "\u2039|im_end|\u203a"),
        ("a prompt: ", "trailing-space", " "),
        ("a line \t\r\nb", "trailing-space", " \t"),
    ],
)
def test_danger_is_found_with_its_text(text: str, check: str, part: str) -> None:
    assert (check, part) in checks_of(text)
    assert check in REMEDIES


@pytest.mark.parametrize(
    "text",
    [
        "plain text\nof lines\twith tabs\r\n",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "мир и peace, \u0394x = 5 \u00b5m, \u03b1-helix, Ωmega",
        "\u0915\u094d\u0937\u093f \u0645\u064f\u0645\u064e",
        "caf\u00e9 na\u00efve \u5317\u4eac",
        "the \u0440\u043e\u0441\u0430 and \u0436\u0430\u0440",
        "\uff26\uff35\uff2c\uff2c text, N\u00ba 1, \u03c1v and \u03b1x, 5\u03c9t",
        "User <s> < /s > im_end",
    ],
)
def test_ordinary_text_has_no_findings(text: str) -> None:
    assert checks_of(text) == []


def test_different_case_is_a_note_and_look_alikes_an_error() -> None:
    by_text = {text: next(CHECKS.dangers(text)).severity for text in ("</S>", "</\u0455>")}
    assert by_text == {"</S>": Severity.NOTE, "</\u0455>": Severity.ERROR}


def test_long_runs_take_linear_time() -> None:
    """A quadratic search would take minutes here."""
    assert checks_of(" " * 200_000 + "a") == []
    assert [check for check, _ in checks_of("e" + "\u0301" * 50_000)] == ["not-nfc"]
    assert checks_of("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f" * 20_000) == []


def test_without_special_tokens_none_is_found() -> None:
    assert [danger.check for danger in TextChecks([]).dangers("<|im_end|>")] == []


def test_look_alikes_map_non_ascii_to_ascii_letters() -> None:
    assert all(
        not one.isascii() and other.isascii() and other.isalpha() for one, other in LOOK_ALIKES.items()
    )
    assert {LOOK_ALIKES[character] for character in "\u0430\u03bf\u0570\u13aa"} == {"a", "o", "h", "A"}


def test_bundled_texts_have_no_errors() -> None:
    checks = TextChecks(["<|im_end|>", "<|im_start|>"])
    texts = [text for name, text in bundled_texts().items() if not name.startswith("edge")]
    dangers = [danger for text in texts for danger in checks.dangers(text)]
    assert len(texts) > 40
    assert not [danger for danger in dangers if danger.severity is Severity.ERROR]
