"""The hash by which llama.cpp's converter recognises a pre-tokenizer.

`get_vocab_base_pre` of conversion/base.py encodes a fixed text, special tokens of the template included, writes the
list of ids as Python writes it, and takes the SHA-256 of that. What it does not know it refuses to convert.

Source: https://github.com/ggml-org/llama.cpp, convert_hf_to_gguf_update.py and conversion/base.py.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from tokbench.core.post_processing import input_of

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer

_CHECK_TEXT = (
    "\n \n\n \n\n\n \t \t\t \t\n  \n   \n    \n     \n"
    "\U0001f680 (normal) \U0001f636\u200d\U0001f32b\ufe0f (multiple emojis concatenated) \u2705 "
    "\U0001f999\U0001f999 3 33 333 3333 33333 333333 3333333 33333333 3.3 3..3 3...3 "
    "\u1780\u17b6\u1793\u17cb\u178f\u17c2\u1796\u17b7\u179f\u17c1\u179f\u17a2\u17b6\u1785\U0001f601 "
    "?\u6211\u60f3\u5728apple\u5de5\u4f5c1314151\u5929\uff5e ------======= "
    "\u043d\u0435\u0449\u043e \u043d\u0430 \u0411\u044a\u043b\u0433\u0430\u0440\u0441\u043a\u0438 "
    "''''''```````\"\"\"\"......!!!!!!?????? I've been 'told he's there, 'RE you sure? "
    "'M not sure I'll make it, 'D you like some tea? We'Ve a'lL"
)

_KNOWN = {
    "3ce83efda5659b07b1ad37ca97ca5797ea4285d9b9ab0dc679e4a720c9da7454": "gpt-2",
    "8b5a93ed704057481f240da0be7e7dca721d7f8f4755263b6807227a2cbeae65": "roberta-bpe",
    "8aeee3860c56296a157a1fe2fad249ec40aa59b1bb5709f4ade11c4e6fe652ed": "falcon",
    "fcace8b9cac38ce847670c970cd5892031a753a1ef381abd1d9af00f713da085": "phi-2",
    "b6dc8df998e1cfbdc4eac8243701a65afe638679230920b50d6f17d81c098166": "mpt",
    "0876d13b50744004aa9aeae05e7b0647eac9d801b5ba4668afc01e709c15e19f": "bert-bge",
}
"""Hash → the name that the converter writes as `tokenizer.ggml.pre`: those that are confirmed on real vocabularies."""


def converter_hash(tokenizer: Tokenizer) -> str:
    """The hash of a tokenizer, in hexadecimal."""
    ids = list(map(int, input_of(tokenizer, _CHECK_TEXT, limits=False).ids))
    return hashlib.sha256(str(ids).encode()).hexdigest()


def name_of_hash(found: str) -> str | None:
    """The name that the converter has for a hash, where it is among the few that are known here."""
    return _KNOWN.get(found)
