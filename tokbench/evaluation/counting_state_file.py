"""The file of the counts of a part of a corpus: a ZIP archive of plain numbers with a JSON entry that describes them.

Equal counts give equal bytes. Reading a file checks the sizes of its arrays and executes nothing.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import asdict
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.errors import ModelFormatError
from tokbench.evaluation.counting_pass import CountingState
from tokbench.evaluation.counting_workers import GroupState
from tokbench.evaluation.fidelity import Failure
from tokbench.metrics.metric import DOCUMENT_COUNTS
from tokbench.metrics.unit_counts import NUM_MEAN_COLUMNS, UnitCounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO

    from numpy.typing import NDArray

SCHEMA = "tokbench.counts/1"
_FACTS = "facts.json"
_HINT = "delete the file; --resume counts the part again"
_FASTEST = 1
"""Compression level: the next levels take several times as long, and save a tenth."""
# `zipfile` raises RuntimeError if a damaged flag asks for encryption or for an unknown compression method.
_DAMAGED = (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, RuntimeError)


def dump_states(states: Sequence[CountingState], facts: Mapping[str, Any]) -> bytes:
    """Return the bytes of a file.

    Args:
        states: the counts of one or more tokenizers.
        facts: additional JSON values to store in the file.
    """
    arrays: dict[str, NDArray[Any]] = {}
    stored = [_put(state, f"{number}/", arrays) for number, state in enumerate(states)]
    narrow = {name: _narrowed(array) for name, array in arrays.items()}
    document = {
        **facts,
        "schema": SCHEMA,
        "states": stored,
        "arrays": {name: [array.dtype.str, list(array.shape)] for name, array in narrow.items()},
    }
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in [
            (_FACTS, json.dumps(document, sort_keys=True).encode()),
            *((name, array.tobytes()) for name, array in narrow.items()),
        ]:
            entry = zipfile.ZipInfo(name)  # without a modification time
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, _FASTEST)
    return file.getvalue()


def read_facts(stream: BinaryIO, *, path: str) -> dict[str, Any]:
    """Return the facts stored beside the counts. Raises `ModelFormatError`."""
    with _Reader(stream, path=path) as reader:
        return reader.facts


def read_states(
    stream: BinaryIO, *, path: str, vocab_sizes: Sequence[int], means: bool
) -> list[CountingState]:
    """Read the counts of a file.

    Args:
        stream: the file.
        path: path of the file for error messages.
        vocab_sizes: vocabulary sizes of the tokenizers that were counted.
        means: whether means over documents were counted.

    Raises:
        ModelFormatError: the file is damaged, or belongs to other tokenizers.
    """
    num_columns = len(DOCUMENT_COUNTS) + means * NUM_MEAN_COLUMNS
    with _Reader(stream, path=path) as reader:
        stored = reader.facts.get("states")
        if not isinstance(stored, list) or len(stored) != len(vocab_sizes):
            raise reader.damaged(f"the counts of {len(vocab_sizes)} tokenizers")
        try:
            return [
                _state(reader, state, f"{number}/", vocab_size=vocab_size, num_columns=num_columns)
                for number, (state, vocab_size) in enumerate(zip(stored, vocab_sizes, strict=True))
            ]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise reader.damaged("what was counted", found=repr(error)) from None


def _put(state: CountingState, prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Add the arrays of a state to `arrays`, with a prefix before their names, and return the rest as JSON."""
    for number, (name, group) in enumerate(state.groups.items()):
        here = f"{prefix}group-{number}/"
        for field in GroupState.SHAPES:
            arrays[here + field] = getattr(group, field)
        data, offsets, occurrences, fewest, most = group.words
        words = {
            "data": data,
            "sizes": np.diff(offsets),
            "occurrences": occurrences,
            "fewest": fewest,
            "most": most,
        }
        arrays |= {here + field: array for field, array in words.items()}
        arrays[here + "unit_keys"] = state.units[name].keys
        arrays[here + "unit_counts"] = state.units[name].counts
        if state.frequencies_by_group is not None:
            arrays[here + "frequencies"] = state.frequencies_by_group[name]
    arrays[f"{prefix}frequencies"] = state.frequencies
    arrays[f"{prefix}set_keys"], arrays[f"{prefix}set_counts"] = state.sets[:2]
    for kind, numbers in state.named.items():
        arrays[f"{prefix}{kind}"] = np.array(sorted(numbers), dtype=np.uint64)
    return {
        "groups": list(state.groups),
        "buckets": [state.units[name].are_buckets for name in state.groups],
        "by_group": state.frequencies_by_group is not None,
        "sets_are_buckets": state.sets[2],
        "single_documents": state.single_documents,
        "kinds": list(state.named),
        "line_groups": sorted(state.line_groups),
        "failures": [asdict(failure) for failure in state.failures],
        "num_bytes": state.num_bytes,
    }


def _state(
    reader: _Reader, stored: Mapping[str, Any], prefix: str, *, vocab_size: int, num_columns: int
) -> CountingState:
    names = [str(name) for name in stored["groups"]]
    groups, units = {}, {}
    by_group: dict[str, NDArray[np.int64]] | None = {} if stored["by_group"] is True else None
    for number, (name, are_buckets) in enumerate(zip(names, stored["buckets"], strict=True)):
        here = f"{prefix}group-{number}/"
        shaped = {field: reader.array(here + field, shape) for field, shape in GroupState.SHAPES.items()}
        sizes = reader.array(here + "sizes", (None,))
        groups[name] = GroupState(
            **shaped,
            words=(
                reader.array(here + "data", (None,), dtype=np.uint8),
                np.concatenate([[0], np.cumsum(sizes)]),
                reader.array(here + "occurrences", sizes.shape),
                reader.array(here + "fewest", sizes.shape, dtype=np.uint32),
                reader.array(here + "most", sizes.shape, dtype=np.uint32),
            ),
        )
        keys = reader.array(here + "unit_keys", (None,), dtype=np.uint64)
        counts = reader.array(here + "unit_counts", (len(keys), num_columns))
        units[name] = UnitCounts(keys, counts, are_buckets is True)
        if by_group is not None:
            by_group[name] = reader.array(here + "frequencies", (vocab_size,))
    set_keys = reader.array(f"{prefix}set_keys", (None,), dtype=np.uint64)
    return CountingState(
        groups=groups,
        frequencies=reader.array(f"{prefix}frequencies", (vocab_size,)),
        frequencies_by_group=by_group,
        sets=(
            set_keys,
            reader.array(f"{prefix}set_counts", (len(set_keys), vocab_size)),
            stored["sets_are_buckets"] is True,
        ),
        units=units,
        single_documents=int(stored["single_documents"]),
        named={
            kind: set(reader.array(f"{prefix}{kind}", (None,), dtype=np.uint64).tolist())
            for kind in stored["kinds"]
        },
        line_groups=frozenset(map(str, stored["line_groups"])),
        failures=tuple(Failure(**failure) for failure in stored["failures"]),
        num_bytes=int(stored["num_bytes"]),
    )


class _Reader:
    """Reads the arrays of a file, and checks the size of each before unpacking it."""

    def __init__(self, stream: BinaryIO, *, path: str) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(stream)
            facts = json.loads(self._entry(_FACTS))
        except _DAMAGED as error:
            raise self.damaged("the counts of a part", found=str(error)) from None
        if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
            raise self.damaged(SCHEMA)
        self.facts: dict[str, Any] = facts

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def array(self, name: str, shape: Sequence[int | None], *, dtype: Any = np.int64) -> NDArray[Any]:
        """Read an array of a shape, in which None allows any length. Raises `ModelFormatError`."""
        try:
            kept, sides = self.facts["arrays"][name]
            kept = np.dtype(kept)
            is_right = (
                kept.kind in "iu"
                and all(isinstance(side, int) and side >= 0 for side in sides)
                and len(sides) == len(shape)
                and all(wanted in (None, side) for side, wanted in zip(sides, shape, strict=True))
            )
            size = int(np.prod(sides, dtype=object)) * kept.itemsize
            if not is_right or self._archive.getinfo(name).file_size != size:
                raise self.damaged(f"{list(shape)} numbers as {name}")
            data = self._entry(name)
        except (*_DAMAGED, TypeError) as error:
            raise self.damaged(f"numbers as {name}", found=str(error)) from None
        return np.frombuffer(data, kept).reshape(sides).astype(dtype)

    def _entry(self, name: str) -> bytes:
        if (
            self._archive.getinfo(name).compress_type != zipfile.ZIP_DEFLATED
        ):  # each method raises its own errors
            raise zipfile.BadZipFile(f"{name} is not deflated")
        return self._archive.read(name)

    def damaged(self, expected: str, *, found: str = "something else") -> ModelFormatError:
        return ModelFormatError(self._path, expected, found, hint=_HINT)


def _narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """Convert an array of non-negative integers to the narrowest unsigned type that holds all of them."""
    if not array.size or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(int(array.max())), copy=False)
