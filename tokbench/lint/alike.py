"""Many tokens of which the same is said, as one finding: a vocabulary may have hundreds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokbench.lint.findings import Found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tokbench.lint.findings import Severity
    from tokbench.lint.target import LintTarget

_APART = 3
"""Up to so many tokens have a finding each."""
_EXAMPLES = 6
_VARYING = re.compile(
    r'"(?:[^"\\]|\\.)*"(?: \([\d,]+ (?:characters|bytes)\))?'
    r"|U\+[0-9A-F]{4,6}(?: [A-Z][A-Z0-9 -]*[A-Z0-9])?"
    r"|(?<![\w+])-?\d[\d,]*(?:\.\d+)?(?!\w)"
)
_LIST = re.compile(r"…(?:(?: \+|,| and)? …)+")
_VERB = re.compile(r"^it (\w+)")
_PLURALS = {"is": "are", "has": "have"}


def findings_on_tokens(
    target: LintTarget,
    reasons: Mapping[int, str],
    *,
    of_many: str | None = None,
    severity: Severity | None = None,
    remedy: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> Iterator[Found]:
    """A finding for each token, or where more than a few have the same reason, one for these together.

    Args:
        target: what is linted.
        reasons: id → what is wrong with the token, in a sentence without a full stop. Two are the same if they
            differ in what they quote and count.
        of_many: what is said of several together, whatever their reasons.
        severity: of all, where it is not the rule's.
        remedy: of all, where it is not the rule's.
        details: of all; `reasons` has the sentence of each token.
    """
    groups: dict[str, list[int]] = {}
    for id, reason in reasons.items():
        groups.setdefault(of_many or in_general(reason), []).append(id)
    for general, ids in groups.items():
        if len(ids) <= _APART:
            for id in ids:
                yield Found(target.named(id), reasons[id], (id,), severity, remedy, details or {})
            continue
        more = " …" if len(ids) > _EXAMPLES else ""
        yield Found(
            subject=f"{len(ids):,} tokens",
            evidence=f"{general}: {', '.join(map(target.named, ids[:_EXAMPLES]))}{more}",
            token_ids=tuple(ids),
            severity=severity,
            remedy=remedy,
            details={**(details or {}), "reasons": {str(id): reasons[id] for id in ids}},
        )


def in_general(reason: str) -> str:
    """What is said of a token, as it is said of many.

    >>> in_general('no merge makes "ab": its bytes become "a" + "b"')
    'no merge makes …: its bytes become …'
    >>> in_general("it holds U+0097, U+200B ZERO WIDTH SPACE")
    'they hold …'
    """

    def plural(match: re.Match[str]) -> str:
        return f"they {_PLURALS.get(match[1]) or match[1].removesuffix('s')}"

    return _VERB.sub(plural, _LIST.sub("…", _VARYING.sub("…", reason)))
