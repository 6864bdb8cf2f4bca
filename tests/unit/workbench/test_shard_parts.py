"""Tests for sharding in parts: the ids equal a single run's, and the bytes depend only on the plan, not on workers."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.engines import ElsewhereEngine, HereEngine, in_memory
from support.shard_parts import Case, put
from support.sharded import tokenizer

import tokbench
from tokbench.distributed.engines.open import open_engine
from tokbench.errors import ConfigError, CorpusError, DistributedError, ModelFormatError, StoreError
from tokbench.files.storage.open import place_of
from tokbench.opening.request import OpenRequest
from tokbench.shards.shard_file import MOST_COPIES
from tokbench.shards.verification import verify_shards
from tokbench.workbench.open import NamedTokenizer
from tokbench.workbench.shard_parts import write_shard_parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.distributed.tasks import Finished


def ids(shards: tokbench.Shards) -> list[int]:
    return np.concatenate(list(shards.arrays())).tolist()  # type: ignore[no-any-return]


# Written files


@pytest.mark.parametrize("part_bytes", [1, 40, 10**9])
@pytest.mark.parametrize("options", [{}, {"eos": True, "shard_tokens": 50}, {"format": "bin"}])
def test_ids_equal_a_single_run(case: Case, part_bytes: int, options: dict[str, Any]) -> None:
    if part_bytes == 40:  # only uncompressed files are split between lines
        for path in case.files:
            path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
            path.unlink()
    single = tokbench.write_shards(tokenizer(), case.corpus(), case.folder / "single", **options)
    index = case.write(part_bytes=part_bytes, **options)
    shards = tokbench.open_shards(case.folder / "out")
    assert ids(shards) == ids(single)
    assert [row.tolist() for row in shards] == [row.tolist() for row in single]
    assert [shards.text(number, tokenizer()) for number in range(len(shards))] == [
        single.text(number, tokenizer()) for number in range(len(single))
    ]
    assert shards.index == index
    assert index.to_json()["total"]["text_bytes"] == single.index.text_bytes
    result = verify_shards(case.folder / "out", tokenizer=tokenizer(), corpus=case.corpus())
    assert (result.problems, result.compared) == ((), len(single))


def test_output_shards_inside_the_corpus_are_not_read(case: Case) -> None:
    case.write("corpus/out")
    before = case.bytes_of("corpus/out")
    assert len(case.corpus().files) == 6
    case.write("corpus/out", overwrite=True)
    assert case.bytes_of("corpus/out") == before


def test_output_folder_has_an_index_and_parts(case: Case) -> None:
    case.write()
    assert list(case.bytes_of("out")) == [
        "index.json",
        *(
            f"part-0000{part}/{name}"
            for part in (0, 1, 3, 4, 5)  # part 2 has only blank lines
            for name in ("index.json", "shard-00000.npy", "shard-00000.offsets.npy")
        ),
    ]
    index = json.loads((case.folder / "out/index.json").read_text())
    assert index["schema"] == "tokbench.shards/2"
    assert [part["folder"] for part in index["parts"]] == [f"part-0000{part}" for part in (0, 1, 3, 4, 5)]
    assert index["total"]["parts"] == 5
    assert index["total"]["documents"] == sum(part["documents"] for part in index["parts"])


def test_each_part_is_a_valid_shard_folder(case: Case) -> None:
    case.write()
    shards = tokbench.open_shards(case.folder / "out")
    parts = [tokbench.open_shards(path) for path in sorted((case.folder / "out").glob("part-*"))]
    assert [id for part in parts for id in ids(part)] == ids(shards)


def test_bytes_do_not_depend_on_the_location_of_the_corpus(case: Case, tmp_path: Path) -> None:
    case.write("one")
    shutil.copytree(case.folder / "corpus", case.folder / "other/corpus")
    other = Case(case.folder / "other", case.named)
    other.write("two")
    assert other.bytes_of("two") == case.bytes_of("one")


# Engines


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_local_workers_write_the_same_bytes(case: Case, workers: int) -> None:
    case.write("wanted")
    with open_engine("local", workers=workers) as engine:
        case.write(engine=engine)
    assert case.bytes_of("out") == case.bytes_of("wanted")


@pytest.mark.parametrize("store", ["memory", pytest.param("s3", marks=pytest.mark.slow)])
def test_remote_folders_hold_the_same_bytes(case: Case, request: pytest.FixtureRequest, store: str) -> None:
    pytest.importorskip("fsspec", reason="the package fsspec is not installed")
    root = "memory:/" if store == "memory" else request.getfixturevalue("bucket")
    url = f"{root}/{case.folder.name}/out"
    case.write("wanted")
    if store == "memory":
        case.write(url)
    else:
        with open_engine("local", workers=2) as engine:
            case.write(url, engine=engine)
    remote = {str(file.place).removeprefix(f"{url}/"): file.place for file in place_of(url).files()}
    assert {name: place.open().read() for name, place in remote.items()} == case.bytes_of("wanted")
    here, there = tokbench.open_shards(case.folder / "wanted"), tokbench.open_shards(url)
    assert [there[number].tolist() for number in range(len(there))] == [row.tolist() for row in here]
    first = there[0]
    assert ids(there) == ids(here)
    assert first.tolist() == here[0].tolist()  # its local copy has been removed meanwhile
    assert sum(path.is_file() for path in there.folder.rglob("*")) <= MOST_COPIES < len(remote)
    assert verify_shards(url, tokenizer=tokenizer(), corpus=case.corpus()).passed


def test_damaged_remote_shards_are_reported(case: Case) -> None:
    pytest.importorskip("fsspec", reason="the package fsspec is not installed")
    url = f"memory://{case.folder.name}/out"
    with pytest.raises(StoreError, match="out does not exist"):
        tokbench.open_shards(url)
    case.write(url)
    part = place_of(url) / "part-00001"
    data = (part / "shard-00000.npy").open().read()
    (part / "shard-00000.npy").write(data[:-1] + b"x")
    (part / "shard-00007.npy").write(b"")
    problems = "\n".join(verify_shards(url).problems)
    assert "part-00001/shard-00000.npy was changed" in problems
    assert "part-00001/shard-00007.npy is not in the index" in problems
    (part / "shard-00000.npy").write(data[:-1])
    with pytest.raises(ModelFormatError, match=r"part-00001/shard-00000\.npy: expected \d+ bytes"):
        tokbench.open_shards(url)
    (part / "shard-00000.npy").remove()
    assert f"{part.name}/shard-00000.npy: expected the file, found none" in verify_shards(url).problems
    (part / "index.json").remove()
    with pytest.raises(ModelFormatError, match="expected the index of a part, found none"):
        tokbench.open_shards(url)
    (place_of(url) / "index.json").remove()
    with pytest.raises(StoreError, match="contains no finished shards"):
        tokbench.open_shards(url)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_killed_worker_leaves_no_files(case: Case) -> None:
    case.write("wanted")
    killed = []
    with open_engine("local", workers=1) as engine:

        def progress(phase: str, done: int, total: int | None, unit: str) -> None:
            if done and not killed:  # one part is done, and the worker has started the next
                worker = next(iter(engine._busy), None) or engine._idle[0]  # type: ignore[attr-defined]
                killed.append(worker._process.pid)
                os.kill(worker._process.pid, signal.SIGKILL)

        case.write(engine=engine, progress=progress)
    assert killed
    assert case.bytes_of("out") == case.bytes_of("wanted")


def test_remote_part_index_is_written_last(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec", reason="the package fsspec is not installed")
    url = f"memory://{case.folder.name}/out"
    store: Any = place_of(url)
    put: list[str] = []
    before = store.store.put_file

    def put_file(source: str, to: str) -> None:
        put.append(to.removeprefix(f"{store.path}/"))
        before(source, to)

    monkeypatch.setattr(store.store, "put_file", put_file)
    case.write(url, part_bytes=10**9)
    run = ["part-00000/shard-00000.npy", "part-00000/shard-00000.offsets.npy", "part-00000/index.json"]
    assert put == [*run, *run]  # the engine of these tests runs each task twice


# Failures


def test_unreadable_part_is_named_and_the_others_are_written(case: Case) -> None:
    put(case.files[1], b"good\n\xff bad\n")
    with pytest.raises(DistributedError) as failed:
        case.write()
    name = case.files[1]
    assert failed.value.message.startswith(
        f"1 of 6 parts failed, the others are finished:\n  part 2 of 6: {name}: not UTF-8"
    )
    assert not (case.folder / "out/index.json").exists()
    assert sorted(path.name for path in (case.folder / "out").glob("part-*")) == [
        "part-00000", "part-00003", "part-00004", "part-00005"
    ]  # fmt: skip
    with pytest.raises(StoreError, match="contains no finished shards"):
        tokbench.open_shards(case.folder / "out")


def test_file_changed_since_the_plan_is_refused(case: Case) -> None:
    class Meanwhile(HereEngine):
        def run(self, *arguments: Any, **named: Any) -> Iterator[Finished]:
            put(case.files[0], b"something else\n")
            yield from super().run(*arguments, **named)

    with pytest.raises(DistributedError, match=r"part 1 of 6: .*0\.txt\.gz has changed since the run began"):
        case.write(engine=Meanwhile())


def test_existing_files_are_not_lost(case: Case) -> None:
    case.write()
    with pytest.raises(StoreError, match="out exists"):
        case.write()
    wanted = case.bytes_of("out")
    case.write(overwrite=True, part_bytes=10**9)
    assert len(case.bytes_of("out")) == 4
    case.write(overwrite=True)
    assert case.bytes_of("out") == wanted
    (case.folder / "out/mine.txt").touch()
    with pytest.raises(StoreError, match=r"out contains mine\.txt, which is not part of the shards"):
        case.write(overwrite=True)


def test_overwrite_replaces_shards_of_the_other_layout(case: Case) -> None:
    def single(**options: Any) -> dict[str, bytes]:
        tokbench.write_shards(tokenizer(), case.corpus(), case.folder / "out", **options)
        return case.bytes_of("out")

    case.write()
    parts = case.bytes_of("out")
    with pytest.raises(StoreError, match="out exists"):
        single()
    alone = single(overwrite=True)
    assert {path.name for path in (case.folder / "out").iterdir()} == set(alone)
    with pytest.raises(StoreError, match="out exists"):
        case.write()
    case.write(overwrite=True)
    assert case.bytes_of("out") == parts
    with pytest.raises(DistributedError):
        case.write(overwrite=True, engine=HereEngine(breaking=1))
    with pytest.raises(StoreError, match="contains an interrupted run in parts"):
        single(resume=True)
    assert single(overwrite=True) == alone


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such locks")
def test_concurrent_runs_into_one_folder_are_refused(case: Case) -> None:
    class Meanwhile(HereEngine):
        """An engine that lets other runs start while its parts are written."""

        def run(self, *arguments: Any, **named: Any) -> Iterator[Finished]:
            for options in ({"resume": True}, {"overwrite": True}, {}):
                with pytest.raises(StoreError, match="another run is writing to"):
                    case.write(**options)
                with pytest.raises(StoreError, match="another run is writing to"):
                    tokbench.write_shards(tokenizer(), case.corpus(), case.folder / "out", **options)
            yield from super().run(*arguments, **named)

    case.write(engine=Meanwhile())
    case.write("wanted")
    assert case.bytes_of("out") == case.bytes_of("wanted")


def test_corpus_without_a_document_is_refused(case: Case) -> None:
    for path in case.files:
        put(path, b"\n")
    with pytest.raises(CorpusError, match="there is no text in"):
        case.write()
    assert case.bytes_of("out") == {}


def test_different_tokenizer_on_the_worker_is_refused(case: Case) -> None:
    tokenizer(290).save(case.folder / "another")
    case.named = NamedTokenizer(str(case.folder / "another"), OpenRequest())
    with pytest.raises(DistributedError, match="another is a different tokenizer on the worker"):
        write_shard_parts(case.named, tokenizer(), case.corpus(), case.folder / "out", engine=HereEngine())


def test_corpus_in_the_memory_of_this_process_is_refused_for_workers(case: Case) -> None:
    pytest.importorskip("fsspec", reason="the package fsspec is not installed")
    corpus = tokbench.open_corpus(in_memory(case.folder.name))
    with pytest.raises(CorpusError, match=r"a\.txt is in the memory of this process alone") as error:
        write_shard_parts(case.named, tokenizer(), corpus, case.folder / "out", engine=ElsewhereEngine())
    assert error.value.hint == "save it to a file or URL that every worker can read"
    write_shard_parts(case.named, tokenizer(), corpus, case.folder / "out", engine=HereEngine())


def test_contradictory_options_are_refused(case: Case) -> None:
    with pytest.raises(ConfigError, match="resume and overwrite contradict"):
        case.write(resume=True, overwrite=True)
    with pytest.raises(ConfigError, match="--part-bytes must be at least 1"):
        case.write(part_bytes=0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits as POSIX has them")
def test_full_disk_is_reported(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    # The worker would write incomplete bytecode of its modules, without an error.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    put(case.folder / "corpus" / "3.txt.gz", b"some words\n" * 20_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, before[1]))
        with (
            open_engine("local", workers=1) as engine,
            pytest.raises(
                DistributedError, match=r"3\.txt\.gz\): .*part-00004.* was not finished: File too large"
            ),
        ):
            case.write(engine=engine)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert [path.name for path in (case.folder / "out").iterdir() if path.name.startswith(".")] == []
    case.write(resume=True)
    case.write("wanted")
    assert case.bytes_of("out") == case.bytes_of("wanted")
