"""Rules about tokens that no text encodes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.core.wording import counted
from tokbench.lint.findings import Found, Severity, findings_on_tokens
from tokbench.lint.reachability.analysis import analyse
from tokbench.lint.reachability.verdicts import Cause
from tokbench.lint.rules import rules_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.lint.reachability.verdicts import Unreachable
    from tokbench.lint.target import LintTarget

_REMEDIES = {
    Cause.NO_MERGE: "Make it an added token, or leave it out at the next training.",
    Cause.PATTERN: "Leave it out at the next training, or change the pattern so that it stays whole.",
    Cause.NORMALIZER: "Leave it out at the next training: normalize the training text as the input is normalized.",
    Cause.ADDED_TOKEN: "Leave out the token or the added token: both stand for the same text.",
    Cause.NOT_TEXT: "Leave damaged bytes out of the training text.",
    Cause.BETTER_PARTS: "Leave it out, or give it a score above that of its parts.",
    Cause.LONGER_MATCH: "Leave it out at the next training.",
}
"""Cause → remedy, for causes other than the order of merges."""

_BY_DESIGN = "Nothing, if the added tokens are meant to replace these: their rows are not trained."

_rule = rules_of("reachability")


def _figures(target: LintTarget) -> Mapping[str, Any]:
    found = target.derived(analyse)
    return {
        "reachable": len(found.witnesses),
        "unreachable": len(found.unreachable),
        "by_design": len(found.by_design),
        "undecided": len(found.undecided),
        "only_in_context": found.only_in_context,
    }


@_rule(
    name="unreachable-token",
    severity=Severity.WARNING,
    breaks="A token that no text is encoded as is never trained: its embedding is noise, and its id is wasted.",
    found="For each token, a text that is encoded as it, or a proof from merges, scores, pattern, normalizer or "
    "added tokens that there is none.",
    remedy="Move its merge before the one that takes one of its parts, or drop the token in the next training.",
    figures=_figures,
)
def _unreachable_tokens(target: LintTarget) -> Iterator[Found]:
    by_cause: dict[tuple[Cause, Severity | None], list[Unreachable]] = {}
    for found in target.derived(analyse).unreachable.values():
        by_cause.setdefault((found.cause, _severity(found)), []).append(found)
    for (cause, severity), several in by_cause.items():
        yield from findings_on_tokens(
            target,
            {found.id: found.evidence for found in several},
            severity=severity,
            remedy=_BY_DESIGN if severity is Severity.NOTE else _REMEDIES.get(cause),
            details={"cause": cause.value},
        )


def _severity(found: Unreachable) -> Severity | None:
    """Return a lower severity for tokens hidden by added tokens for runs of spaces, which replace them by design."""
    hidden_by = found.details.get("added_token")
    return Severity.NOTE if isinstance(hidden_by, str) and not hidden_by.strip() else None


@_rule(
    name="undecided-token",
    severity=Severity.NOTE,
    breaks="A token that possibly no text is encoded as may be untrained.",
    found="No tried text is encoded as the token, and there is no proof that none can be.",
    remedy="Count it on a large corpus, as `tokbench lint` does with PATH.",
)
def _undecided_tokens(target: LintTarget) -> Iterator[Found]:
    undecided = target.derived(analyse).undecided
    if undecided:
        shown = ", ".join(map(target.named, undecided[:3]))
        yield Found(
            subject=counted(len(undecided), "token"),
            evidence=f"no text was found that gives such a token, and no proof that none does: {shown}",
            token_ids=undecided,
        )


RULES = (_unreachable_tokens, _undecided_tokens)
