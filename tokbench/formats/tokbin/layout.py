"""The tokbin format, byte by byte: a vocabulary that is mapped into memory and used without parsing.

All numbers are little-endian. A file consists of a header, a table of sections, and the sections in order; each section
begins at a multiple of 8 and is padded with zeros up to the next one. The last one, with its padding, ends the file.

    header, 64 bytes
     0   8  magic: 93 54 4F 4B 42 49 4E 0A ("TOKBIN" between a byte that is not ASCII and a line end,
            so that transfer as text is detected)
     8   2  version of the format, 1
    10   2  model: 1 byte-level BPE by ranks, 2 byte-level BPE by listed merges,
            3 SentencePiece, 4 tokenizer.json
    12   4  flags: 1 lossless, 2 whole tokens first, 4 section 9 is present, 8 section 10 is present;
            the others are 0
    16   4  ids: one more than the largest id
    20   4  number of merges
    24   4  number of special tokens
    28   4  number of sections
    32   8  size of the file
    40   8  size of the decompressed payload
    48  12  zeros
    60   4  CRC-32 (as in zlib) of bytes 0 to 59 and the table

    table, 24 bytes a section, by ascending kind
     0   4  kind
     4   4  CRC-32 of the section with its padding
     8   8  offset in the file
    16   8  size without the padding

    sections
    1 text      five strings: backend, name, pattern name, pattern, normalization.
                Each is its length in UTF-8 bytes (4; FFFFFFFF for none), then the bytes
    2 special   for each special token, by ascending id: id (4), length (4), UTF-8 bytes
    3 kinds     a byte an id: 0 no such id, 1 normal, 2 byte fallback, 3 unknown, 4 special
    4 offsets   4 bytes an id, and one more entry: where the bytes of each id begin in section 5, and the end
    5 bytes     the bytes of all ids, concatenated; a special token has the bytes of its text
    6 scores    a float32 an id: -ln(rank + 1) for the result of the merge of that rank, and the lower value
                -ln(merges + 1) for ids that no merge produces; log probabilities for Unigram;
                0 for a model without scores
    7 merges    model 2 only: left id, right id, merged id (4 each) in the order of their ranks
    8 payload   models 3 and 4 only: the serialized ModelProto, or the tokenizer.json, compressed by zlib
    9 config    with flag 4 only: JSON in UTF-8, the tokenizer's configuration for a model:
                "tokenizer_config" and "generation_config" as in the files of these names, with chat templates
   10 input     with flag 8, models 1 and 2: if there is post-processing or a special token has a flag: UTF-8,
                a JSON object with `truncation`, `padding`, `post_processor` and `added_tokens` as in a
                tokenizer.json

The bytes of an id are section 5 from offsets[id] to offsets[id + 1]: no parsing, no search. Models 1 and 2 are encoded
from the tables, models 3 and 4 by the library of the payload.

Header and table are checked when a file is opened, each section when it is first accessed, all of them by `verify`:
nothing is used unchecked, and opening reads only what it needs.
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
"""The largest decompressed payload: a small file must not fill the memory."""

MAX_CONFIG = 1 << 24
"""The largest size of section 9."""


class Model(IntEnum):
    """The model type, which determines whether the tables or the payload are used."""

    RANKS = 1
    MERGES = 2
    SENTENCEPIECE = 3
    TOKENIZER_JSON = 4


class Flag(IntFlag):
    """Flags of the whole tokenizer."""

    LOSSLESS = 1
    WHOLE_TOKENS_FIRST = 2
    CONFIG = 4
    INPUT = 8


class Section(IntEnum):
    """The kinds of sections, in the order of the file."""

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
    """The kind of an id."""

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
    """Return the sections of a file with this model, no more and no fewer.

    Args:
        model: the model type.
        config: whether the file contains a configuration for a model.
        model_input: whether the file describes model input; for byte-level BPE.

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
    """Return a size with its padding.

    >>> filled(9)
    16
    """
    return -(-size // ALIGNMENT) * ALIGNMENT
