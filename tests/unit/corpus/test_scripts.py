"""The script of a text and the kind of an entry, each compared with its definition letter by letter."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

import regex
from hypothesis import given
from hypothesis import strategies as st

from tokbench.corpus.scripts import COMMON, SAMPLE_CHARACTERS, SCRIPTS, script_of
from tokbench.evaluation import report
from tokbench.evaluation.report import kind_of

some_text = st.text(st.sampled_from("abÄßяЖ漢ーあ1٣ \t\n.!+\u200d\u0301\x00▁Ωא"), max_size=12)


def script_of_character(character: str) -> str:
    for script in SCRIPTS:
        if regex.fullmatch(rf"(?=\p{{L}})\p{{Script={script}}}", character):
            return script
    return COMMON


def script_by_definition(text: str) -> str:
    letters = Counter(map(script_of_character, text[:SAMPLE_CHARACTERS]))
    del letters[COMMON]
    most = max(letters.values(), default=0)
    return min((script for script, count in letters.items() if count == most), default=COMMON)


def kind_by_definition(text: str) -> str:
    plain = text.replace("▁", " ").strip()
    if not plain:
        return report.SPACE
    plain = re.sub("[\u200c\u200d]", "", plain) or plain  # joiners, beside anything else
    if any(unicodedata.category(character).startswith("C") for character in plain):
        return report.CONTROLS
    scripts = {script_of_character(character) for character in plain} - {COMMON}
    if scripts:
        return scripts.pop() if len(scripts) == 1 else report.MIXED
    return report.DIGITS if plain.isdigit() else report.SIGNS


@given(text=some_text | st.text(max_size=12))
def test_script_of_a_text_equals_its_definition(text: str) -> None:
    assert script_of(text) == script_by_definition(text)


def test_tie_between_scripts_goes_to_the_first_by_name() -> None:
    assert script_of("abяЖ") == "Cyrillic"
    assert script_of("abcяЖ") == "Latin"
    assert script_of("ab漢字") == "Han"


@given(text=some_text | st.text(max_size=6))
def test_kind_of_an_entry_equals_its_definition(text: str) -> None:
    assert kind_of(text) == kind_by_definition(text)
