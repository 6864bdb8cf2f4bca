"""The `tokenizer.bin` of llama2.c, its encoder, which verifies the file, and the SentencePiece model that it came from.

The file is little-endian: the length of the longest token (int32), then for each id its score (float32), its length in
bytes (int32), and its bytes. It does not contain the vocabulary size, which is known from the model. Spaces replace ▁;
the ids 1 and 2 are `<s>` and `</s>`, written between line ends; the pieces of the 256 bytes, `<0x00>` to `<0xFF>`, have
the ids from 3.

The encoder (`encode` in run.c) does what SentencePiece does with a BPE model that only adds a dummy prefix, with two
exceptions: a text ends at a NUL, and the character ▁ is not a space. It knows by their ids which pieces are bytes,
control symbols or unknown, so the model from which a file was written is known as far as llama2.c uses it. Converting
that model back must give the same file, otherwise it is rejected.
"""

from __future__ import annotations

import re
import struct
from itertools import pairwise
from typing import TYPE_CHECKING

from tokbench.errors import ConversionError, ModelFormatError
from tokbench.formats.sentencepiece.model import SPACE, ModelType, dump_model, parse_model
from tokbench.formats.sentencepiece.pieces import BYTE_PIECES, ModelPiece, PieceType
from tokbench.formats.sentencepiece.tokenizer_json import check_characters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokbench.formats.sentencepiece.model import SentencePieceFile

EXCLUDED = f"\0{SPACE}"
"""The characters that llama2.c treats differently from SentencePiece."""

DOMAIN = (
    "texts without U+0000, where llama2.c takes a text to end, and without U+2581, "
    "which SentencePiece takes for a space"
)

_LONGEST = struct.Struct("<i")
_ENTRY = struct.Struct("<fi")
_BOS, _EOS, _FIRST_BYTE = 1, 2, 3
_HEAD = struct.Struct("<ifi")
_LARGEST_LONGEST = 1 << 16
_EXPORT_AGAIN = "the file was edited or cut: export it again"
_NO_SCORE = -1e10
_BYTE = re.compile(rb"<0x\s*([+-][0-9A-Fa-f]|[0-9A-Fa-f]{1,2})")


def dump_llama2c(model: SentencePieceFile) -> bytes:
    """Return the `tokenizer.bin` of a SentencePiece BPE model.

    Raises:
        ConversionError: llama2.c would tokenize differently.
    """
    _check(model)
    entries = [_encoded_piece(piece.text, id) for id, piece in enumerate(model.pieces)]
    _check_entries(entries, model)
    parts = [_LONGEST.pack(max(map(len, entries)))]
    for piece, entry in zip(model.pieces, entries, strict=True):
        parts += [_ENTRY.pack(piece.score, len(entry)), entry]
    return b"".join(parts)


class Llama2cTokenizer:
    """llama2.c's tokenizer, as in its C code: greedy, the best score first, the leftmost among equal ones.

    Attributes:
        entries: the bytes of each id.
        scores: the score of each id.
    """

    def __init__(self, data: bytes, *, path: Path | str = "tokenizer.bin") -> None:
        """Read a `tokenizer.bin`. Raises `ModelFormatError`."""
        self.entries: list[bytes] = []
        self.scores: list[float] = []
        try:
            (longest,) = _LONGEST.unpack_from(data)
            position = _LONGEST.size
            while position < len(data):
                score, length = _ENTRY.unpack_from(data, position)
                position += _ENTRY.size
                if not 0 <= length <= min(longest, len(data) - position):
                    raise ModelFormatError(path, f"a token of at most {longest} bytes", f"one of {length}")
                self.entries.append(data[position : position + length])
                self.scores.append(score)
                position += length
        except struct.error as error:
            raise ModelFormatError(path, "a score, a length and a token", str(error)) from None
        self._ids = {entry: id for id, entry in reversed(list(enumerate(self.entries)))}

    def encode(self, text: str) -> list[int]:
        """Encode a text, without `<s>` before it."""
        if not text:
            return []
        ids = [self._ids[b" "]]
        for character in text:
            data = character.encode()
            known = self._ids.get(data)
            ids += [byte + _FIRST_BYTE for byte in data] if known is None else [known]
        scores = [self._score(left, right) for left, right in pairwise(ids)]
        while scores and (best := max(scores)) > _NO_SCORE:
            place = scores.index(best)
            ids[place : place + 2] = [self._ids[self.entries[ids[place]] + self.entries[ids[place + 1]]]]
            del scores[place]
            for index in (place - 1, place):
                if 0 <= index < len(scores):
                    scores[index] = self._score(ids[index], ids[index + 1])
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids that follow `<s>`."""
        parts: list[bytes] = []
        before = _BOS
        for id in ids:
            entry = self.entries[id]
            if before == _BOS and entry.startswith(b" "):
                entry = entry[1:]
            parts.append(_byte_of(entry) or entry)
            before = id
        return b"".join(parts).decode(errors="replace")

    def _score(self, left: int, right: int) -> float:
        id = self._ids.get(self.entries[left] + self.entries[right])
        return _NO_SCORE if id is None else self.scores[id]


def looks_like_llama2c(data: bytes) -> bool:
    r"""Whether data begins like a `tokenizer.bin`: a length, then the unknown piece, `<s>` and `</s>` with scores.

    >>> tokens = [(0.0, b"<unk>"), (0.0, b"\n<s>\n"), (0.0, b"\n</s>\n")]
    >>> body = b"".join(struct.pack("<fi", score, len(text)) + text for score, text in tokens)
    >>> looks_like_llama2c(struct.pack("<i", 6) + body), looks_like_llama2c(body)
    (True, False)
    """
    if len(data) < _HEAD.size:
        return False
    longest, _, length = _HEAD.unpack_from(data)
    if not 0 <= length <= longest <= _LARGEST_LONGEST:
        return False
    begin = data[_HEAD.size + length + 4 :]  # after the score of the second piece
    size = int.from_bytes(begin[:4], "little")
    return 0 < size <= longest and begin[4:5] == b"\n" == begin[3 + size : 4 + size]


def model_of_llama2c(data: bytes, *, path: Path | str = "tokenizer.bin") -> bytes:
    """Return the serialized `ModelProto` of a `tokenizer.bin`.

    Args:
        data: the whole file.
        path: its name in error messages.

    Raises:
        ModelFormatError: the file is damaged, or not the export of a SentencePiece BPE model.
    """
    read = Llama2cTokenizer(data, path=path)
    if len(read.entries) <= _FIRST_BYTE + 256:
        expected, found = "three special pieces, the 256 byte pieces, and more", f"{len(read.entries)}"
        raise ModelFormatError(path, expected, found, hint=_EXPORT_AGAIN)
    pieces = [_piece(entry, id, path=path) for id, entry in enumerate(read.entries)]
    trainer = {
        "model_type": int(ModelType.BPE),
        "vocab_size": len(pieces),
        "byte_fallback": True,
        "bos_piece": pieces[_BOS][0],
        "eos_piece": pieces[_EOS][0],
        "unk_piece": pieces[0][0],
    }
    normalizer = {"name": "identity", "add_dummy_prefix": True, "remove_extra_whitespaces": False}
    proto = dump_model(
        [ModelPiece(text, score, kind) for (text, kind), score in zip(pieces, read.scores, strict=True)],
        trainer=trainer,
        normalizer=normalizer,
    )
    _check_same(data, proto, path=path)
    return proto


def _piece(entry: bytes, id: int, *, path: Path | str) -> tuple[str, PieceType]:
    try:
        text = entry.decode()
    except UnicodeDecodeError:
        raise ModelFormatError(f"{path}, token {id}", "UTF-8", f"{entry!r:.60}", hint=_EXPORT_AGAIN) from None
    if id in (_BOS, _EOS):
        return text.strip("\n"), PieceType.CONTROL
    if id == 0:
        return text, PieceType.UNKNOWN
    if id < _FIRST_BYTE + 256:
        return text, PieceType.BYTE
    return text.replace(" ", SPACE), PieceType.NORMAL


def _check_same(data: bytes, proto: bytes, *, path: Path | str) -> None:
    """Check that the model converts back to the same file, except for the length of the longest token."""
    expected = "the pieces of a SentencePiece BPE model"
    try:
        written = dump_llama2c(parse_model(proto, path=path))
    except ConversionError as error:
        raise ModelFormatError(path, expected, error.reason, hint=_EXPORT_AGAIN) from None
    if written[4:] != data[4:]:
        raise ModelFormatError(path, expected, "different ones", hint=_EXPORT_AGAIN)


def _byte_of(entry: bytes) -> bytes | None:
    """Parse a token as C's sscanf does: `<0x` and one or two hexadecimal digits are a byte, whatever follows."""
    match = _BYTE.match(entry)
    return None if match is None else bytes([int(match[1], 16) % 256])


def _encoded_piece(text: str, id: int) -> bytes:
    if id in (_BOS, _EOS):
        return f"\n{text}\n".encode()
    return text.replace(SPACE, " ").encode()


def _check(model: SentencePieceFile) -> None:
    _check_options(model)
    _check_kinds(model)
    check_characters(model)


def _check_options(model: SentencePieceFile) -> None:
    options, trainer = model.normalizer, model.trainer
    if model.model_type is not ModelType.BPE:
        raise ConversionError(
            f"llama2.c merges by scores, as BPE does, and this is a {model.model_type.name.lower()} model"
        )
    if options["precompiled_charsmap"]:
        raise ConversionError("the model normalizes text, and llama2.c does not")
    if model.denormalizer["precompiled_charsmap"]:
        raise ConversionError("the model changes text when it decodes, and llama2.c does not")
    if options["remove_extra_whitespaces"]:
        raise ConversionError("the model normalizes text (it removes extra spaces), and llama2.c does not")
    if not options["add_dummy_prefix"]:
        raise ConversionError("llama2.c puts a space before every text, and this model does not")
    if not options["escape_whitespaces"]:
        raise ConversionError("llama2.c has spaces in its pieces, and this model does not write them as ▁")
    if not trainer["byte_fallback"]:
        raise ConversionError(
            "llama2.c falls back to the 256 bytes, and this model has an unknown piece instead"
        )
    if trainer["treat_whitespace_as_suffix"]:
        raise ConversionError("the model puts spaces at the end of words, llama2.c before them")


def _check_kinds(model: SentencePieceFile) -> None:
    kinds = [piece.type for piece in model.pieces]
    expected = [PieceType.UNKNOWN, PieceType.CONTROL, PieceType.CONTROL]
    if kinds[:_FIRST_BYTE] != expected:
        raise ConversionError(
            "llama2.c expects the unknown piece, <s> and </s> at the ids 0, 1 and 2, and this model has others there"
        )
    bytes_ = [piece.text for piece in model.pieces[_FIRST_BYTE : _FIRST_BYTE + 256]]
    if tuple(bytes_) != BYTE_PIECES or kinds[_FIRST_BYTE] is not PieceType.BYTE:
        raise ConversionError(
            "llama2.c expects the 256 byte pieces from id 3 on, and this model has other pieces there"
        )
    for piece in model.pieces[_FIRST_BYTE + 256 :]:
        if piece.type is not PieceType.NORMAL:
            raise ConversionError(
                f"{piece.text!r} is a {piece.type.name.lower()} piece, and llama2.c would merge it like any other"
            )
        if _byte_of(piece.text.encode()) is not None:
            raise ConversionError(f"llama2.c would decode the piece {piece.text!r} as a byte")


def _check_entries(entries: Sequence[bytes], model: SentencePieceFile) -> None:
    """Check that tokens found by spelling are unique, and that merges do not produce control or byte pieces."""
    known: dict[bytes, int] = {}
    for id, entry in enumerate(entries):
        if (first := known.setdefault(entry, id)) != id:
            raise ConversionError(f"the tokens {first} and {id} are both {entry!r} to llama2.c")
        if b"\0" in entry:
            raise ConversionError(f"token {id} contains a NUL, which ends a string in C")
    if b" " not in known:
        raise ConversionError(
            "llama2.c begins every text with the piece of a space, and this model has no such piece"
        )
    for id in range(_FIRST_BYTE + 256):
        entry = entries[id]
        if any(entry[:cut] in known and entry[cut:] in known for cut in range(1, len(entry))):
            raise ConversionError(
                f"llama2.c would merge ordinary text into the piece {model.pieces[id].text!r}"
            )
