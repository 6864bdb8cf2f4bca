"""Selection of tokens by the user: by the script of their letters, or by a list of ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokbench.corpus.scripts import COMMON, script_named, script_of_letter
from tokbench.errors import ConfigError, ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

_ID = re.compile(r"[0-9]{1,100}")
_LINE_SHOWN = 40
_MAX_LIST_BYTES = 1 << 28
_LIST_HINT = (
    "it has an id at the start of each line, alone or before a tab, as `tokbench inspect --vocab-out FILE.tsv` "
    "writes it"
)


def parse_scripts(names: Sequence[str]) -> frozenset[str]:
    """Parse comma-separated lists of scripts, as accepted by `--script`.

    Raises:
        ConfigError: a name is not a Unicode script, or no script is named.

    >>> sorted(parse_scripts(["thai, Han"]))
    ['Han', 'Thai']
    """
    given = filter(None, (part.strip() for part in ",".join(names).split(",")))
    found = frozenset(map(script_named, given))
    if not found:
        raise ConfigError("no script is named", hint="as in --script Thai,Han")
    return found


def of_scripts(
    tokens: Mapping[int, bytes],
    *,
    drop: Collection[str] = (),
    keep: Collection[str] | None = None,
) -> frozenset[int]:
    """Return the ids of tokens with a letter of a script in `drop`, or of a script not in `keep`.

    Letters shared by several scripts and tokens with incomplete characters are ignored.

    Args:
        tokens: id → bytes.
        drop: names of the scripts to drop.
        keep: names of the scripts to keep; None keeps all scripts that are not dropped.

    >>> tokens = {0: b"a", 1: " б".encode(), 2: "aб".encode(), 3: b"1", 4: "б".encode()[:1]}
    >>> sorted(of_scripts(tokens, drop=["Cyrillic"])), sorted(of_scripts(tokens, keep=["Cyrillic"]))
    ([1, 2], [0, 2])
    """
    found = set()
    for id, data in tokens.items():
        try:
            scripts = {script_of_letter(character) for character in data.decode()} - {COMMON}
        except UnicodeDecodeError:
            continue
        if scripts & set(drop) or (keep is not None and scripts - set(keep)):
            found.add(id)
    return frozenset(found)


def read_ids(path: Path) -> frozenset[int]:
    """Read the ids of a file, see `parse_ids`. Raises `ConfigError`, also for a file without ids."""
    from tokbench.files.untrusted import decode_text, read_named, unreadable

    try:
        text = decode_text(read_named(path, limit=_MAX_LIST_BYTES), path=path)
    except (OSError, ModelFormatError) as error:
        raise unreadable("list", path, error, hint=_LIST_HINT) from None
    found = parse_ids(text.splitlines(), name=str(path))
    if not found:
        raise ConfigError(f"{path} lists no id", hint=_LIST_HINT)
    return found


def parse_ids(lines: Sequence[str], *, name: str) -> frozenset[int]:
    r"""Parse a list of ids: one per line, or the first column of a table such as `tokbench inspect --vocab-out` writes.

    Args:
        lines: lines of the file; empty lines, lines that begin with # and a header `id` are ignored.
        name: name of the file for error messages.

    Raises:
        ConfigError: a line does not begin with an id.

    >>> sorted(parse_ids(["id\ttext", "7\tab", "# rare", "", "3"], name="list.tsv"))
    [3, 7]
    """
    found = set()
    for number, line in enumerate(lines, start=1):
        cell = line.partition("\t")[0].strip()
        if not cell or cell.startswith("#") or (cell == "id" and number == 1):
            continue
        if not _ID.fullmatch(cell):
            raise ConfigError(
                f"{name}, line {number}: {cell[:_LINE_SHOWN]!r} is not an id",
                hint=_LIST_HINT,
            )
        found.add(int(cell))
    return frozenset(found)
