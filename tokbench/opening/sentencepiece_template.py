"""Templates that classes of `transformers` apply to a SentencePiece model, whose file defines none.

Source: their `tokenization_*.py` in transformers 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.post_processing import NOTHING, templates_of
from tokbench.opening.class_tokens import CHATGLM, FIRST_CHATGLM
from tokbench.opening.piece_classes import class_of_pieces
from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.core.descriptions import PostProcessing
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

_BERT = "cls A sep", "cls A sep B:1 sep:1"
_ROBERTA = "cls A sep", "cls A sep sep B sep"
_T5 = "A eos", "A eos B eos"
_LAST = "A eos", "A B eos"
_LANGUAGE_FIRST = "language A eos", "language A B eos"
_LANGUAGE_LAST = "A eos language", "A B eos language"
_TEMPLATES = {
    "AlbertTokenizer": _BERT,
    "BarthezTokenizer": _ROBERTA,
    "BigBirdTokenizer": _BERT,
    CHATGLM: ("gMASK sop A", "gMASK sop A B eos"),
    "CamembertTokenizer": _ROBERTA,
    "DebertaV2Tokenizer": _BERT,
    "FNetTokenizer": _BERT,
    "LayoutXLMTokenizer": _ROBERTA,
    "MBartTokenizer": _LANGUAGE_LAST,
    "MBart50Tokenizer": _LANGUAGE_FIRST,
    "MLukeTokenizer": _ROBERTA,
    "NllbTokenizer": _LANGUAGE_FIRST,
    "PegasusTokenizer": _LAST,
    "PLBartTokenizer": _LANGUAGE_LAST,
    "RemBertTokenizer": _BERT,
    "SeamlessM4TTokenizer": _LANGUAGE_FIRST,
    "SiglipTokenizer": _T5,
    "SpeechT5Tokenizer": _LAST,
    "T5Tokenizer": _T5,
    "UdopTokenizer": _T5,
    "XGLMTokenizer": ("sep A", "sep A sep sep B"),
    "XLMRobertaTokenizer": _ROBERTA,
    "XLNetTokenizer": ("A sep cls:2", "A sep B:1 sep:1 cls:2"),
}
"""Class → its templates for one text and for two. What other classes do with bos and eos if the files say nothing
differs between versions of transformers; the newest ones add nothing.
"""
_LANGUAGES = {
    "MBartTokenizer": "en_XX",
    "MBart50Tokenizer": "en_XX",
    "NllbTokenizer": "eng_Latn",
    "SeamlessM4TTokenizer": "eng",
}
"""Class → the default language of a text."""


def template_beside(
    config: TokenizerConfig, *, folder: Path, usual: Mapping[str, str], ids: Mapping[str, int]
) -> PostProcessing:
    """Return the template for a SentencePiece model, from the files beside it.

    Args:
        config: the configuration already read from the folder.
        folder: the folder of the model.
        usual: "bos" and "eos" → their texts, unless the files beside the model say otherwise.
        ids: text → id of the model's symbols; any other token is left out of the template.
    """
    name = class_of_pieces(folder, config) or ""
    single, pair = _templates(name, config, folder)
    if single == "A":
        return NOTHING
    ends = {"cls": usual.get("bos", ""), "sep": usual.get("eos", "")}
    texts = {**usual, **ends, **config.roles}
    texts |= {"language": _language(name, folder), "gMASK": "[gMASK]", "sop": "sop"}
    return templates_of(single, pair, texts=texts, ids=ids)


def _templates(name: str, config: TokenizerConfig, folder: Path) -> tuple[str, str]:
    """Return the templates of a class, or those that `add_bos_token` and `add_eos_token` ask for."""
    if name == "NllbTokenizer" and json_beside(folder / "tokenizer_config.json").get("legacy_behaviour"):
        return _LANGUAGE_LAST
    if name in _TEMPLATES and not (name == CHATGLM and (folder / FIRST_CHATGLM).is_file()):
        return _TEMPLATES[name]
    begin, end = "bos " * bool(config.add_bos_token), " eos" * bool(config.add_eos_token)
    first, second = f"{begin}A{end}", f"{begin}B{end}"
    return first, " ".join([first, *(f"{part}:1" for part in second.split())])


def _language(name: str, folder: Path) -> str:
    """Return the token of a text's language; empty if there is none."""
    configured = json_beside(folder / "tokenizer_config.json").get("src_lang")
    language = configured if isinstance(configured, str) else _LANGUAGES.get(name, "")
    if name in ("PLBartTokenizer", "SeamlessM4TTokenizer") and language and not language.startswith("__"):
        return f"__{language}__"
    return language
