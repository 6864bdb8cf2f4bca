"""Find problems of a tokenizer, and write them as JSON or as SARIF 2.1.0, which code hosts display beside the files.

Specification: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.core.wording import bytes_of_name, first_of
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.files.storage.open import place_of
from tokbench.lint.catalogue import all_rules, chosen_rules, run_rules
from tokbench.lint.findings import Severity, counted_by_severity
from tokbench.lint.reachability.analysis import analyse
from tokbench.lint.target import LintTarget
from tokbench.opening.request import OpenRequest
from tokbench.workbench.open import find_and_open, tokenizer_folders, tokenizers_among

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.interfaces import TokenizerInfo
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.lint.findings import Finding
    from tokbench.lint.reachability.verdicts import Reachability
    from tokbench.lint.rules import Outcome, Rule

_MAX_COUNTS_BYTES = 1 << 30
_SHOWN = 8
_TABLES = (".parquet", ".tsv")
"""Suffixes of counted words, as opposed to a JSON object of counts."""


def lint_tokenizer(
    name: str,
    *,
    corpus: Corpus | None = None,
    word_counts: Mapping[str, int] | None = None,
    reference: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    request: OpenRequest,
    threads: int | None = None,
    model_vocab_size: int | None = None,
    template: str | None = None,
    progress: Progress = no_progress,
) -> LintResult:
    """Find problems of the tokenizer of a name.

    Args:
        name: the tokenizer, as `-t` takes it.
        corpus: text to count on; without it, rules that need a corpus are skipped.
        word_counts: pre-token → its count in the training text; replays the training without the corpus.
        reference: name of a tokenizer that this one should agree with; without it, rules that need one are skipped.
        select: rules or groups to check, or prefixes of their names; by default all.
        ignore: rules or groups to skip, likewise.
        request: how to open the tokenizer, and the reference if the options are for it.
        threads: threads for encoding; None uses every processor.
        model_vocab_size: number of rows of the model's embedding, if config.json does not say.
        template: the chat template to check, as `ChatTemplate.of` takes its name; None for the tokenizer's own.
        progress: called with the number of rules done.

    Raises:
        ConfigError: a rule does not exist, or an option cannot be used.
        StoreError, ModelFormatError: the tokenizer cannot be opened.
        CorpusError, TextError: the corpus cannot be read or encoded.
    """
    rules = chosen_rules(select=select, ignore=ignore)
    target = LintTarget(
        find_and_open(name, request, progress=progress),
        corpus=corpus,
        word_counts=word_counts,
        reference=None if reference is None else _reference(reference, request, progress=progress),
        threads=threads,
        model_vocab_size=model_vocab_size,
        template=template,
    )
    return lint_target(target, rules, progress=progress)


def refuse_tokenizers(paths: Sequence[str]) -> None:
    """Raise `ConfigError` if a path that should be text is a tokenizer, or a folder of nothing but files of models."""
    for path in tokenizers_among(paths):
        raise ConfigError(
            f"{path} is a tokenizer, and text to check one on is expected here",
            hint=f"name it with --tokenizer {path}",
        )
    for name in paths:
        folders = tokenizer_folders(Path(name))
        if len(folders) == 1:
            raise ConfigError(
                f"{name} is the folder of a tokenizer, and text to check one on is expected here",
                hint=f"name it with --tokenizer {folders[0]}",
            )
        if folders:
            raise ConfigError(
                f"{name} is a folder of {len(folders)} tokenizers, and text to check one on is expected here",
                hint=f"name one of them with --tokenizer: {first_of(list(map(str, folders)), _SHOWN)}",
            )


def lint_target(target: LintTarget, rules: Sequence[Rule], *, progress: Progress = no_progress) -> LintResult:
    """Run rules on a target. Raises as `lint_tokenizer`."""
    return LintResult(
        info=target.tokenizer.info,
        place=str(target.opened.source.path),
        outcomes=tuple(run_rules(target, rules, progress=progress)),
        reachability=target.known(analyse),
    )


def read_word_counts(given: str | Path) -> dict[str, int]:
    """Read the counts of a JSON object, pre-token → count, or words counted by `tokbench count-words` and others.

    Args:
        given: a path; for counted words also a URL.

    Raises:
        ConfigError: the file has no counts, or the words are those of another backend.
        ModelFormatError: a damaged folder.
    """
    path = place_of(given).local
    if path is None or path.is_dir() or path.suffix in _TABLES:
        return _counted_words(str(given))
    from tokbench.files.untrusted import read_named, unreadable
    from tokbench.files.untrusted_json import load_strict_json

    hint = 'it is a JSON object of pre-tokens with their counts, as {" the": 12, "s": 3}'
    try:
        found = load_strict_json(read_named(path, limit=_MAX_COUNTS_BYTES), path=path)
    except (OSError, ModelFormatError) as error:
        raise unreadable("file of word counts", path, error, hint=hint) from None
    if not isinstance(found, dict) or not all(type(count) is int and count > 0 for count in found.values()):
        raise ConfigError(f"{path} has no word counts", hint=hint)
    return found


def _counted_words(name: str) -> dict[str, int]:
    from tokbench.workbench.count_words import training_words

    words = training_words(name)
    if words.backend not in (None, "bpe"):
        raise ConfigError(
            f"{name} has the words of {words.backend}, and only BPE is replayed",
            hint="count pre-tokens: tokbench count-words --pattern …",
        )
    return {word.decode(): count for arrays in words.arrays() for word, count in arrays.items()}


def list_rules() -> RuleList:
    """List all rules."""
    return RuleList(tuple(all_rules().values()))


@dataclass(frozen=True, slots=True)
class RuleList:
    """The rules that `lint --list` shows."""

    rules: tuple[Rule, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return {"schema": "tokbench.lint.rules/1", "rules": [rule.to_json() for rule in self.rules]}


@dataclass(frozen=True, slots=True)
class LintResult:
    """The findings of the rules.

    Attributes:
        info: the tokenizer.
        place: the path or name it was opened by.
        outcomes: the outcome of each rule, in the order of the catalogue.
        reachability: the reachability of each token; None if no rule of that group was checked.
    """

    info: TokenizerInfo
    place: str
    outcomes: tuple[Outcome, ...]
    reachability: Reachability | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all rules."""
        return tuple(finding for outcome in self.outcomes for finding in outcome.findings)

    @property
    def by_severity(self) -> dict[Severity, int]:
        """Number of findings of each severity, the most severe first."""
        return counted_by_severity(self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return {
            "schema": "tokbench.lint/1",
            "name": self.info.name,
            "place": self.place,
            "vocab_size": self.info.vocab_size,
            "rules": [outcome.to_json() for outcome in self.outcomes],
            "counts": {severity.value: number for severity, number in self.by_severity.items()},
            "findings": [finding.to_json() for finding in self.findings],
        }

    def verdict_lines(self) -> bytes:
        """Return the verdict on each token, one JSON object per line, for `--verdicts`. Raises `ConfigError`."""
        import orjson

        found = self.reachability
        if found is None:
            raise ConfigError(
                "--verdicts needs the rules of reachability",
                hint="select them, or leave --select and --ignore out",
            )
        return b"".join(orjson.dumps(found.verdict(id)) + b"\n" for id in found.ids)

    def to_sarif(self) -> dict[str, Any]:
        """Return the SARIF document that `--sarif` writes."""
        from tokbench import __version__

        return sarif_document(self.outcomes, path=self.place, version=__version__)


def _reference(name: str, request: OpenRequest, *, progress: Progress) -> LintTarget:
    """Open the reference; options for bare vocabularies apply only if it is one."""
    try:
        opened = find_and_open(name, request, progress=progress)
    except ConfigError:
        opened = find_and_open(name, OpenRequest(), progress=progress)
    return LintTarget(opened)


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
