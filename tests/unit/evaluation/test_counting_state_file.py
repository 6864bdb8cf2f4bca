"""Files of counting states: what was counted in parts and saved equals the counts of one pass."""

from __future__ import annotations

import zipfile
from dataclasses import fields
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toys import Toy

from tokbench.corpus import Document
from tokbench.errors import ModelFormatError
from tokbench.evaluation.counting_pass import Counting, CountingState, Evaluation, evaluate
from tokbench.evaluation.counting_state_file import dump_states, read_facts, read_states
from tokbench.evaluation.counting_workers import GroupState
from tokbench.metrics import unit_counts
from tokbench.metrics.metric import Tally
from tokbench.metrics.unit_counts import MOST_UNITS, UnitCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

PIECES = ("th", "e", " ", "1", "\n", "_")
TOYS = {
    "unknown": Toy(*PIECES),
    "bytes": Toy(*PIECES, otherwise="bytes"),
    "nothing": Toy(*PIECES, otherwise="nothing"),
}


def plain(value: Any) -> Any:
    """Convert a value to one that `==` can compare."""
    if isinstance(value, np.ndarray):
        return (value.dtype.kind, value.tolist())
    if isinstance(value, Tally | UnitCounts | Evaluation | CountingState | GroupState):
        names = [field.name for field in fields(value) if field.name != "vocabulary"]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def in_parts(
    tokenizer: Toy, parts: Sequence[Sequence[Document]], *, means: bool, whole_groups: Sequence[str] = ()
) -> Evaluation:
    """Count in parts, writing the state of each to a file and reading it again."""
    together = Counting(tokenizer, means=means, whole_groups=whole_groups)
    size = tokenizer.info.vocab_size
    for part in parts:
        counting = Counting(tokenizer, means=means, whole_groups=whole_groups, num_checked=len(part))
        if part:
            counting.add(part)
        data = dump_states([counting.state()], {"part": 3})
        assert read_facts(BytesIO(data), path="a part")["part"] == 3
        [state] = read_states(BytesIO(data), path="a part", vocab_sizes=[size], means=means)
        assert plain(state) == plain(counting.state())
        together.take(state)
    return together.finish()


def document(number: int, text: str, group: str, unit: str | None) -> Document:
    place = (0, number) if unit is None else (int(unit), number)
    return Document(text, group, f"a:{number}", unit, group == "code", place)


documents_of = st.lists(
    st.tuples(
        st.text("the 12_\nü", min_size=1, max_size=12),
        st.sampled_from(["en", "de", "code"]),
        st.sampled_from([None, "1", "2"]),
    ),
    max_size=12,
).map(lambda rows: [document(number, *one) for number, one in enumerate(rows)])


@settings(deadline=None, max_examples=60)
@given(
    documents=documents_of,
    cuts=st.sets(st.integers(0, 12), max_size=4),
    toy=st.sampled_from(sorted(TOYS)),
    means=st.booleans(),
)
def test_joined_parts_equal_one_pass(
    documents: list[Document], cuts: set[int], toy: str, means: bool
) -> None:
    ends = sorted({0, len(documents), *(min(cut, len(documents)) for cut in cuts)})
    parts = [documents[start:stop] for start, stop in pairwise(ends)]
    whole = evaluate(TOYS[toy], documents, threads=1, means=means)
    assert plain(in_parts(TOYS[toy], parts, means=means)) == plain(whole)


@pytest.mark.parametrize("whole_groups", [(), ("en",)])
def test_parts_with_more_units_than_the_limit_equal_one_pass(whole_groups: tuple[str, ...]) -> None:
    documents = [
        document(number, "the e" * (number % 3 + 1), "en", None) for number in range(MOST_UNITS + 50)
    ]
    tokenizer = TOYS["unknown"]
    whole = evaluate(tokenizer, documents, threads=1, whole_groups=whole_groups)
    assert whole.group_units["en"].are_buckets is not bool(whole_groups)
    assert len(whole.set_frequencies) == 64
    for cut in (100, MOST_UNITS + 10):
        parts = [documents[:cut], documents[cut:]]
        evaluation = in_parts(tokenizer, parts, means=False, whole_groups=whole_groups)
        assert plain(evaluation) == plain(whole)


def test_state_size_does_not_grow_with_the_documents() -> None:
    """The state of twice as many documents of the same words only has some more digits."""

    def size(documents: int) -> int:
        counting = Counting(TOYS["unknown"])
        counting.add([document(number, "the", "en", None) for number in range(documents)])
        state = counting.state()
        assert len(state.units["en"].keys) <= MOST_UNITS
        assert len(state.sets[0]) == 64
        assert not any(state.named.values())
        return len(dump_states([state], {})) + state.units["en"].counts.nbytes

    assert size(16_000) < 1.2 * size(8_000)


def test_parts_with_more_groups_than_the_limit_equal_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_counts, "_MOST_FREQUENCIES", 2 * len(PIECES) + 2)
    documents = [document(number, "the", f"group {number}", None) for number in range(5)]
    whole = evaluate(TOYS["unknown"], documents, threads=1)
    assert whole.groups["group 0"].frequencies is None
    evaluation = in_parts(TOYS["unknown"], [documents[:1], documents[1:]], means=False)
    assert plain(evaluation) == plain(whole)


def some_file() -> bytes:
    counting = Counting(TOYS["unknown"], num_checked=1)
    counting.add([document(1, "the e ü", "en", None)])
    return dump_states([counting.state()], {})


def read(data: bytes) -> None:
    read_states(BytesIO(data), path="a part", vocab_sizes=[TOYS["unknown"].info.vocab_size], means=False)


def test_equal_counts_give_equal_bytes() -> None:
    assert some_file() == some_file()
    read(some_file())


@pytest.mark.parametrize("flag", [1, 0x20, 0x40], ids=["encrypted", "patched", "strongly encrypted"])
def test_damaged_zip_flag_is_refused(flag: int) -> None:
    whole = bytearray(some_file())
    for signature, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # in each entry, and in the directory
        start = -1
        while (start := whole.find(signature, start + 1)) >= 0:
            whole[start + at] |= flag
    with pytest.raises(ModelFormatError, match="a part: expected"):
        read(bytes(whole))


@settings(deadline=None)
@given(st.data())
def test_damaged_state_file_is_refused(data: st.DataObject) -> None:
    whole = bytearray(some_file())
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    stop = data.draw(st.none() | st.integers(0, len(whole)))
    try:
        read(bytes(whole[:stop]))
    except ModelFormatError as error:
        assert error.hint == "delete the file; --resume counts the part again"


@pytest.mark.parametrize("wrong", [{"vocab_sizes": [99]}, {"vocab_sizes": [7, 7]}, {"means": True}])
def test_state_of_another_vocabulary_or_option_is_refused(wrong: dict[str, Any]) -> None:
    right = {"vocab_sizes": [TOYS["unknown"].info.vocab_size], "means": False}
    with pytest.raises(ModelFormatError, match="a part: expected"):
        read_states(BytesIO(some_file()), path="a part", **{**right, **wrong})


def test_array_longer_than_its_header_says_is_refused() -> None:
    source, target = zipfile.ZipFile(BytesIO(some_file())), BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name in source.namelist():
            archive.writestr(
                name, source.read(name) + (b"\0" if name == "0/frequencies" else b""), zipfile.ZIP_DEFLATED
            )
    with pytest.raises(ModelFormatError, match="numbers as 0/frequencies"):
        read(target.getvalue())
