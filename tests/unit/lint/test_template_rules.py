"""Tests that faults planted in chat templates are found and that good templates have no findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface
from support.lint import CHATML, PLAIN, byte_level, findings_of, outcome_of, target_of

from tokbench.lint.findings import Severity
from tokbench.lint.template_rules import RULES

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.lint.target import LintTarget

START, END, BOS = "<|im_start|>", "<|im_end|>", "<s>"


def target(tmp_path: Path, template: str | None, *, beside: dict[str, Any] | None = None) -> LintTarget:
    document = byte_level(
        tokens=[START, END, BOS],
        added_tokens=[huggingface.added(text, 256 + n) for n, text in enumerate((START, END, BOS))],
    )
    config = {"eos_token": END, "bos_token": BOS}
    if template is not None:
        config["chat_template"] = template
    return target_of(document, tmp_path, beside={"tokenizer_config.json": config, **(beside or {})})


def test_valid_template_has_no_findings(tmp_path: Path) -> None:
    linted = target(tmp_path, CHATML)
    for rule in (*(rule.name for rule in RULES), "bos-count", "turn-end-not-eos"):
        assert findings_of(rule, linted) == (), rule


@pytest.mark.parametrize(
    ("rule", "template", "evidence"),
    [
        ("template-refuses", "{{ raise_exception('no') if messages|length > 2 }}" + CHATML, "two exchanges: "),
        ("template-refuses", "{% if %}", "the template does not compile"),
        ("template-drops", CHATML.replace("<|im_start|>{{ m.role }}", "<|im_start|>{{ m.role }}", 1).replace(
            "{% for m in messages %}", "{% for m in messages if m.role != 'system' %}"), "a system message: "),
        ("template-null", PLAIN, "it writes None for content null"),
        ("template-arguments", CHATML.replace("{% if c.function.arguments is string %}{{ c.function.arguments }}"
                                              "{% else %}", "{% if true %}").replace(
            "{% if true %}{{ c.function.arguments | tojson }}", "{% if true %}{{ c.function.arguments | tojson }}"),
         "arguments as a JSON string become"),
        ("template-parts", PLAIN, "a list of parts is written as"),
        ("template-history", "{{ messages|length }}" + CHATML, "changes from character 0 on"),
        ("template-date", "{{ strftime_now('%Y') }}" + CHATML, "it asks for the date in one exchange"),
        ("template-prompt", CHATML.replace("assistant\n{% endif %}", "assistant\n<s>{% endif %}"), "at place"),
        ("template-empty-mask", CHATML + "{% generation %}{% endgeneration %}", "no token of"),
        ("template-mask-to-end", "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}", "the last token"),
        ("bos-count", "<s><s>" + CHATML, "it writes <s> 2 times"),
        ("turn-end-not-eos", CHATML.replace("<|im_end|>", "<|eot_id|>"), "it writes <|eot_id|>, which is not a token"),
    ],
)  # fmt: skip
def test_planted_fault_is_found(tmp_path: Path, rule: str, template: str, evidence: str) -> None:
    findings = findings_of(rule, target(tmp_path, template))
    assert any(evidence in finding.evidence for finding in findings), findings
    assert not any(finding.evidence.startswith(finding.subject) for finding in findings)


def test_tool_template_need_not_render_other_conversations(tmp_path: Path) -> None:
    tools = "{% for tool in tools %}{{ tool.name }}{% endfor %}" + CHATML
    own = [{"name": "default", "template": CHATML}, {"name": "tool_use", "template": tools}]
    findings = findings_of(
        "template-refuses",
        target(tmp_path, None, beside={"tokenizer_config.json": {"eos_token": END, "chat_template": own}}),
    )
    assert any("one exchange: " in finding.evidence for finding in findings)
    assert {finding.severity for finding in findings} == {Severity.NOTE}


def test_null_content_is_an_error_if_tool_calls_are_written(tmp_path: Path) -> None:
    """A template that writes no calls, as Llama 3's, gets only a warning: the lost call is worse than the None."""
    writing = PLAIN.replace("<|im_end|>", "{{ m.tool_calls or '' }}<|im_end|>")
    for template, severity in ((PLAIN, Severity.WARNING), (writing, Severity.ERROR)):
        [finding] = findings_of("template-null", target(tmp_path / severity, template))
        assert finding.severity is severity


def test_turn_end_that_does_not_stop_generation_is_found(tmp_path: Path) -> None:
    linted = target(tmp_path, CHATML, beside={"generation_config.json": {"eos_token_id": 258}})
    [finding] = findings_of("turn-end-not-eos", linted)
    assert finding.token_ids == (257,)


def test_control_token_before_the_answer_does_not_end_it(tmp_path: Path) -> None:
    """As in GLM, where an answer begins with control tokens and no token ends it."""
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ '<s>' if m.role == 'assistant' }}{{ m.content }}"
        "{% endfor %}{{ '<|im_start|>assistant\n' if add_generation_prompt }}"
    )
    linted = target(tmp_path, template)
    [finding] = findings_of("template-mask-to-end", linted)
    assert "no special token ends the answer" in finding.evidence
    assert findings_of("turn-end-not-eos", linted) == ()


def test_rules_are_skipped_without_a_template(tmp_path: Path) -> None:
    linted = target(tmp_path, None)
    assert {outcome_of(rule.name, linted).skipped for rule in RULES} == {"it has no chat template"}
    linted.template = "chatml"
    assert findings_of("template-history", linted) == ()
    refused = findings_of("template-refuses", linted)
    assert {finding.severity for finding in refused} == {Severity.NOTE}


def test_given_template_file_is_checked_instead(tmp_path: Path) -> None:
    path = tmp_path / "other.jinja"
    path.write_text("{{ messages|length }}" + CHATML, encoding="utf-8")
    linted = target(tmp_path, CHATML)
    linted.template = str(path)
    [finding] = findings_of("template-history", linted)
    assert finding.subject == f"the chat template {path}"
    assert finding.severity is Severity.WARNING
