"""Safe repairs: of settings that contradict the vocabulary, without changing the ids of any text.

The right repair of ids would depend on how the model was trained, which no file says, and is left to its owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.post_processing import input_of
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import quoted
from tokbench.errors import ConfigError, ConversionError
from tokbench.files.untrusted import read_regular
from tokbench.formats.tokenizer_config.fields import token_id
from tokbench.lint.catalogue import rule_named
from tokbench.opening.config_files import CONFIG, GENERATION, NAMES
from tokbench.opening.recognition import Format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.lint.findings import Finding
    from tokbench.lint.target import LintTarget

_LIMIT = 256 << 20
_COPIED = (
    *NAMES,
    *("vocab.json", "merges.txt", "vocab.txt", "encoder.json", "vocab.bpe", "config.json"),
    *("LICENSE", "README.md"),
)
_FAST = "PreTrainedTokenizerFast"


@dataclass(frozen=True, slots=True)
class Repair:
    """A change to one file.

    Attributes:
        finding: the finding that it repairs.
        file: name of the file.
        change: the change in words.
    """

    finding: Finding
    file: str
    change: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of the repair."""
        return {"rule": self.finding.rule, "file": self.file, "change": self.change}


def check_repairable(target: LintTarget) -> Path:
    """Return the folder to repair. Raises `ConfigError` if it is not a folder with a tokenizer.json."""
    if target.opened.source.format is not Format.TOKENIZER_JSON or target.folder is None:
        raise ConfigError(
            "--fix repairs only a tokenizer that is opened from the tokenizer.json of a folder",
            hint="name that file with -t; `tokbench convert --to tokenizers` writes one",
        )
    return target.folder


def repaired_files(
    target: LintTarget, findings: Iterable[Finding]
) -> tuple[dict[str, bytes], tuple[Repair, ...]]:
    """Return the files of a tokenizer's folder after all safe repairs, and the repairs.

    Raises:
        ConfigError: it is not a folder with a tokenizer.json.
        ModelFormatError: a file beside it is damaged.
    """
    import orjson

    folder = check_repairable(target)
    changed: dict[str, dict[str, Any]] = {}
    repairs = []
    for finding in findings:
        repair = _REPAIRS.get(finding.rule)
        made = repair(target, finding, changed) if repair is not None else None
        if made is not None:
            repairs.append(made)
    # Weights and programs are not copied.
    paths = [target.opened.source.files[0], *(folder / name for name in _COPIED)]
    files = {path.name: read_regular(path, limit=_LIMIT) for path in paths if path.is_file()}
    for name, document in changed.items():
        files[name] = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    return files, tuple(repairs)


def check_same_ids(before: Tokenizer, after: Tokenizer, texts: Iterable[str]) -> int:
    """Check that two tokenizers give the same ids for texts under each special policy; return the number of texts.

    Raises:
        ConversionError: the ids of a text differ.
    """
    compared = 0
    for text in texts:
        for special in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
            if input_of(before, text, special=special).ids != input_of(after, text, special=special).ids:
                raise ConversionError(
                    f"the repaired copy gives different ids for {quoted(text)}", hint="nothing was written"
                )
        compared += 1
    return compared


_Changed = dict[str, dict[str, Any]]


def _changed(target: LintTarget, name: str, changed: _Changed) -> dict[str, Any] | None:
    """Return the current state of a changed file; None if the file is missing or no JSON object."""
    if name not in changed:
        found = target.beside(name)
        if not isinstance(found, dict):
            return None
        changed[name] = dict(found)
    return changed[name]


def _without_clean_up(target: LintTarget, finding: Finding, changed: _Changed) -> Repair | None:
    document = _changed(target, CONFIG, changed)
    if document is None:
        return None
    document["clean_up_tokenization_spaces"] = False
    return Repair(finding, CONFIG, "clean_up_tokenization_spaces=false")


def _plain_class(target: LintTarget, finding: Finding, changed: _Changed) -> Repair | None:
    document = _changed(target, CONFIG, changed)
    if document is None:
        return None
    document["tokenizer_class"] = _FAST
    return Repair(finding, CONFIG, f"tokenizer_class={_FAST}, which takes tokenizer.json as it is")


def _for_both_versions(target: LintTarget, finding: Finding, changed: _Changed) -> Repair | None:
    document = _changed(target, CONFIG, changed)
    if document is None:
        return None
    if finding.details["field"] == "tokenizer_class":
        return _plain_class(target, finding, changed)
    listed = document.pop("extra_special_tokens", None)
    if not isinstance(listed, list):
        return Repair(finding, CONFIG, "extra_special_tokens is left out")
    document["additional_special_tokens"] = listed  # version 5 prefers the first name if a file has both
    return Repair(finding, CONFIG, "extra_special_tokens is named additional_special_tokens")


def _turn_end(target: LintTarget, finding: Finding, changed: _Changed) -> Repair | None:
    """Add the ending to the ids of generation_config.json, if it is the token with the role eos."""
    eos = target.opened.source.config.roles.get("eos")
    id = None if eos is None else token_id(target.tokenizer, eos)
    document = _changed(target, GENERATION, changed) if id in finding.token_ids else None
    if document is None:
        return None
    ids = document.get("eos_token_id")
    listed = ids if isinstance(ids, list) else [] if ids is None else [ids]
    document["eos_token_id"] = [*listed, *([] if id in listed else [id])]
    return Repair(finding, GENERATION, f"eos_token_id has {id}, {eos}, too")


def _setting(target: LintTarget, finding: Finding, changed: _Changed) -> Repair | None:
    option, its = finding.details["option"], finding.details["tokenizer_json"]
    document = _changed(target, CONFIG, changed)
    if document is None:
        return None
    document[option] = its
    return Repair(finding, CONFIG, f"{option}={str(its).lower()}, as tokenizer.json has it")


def _program(target: LintTarget, finding: Finding, changed: _Changed) -> Repair | None:
    """Drop a program, or the `auto_map` entry that names one as the tokenizer with the class that it defines."""
    name = finding.subject.removeprefix("auto_map of ")
    if name == finding.subject:
        return Repair(finding, name, "left out of the copy")
    document = _changed(target, name, changed)
    if document is None:
        return None
    others = {key: value for key, value in document.pop("auto_map").items() if key != "AutoTokenizer"}
    if others:
        document["auto_map"] = others
    if name == CONFIG:
        document["tokenizer_class"] = _FAST
    return Repair(finding, name, "auto_map without AutoTokenizer: tokenizer.json is read by itself")


_REPAIRS: Mapping[str, Callable[[LintTarget, Finding, _Changed], Repair | None]] = {
    "clean-up-spaces": _without_clean_up,
    "class-disagrees": _plain_class,
    "needs-transformers-5": _for_both_versions,
    "turn-end-not-eos": _turn_end,
    "settings-disagree": _setting,
    "program-beside": _program,
}

_MODEL_HAS_ROWS = "the model has a row for each token: only training again changes the vocabulary"
_OTHER_IDS = "a repair gives texts different ids than those that the model was trained on"
_NOT_TOLD = "what the model was trained with is not in the files"
_WHY_LEFT = {
    "reachability": _MODEL_HAS_ROWS,
    "training": _MODEL_HAS_ROWS,
    "characters": _MODEL_HAS_ROWS,
    "vocabulary": _MODEL_HAS_ROWS,
    "bytes": _OTHER_IDS,
    "whitespace": _OTHER_IDS,
    "special-tokens": _OTHER_IDS,
    "speed": _OTHER_IDS,
    "roles": _NOT_TOLD,
    "template": "what a template writes is what the model was trained on: its owner decides",
    "files": _NOT_TOLD,
}


def why_left(finding: Finding) -> str:
    """Return the reason why a finding without a safe repair is left."""
    return _WHY_LEFT[rule_named(finding.rule).group]
