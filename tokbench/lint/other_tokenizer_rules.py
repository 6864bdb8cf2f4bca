"""The rule about tokenizers of other files in the same folder, as tekken.json or a GGUF beside a tokenizer.json."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.core.roles import role_ids_of
from tokbench.core.wording import counted, is_or_are, quoted
from tokbench.errors import TokbenchError
from tokbench.inspection.contents import TokenizerContents
from tokbench.lint.agreement import disagreement
from tokbench.lint.findings import Found, Severity
from tokbench.lint.rules import DoesNotApplyError, rules_of
from tokbench.opening.open import open_found
from tokbench.opening.recognition import Format, recognize, tokenizer_files
from tokbench.opening.request import OpenRequest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.lint.target import LintTarget
    from tokbench.opening.request import Opened

_SHOWN = 3
_MOST_FILES = 32


@rules_of("files")(
    name="tokenizers-disagree",
    severity=Severity.WARNING,
    breaks="Programs read different files of one folder: one that reads another file than this gets other ids.",
    found="Every other file of the folder that is a tokenizer is opened: ids are compared, and lossless ones on texts.",
    remedy="Make all files anew from the one that the model was trained with, or give each model a folder.",
)
def _others(target: LintTarget) -> Iterator[Found]:
    others = list(_others_beside(target))
    if not others:
        raise DoesNotApplyError("no other file of its folder is a tokenizer")
    for path in others[:_MOST_FILES]:
        try:
            other = _opened_in(path)
        except TokbenchError as error:
            yield Found(
                subject=path.name, evidence=f"it cannot be opened: {error.message}", severity=Severity.NOTE
            )
            continue
        if (evidence := _difference(target, other)) is not None:
            yield Found(subject=path.name, evidence=evidence)
    if len(others) > _MOST_FILES:
        yield Found(
            subject=others[_MOST_FILES].name,
            evidence=f"this and later files, {len(others) - _MOST_FILES:,} in all, were not compared",
            severity=Severity.NOTE,
        )


def _opened_in(path: Path) -> Opened:
    """Open a file as the tokenizer of its folder, whose class may give its pieces other ids. Raises `TokbenchError`."""
    opened = open_found(replace(recognize(path), path=path.parent), OpenRequest())
    if path in opened.source.damaged:  # and another file was opened instead
        raise opened.source.damaged[path]
    return opened


def _others_beside(target: LintTarget) -> Iterator[Path]:
    """Yield the other files that are tokenizers; merges are compared by vocabulary-files-disagree."""
    source = target.opened.source
    if target.folder is None or source.format is Format.SAVED:
        return
    read = {path.resolve() for path in source.files}
    for path in tokenizer_files(target.folder):
        try:
            is_list = recognize(path).format is Format.VOCAB_AND_MERGES
        except TokbenchError:
            continue
        if not is_list and path.resolve() not in read:
            yield path


def _difference(target: LintTarget, other: Opened) -> str | None:
    """Say how another tokenizer differs; None if no difference was found."""
    ours, theirs = target.tokenizer, other.tokenizer
    name, other_tokens = _name(target.opened), TokenizerContents(other).ordinary
    unknown = {
        role_ids_of(tokenizer).get("unk") for tokenizer in (ours, theirs)
    }  # its spelling is not its bytes
    moved = [
        (id, token)
        for id, token in target.ordinary.items()
        if id in other_tokens and other_tokens[id] != token and id not in unknown
    ]
    if moved:
        shown = ", ".join(
            f"{id} is {quoted(other_tokens[id])} there and {quoted(token)} in {name}"
            for id, token in moved[:_SHOWN]
        )
        return f"{counted(len(moved), 'id')} {is_or_are(len(moved))} of another token: {shown}"
    if not (ours.info.lossless and theirs.info.lossless):
        return None
    found = disagreement(theirs, ours, template=False, specials=False)
    if found is None:
        return None
    return (
        f"its tokens have the same ids, and {quoted(found.text)} is {list(found.ours)} there and "
        f"{list(found.theirs)} by {name}"
    )


def _name(opened: Opened) -> str:
    return opened.source.files[0].name if opened.source.files else opened.source.name


RULES = (_others,)
