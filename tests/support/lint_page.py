"""docs/lint.md, generated from the catalogue of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.lint.catalogue import all_rules
from tokbench.lint.text_checks import REMEDIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.lint.rules import Rule

HEAD = """\
# Lint

<!-- Made of tokbench/lint/catalogue.py by `python tests/golden/test_readme.py`: change that, not this page. -->

`tokbench lint -t NAME` checks a tokenizer by the rules below, and ends with exit code 3 if a finding is an error
(or by `--fail-on`). [Debug](debug.md) and [When a model misbehaves](misbehaving.md) show it at work.

- `--select` and `--ignore` accept names of rules and groups, and prefixes of these names.
- Rules marked *corpus* run with PATH, those marked *reference* with `--reference NAME`; the training rules need the
  training text, or `--word-counts`. Rules that do not apply are listed as "skipped", with the reason.
- `--template NAME|FILE` only checks that chat template.
- An **error** gives wrong ids or loses text. A **warning** wastes capacity, or breaks a common use. A **note** is worth
  knowing. Some findings are more or less severe than their rule.
- `--json` and `--sarif FILE` are for programs; `--verdicts FILE` writes what is known about each token.
- `--fix OUT` writes a copy with all certain repairs, verifies it by opening it again, and reports what it did not
  repair and why.
"""

GROUPS = {
    "reachability": "Unreachable tokens",
    "training": "Merges replayed on the training text",
    "bytes": "Bytes and characters that are missing",
    "characters": "Invisible characters",
    "whitespace": "White space, digits, indentation",
    "vocabulary": "How a vocabulary is used",
    "special-tokens": "Added and special tokens",
    "roles": "Ids and roles",
    "template": "Chat templates",
    "files": "Files that disagree",
    "reference": "Tampering",
    "speed": "Time",
}

TEXTS = """
## Texts

`tokbench lint --text FILE -t NAME` checks a text for special tokens, look-alikes and hidden characters; with `--json`
it is a filter for data sets.

| check | remedy |
|---|---|
"""


def lint_page() -> str:
    """Return the page."""
    return HEAD + "".join(_sections()) + TEXTS + "".join(_checks())


def _sections() -> Iterator[str]:
    rules = list(all_rules().values())
    groups = list(dict.fromkeys(rule.group for rule in rules))
    assert set(groups) == set(GROUPS)
    for group in groups:
        yield f"\n## {GROUPS[group]}\n\nGroup `{group}`.\n"
        yield from (_rule(rule) for rule in rules if rule.group == group)


def _rule(rule: Rule) -> str:
    needs = {"corpus": rule.needs_corpus, "reference": rule.needs_reference}
    marks = [f"**{rule.severity.value}**", *(f"*{name}*" for name, is_needed in needs.items() if is_needed)]
    lines = [rule.breaks, f"Found: {_inline(rule.found)}", f"Remedy: {_inline(rule.remedy)}"]
    page = "\n".join(f"- {line}" for line in lines)
    return f"\n### {rule.name}\n\n{', '.join(marks)}\n\n{page}\n"


def _inline(sentence: str) -> str:
    """Return a sentence as it continues after a label, with a small first letter unless it is a name."""
    first, _, rest = sentence.partition(" ")
    is_word = first.isalpha() and first.isascii() and (first == "A" or not first.isupper())
    return f"{first.lower() if is_word and first not in _NAMES else first} {rest}"


_NAMES = frozenset({"BPE", "WordPiece", "Unigram", "NFC"})


def _checks() -> Iterator[str]:
    for check, remedy in REMEDIES.items():
        yield f"| `{check}` | {remedy} |\n"
