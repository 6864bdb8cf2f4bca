"""The special tokens of tokenizer classes of `transformers`, if no file names them.

A class appends those that its vocabulary lacks, in the order of their roles. Source: `tokenization_utils.py` and the
classes' `tokenization_*.py` in transformers 4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.formats.tokenizer_config.fields import AddedToken
from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

_ORDER = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
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
    missing = dict.fromkeys(text for text in roles.values() if text not in pieces and text not in listed)
    first = max([len(pieces), *(token.id + 1 for token in config.added_tokens)])
    strips = roles.get("mask") if mask_strips else None
    added = tuple(
        AddedToken(id=first + place, content=text, lstrip=text == strips)
        for place, text in enumerate(missing)
    )
    return replace(config, roles={**roles, **config.roles}, added_tokens=(*config.added_tokens, *added))
