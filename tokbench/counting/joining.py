"""Merging of counted words: the words of a range of hashes, from many files, become one file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.core.counted_words import PART_SEED, PARTS, TrainsOnWords, WordArrays
from tokbench.counting.part_task import SCHEMA, part_name
from tokbench.distributed.corpus_plan import read_plan
from tokbench.distributed.plan_folder import PLAN_NAME
from tokbench.errors import ModelFormatError
from tokbench.files.storage.open import place_of
from tokbench.registry import get_backend
from tokbench.words.folder import Fingerprints, sha256_of
from tokbench.words.parquet import open_words_file, open_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.counted_words import WordCounter
    from tokbench.distributed.tasks import TaskContext
    from tokbench.files.storage.place import Place

FILE_BYTES = 1 << 29
"""The bytes of text for each file of words, which then has about 3 to 6 million words."""


def num_files(num_bytes: int) -> int:
    """Return the number of files for the words of a text: a power of two that depends only on the text's size.

    >>> [num_files(size) for size in (10, 1_000_000_000, 10**13)]
    [1, 2, 64]
    """
    return min(1 << max(-(-num_bytes // FILE_BYTES) - 1, 0).bit_length(), PARTS)


def parts_of(number: int, files: int) -> tuple[int, int]:
    """Return the range (first, last + 1) of hash parts whose words are in a file."""
    width = PARTS // files
    return number * width, (number + 1) * width


def words_name(number: int) -> str:
    """Return the name of a file of words."""
    return f"words-{number:05}.parquet"


def join_file(arguments: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Add up the words of a range of hashes from all parts of a counting, and publish them as one file.

    Args:
        arguments: folder, with the plan and the parts; number and files, the index of the file and how many there
            are; min_count, the smallest count to keep.
        context: the task's context.

    Returns:
        The facts of the file: distinct, words, dropped, dropped_words, min_count, fingerprint, sha256.

    Raises:
        ModelFormatError: a part is damaged.
    """
    folder = place_of(arguments["folder"])
    plan = read_plan(folder / PLAN_NAME, schema=SCHEMA)
    first, last = parts_of(arguments["number"], arguments["files"])

    def arrays() -> Iterator[WordArrays]:
        done = 0
        for part in range(len(plan.parts)):
            with open_words_file(folder / part_name(part)) as file:
                parts = file.facts.get("parts_of_groups")
                if not isinstance(parts, list) or len(parts) != file.num_groups:
                    raise ModelFormatError(
                        str(folder / part_name(part)), "word counts of a part", "a different file"
                    )
                yield from file.arrays([i for i, hash_part in enumerate(parts) if first <= hash_part < last])
            done += plan.size_of(part)
            context.tell(done // arguments["files"])

    return write_joined(
        arrays(),
        folder / words_name(arguments["number"]),
        parts=(first, last),
        min_count=arguments["min_count"],
    )


def write_joined(
    batches: Iterable[WordArrays],
    place: Place,
    *,
    parts: tuple[int, int],
    min_count: int,
) -> dict[str, Any]:
    """Add up words, drop those of other parts and rare ones, and publish the others as one file.

    Args:
        batches: words in any order, possibly repeated.
        place: the place of the file.
        parts: the range (first, last + 1) of hash parts to keep.
        min_count: the smallest sum to keep.

    Returns:
        The facts of the file, as `join_file`.
    """
    counter = summing_counter()
    for words in batches:
        try:
            counter.add_arrays(*words, first=parts[0], last=parts[1])
        except ValueError as error:
            raise ModelFormatError("counted words", "words in UTF-8 with their counts", str(error)) from None
    fingerprints = Fingerprints()
    whole = WordArrays(*counter.arrays(*parts))
    kept = whole.at_least(min_count)
    facts: dict[str, Any] = {
        "distinct": len(whole.counts),
        "words": int(whole.counts.sum()),
        "dropped": len(whole.counts) - len(kept.counts),
        "dropped_words": int(whole.counts.sum() - kept.counts.sum()),
        "min_count": min_count,
    }
    fingerprints.update(kept)
    facts["fingerprint"] = fingerprints.hexdigest()
    with tempfile.TemporaryDirectory(prefix="tokbench-words-") as temporary:
        path = Path(temporary) / "words.parquet"
        with open_writer(path) as writer:
            writer.write(kept)
            writer.tell(facts)
        sha256 = sha256_of(place_of(path))
        place.put(path)
    return {**facts, "sha256": sha256}


def summing_counter() -> WordCounter:
    """Return a counter that adds up words of any backend; its parts are those of `PART_SEED`."""
    backend = get_backend("bpe")
    assert isinstance(backend, TrainsOnWords)
    return backend.word_counting(backend.config_type()).new_counter(threads=1, seed=PART_SEED)
