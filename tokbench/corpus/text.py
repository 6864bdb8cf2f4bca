"""The text of corpus files: bytes decoded as UTF-8, and split into documents."""

from __future__ import annotations

import codecs
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import counted, is_or_are, was_or_were
from tokbench.corpus.bytes import HEAD_BYTES
from tokbench.corpus.document import MAX_DOCUMENT_BYTES, TOO_LONG, Bound, utf8_size
from tokbench.corpus.files import STDIN
from tokbench.errors import CorpusError
from tokbench.files.untrusted import compression_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.corpus.document import DocumentUnit, ErrorPolicy
    from tokbench.files.untrusted import Compression

# Under "skip" a bad byte becomes a lone surrogate, which valid UTF-8 never contains, and marks its document.
_HANDLERS: dict[ErrorPolicy, str] = {"strict": "strict", "replace": "replace", "skip": "surrogateescape"}
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_LONGEST_MARK = 4
_FEWEST_UNITS = 8
_SHARE_OF_ASCII = 0.7
"""The share of code units below 256 from which a text is taken for UTF-16; the rest may be quotation marks."""
_UNPACKERS: dict[Compression, str] = {"gz": "gzip", "bz2": "bzip2", "xz": "xz", "zst": "zstd"}
_TAR_MAGIC, _TAR_MAGIC_OFFSET = b"ustar", 257


class OtherEncodingError(CorpusError):
    """A text in UTF-16 or UTF-32."""


@dataclass(slots=True)
class Problems:
    """Counts of what was skipped or replaced while reading: not UTF-8, too long, or without a text.

    Attributes:
        replaced_bytes: bytes replaced by U+FFFD, under errors="replace".
        skipped_documents: documents left out, under errors="skip".
        long_documents: the skipped documents that are too long.
        textless_documents: the skipped records that have no text.
        ungrouped_documents: documents without the field that determines groups.
        group: the group of the ungrouped documents.
    """

    replaced_bytes: int = 0
    skipped_documents: int = 0
    long_documents: int = 0
    textless_documents: int = 0
    ungrouped_documents: int = 0
    group: str = ""

    @classmethod
    def total(cls, counters: Iterable[Mapping[str, Any]]) -> Problems:
        """Add up counters by name; those that a mapping lacks are 0.

        >>> str(Problems.total([{"replaced_bytes": 1, "documents": 9}, Problems(replaced_bytes=2).counters()]))
        '3 bytes that are not UTF-8 were replaced by U+FFFD'
        """
        known = list(counters)
        return cls(**{name: sum(each.get(name, 0) for each in known) for name in cls().counters()})

    def counters(self) -> dict[str, int]:
        """Return the numbers by name."""
        return {name: value for name, value in asdict(self).items() if name != "group"}

    def __str__(self) -> str:
        problems = []
        if self.replaced_bytes:
            is_not = f"that {is_or_are(self.replaced_bytes)} not UTF-8 {was_or_were(self.replaced_bytes)}"
            problems.append(f"{counted(self.replaced_bytes, 'byte')} {is_not} replaced by U+FFFD")
        if bad := self.skipped_documents - self.long_documents - self.textless_documents:
            is_not = f"that {is_or_are(bad)} not UTF-8 {was_or_were(bad)}"
            problems.append(f"{counted(bad, 'document')} {is_not} left out")
        if long := self.long_documents:
            longer = f"longer than --max-document-bytes {was_or_were(long)}"
            problems.append(f"{counted(long, 'document')} {longer} left out")
        if textless := self.textless_documents:
            problems.append(f"{counted(textless, 'record')} without a text {was_or_were(textless)} left out")
        if ungrouped := self.ungrouped_documents:
            place = f"{is_or_are(ungrouped)} in the group {self.group!r}"
            problems.append(f"{counted(ungrouped, 'document')} without the field of --group-by {place}")
        return "; ".join(problems)


@dataclass(frozen=True, slots=True)
class Utf8Stream:
    """Bytes that should be UTF-8, without their byte order mark.

    Attributes:
        name: their name in messages.
        start: the number of bytes before them: those of the mark, 0 or 3; for a part of a file, all before it.
        head: the first bytes, including the mark.
        blocks: the bytes after the mark, cut at any position.
    """

    name: str
    start: int
    head: bytes
    blocks: Iterator[bytes]


def utf8_stream(name: str, blocks: Iterable[bytes]) -> Utf8Stream:
    """Remove the byte order mark. Raises `OtherEncodingError`, and `CorpusError` for tar archives.

    >>> b"".join(utf8_stream("a.txt", [bytes([0xEF, 0xBB]), bytes([0xBF, 0x41])]).blocks)
    b'A'
    """
    rest = iter(blocks)
    head = next(rest, b"")
    while len(head) < _LONGEST_MARK and (block := next(rest, b"")):
        head += block
    start = mark_length(name, head)
    return Utf8Stream(name, start, head[:HEAD_BYTES], chain([head[start:]], rest))


def mark_length(name: str, head: bytes) -> int:
    """Return the length of the UTF-8 byte order mark at the beginning of bytes: 3, or 0 for none.

    Args:
        name: the name in messages.
        head: the first `HEAD_BYTES` bytes, or all.

    Raises:
        OtherEncodingError: the bytes begin with the mark of UTF-16 or UTF-32, or look like UTF-16 without a mark,
            which can be valid UTF-8 with NUL bytes.
        CorpusError: they are a tar archive, which can be that as well.
    """
    if head.startswith(codecs.BOM_UTF8):
        return len(codecs.BOM_UTF8)
    file = "FILE" if name == STDIN else name
    # In this order, because the mark of little-endian UTF-32 begins with that of UTF-16.
    for encoding, marks in (("UTF-32", _UTF32_MARKS), ("UTF-16", _UTF16_MARKS)):
        if head.startswith(marks):
            raise OtherEncodingError(
                f"{name}: not UTF-8: it looks like {encoding} (it starts with {encoding}'s byte order mark)",
                hint=f"convert it first: iconv -f {encoding} -t UTF-8 {file}",
            )
    if (unmarked := _utf16_without_mark(head[:HEAD_BYTES])) is not None:
        raise OtherEncodingError(
            f"{name}: it looks like {unmarked}: every second byte is 0",
            hint=f"convert it first: iconv -f {unmarked} -t UTF-8 {file}",
        )
    if head[_TAR_MAGIC_OFFSET:].startswith(_TAR_MAGIC):
        raise CorpusError(f"{name}: a tar archive, not a text", hint=f"unpack it first: tar -xf {file}")
    return 0


def _utf16_without_mark(head: bytes) -> str | None:
    """Return the UTF-16 encoding of a text mostly of ASCII without a byte order mark; None for other bytes.

    >>> _utf16_without_mark("a short text".encode("utf-16-le")), _utf16_without_mark(b"a short text")
    ('UTF-16LE', None)
    """
    even, odd = head[::2], head[1::2]
    if len(odd) < _FEWEST_UNITS:
        return None
    zeros_even, zeros_odd = even.count(0) / len(even), odd.count(0) / len(odd)
    if min(zeros_even, zeros_odd) > 0 or max(zeros_even, zeros_odd) < _SHARE_OF_ASCII:
        return None
    return "UTF-16BE" if zeros_even else "UTF-16LE"


def decoded(stream: Utf8Stream, *, errors: ErrorPolicy, problems: Problems) -> Iterator[str]:
    """Yield the text in blocks of whole characters.

    Bytes that are not UTF-8 raise an error, or become U+FFFD (and are counted), or under "skip" lone surrogates,
    by which `whole` recognizes their documents.

    Raises:
        CorpusError: a byte is not UTF-8, under errors="strict".
    """
    decoder = codecs.getincrementaldecoder("utf-8")(_HANDLERS[errors])
    offset = stream.start
    for block in chain(filter(None, stream.blocks), [b""]):
        data = decoder.getstate()[0] + block
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise not_utf8(stream.name, offset + error.start, data[error.start], head=stream.head) from None
        data = data[: len(data) - len(decoder.getstate()[0])]
        if errors == "replace":
            problems.replaced_bytes += _replaced(data, text)
        offset += len(data)
        if text:
            yield text


def decode_record(
    data: bytes, name: str, *, offset: int = 0, errors: ErrorPolicy, problems: Problems
) -> str | None:
    """Decode the bytes of one document; return None for a document to skip.

    Args:
        data: bytes that should be UTF-8.
        name: the name in messages.
        offset: the position of `data` in the file, for messages.
        errors: how to handle bytes that are not UTF-8.
        problems: counts replaced bytes and skipped documents.

    Raises:
        CorpusError: a byte is not UTF-8, under errors="strict".
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if errors == "strict":
            raise not_utf8(name, offset + error.start, data[error.start]) from None
    if errors == "skip":
        problems.skipped_documents += 1
        return None
    text = data.decode(errors="replace")
    problems.replaced_bytes += _replaced(data, text)
    return text


def text_documents(
    stream: Utf8Stream,
    unit: DocumentUnit,
    *,
    errors: ErrorPolicy,
    problems: Problems,
    max_bytes: int = MAX_DOCUMENT_BYTES,
) -> Iterator[tuple[int, str]]:
    """Yield the documents of a text, as split by `documents_of`; "skip" drops those not UTF-8 or too long.

    Raises:
        CorpusError: a byte is not UTF-8, under errors="strict"; a document has more than `max_bytes`.
    """
    bound = Bound(max_bytes, stream.name, errors)
    documents = documents_of(decoded(stream, errors=errors, problems=problems), unit, bound=bound)
    if errors == "skip":
        return _without_skipped(documents, problems)
    return documents


def _without_skipped(documents: Iterable[tuple[int, str]], problems: Problems) -> Iterator[tuple[int, str]]:
    for number, text in documents:
        if whole(text):
            yield number, text
        else:
            problems.skipped_documents += 1
            problems.long_documents += text == TOO_LONG


def whole(text: str) -> bool:
    """Whether a text has a UTF-8 form, and thus no surrogates for invalid bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def not_utf8(name: str, offset: int, byte: int, *, head: bytes = b"") -> CorpusError:
    """Return the error for a byte that is not UTF-8 in a file or stream.

    >>> not_utf8("docs/a.txt", 1234, 0xE9).message
    'docs/a.txt: not UTF-8 at byte 1234 (0xE9)'
    """
    message = f"{name}: not UTF-8 at byte {offset} (0x{byte:02X})"
    compression = compression_of(head)
    if compression is not None:
        unpacker = f"decompress it before the pipe: {_UNPACKERS[compression]} -dc"
        hint = unpacker if name == STDIN else f"rename it to end in .{compression}"
        return CorpusError(f"{message}; it looks compressed", hint=hint)
    if b"\0" in head:
        return CorpusError(
            f"{message}; it looks like a binary file", hint="leave it out, or extract its text first"
        )
    return CorpusError(
        message,
        hint='--errors replace (errors="replace") puts U+FFFD in its place, '
        '--errors skip (errors="skip") leaves the document out',
    )


def documents_of(
    blocks: Iterable[str], unit: DocumentUnit, *, bound: Bound | None = None
) -> Iterator[tuple[int, str]]:
    r"""Split a text into documents: (number of the first line, text); empty documents are left out.

    "file" is the whole text. "lines" are its lines without their ends ("\n" or "\r\n"; nothing else ends a line),
    blank lines left out. "paragraphs" are runs of lines between blank lines, joined by "\n". A line is blank if it is
    empty or `str.isspace` holds.

    Args:
        blocks: the text, cut at any position.
        unit: the kind of documents.
        bound: the size limit of a document, None for no limit; no more than that is held in memory.

    Raises:
        CorpusError: a document is too long, unless such documents are skipped: then `TOO_LONG` replaces it.

    >>> list(documents_of(["one\ntwo\n", " \nthr", "ee\n"], "paragraphs"))
    [(1, 'one\ntwo'), (4, 'three')]
    """
    match unit:
        case "file":
            text = _whole_text(blocks, bound)
            return iter([(1, text)] if text else [])
        case "lines":
            return (
                (number, line)
                for number, line in enumerate(_lines(blocks, bound), 1)
                if line and not line.isspace()
            )
        case "paragraphs":
            return _paragraphs(_lines(blocks, bound), bound)


def line_batches(blocks: Iterable[str], *, bound: Bound | None = None) -> Iterator[list[str]]:
    r"""Yield the lines that `documents_of` makes documents, in lists of those that end in the same block.

    >>> list(line_batches(["one\ntwo\n \nthr", "ee\n"]))
    [['one', 'two'], ['three']]
    """
    for lines in _ended_lines(blocks, bound):
        yield [line for line in lines if line and not line.isspace()]


def _whole_text(blocks: Iterable[str], bound: Bound | None) -> str:
    parts = []
    size = 0
    for block in blocks:
        parts.append(block)
        size += utf8_size(block)
        if bound is not None and size > bound.num_bytes:
            return bound.too_long(None)
    return "".join(parts)


def _lines(blocks: Iterable[str], bound: Bound | None) -> Iterator[str]:
    return chain.from_iterable(_ended_lines(blocks, bound))


def _ended_lines(blocks: Iterable[str], bound: Bound | None) -> Iterator[list[str]]:
    """Yield lines without their ends, in lists of those that end in the same block."""
    pending: list[str] = []
    size = number = 0  # bytes of the pending line, and number of lines before it
    is_lost = False  # whether the pending line is too long
    for block in blocks:
        *ended, rest = block.split("\n")
        if ended:
            ended[0] = TOO_LONG if is_lost else "".join([*pending, ended[0]])
            pending.clear()
            size, is_lost = 0, False
            if "\r" in block or ended[0].endswith("\r"):  # else the lines need no work
                ended = [line.removesuffix("\r") for line in ended]
            yield ended if bound is None else bound.checked(ended, number + 1)
            number += len(ended)
        if not is_lost:
            pending.append(rest)
            size += utf8_size(rest)
            if bound is not None and size > bound.num_bytes + len("\r"):
                pending = [bound.too_long(number + 1)]
                is_lost = True
    if last := "".join(pending):
        yield [last] if bound is None else bound.checked([last], number + 1)


def _paragraphs(lines: Iterable[str], bound: Bound | None) -> Iterator[tuple[int, str]]:
    paragraph: list[str] = []
    size = start = 0
    for number, line in enumerate(lines, 1):
        if line and not line.isspace():
            start = start or number
            size += utf8_size(line) + (size > 0)
            if TOO_LONG in (line, *paragraph[:1]):
                paragraph = [TOO_LONG]
            elif bound is None or size <= bound.num_bytes:
                paragraph.append(line)
            else:
                paragraph = [bound.too_long(start)]
        elif paragraph:
            yield start, "\n".join(paragraph)
            paragraph.clear()
            size = start = 0
    if paragraph:
        yield start, "\n".join(paragraph)


def _replaced(data: bytes, text: str) -> int:
    """Return how many bytes of `data` became U+FFFD in `text`, not counting U+FFFD that was in `data`."""
    if "\ufffd" not in text:
        return 0
    fresh = text.count("\ufffd") - data.count("\ufffd".encode())
    return len(data) - (len(text.encode()) - fresh * len("\ufffd".encode()))
