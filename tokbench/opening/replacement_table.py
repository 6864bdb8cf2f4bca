"""Apply SentencePiece's table of replacements in a `tokenizer.json` as its library does (Precompiled).

The library looks up each grapheme cluster of fewer than six bytes as a whole, and otherwise its characters one by one:
`Precompiled` in normalizers/precompiled.rs of `tokenizers`, and the crate spm_precompiled. The kernel does the same for
texts whose clusters are certain (native/normalization/cluster_map.hpp); lines with others are left to the library.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.core.character_agreement import NUM_CODE_POINTS
from tokbench.opening.character_changes import EachCharacter
from tokbench.opening.tokenizer_json_tokens import NotNativeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_ASSIGNED = ((0, 0x33480), (0xE0000, 0xE0200))
"""The code points whose categories are looked up: Unicode has assigned no others but those for private use."""
_CONTROL = ((0x00, 0x20), (0x7F, 0xA0))
_PRIVATE = ((0xE000, 0xF900), (0xF0000, 0xFFFFE), (0x100000, 0x10FFFE))
_SEPARATORS = (0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
"""These, control characters and those for private use are the only invisible ones that stand alone."""
_MARKS = frozenset({"Mn", "Me", "Mc", "Cf", "Cn"})
_WORDS = re.compile(r"\w+")
_OTHER_MARKS = (0x0E33, 0x0EB3, 0xFF9E, 0xFF9F, *range(0x1F3FB, 0x1F400))
"""Characters that may extend the preceding one: these, marks, format characters and unassigned ones."""
_JOINED_TO_PREVIOUS = (*range(0x0300, 0x0370), *range(0x0653, 0x0656))
"""Of these, marks that always extend the preceding character, and that normal forms compose."""
_JOINED_TO_NEXT = (
    *(*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x0D4E, 0x110BD, 0x110CD, 0x111C2),
    *(0x111C3, 0x113D1, 0x1193F, 0x11941, 0x11A3A, *range(0x11A84, 0x11A8A), 0x11D46, 0x11F02),
)
"""Grapheme_Cluster_Break=Prepend; not examined any further."""


class ReplacementTable:
    """The table, applied to texts.

    Args:
        charsmap: the table in SentencePiece's format.

    Raises:
        NotNativeError: the kernel cannot use the table.
    """

    def __init__(self, charsmap: bytes) -> None:
        from tokenizers.normalizers import Precompiled

        from tokbench.native import _unigram

        try:
            self._clusters = _unigram.ClusterMap(charsmap, joining())
        except ValueError as error:
            raise NotNativeError(f"its table of replacements is not supported ({error})") from None
        self._library = Precompiled(charsmap)
        self._alone = EachCharacter(self._library.normalize_str)

    def __call__(self, text: str) -> str:
        """Return the text with its replacements. Raises `UnicodeEncodeError` for lone surrogates."""
        if "\r\n" in text:
            return self._line_end.join(map(self, text.split("\r\n")))
        if self._clusters.covers(text):
            return self._clusters.replaced(text)
        return "".join(map(self._replaced_line, text.splitlines(keepends=True)))

    @cached_property
    def _line_end(self) -> str:
        r"""The replacement of \r\n, which is always a cluster by itself."""
        replaced: str = self._library.normalize_str("\r\n")
        return replaced

    def _replaced_line(self, line: str) -> str:
        replace = self._clusters.replaced if self._clusters.covers(line) else self._library.normalize_str
        replaced: str = replace(line)
        return replaced

    def replaces_each(self, text: str) -> bool:
        """Whether each character of a text is replaced by itself."""
        return "\r\n" not in text and self._clusters.replaces_each(text)

    @property
    def alone(self) -> EachCharacter:
        """The replacements of single characters."""
        return self._alone


def table_of(step: Mapping[str, Any]) -> bytes:
    """Return the table of a `Precompiled` normalizer. Raises `NotNativeError`."""
    try:
        return base64.b64decode(step.get("precompiled_charsmap") or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise NotNativeError("its table of replacements is not base64") from None


def texts_written(charsmap: bytes) -> str:
    """Return all replacement texts of a table, concatenated: they follow its trie, whose size comes first."""
    size = int.from_bytes(charsmap[:4], "little")
    return charsmap[4 + size :].decode(errors="ignore")


@cache
def joining() -> NDArray[np.uint8]:
    """Return the joining class of each code point, as the compiled encoder of Unigram documents uses it.

    The classes are 0: stands alone; 1: may join the preceding character; 2: left to the library; 3: always joins the
    preceding character. Characters of three or more bytes that join each other, such as Hangul, count as standing
    alone.
    """
    classes = np.ones(NUM_CODE_POINTS, np.uint8)
    for first, after in _ASSIGNED:
        _find_lone(classes, first, after)
    for first, after in (*_CONTROL, *_PRIVATE):
        classes[first:after] = 0
    classes[list(_SEPARATORS)] = 0
    classes[list(_OTHER_MARKS)] = 1
    classes[list(_JOINED_TO_PREVIOUS)] = 3
    classes[list(_JOINED_TO_NEXT)] = 2
    classes[0xD800:0xE000] = 2
    return classes


def _find_lone(classes: NDArray[np.uint8], first: int, after: int) -> None:
    """Set the class of visible characters that are no marks; few are neither letters, numbers nor unassigned."""
    text = np.arange(first, after, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for run in _WORDS.finditer(text):
        classes[first + run.start() : first + run.end()] = 0
    others = filter(str.isprintable, _WORDS.sub("", text))
    classes[[ord(other) for other in others if unicodedata.category(other) not in _MARKS]] = 0
