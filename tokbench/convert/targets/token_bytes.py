"""Convert to the number of bytes of each id, for bits per byte: uint32[vocab_size], 0 for special tokens and gaps."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from tokbench.convert.conversion import Product, Source
from tokbench.convert.proof import Peer, token_bytes_of
from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


def make(source: Source) -> Product:
    """Convert a source to a `.npy` file."""
    import numpy as np

    tokenizer = source.tokenizer
    special = set(source.special_tokens.values())
    lengths = np.zeros(tokenizer.info.vocab_size, dtype="<u4")
    for id in range(len(lengths)):
        if id not in special:
            lengths[id] = len(token_bytes_of(tokenizer, id) or b"")
    buffer = io.BytesIO()
    np.save(buffer, lengths, allow_pickle=False)

    def opened(path: Path) -> Peer:
        read = read_token_bytes(path)

        def entry(id: int) -> bytes | None:
            """Return the token's bytes if the file has their number, else b""."""
            data = token_bytes_of(tokenizer, id)
            size = 0 if id in special else len(data or b"")
            return data if id >= len(read) or int(read[id]) == size else b""

        def encode(text: str) -> list[int]:
            ids = tokenizer.encode(text)
            if tokenizer.info.lossless and int(read[ids].sum()) != len(text.encode()):
                raise ValueError("the bytes of the tokens are not those of the text")
            return ids

        return Peer(name="numpy", encode=encode, token_bytes=entry)

    return Product(files={"": buffer.getvalue()}, open=opened, notes=_notes(source))


def read_token_bytes(path: Path) -> NDArray[np.uint32]:
    """Read the array from such a file. Raises `ModelFormatError`."""
    import numpy as np

    try:
        array: NDArray[np.uint32] = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise ModelFormatError(path, "a NumPy array", str(error)) from None
    if array.dtype != np.dtype("<u4") or array.ndim != 1:
        raise ModelFormatError(path, "uint32[vocab_size]", f"{array.dtype} {array.shape}")
    return array


def _notes(source: Source) -> tuple[str, ...]:
    if source.tokenizer.info.lossless:
        return ()
    return ("the tokenizer is not lossless: the bytes of its tokens may not add up to those of the text",)
