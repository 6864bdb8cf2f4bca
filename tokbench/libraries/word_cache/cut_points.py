"""Where any text can be cut so that its parts are encoded as they would be alone: provable for some tokenizers.

Nothing here guesses: a tokenizer of which it cannot be proved is not cut at all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tokbench.libraries.huggingface.tokenizer_json import model_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ASCII_PUNCTUATION = r"!-/:-@\[-`{-~"
CUTS = {
    "words": re.compile(rf"[ \n]*(?:[^ \n{_ASCII_PUNCTUATION}]+|[{_ASCII_PUNCTUATION}])|[ \n]+"),
    "white space": re.compile(r"[ \n]*[^ \n]+|[ \n]+"),
}
"""The ways to cut: each match is a word, and the words together are the text.

`native/word_cache/cutting.hpp` has them too.
"""

_LOCAL_NORMALIZERS = {None, "BertNormalizer", "Lowercase"}
_WORD_PRE_TOKENIZERS = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
_WORD_MODELS = {"WordPiece", "WordLevel"}

_LONG_TEXTS = 1 << 14


def document_cut(document: Mapping[str, Any]) -> str | None:
    """How to cut for a `tokenizer.json`, by a name of `CUTS`; None where that cannot be proved exact.

    Words end at white space, and to BERT's pre-tokenizer each ASCII punctuation mark is one; what BERT's
    normaliser does to a character depends on the combining marks beside it at most, which do not compose
    with any of those. An added token could reach across.
    """
    normalizer, pre_tokenizer = (
        (document.get(part) or {}).get("type") for part in ("normalizer", "pre_tokenizer")
    )
    is_local = (
        model_type(document) in _WORD_MODELS
        and normalizer in _LOCAL_NORMALIZERS
        and pre_tokenizer in _WORD_PRE_TOKENIZERS
        and all(token.get("special") for token in document["added_tokens"])
    )
    if not is_local:
        return None
    return "words" if pre_tokenizer == "BertPreTokenizer" else "white space"


def are_long(texts: Sequence[str]) -> bool:
    """Whether texts are so long together that their words are likely to come back."""
    return sum(map(len, texts)) >= _LONG_TEXTS
