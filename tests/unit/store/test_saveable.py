"""Tests for saved tokenizers: reading returns what was written, and no files of others are lost."""

from __future__ import annotations

import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.byte_tokenizer import FILES, MANIFEST, ByteTokenizer

from tokbench import store
from tokbench.backends.baseline import ByteBackend
from tokbench.errors import ModelFormatError, StoreError
from tokbench.store import (
    MANIFEST_NAME,
    check_place,
    contain_the_same,
    is_saved_tokenizer,
    read_files,
    read_manifest,
    saved_tokenizers,
    write,
)
from tokbench.store.saveable import self_test

if TYPE_CHECKING:
    from collections.abc import Callable


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_save_refuses_ids_outside_the_vocabulary(tmp_path: Path) -> None:
    tokenizer = ByteBackend().train([], ByteBackend.config_type())
    tokenizer.info = replace(tokenizer.info, vocab_size=97)
    with pytest.raises(
        StoreError, match="'byte' cannot be saved: it gives the id 104, outside its vocab"
    ) as told:
        tokenizer.save(tmp_path / "wrong")
    assert "fault of the backend 'byte'" in str(told.value.hint)
    assert not (tmp_path / "wrong").exists()


# Writing and reading


def test_written_tokenizer_is_read_back(saved: Path) -> None:
    manifest = read_manifest(saved)
    assert replace(manifest, files={}) == MANIFEST
    assert list(manifest.files) == sorted(FILES)
    assert read_files(saved, manifest) == FILES
    assert read_files(saved, manifest, names=["tokenizer.json"]) == {"tokenizer.json": b"{}\n"}
    self_test(ByteTokenizer(), manifest, path=saved)


def test_equal_tokenizers_give_equal_bytes(tmp_path: Path) -> None:
    write(tmp_path / "one", manifest=MANIFEST, files=FILES)
    write(tmp_path / "two", manifest=MANIFEST, files=dict(reversed(FILES.items())))
    assert (tmp_path / "one" / MANIFEST_NAME).read_bytes() == (tmp_path / "two" / MANIFEST_NAME).read_bytes()


def test_tokenizer_without_files_is_valid(tmp_path: Path) -> None:
    write(tmp_path / "bare", manifest=MANIFEST, files={})
    assert read_files(tmp_path / "bare", read_manifest(tmp_path / "bare")) == {}


@pytest.mark.parametrize("name", ["../x", "a/b", "", MANIFEST_NAME, ".hidden"])
def test_unsafe_file_name_of_a_backend_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="is not a plain file name"):
        write(tmp_path / "mine", manifest=MANIFEST, files={name: b""})
    assert names(tmp_path) == []


def test_manifest_that_could_not_be_read_back_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match="from 0 to 255 as special_tokens"):
        write(tmp_path / "mine", manifest=replace(MANIFEST, special_tokens={"<s>": 256}), files={})
    with pytest.raises(StoreError, match="no JSON form"):
        write(tmp_path / "mine", manifest=replace(MANIFEST, config={"x": {1}}), files={})
    assert names(tmp_path) == []


# Existing files and folders


def test_saved_tokenizer_is_not_replaced_by_default(saved: Path) -> None:
    with pytest.raises(StoreError, match=f"^{re.escape(str(saved))} exists$") as caught:
        write(saved, manifest=MANIFEST, files={})
    assert caught.value.hint == "--force replaces it; --out names another folder"
    assert names(saved.parent) == ["bytes"]


def test_folders_with_the_same_files_contain_the_same(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(saved, other)
    (other / ".DS_Store").touch()
    assert contain_the_same(saved, other)


@pytest.mark.parametrize(
    "change", ["other contents", "one file more", "one file less", "a folder in its place"]
)
def test_folders_with_other_files_do_not_contain_the_same(saved: Path, tmp_path: Path, change: str) -> None:
    other = tmp_path / "other"
    shutil.copytree(saved, other)
    file = other / "tokenizer.json"
    if change == "other contents":
        file.write_bytes(file.read_bytes()[::-1])
    elif change == "one file more":
        (other / "notes.txt").touch()
    else:
        file.unlink()
    if change == "a folder in its place":
        file.mkdir()
    assert not contain_the_same(saved, other)
    assert not contain_the_same(other, saved)


def test_empty_folder_is_not_replaced_by_default(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="exists"):
        write(tmp_path, manifest=MANIFEST, files=FILES)
    write(tmp_path, manifest=MANIFEST, files=FILES, overwrite=True)
    assert is_saved_tokenizer(tmp_path)


def test_saved_tokenizer_is_replaced_completely(saved: Path) -> None:
    write(saved, manifest=replace(MANIFEST, name="other"), files={"vocab.txt": b"a\n"}, overwrite=True)
    assert read_manifest(saved).name == "other"
    assert names(saved) == [MANIFEST_NAME, "vocab.txt"]
    assert names(saved.parent) == ["bytes"]


def test_overwrite_without_an_existing_folder_writes(tmp_path: Path) -> None:
    write(tmp_path / "mine", manifest=MANIFEST, files=FILES, overwrite=True)
    assert is_saved_tokenizer(tmp_path / "mine")


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"precious")
    for overwrite in (False, True):
        with pytest.raises(StoreError, match="is a file"):
            write(tmp_path / "mine", manifest=MANIFEST, files=FILES, overwrite=overwrite)
    assert (tmp_path / "mine").read_bytes() == b"precious"


@pytest.mark.parametrize("precious", ["notes.md", ".git/config", "tokenizers/x/y", "ranks.tiktoken"])
def test_foreign_folder_is_never_replaced(tmp_path: Path, precious: str) -> None:
    (tmp_path / precious).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / precious).write_bytes(b"precious")
    with pytest.raises(StoreError, match="will not be replaced: tokbench did not write"):
        write(tmp_path, manifest=MANIFEST, files=FILES, overwrite=True)
    assert (tmp_path / precious).read_bytes() == b"precious"


@pytest.mark.parametrize("precious", ["notes.md", "sub/notes.md"])
def test_saved_tokenizer_with_foreign_files_is_not_replaced(saved: Path, precious: str) -> None:
    (saved / precious).parent.mkdir(exist_ok=True)
    (saved / precious).write_bytes(b"precious")
    with pytest.raises(StoreError, match=r"did not write (notes\.md|sub)$"):
        write(saved, manifest=MANIFEST, files=FILES, overwrite=True)
    assert (saved / precious).read_bytes() == b"precious"


def test_sub_folder_named_like_a_file_is_foreign(saved: Path) -> None:
    (saved / "tokenizer.json").unlink()
    (saved / "tokenizer.json").mkdir()
    with pytest.raises(StoreError, match=r"did not write tokenizer\.json"):
        write(saved, manifest=MANIFEST, files=FILES, overwrite=True)


def test_files_of_a_file_manager_are_ignored(saved: Path) -> None:
    (saved / ".DS_Store").write_bytes(b"\0")
    write(saved, manifest=MANIFEST, files=FILES, overwrite=True)
    assert names(saved) == ["ranks.tiktoken", MANIFEST_NAME, "tokenizer.json"]


def test_unreadable_tokenizer_is_not_replaced(saved: Path) -> None:
    (saved / MANIFEST_NAME).write_bytes(b'{"tokbench": "somebody else"}')
    with pytest.raises(StoreError, match="what is in it cannot be read") as caught:
        write(saved, manifest=MANIFEST, files=FILES, overwrite=True)
    assert caught.value.hint is not None
    assert "delete it yourself" in caught.value.hint


def test_place_can_be_checked_without_writing(saved: Path) -> None:
    check_place(saved.parent / "none")
    check_place(saved, overwrite=True)
    for place, overwrite in ((saved, False), (saved.parent, True)):
        with pytest.raises(StoreError):
            check_place(place, overwrite=overwrite)
    assert names(saved.parent) == ["bytes"]


# Damaged, foreign and hostile folders


def test_missing_folder_and_foreign_folder_have_different_errors(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no tokenizer at"):
        read_manifest(tmp_path / "none")
    with pytest.raises(StoreError, match=f"is not a saved tokenizer: it has no {MANIFEST_NAME}"):
        read_manifest(tmp_path)


def test_changed_file_is_named_with_both_hashes(saved: Path) -> None:
    (saved / "ranks.tiktoken").write_bytes(b"YQ== 1\n")
    with pytest.raises(ModelFormatError) as caught:
        read_files(saved, read_manifest(saved))
    assert re.fullmatch(
        rf"{re.escape(str(saved))}/ranks.tiktoken: expected the recorded sha256 \w{{8}}…, found \w{{8}}…",
        caught.value.message,
    )
    assert caught.value.hint == "the file was edited or cut: restore it, or train again"
    assert read_files(saved, read_manifest(saved), names=["tokenizer.json"])


def test_a_missing_file_is_named(saved: Path) -> None:
    (saved / "ranks.tiktoken").unlink()
    with pytest.raises(ModelFormatError, match=r"ranks\.tiktoken: expected the file, found none"):
        read_files(saved, read_manifest(saved))


def test_file_missing_in_the_manifest_is_refused(saved: Path) -> None:
    (saved / "extra.txt").write_bytes(b"")
    with pytest.raises(ModelFormatError, match=r"expected the file 'extra\.txt' among its files, found none"):
        read_files(saved, read_manifest(saved), names=["extra.txt"])


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "a/../b", "..", MANIFEST_NAME + "/x"])
def test_names_outside_the_folder_are_refused(saved: Path, name: str) -> None:
    manifest = replace(read_manifest(saved), files={name: "0" * 64})
    with pytest.raises(ModelFormatError, match="expected a plain file name"):
        read_files(saved, manifest)


def test_link_out_of_the_folder_is_refused(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(FILES["ranks.tiktoken"])
    (saved / "ranks.tiktoken").unlink()
    (saved / "ranks.tiktoken").symlink_to(tmp_path / "secret")
    with pytest.raises(ModelFormatError, match="expected a file of this folder, found a link to"):
        read_files(saved, read_manifest(saved))


def test_linked_manifest_is_refused(saved: Path, tmp_path: Path) -> None:
    (saved / MANIFEST_NAME).rename(tmp_path / "elsewhere.json")
    (saved / MANIFEST_NAME).symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(ModelFormatError, match="found a link to"):
        read_manifest(saved)


def test_link_within_the_folder_and_linked_folder_are_read(saved: Path, tmp_path: Path) -> None:
    (saved / "ranks.tiktoken").rename(saved / "real")
    (saved / "ranks.tiktoken").symlink_to("real")
    (tmp_path / "link").symlink_to(saved)
    assert read_files(tmp_path / "link", read_manifest(tmp_path / "link")) == FILES


def loop(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.skipif(os.name == "nt", reason="pipes and links of POSIX")
@pytest.mark.parametrize("obstacle", [os.mkfifo, Path.mkdir, loop], ids=["pipe", "folder", "loop"])
def test_special_files_are_refused_without_blocking(saved: Path, obstacle: Callable[[Path], None]) -> None:
    (saved / "ranks.tiktoken").unlink()
    obstacle(saved / "ranks.tiktoken")
    with pytest.raises((ModelFormatError, StoreError), match=r"expected a regular file|cannot be read"):
        read_files(saved, read_manifest(saved))
    (saved / MANIFEST_NAME).unlink()
    obstacle(saved / MANIFEST_NAME)
    with pytest.raises(StoreError, match="is not a saved tokenizer"):
        read_manifest(saved)


def test_huge_manifest_is_refused_without_reading(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (saved / MANIFEST_NAME).open("r+b") as file:
        file.truncate(10 * 2**30)  # a sparse file, which takes no space on the disk
    monkeypatch.setattr(Path, "read_bytes", None)
    with pytest.raises(ModelFormatError, match=f"expected at most {64 * 2**20} bytes, found {10 * 2**30}"):
        read_manifest(saved)


def test_concurrent_reader_gets_one_tokenizer_or_an_error(saved: Path) -> None:
    versions = [dict.fromkeys(FILES, b"%d" % number * 100) for number in range(2)]
    write(saved, manifest=MANIFEST, files=versions[0], overwrite=True)

    def replace_many_times() -> None:
        for turn in range(30):
            write(saved, manifest=MANIFEST, files=versions[turn % 2], overwrite=True)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(replace_many_times)
        while not writing.done():
            try:
                assert read_files(saved, read_manifest(saved)) in versions
            except (ModelFormatError, StoreError):
                continue  # a mixture of two versions, or a folder that is being removed, is an error
        writing.result()
    assert read_files(saved, read_manifest(saved)) in versions


# The list of saved tokenizers


def test_saved_tokenizers_are_listed_by_name(saved: Path) -> None:
    root = saved.parent
    write(root / "another", manifest=replace(MANIFEST, name="another"), files=FILES)
    (root / "broken").mkdir()
    (root / "broken" / MANIFEST_NAME).write_bytes(b"{")
    (root / "not one").mkdir()
    (root / "file").write_bytes(b"")
    write(root / ".bytes.tmp-0123456789ab", manifest=MANIFEST, files=FILES)
    listed = saved_tokenizers(root)
    assert [(entry.directory.name, entry.manifest is None) for entry in listed] == [
        ("another", False),
        ("broken", True),
        ("bytes", False),
    ]
    assert isinstance(listed[1].error, ModelFormatError)
    assert listed[2].error is None
    assert listed[2].num_bytes == sum(path.stat().st_size for path in saved.iterdir())


def test_missing_folder_lists_no_tokenizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert saved_tokenizers(tmp_path / "none") == []
    monkeypatch.chdir(tmp_path)
    assert saved_tokenizers() == []


def test_listing_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot be listed"):
        saved_tokenizers(tmp_path / "file")


def test_is_saved_tokenizer_requires_a_folder_with_a_manifest(saved: Path) -> None:
    assert is_saved_tokenizer(saved)
    assert not is_saved_tokenizer(saved.parent)
    assert not is_saved_tokenizer(saved / MANIFEST_NAME)
    assert not is_saved_tokenizer(saved / "none")


def test_every_public_name_exists() -> None:
    assert all(hasattr(store, name) for name in store.__all__)
