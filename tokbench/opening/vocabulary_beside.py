"""A `vocab.json` beside a SentencePiece model, from which some classes of `transformers` take the ids of its pieces.

Source: `M2M100Tokenizer`, `Speech2TextTokenizer` and `MarianTokenizer` of transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.errors import ModelFormatError
from tokbench.opening.tokenizer_classes import json_beside, read_declared

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.opening.recognition import Source

_NAME = "vocab.json"
_CLASSES = {"M2M100Tokenizer", "Speech2TextTokenizer", "MarianTokenizer"}


def other_ids(source: Source, pieces: Iterable[str]) -> str | None:
    """A sentence about the ids that a `vocab.json` beside a model gives its pieces; None where they are the model's.

    Args:
        source: the model, and what the user named.
        pieces: of the model, by their ids.

    Raises:
        ModelFormatError: the user named the folder, and the class that reads it takes those ids.
    """
    path = source.files[0]
    vocab = json_beside(path.parent / _NAME)
    found = next(((piece, id) for id, piece in enumerate(pieces) if vocab.get(piece, id) != id), None)
    if found is None:
        return None
    piece, id = found
    name = read_declared(path.parent, source.config).class_name
    if name in _CLASSES and source.path.is_dir():
        raise ModelFormatError(
            source.path,
            "a model that gives its pieces their ids",
            f"a {_NAME} from which a {name} takes them: {piece!r} is {vocab[piece]} there, and {id} in {path.name}",
            hint=f"name {path} to see its pieces under ids of its own, which the model does not know",
        )
    return f"{_NAME} says that {piece!r} is {vocab[piece]}, and {path.name} {id}, which is used"
