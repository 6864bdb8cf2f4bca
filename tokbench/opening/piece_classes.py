"""Find the tokenizer class of `transformers` that reads the SentencePiece model of a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.opening.class_tokens import CHATGLM, CLASS_ROLES, FIRST_CHATGLM, tokens_of_chatglm3
from tokbench.opening.tokenizer_classes import json_beside, read_declared

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tokbench.formats.sentencepiece.pieces import ModelPiece
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.opening.recognition import Source

_ALIASES = {"MT5Tokenizer": "T5Tokenizer"}
"""Classes that are the same as another one under a different name."""

_KNOWN = {
    *CLASS_ROLES,
    *(CHATGLM, "CodeLlamaTokenizer", "GPTSw3Tokenizer", "GemmaTokenizer", "LlamaTokenizer"),
    *("PegasusTokenizer", "PLBartTokenizer", "SeamlessM4TTokenizer", "SiglipTokenizer", "XGLMTokenizer"),
    *("M2M100Tokenizer", "MarianTokenizer", "Speech2TextTokenizer"),
    *("BaichuanTokenizer", "InternLM2Tokenizer", "InternLMTokenizer"),
}
"""Classes of which all differences to the model are done here, or warned of."""


def class_of_pieces(folder: Path, config: TokenizerConfig) -> str | None:
    """Return the class of a folder, without "Fast"; None if none is named.

    Args:
        folder: the folder of the model.
        config: the configuration already read from it.
    """
    name = read_declared(folder, config).class_name
    return None if name is None else _ALIASES.get(name, name)


def class_of_folder(source: Source) -> str | None:
    """Return the class of the folder that the user gave; None for a file, which is the model alone.

    Args:
        source: the model and the path that the user gave.
    """
    return class_of_pieces(source.files[0].parent, source.config) if source.path.is_dir() else None


def changed_text(source: Source) -> Iterator[str]:
    """Yield sentences about what the class of a folder does to a text, if that is not done here or not certain."""
    name, folder = class_of_folder(source), source.files[0].parent
    if name is None:
        if source.path.is_dir() and (folder / "dict.txt").is_file():
            yield "dict.txt beside the model gives its pieces different ids, as in fairseq: it is not used"
        return
    settings = json_beside(folder / "tokenizer_config.json")
    if name == "SpeechT5Tokenizer" and settings.get("normalize") is True:
        yield f"a {name} first spells numbers in words, which is not done here: it gives different ids for such texts"
    if name == "Speech2TextTokenizer" and settings.get("do_lower_case") is True:
        yield f"a {name} of transformers 4 first lower-cases a text, and version 5 does not, nor is it done here"
    if name == "DebertaV2Tokenizer" and settings.get("split_by_punct") is True:
        yield (
            f"versions of a {name} differ at punctuation, at which they cut a text: here it is cut as by the class in "
            "Python of transformers 4"
        )
    if name == "NllbTokenizer" and not source.config.added_tokens:
        yield (
            "nothing beside the model lists the ids of its languages and of <mask>, of which versions of a "
            "NllbTokenizer differ: here <mask> is the last, as in the models that were published"
        )
    if name == CHATGLM and (folder / FIRST_CHATGLM).is_file():
        yield (
            f"a {name} first spells line ends, tabs and runs of spaces as symbols, which is not done here: it gives "
            "different ids for such texts"
        )
    elif name == CHATGLM:
        yield from tokens_of_chatglm3(source.config)
    if name not in _KNOWN:
        yield (
            f"the files name a {name}, whose rules are not known here: it may change texts or add tokens; here "
            "the model is used as it is"
        )


_NEW_BEHAVIOR = ("LlamaTokenizer", "T5Tokenizer", "UdopTokenizer")
"""Classes that put no space after an added token if `legacy` is false; Code Llama's never does."""


def spaces_after_tokens(source: Source, *, pieces: Sequence[ModelPiece]) -> Iterator[str]:
    """Yield a warning if the class of a folder and the model differ in the spaces after added tokens.

    The model puts a space in front of a text; a control symbol ends a text, a user-defined symbol is part of it.

    Args:
        source: the model, and what the user named.
        pieces: the pieces of the file, without the added ones.
    """
    name, config = class_of_folder(source), source.config
    if name is None:
        return
    says_new = json_beside(source.files[0].parent / "tokenizer_config.json").get("legacy") is False
    is_new = name == "CodeLlamaTokenizer" or (name in _NEW_BEHAVIOR and says_new)
    own = {piece.text: piece.type for piece in pieces}
    named = [token.content for token in config.added_tokens if token.special] + [*config.special_texts]
    controls = [text for text in named if own.get(text) is PieceType.CONTROL] if is_new else []
    added = [token for token in config.added_tokens if token.content not in own]
    differing = [*controls, *(token.content for token in added if token.special is is_new)]
    if differing:
        theirs, ours = ("no space", "one") if is_new else ("a space", "none")
        yield (
            f"a {name} puts {theirs} in front of what follows an added token such as {differing[0]!r}, and the model "
            f"here {ours}: such texts have different ids there"
        )


_TAKING_SPACE = {
    *("BarthezTokenizer", "BigBirdTokenizer", "CamembertTokenizer", "LayoutXLMTokenizer", "MBart50Tokenizer"),
    *("MBartTokenizer", "MLukeTokenizer", "NllbTokenizer", "PLBartTokenizer", "XLMRobertaTokenizer"),
}
"""Classes whose mask token takes the white space before it, if no file sets its flags."""


def space_before_mask(source: Source, *, pieces: Sequence[ModelPiece], removes_spaces: bool) -> Iterator[str]:
    """Yield a warning if the class of a folder takes the white space before its mask token, and the model does not.

    Args:
        source: the model, and what the user named.
        pieces: the pieces of the file, without the added ones.
        removes_spaces: whether the model drops the space at the end of a text, which a control symbol ends.
    """
    name, mask = class_of_folder(source), source.config.roles.get("mask")
    if name not in _TAKING_SPACE or any(token.content == mask for token in source.config.added_tokens):
        return
    kinds = [piece.type for piece in pieces if piece.text == mask]
    if PieceType.USER_DEFINED in kinds or (kinds and not removes_spaces):
        yield (
            f"a {name} takes the white space before {mask!r}, though not in every version of transformers, and here "
            "it stays: such texts have different ids there"
        )


def drops_prefix(source: Source) -> bool:
    """Whether the class of a folder puts no space in front of a text, or its own, regardless of its model.

    Versions of transformers differ in the effect of Llama's setting if `legacy` is not false.
    """
    name = class_of_folder(source)
    if name != "LlamaTokenizer":
        return name == "SiglipTokenizer"
    settings = json_beside(source.files[0].parent / "tokenizer_config.json")
    return settings.get("add_prefix_space") is False and settings.get("legacy") is False
