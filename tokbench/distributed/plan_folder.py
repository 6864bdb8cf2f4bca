"""The folder of work in parts: the plan is written first, and only an equal plan may continue the work."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import counted
from tokbench.distributed.corpus_plan import read_plan
from tokbench.errors import ConfigError, StoreError
from tokbench.files.storage.open import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.distributed.corpus_plan import CorpusPlan
    from tokbench.files.storage.place import Place, Stored

PLAN_NAME = "plan.json"

_SHARE = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class Share:
    """The parts that one of several processes works on: every `of`-th, beginning with part `number` (from 1)."""

    number: int
    of: int

    def has(self, part: int) -> bool:
        """Whether a part belongs to the share."""
        return part % self.of == self.number - 1


def parse_share(text: str) -> Share:
    """Parse the value of `--part`. Raises `ConfigError`.

    >>> parse_share("3/8").has(10)
    True
    """
    match = _SHARE.fullmatch(text)
    share = None if match is None else Share(int(match[1]), int(match[2]))
    if share is None or not 1 <= share.number <= share.of:
        raise ConfigError(
            f"--part {text!r} is not of the form I/N", hint="write the third of eight parts as 3/8"
        )
    return share


def begin(
    plan: CorpusPlan,
    folder: Place,
    *,
    option: str,
    resume: bool,
    is_alone: bool = False,
    again: str = "--force starts again",
) -> None:
    """Write the plan into an empty folder, or compare it with the plan in the folder.

    A plan of which no part was finished, as after an error in the first one, is replaced if nobody works on it.

    Args:
        plan: the plan of the work.
        folder: the folder.
        option: the option that names the folder, for messages.
        resume: whether to continue an earlier run.
        is_alone: whether no other process can be at work in the folder.
        again: how to start over, for messages.

    Raises:
        StoreError: the folder contains something else.
    """
    place = folder / PLAN_NAME
    others = [file for file in folder.files() if file.place.name != PLAN_NAME]
    if not place.exists():
        if strangers := [file for file in others if not file.place.name.startswith(".")]:
            raise StoreError(
                f"{folder} contains {strangers[0].place.name}, which does not belong to a run",
                hint=f"{option} names a new folder",
            )
        place.write(plan.dump())
    elif is_alone and not others:
        place.write(plan.dump())
    elif not resume:
        raise StoreError(
            f"{folder} contains the counts of an earlier run", hint=f"--resume continues it, {again}"
        )
    elif (before := read_plan(place, schema=plan.schema)).dump() != plan.dump():
        raise StoreError(
            f"{folder} contains the counts of a different run: {_difference(before, plan)}",
            hint=f"give the same files and options as before; {again}",
        )


def open_plan(arguments: Mapping[str, Any], *, schema: str) -> tuple[Place, CorpusPlan]:
    """Return the folder and the plan that the arguments of a task name. Raises `ConfigError` if it has another plan."""
    folder = place_of(arguments["folder"])
    plan = _known_plan((folder / PLAN_NAME).stat(), schema)
    if plan.id != arguments["plan"]:
        raise ConfigError(f"{folder} has a different plan now", hint="is another run writing there?")
    return folder, plan


@lru_cache(maxsize=1)
def _known_plan(stored: Stored, schema: str) -> CorpusPlan:
    """Read a plan, which takes as long as it has files, once for all tasks of a process."""
    return read_plan(stored.place, schema=schema)


@contextmanager
def resume_reported(*, share: Share | None = None) -> Iterator[None]:
    """Report on Ctrl-C that finished parts are kept, and what continues: the same command if it works on a share."""
    try:
        yield
    except KeyboardInterrupt:
        how = "--resume" if share is None else "the same command"
        raise KeyboardInterrupt(f"the finished parts are kept: {how} continues with them") from None


def _difference(before: CorpusPlan, now: CorpusPlan) -> str:
    """Describe the difference of two plans."""
    settings = difference(
        _flattened(before.settings, now.settings), _flattened(now.settings, before.settings)
    )
    if changed := settings or difference(before.reading, now.reading):
        return changed
    if changed := changed_file(*({file.name: file for file in plan.files} for plan in (before, now))):
        return changed
    return f"it has {counted(len(before.parts), 'part')}, but this --part-bytes makes {len(now.parts)} of it"


def changed_file(before: Mapping[str, object], now: Mapping[str, object]) -> str | None:
    """Describe the first difference of two sets of files, name → version; None if there is none.

    >>> changed_file({"a.txt": 1, "b.txt": 1}, {"a.txt": 1, "b.txt": 2})
    'b.txt has changed since'
    """
    for name in sorted({*before, *now}):
        if name not in now:
            return f"{name} is no longer in the corpus"
        if name not in before:
            return f"{name} is new in the corpus"
        if before[name] != now[name]:
            return f"{name} has changed since"
    return None


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Describe the first difference of two sets of options; None if there is none.

    >>> difference({"documents": "file"}, {"documents": "lines"})
    'documents was file, and is lines'
    """
    for name, value in now.items():
        if (old := before.get(name)) != value:
            has_parts = isinstance(value, list) and any(isinstance(item, dict) for item in value)
            return (
                f"{name} changed"
                if has_parts
                else f"{name} was {_value_text(old)}, and is {_value_text(value)}"
            )
    return None


def _flattened(settings: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with those in `options` moved to the top level; those that only `others` has are None."""
    names = {*settings, *others} - {"options"}
    inner, other_inner = (dict(mapping.get("options", {})) for mapping in (settings, others))
    return {name: settings.get(name) for name in sorted(names)} | {
        name: inner.get(name) for name in sorted({*inner, *other_inner})
    }


def _value_text(value: Any) -> str:
    return "left out" if value is None else f"{value}"
