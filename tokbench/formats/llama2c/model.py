"""The SentencePiece model from which a `tokenizer.bin` of llama2.c was written.

The file contains spellings and scores; its encoder knows by their ids which pieces are bytes, control symbols or
unknown. So the model is known as far as llama2.c uses it: ▁ for spaces, a prefix space, byte fallback, and no
normalization. Converting the model back must give the same file, otherwise it is rejected.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tokbench.errors import ConversionError, ModelFormatError
from tokbench.formats.llama2c.vocabulary import Llama2cTokenizer, dump_llama2c
from tokbench.formats.sentencepiece.model import SPACE, ModelType, dump_model, parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = struct.Struct("<ifi")
_CONTROLS = {1: "bos", 2: "eos"}
_FIRST_BYTE, _NUM_BYTES = 3, 256
_LONGEST = 1 << 16
_EXPORT_AGAIN = "the file was edited or cut: export it again"


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
    if not 0 <= length <= longest <= _LONGEST:
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
    entries, scores = _entries(data, path=path)
    pieces = [_piece(entry, id, path=path) for id, entry in enumerate(entries)]
    trainer = {
        "model_type": int(ModelType.BPE),
        "vocab_size": len(pieces),
        "byte_fallback": True,
        **{f"{name}_piece": pieces[id][0] for id, name in _CONTROLS.items()},
        "unk_piece": pieces[0][0],
    }
    normalizer = {"name": "identity", "add_dummy_prefix": True, "remove_extra_whitespaces": False}
    proto = dump_model(
        [ModelPiece(text, score, kind) for (text, kind), score in zip(pieces, scores, strict=True)],
        trainer=trainer,
        normalizer=normalizer,
    )
    _check_same(data, proto, path=path)
    return proto


def _entries(data: bytes, *, path: Path | str) -> tuple[list[bytes], list[float]]:
    read = Llama2cTokenizer(data, path=path)
    if len(read.entries) <= _FIRST_BYTE + _NUM_BYTES:
        raise ModelFormatError(
            path,
            "three special pieces, the 256 byte pieces, and more",
            f"{len(read.entries)}",
            hint=_EXPORT_AGAIN,
        )
    return read.entries, read.scores


def _piece(entry: bytes, id: int, *, path: Path | str) -> tuple[str, PieceType]:
    try:
        text = entry.decode()
    except UnicodeDecodeError:
        raise ModelFormatError(f"{path}, token {id}", "UTF-8", f"{entry!r:.60}", hint=_EXPORT_AGAIN) from None
    if id in _CONTROLS:
        return text.strip("\n"), PieceType.CONTROL
    if id == 0:
        return text, PieceType.UNKNOWN
    if id < _FIRST_BYTE + _NUM_BYTES:
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
