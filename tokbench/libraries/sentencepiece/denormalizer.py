"""The table with which a SentencePiece model rewrites decoded text; hardly any model has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.formats.protobuf import fields, length_field
from tokbench.formats.sentencepiece.model import dump_piece
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType

if TYPE_CHECKING:
    from collections.abc import Callable

    from sentencepiece import SentencePieceProcessor

    from tokbench.formats.sentencepiece.model import SentencePieceFile

_NORMALIZER, _DENORMALIZER = 3, 5
_LOOKS_AROUND = ("add_dummy_prefix", "remove_extra_whitespaces")


class Denormalizer:
    """The rewriting of decoded text by the library, which replaces the longest match of the table at each place.

    Args:
        proto: the serialized model.
        model: the parsed model.
        open_processor: creates the library's processor of a model.
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
        # The library normalizes only with a complete model, so build one with the pieces that it requires.
        pieces = (ModelPiece("<unk>", 0.0, PieceType.UNKNOWN), ModelPiece("a", 0.0, PieceType.NORMAL))
        self._processor = open_processor(b"".join(map(dump_piece, pieces)) + length_field(_NORMALIZER, spec))
        self._looks_around = any(model.denormalizer[name] for name in _LOOKS_AROUND)

    def apply(self, data: bytes) -> bytes:
        """Rewrite the bytes of a decoded text by the table.

        Bytes that are not whole characters match nothing and do not change. Only for a table that also removes or
        adds spaces they are replaced by U+FFFD, as in the library.
        """
        if self._looks_around:
            return self._rewrite(data.decode(errors="replace"))
        parts = []
        while data:
            try:
                text, wrong, data = data.decode(), b"", b""
            except UnicodeDecodeError as error:
                text = data[: error.start].decode()
                wrong, data = data[error.start : error.end], data[error.end :]
            parts += [self._rewrite(text), wrong]
        return b"".join(parts)

    def _rewrite(self, text: str) -> bytes:
        rewritten: str = self._processor.normalize(text)
        return rewritten.encode()


def denormalizer_of(
    proto: bytes, model: SentencePieceFile, *, open_processor: Callable[[bytes], SentencePieceProcessor]
) -> Denormalizer | None:
    """Return the denormalizer of a model; None if it has none. The arguments are those of `Denormalizer`."""
    if not model.denormalizer["precompiled_charsmap"]:
        return None
    return Denormalizer(proto, model, open_processor=open_processor)
