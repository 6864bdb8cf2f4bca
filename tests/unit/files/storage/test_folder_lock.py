"""A folder is held by one run, or shared by runs that agree to share it; a killed run holds nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tokbench.errors import StoreError
from tokbench.files.storage.folder_lock import LOCK_NAME, locked
from tokbench.files.storage.open import place_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the system has no such locks")


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [(False, False, True), (False, True, True), (True, False, True), (True, True, False)],
)
def test_lock_is_exclusive_or_shared(tmp_path: Path, *, first: bool, second: bool, is_refused: bool) -> None:
    folder = place_of(tmp_path / "new" / "folder")
    with locked(folder, is_shared=first):
        if is_refused:
            with (
                pytest.raises(StoreError, match="another run is writing to"),
                locked(folder, is_shared=second),
            ):
                pass
        else:
            with locked(folder, is_shared=second):
                pass
    (tmp_path / "new" / "folder").mkdir(parents=True, exist_ok=True)
    with locked(folder, is_shared=False):
        pass
    assert list((tmp_path / "new" / "folder").iterdir()) == []


def test_empty_folder_made_by_the_lock_is_removed(tmp_path: Path) -> None:
    with locked(place_of(tmp_path / "empty"), is_shared=False):
        pass
    with locked(place_of(tmp_path / "full"), is_shared=False):
        (tmp_path / "full" / "words").touch()
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["full", "full/words"]


def test_error_inside_the_lock_is_raised_unchanged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), locked(place_of(tmp_path), is_shared=False):
        (tmp_path / "missing").open()
    assert list(tmp_path.iterdir()) == []


def test_deleted_lock_file_is_locked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder deletes the lock at the end: a run that opened it before would hold a file that nobody else sees."""
    import fcntl

    flock, opened = fcntl.flock, []

    def late(file: object, operation: int) -> None:
        if not opened:
            (tmp_path / LOCK_NAME).unlink()
        opened.append(file)
        flock(file, operation)  # type: ignore[arg-type]

    monkeypatch.setattr(fcntl, "flock", late)
    with locked(place_of(tmp_path), is_shared=False):
        assert len(opened) == 2
        with pytest.raises(StoreError), locked(place_of(tmp_path), is_shared=False):
            pass


def test_unwritable_places_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, message in (("file", "is a file"), ("file/below", "cannot be written")):
        with pytest.raises(StoreError, match=message), locked(place_of(tmp_path / name), is_shared=False):
            pass


def test_killed_run_releases_the_lock(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from tokbench.files.storage.folder_lock import locked\n"
        "from tokbench.files.storage.open import place_of\n"
        "with locked(place_of(sys.argv[1]), is_shared=False):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        with pytest.raises(StoreError), locked(place_of(tmp_path), is_shared=True):
            pass
        os.kill(process.pid, signal.SIGKILL)
    with locked(place_of(tmp_path), is_shared=False):
        pass
