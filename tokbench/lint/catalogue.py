"""Every rule, by the modules that hold them, and the choice of some by `--select` and `--ignore`."""

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
    "file_rules",
    "reference_rules",
    "speed_rules",
)
"""Modules of this package, each with a tuple RULES; their order is that of the output."""

ALL = "all"
"""What `--select` and `--ignore` take for every rule."""


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule by its name, in the order of the output."""
    rules: list[Rule] = []
    for module in _MODULES:
        rules.extend(import_module(f"tokbench.lint.{module}").RULES)
    return {rule.name: rule for rule in rules}


def rule_named(name: str) -> Rule:
    """The rule of a name. Raises `ConfigError` with the nearest names."""
    rules = all_rules()
    if name not in rules:
        raise _no_such_rule(name)
    return rules[name]


def chosen_rules(*, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> tuple[Rule, ...]:
    """The rules that are selected, by default all, without those that are ignored.

    Args:
        select: names, groups, or what either begins with; "all" for every rule. Each may be several with commas.
        ignore: likewise. Of two that name the same rule the longer one counts: `--ignore vocabulary
            --select vocabulary-gap` leaves that rule in.

    Raises:
        ConfigError: one that names no rule, or no rule is left.
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
    return {name for one in given for name in (part.strip() for part in one.split(",")) if name}


def _best_match(names: set[str], rule: Rule) -> int:
    return max((_length_matched(name, rule) for name in names), default=0)


def _length_matched(name: str, rule: Rule) -> int:
    """How closely a choice names a rule: 0 not at all, 1 with all others, more the longer it is."""
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
    """What becomes of each rule, in their order.

    Args:
        target: what is linted.
        rules: those to run.
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
        reason = "it has no unknown token, and fails at texts with what is not in it"
        return Outcome(rule, skipped=reason, seconds=time.perf_counter() - started)
    return Outcome(rule, findings, figures=figures, seconds=time.perf_counter() - started)
