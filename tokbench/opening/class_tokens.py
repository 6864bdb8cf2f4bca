"""The special tokens of tokenizer classes, if no file names them: they follow the tokens that files list.

A class of `transformers` appends those that its vocabulary lacks, in the order of their roles. T5 has sentinels, of
which files only give the number, and ChatGLM2 and ChatGLM3 have tokens for their conversations.

Source: `tokenization_utils.py` and the classes' `tokenization_*.py` in transformers 4; the code published with ChatGLM.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.formats.tokenizer_config.fields import AddedToken
from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

_ORDER = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
_NAMED = ("question",)
"""Tokens without a role that a class, Splinter's, appends after those with one."""
_ENDS = {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}
_SENTENCE = {"bos": "<s>", **_ENDS}
_FAIRSEQ = {**_SENTENCE, "cls": "<s>", "sep": "</s>", "mask": "<mask>"}
_BRACKETS = {"cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_BERT = {**_BRACKETS, "bos": "[CLS]", "eos": "[SEP]", "unk": "<unk>", "pad": "<pad>"}
CLASS_ROLES: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(("AlbertTokenizer", "RemBertTokenizer"), _BERT),
    **dict.fromkeys(
        ("BarthezTokenizer", "LayoutXLMTokenizer", "MLukeTokenizer", "XLMRobertaTokenizer"), _FAIRSEQ
    ),
    **dict.fromkeys(("CamembertTokenizer", "MBartTokenizer", "NllbTokenizer"), _FAIRSEQ),
    "MBart50Tokenizer": {**_ENDS, "cls": "<s>", "sep": "</s>", "mask": "<mask>"},
    "BertGenerationTokenizer": {**_SENTENCE, "sep": "<::::>"},
    "BigBirdTokenizer": {**_SENTENCE, **_BRACKETS},
    "DebertaV2Tokenizer": {**_BERT, "unk": "[UNK]", "pad": "[PAD]"},
    "FNetTokenizer": {**_BRACKETS, "unk": "<unk>", "pad": "<pad>"},
    "ReformerTokenizer": {"eos": "</s>", "unk": "<unk>"},
    "SpeechT5Tokenizer": _SENTENCE,
    "T5Tokenizer": _ENDS,
    "UdopTokenizer": {**_ENDS, "sep": "</s>"},
    "XLNetTokenizer": {**_SENTENCE, "cls": "<cls>", "sep": "<sep>", "mask": "<mask>"},
}
"""Classes that read a SentencePiece model → role → text of its special token."""

CHATGLM = "ChatGLMTokenizer"
FIRST_CHATGLM = "ice_text.model"
"""The model file of the first ChatGLM, whose class is another one of the same name."""
_CHATGLM_TOKENS = ("[MASK]", "[gMASK]", "[sMASK]", "sop", "eop")
_USUAL_SENTINELS, _MOST_SENTINELS = 100, 10_000


def with_class_roles(
    config: TokenizerConfig,
    usual: Mapping[str, str],
    *,
    folder: Path,
    pieces: Collection[str],
    mask_strips: bool = False,
) -> TokenizerConfig:
    """Add the roles of a class to the configuration beside a vocabulary, and the tokens that the vocabulary lacks.

    Args:
        config: the configuration already read from the folder; a role that it has, or that its file sets to null, is
            kept.
        usual: role → text of the special tokens of the class.
        folder: the folder of the vocabulary.
        pieces: the pieces of the vocabulary.
        mask_strips: whether the mask token of the class takes the white space before it.
    """
    settings = json_beside(folder / "tokenizer_config.json")
    unset = {role for role in usual if f"{role}_token" in settings} | {*config.roles}
    roles = {role: usual[role] for role in _ORDER if role in usual and role not in unset}
    if not roles:
        return config
    listed = {token.content for token in config.added_tokens}
    texts = [*roles.values(), *(usual[name] for name in _NAMED if name in usual and name not in unset)]
    missing = dict.fromkeys(text for text in texts if text not in pieces and text not in listed)
    config = _with_tokens(
        config, missing, num_pieces=len(pieces), strips=roles.get("mask") if mask_strips else None
    )
    return replace(config, roles={**roles, **config.roles})


def with_sentinels(
    config: TokenizerConfig, *, name: str | None, folder: Path, pieces: Collection[str]
) -> TokenizerConfig:
    """Add T5's sentinels `<extra_id_0>` … to the configuration beside a SentencePiece model, as added tokens.

    Their numbers count down to 0 at the last id, as in transformers. The configuration is unchanged if files list the
    added tokens, if the model has such pieces, and for other classes.

    Args:
        config: the configuration already read from the folder.
        name: the class of the folder.
        folder: the folder of the model.
        pieces: the pieces of the model.
    """
    settings = json_beside(folder / "tokenizer_config.json")
    count = settings.get("extra_ids", _USUAL_SENTINELS)
    if name != "T5Tokenizer" or "added_tokens_decoder" in settings or type(count) is not int:
        return config
    texts = [f"<extra_id_{number}>" for number in reversed(range(count if count <= _MOST_SENTINELS else 0))]
    listed = {*pieces, *(token.content for token in config.added_tokens)}
    return config if listed.intersection(texts) else _with_tokens(config, texts, num_pieces=len(pieces))


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
    if name != CHATGLM or listed.intersection(_CHATGLM_TOKENS):
        return config
    added = (AddedToken(id=len(pieces) + place, content=text) for place, text in enumerate(_CHATGLM_TOKENS))
    return replace(config, added_tokens=(*added, *config.added_tokens))


def tokens_of_chatglm3(config: TokenizerConfig) -> Iterator[str]:
    """Yield a sentence about the roles that only ChatGLM3 has after these tokens, if the files do not list them."""
    if not any(token.content == "<|user|>" for token in config.added_tokens):
        yield (
            f"the {CHATGLM} of ChatGLM3 has <|system|>, <|user|>, <|assistant|> and <|observation|> after 'eop', and "
            "that of ChatGLM2 has not: no file lists them, and they are left out here"
        )


def _with_tokens(
    config: TokenizerConfig, texts: Iterable[str], *, num_pieces: int, strips: str | None = None
) -> TokenizerConfig:
    """Add tokens with the ids after all others; the token `strips` takes the white space before it."""
    first = max([num_pieces, *(token.id + 1 for token in config.added_tokens)])
    added = (
        AddedToken(id=id, content=text, lstrip=text == strips) for id, text in enumerate(texts, start=first)
    )
    return replace(config, added_tokens=(*config.added_tokens, *added))
