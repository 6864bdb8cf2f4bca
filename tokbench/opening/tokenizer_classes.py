"""How tokenizer classes of `transformers` read a vocabulary with merges: settings that the files do not contain.

`tokenizer_config.json` or `config.json` beside the vocabulary names the class, or the hash of well-known merges implies
it. Each class is expressed as the `tokenizer.json` that its converter produces.

Source: `convert_slow_tokenizer.py` of transformers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokbench.core.post_processing import roles_in, templates_of
from tokbench.errors import ModelFormatError, TokbenchError
from tokbench.formats.post_processors import dump_post_processing
from tokbench.formats.tokenizer_config.fields import AddedToken
from tokbench.opening.files import parse_json, read_file
from tokbench.opening.merges_txt import END_OF_WORD
from tokbench.opening.model_types import CLASS_OF_MODEL_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

SAY_NOTHING = {"PreTrainedTokenizer", "TokenizersBackend"}
_GPT2_ROLES = {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "unk": "<|endoftext|>"}
_WHISPER_ROLES = {**_GPT2_ROLES, "start": "<|startoftranscript|>", "no_times": "<|notimestamps|>"}
_QWEN2_ROLES = {"eos": "<|endoftext|>", "unk": "<|endoftext|>", "pad": "<|endoftext|>"}
_CLIP_ROLES = {"bos": "<|startoftext|>", **_QWEN2_ROLES}
_BART_SPECIALS = {"cls": "<s>", "sep": "</s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}
_BART_ROLES = {"bos": "<s>", "eos": "</s>", **_BART_SPECIALS}
_BERT_ENDS = {"bos": "[CLS]", "eos": "[SEP]", "cls": "[CLS]", "sep": "[SEP]"}
_BERT_ROLES = {**_BERT_ENDS, "unk": "[UNK]", "pad": "[PAD]", "mask": "[MASK]"}

_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_BYTES = {**_BYTE_LEVEL, "use_regex": False}
_WORD_ENDS = {"type": "BPEDecoder", "suffix": END_OF_WORD}
_NFC = {"type": "NFC"}
_CLIP_NORMALIZER = {
    "type": "Sequence",
    "normalizers": [
        _NFC,
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
        {"type": "Lowercase"},
    ],
}
_CLIP_PATTERN = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
QWEN2_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pattern `qwen2`; the tokenizer normalizes text to NFC first."""


def bert_normalizer(
    *, lowercase: bool, strip_accents: bool | None, handle_chinese_chars: bool = True
) -> dict[str, Any]:
    """Return the normalizer of BERT's classes, in the form of a `tokenizer.json`."""
    return {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": handle_chinese_chars,
        "strip_accents": strip_accents,
        "lowercase": lowercase,
    }


def _split(pattern: str, *, removed: bool) -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Removed" if removed else "Isolated",
        "invert": removed,
    }


@dataclass(frozen=True, slots=True)
class TokenizerClass:
    """How a tokenizer class reads a vocabulary with merges.

    Attributes:
        name: the name in transformers.
        roles: role → text of its special token, unless the files beside the vocabulary say otherwise.
        normalizer: the normalizer, in the form of a `tokenizer.json`.
        split: the pre-tokenizers, including ByteLevel if the pieces are bytes.
        suffix: the end-of-word suffix.
        decoder: the decoder, in the form of a `tokenizer.json`.
        add_prefix_space: whether a space is put in front of a text, unless the files say otherwise.
        has_unknown: whether the model has an unknown token.
        around: the templates for one text and for two, in the notation of `written_templates`.
    """

    name: str
    roles: Mapping[str, str]
    normalizer: Mapping[str, Any] | None = None
    split: Sequence[Mapping[str, Any]] = (_BYTE_LEVEL,)
    suffix: str = ""
    decoder: Mapping[str, Any] = field(default_factory=lambda: _BYTE_LEVEL)
    add_prefix_space: bool = False
    has_unknown: bool = False
    around: tuple[str, str] = ("A", "A B")

    @property
    def mask_strips(self) -> bool:
        """Whether its mask token takes the white space before it."""
        return self.decoder is _BYTE_LEVEL


_BART = "cls A sep", "cls A sep sep B sep"
_BERT = "cls A sep", "cls A sep B:1 sep:1"
_CLIP = "bos A eos", "bos A eos eos B eos"
_WHISPER = "start no_times A eos", "start no_times A B eos"
_CLASSES = (
    TokenizerClass("GPT2Tokenizer", _GPT2_ROLES),
    TokenizerClass("CodeGenTokenizer", _GPT2_ROLES),
    TokenizerClass("WhisperTokenizer", _WHISPER_ROLES, around=_WHISPER),
    *(
        TokenizerClass(name, _BART_ROLES, add_prefix_space=name.startswith("Layout"), around=_BART)
        for name in (
            *("RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer", "MvpTokenizer"),
            *("LayoutLMv3Tokenizer", "LukeTokenizer", "MarkupLMTokenizer"),
        )
    ),
    TokenizerClass("BlenderbotTokenizer", _BART_ROLES, add_prefix_space=True, around=("A eos", "A B")),
    TokenizerClass("DebertaTokenizer", _BERT_ROLES, around=_BERT),
    TokenizerClass(
        "Qwen2Tokenizer", _QWEN2_ROLES, normalizer=_NFC, split=(_split(QWEN2_PATTERN, removed=False), _BYTES)
    ),
    TokenizerClass(
        "CLIPTokenizer",
        _CLIP_ROLES,
        normalizer=_CLIP_NORMALIZER,
        split=(_split(_CLIP_PATTERN, removed=True), _BYTE_LEVEL),
        suffix=END_OF_WORD,
        has_unknown=True,
        around=_CLIP,
    ),
    TokenizerClass(
        "OpenAIGPTTokenizer",
        {"unk": "<unk>"},
        normalizer=bert_normalizer(lowercase=True, strip_accents=None),
        split=({"type": "BertPreTokenizer"},),
        suffix=END_OF_WORD,
        decoder=_WORD_ENDS,
        has_unknown=True,
    ),
    TokenizerClass(
        "HerbertTokenizer",
        _BART_SPECIALS,
        normalizer=bert_normalizer(lowercase=False, strip_accents=False),
        split=({"type": "BertPreTokenizer"},),
        suffix=END_OF_WORD,
        decoder=_WORD_ENDS,
        has_unknown=True,
        around=_BERT,
    ),
)
_BY_NAME = {tokenizer_class.name: tokenizer_class for tokenizer_class in _CLASSES}

_RULE_BASED = {
    "CTRLTokenizer": "splits words at white space and marks continued pieces with '@@'",
    "BlenderbotSmallTokenizer": "splits words by its own rules and marks continued pieces with '@@'",
    "FlaubertTokenizer": "splits words by Moses' rules",
    "XLMTokenizer": "splits words by Moses' rules",
    "BioGptTokenizer": "splits words by Moses' rules",
    "FSMTTokenizer": "splits words by Moses' rules",
    "PhobertTokenizer": "expects Vietnamese text that is segmented into words",
    "BertweetTokenizer": "splits tweets by its own rules",
    "EsmTokenizer": "makes each letter of a protein a token",
    "BertJapaneseTokenizer": "finds words with a Japanese dictionary",
    "GPTNeoXJapaneseTokenizer": "takes the longest match at each position, after its own rules",
    "GPTSanJapaneseTokenizer": "takes the longest match at each position, after its own rules",
    "CpmTokenizer": "finds words with a Chinese dictionary",
    "CpmAntTokenizer": "finds words with a Chinese dictionary",
    "RoFormerTokenizer": "finds words with a Chinese dictionary",
    "ErnieMTokenizer": "takes the ids of its pieces from a vocab.txt, by its own rules",
    "BartphoTokenizer": "takes the ids of its pieces from a dict.txt",
    "ClvpTokenizer": "spells out English numbers and abbreviations",
    "RagTokenizer": "consists of two tokenizers in separate folders",
}

_KNOWN_MERGES = {
    "ac33235097fe06d4a8fff0feac994644809e6eb6ab70669e1e9fd40ae032428e": "GPT2Tokenizer",  # RoBERTa's, BART's too
    "d308b7377a8ceaa9707a21614fe8c831b9196e197b7aeb69833359362907af02": "CLIPTokenizer",
}
"""SHA-256 of well-known merges, one per line → the class that they were learned for; models that reuse them agree."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The configuration beside a vocabulary with merges.

    Attributes:
        config: the parsed configuration files.
        class_name: the class in transformers, without "Fast"; None if not stated.
        add_prefix_space: whether a space is put in front of a text; None if not stated.
    """

    config: TokenizerConfig
    class_name: str | None = None
    add_prefix_space: bool | None = None

    def flags_of(self, text: str) -> Mapping[str, bool]:
        """Return the flags that the files set for a token."""
        listed = (token.flags() for token in self.config.added_tokens if token.content == text)
        return {**self.config.token_flags.get(text, {}), **next(listed, {})}


def read_declared(folder: Path, config: TokenizerConfig) -> Declared:
    """Return the class that the files of a folder name; damaged files are ignored.

    Args:
        folder: the folder of the vocabulary.
        config: the configuration already read from it.
    """
    settings = json_beside(folder / "tokenizer_config.json")
    prefix = settings.get("add_prefix_space")
    return Declared(
        config=config,
        class_name=_class_named(settings, json_beside(folder / "config.json")),
        add_prefix_space=prefix if isinstance(prefix, bool) else None,
    )


def class_named_in(folder: Path) -> str | None:
    """Return the class that the files of a folder name, or that their `model_type` implies, without "Fast", or None."""
    return _class_named(json_beside(folder / "tokenizer_config.json"), json_beside(folder / "config.json"))


def _class_named(settings: Mapping[str, Any], model: Mapping[str, Any]) -> str | None:
    named = (settings.get("tokenizer_class"), model.get("tokenizer_class"))
    name = next((name for name in named if isinstance(name, str) and name), None)
    if name is None or name.removesuffix("Fast") in SAY_NOTHING:
        name = CLASS_OF_MODEL_TYPE.get(str(model.get("model_type")))
    return None if name is None else name.removesuffix("Fast")


def known_class(name: str | None) -> TokenizerClass | None:
    """Return the class of that name, or None if it is not known here.

    >>> known_class("CLIPTokenizer").suffix
    '</w>'
    """
    return _BY_NAME.get(name or "")


def class_of_merges(merges: Sequence[Sequence[str]]) -> TokenizerClass | None:
    """Return the class that well-known merges are used with, or None."""
    lines = "".join(f"{left} {right}\n" for left, right in merges)
    return known_class(_KNOWN_MERGES.get(hashlib.sha256(lines.encode()).hexdigest()))


def refuse_rules(name: str | None, *, path: Path) -> None:
    """Refuse a class that splits text by rules that no file contains. Raises `ModelFormatError`."""
    if name in _RULE_BASED:
        raise ModelFormatError(
            path,
            "a vocabulary whose tokenizer is in its files",
            f"that of a {name}, which {_RULE_BASED[name]}",
            hint="no library that tokbench runs has these rules",
        )


def names_with_suffix() -> list[str]:
    """Return the names of the classes that have an end-of-word suffix."""
    return [tokenizer_class.name for tokenizer_class in _CLASSES if tokenizer_class.suffix]


def class_tokenizer_json(
    tokenizer_class: TokenizerClass,
    vocab: Mapping[str, int],
    merges: Sequence[Sequence[str]],
    *,
    declared: Declared,
    specials: Mapping[str, int],
) -> dict[str, Any]:
    """Return the `tokenizer.json` that transformers creates from a vocabulary and merges of a class.

    Args:
        tokenizer_class: the class.
        vocab: piece → id.
        merges: pairs of pieces in the order of their ranks.
        declared: the configuration beside them.
        specials: text → id of special tokens other than those with a role.
    """
    roles = {**tokenizer_class.roles, **declared.config.roles}
    prefix = (
        tokenizer_class.add_prefix_space if declared.add_prefix_space is None else declared.add_prefix_space
    )
    mask = roles.get("mask") if tokenizer_class.mask_strips else None
    ids = {**specials, **{text: vocab[text] for text in roles.values() if text in vocab}}
    beside = {token.content: token.id for token in declared.config.added_tokens}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            AddedToken(
                id=id, content=text, **{"lstrip": text == mask, **declared.flags_of(text), "special": True}
            ).listed()
            for text, id in sorted(ids.items(), key=lambda item: item[1])
        ],
        "normalizer": tokenizer_class.normalizer,
        "pre_tokenizer": _pre_tokenizer(tokenizer_class.split, add_prefix_space=prefix),
        "post_processor": _post_processor(tokenizer_class, roles, {**beside, **ids}, declared=declared),
        "decoder": tokenizer_class.decoder,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": roles.get("unk") if tokenizer_class.has_unknown else None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": tokenizer_class.suffix,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": dict(vocab),
            "merges": list(merges),
        },
    }


def _pre_tokenizer(split: Sequence[Mapping[str, Any]], *, add_prefix_space: bool) -> dict[str, Any]:
    steps = [
        {**step, "add_prefix_space": add_prefix_space} if "add_prefix_space" in step else dict(step)
        for step in split
    ]
    return steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": steps}


def _post_processor(
    tokenizer_class: TokenizerClass, roles: Mapping[str, str], ids: Mapping[str, int], *, declared: Declared
) -> dict[str, Any] | None:
    """Return the template of a class; None if it adds no tokens, or the vocabulary lacks them."""
    single, pair = tokenizer_class.around
    if single == "A" and declared.config.add_bos_token:
        single, pair = f"bos {single}", f"bos {pair}"
    if not all(roles.get(role, "") in ids for role in roles_in(single)):
        return None
    made = templates_of(single, pair, texts=roles, ids=ids)
    return dump_post_processing(made)["post_processor"]  # type: ignore[no-any-return]


def json_beside(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty if the file is missing or damaged."""
    try:
        return parse_json(read_file(path), path=path) if path.is_file() else {}
    except TokbenchError:
        return {}
