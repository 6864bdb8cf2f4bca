"""Files from others: anything but a regular file is refused before it is opened."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from tokbench.errors import ModelFormatError
from tokbench.files import untrusted

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX has these files")


@posix
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "socket"])
@pytest.mark.parametrize("linked", [False, True])
def test_special_files_are_refused_without_blocking(tmp_path: Path, kind: str, linked: bool) -> None:
    path = tmp_path / "it"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    if linked:
        (tmp_path / "link").symlink_to(path)
        path = tmp_path / "link"
    with pytest.raises(ModelFormatError, match=f"expected a file, found a {kind}"):
        untrusted.read_regular(path, limit=10)


@posix
def test_file_replaced_by_a_pipe_is_refused_without_blocking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"a file")

    def opened(name: Path, flags: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return real(name, flags)

    real = os.open
    with monkeypatch.context() as patched, pytest.raises(ModelFormatError, match="found a pipe"):
        patched.setattr(os, "open", opened)  # not for longer: Python 3.13 removes temporary folders with it
        untrusted.read_regular(path, limit=10)


def test_file_up_to_the_size_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"x" * 10)
    assert untrusted.read_regular(path, limit=10) == b"x" * 10
    with pytest.raises(ModelFormatError, match="at most 9 bytes, found 10"):
        untrusted.read_regular(path, limit=9)


def test_file_that_grows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"x" * 100_000)
    real = untrusted.open_regular

    def growing(name: Path) -> object:
        stream = real(name)
        monkeypatch.setattr(os, "fstat", lambda _: os.stat_result((0, 0, 0, 0, 0, 0, 90_000, 0, 0, 0)))
        return stream

    monkeypatch.setattr(untrusted, "open_regular", growing)
    with pytest.raises(ModelFormatError, match="grows while it is read"):
        untrusted.read_regular(path, limit=1 << 20)
