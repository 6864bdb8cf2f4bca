"""Write a file atomically."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from tokbench.errors import StoreError


def write_file(path: Path, data: bytes) -> None:
    """Write a file beside its place and move it there; a link is followed, what was there is replaced.

    A pipe or a device is written to as it is.

    Raises:
        StoreError: it cannot be written; what was there stays.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
            return
    except OSError as error:
        raise _not_written(path, error) from error
    target = Path(os.path.realpath(path))
    staging = target.with_name(f".{target.name[:40]}.tmp-{secrets.token_hex(6)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with staging.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        staging.replace(target)
    except OSError as error:
        raise _not_written(path, error) from error
    finally:
        with suppress(OSError):
            staging.unlink()


def _not_written(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{path} was not written: {error.strerror or error}; nothing was changed", hint="name another file"
    )
