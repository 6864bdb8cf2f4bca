"""Places by name: paths and URLs."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.errors import BackendUnavailableError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.files.storage.place import Place
    from tokbench.files.storage.remote import RemotePlace

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_READ_ONLY = {"http", "https"}
_OF_THIS_PROCESS = {"memory"}
_A_STORE = "name a folder, or the URL of a store, such as s3://bucket/folder"
_LIBRARIES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs"}


def is_url(name: object) -> bool:
    """Whether a name is a URL.

    >>> is_url("s3://bucket/a.txt"), is_url("file:///a.txt"), is_url("C:/a.txt"), is_url("a.txt")
    (True, True, False, False)
    """
    return isinstance(name, str) and _SCHEME.match(name) is not None


def place_of(name: str | Path) -> Place:
    """Return the place of a path or a URL such as `s3://bucket/folder`, without accessing it.

    Raises:
        BackendUnavailableError: fsspec, or its package for these URLs, is not installed.
        StoreError: the kind of URL is unknown.

    >>> place = place_of("file:///data") / "words.json"
    >>> str(place), place.name
    ('/data/words.json', 'words.json')
    """
    from tokbench.files.storage.place import LocalPlace

    text = os.fspath(name)
    if not is_url(text):
        return LocalPlace(Path(text))
    from urllib.parse import unquote, urlsplit  # imported here, as only URLs need it

    parts = urlsplit(text)
    if parts.scheme.lower() == "file":
        return LocalPlace(Path(unquote(parts.path)))
    return remote_place(text)


def remote_place(url: str) -> RemotePlace:
    """Return the place of a URL that is not a local file; errors are those of `place_of`."""
    if find_spec("fsspec") is None:
        raise BackendUnavailableError(
            f"{url}: URLs need the package fsspec", hint="pip install 'tokbench[cluster]'"
        )
    import fsspec

    from tokbench.files.storage.remote import RemotePlace

    scheme = url.partition("://")[0].lower()
    try:
        store, path = fsspec.core.url_to_fs(url.rstrip("/") if not url.endswith("://") else url)
    except ImportError as error:
        library = _LIBRARIES.get(scheme)
        hint = f"pip install {library}" if library else str(error)
        raise BackendUnavailableError(f"{url}: {scheme}:// URLs need another package", hint=hint) from None
    except ValueError as error:
        if "Protocol not known" not in str(error):
            raise StoreError(f"{url} cannot be used: {error}") from None
        raise StoreError(
            f"{url}: {scheme}:// URLs are not supported",
            hint="use a path, or a URL that fsspec supports: s3://, gs://, hdfs://, …",
        ) from None
    except OSError as error:  # from protocols that connect at once, such as ftp
        raise StoreError(f"{url} cannot be reached: {error.strerror or error}") from error
    return RemotePlace(url.rstrip("/"), store, path)


def is_of_this_process(name: str | Path) -> bool:
    """Whether a URL names something in the memory of this process, which no other one sees, and which ends with it.

    >>> is_of_this_process("memory://words"), is_of_this_process("s3://words")
    (True, False)
    """
    return _scheme_of(name) in _OF_THIS_PROCESS


def refuse_unwritable(folder: str | Path, *, is_for_others: bool = False) -> None:
    """Raise `StoreError`, before any work, if a URL can only be read, or is one that the processes that need it lack.

    Args:
        folder: the path or URL of the output.
        is_for_others: whether processes other than this one write there, or read it afterwards.
    """
    if (scheme := _scheme_of(folder)) in _READ_ONLY:
        raise StoreError(f"{folder} cannot be written: {scheme}:// URLs are only read", hint=_A_STORE)
    if is_for_others and is_of_this_process(folder):
        raise StoreError(f"{folder} is in the memory of this process alone", hint=_A_STORE)


def _scheme_of(name: str | Path) -> str:
    match = _SCHEME.match(os.fspath(name))
    return match[1].lower() if match else ""


def within(folder: str | Path) -> Callable[[str | Path], bool]:
    """Return a function that tells whether a path or URL is the folder or below it, after resolving links.

    >>> [within("memory://b/words")(name) for name in ("memory://b/words/a", "memory://b/words2", "words/a")]
    [True, False, False]
    """
    place = place_of(folder)
    if place.local is None:
        prefix = str(place)
        return lambda name: str(name).rstrip("/") == prefix or str(name).startswith(f"{prefix}/")
    root, folders = place.local.resolve(), dict[Path, Path]()

    def is_within(name: str | Path) -> bool:
        path = place_of(name).local
        if path is None:
            return False
        if path.parent not in folders:  # resolve each folder only once, as it may hold many files
            folders[path.parent] = path.parent.resolve()
        resolved = folders[path.parent] / path.name
        return resolved.is_relative_to(root) or (path.is_symlink() and path.resolve().is_relative_to(root))

    return is_within
