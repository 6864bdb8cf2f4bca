"""Commands that read a corpus accept its URL, with the same results as for its files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.folders import files_of

from tokbench.files.storage.open import place_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Done

pytest.importorskip("fsspec")

TEXTS = {
    "parallel/en.txt": "".join(f"the line {number} of some words\n" for number in range(300)),
    "parallel/de.txt": "".join(f"die Zeile {number} von einigen Wörtern\n" for number in range(300)),
}


@pytest.fixture(params=["memory", pytest.param("s3", marks=pytest.mark.slow)])
def corpora(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Write the same corpus on this machine and remotely; return both addresses."""
    root = "memory:/" if request.param == "memory" else request.getfixturevalue("bucket")
    here, there = place_of(tmp_path / "corpus"), place_of(f"{root}/{tmp_path.name}/corpus")
    for name, text in TEXTS.items():
        (here / name).write(text.encode())
        (there / name).write(text.encode())
    return str(here), str(there)


def test_train_on_a_url_writes_the_same_files(
    run: Callable[..., Done], corpora: tuple[str, str], tmp_path: Path
) -> None:
    for corpus, name in zip(corpora, ("here", "there"), strict=True):
        run("train", corpus, "--vocab-size", "400", "--out", tmp_path / name / "mine").good()
    assert files_of(tmp_path / "here" / "mine") == files_of(tmp_path / "there" / "mine")


@pytest.mark.parametrize(
    "command",
    [
        ("encode", "-t", "mine"),
        ("count", "-t", "mine", "--json"),
        ("compare", "-t", "mine", "--json", "--no-times"),
    ],
)
def test_other_commands_print_the_same_for_a_url(
    run: Callable[..., Done], corpora: tuple[str, str], trained: Path, command: tuple[str, ...]
) -> None:
    verb, option, _, *more = command
    outputs = [run(verb, corpus, option, trained, *more).good().stdout for corpus in corpora]
    assert outputs[0].replace(corpora[0], "corpus") == outputs[1].replace(corpora[1], "corpus")


def test_compare_with_training_gives_the_same_for_a_url(
    run: Callable[..., Done], corpora: tuple[str, str]
) -> None:
    def compared(corpus: str) -> list[Any]:
        done = run("compare", corpus, "--vocab-size", "300", "--backend", "bpe", "--json").good()
        return [candidate["counts"] for candidate in done.json["tokenizers"]]

    assert compared(corpora[0]) == compared(corpora[1])


def test_shards_of_a_url_have_the_same_ids(
    run: Callable[..., Done], corpora: tuple[str, str], trained: Path, tmp_path: Path
) -> None:
    for corpus, name in zip(corpora, ("here", "there"), strict=True):
        run("shards", "write", corpus, "-t", trained, "--out", tmp_path / name).good()
        run("shards", "verify", tmp_path / name, corpus, "-t", trained).good()
        run("shards", "write", corpus, "-t", trained, "--out", tmp_path / name, "--resume").good()
    ids = [(tmp_path / name / "shard-00000.npy").read_bytes() for name in ("here", "there")]
    assert ids[0] == ids[1]


def test_words_are_counted_merged_and_trained_on_by_url(
    run: Callable[..., Done], corpora: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are counted, added up, trained on and replayed by `lint` wherever they are."""
    pytest.importorskip("pyarrow")
    # Here, all commands run in one process, whose memory serves as a store.
    monkeypatch.setattr("tokbench.files.storage.open._OF_THIS_PROCESS", set())
    lines = {}
    for corpus in corpora:
        words = corpus.removesuffix("corpus") + "words"
        run("count-words", corpus, "--out", words, "--part-bytes", "5kB").good()
        run("merge-words", words, words, "--out", f"{words}-twice").good()
        run(
            *("train", "--counts", f"{words}-twice", "--vocab-size", "400", "--out", tmp_path / "mine"),
            "--force",
        ).good()
        done = run("lint", "-t", tmp_path / "mine", "--word-counts", f"{words}-twice")
        index = place_of(f"{words}-twice/words.json")
        with index.open() as file:
            record = json.loads(file.read())
        assert record["corpus"].pop("identity")  # by the versions of the store, or by samples of the files
        lines[corpus] = record, (tmp_path / "mine/merges.npy").read_bytes(), done.stdout, done.code
    assert lines[corpora[0]] == lines[corpora[1]]
    assert lines[corpora[0]][0]["fingerprint"]


def test_remote_shards_are_read_and_verified(
    run: Callable[..., Done], corpora: tuple[str, str], trained: Path, tmp_path: Path
) -> None:
    run("shards", "write", corpora[1], "-t", trained, "--out", tmp_path / "x").good()
    for path in (tmp_path / "x").iterdir():
        (place_of(f"{corpora[1]}-ids") / path.name).put(path)
    outputs = []
    for folder in (f"file://{tmp_path}/x", f"{corpora[1]}-ids"):
        run("shards", "verify", folder, corpora[1], "-t", trained).good()
        outputs.append(run("shards", "read", folder, "-t", trained, "--document", "1").good().stdout)
    assert outputs[0] == outputs[1] == TEXTS["parallel/en.txt"]
    assert "has no index.json" in run("shards", "verify", corpora[1]).stderr


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://nothing", "memory://nothing does not exist"),
        ("nonsense://x", "nonsense:// URLs are not supported"),
    ],
)
def test_unreadable_urls_are_refused(run: Callable[..., Done], url: str, message: str) -> None:
    done = run("train", url)
    assert done.code == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_unreachable_server_is_named(run):
    run("count", "ftp://127.0.0.1:1/a.txt").refused(
        1, "ftp://127.0.0.1:1/a.txt cannot be reached: Connection refused"
    )
