"""Which class of `transformers` reads the SentencePiece model of a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.opening.tokenizer_classes import json_beside, read_declared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.opening.recognition import Source

_OF_MODEL = {
    "albert": "AlbertTokenizer",
    "big_bird": "BigBirdTokenizer",
    "bigbird_pegasus": "PegasusTokenizer",
    "camembert": "CamembertTokenizer",
    "deberta-v2": "DebertaV2Tokenizer",
    "fnet": "FNetTokenizer",
    "layoutlmv2": "LayoutLMv2Tokenizer",
    "longt5": "T5Tokenizer",
    "mbart": "MBartTokenizer",
    "mt5": "T5Tokenizer",
    "nllb-moe": "NllbTokenizer",
    "pegasus": "PegasusTokenizer",
    "pegasus_x": "PegasusTokenizer",
    "plbart": "PLBartTokenizer",
    "reformer": "ReformerTokenizer",
    "rembert": "RemBertTokenizer",
    "seamless_m4t": "SeamlessM4TTokenizer",
    "seamless_m4t_v2": "SeamlessM4TTokenizer",
    "siglip": "SiglipTokenizer",
    "speecht5": "SpeechT5Tokenizer",
    "switch_transformers": "T5Tokenizer",
    "t5": "T5Tokenizer",
    "udop": "UdopTokenizer",
    "umt5": "T5Tokenizer",
    "xglm": "XGLMTokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
    "xlm-roberta-xl": "XLMRobertaTokenizer",
    "xlnet": "XLNetTokenizer",
}
"""`model_type` of a `config.json` → the class that transformers takes where none is named."""
_SAME = {"MT5Tokenizer": "T5Tokenizer"}
"""Classes that are another one by a name of their own."""


def class_of_pieces(folder: Path, config: TokenizerConfig) -> str | None:
    """The class of a folder, without "Fast"; None where none is named.

    Args:
        folder: where the model is.
        config: what was read from it already.
    """
    named = read_declared(folder, config).class_name
    name = named or _OF_MODEL.get(str(json_beside(folder / "config.json").get("model_type")))
    return None if name is None else _SAME.get(name, name)


def class_of_folder(source: Source) -> str | None:
    """The class of what the user named; None for a file by its name, which is the model alone.

    Args:
        source: the model, and what the user named.
    """
    return class_of_pieces(source.files[0].parent, source.config) if source.path.is_dir() else None


_CHANGES = (
    ("SiglipTokenizer", None, "lower-cases a text and drops its punctuation"),
    ("GPTSw3Tokenizer", None, "drops what is not printed, and brings a text to NFC"),
    ("DebertaV2Tokenizer", "split_by_punct", "cuts a text at punctuation"),
    ("DebertaV2Tokenizer", "do_lower_case", "lower-cases a text"),
    ("SpeechT5Tokenizer", "normalize", "spells numbers in words"),
)
"""A class, the setting by which it changes a text before its model sees it (None for always), and how."""


def changed_text(source: Source) -> Iterator[str]:
    """Sentences about what the class of a folder does to a text first, which is not done here."""
    name, folder = class_of_folder(source), source.files[0].parent
    if name is None:
        return
    said = json_beside(folder / "tokenizer_config.json")
    for each, setting, does in _CHANGES:
        if each == name and (setting is None or said.get(setting) is True):
            yield f"a {each} first {does}, which is not done here: it gives other ids for such texts"
    if name == "ChatGLMTokenizer" and (folder / "ice_text.model").is_file():
        yield (
            f"a {name} first spells line ends, tabs and runs of spaces as symbols, which is not done here: it gives "
            "other ids for such texts"
        )


def drops_prefix(source: Source) -> bool:
    """Whether the class of a folder is told to put no space in front of a text, whatever its model says.

    Versions of transformers differ in what becomes of this setting where `legacy` is not false.
    """
    if class_of_folder(source) != "LlamaTokenizer":
        return False
    said = json_beside(source.files[0].parent / "tokenizer_config.json")
    return said.get("add_prefix_space") is False and said.get("legacy") is False
