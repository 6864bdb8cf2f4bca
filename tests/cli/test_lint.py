"""`tokbench lint`: findings, exit codes, and the pages of rules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support.lint import byte_level

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Done


def write(folder: Path, *tokens: str) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(byte_level(("a", "b"), tokens=tokens)))
    return path


def test_findings_are_shown_with_what_to_do(run: Callable[..., Done], tmp_path: Path) -> None:
    path = write(tmp_path, "x\u202e")
    done = run("lint", "-t", path, "--select", "bidi-in-token").good()
    assert any("bidi-in-token  1 finding" in line for line in done.lines)
    assert any('token 257 "x\\u202e"' in line for line in done.lines)
    assert done.lines[-1].endswith(": 0 errors, 1 warning, 0 notes from 1 rule")


def test_the_exit_code_is_3_from_a_severity_on(run: Callable[..., Done], tmp_path: Path) -> None:
    path = write(tmp_path, "x\u202e")
    for fail_on, code in {"error": 0, "warning": 3, "note": 3, "never": 0}.items():
        assert run("lint", "-t", path, "--select", "bidi", "--fail-on", fail_on).code == code
    assert run("lint", "-t", write(tmp_path), "--select", "bidi", "--fail-on", "note").code == 0


def test_json_and_sarif_have_the_same_findings(run: Callable[..., Done], tmp_path: Path) -> None:
    path = write(tmp_path, "x\u202e", "y\u200b")
    found = run("lint", "-t", path, "--select", "characters", "--json", "--sarif", "out.sarif").good().json
    assert found["schema"] == "tokbench.lint/1"
    assert [each["rule"] for each in found["findings"]] == ["bidi-in-token", "invisible-in-token"]
    assert found["counts"] == {"error": 0, "warning": 1, "note": 1}
    [sarif] = json.loads((tmp_path / "out.sarif").read_text())["runs"]
    assert [each["ruleId"] for each in sarif["results"]] == [each["rule"] for each in found["findings"]]


def test_rules_explain_themselves(run: Callable[..., Done]) -> None:
    page = run("lint", "--explain", "bidi-in-token").good().lines
    assert [line.split()[0] for line in page] == ["bidi-in-token", "breaks", "found", "remedy"]
    names = [each["name"] for each in run("lint", "--list", "--json").good().json["rules"]]
    assert names == [line.split()[0] for line in run("lint", "--list").good().lines if line[:1].strip()]
    run("lint", "--explain", "bidi").refused(2, "there is no rule 'bidi'")


def test_a_wrong_rule_is_refused_before_any_work(run: Callable[..., Done]) -> None:
    run("lint", "-t", "nowhere", "--select", "bydi").refused(2, "there is no rule 'bydi'")


def test_verdicts_have_a_text_or_a_reason_for_each_token(run: Callable[..., Done], tmp_path: Path) -> None:
    path = write(tmp_path, "never")
    run("lint", "-t", path, "--select", "reachability", "--verdicts", "out.jsonl", "--json").good()
    verdicts = {
        each["id"]: each for each in map(json.loads, (tmp_path / "out.jsonl").read_bytes().splitlines())
    }
    assert len(verdicts) == 258
    assert verdicts[256] == {"id": 256, "verdict": "reachable", "witness": "ab"}
    assert (verdicts[257]["verdict"], verdicts[257]["cause"]) == ("unreachable", "no-merge")
    run("lint", "-t", path, "--select", "bytes", "--verdicts", "out.jsonl").refused(
        2, "needs the rules of reachability"
    )
