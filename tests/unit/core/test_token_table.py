"""The bytes of all ids in one block, and rank files that are read into one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.core.token_table import TokenTable
from tokbench.formats import tiktoken
from tokbench.formats.tiktoken import dump_ranked

if TYPE_CHECKING:
    from tokbench.backends.bpe.kernel import Kernel

BYTES = [(bytes([byte]), byte) for byte in range(256)]
LIMIT = 5000


@given(tokens=st.lists(st.none() | st.binary(max_size=4)))
def test_table_behaves_like_its_list_of_tokens(tokens: list[bytes | None]) -> None:
    table = TokenTable.of(tokens)
    assert list(table) == tokens == [table[id] for id in range(len(table))]
    assert list(table[1:-1]) == tokens[1:-1]
    assert [table[id - len(table)] for id in range(len(table))] == tokens
    assert table == tuple(tokens) == TokenTable.of(tokens)
    assert [table.holds(id) for id in range(-1, len(tokens) + 1)] == [
        False,
        *(token is not None for token in tokens),
        False,
    ]
    assert table.num_tokens == sum(token is not None for token in tokens)
    assert table.ranks() == [(token, id) for id, token in enumerate(tokens) if token is not None]
    longer = table.extended(len(tokens) + 2)
    assert list(longer) == [*tokens, None, None]
    with pytest.raises(IndexError):
        table[len(tokens)]


def test_tables_of_different_tokens_differ() -> None:
    assert TokenTable.of([b"a", None]) != TokenTable.of([b"a", b""])
    assert TokenTable.of([b"ab", b"c"]) != TokenTable.of([b"a", b"bc"])


def read(kernel: Kernel, data: bytes) -> tuple[bytes | None, ...] | None:
    table = kernel.read_ranks(data, LIMIT)
    if table is None:
        return None
    block, starts, gaps = table
    return tuple(TokenTable(block, memoryview(starts).cast("I"), gaps))


ranks = st.lists(
    st.tuples(st.binary(min_size=2, max_size=20), st.integers(1, 3)), unique_by=lambda item: item[0]
)


def ascending(more: list[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    entries, rank = list(BYTES), 255
    for token, step in more:
        rank += step
        entries.append((token, rank))
    return entries


@given(more=ranks, ends=st.sampled_from([b"", b"\n", b"\r\n\n", b"\r"]))
def test_regular_rank_file_is_read(kernel: Kernel, more: list[tuple[bytes, int]], ends: bytes) -> None:
    entries = ascending(more)
    table = read(kernel, dump_ranked(entries) + ends)
    assert table is not None
    assert [(token, rank) for rank, token in enumerate(table) if token is not None] == entries
    assert len(table) == entries[-1][1] + 1


@given(more=ranks, data=st.data())
def test_changed_rank_file_is_read_alike_by_both_kernels(
    native: Kernel, more: list[tuple[bytes, int]], data: st.DataObject
) -> None:
    changed = bytearray(dump_ranked(ascending(more)))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(changed) - 1))
        new = data.draw(st.sampled_from([b"", b"\n", b"\r", b" ", b"=", b"0", b"A", b"/", b"\xff", b"\r\n"]))
        changed[place : place + data.draw(st.integers(0, 2))] = new
    assert native.read_ranks(bytes(changed), LIMIT) == tiktoken.read_ranks(bytes(changed), LIMIT)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        dump_ranked(BYTES[1:]),
        dump_ranked([BYTES[1], BYTES[0], *BYTES[2:]]),
        dump_ranked([*BYTES, (b"ab", 300), (b"ab", 301)]),
        dump_ranked([*BYTES, (b"", 300)]),
        dump_ranked([*BYTES, (b"ab", LIMIT)]),
        dump_ranked([*BYTES, (b"ab", 2**32 + 256)]),
        dump_ranked([*BYTES, (b"ab", 255)]),
        dump_ranked(BYTES) + b"YWI= 0256\n",
        dump_ranked(BYTES) + b"YWJ= 256\n",
        dump_ranked(BYTES) + b"YWI 256\n",
        dump_ranked(BYTES) + b"YWI= 256 \n",
        dump_ranked(BYTES) + b"YWI= +256\n",
        dump_ranked(BYTES) + b"\nYWI= 256\n",
        dump_ranked(BYTES) + b"YWI=\n",
        dump_ranked(BYTES) + b"YW=I 256\n",
        dump_ranked(BYTES) + b"YW\xff= 256\n",
    ],
)
def test_irregular_rank_file_is_left_to_the_slow_reader(kernel: Kernel, data: bytes) -> None:
    assert kernel.read_ranks(data, LIMIT) is None


@given(more=ranks, text=st.text(alphabet="abéx \n"), merged=st.booleans())
def test_encoder_of_a_block_equals_that_of_a_list(
    kernel: Kernel, more: list[tuple[bytes, int]], text: str, merged: bool
) -> None:
    tokens = [token for token, _ in [*BYTES, *more]]
    words = [b"ab", b"aba", "é".encode(), b"xx", b" a"]
    tokens += [word for word in words if word not in tokens]
    table = TokenTable.of(tokens)
    listed = kernel.encoder_from_ranks(tokens, "gpt4")
    if merged:
        pair = (ord("a"), ord("b"), tokens.index(b"ab"))
        rows = memoryview(b"".join(id.to_bytes(4, "little") for id in pair)).cast("I")
        whole = kernel.encoder_from_merged_block(
            table.block, table.starts, [], rows, whole_tokens_first=True, pattern="gpt4"
        )
        assert whole.encode("xxabab") == (
            [tokens.index(b"xxabab")]
            if b"xxabab" in tokens
            else [ord("x"), ord("x"), *[tokens.index(b"ab")] * 2]
        )
        return
    assert kernel.encoder_from_ranked_block(table.block, table.starts, [], "gpt4").encode(
        text
    ) == listed.encode(text)


def test_gap_is_no_token_of_the_encoder(kernel: Kernel) -> None:
    table = TokenTable.of([*(token for token, _ in BYTES), b"ab", b"abab", b"cd"])
    encoder = kernel.encoder_from_ranked_block(table.block, table.starts, [257], None)
    assert encoder.encode("abab") == [256, 256]
    assert encoder.encode("cd") == [258]
    assert encoder.tokens()[256:] == [b"ab", b"", b"cd"]


BLOCK = bytes(range(256)) + b"ab"
STARTS = [*range(257), 258]


@pytest.mark.parametrize(
    ("starts", "gaps"),
    [
        ([], []),
        ([*STARTS[:-1], 259], []),
        ([*STARTS, 257], []),
        (STARTS, [257]),
        (STARTS, [2**31]),
        ([*STARTS, 258, 2**32 - 1], []),
    ],
)
def test_inconsistent_block_is_refused(kernel: Kernel, starts: list[int], gaps: list[int]) -> None:
    from array import array

    with pytest.raises(ValueError, match=r"start|gap"):
        kernel.encoder_from_ranked_block(BLOCK, memoryview(array("I", starts)), gaps, None)


@given(
    words=st.lists(st.text(alphabet="abc", min_size=2, max_size=8).map(str.encode), unique=True, max_size=30),
    text=st.text(alphabet="abc ", max_size=60),
)
def test_completed_encoder_gives_the_same_ids(native: Kernel, words: list[bytes], text: str) -> None:
    tokens = [token for token, _ in BYTES] + words
    first, ready = native.encoder_from_ranks(tokens, None), native.encoder_from_ranks(tokens, None)
    ready.complete()
    assert first.encode(text) == ready.encode(text)  # two encoders, as each remembers words


def test_encoder_gives_the_same_ids_while_it_completes(native: Kernel) -> None:
    words = [b"ab", b"abc", b" ab", b"bca", b"abca", b"aaa", b"aaaa", b"caab"]
    tokens = [token for token, _ in BYTES] + words
    first, ready = native.encoder_from_ranks(tokens, "gpt4"), native.encoder_from_ranks(tokens, "gpt4")
    ready.complete()
    texts = ["".join("abc "[(i * i + i // k) % 4] for i in range(20_000)) for k in range(1, 90)]
    assert [first.encode(text) for text in texts] == [ready.encode(text) for text in texts]
