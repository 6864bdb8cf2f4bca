"""The special tokens of ChatGLM2 and ChatGLM3: they follow the pieces of a SentencePiece model, and no file lists them.

Source: the code published with the models.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.formats.tokenizer_config.fields import AddedToken

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

CHATGLM = "ChatGLMTokenizer"
FIRST_MODEL = "ice_text.model"
"""The model file of the first ChatGLM, whose class is another one of the same name."""
_TOKENS = ("[MASK]", "[gMASK]", "[sMASK]", "sop", "eop")


def with_chatglm_tokens(
    config: TokenizerConfig, *, name: str | None, pieces: Collection[str]
) -> TokenizerConfig:
    """Add the special tokens of ChatGLM2 as added tokens, unless the files or the model list one of them.

    Args:
        config: the configuration already read from the folder.
        name: the class of the folder; other classes keep their configuration.
        pieces: the pieces of the model.
    """
    listed = {*pieces, *(token.content for token in config.added_tokens)}
    if name != CHATGLM or listed.intersection(_TOKENS):
        return config
    added = (AddedToken(id=len(pieces) + place, content=text) for place, text in enumerate(_TOKENS))
    return replace(config, added_tokens=(*added, *config.added_tokens))


def tokens_of_chatglm3(config: TokenizerConfig) -> Iterator[str]:
    """Yield a sentence about the roles that only ChatGLM3 has after these tokens, if the files do not list them."""
    if not any(token.content == "<|user|>" for token in config.added_tokens):
        yield (
            f"the {CHATGLM} of ChatGLM3 has <|system|>, <|user|>, <|assistant|> and <|observation|> after 'eop', and "
            "that of ChatGLM2 has not: no file lists them, and they are left out here"
        )
