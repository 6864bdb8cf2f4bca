"""A folder appears whole or not at all: every step is made to fail, to be interrupted, and to be killed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.folders import files_of

from tokbench.errors import StoreError
from tokbench.files import atomic
from tokbench.files.atomic import write_file, write_folder

if TYPE_CHECKING:
    from collections.abc import Callable

OLD = {"a.txt": b"old", "b.txt": b"kept only in the old one"}
NEW = {"a.txt": b"new", "c.txt": b"x" * 10_000}
STEPS = ("mkdir", "fsync", "rename", "open")  # the functions of `os` that a write calls


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture(params=["exchange", "renames"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return how two folders are exchanged: by one system call, or by three renames."""
    if request.param == "renames":
        monkeypatch.setattr(atomic, "_renameat2_exchange", no_exchange)
    return str(request.param)


def no_exchange(one: Path, other: Path) -> None:
    raise OSError(errno.ENOSYS, "no such call")


class Fault:
    """A fault that raises an error before or after the n-th step, and counts all steps."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, at: int, error: BaseException, after: bool
    ) -> None:
        self.steps, self.at, self.error, self.after = 0, at, error, after
        for name in STEPS:
            monkeypatch.setattr(os, name, self.wrapped(getattr(os, name)))
        exchange = atomic._renameat2_exchange
        if exchange is not no_exchange:
            monkeypatch.setattr(atomic, "_renameat2_exchange", self.wrapped(exchange))

    def wrapped(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.steps += 1
            if self.steps != self.at:
                return step(*args, **kwargs)
            if self.after:
                with suppress(OSError):
                    result = step(*args, **kwargs)
                    if step.__name__ == "open":
                        os.close(result)
            raise self.error

        return call


def faulty_write(
    place: Path, *, replace: bool, at: int, error: BaseException, after: bool
) -> tuple[bool, bool]:
    """Write NEW with a fault; return whether the write failed, and whether it reached that step."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        fault = Fault(monkeypatch, at=at, error=error, after=after)
        try:
            write_folder(place, NEW, replace=replace)
        except (StoreError, KeyboardInterrupt):
            return True, True
        return False, fault.steps >= at


def test_new_folder_is_created_with_its_parents(tmp_path: Path) -> None:
    place = tmp_path / "one" / "two" / "mine"
    write_folder(place, NEW, replace=False)
    assert files_of(place) == NEW
    assert names(place.parent) == ["mine"]


def test_folder_is_replaced_completely(tmp_path: Path, way: str) -> None:
    place = tmp_path / "mine"
    write_folder(place, OLD, replace=False)
    write_folder(place, NEW, replace=True)
    assert files_of(place) == NEW
    assert names(tmp_path) == ["mine"]


def test_existing_folder_is_not_replaced_by_default(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    write_folder(place, OLD, replace=False)
    with pytest.raises(StoreError, match="it exists; nothing was changed"):
        write_folder(place, NEW, replace=False)
    assert files_of(place) == OLD
    assert names(tmp_path) == ["mine"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
def test_interrupt_at_any_step_leaves_the_old_or_the_new_folder(
    tmp_path: Path, way: str, replace: bool, after: bool
) -> None:
    at, reached = 0, True
    while reached:
        at += 1
        place = tmp_path / str(at) / "mine"
        place.parent.mkdir()
        if replace:
            write_folder(place, OLD, replace=False)
        failed, reached = faulty_write(place, replace=replace, at=at, error=KeyboardInterrupt(), after=after)
        assert failed == reached, "an interrupt is never swallowed"
        assert names(place.parent) == ["mine"] or (names(place.parent) == [] and not replace)
        assert not place.exists() or files_of(place) in ((OLD, NEW) if replace else (NEW,))
    assert at > 6


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES], ids=errno.errorcode.__getitem__)
@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
def test_error_at_any_step_changes_nothing(tmp_path: Path, way: str, replace: bool, code: int) -> None:
    at, reached, failures = 0, True, 0
    while reached:
        at += 1
        place = tmp_path / str(at) / "mine"
        place.parent.mkdir()
        if replace:
            write_folder(place, OLD, replace=False)
        error = OSError(code, os.strerror(code))
        failed, reached = faulty_write(place, replace=replace, at=at, error=error, after=False)
        failures += failed
        if not failed:  # no fault, or a harmless one: making a parent that exists
            assert files_of(place) == NEW
        elif replace:
            assert files_of(place) == OLD
        assert names(place.parent) == (["mine"] if replace or not failed else [])
    assert failures >= 6


def test_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError) as caught:
        write_folder(tmp_path / "mine", NEW, replace=False)
    assert caught.value.message == (
        f"{tmp_path / 'mine'} was not written: no space left on the disk; nothing was changed"
    )
    assert caught.value.hint == "free some space, or name a folder on another disk with --out"
    assert isinstance(caught.value.__cause__, OSError)


def test_file_system_without_folder_sync_is_supported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def files_only(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").resolve().is_dir():
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", files_only)
    write_folder(tmp_path / "mine", NEW, replace=False)
    assert files_of(tmp_path / "mine") == NEW


def test_files_are_synced_before_the_folder_appears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, fsync, was_there = tmp_path / "mine", os.fsync, []

    def watched(descriptor: int) -> None:
        was_there.append(place.exists())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    write_folder(place, NEW, replace=False)
    assert was_there == [False] * (len(NEW) + 1) + [True]  # each file, their folder; then the parent


def test_file_as_parent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"precious")
    for place in (tmp_path / "file" / "mine", tmp_path / "file" / "below" / "mine"):
        with pytest.raises(StoreError, match="a part of its path is a file"):
            write_folder(place, NEW, replace=True)
    assert (tmp_path / "file").read_bytes() == b"precious"


def test_file_in_place_of_the_folder_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"precious")
    for replace in (False, True):
        with pytest.raises(StoreError):
            write_folder(tmp_path / "mine", NEW, replace=replace)
    assert (tmp_path / "mine").read_bytes() == b"precious"
    assert names(tmp_path) == ["mine"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_parent_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(StoreError, match="no permission"):
            write_folder(tmp_path / "mine", NEW, replace=False)
    finally:
        tmp_path.chmod(0o755)
    assert names(tmp_path) == []


def test_sub_folder_is_never_deleted(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    (place / "notes").mkdir(parents=True)
    (place / "notes" / "text").write_bytes(b"precious")
    write_folder(place, NEW, replace=True)
    assert files_of(place) == NEW
    assert [path.read_bytes() for path in tmp_path.glob(".mine.tmp-*/notes/text")] == [b"precious"]


def test_link_is_replaced_at_its_target(tmp_path: Path) -> None:
    real, link = tmp_path / "disk" / "real", tmp_path / "link"
    write_folder(real, OLD, replace=False)
    link.symlink_to(real)
    write_folder(link, NEW, replace=True)
    assert link.is_symlink()
    assert files_of(real) == NEW


def test_working_folder_can_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    write_folder(Path(), NEW, replace=True)
    assert files_of(tmp_path / "mine") == NEW
    assert names(tmp_path) == ["mine"]


@pytest.mark.parametrize("name", ["x" * 255, "名" * 85, "a b\n'\"", "-rf", ".hidden", "mine.tmp-1"])
def test_unusual_names_can_be_written(tmp_path: Path, name: str) -> None:
    write_folder(tmp_path / name, OLD, replace=False)
    write_folder(tmp_path / name, NEW, replace=True)
    assert files_of(tmp_path / name) == NEW


def test_too_long_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="its name is too long"):
        write_folder(tmp_path / ("x" * 256), NEW, replace=False)
    assert names(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="umask is POSIX's")
def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_folder(tmp_path / "mine", NEW, replace=False)
    finally:
        os.umask(before)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o750
    assert (tmp_path / "mine" / "a.txt").stat().st_mode & 0o777 == 0o640


def test_one_of_many_concurrent_writers_wins(tmp_path: Path) -> None:
    place, start = tmp_path / "mine", threading.Barrier(8)

    def attempt(writer: int) -> int | None:
        start.wait()
        try:
            write_folder(place, {"a": b"%d" % writer, "b": b"%d" % writer}, replace=False)
        except StoreError:
            return None
        return writer

    with ThreadPoolExecutor(8) as pool:
        winners = [writer for writer in pool.map(attempt, range(8)) if writer is not None]
    assert len(winners) == 1
    assert set(files_of(place).values()) == {b"%d" % winners[0]}
    assert names(tmp_path) == ["mine"]


def test_concurrent_replacing_writers_leave_one_complete_folder(tmp_path: Path, way: str) -> None:
    place, start = tmp_path / "mine", threading.Barrier(8)
    write_folder(place, OLD, replace=False)

    def attempt(writer: int) -> bool:
        start.wait()
        try:
            write_folder(place, {"a": b"%d" % writer, "b": b"%d" % writer}, replace=True)
        except StoreError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        succeeded = list(pool.map(attempt, range(8)))
    assert any(succeeded)
    assert all(succeeded) or way == "renames"
    assert len(set(files_of(place).values())) == 1
    assert names(tmp_path) == ["mine"]


KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from tokbench.files import atomic as folder

at, steps = int(sys.argv[2]), 0

def wrapped(step):
    def call(*args, **kwargs):
        global steps
        steps += 1
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*args, **kwargs)
    return call

for name in ("mkdir", "fsync", "rename", "unlink", "rmdir"):
    setattr(os, name, wrapped(getattr(os, name)))
folder._renameat2_exchange = wrapped(folder._renameat2_exchange)
folder.write_folder(Path(sys.argv[1]), {"a.txt": b"new", "c.txt": b"x" * 10_000}, replace=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="one step in which folders change places is Linux's")
def test_killed_writer_leaves_the_old_or_the_new_folder(tmp_path: Path) -> None:
    processes = []
    for at in range(1, 11):
        place = tmp_path / str(at) / "mine"
        write_folder(place, OLD, replace=False)
        command = [sys.executable, "-c", KILLED_WRITER, str(place), str(at)]
        environment = os.environ | {"PYTHONPATH": str(Path(atomic.__file__).parents[2])}
        processes.append((place, subprocess.Popen(command, env=environment)))
    outcomes = [(process.wait(timeout=60), files_of(place)) for place, process in processes]
    assert all(contents_left in (OLD, NEW) for _, contents_left in outcomes)
    assert (-9, OLD) in outcomes
    assert (-9, NEW) in outcomes
    assert outcomes[-1] == (-9, NEW), "the last kill strikes while the old folder is deleted"


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_FSIZE is POSIX's")
def test_write_beyond_the_file_size_limit_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    write_folder(place, OLD, replace=False)
    script = """
import resource, sys
from pathlib import Path
from tokbench.errors import StoreError
from tokbench.files.atomic import write_file, write_folder

resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_folder(Path(sys.argv[1]), {"a.txt": b"new", "c.txt": b"x" * 1_000_000}, replace=True)
except StoreError as error:
    print(error)
"""
    environment = os.environ | {"PYTHONPATH": str(Path(atomic.__file__).parents[2])}
    # -B: the limit would also truncate the bytecode that Python writes.
    command = [sys.executable, "-B", "-c", script, str(place)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert "was not written: File too large; nothing was changed" in done.stdout
    assert files_of(place) == OLD
    assert names(tmp_path) == ["mine"]


@pytest.mark.parametrize(
    ("code", "hint"),
    [(errno.ENOSPC, "free some space"), (errno.EDQUOT, "free some space"), (errno.EROFS, "another file")],
)
def test_failed_sync_of_a_file_has_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, hint: str
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreError, match="was not written") as told:
        write_file(tmp_path / "a.txt", b"some")
    assert hint in str(told.value.hint)
    assert names(tmp_path) == []
