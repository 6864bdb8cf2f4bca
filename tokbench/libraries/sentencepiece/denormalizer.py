"""The table by which a SentencePiece model changes text when it decodes; next to no model has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.formats.protobuf import fields, length_field, varint_field
from tokbench.formats.sentencepiece.pieces import PieceType

if TYPE_CHECKING:
    from collections.abc import Callable

    from sentencepiece import SentencePieceProcessor

    from tokbench.formats.sentencepiece.model import SentencePieceFile

_PIECES, _NORMALIZER, _DENORMALIZER = 1, 3, 5
_LOOKS_AROUND = ("add_dummy_prefix", "remove_extra_whitespaces")


class Denormalizer:
    """Rewrites decoded text as the library does, which takes the longest match of the table at each place.

    Args:
        proto: the model.
        model: what it says.
        open_processor: makes the library's processor of a model.
    """

    def __init__(
        self,
        proto: bytes,
        model: SentencePieceFile,
        *,
        open_processor: Callable[[bytes], SentencePieceProcessor],
    ) -> None:
        spec = b"".join(
            value for number, value in fields(proto) if number == _DENORMALIZER and isinstance(value, bytes)
        )
        # The library normalizes by the table of a whole model, so this is one, with the pieces that it asks for.
        pieces = (
            length_field(1, text) + varint_field(3, kind)
            for text, kind in ((b"<unk>", PieceType.UNKNOWN), (b"a", PieceType.NORMAL))
        )
        self._processor = open_processor(
            b"".join(length_field(_PIECES, piece) for piece in pieces) + length_field(_NORMALIZER, spec)
        )
        self._looks_around = any(model.denormalizer[name] for name in _LOOKS_AROUND)

    def apply(self, data: bytes) -> bytes:
        """The bytes of a decoded text after the table.

        Bytes that are not whole characters match nothing, and stay as they are; only a table that also removes
        or adds spaces gets U+FFFD for them, as the library puts it there.
        """
        if self._looks_around:
            return self._rewritten(data.decode(errors="replace"))
        parts = []
        while data:
            try:
                text, wrong, data = data.decode(), b"", b""
            except UnicodeDecodeError as error:
                text = data[: error.start].decode()
                wrong, data = data[error.start : error.end], data[error.end :]
            parts += [self._rewritten(text), wrong]
        return b"".join(parts)

    def _rewritten(self, text: str) -> bytes:
        rewritten: str = self._processor.normalize(text)
        return rewritten.encode()


def has_denormalizer(model: SentencePieceFile) -> bool:
    """Whether a model changes text when it decodes: the library asks for the table alone."""
    return bool(model.denormalizer["precompiled_charsmap"])
