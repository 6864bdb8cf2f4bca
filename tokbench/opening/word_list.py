"""The words of a `vocab.txt`, one a line, and their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.special_tokens import WHITE_SPACE
from tokbench.core.wording import counted, is_or_are

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHITE_SPACE = "".join(sorted(WHITE_SPACE))


def word_list(text: str) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return piece → id of a word list, and warnings about repeated and empty lines.

    Lines are read as `tokenizers`, and through it `transformers`, reads them: trailing white space is removed, and of
    equal lines the last one counts, so that no text has the ids of the others. An empty piece occurs in no text.
    """
    vocab: dict[str, int] = {}
    repeated: list[str] = []
    empty: list[int] = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        word = line.rstrip(_WHITE_SPACE)
        if not word:
            empty.append(number)
        elif word in vocab:
            repeated.append(f"{word!r} on the lines {vocab[word] + 1} and {number}")
        vocab[word] = number - 1
    warnings = []
    if repeated:
        said = f"{counted(len(repeated), 'line')} of vocab.txt {is_or_are(len(repeated))} repeated"
        warnings.append(f"{said}, and the last one counts: {_first_three(repeated)}")
    if empty:
        said = f"{counted(len(empty), 'line')} of vocab.txt {is_or_are(len(empty))} empty"
        warnings.append(
            f"{said}, and no text has {'its id' if len(empty) == 1 else 'their ids'}: {_first_three(empty)}"
        )
    return vocab, tuple(warnings)


def _first_three(items: Sequence[object]) -> str:
    return f"{', '.join(map(str, items[:3]))}{', …' if len(items) > 3 else ''}"
