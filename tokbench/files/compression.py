"""The compressions that files may have, and how their first bytes tell them."""

from __future__ import annotations

from typing import Literal

Compression = Literal["gz", "bz2", "xz", "zst"]

MAGIC: dict[Compression, tuple[bytes, ...]] = {
    "gz": (b"\x1f\x8b",),
    "bz2": (b"BZh",),
    "xz": (b"\xfd7zXZ\x00",),
    # A frame, or one of the sixteen kinds of skippable frame that parallel compressors begin with.
    "zst": (b"\x28\xb5\x2f\xfd", *(bytes([low, 0x2A, 0x4D, 0x18]) for low in range(0x50, 0x60))),
}
"""What a file of each begins with."""


def compression_of(head: bytes) -> Compression | None:
    r"""The compression that the first bytes of a file tell, or None.

    >>> compression_of(b"\x1f\x8b\x08\x00")
    'gz'
    """
    return next((name for name, magic in MAGIC.items() if head.startswith(magic)), None)
