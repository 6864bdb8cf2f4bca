"""Tests for the choice of rules, skipped rules, and the contents of results."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.lint import byte_level, target_of

from tokbench.errors import ConfigError
from tokbench.lint import catalogue
from tokbench.lint.catalogue import all_rules, chosen_rules, rule_named
from tokbench.lint.findings import Found, Severity, findings_on_tokens, reached
from tokbench.lint.rules import DoesNotApplyError, Rule
from tokbench.workbench.lint import LintResult, lint_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tokbench.lint.target import LintTarget


def rule(
    name: str, check: Callable[[LintTarget], Iterable[Found]], *, group: str = "toy", **options: bool
) -> Rule:
    return Rule(
        name=name,
        group=group,
        severity=Severity.WARNING,
        breaks="It breaks.",
        found="It is found.",
        remedy="Mend it.",
        check=check,
        **options,
    )


def nothing(target: LintTarget) -> list[Found]:
    return []


def two(target: LintTarget) -> list[Found]:
    return [Found("a", "seen", (1, 2)), Found("b", "seen too", severity=Severity.ERROR, remedy="Burn it.")]


def unsuited(target: LintTarget) -> list[Found]:
    raise DoesNotApplyError("it has no merges")


def result_of(folder: Path, *rules: Rule) -> LintResult:
    return lint_target(target_of(byte_level(), folder), rules)


@pytest.mark.parametrize("rule", all_rules().values(), ids=all_rules())
def test_every_rule_has_documentation(rule: Rule) -> None:
    for line in (rule.breaks, rule.found, rule.remedy):
        assert line.endswith("."), line
        assert line[0].isupper() or line.startswith("`"), line
        assert len(line) < 200, line


def test_catalogue_has_the_rules_of_every_module() -> None:
    modules = [path.stem for path in Path(catalogue.__file__).parent.glob("*_rules.py")]
    rules = [rule.name for module in modules for rule in import_module(f"tokbench.lint.{module}").RULES]
    assert sorted(all_rules()) == sorted(rules)


def test_finding_inherits_severity_and_remedy_from_its_rule(tmp_path: Path) -> None:
    first, second = result_of(tmp_path, rule("toy-rule", two)).findings
    assert (first.rule, first.severity, first.remedy) == ("toy-rule", Severity.WARNING, "Mend it.")
    assert (second.severity, second.remedy, second.token_ids) == (Severity.ERROR, "Burn it.", ())


def test_skipped_rule_has_a_reason(tmp_path: Path) -> None:
    result = result_of(
        tmp_path,
        rule("no-merges", unsuited),
        rule("on-text", nothing, needs_corpus=True),
        rule("on-other", nothing, needs_reference=True),
    )
    reasons = [outcome.skipped for outcome in result.outcomes]
    assert reasons == ["it has no merges", "it needs a corpus", "it needs --reference"]


def test_severities_are_counted_and_compared(tmp_path: Path) -> None:
    result = result_of(tmp_path, rule("toy-rule", two))
    assert result.by_severity == {Severity.ERROR: 1, Severity.WARNING: 1, Severity.NOTE: 0}
    assert reached(result.findings, Severity.ERROR)
    assert not reached(result_of(tmp_path, rule("toy-rule", nothing)).findings, Severity.NOTE)


def test_sarif_has_every_rule_and_finding(tmp_path: Path) -> None:
    [run] = result_of(tmp_path, rule("one", nothing), rule("two", two)).to_sarif()["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["one", "two"]
    assert [result["ruleIndex"] for result in run["results"]] == [1, 1]
    assert [result["level"] for result in run["results"]] == ["warning", "error"]
    prints = [result["partialFingerprints"]["ruleAndSubject/v1"] for result in run["results"]]
    assert len(set(prints)) == 2


def test_rules_are_chosen_by_name_group_or_prefix() -> None:
    def names(**options: tuple[str, ...]) -> list[str]:
        return [rule.name for rule in chosen_rules(**options)]

    assert names() == names(select=("all",)) == list(all_rules())
    assert names(select=("bidi-in-token",)) == ["bidi-in-token"]
    assert names(select=("bidi,control-in",)) == ["bidi-in-token", "control-in-token"]
    assert "bidi-in-token" not in names(ignore=("bidi",))
    assert "bidi-in-token" in names(select=("bidi-in-token",), ignore=("bidi",))
    assert "control-in-token" not in names(select=("characters",), ignore=("control-in-token",))


def test_unknown_or_empty_choice_of_rules_is_refused() -> None:
    with pytest.raises(ConfigError, match="no rule 'bidi-in-tokn'") as caught:
        chosen_rules(ignore=("bidi-in-tokn",))
    assert caught.value.hint == "did you mean 'bidi-in-token'?"
    with pytest.raises(ConfigError, match="no rule is left"):
        chosen_rules(ignore=("all",))
    with pytest.raises(ConfigError, match="no rule 'x'"):
        rule_named("x")


def test_tokens_with_the_same_reason_are_one_finding(tmp_path: Path) -> None:
    target = target_of(byte_level(), tmp_path)
    reasons = {id: f'it repeats "{chr(id)}" {id} times' for id in range(97, 102)} | {110: "it is 7 long"}
    alone, together = sorted(findings_on_tokens(target, reasons), key=lambda each: len(each.token_ids))
    assert (alone.subject, alone.evidence) == ('token 110 "n"', "it is 7 long")
    assert together.subject == "5 tokens"
    assert together.evidence.startswith('they repeat … times: token 97 "a", token 98 "b"')
    assert together.details["reasons"]["99"] == reasons[99]
    few = {id: reasons[id] for id in range(97, 100)}
    assert [finding.evidence for finding in findings_on_tokens(target, few)] == list(few.values())
