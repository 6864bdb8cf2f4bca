"""Places: the same behaviour of a local folder, a store in memory, and one reached by HTTP as S3 is."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

from tokbench.errors import BackendUnavailableError, StoreError
from tokbench.files.storage import remote
from tokbench.files.storage.open import is_url, place_of, refuse_unwritable
from tokbench.files.storage.place import LocalPlace, Stored

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.files.storage.place import Place

KINDS = ("local", "file", "memory", pytest.param("s3", marks=pytest.mark.slow))


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return an empty folder."""
    match request.param:
        case "local":
            return place_of(tmp_path / "folder")
        case "file":
            return place_of(f"file://{tmp_path}/folder")
        case "memory":
            pytest.importorskip("fsspec")
            return place_of(f"memory://{tmp_path.name}")
        case _:
            bucket: str = request.getfixturevalue("bucket")
            return place_of(f"{bucket}/{tmp_path.name}")


def test_written_file_exists_and_is_read(folder: Place) -> None:
    place = folder / "a.txt"
    assert not place.exists()
    assert not folder.exists()
    place.write(b"one")
    assert place.exists()
    assert folder.exists()
    assert (place.name, place.stat().size) == ("a.txt", 3)
    with place.open() as stream:
        assert stream.read() == b"one"


def test_place_has_a_name_that_leads_back_to_it(folder: Place) -> None:
    (folder / "below/a.txt").write(b"one")
    with place_of(str(folder / "below" / "a.txt")).open() as stream:
        assert stream.read() == b"one"
    [file] = folder.files()
    assert str(file.place) == str(folder / "below/a.txt")
    assert place_of(str(file.place)).stat() == file


def test_files_are_listed_by_path_without_hidden_ones(folder: Place) -> None:
    assert folder.files() == []
    for name in ("b/c.txt", "a.txt", "b/.hidden", ".x/d.txt", "b/a.txt"):
        (folder / name).write(name.encode())
    assert [str(file.place).removeprefix(f"{folder}/") for file in folder.files()] == [
        "a.txt",
        "b/a.txt",
        "b/c.txt",
    ]
    assert [file.size for file in folder.files()] == [5, 7, 7]


def test_links_without_a_target_are_listed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")
    targets = {"b.txt": "nowhere", "itself": "itself", "z": "a.txt/below"}
    for name, target in targets.items():
        (tmp_path / name).symlink_to(target)
    listed = place_of(tmp_path).files()
    links = [(name, len(target)) for name, target in targets.items()]
    assert [(file.place.name, file.size) for file in listed] == [("a.txt", 4), *links]


def test_file_that_vanishes_while_it_is_listed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        (tmp_path / name).touch()
    stat = LocalPlace.stat

    def stat_later(place: LocalPlace) -> Stored:
        if place.name == "a":
            place.remove()
        return stat(place)

    monkeypatch.setattr(LocalPlace, "stat", stat_later)
    assert [file.place.name for file in place_of(tmp_path).files()] == ["b"]


def test_local_file_is_put(folder: Place, tmp_path: Path) -> None:
    data = bytes(range(256)) * 5000
    (tmp_path / "source").write_bytes(data)
    (folder / "x.bin").write(b"before")
    (folder / "x.bin").put(tmp_path / "source")
    assert (folder / "x.bin").stat().size == len(data)
    with (folder / "x.bin").open() as stream:
        stream.seek(1_000_003)
        assert stream.tell() == 1_000_003
        assert stream.read(300) == data[1_000_003:1_000_303]
        assert stream.seek(-5, io.SEEK_END) == len(data) - 5
        assert stream.read() == data[-5:]
        assert stream.read() == b""
    assert [file.place.name for file in folder.files()] == ["x.bin"]


def test_version_changes_with_the_file(folder: Place) -> None:
    place = folder / "a.txt"
    place.write(b"one")
    before = place.stat()
    assert place.stat() == before == folder.files()[0]
    place.write(b"two")
    assert place.stat().version != before.version


def test_removed_file_does_not_exist(folder: Place) -> None:
    (folder / "a.txt").write(b"one")
    (folder / "a.txt").remove()
    (folder / "a.txt").remove()
    assert not (folder / "a.txt").exists()
    assert folder.files() == []


def test_missing_file_is_not_found(folder: Place) -> None:
    with pytest.raises(FileNotFoundError):
        (folder / "a.txt").stat()
    with pytest.raises(FileNotFoundError), (folder / "a.txt").open() as stream:
        stream.read()
    (folder / "below/a.txt").write(b"one")
    with pytest.raises(FileNotFoundError):
        (folder / "below").stat()


@pytest.mark.parametrize("url", ["http://host/words", "HTTPS://host/words"])
def test_url_that_can_only_be_read_is_no_output(url: str) -> None:
    with pytest.raises(StoreError, match=f"{url} cannot be written: https?:// URLs are only read") as error:
        refuse_unwritable(url)
    assert error.value.hint == "name a folder, or the URL of a store, such as s3://bucket/folder"


def test_memory_of_this_process_is_no_output_of_others(tmp_path: Path) -> None:
    refuse_unwritable("memory://words")
    with pytest.raises(StoreError, match="memory://words is in the memory of this process alone") as error:
        refuse_unwritable("memory://words", is_for_others=True)
    assert error.value.hint == "name a folder, or the URL of a store, such as s3://bucket/folder"
    for seen in (tmp_path, str(tmp_path), f"file://{tmp_path}", "s3://bucket/words"):
        refuse_unwritable(seen, is_for_others=True)


def test_unwritable_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"a\.txt was not written: Not a directory|File exists"):
        place_of(tmp_path / "file/a.txt").put(tmp_path / "file")


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return a place in memory, whose store a test may break; retries do not wait."""
    pytest.importorskip("fsspec")
    monkeypatch.setattr(remote.time, "sleep", lambda seconds: None)
    place = place_of(f"memory://{tmp_path.name}/a.txt")
    place.write(b"one")
    return place


class Failing:
    """A call that fails a number of times before it does what the original does."""

    def __init__(self, call: Any, error: Exception, times: int) -> None:
        self.call, self.error, self.times = call, error, times
        self.calls = 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return self.call(*arguments, **named)


@pytest.mark.parametrize("error", [ConnectionError("broken"), TimeoutError(), RuntimeError("503 SlowDown")])
def test_temporary_errors_are_retried(memory: Any, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    for name in ("info", "pipe_file", "find"):
        monkeypatch.setattr(memory.store, name, Failing(getattr(memory.store, name), error, 1))
    memory.write(b"two")
    assert memory.stat().size == 3
    with memory.open() as stream:
        raw = stream.raw
        monkeypatch.setattr(raw._file, "read", Failing(raw._file.read, error, 3))
        assert stream.read() == b"two"


def test_permanent_error_is_reported_after_retries(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing(None, ConnectionError("nobody answers\nat all"), 99)
    monkeypatch.setattr(memory.store, "info", failing)
    with pytest.raises(OSError, match="nobody answers, tried 4 times") as failed:
        memory.stat()
    assert failed.value.filename == str(memory)
    assert failing.calls == 4
    with pytest.raises(StoreError, match=r"a\.txt was not written: nobody answers, tried 4 times"):
        memory.write(b"two")


def test_permission_error_is_not_retried(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing(None, PermissionError("Forbidden"), 99)
    monkeypatch.setattr(memory.store, "info", failing)
    with pytest.raises(PermissionError, match="access is denied"):
        memory.stat()
    assert failing.calls == 1


def test_missing_credentials_are_reported(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoCredentialsError(Exception):
        """An exception with the name of botocore's."""

    monkeypatch.setattr(memory.store, "info", Failing(None, NoCredentialsError("Unable to locate"), 99))
    with pytest.raises(PermissionError, match="no credentials were found"):
        memory.stat()


def test_truncated_write_is_repeated(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = memory.store.pipe_file
    calls = []

    def pipe_file(path: str, data: bytes) -> None:
        calls.append(path)
        whole(path, data[:1] if len(calls) == 1 else data)

    monkeypatch.setattr(memory.store, "pipe_file", pipe_file)
    memory.write(b"two")
    assert len(calls) == 2
    assert memory.stat().size == 3


def test_store_with_visible_partial_files_renames(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(memory.store), "protocol", "hdfs")
    whole = memory.store.pipe_file
    seen = []

    def pipe_file(path: str, data: bytes) -> None:
        whole(path, data)
        seen.append(memory.store.cat_file(memory.path))

    monkeypatch.setattr(memory.store, "pipe_file", pipe_file)
    memory.write(b"two")
    assert seen == [b"one"]
    assert memory.store.cat_file(memory.path) == b"two"
    assert len(memory.store.find(memory.path.rpartition("/")[0])) == 1


def test_urls_are_distinguished_from_paths() -> None:
    assert [is_url(name) for name in ("s3://a", "a", "C:/x", "c://x", "://", "-", None)] == [True] + [
        False
    ] * 6


def test_unsupported_url_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(StoreError, match="nonsense:// URLs are not supported"):
        place_of("nonsense://x")


def test_missing_fsspec_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokbench.files.storage.open.find_spec", lambda name: None)
    with pytest.raises(BackendUnavailableError, match="URLs need the package fsspec") as missing:
        place_of("s3://bucket/x")
    assert missing.value.hint == "pip install 'tokbench[cluster]'"


def test_missing_package_of_a_url_scheme_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")

    def url_to_fs(url: str) -> None:
        raise ImportError("Please install gcsfs to access Google Storage")

    monkeypatch.setattr(fsspec.core, "url_to_fs", url_to_fs)
    with pytest.raises(BackendUnavailableError, match="gs:// URLs need another package") as missing:
        place_of("gs://bucket/x")
    assert missing.value.hint == "pip install gcsfs"


def test_unresponsive_server_is_not_a_missing_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the web, fsspec reports a missing file whatever went wrong."""

    def info() -> None:
        try:
            raise ConnectionRefusedError(111, "Connect call failed")
        except OSError as error:
            raise FileNotFoundError("https://localhost:1/x") from error

    monkeypatch.setattr(remote, "_FIRST_WAIT", 0.0)
    with pytest.raises(OSError, match="Connect call failed, tried 4 times") as told:
        remote.retried(info, place="https://localhost:1/x")
    assert not isinstance(told.value, FileNotFoundError)
