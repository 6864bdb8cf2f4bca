"""Locations of the bundled presets and texts, and the metadata of the bundled texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tokbench.errors import TokbenchError

BundledKind = Literal["parallel", "code", "edge"]

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class BundledFile:
    """One bundled text.

    Attributes:
        path: its location.
        name: its path inside `corpora/`, such as "parallel/de.txt".
        kind: "parallel" (line-aligned languages), "code", or "edge" (hard cases, not trained on).
        group: the group of its documents, such as "de" or "python".
        title: the group's English name.
        licence: its SPDX identifier.
        bytes: the number of UTF-8 bytes.
        characters: the number of code points.
        lines: the number of lines, including a last one without a line end.
    """

    path: Path
    name: str
    kind: BundledKind
    group: str
    title: str
    licence: str
    bytes: int
    characters: int
    lines: int


def configs_directory() -> Path:
    """Return the folder of the bundled presets. Raises `TokbenchError` if an installation lacks it."""
    return _bundled("configs")


def corpora_directory() -> Path:
    """Return the folder of the bundled texts. Raises `TokbenchError` if an installation lacks it."""
    return _bundled("corpora")


def bundled_files() -> list[BundledFile]:
    """Return the bundled texts, in the order of `MANIFEST.toml`. Raises `TokbenchError` if one is missing.

    Usage:

        titles = {file.group: file.title for file in bundled_files() if file.kind == "parallel"}
    """
    import tomllib

    directory = corpora_directory()
    manifest = directory / "MANIFEST.toml"
    try:
        entries = tomllib.loads(manifest.read_text(encoding="utf-8")).get("file", [])
        return [_bundled_file(directory, entry) for entry in entries]
    except OSError as error:
        raise _incomplete(f"{error.filename or manifest}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError) as error:
        raise _incomplete(f"{manifest} cannot be understood: {error!r}") from error


def _bundled(name: str) -> Path:
    """Return the folder beside the modules (installed), else that of the repository that contains them."""
    installed = _PACKAGE / name
    if installed.is_dir():
        return installed
    repository = _PACKAGE.parent
    # A folder `corpora` beside an installed package would belong to another package.
    if (repository / "pyproject.toml").is_file() and (repository / name).is_dir():
        return repository / name
    raise _incomplete(f"the bundled {name} are not in {_PACKAGE}")


def _bundled_file(directory: Path, entry: dict[str, Any]) -> BundledFile:
    name = str(entry["path"])
    kind = name.partition("/")[0]
    if kind not in get_args(BundledKind):
        raise ValueError(f"{name} is in none of the folders {', '.join(get_args(BundledKind))}")
    path = directory / name
    data = path.read_bytes()
    return BundledFile(
        path=path,
        name=name,
        kind=cast("BundledKind", kind),
        group=str(entry["group"]),
        title=str(entry["title"]),
        licence=str(entry["licence"]),
        bytes=len(data),
        characters=len(data.decode(errors="replace")),
        lines=data.count(b"\n") + (not data.endswith(b"\n") and bool(data)),
    )


def _incomplete(message: str) -> TokbenchError:
    return TokbenchError(
        message, hint="the installation is incomplete: pip install --force-reinstall tokbench"
    )
