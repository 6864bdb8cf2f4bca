r"""The layout of a folder of shards, and its index, written and parsed strictly.

    index.json                the index; written last, so that a folder with it is complete
    shard-00000.npy           ids, uint16 or uint32, little-endian, document after document
    shard-00000.offsets.npy   int64[documents + 1]: document i has ids[offsets[i]:offsets[i + 1]]
    shard-00000.mask.npy      for conversations: uint8, 1 for each id that is trained on
    shard-00001.npy           …

A `.npy` shard has a header of 128 bytes, a `.bin` shard has none. A document is never divided between shards. The index
contains no time or machine: the same corpus gives the same bytes.

    schema      "tokbench.shards/1"
    format      "npy" or "bin"
    dtype       "uint16" or "uint32"
    tokenizer   name; vocab_size; vocabulary: sha256 of its entries and special tokens; behaviour: sha256
                of its ids for fixed texts, which also reflects how it splits and merges
    eos         the token that ends each document: its text and id; null for none
    options     how the corpus was read (documents, text_field, errors; max_document_bytes if longer documents
                were left out, else null), special_policy, shard_tokens; for conversations also chat
    chat        template and source: its name, and sha256 of its text, null for a built-in one; train_on: the
                roles that are trained on; pack: ids per row, and pad: the id that pads rows, null without rows;
                date: the current date for the template, null for none; variables and tools: its further input
    files       the files of the corpus in the order of reading: name (the path below the named folder),
                bytes on disk, sample: sha256 of some blocks, null in indexes of older versions;
                and their contents: documents, replaced_bytes, skipped_documents, of which long_documents were
                too long and textless_documents records without a text (neither in indexes of older versions)
    shards      file; tokens; documents; text_bytes: UTF-8 bytes of its texts; sha256 of the file;
                offsets: sha256 of its offsets file; mask: sha256 of its mask file, for conversations
    total       shards, documents, tokens, text_bytes
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from tokbench.core.json_fields import Fields
from tokbench.core.tokens import SpecialPolicy
from tokbench.corpus import DocumentUnit, ErrorPolicy
from tokbench.files.untrusted_json import load_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ShardFormat = Literal["npy", "bin"]
TokenType = Literal["uint16", "uint32"]
DtypeChoice = Literal["auto", TokenType]
"""A type, or the smaller one that fits every id."""

INDEX_NAME = "index.json"
SCHEMA = "tokbench.shards/1"
MAX_INDEX_BYTES = 1 << 30
TOKEN_BYTES: dict[TokenType, int] = {"uint16": 2, "uint32": 4}
OFFSET_BYTES = 8
NPY_HEADER_BYTES = 128

OWN_FILE = re.compile(
    r"shard-[0-9]{5,9}(\.npy|\.bin|\.offsets\.npy|\.mask\.npy)(\.tmp)?|\.index\.json\.tmp-[0-9a-f]{12}"
)
"""Files of a folder of shards besides index and journal; the last alternative is an index truncated by a kill."""

_MAX_VOCAB_SIZE = 2**32
_SHARD = re.compile(r"shard-[0-9]{5,9}\.(npy|bin)")
_RESTORE = "the file was edited or cut: restore it, or encode again"


@dataclass(frozen=True, slots=True)
class TokenizerIdentity:
    """The identity of the tokenizer of shards.

    Attributes:
        name: the name of the tokenizer.
        vocab_size: the vocabulary size; every id is below it.
        vocabulary: sha256 of its entries and special tokens.
        behaviour: sha256 of its ids for fixed texts.
    """

    name: str
    vocab_size: int
    vocabulary: str
    behaviour: str


@dataclass(frozen=True, slots=True)
class EndOfDocument:
    """The special token after each document."""

    text: str
    id: int


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How conversations were encoded.

    Attributes:
        template: the name of the template.
        source: sha256 of its text; None for a built-in one.
        train_on: the roles that are trained on.
        pack: the number of ids per row; None if documents are not packed into rows.
        pad: the id that pads rows.
        date: the current date for the template, such as 2024-07-26; None for none.
        variables: the template's variables by name.
        tools: the tools of conversations that have none of their own.
    """

    template: str
    source: str | None
    train_on: tuple[str, ...]
    pack: int | None
    pad: int | None
    date: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[Mapping[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the value in the index and the journal."""
        fields = dataclasses.asdict(self)
        return {**fields, "train_on": list(self.train_on), "tools": list(fields["tools"])}


@dataclass(frozen=True, slots=True)
class ShardOptions:
    """How the corpus was read and encoded; `chat` is None for texts."""

    documents: str
    text_field: str | list[str]
    errors: str
    max_document_bytes: int | None
    special_policy: str
    shard_tokens: int
    chat: ChatOptions | None = None


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """A file of the corpus, and the numbers of its contents."""

    name: str
    bytes: int
    sample: str | None
    documents: int
    replaced_bytes: int
    skipped_documents: int
    long_documents: int = 0
    textless_documents: int = 0


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard: its files and the numbers of its contents."""

    file: str
    tokens: int
    documents: int
    text_bytes: int
    sha256: str
    offsets: str
    mask: str | None = None

    @property
    def mask_file(self) -> str:
        """The name of its mask file, if it has one."""
        return f"{self.file.partition('.')[0]}.mask.npy"

    @property
    def sums(self) -> dict[str, str]:
        """The sha256 of each of its files, by name."""
        sums = {self.file: self.sha256, self.offsets_file: self.offsets}
        return sums if self.mask is None else {**sums, self.mask_file: self.mask}

    @property
    def offsets_file(self) -> str:
        """The name of its offsets file."""
        return f"{self.file.partition('.')[0]}.offsets.npy"


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """The contents of `index.json`; the module's docstring describes the fields."""

    format: ShardFormat
    dtype: TokenType
    tokenizer: TokenizerIdentity
    eos: EndOfDocument | None
    options: ShardOptions
    files: tuple[CorpusEntry, ...]
    shards: tuple[ShardEntry, ...]

    @property
    def documents(self) -> int:
        """The number of documents of all shards."""
        return sum(shard.documents for shard in self.shards)

    @property
    def tokens(self) -> int:
        """The number of tokens of all shards, including those after documents."""
        return sum(shard.tokens for shard in self.shards)

    @property
    def text_bytes(self) -> int:
        """The number of UTF-8 bytes of all texts."""
        return sum(shard.text_bytes for shard in self.shards)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of `index.json`."""
        fields = dataclasses.asdict(self)
        if self.options.chat is not None:
            fields["options"]["chat"] = self.options.chat.to_json()
        else:  # texts do not have these fields
            del fields["options"]["chat"]
            for shard in fields["shards"]:
                del shard["mask"]
        return {
            "schema": SCHEMA,
            **fields,
            "total": {
                "shards": len(self.shards),
                "documents": self.documents,
                "tokens": self.tokens,
                "text_bytes": self.text_bytes,
            },
        }

    def file_size(self, shard: ShardEntry) -> int:
        """Return the expected size of a shard's file."""
        header = NPY_HEADER_BYTES if self.format == "npy" else 0
        return header + shard.tokens * TOKEN_BYTES[self.dtype]

    def sizes(self, shard: ShardEntry) -> dict[str, int]:
        """Return the expected sizes of a shard's files, by name."""
        offsets_size = NPY_HEADER_BYTES + (shard.documents + 1) * OFFSET_BYTES
        sizes = {shard.file: self.file_size(shard), shard.offsets_file: offsets_size}
        if self.options.chat is not None:
            sizes[shard.mask_file] = NPY_HEADER_BYTES + shard.tokens
        return sizes


def shard_name(number: int, format: ShardFormat) -> str:
    """Return the file name of a shard.

    >>> shard_name(7, "npy")
    'shard-00007.npy'
    """
    return f"shard-{number:05}.{format}"


def npy_header(dtype: str, length: int) -> bytes:
    """Return the header of a `.npy` file with a one-dimensional array.

    Always 128 bytes, so that it can be written once the length is known, and equal for all versions of NumPy.

    >>> len(npy_header("uint16", 2**40)), npy_header("int64", 3)[10:40]
    (128, b"{'descr': '<i8', 'fortran_orde")
    """
    code = {"uint8": "|u1", "uint16": "<u2", "uint32": "<u4", "int64": "<i8"}[dtype]
    fields = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({length},), }}"
    text = fields.ljust(NPY_HEADER_BYTES - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def dump_index(index: ShardIndex) -> bytes:
    """Return the bytes of `index.json`, equal for equal indexes."""
    import orjson

    return orjson.dumps(index.to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def parse_index(data: bytes, *, path: Path) -> ShardIndex:
    """Parse an index, checking every field; unknown keys are ignored.

    Raises:
        ModelFormatError: the data is not JSON, not an index, or has a field of the wrong type.
    """
    fields = Fields.of(load_json(data, path=path, hint=_RESTORE), path=path, hint=_RESTORE)
    if fields.values.get("schema") != SCHEMA:
        raise fields.wrong("schema", repr(SCHEMA), hint="was it written by a newer tokbench?")
    format: ShardFormat = fields.choice("format", get_args(ShardFormat))
    dtype: TokenType = fields.choice("dtype", get_args(TokenType))
    tokenizer = tokenizer_identity(fields.inner("tokenizer"))
    eos = None if fields.is_null("eos") else end_of_document(fields.inner("eos"), tokenizer)
    index = ShardIndex(
        format=format,
        dtype=dtype,
        tokenizer=tokenizer,
        eos=eos,
        options=_options(fields.inner("options")),
        files=tuple(map(corpus_entry, fields.items("files"))),
        shards=tuple(
            shard_entry(inner, number=number, format=format)
            for number, inner in enumerate(fields.items("shards"))
        ),
    )
    if not index.shards:
        raise fields.wrong("shards", "at least one shard")
    if any((shard.mask is None) != (index.options.chat is None) for shard in index.shards):
        raise fields.wrong("shards", "masks of conversations, and none of texts")
    total = fields.inner("total")
    for name, found in index.to_json()["total"].items():
        if total.count(name) != found:
            raise total.wrong(name, f"the sum {found}")
    return index


def tokenizer_identity(fields: Fields) -> TokenizerIdentity:
    """Parse the field `tokenizer`. Raises `ModelFormatError`, as the following functions."""
    return TokenizerIdentity(
        name=fields.text("name"),
        vocab_size=fields.count("vocab_size", low=1, high=_MAX_VOCAB_SIZE),
        vocabulary=fields.sha256("vocabulary"),
        behaviour=fields.sha256("behaviour"),
    )


def end_of_document(fields: Fields, tokenizer: TokenizerIdentity) -> EndOfDocument:
    """Parse the field `eos`."""
    return EndOfDocument(fields.text("text"), fields.count("id", high=tokenizer.vocab_size - 1))


def corpus_entry(fields: Fields) -> CorpusEntry:
    """Parse an entry of `files`."""
    return CorpusEntry(
        name=fields.text("name"),
        bytes=fields.count("bytes"),
        sample=fields.optional("sample", fields.sha256),
        documents=fields.count("documents"),
        replaced_bytes=fields.count("replaced_bytes"),
        skipped_documents=fields.count("skipped_documents"),
        long_documents=fields.optional("long_documents", fields.count) or 0,
        textless_documents=fields.optional("textless_documents", fields.count) or 0,
    )


def shard_entry(fields: Fields, *, number: int, format: ShardFormat) -> ShardEntry:
    """Parse an entry of `shards`; only its own file name is accepted, so that no other file is ever opened."""
    name = fields.text("file")
    if not _SHARD.fullmatch(name) or name != shard_name(number, format):
        raise fields.wrong("file", repr(shard_name(number, format)), hint="do not use this folder")
    return ShardEntry(
        file=name,
        tokens=fields.count("tokens"),
        documents=fields.count("documents", low=1),
        text_bytes=fields.count("text_bytes"),
        sha256=fields.sha256("sha256"),
        offsets=fields.sha256("offsets"),
        mask=fields.optional("mask", fields.sha256),
    )


def _options(fields: Fields) -> ShardOptions:
    return ShardOptions(
        documents=fields.choice("documents", get_args(DocumentUnit)),
        text_field=_text_field(fields),
        errors=fields.choice("errors", get_args(ErrorPolicy)),
        max_document_bytes=fields.optional("max_document_bytes", partial(fields.count, low=1)),
        special_policy=fields.choice("special_policy", tuple(policy.value for policy in SpecialPolicy)),
        shard_tokens=fields.count("shard_tokens", low=1),
        chat=fields.optional("chat", lambda name: _chat(fields.inner(name))),
    )


def _chat(fields: Fields) -> ChatOptions:
    pack = fields.optional("pack", partial(fields.count, low=1))
    pad = fields.optional("pad", fields.count)
    if (pack is None) != (pad is None):
        raise fields.wrong("pad", "an id where there are rows, and none else")
    return ChatOptions(
        template=fields.text("template"),
        source=fields.optional("source", fields.sha256),
        train_on=tuple(fields.texts("train_on")),
        pack=pack,
        pad=pad,
        date=fields.optional("date", fields.text),
        variables=fields.optional("variables", fields.json_object) or {},
        tools=tuple(dict(tool.values) for tool in fields.optional("tools", fields.items) or ()),
    )


def _text_field(fields: Fields) -> str | list[str]:
    """Parse a field name, or a list of several."""
    value = fields.values.get("text_field")
    if isinstance(value, str):
        return value
    if not value:
        raise fields.wrong("text_field", "a text, or a list of texts")
    return fields.texts("text_field")
