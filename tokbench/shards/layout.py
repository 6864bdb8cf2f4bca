r"""What a folder of shards looks like, and its index, written and read strictly.

    index.json                what is there; written last, so that a folder with it is whole
    shard-00000.npy           ids, uint16 or uint32, little-endian, document after document
    shard-00000.offsets.npy   int64[documents + 1]: document i has ids[offsets[i]:offsets[i + 1]]
    shard-00000.mask.npy      of conversations: uint8, 1 for each id that is learned
    shard-00001.npy           …

A `.npy` shard has a header of 128 bytes, a `.bin` shard has none. A document is never divided between
shards. Nothing in the index is a time or a machine: the same corpus gives the same bytes.

    schema      "tokbench.shards/1"
    format      "npy" or "bin"
    dtype       "uint16" or "uint32"
    tokenizer   name; vocab_size; vocabulary: sha256 of its entries and special tokens; behaviour: sha256
                of its ids for fixed texts, which also tells how it splits and merges
    eos         what ends each document: its text and id; null for nothing
    options     how the corpus was read (documents, text_field, errors; max_document_bytes where longer ones
                were left out, else null), special_policy, shard_tokens; of conversations also chat
    chat        template and source: its name, and sha256 of its text, null for a built-in one; train_on: the
                roles that are learned; pack: ids in a row, and pad: the id that fills one, null without rows;
                date: what the template took for today, null for none; variables and tools: what it was given
    files       of the corpus, in the order in which they were read: name (the path below what was named),
                bytes on disk, sample: sha256 of some blocks of it, null where tokbench did not write it yet;
                and what they held: documents, replaced_bytes, skipped_documents
    shards      file; tokens; documents; text_bytes: UTF-8 bytes of its texts; sha256 of the file;
                offsets: sha256 of the file of its offsets; mask: that of its mask, of conversations
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
from tokbench.files.untrusted import load_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ShardFormat = Literal["npy", "bin"]
TokenType = Literal["uint16", "uint32"]
DtypeChoice = Literal["auto", TokenType]
"""A type, or the smaller one that holds every id."""

INDEX_NAME = "index.json"
SCHEMA = "tokbench.shards/1"
MAX_INDEX_BYTES = 1 << 30
TOKEN_BYTES: dict[TokenType, int] = {"uint16": 2, "uint32": 4}
OFFSET_BYTES = 8
NPY_HEADER_BYTES = 128

OWN_FILE = re.compile(
    r"shard-[0-9]{5,9}(\.npy|\.bin|\.offsets\.npy|\.mask\.npy)(\.tmp)?|\.index\.json\.tmp-[0-9a-f]{12}"
)
"""What a folder of shards may hold besides its index and its journal; the last is an index that a kill cut off."""

_MAX_VOCAB_SIZE = 2**32
_SHARD = re.compile(r"shard-[0-9]{5,9}\.(npy|bin)")
_RESTORE = "the file was edited or cut: restore it, or encode again"


@dataclass(frozen=True, slots=True)
class TokenizerIdentity:
    """Which tokenizer made shards.

    Attributes:
        name: how it was called.
        vocab_size: entries; every id is below it.
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
    """How conversations became ids.

    Attributes:
        template: what the template is called.
        source: sha256 of its text; None for a built-in one.
        train_on: the roles that are learned.
        pack: ids in a row; None where documents stand one after another.
        pad: the id that fills a row.
        date: what the template took for today, as 2024-07-26; None for none.
        variables: what the template was given by name.
        tools: what conversations without tools were given.
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
        """As the index and the journal hold it."""
        fields = dataclasses.asdict(self)
        return {**fields, "train_on": list(self.train_on), "tools": list(fields["tools"])}


@dataclass(frozen=True, slots=True)
class ShardOptions:
    """How the corpus was read and what was made of it; `chat` is None for texts."""

    documents: str
    text_field: str | list[str]
    errors: str
    max_document_bytes: int | None
    special_policy: str
    shard_tokens: int
    chat: ChatOptions | None = None


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """A file of the corpus, and what it held."""

    name: str
    bytes: int
    sample: str | None
    documents: int
    replaced_bytes: int
    skipped_documents: int


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard: its files and what is in them."""

    file: str
    tokens: int
    documents: int
    text_bytes: int
    sha256: str
    offsets: str
    mask: str | None = None

    @property
    def mask_file(self) -> str:
        """The name of the file of its mask, if it has one."""
        return f"{self.file.partition('.')[0]}.mask.npy"

    @property
    def sums(self) -> dict[str, str]:
        """Each of its files → its sha256."""
        sums = {self.file: self.sha256, self.offsets_file: self.offsets}
        return sums if self.mask is None else {**sums, self.mask_file: self.mask}

    @property
    def offsets_file(self) -> str:
        """The name of the file of its offsets."""
        return f"{self.file.partition('.')[0]}.offsets.npy"


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """What `index.json` says; its fields are those of the module's docstring."""

    format: ShardFormat
    dtype: TokenType
    tokenizer: TokenizerIdentity
    eos: EndOfDocument | None
    options: ShardOptions
    files: tuple[CorpusEntry, ...]
    shards: tuple[ShardEntry, ...]

    @property
    def documents(self) -> int:
        """Documents of all shards."""
        return sum(shard.documents for shard in self.shards)

    @property
    def tokens(self) -> int:
        """Tokens of all shards, those after documents included."""
        return sum(shard.tokens for shard in self.shards)

    @property
    def text_bytes(self) -> int:
        """UTF-8 bytes of all texts."""
        return sum(shard.text_bytes for shard in self.shards)

    def to_json(self) -> dict[str, Any]:
        """As `index.json` holds it."""
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
        """The bytes that a shard's file must have."""
        header = NPY_HEADER_BYTES if self.format == "npy" else 0
        return header + shard.tokens * TOKEN_BYTES[self.dtype]

    def sizes(self, shard: ShardEntry) -> dict[str, int]:
        """Each file of a shard → the bytes that it must have."""
        sizes = {shard.file: self.file_size(shard), shard.offsets_file: offsets_size(shard)}
        if self.options.chat is not None:
            sizes[shard.mask_file] = NPY_HEADER_BYTES + shard.tokens
        return sizes


def shard_name(number: int, format: ShardFormat) -> str:
    """The file name of a shard.

    >>> shard_name(7, "npy")
    'shard-00007.npy'
    """
    return f"shard-{number:05}.{format}"


def offsets_size(shard: ShardEntry) -> int:
    """The bytes that the file of a shard's offsets must have."""
    return NPY_HEADER_BYTES + (shard.documents + 1) * OFFSET_BYTES


def npy_header(dtype: str, length: int) -> bytes:
    """The header of a `.npy` file with one array of one dimension.

    Always 128 bytes, so that it can be written when the length is known, and the same whatever the version
    of numpy.

    >>> len(npy_header("uint16", 2**40)), npy_header("int64", 3)[10:40]
    (128, b"{'descr': '<i8', 'fortran_orde")
    """
    code = {"uint8": "|u1", "uint16": "<u2", "uint32": "<u4", "int64": "<i8"}[dtype]
    fields = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({length},), }}"
    text = fields.ljust(NPY_HEADER_BYTES - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def dump_index(index: ShardIndex) -> bytes:
    """The bytes of `index.json`, the same for equal indexes."""
    import orjson

    return orjson.dumps(index.to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def parse_index(data: bytes, *, path: Path) -> ShardIndex:
    """The index that bytes hold, every field checked; keys it does not know are left aside.

    Raises:
        ModelFormatError: not JSON, not an index, or a field of the wrong kind.
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
    """Read the part `tokenizer`. Raises `ModelFormatError`, as the others."""
    return TokenizerIdentity(
        name=fields.text("name"),
        vocab_size=fields.count("vocab_size", low=1, high=_MAX_VOCAB_SIZE),
        vocabulary=fields.sha256("vocabulary"),
        behaviour=fields.sha256("behaviour"),
    )


def end_of_document(fields: Fields, tokenizer: TokenizerIdentity) -> EndOfDocument:
    """Read the part `eos`."""
    return EndOfDocument(fields.text("text"), fields.count("id", high=tokenizer.vocab_size - 1))


def corpus_entry(fields: Fields) -> CorpusEntry:
    """Read one of `files`."""
    return CorpusEntry(
        name=fields.text("name"),
        bytes=fields.count("bytes"),
        sample=fields.optional("sample", fields.sha256),
        documents=fields.count("documents"),
        replaced_bytes=fields.count("replaced_bytes"),
        skipped_documents=fields.count("skipped_documents"),
    )


def shard_entry(fields: Fields, *, number: int, format: ShardFormat) -> ShardEntry:
    """Read one of `shards`; its name can only be its own, so that no other file is ever opened."""
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
    """A field, or several in a list."""
    value = fields.values.get("text_field")
    if isinstance(value, str):
        return value
    if not value:
        raise fields.wrong("text_field", "a text, or a list of texts")
    return fields.texts("text_field")
