"""Read and write the wire format of Protocol Buffers, checking bounds.

A message is a sequence of fields: a varint with the field's number and wire type, then the value. The caller knows the
meaning of the fields.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BITS = 64


def fields(data: bytes, start: int = 0) -> Iterator[tuple[int, int | bytes]]:
    r"""Yield the fields of a message, in order.

    Args:
        data: the bytes that end with the message.
        start: the offset at which the message begins.

    Yields:
        (field number, value): an int for a varint, its bytes for everything else.

    Raises:
        ValueError: the data ends within a field, or is not a message; the error names the byte.

    >>> list(fields(b"\x08\x96\x01\x12\x02hi"))
    [(1, 150), (2, b'hi')]
    """
    end, position = len(data), start
    while position < end:
        begin = position
        key, position = _varint(data, position, end)
        number, wire_type = key >> 3, key & 7
        if number == 0:
            raise ValueError(f"a field without a number at byte {begin}")
        if wire_type == _VARINT:
            value, position = _varint(data, position, end)
            yield number, value
            continue
        if wire_type == _LENGTH:
            size, position = _varint(data, position, end)
        elif wire_type == _FIXED32:
            size = 4
        elif wire_type == _FIXED64:
            size = 8
        else:
            raise ValueError(f"a field of unknown kind {wire_type} at byte {begin}")
        if size > end - position:
            raise ValueError(f"the field at byte {begin} needs {size} bytes, and {end - position} are left")
        yield number, data[position : position + size]
        position += size


def signed(value: int) -> int:
    """Interpret a varint as a signed number of type `int32` or `int64`.

    >>> signed((1 << 64) - 1)
    -1
    """
    return value - (1 << 64) if value >> 63 else value


def float32(value: bytes) -> float:
    r"""Interpret four bytes as a number in single precision.

    Raises:
        ValueError: the value does not have four bytes.

    >>> float32(b"\x00\x00\x80\xbf")
    -1.0
    """
    if len(value) != 4:
        raise ValueError(f"{len(value)} bytes, where a number of 4 is needed")
    number: float = struct.unpack("<f", value)[0]
    return number


def length_field(number: int, value: bytes) -> bytes:
    r"""Return a field of bytes: a text, or a message.

    >>> length_field(2, b"hi")
    b'\x12\x02hi'
    """
    return _dump_varint(number << 3 | _LENGTH) + _dump_varint(len(value)) + value


def varint_field(number: int, value: int) -> bytes:
    r"""Return a field with an integer; negative ones are written as for `int32` and `int64`.

    >>> varint_field(1, 150)
    b'\x08\x96\x01'
    """
    return _dump_varint(number << 3 | _VARINT) + _dump_varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def float_field(number: int, value: float) -> bytes:
    r"""Return a field with a number in single precision.

    >>> float_field(2, -1.0)
    b'\x15\x00\x00\x80\xbf'
    """
    return _dump_varint(number << 3 | _FIXED32) + struct.pack("<f", value)


def written_field(number: int, value: int | bytes) -> bytes:
    r"""Return a field with a value from `fields`: an integer, or the bytes of a text or a message.

    >>> b"".join(written_field(number, value) for number, value in fields(b"\x08\x96\x01\x12\x02hi"))
    b'\x08\x96\x01\x12\x02hi'
    """
    return varint_field(number, value) if isinstance(value, int) else length_field(number, value)


def _dump_varint(value: int) -> bytes:
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])


def _varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, lowest first, and the position after it."""
    value = shift = 0
    for index in range(position, end):
        byte = data[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, index + 1
        shift += 7
        if shift >= _MAX_VARINT_BITS + 6:
            raise ValueError(f"a number of more than ten bytes at byte {position}")
    raise ValueError(f"the data ends within a number at byte {position}")
