"""The catalogue of all rules, and their selection by `--select` and `--ignore`."""

from __future__ import annotations

import time
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from tokbench.core.progress import no_progress
from tokbench.core.wording import meant
from tokbench.errors import ConfigError, UnknownWordError
from tokbench.lint.rules import DoesNotApplyError, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.progress import Progress
    from tokbench.lint.rules import Rule
    from tokbench.lint.target import LintTarget

_MODULES = (
    "reachability_rules",
    "training_rules",
    "byte_rules",
    "character_rules",
    "whitespace_rules",
    "vocabulary_rules",
    "added_token_rules",
    "role_rules",
    "template_rules",
    "class_rules",
    "file_rules",
    "other_tokenizer_rules",
    "reference_rules",
    "speed_rules",
)
"""Modules of this package with a tuple `RULES`, in the order of the output."""

ALL = "all"
"""The name for every rule in `--select` and `--ignore`."""


@cache
def all_rules() -> dict[str, Rule]:
    """Return name → rule for every rule, in the order of the output."""
    rules: list[Rule] = []
    for module in _MODULES:
        rules.extend(import_module(f"tokbench.lint.{module}").RULES)
    return {rule.name: rule for rule in rules}


def rule_named(name: str) -> Rule:
    """Return the rule with a name. Raises `ConfigError` with the nearest names as a hint."""
    rules = all_rules()
    if name not in rules:
        raise _no_such_rule(name)
    return rules[name]


def chosen_rules(*, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> tuple[Rule, ...]:
    """Return the selected rules (by default all) without the ignored ones.

    Args:
        select: names or groups, or prefixes of them; "all" for every rule. Each item may be a comma-separated list.
        ignore: likewise. If both match a rule, the longer item takes precedence: `--ignore vocabulary
            --select unused-token` keeps that rule.

    Raises:
        ConfigError: an item matches no rule, or no rule is left.
    """
    wanted, unwanted = _named(select) or {ALL}, _named(ignore)
    for name in (*sorted(wanted), *sorted(unwanted)):
        if not any(_length_matched(name, rule) for rule in all_rules().values()):
            raise _no_such_rule(name)
    rules = tuple(
        rule for rule in all_rules().values() if _best_match(wanted, rule) > _best_match(unwanted, rule)
    )
    if not rules:
        raise ConfigError("no rule is left to check", hint="--ignore leaves out what --select names")
    return rules


def _named(given: Sequence[str]) -> set[str]:
    return {name for item in given for name in (part.strip() for part in item.split(",")) if name}


def _best_match(names: set[str], rule: Rule) -> int:
    return max((_length_matched(name, rule) for name in names), default=0)


def _length_matched(name: str, rule: Rule) -> int:
    """Return how specifically an item matches a rule: 0 for no match, 1 for "all", more for longer items."""
    if name == ALL:
        return 1
    if rule.name.startswith(name) or rule.group.startswith(name):
        return 1 + len(name)
    return 0


def _no_such_rule(name: str) -> ConfigError:
    known = sorted({*all_rules(), *(rule.group for rule in all_rules().values())})
    hint = meant(name, known, otherwise="`tokbench lint --list` shows all")
    return ConfigError(f"there is no rule {name!r}", hint=hint)


def run_rules(
    target: LintTarget, rules: Sequence[Rule], *, progress: Progress = no_progress
) -> Iterator[Outcome]:
    """Run rules, and yield their outcomes in order.

    Args:
        target: the tokenizer to lint.
        rules: the rules to run.
        progress: called with the number of rules done.

    Raises:
        CorpusError, TextError: the corpus cannot be read or encoded.
    """
    for number, rule in enumerate(rules):
        progress("linting", number, len(rules), "rules")
        yield _outcome(target, rule)
    progress("linting", len(rules), len(rules), "rules")


def _outcome(target: LintTarget, rule: Rule) -> Outcome:
    if rule.needs_corpus and target.corpus is None:
        return Outcome(rule, skipped="it needs a corpus")
    if rule.needs_reference and target.reference is None:
        return Outcome(rule, skipped="it needs --reference")
    started = time.perf_counter()
    try:
        findings = tuple(map(rule.finding, rule.check(target)))
        figures = rule.figures(target) if rule.figures is not None else {}
    except DoesNotApplyError as error:
        return Outcome(rule, skipped=str(error), seconds=time.perf_counter() - started)
    except UnknownWordError:
        reason = "it has no unknown token, and fails on texts with unknown characters"
        return Outcome(rule, skipped=reason, seconds=time.perf_counter() - started)
    return Outcome(rule, findings, figures=figures, seconds=time.perf_counter() - started)
