"""The tokbin format, byte by byte: a vocabulary that is mapped into memory and used without parsing.

All numbers are little-endian. A file is a header, a table of sections, and the sections, one
after the other; each begins at a multiple of 8 and is filled up to the next one with zeros.
The last one, so filled up, ends the file.

    header, 64 bytes
     0   8  magic: 93 54 4F 4B 42 49 4E 0A ("TOKBIN" between a byte that is not ASCII and a line end,
            so that a transfer as text shows)
     8   2  version of the format, 1
    10   2  model: 1 byte-level BPE by ranks, 2 byte-level BPE by listed merges,
            3 SentencePiece, 4 tokenizer.json
    12   4  flags: 1 lossless, 2 whole tokens first, 4 section 9 is there, 8 section 10 is; the
            others are 0
    16   4  ids: one more than the largest id
    20   4  merges
    24   4  special tokens
    28   4  sections
    32   8  bytes of the file
    40   8  bytes of the payload when it is unpacked
    48  12  zeros
    60   4  CRC-32 (as in zlib) of bytes 0 to 59 and the table

    table, 24 bytes a section, by ascending kind
     0   4  kind
     4   4  CRC-32 of the section with its filling
     8   8  offset in the file
    16   8  bytes without the filling

    sections
    1 text      five strings: backend, name, pattern name, pattern, normalization.
                Each is its length in UTF-8 bytes (4; FFFFFFFF where there is none) and
                the bytes
    2 special   a special token each, by ascending id: id (4), length (4), UTF-8 bytes
    3 kinds     a byte an id: 0 no such id, 1 normal, 2 byte fallback, 3 unknown, 4 special
    4 offsets   4 bytes an id and one more: where the bytes of each id begin in section 5, and the end
    5 bytes     the bytes of all ids, one after another; a special token has the bytes of its text
    6 scores    a float32 an id: -ln(rank + 1) for what the merge of that rank makes, and below all of
                those the same -ln(merges + 1) for what no merge makes; log probabilities for Unigram;
                0 where a model has none
    7 merges    model 2 only: left id, right id, made id (4 each) in the order of their ranks
    8 payload   models 3 and 4 only: the serialized ModelProto, or the tokenizer.json, packed by zlib
    9 config    with flag 4 only: JSON in UTF-8, what the tokenizer is to a model: "tokenizer_config" and
                "generation_config" as the files of these names say it, chat templates included
   10 input     with flag 8, models 1 and 2: where a model gets more than bare ids or a special token has a flag: UTF-8,
                a JSON object with `truncation`, `padding`, `post_processor` and `added_tokens` as a
                tokenizer.json has them

So the bytes of an id are section 5 from offsets[id] to offsets[id + 1]: no parsing, no search.
Models 1 and 2 are encoded from the tables, models 3 and 4 by the library that the payload is for.

Header and table are checked when a file is opened, each section when it is first touched, all of
them by `verify`: nothing is used unchecked, and opening does not read what it does not need.
"""

from __future__ import annotations

import struct
from enum import IntEnum, IntFlag
from typing import NamedTuple

MAGIC = b"\x93TOKBIN\n"
VERSION = 1
HEADER = struct.Struct("<8sHHIIIIIQQ12sI")
ENTRY = struct.Struct("<IIQQ")
LENGTH = struct.Struct("<I")
SPECIAL = struct.Struct("<II")
ALIGNMENT = 8
NO_TEXT = 0xFFFFFFFF
MAX_PAYLOAD = 1 << 28
"""Bytes that a payload may have when it is unpacked: a small file must not fill the memory."""

MAX_CONFIG = 1 << 24
"""Bytes of section 9."""


class Model(IntEnum):
    """What the tables or the payload are run by."""

    RANKS = 1
    MERGES = 2
    SENTENCEPIECE = 3
    TOKENIZER_JSON = 4


class Flag(IntFlag):
    """What is true of the whole tokenizer."""

    LOSSLESS = 1
    WHOLE_TOKENS_FIRST = 2
    CONFIG = 4
    INPUT = 8


class Section(IntEnum):
    """The kinds of sections, in the order in which they lie in the file."""

    TEXT = 1
    SPECIAL = 2
    KINDS = 3
    OFFSETS = 4
    BYTES = 5
    SCORES = 6
    MERGES = 7
    PAYLOAD = 8
    CONFIG = 9
    INPUT = 10


class Kind(IntEnum):
    """What an id is."""

    NONE = 0
    NORMAL = 1
    BYTE = 2
    UNKNOWN = 3
    SPECIAL = 4


class Texts(NamedTuple):
    """The strings of section 1."""

    backend: str | None
    name: str | None
    pattern_name: str | None
    pattern: str | None
    normalization: str | None


def sections_of(model: Model, *, config: bool = False, model_input: bool = False) -> tuple[Section, ...]:
    """The sections that a file of a model has, no more and no fewer.

    Args:
        model: what runs it.
        config: whether the file says what the tokenizer is to a model.
        model_input: whether it says what a model gets besides bare ids; for byte-level BPE.

    >>> [section.name for section in sections_of(Model.RANKS)]
    ['TEXT', 'SPECIAL', 'KINDS', 'OFFSETS', 'BYTES', 'SCORES']
    """
    common = tuple(section for section in Section if section <= Section.SCORES)
    last = (*((Section.CONFIG,) if config else ()), *((Section.INPUT,) if model_input else ()))
    match model:
        case Model.RANKS:
            return (*common, *last)
        case Model.MERGES:
            return (*common, Section.MERGES, *last)
        case Model.SENTENCEPIECE | Model.TOKENIZER_JSON:
            return (*common, Section.PAYLOAD, *last)


def filled(size: int) -> int:
    """A size with the filling after it.

    >>> filled(9)
    16
    """
    return -(-size // ALIGNMENT) * ALIGNMENT
