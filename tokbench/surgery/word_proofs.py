"""What must hold of the words of a text when pieces went, whatever the algorithm: the tokens, or else the text.

A word of which every token stays keeps them, as no better segmentation can come up where pieces only go; and another
word is still spelled by what is left: it decodes to what it decoded to, so that nothing became unknown.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tokbench.core.quoting import quoted
from tokbench.surgery.proofs import SegmentationProof, wrong

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.core.interfaces import Tokenizer
    from tokbench.surgery.id_map import IdMap

MOST_TEXTS = 1024


def check_words(
    texts: Iterable[str], *, tokenizers: tuple[Tokenizer, Tokenizer], id_map: IdMap
) -> SegmentationProof:
    """Compare the tokens of texts, and of each distinct word of theirs, before and after.

    Args:
        texts: some of a corpus, of which so many are taken.
        tokenizers: the old and the new one, as they run.
        id_map: from the old ids to the new.

    Raises:
        ConversionError: a word or a text has other tokens though all that it had stay, or becomes another text.
    """
    taken = list(islice(texts, MOST_TEXTS))
    words = list(dict.fromkeys(word for text in taken for word in text.split()))
    _compare(taken, tokenizers, id_map)
    unchanged = _compare(words, tokenizers, id_map)
    return SegmentationProof(len(taken), unchanged=unchanged, changed=len(words) - unchanged)


def _compare(texts: list[str], tokenizers: tuple[Tokenizer, Tokenizer], id_map: IdMap) -> int:
    """How many texts keep all their tokens. Raises `ConversionError`."""
    old, new = tokenizers
    unchanged = 0
    encoded = (old.encode_batch(texts), new.encode_batch(texts))
    for index, text in enumerate(texts):
        before, after = (each[index].tolist() for each in encoded)
        mapped = [id_map.new(id) for id in before]
        if None not in mapped:
            if mapped != after:
                raise wrong(f"{quoted(text)} would have other tokens, though all that it had stay")
            unchanged += 1
        elif old.decode_bytes(before) != new.decode_bytes(after):
            raise wrong(f"{quoted(text)} would decode to another text than before")
    return unchanged
