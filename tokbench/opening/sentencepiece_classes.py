"""The pipelines and templates that tokenizer classes of transformers build around a SentencePiece vocabulary.

The classes of transformers 5 ignore the components that tokenizer.json has around its model, except the table of a
Precompiled normalizer. A SentencePiece model defines no template: the classes apply their own. Source: the
`tokenization_*.py` of the models, in transformers 5 for pipelines, in transformers 4 for templates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tokbench.core.post_processing import NOTHING, lines_of_ends, templates_of
from tokbench.opening.class_tokens import CHATGLM, FIRST_CHATGLM
from tokbench.opening.piece_classes import class_of_pieces
from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tokbench.core.descriptions import PostProcessing
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig


Step = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Declared:
    """The settings in the files, as a class reads them.

    Attributes:
        rules: the Precompiled normalizer of the tokenizer.json, if it has one.
        config: the parsed tokenizer_config.json.
    """

    rules: Step | None
    config: Mapping[str, Any]

    def says(self, option: str, *, default: bool) -> bool:
        """Return a flag of tokenizer_config.json; null counts as false, as in Python."""
        return bool(self.config.get(option, default))

    def prefixes_space(self) -> bool:
        """Whether a Llama class puts a space in front: there, null stands for the default."""
        return self.config.get("add_prefix_space") is None or self.says("add_prefix_space", default=True)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The components that a class builds around the model.

    Attributes:
        normalizer: the steps of the normalizer, in order.
        pre_tokenizer: the steps of the pre-tokenizer, in order.
        decoder: the steps of the decoder, in order.
        byte_fallback: whether unknown characters become bytes.
    """

    normalizer: tuple[Step, ...]
    pre_tokenizer: tuple[Step, ...]
    decoder: tuple[Step, ...]
    byte_fallback: bool = False

    def parts(self) -> dict[str, Any]:
        """Return the components in the form of a tokenizer.json."""
        return {
            "normalizer": _sequence("normalizers", self.normalizer),
            "pre_tokenizer": _sequence("pretokenizers", self.pre_tokenizer),
            "decoder": _sequence("decoders", self.decoder),
        }


def class_pipeline(name: str, declared: Declared) -> Pipeline | None:
    """Return the pipeline of a class, named without "Tokenizer"; None if the class is not known here."""
    build = CLASSES.get(name)
    return None if build is None else build(declared)


def precompiled_rules(normalizer: object) -> Step | None:
    """Return the Precompiled step of a normalizer from where transformers looks: at the top, or in one sequence."""
    if not isinstance(normalizer, dict):
        return None
    steps = normalizer.get("normalizers") if normalizer.get("type") == "Sequence" else [normalizer]
    found = (step for step in steps or () if isinstance(step, dict) and step.get("type") == "Precompiled")
    return next(found, None)


def _sequence(key: str, steps: tuple[Step, ...]) -> Step | None:
    if len(steps) < 2:
        return steps[0] if steps else None
    return {"type": "Sequence", key: list(steps)}


def _replace(pattern: str, content: str, *, regex: bool = False) -> Step:
    return {"type": "Replace", "pattern": {"Regex" if regex else "String": pattern}, "content": content}


def _metaspace(scheme: str, *, split: bool = True) -> Step:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


_WORDS: Step = {"type": "WhitespaceSplit"}
_RUNS = _replace(" {2,}", " ", regex=True)
_QUOTES = (_replace("``", '"'), _replace("''", '"'))
_NO_ACCENTS: tuple[Step, ...] = ({"type": "NFKD"}, {"type": "StripAccents"})
_LOWERCASE: Step = {"type": "Lowercase"}
_ONE_LINE: tuple[Step, ...] = (
    _replace(r"\s{2,}|[\n\r\t]", " ", regex=True),
    {"type": "NFC"},
    {"type": "Strip", "strip_left": False, "strip_right": True},
)
_BYTES: tuple[Step, ...] = (_replace("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"})
_NO_FIRST_SPACE: Step = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def _prepended(declared: Declared, *, otherwise: str = "never") -> str:
    return "always" if declared.says("add_prefix_space", default=True) else otherwise


def _rules(declared: Declared) -> tuple[Step, ...]:
    return () if declared.rules is None else (declared.rules,)


def _of_text(declared: Declared, normalizer: tuple[Step, ...], *, scheme: str | None = None) -> Pipeline:
    metaspace = _metaspace(_prepended(declared) if scheme is None else scheme)
    return Pipeline(normalizer, (metaspace,), (metaspace,))


def _of_words(declared: Declared, normalizer: tuple[Step, ...], *, scheme: str | None = None) -> Pipeline:
    whole = _of_text(declared, normalizer, scheme=scheme)
    return replace(whole, pre_tokenizer=(_WORDS, *whole.pre_tokenizer))


def _quotes_accents_case(declared: Declared, *, lowercase: bool, accents: bool) -> Iterator[Step]:
    yield from _QUOTES
    if not declared.says("keep_accents", default=accents):
        yield from _NO_ACCENTS
    if declared.says("do_lower_case", default=lowercase):
        yield _LOWERCASE
    yield from _rules(declared)


def _albert(declared: Declared) -> Pipeline:
    return _of_words(declared, tuple(_quotes_accents_case(declared, lowercase=True, accents=False)))


def _xlnet(declared: Declared) -> Pipeline:
    lowercase = (_LOWERCASE,) if declared.says("do_lower_case", default=False) else ()
    normalizer = (*_QUOTES, *_NO_ACCENTS, *lowercase, *_rules(declared))
    return _of_words(declared, normalizer, scheme="always")


def _rembert(declared: Declared) -> Pipeline:
    quotes, others = _QUOTES, tuple(_quotes_accents_case(declared, lowercase=False, accents=True))[2:]
    return _of_text(declared, (*quotes, _RUNS, *others))


def _deberta(declared: Declared) -> Pipeline:
    lowercase = (_LOWERCASE,) if declared.says("do_lower_case", default=False) else ()
    metaspace = _metaspace(_prepended(declared, otherwise="first"))
    punctuation: Step = {"type": "Punctuation", "behavior": "Isolated"}
    before = (punctuation,) if declared.says("split_by_punct", default=False) else ()
    return Pipeline((*lowercase, *_ONE_LINE), (*before, metaspace), (metaspace,))


def _pegasus(declared: Declared) -> Pipeline:
    lines = _rules(declared) or (_replace(r"\n", " ", regex=True),)
    return _of_text(declared, (*lines, _RUNS), scheme="always")


def _big_bird(declared: Declared) -> Pipeline:
    strip: Step = {"type": "Strip", "strip_left": False, "strip_right": False}
    return _of_text(declared, (strip, _replace(" {2,}", "▁", regex=True)))


def _after_rules(declared: Declared) -> Pipeline:
    """Apply the Precompiled table, and with it collapse runs of spaces; without a table do neither."""
    return _of_text(declared, (*_rules(declared), _RUNS) if declared.rules else (), scheme="always")


def _llama(declared: Declared) -> Pipeline:
    if not declared.prefixes_space():
        return Pipeline((), (_metaspace("never", split=False),), _BYTES, byte_fallback=True)
    scheme = "always" if declared.says("legacy", default=False) else "first"
    return Pipeline((), (_metaspace(scheme, split=False),), (*_BYTES, _NO_FIRST_SPACE), byte_fallback=True)


def _code_llama(declared: Declared) -> Pipeline:
    scheme = "first" if declared.prefixes_space() else "never"
    return Pipeline((), (_metaspace(scheme, split=False),), (*_BYTES, _NO_FIRST_SPACE), byte_fallback=True)


_SPLIT_AT_SPACES: Step = {
    "type": "Split",
    "pattern": {"String": " "},
    "behavior": "MergedWithPrevious",
    "invert": False,
}
_GEMMA = Pipeline((_replace(" ", "▁"),), (_SPLIT_AT_SPACES,), _BYTES, byte_fallback=True)

CLASSES: Mapping[str, Callable[[Declared], Pipeline]] = {
    "T5": lambda declared: _of_words(declared, _rules(declared), scheme="always"),
    "XLMRoberta": lambda declared: _of_words(declared, _rules(declared)),
    "Camembert": lambda declared: _of_words(declared, _rules(declared)),
    "MBart": lambda declared: _of_words(declared, (), scheme="always"),
    "MBart50": lambda declared: _of_text(declared, (*_rules(declared), _RUNS), scheme="always"),
    "XGLM": lambda declared: _of_text(declared, (*_rules(declared), _RUNS)),
    "Barthez": lambda declared: _of_text(declared, _ONE_LINE),
    "Nllb": _after_rules,
    "Reformer": _after_rules,
    "Albert": _albert,
    "XLNet": _xlnet,
    "RemBert": _rembert,
    "DebertaV2": _deberta,
    "Pegasus": _pegasus,
    "BigBird": _big_bird,
    "Llama": _llama,
    "CodeLlama": _code_llama,
    "Gemma": lambda _: _GEMMA,
}
"""The name of each known class, without "Tokenizer" → its pipeline."""


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


def template_of_class(name: str) -> str | None:
    """Return the template of a class for one text, in the notation of `written_templates`; None if it has none."""
    return _TEMPLATES[name][0] if name in _TEMPLATES else None


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
    return lines_of_ends(begins=bool(config.add_bos_token), ends=bool(config.add_eos_token))


def _language(name: str, folder: Path) -> str:
    """Return the token of a text's language; empty if there is none."""
    configured = json_beside(folder / "tokenizer_config.json").get("src_lang")
    language = configured if isinstance(configured, str) else _LANGUAGES.get(name, "")
    if name in ("PLBartTokenizer", "SeamlessM4TTokenizer") and language and not language.startswith("__"):
        return f"__{language}__"
    return language
