"""What may stand in the place of a file that was not downloaded: a pointer to it, or a server's answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from pathlib import Path

_LFS = b"version https://git-lfs.github.com/spec/"
_PAGE = re.compile(rb"(?i)(?:\xef\xbb\xbf)?\s*(?:<!doctype\s+html|<html|<\?xml|<head)[\s>]")


def refuse_placeholder(path: Path, head: bytes) -> None:
    """Refuse a placeholder for another file, recognised by its first bytes.

    Raises:
        ModelFormatError: it is a pointer of Git LFS, or a page that a server sent instead of the file.
    """
    if head.startswith(_LFS):
        raise ModelFormatError(
            path,
            "the file itself",
            "a Git LFS pointer to it: it was not downloaded",
            hint="`git lfs pull` in the clone that it is from fetches it",
        )
    if _PAGE.match(head):
        raise ModelFormatError(
            path,
            "the file itself",
            "a page of HTML or XML, as servers send instead of a missing file",
            hint="download the file again, signed in where that is needed",
        )
