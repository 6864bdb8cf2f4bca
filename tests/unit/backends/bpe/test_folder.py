"""The folder of a byte-level BPE: opened as it was saved, and refused if damaged, even with correct checksums."""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.kernels import chosen, kernel_named
from support.texts import bundled_texts

from tokbench import store
from tokbench.backends.bpe import BpeBackend
from tokbench.backends.bpe.config import BpeConfig
from tokbench.backends.bpe.folder import dump_merges, pairs_of, parse_merges
from tokbench.backends.bpe.reference import Merge
from tokbench.backends.bpe.split_patterns import resolve_pattern
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.errors import ConversionError, ModelFormatError, SelfTestError
from tokbench.formats.tiktoken import parse_ranks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from tokbench.backends.bpe.kernel import Kernel

NUM_MERGES = 60
FIRST_SPECIAL = 256 + NUM_MERGES


def trained(kernel: Kernel, **options: object) -> BpeTokenizer:
    with chosen(kernel.name):
        options = {"vocab_size": FIRST_SPECIAL + 1, "special_tokens": ("<e>",), **options}
        return BpeBackend().train([bundled_texts()["parallel/en.txt"][:5000]], BpeConfig(**options))


def opened(kernel: Kernel, directory: Path) -> BpeTokenizer:
    with chosen(kernel.name):
        return BpeBackend().load(directory, store.read_manifest(directory))


@pytest.fixture
def folder(kernel: Kernel, tmp_path: Path) -> Path:
    trained(kernel).save(tmp_path / "mine")
    return tmp_path / "mine"


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "tokbench.json"
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def replace_file(folder: Path, name: str, data: bytes) -> None:
    """Replace a file and its checksum, so that only its content can be wrong."""
    (folder / name).write_bytes(data)
    change_manifest(
        folder, lambda document: document["files"].update({name: hashlib.sha256(data).hexdigest()})
    )


def npy(array: NDArray[Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def merges_of(folder: Path) -> NDArray[np.int64]:
    return np.load(folder / "merges.npy")


# The saved content


def test_opened_tokenizer_has_its_merges_and_options(kernel: Kernel, folder: Path) -> None:
    original, copy = trained(kernel), opened(kernel, folder)
    assert copy.merges == original.merges
    assert copy.config == original.config
    assert copy.pattern == original.pattern
    assert copy.training is None


def test_saved_folder_has_the_files_for_other_libraries(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        *["merges.npy", "ranks.tiktoken", "tokbench.json"],
        *["tokenizer.json", "tokenizer_config.json"],
    ]


def test_merges_are_saved_as_a_plain_array(kernel: Kernel, folder: Path) -> None:
    merges = merges_of(folder)
    assert merges.dtype == np.int64
    assert list(map(tuple, merges.tolist())) == list(trained(kernel).merges or ())


def test_ranks_are_saved_for_the_ordinary_tokens(kernel: Kernel, folder: Path) -> None:
    tokenizer = trained(kernel)
    path = folder / "ranks.tiktoken"
    ordinary = range(256 + len(tokenizer.merges or ()))
    assert parse_ranks(path.read_bytes(), path=path) == [(tokenizer.token_bytes(id), id) for id in ordinary]


def test_each_kernel_opens_folders_of_the_other(kernel: Kernel, folder: Path) -> None:
    other = kernel_named("python" if kernel.name == "native" else "native")
    copy = opened(other, folder)
    assert copy.info.kernel == other.name
    for text in bundled_texts().values():
        assert copy.encode(text[:500]) == trained(kernel).encode(text[:500])


def test_both_kernels_save_the_same_files(tmp_path: Path) -> None:
    for name in ("native", "python"):
        trained(kernel_named(name)).save(tmp_path / name / "mine")
    for path in (tmp_path / "native" / "mine").iterdir():
        twin = (tmp_path / "python" / "mine" / path.name).read_bytes()
        assert path.read_bytes().replace(b'"kernel": "native"', b'"kernel": "python"') == twin


def test_tokenizer_without_merges_is_saved(kernel: Kernel, tmp_path: Path) -> None:
    trained(kernel, vocab_size=257).save(tmp_path / "bytes")
    copy = opened(kernel, tmp_path / "bytes")
    assert copy.merges == ()
    assert copy.encode("é") == [0xC3, 0xA9]


def test_custom_pattern_is_saved_with_its_text(kernel: Kernel, tmp_path: Path) -> None:
    pattern = r"\w{1,4}|\W"
    trained(kernel, pattern=pattern).save(tmp_path / "mine")
    assert opened(kernel, tmp_path / "mine").pattern == resolve_pattern(pattern)


def test_number_of_threads_is_not_saved(kernel: Kernel, tmp_path: Path) -> None:
    for threads in (1, 2):
        trained(kernel, threads=threads).save(tmp_path / str(threads) / "mine")
    one, two = ((tmp_path / name / "mine" / "tokbench.json").read_bytes() for name in "12")
    assert one == two


def test_tokenizer_of_ranks_cannot_be_saved(kernel: Kernel, tmp_path: Path) -> None:
    ranks = [bytes([value]) for value in range(256)]
    tokenizer = BpeTokenizer.from_ranks(ranks, pattern=resolve_pattern("gpt4"), kernel=kernel)
    with pytest.raises(ConversionError, match="made from ranks"):
        tokenizer.save(tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []


# Damage to merges.npy


def in_place(change: Callable[[NDArray[np.int64]], None]) -> Callable[[NDArray[np.int64]], bytes]:
    def changed(merges: NDArray[np.int64]) -> bytes:
        merges = merges.copy()
        change(merges)
        return npy(merges)

    return changed


def set_cell(row: int, column: int, value: int) -> Callable[[NDArray[np.int64]], bytes]:
    def change(merges: NDArray[np.int64]) -> None:
        merges[row, column] = value

    return in_place(change)


DAMAGES: dict[str, Callable[[NDArray[np.int64]], bytes]] = {
    "empty": lambda merges: b"",
    "text": lambda merges: b"97 97 4\n",
    "cut in its header": lambda merges: npy(merges)[:60],
    "cut in its numbers": lambda merges: npy(merges)[:-1],
    "cut by a row": lambda merges: npy(merges)[:-24],
    "longer than it says": lambda merges: npy(merges) + b"\0" * 24,
    "another version": lambda merges: npy(merges, version=(2, 0)),
    "columns first": lambda merges: npy(np.asfortranarray(merges)),
    "big-endian": lambda merges: npy(merges.astype(">i8")),
    "floats": lambda merges: npy(merges.astype(np.float64)),
    "32 bits": lambda merges: npy(merges.astype(np.int32)),
    "two columns": lambda merges: npy(merges[:, :2].copy()),
    "four columns": lambda merges: npy(np.hstack([merges, merges[:, :1]])),
    "flat": lambda merges: npy(merges.reshape(-1)),
    "a pickle": lambda merges: npy(np.array([{}], dtype=object), allow_pickle=True),
    "a header that lies about its size": lambda merges: npy(merges).replace(b"(", b"(9" + b"9" * 9, 1),
    "an id that is not made yet": set_cell(0, 1, 256),
    "an id that is made by itself": set_cell(3, 0, 259),
    "an id that is never made": set_cell(0, 0, 2**40),
    "a negative id": set_cell(2, 1, -1),
    "no count": set_cell(1, 2, 0),
    "a negative count": set_cell(1, 2, -5),
    "a merge that comes twice": lambda merges: npy(np.vstack([merges[:-1], merges[:1]])),
    "two merges that make the same token": in_place(
        lambda merges: merges.__setitem__(slice(0, 4), [(97, 98, 9), (98, 99, 9), (256, 99, 9), (97, 257, 9)])
    ),
    "tokens that double": lambda merges: npy(
        np.array([(97, 97, 9), *((id, id, 9) for id in range(256, FIRST_SPECIAL - 1))], dtype=np.int64)
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_merges_are_refused(kernel: Kernel, folder: Path, damage: str) -> None:
    replace_file(folder, "merges.npy", DAMAGES[damage](merges_of(folder)))
    with pytest.raises(ModelFormatError) as caught:
        opened(kernel, folder)
    assert not isinstance(caught.value, SelfTestError)
    assert "merges.npy" in str(caught.value.path)
    assert caught.value.hint


def test_changed_merges_fail_the_self_test(kernel: Kernel, folder: Path) -> None:
    merges = merges_of(folder)
    assert merges[0].tolist()[:2] == list(b" t")
    replace_file(folder, "merges.npy", set_cell(0, 0, ord("f"))(merges))
    with pytest.raises(SelfTestError):
        opened(kernel, folder)


def test_missing_merge_is_refused(kernel: Kernel, folder: Path) -> None:
    # The special tokens no longer follow the last merge.
    replace_file(folder, "merges.npy", npy(merges_of(folder)[:-1].copy()))
    with pytest.raises(ModelFormatError, match=f"special tokens with the ids from {FIRST_SPECIAL - 1} on"):
        opened(kernel, folder)


def test_changed_file_is_refused_by_its_checksum(kernel: Kernel, folder: Path) -> None:
    for name in ("merges.npy", "ranks.tiktoken", "tokenizer.json", "tokenizer_config.json"):
        path = folder / name
        original = path.read_bytes()
        path.write_bytes(original + b"\n")
        with pytest.raises(ModelFormatError, match="recorded sha256"):
            opened(kernel, folder)
        path.write_bytes(original)
    opened(kernel, folder)


# Damage to tokbench.json


def test_changed_ids_fail_the_self_test(kernel: Kernel, folder: Path) -> None:
    change_manifest(folder, lambda document: document["self_test"][0]["ids"].reverse())
    with pytest.raises(SelfTestError, match="The quick brown fox") as caught:
        opened(kernel, folder)
    assert caught.value.hint is not None
    assert "regex" in caught.value.hint


def without_merges(document: dict[str, Any]) -> None:
    del document["files"]["merges.npy"]


def with_another_pattern(name: object) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["config"].update({"pattern": name})


def with_another_regex(text: object) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["config"].update({"pattern_regex": text})


def with_special_tokens(special_tokens: dict[str, int]) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.update({"special_tokens": special_tokens})


OTHER_IDS = f"special tokens with the ids from {FIRST_SPECIAL} on"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_merges, "a file merges.npy"),
        (with_another_pattern("gpt2"), "the pattern 'gpt2' as this version of tokbench defines it"),
        (with_another_pattern("qwen2"), "the pattern 'qwen2' as this version of tokbench defines it"),
        (with_another_pattern("none"), "the pattern 'none' as this version of tokbench defines it"),
        (with_another_pattern("gpt5"), "a split pattern"),
        (with_another_pattern("("), "a split pattern"),
        (with_another_pattern(None), "a split pattern"),
        (with_another_pattern(4), "a split pattern"),
        (with_another_regex(r"\w+|\W+"), "the pattern 'gpt4' as this version of tokbench defines it"),
        (with_another_regex(None), "the pattern 'gpt4' as this version of tokbench defines it"),
        (with_special_tokens({"<e>": FIRST_SPECIAL - 1}), OTHER_IDS),
        (with_special_tokens({"<e>": 0}), OTHER_IDS),
        (with_special_tokens({}), OTHER_IDS),
        (lambda document: document.update({"vocab_size": FIRST_SPECIAL + 2}), OTHER_IDS),
        (lambda document: document["config"].pop("pattern"), "a split pattern"),
        (lambda document: document.update({"config": {}}), "a split pattern"),
    ],
)
def test_a_damaged_manifest_is_refused(
    kernel: Kernel, folder: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    change_manifest(folder, change)
    with pytest.raises(ModelFormatError) as caught:
        opened(kernel, folder)
    assert f"expected {message}" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("texts", [["<e>", "<e><e>"], ["<e>", "\ud800"], ["<e>", ""]])
def test_ambiguous_special_tokens_are_refused(kernel: Kernel, folder: Path, texts: list[str]) -> None:
    special_tokens = {text: FIRST_SPECIAL + number for number, text in enumerate(texts)}
    size = FIRST_SPECIAL + len(texts)
    change_manifest(folder, lambda document: document.update(special_tokens=special_tokens, vocab_size=size))
    with pytest.raises(ModelFormatError):
        opened(kernel, folder)


@pytest.mark.parametrize("seed", ["0", None, [], -1, 1.5, True])
def test_invalid_seed_is_refused(kernel: Kernel, folder: Path, seed: object) -> None:
    change_manifest(folder, lambda document: document["config"].update({"seed": seed}))
    with pytest.raises(ModelFormatError, match=r"as config\.seed"):
        opened(kernel, folder)


def test_merges_are_written_as_by_numpy(tmp_path):
    for merges in ([], [Merge(97, 98, 7)], [Merge(97, 98, 7), Merge(256, 99, 3)]):
        array = np.array(merges, dtype="<i8").reshape(-1, 3)
        data = dump_merges(merges)
        assert data == npy(array)
        assert parse_merges(memoryview(data), path=tmp_path / "merges.npy") == tuple(merges)
        assert pairs_of(merges).tolist() == array[:, :2].tolist()
