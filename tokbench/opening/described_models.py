"""Describe WordPiece documents as our kernel runs them, for packages that may not import backends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.opening.tokenizer_json_tokens import NotNativeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.backends.wordpiece.document import WordPieceDescription


def described_wordpiece(document: Mapping[str, Any]) -> WordPieceDescription:
    """Return the description of a WordPiece `tokenizer.json` for our kernel.

    Args:
        document: a document that its library accepts.

    Raises:
        NotNativeError: the document does something that our kernel does not; the message says what.
    """
    from tokbench.backends.wordpiece.document import LeftToLibraryError, wordpiece_description

    try:
        return wordpiece_description(document)
    except LeftToLibraryError as error:
        raise NotNativeError(str(error)) from None
