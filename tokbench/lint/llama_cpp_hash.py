"""The hash by which llama.cpp's converter recognises a pre-tokenizer.

`get_vocab_base_pre` of conversion/base.py encodes a fixed text, special tokens of the template included, writes the
list of ids as Python writes it, and takes the SHA-256 of that. What it does not know it refuses to convert.

Source: https://github.com/ggml-org/llama.cpp, convert_hf_to_gguf_update.py and conversion/base.py.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from tokbench.core.post_processing import input_of
from tokbench.lint.llama_cpp_names import HASHES

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


def converter_hash(tokenizer: Tokenizer) -> str:
    """The hash of a tokenizer, in hexadecimal."""
    ids = list(map(int, input_of(tokenizer, _CHECK_TEXT, limits=False).ids))
    return hashlib.sha256(str(ids).encode()).hexdigest()


def names_of_hash(found: str) -> tuple[str, ...]:
    """The names that the converter has for a hash, where it knows it: of several it writes one."""
    return tuple(name for name, hashes in HASHES.items() if found in hashes)
