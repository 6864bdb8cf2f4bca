"""Tests for resuming shards in parts: unfinished and finished ones, of the same corpus, and of others."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.engines import HereEngine
from support.shard_parts import Case, put
from support.sharded import EOS, tokenizer

import tokbench
from tokbench.errors import CorpusError, DistributedError, ModelFormatError, StoreError
from tokbench.files.storage.open import place_of

if TYPE_CHECKING:
    from collections.abc import Callable


def test_resumed_run_writes_the_same_bytes(case: Case) -> None:
    case.write("wanted")
    with pytest.raises(DistributedError, match="2 of 6 parts failed"):
        case.write(engine=HereEngine(breaking=2))
    with pytest.raises(StoreError, match="contains a run that is unfinished or still running"):
        case.write()
    case.write(resume=True)
    assert case.bytes_of("out") == case.bytes_of("wanted")
    case.write(resume=True)  # resume again, with nothing left to do
    assert case.bytes_of("out") == case.bytes_of("wanted")


def damaged(case: Case, plan: str) -> None:
    (case.folder / "out/plan.json").write_text(plan)
    case.write(resume=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda case: case.write(resume=True, part_bytes=10**9),
            "divided into other parts, by another --part-",
        ),
        (lambda case: case.write(resume=True, eos=EOS), r"documents ended with nothing, and now with <\|end"),
        (lambda case: case.write(resume=True, shard_tokens=7), "--shard-tokens was 100000000, and is 7"),
        (lambda case: case.write(resume=True, dtype="uint32"), "dtype was uint16, and is uint32"),
        (lambda case: (put(case.files[0], b"x"), case.write(resume=True)), r"0\.txt\.gz has changed since"),
        (
            lambda case: (case.files[1].unlink(), case.write(resume=True)),
            r"1\.txt\.gz is no longer in the corpus",
        ),
        (
            lambda case: (put(case.folder / "corpus/7.txt.gz", b"x"), case.write(resume=True)),
            r"7\.txt\.gz is new in the corpus",
        ),
        (lambda case: damaged(case, "{}"), r"plan\.json is damaged"),
        (lambda case: damaged(case, '{"corpus": [], "parts": []}'), r"plan\.json is damaged"),
        (lambda case: damaged(case, "[" * 100_000), r"plan\.json is damaged"),
    ],
)
def test_different_run_is_not_resumed(case: Case, change: Callable[[Case], Any], message: str) -> None:
    with pytest.raises(DistributedError):
        case.write(engine=HereEngine(breaking=1))
    with pytest.raises(StoreError, match=f"this run cannot be resumed: .*{message}") as error:
        change(case)
    assert error.value.hint == (
        "use the same arguments as the first run; --force starts again; --out names another folder"
    )


def test_finished_run_with_other_options_is_not_resumed(case: Case) -> None:
    case.write()
    with pytest.raises(StoreError, match=r"documents ended with nothing, and now with <\|endoftext\|>"):
        case.write(resume=True, eos=EOS)


def renamed(path: Path, name: str) -> None:
    path.rename(path.with_name(name))


@pytest.mark.parametrize("part_bytes", [1, 10**9])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda case: case.files[0].unlink(), r"0\.txt\.gz is no longer in the corpus"),
        (lambda case: put(case.files[0], b"x"), r"0\.txt\.gz has changed since"),
        (lambda case: put(case.folder / "corpus/9.txt.gz", b"x"), r"9\.txt\.gz is new in the corpus"),
        (lambda case: put(case.files[2], b"x"), r"2-blank\.txt\.gz .*"),
        (
            lambda case: renamed(case.files[0], "7.txt.gz"),
            "the files were in another order",
        ),
        (
            lambda case: shutil.copy(case.files[0], case.folder / "corpus/9.txt.gz"),
            "the corpus was divided into other parts, by another --part-bytes or more files",
        ),
    ],
)
def test_finished_run_of_other_files_is_not_resumed(
    case: Case, change: Callable[[Case], Any], message: str, part_bytes: int
) -> None:
    case.write(part_bytes=part_bytes)
    before = case.bytes_of("out")
    change(case)
    with pytest.raises((StoreError, CorpusError), match=f"cannot be resumed: {message}") as error:
        case.write(resume=True, part_bytes=part_bytes)
    assert "--force starts again; --out names another folder" in (error.value.hint or "")
    assert case.bytes_of("out") == before


def test_finished_run_in_other_parts_is_not_resumed(case: Case) -> None:
    (case.folder / "corpus" / "1.txt").write_bytes(b"some words\n\n\n" * 20)
    case.write(part_bytes=40)
    case.write(resume=True, part_bytes=40)
    with pytest.raises(StoreError, match="divided into other parts"):
        case.write(resume=True, part_bytes=60)
    with pytest.raises(StoreError, match="divided into other parts"):
        case.write(resume=True, part_bytes=10**9)


def test_finished_run_of_the_other_layout_is_not_resumed(case: Case) -> None:
    def single(out: str, **options: Any) -> None:
        tokbench.write_shards(tokenizer(), case.corpus(), case.folder / out, **options)

    single("single")
    with pytest.raises(StoreError, match="contains shards that were written without --engine") as error:
        case.write("single", resume=True)
    assert error.value.hint == "leave --engine out; --force starts again; --out names another folder"
    case.write("parts")
    with pytest.raises(StoreError, match="contains shards that were written in parts") as error:
        single("parts", resume=True)
    assert error.value.hint == "give the same --engine; --force starts again; --out names another folder"


def test_finished_run_of_the_same_files_elsewhere_is_resumed(case: Case, tmp_path: Path) -> None:
    case.write()
    shutil.copytree(case.folder, tmp_path / "moved")
    moved = Case(tmp_path / "moved", case.named)
    before = moved.bytes_of("out")
    for path in moved.files:
        os.utime(path, (1, 1))
    assert moved.write(resume=True).documents
    assert moved.bytes_of("out") == before


def flipped(path: Path) -> None:
    """Change one bit, so that the size stays the same."""
    path.write_bytes(path.read_bytes()[:-1] + bytes([path.read_bytes()[-1] ^ 1]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.unlink(), r"[\d,]+ bytes, found no file"),
        (lambda path: os.truncate(path, 9), r"[\d,]+ bytes, found 9 bytes"),
        (flipped, r"the sha256 [0-9a-f]{8}…, found [0-9a-f]{8}…"),
    ],
)
@pytest.mark.parametrize("name", ["part-00001/shard-00000.npy", "part-00003/shard-00000.offsets.npy"])
def test_finished_run_without_its_files_is_not_resumed(
    case: Case, name: str, change: Callable[[Path], None], message: str
) -> None:
    case.write()
    case.write(resume=True)
    change(case.folder / "out" / name)
    with pytest.raises(ModelFormatError, match=f"{name}: expected {message}$") as error:
        case.write(resume=True)
    assert error.value.hint == (
        "restore the folder, or encode again with --force; `tokbench shards verify` lists all that differs"
    )


def test_finished_run_without_the_folder_of_a_part_is_not_resumed(case: Case) -> None:
    case.write()
    shutil.rmtree(case.folder / "out/part-00003")
    with pytest.raises(
        ModelFormatError, match=r"out/part-00003/index\.json: expected the index of a part, found no file"
    ) as error:
        case.write(resume=True)
    assert "encode again with --force" in (error.value.hint or "")


def test_finished_remote_run_with_a_changed_file_is_not_resumed(case: Case) -> None:
    pytest.importorskip("fsspec", reason="the package fsspec is not installed")
    url = f"memory://{case.folder.name}/out"
    case.write(url)
    case.write(url, resume=True)
    shard = place_of(url) / "part-00001/shard-00000.npy"
    data = shard.open().read()
    shard.write(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelFormatError, match=r"part-00001/shard-00000\.npy: expected the sha256"):
        case.write(url, resume=True)


@pytest.mark.parametrize("change", [Path.unlink, lambda path: os.truncate(path, 9), flipped])
@pytest.mark.parametrize("name", ["shard-00000.npy", "shard-00000.offsets.npy"])
def test_changed_part_of_an_unfinished_run_is_written_again(
    case: Case, name: str, change: Callable[[Path], None]
) -> None:
    case.write("wanted")
    with pytest.raises(DistributedError):
        case.write(engine=HereEngine(breaking=1))
    change(case.folder / "out/part-00001" / name)
    case.write(resume=True)
    assert case.bytes_of("out") == case.bytes_of("wanted")


def test_part_of_an_unfinished_run_that_lost_its_index_is_written_again(case: Case) -> None:
    case.write("wanted")
    with pytest.raises(DistributedError):
        case.write(engine=HereEngine(breaking=1))
    (case.folder / "out/part-00001/index.json").unlink()
    case.write(resume=True)
    assert case.bytes_of("out") == case.bytes_of("wanted")
