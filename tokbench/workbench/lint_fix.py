"""Write a repaired copy of a tokenizer where repairs are certain."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.convert.proof_texts import special_texts
from tokbench.core.progress import no_progress
from tokbench.corpus import bundled_corpus
from tokbench.errors import ConfigError, ConversionError
from tokbench.files.atomic import write_folder
from tokbench.lint.catalogue import chosen_rules, run_rules
from tokbench.lint.fixing import check_repairable, check_same_ids, repaired_files, why_left
from tokbench.lint.target import LintTarget
from tokbench.opening.open import open_found
from tokbench.opening.recognition import recognize
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.lint.findings import Finding
    from tokbench.lint.fixing import Repair
    from tokbench.opening.request import OpenRequest

_TEXT_CHARACTERS = 4096
_SPECIALS = 64


@dataclass(frozen=True, slots=True)
class FixResult:
    """The repairs of a tokenizer.

    Attributes:
        out: the folder of the copy; None if nothing was repaired.
        repairs: the changes.
        left: the findings that were not repaired.
        texts: number of texts on which the copy gave the same ids.
        not_copied: other files of the folder, such as weights and programs.
    """

    out: Path | None
    repairs: tuple[Repair, ...]
    left: tuple[Finding, ...]
    texts: int
    not_copied: tuple[str, ...] = ()

    @property
    def left_by_reason(self) -> dict[str, list[Finding]]:
        """The findings that were not repaired, by reason."""
        reasons: dict[str, list[Finding]] = {}
        for finding in self.left:
            reasons.setdefault(why_left(finding), []).append(finding)
        return reasons

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return {
            "schema": "tokbench.lint.fix/1",
            "out": None if self.out is None else str(self.out),
            "repairs": [repair.to_json() for repair in self.repairs],
            "left": [{**finding.to_json(), "why": why_left(finding)} for finding in self.left],
            "texts_compared": self.texts,
            "not_copied": list(self.not_copied),
        }


def fix_tokenizer(
    name: str,
    out: Path,
    *,
    request: OpenRequest,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> FixResult:
    """Write a copy in which every certain repair is made; the original is never changed.

    The copy is opened and checked before it is moved into place: it must give the same ids on texts of many scripts
    and on its special tokens, and the repaired rules must have no findings left.

    Args:
        name: the tokenizer, as `-t` takes it.
        out: the folder of the copy, which must not exist yet.
        request: how to open the tokenizer.
        select: rules or groups to check, by default all.
        ignore: rules or groups to skip.

    Raises:
        ConfigError: the source is not a folder with a tokenizer.json, or `out` exists.
        ConversionError: the copy gives different ids.
        StoreError, ModelFormatError: a file cannot be read or written.
    """
    if out.exists():
        raise ConfigError(f"{out} is there already", hint="--fix writes a new folder, and changes none")
    rules = [rule for rule in chosen_rules(select=select, ignore=ignore) if not rule.needs_corpus]
    target = LintTarget(find_and_open(name, request, progress=no_progress))
    check_repairable(target)
    findings = [finding for outcome in run_rules(target, rules) for finding in outcome.findings]
    files, repairs = repaired_files(target, findings)
    repaired = {id(repair.finding) for repair in repairs}
    left = tuple(finding for finding in findings if id(finding) not in repaired)
    if not repairs:
        return FixResult(out=None, repairs=(), left=left, texts=0)
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / "repaired"
        write_folder(trial, files, replace=False)
        copy = LintTarget(open_found(recognize(trial), request))
        texts = check_same_ids(target.tokenizer, copy.tokenizer, _texts(target))
        names = {repair.finding.rule for repair in repairs}
        still_found = [
            (finding.rule, finding.subject)
            for outcome in run_rules(copy, [rule for rule in rules if rule.name in names])
            for finding in outcome.findings
        ]
    for repair in repairs:
        if (repair.finding.rule, repair.finding.subject) in still_found:
            raise ConversionError(
                f"{repair.finding.rule} still finds something in the repaired copy",
                hint=f"nothing was written; --ignore {repair.finding.rule} leaves it out",
            )
    write_folder(out, files, replace=False)
    not_copied = tuple(name for name in target.names_beside if name not in files)
    return FixResult(out=out, repairs=repairs, left=left, texts=texts, not_copied=not_copied)


def _texts(target: LintTarget) -> Iterator[str]:
    for text in bundled_corpus():
        yield text[:_TEXT_CHARACTERS]
    yield from special_texts(list(target.tokenizer.info.special_tokens)[:_SPECIALS], seed=0)
