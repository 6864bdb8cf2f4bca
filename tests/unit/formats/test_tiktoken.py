"""Rank files: everything that tiktoken reads, and an error with a line number for everything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiktoken.load import load_tiktoken_bpe

from tokbench.errors import ConversionError, ModelFormatError
from tokbench.formats.tiktoken import check_byte_tokens, dump_ranks, parse_ranks, to_encoding

PATH = Path("tokenizers/mine/ranks.tiktoken")
BYTES = [bytes([byte]) for byte in range(256)]
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


def ranked(tokens: list[bytes]) -> list[tuple[bytes, int]]:
    return [(token, rank) for rank, token in enumerate(tokens)]


def failure(data: bytes) -> ModelFormatError:
    with pytest.raises(ModelFormatError) as caught:
        parse_ranks(data, path=PATH)
    return caught.value


def test_rank_file_by_hand_is_written_and_read() -> None:
    assert dump_ranks([b"a", b"ab", b"\xff\x00 \n"]) == b"YQ== 0\nYWI= 1\n/wAgCg== 2\n"
    assert parse_ranks(b"YQ== 0\nYWI= 1\n/wAgCg== 2\n", path=PATH) == [
        (b"a", 0),
        (b"ab", 1),
        (b"\xff\x00 \n", 2),
    ]


def test_tiktoken_reads_the_written_file(tmp_path: Path) -> None:
    tokens = [*BYTES, b"th", b"the", b" the", "東京".encode(), b"\xe6\x9d"]
    (tmp_path / "ranks.tiktoken").write_bytes(dump_ranks(tokens))
    assert load_tiktoken_bpe(str(tmp_path / "ranks.tiktoken")) == dict(ranked(tokens))


@pytest.mark.parametrize(
    "data",
    [
        b"YQ== 0\nYg== 1\n",
        b"YQ== 0\nYg== 1",
        b"YQ== 0\r\nYg== 1\r\n",
        b"YQ== 0\r\nYg== 1",
        b"YQ== 0\nYg== 1\n\n\r\n\n",
    ],
)
def test_line_ends_of_all_kinds_are_accepted(data: bytes) -> None:
    assert parse_ranks(data, path=PATH) == [(b"a", 0), (b"b", 1)]


def test_ranks_may_have_gaps_and_any_order() -> None:
    assert parse_ranks(b"YQ== 7\nYg== 3\n", path=PATH) == [(b"a", 7), (b"b", 3)]


def test_empty_token_is_read_and_written_as_in_whispers_file() -> None:
    assert parse_ranks(b"YQ== 0\n= 50256\n", path=PATH) == [(b"a", 0), (b"", 50256)]
    assert dump_ranks([b"a", b""]) == b"YQ== 0\n= 1\n"


def test_duplicate_rank_is_refused() -> None:
    error = failure(b"YQ== 0\nYg== 1\nYw== 1\n")
    assert error.message == f"{PATH}, line 3: expected each rank once, found rank 1 again (first on line 2)"


def test_duplicate_token_is_refused() -> None:
    error = failure(b"YQ== 0\nYg== 1\nYQ== 2\n")
    assert error.message == f"{PATH}, line 3: expected each token once, found b'a' again (first on line 1)"


@pytest.mark.parametrize(
    "line",
    [
        *[b"", b"YQ==", b"YQ== ", b" 1", b"1"],
        *[b"YQ==  1", b"YQ==\t1", b" YQ== 1", b"YQ== 1 ", b"YQ== 1 2", b"YQ== 1\r\r"],
        *[b"YQ== -1", b"YQ== +1", b"YQ== 1_0", b"YQ== 01", b"YQ== 1.0", b"YQ== 1e3", b"YQ== 0x1"],
        *[b"YQ== " + "١".encode(), b"YQ== " + b"9" * 10_000],
        *[b"YQ 1", b"YQ= 1", b"YQ=== 1", b"YR== 1", b"Y 1", b"Y$== 1", b"YQ=\x00 1"],
        *[b"=YQ= 1", b"== 1", b"YWJj= 1", b"YW-_ 1"],
        *[b"\xef\xbb\xbfYQ== 1", b"\xff\xfe\x00"],
    ],
)
def test_malformed_line_is_refused(line: bytes) -> None:
    error = failure(b"Yg== 0\n" + line + b"\nYw== 2\n")
    assert error.message.startswith(
        f"{PATH}, line 2: expected a token in base64, one space and its rank, found b"
    )
    assert len(error.message) < 200


@pytest.mark.parametrize("rank", [2**32 - 1, 2**32, 9_999_999_999])
def test_rank_beyond_tiktokens_limit_is_refused(rank: int) -> None:
    assert failure(b"YQ== %d\n" % rank).expected == "a rank of at most 4294967294"
    assert parse_ranks(b"YQ== 4294967294\n", path=PATH) == [(b"a", 2**32 - 2)]


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\n"])
def test_file_without_tokens_is_refused(data: bytes) -> None:
    assert failure(data).found == "none"


def test_duplicate_tokens_are_not_written() -> None:
    with pytest.raises(ConversionError, match="tokens 1 and 2 are both b'b'"):
        dump_ranks([b"a", b"b", b"b"])


def test_missing_byte_tokens_are_named() -> None:
    check_byte_tokens(ranked(BYTES), path=PATH)
    with pytest.raises(ModelFormatError, match=r"each of the 256 bytes, found none for byte 0x7F$"):
        check_byte_tokens([pair for pair in ranked(BYTES) if pair[1] != 0x7F], path=PATH)
    with pytest.raises(ModelFormatError, match=r"none for byte 0x00, 0x01, 0x02, 0x03 and 252 more$"):
        check_byte_tokens([(b"ab", 0), (b"", 1)], path=PATH)


def test_encoding_is_built_from_ranks() -> None:
    encoding = to_encoding(
        "mine", pattern=GPT2, ranks=ranked([*BYTES, b" t", b"he"]), special_tokens={"<|end|>": 258}
    )
    assert encoding.name == "mine"
    assert encoding.n_vocab == 259
    assert encoding.encode("a the<|end|>", allowed_special="all") == [97, 256, 257, 258]
    assert encoding.decode([97, 256, 257, 258]) == "a the<|end|>"


def test_without_a_pattern_the_whole_text_is_one_pretoken() -> None:
    ranks = ranked([*BYTES, b"\n ", b"a\n "])
    encoding = to_encoding("mine", pattern=None, ranks=ranks, special_tokens={})
    assert encoding.encode("a\n a\n ") == [257, 257]
    assert encoding.encode("") == []


@pytest.mark.parametrize(
    ("ranks", "special_tokens", "reason"),
    [
        ([*ranked(BYTES), (b"a", 256)], {}, "a token or a rank occurs twice"),
        ([*ranked(BYTES), (b"ab", 255)], {}, "a token or a rank occurs twice"),
        (ranked(BYTES[:-1]), {}, "there is no token for byte 0xFF"),
        (ranked(BYTES), {"<s>": 97}, "'<s>' has the id 97 of an ordinary token"),
        (ranked(BYTES), {"": 256}, "a special token is empty"),
        (ranked(BYTES), {"<s>": -1}, "the id -1 is not between 0 and 4294967294"),
        ([*ranked(BYTES), (b"ab", 2**32)], {}, "the id 4294967296 is not between"),
    ],
)
def test_ranks_that_tiktoken_would_mishandle_are_refused(
    ranks: list[tuple[bytes, int]], special_tokens: dict[str, int], reason: str
) -> None:
    with pytest.raises(ConversionError) as caught:
        to_encoding("mine", pattern=GPT2, ranks=ranks, special_tokens=special_tokens)
    assert reason in caught.value.reason


@pytest.mark.parametrize("pattern", ["(", r"\p{Nonsense}", r"\X"])
def test_pattern_that_tiktoken_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(ConversionError, match="tiktoken does not take the split pattern"):
        to_encoding("mine", pattern=pattern, ranks=ranked(BYTES), special_tokens={})
