"""Conversion of findings to SARIF 2.1.0, which code hosts display beside the files concerned.

Specification: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import bytes_of_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.lint.findings import Finding
    from tokbench.lint.rules import Outcome, Rule

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_document(outcomes: Sequence[Outcome], *, path: str, version: str) -> dict[str, Any]:
    """Return the SARIF document of one run, with every rule that was checked.

    Args:
        outcomes: the outcomes of the rules.
        path: the tokenizer's file or folder, as given by the user.
        version: version of tokbench.
    """
    rules = [outcome.rule for outcome in outcomes]
    places = {rule.name: number for number, rule in enumerate(rules)}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "tokbench",
                        "semanticVersion": version,
                        "rules": [_described(rule) for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(finding, place=places[finding.rule], path=path)
                    for outcome in outcomes
                    for finding in outcome.findings
                ],
            }
        ],
    }


def _described(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.breaks},
        "fullDescription": {"text": f"{rule.breaks} {rule.found}"},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {"tags": [rule.group]},
    }


def _result(finding: Finding, *, place: int, path: str) -> dict[str, Any]:
    # Code hosts identify results across runs by this fingerprint, so it must not depend on the wording of the evidence.
    identity = f"{finding.rule}\0{finding.subject}".encode()
    return {
        "ruleId": finding.rule,
        "ruleIndex": place,
        "level": finding.severity.value,
        "message": {"text": f"{finding.subject}: {finding.evidence}. {finding.remedy}"},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": _uri(path)}},
                "logicalLocations": [{"name": str(id), "kind": "token"} for id in finding.token_ids[:16]],
            }
        ],
        "partialFingerprints": {"ruleAndSubject/v1": hashlib.sha256(identity).hexdigest()},
        "properties": {"tokenIds": list(finding.token_ids), **finding.details},
    }


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(bytes_of_name(path.replace("\\", "/")), safe="/:")
