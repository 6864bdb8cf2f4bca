"""The pipelines that transformers builds for tokenizer classes, and their differences from a tokenizer.json.

transformers 5 builds the pipeline of a known class from the vocabulary alone, and transformers 4 adapts BERT's
normalizer and prefix spaces to tokenizer_config.json, so that the pipeline in tokenizer.json may not be the one used.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.core.wording import counted, enumerated, quoted
from tokbench.errors import TokbenchError
from tokbench.formats.tokenizer_config.fields import ROLES
from tokbench.inspection.settings import differing_parts
from tokbench.libraries.huggingface.engines import engine_with
from tokbench.libraries.huggingface.tokenizer_json import model_ids, model_type, steps
from tokbench.lint.agreement import disagreement
from tokbench.opening.class_tokens import CLASS_ROLES
from tokbench.opening.config_files import CONFIG
from tokbench.opening.model_types import FILE_AS_IT_IS
from tokbench.opening.native_bpe import merge_pairs
from tokbench.opening.recognition import Format, Source
from tokbench.opening.request import OpenRequest
from tokbench.opening.sentencepiece_classes import Declared, class_pipeline, precompiled_rules
from tokbench.opening.tokenizer_classes import (
    bert_normalizer,
    class_tokenizer_json,
    json_beside,
    known_class,
    read_declared,
)
from tokbench.opening.tokenizer_json import open_tokenizer_json
from tokbench.opening.vocab_txt import dumped, roles_of_word_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.lint.target import LintTarget

BYTE_LEVEL, WORD_PIECE, UNIGRAM = "byte-level BPE", "WordPiece", "Unigram"
SENTENCEPIECE_BPE, WORD_END_BPE = "BPE with ▁", "BPE with ends of words"
_BERTS = (
    *(
        "Bert",
        "DistilBert",
        "Electra",
        "MobileBert",
        "LayoutLM",
        "LayoutLMv2",
        "Funnel",
        "ConvBert",
        "Lxmert",
    ),
    *("MPNet", "Retribert", "Realm", "DPRContextEncoder", "DPRQuestionEncoder", "DPRReader"),
)
"""Classes with BERT's normalizer and pre-tokenizer."""
_CLASSES = {
    BYTE_LEVEL: (
        *("GPT2", "Roberta", "Bart", "Longformer", "LED", "CodeGen", "Whisper", "Qwen2", "GPTNeoX", "Bloom"),
        *("Deberta", "Blenderbot", "Mvp", "LayoutLMv3"),
    ),
    WORD_PIECE: _BERTS,
    UNIGRAM: (
        *("T5", "XLMRoberta", "Albert", "MBart", "MBart50", "Pegasus", "XLNet", "Camembert", "BigBird"),
        *("RemBert", "DebertaV2", "Barthez", "XGLM"),
    ),
    SENTENCEPIECE_BPE: ("Llama", "CodeLlama", "Gemma", "Nllb", "Reformer"),
    WORD_END_BPE: ("CLIP", "OpenAIGPT", "Herbert"),
}
_KINDS = {name: kind for kind, names in _CLASSES.items() for name in names}
"""Name of a transformers class without "Tokenizer" → the kind of its vocabularies."""
_MODEL = (
    *("end_of_word_suffix", "continuing_subword_prefix", "byte_fallback"),
    "max_input_chars_per_word",
)
_BERT_MODEL = {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
"""The settings of the model of each class with BERT's pre-tokenizer."""


SEE_LINT = "and `tokbench lint --select class-disagrees` looks for one"
"""The end of a sentence about texts that may have other ids."""


def kind_of_class(name: str | None) -> str | None:
    """Return the kind of a class's vocabularies; None for an unknown class."""
    return _KINDS.get(_short(name))


def kind_of_document(document: Mapping[str, Any]) -> str | None:
    """Return the kind of a tokenizer.json, also of older files without the model's type."""
    kind = model_type(document) if isinstance(document.get("model"), dict) else None
    if kind in (UNIGRAM, WORD_PIECE):
        return kind
    if kind != "BPE":
        return None
    if document["model"].get("end_of_word_suffix"):
        return WORD_END_BPE
    return BYTE_LEVEL if is_byte_level(document) else SENTENCEPIECE_BPE


def is_byte_level(document: Mapping[str, Any]) -> bool:
    """Whether the pre-tokenizer or the decoder of a tokenizer.json has a step for bytes."""
    found = (*steps(document.get("pre_tokenizer")), *steps(document.get("decoder")))
    return any(step.get("type") == "ByteLevel" for step in found)


@dataclass(frozen=True, slots=True)
class OtherPipeline:
    """The difference between the pipeline of a class and a tokenizer.json.

    Attributes:
        parts: the parts of the file that differ from the class's.
        text: a text on which the two differ; None if none was found.
        ours: the text's tokens by the file, or its decoding.
        theirs: the text's tokens by the class, or its decoding.
    """

    parts: tuple[str, ...]
    text: str | None = None
    ours: str = ""
    theirs: str = ""


def other_pipeline(target: LintTarget, name: str) -> OtherPipeline | None:
    """Compare the pipeline of a class with a target's tokenizer.json; return None if it is equal or unknown."""
    implied, parts = _implied_parts(target, name)
    return _compared(target, implied, parts) if parts else None


def differing_class_parts(target: LintTarget, name: str) -> tuple[str, ...]:
    """Return the parts of a target's tokenizer.json that a class builds in another way; none if it is unknown."""
    return _implied_parts(target, name)[1]


def _implied_parts(target: LintTarget, name: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    document = target.document
    implied = None if document is None else _implied(target, document, name)
    if document is None or implied is None:
        return {}, ()
    today = _as_written_today(document), _as_written_today(implied)
    return implied, tuple(differing_parts(*today, model=_MODEL))


_SENTENCE = {"bos": "<s>", "eos": "</s>", "unk": "<unk>"}
_OTHER_ROLES = {
    "CodeLlamaTokenizer": _SENTENCE,
    "GemmaTokenizer": {"bos": "<bos>", "eos": "<eos>", "unk": "<unk>", "pad": "<pad>"},
    "LlamaTokenizer": _SENTENCE,
}


class AddedByClass(NamedTuple):
    """The special tokens that a class adds to a tokenizer.json.

    Attributes:
        name: the class.
        texts: the tokens.
        sentence: what is said about them, as the end of a sentence about the class.
    """

    name: str
    texts: tuple[str, ...]
    sentence: str


def tokens_added_by_class(target: LintTarget) -> AddedByClass | None:
    """Return the tokens that a class adds to a target's tokenizer.json, because it has roles that no file sets."""
    document, folder, config = target.document, target.folder, target.opened.source.config
    name = None if folder is None else read_declared(folder, config).class_name
    if document is None or folder is None or name is None:
        return None
    settings = json_beside(folder / CONFIG)
    ids = dict(model_ids(document))
    ids |= {token["content"]: token["id"] for token in document.get("added_tokens") or ()}
    unset = [
        text
        for role, text in _usual_roles(name).items()
        if role in ROLES and role not in config.roles and f"{role}_token" not in settings
    ]
    missing = tuple(dict.fromkeys(text for text in unset if text not in ids))
    if not missing:
        return None
    is_named = any(json_beside(folder / file).get("tokenizer_class") for file in (CONFIG, "config.json"))
    takes_file = takes_file_as_it_is(target) or (name == "LlamaTokenizer" and is_byte_level(document))
    version = " 4" if takes_file or not is_named else ""
    shown = ", ".join(map(quoted, missing))
    return AddedByClass(
        name,
        missing,
        f"it has {shown}, which tokenizer.json lacks and no file sets to null: transformers{version} adds "
        f"{'it' if len(missing) == 1 else 'them'} with new ids, from {max(ids.values(), default=-1) + 1} on",
    )


def _usual_roles(name: str) -> Mapping[str, str]:
    """Return role → text of the special tokens of a class, if no file says otherwise; empty for an unknown class."""
    if (known := known_class(name)) is not None:
        return known.roles
    return CLASS_ROLES.get(name) or roles_of_word_list(name) or _OTHER_ROLES.get(name, {})


_FLAGS = ("lstrip", "rstrip", "single_word", "normalized")


def flags_lost_by_class(target: LintTarget, name: str) -> str | None:
    """Return a sentence if a class of transformers 5, Qwen2Tokenizer, drops flags of a target's special tokens."""
    config = target.opened.source.config
    if target.document is None or name.removesuffix("Fast") != "Qwen2Tokenizer":
        return None
    said = {*config.roles.values(), *config.named_tokens.values(), *(config.additional_special_tokens or ())}
    flagged = [
        (token["content"], flags)
        for token in target.document.get("added_tokens") or ()
        if token["content"] in said and (flags := [flag for flag in _FLAGS if token.get(flag)])
    ]
    if not flagged:
        return None
    text, flags = flagged[0]
    return (
        f"transformers 5 drops the flags of {counted(len(flagged), 'special token')}, as {', '.join(flags)} of "
        f"{quoted(text)}, which version 4 follows as they are in tokenizer.json"
    )


def notes_on_class(target: LintTarget) -> Iterator[str]:
    """Yield a sentence if a class builds another tokenizer than a target's tokenizer.json; no text is looked for."""
    if (added := tokens_added_by_class(target)) is not None:
        yield f"of a {added.name}, the class of the folder: {added.sentence}"
    name = target.opened.source.config.tokenizer_class
    if name is None or kind_of_class(name) is None or takes_file_as_it_is(target):
        return
    if (lost := flags_lost_by_class(target, name)) is not None:
        yield f"{CONFIG} names {name}: {lost}"
    if (said := other_vocabulary_kind(target, name)) is not None:
        yield f"{CONFIG} names {name}: {said}"
    elif parts := differing_class_parts(target, name):
        yield (
            f"{CONFIG} names {name}, for which transformers 5 builds another {spelled_parts(parts)} than "
            f"tokenizer.json has: texts may have other ids there, {SEE_LINT}"
        )


def spelled_parts(parts: Sequence[str]) -> str:
    """Return parts of a tokenizer.json for a sentence.

    >>> spelled_parts(["normalizer", "pre_tokenizer", "decoder"])
    'normalizer, pre-tokenizer and decoder'
    """
    return enumerated([part.replace("_", "-") for part in parts])


def takes_file_as_it_is(target: LintTarget) -> bool:
    """Whether transformers 5 opens the files of a model as they are, whatever class they name, by its model_type."""
    folder = target.folder
    return folder is not None and json_beside(folder / "config.json").get("model_type") in FILE_AS_IT_IS


def other_vocabulary_kind(target: LintTarget, name: str) -> str | None:
    """Return a sentence if the vocabularies of a class are of another kind than a target's tokenizer.json."""
    expected, found = (
        kind_of_class(name),
        None if target.document is None else kind_of_document(target.document),
    )
    if expected is None or found is None or found == expected:
        return None
    readers = "transformers 5 builds the first, and version 4 takes the file as it is"
    if found == BYTE_LEVEL and name.removesuffix("Fast") == "LlamaTokenizer":  # as in DeepSeek's models
        readers = "transformers 5.0 builds the first, and 4 and 5.24 take the file as it is"
    return f"its vocabularies are {expected}, and tokenizer.json has {found}: {readers}"


def _compared(target: LintTarget, implied: Mapping[str, Any], parts: tuple[str, ...]) -> OtherPipeline:
    """Look for a text with other ids, or another decoding, by the tokenizer.json that a class builds."""
    other = tokenizer_of(implied, target)
    if other is None:
        return OtherPipeline(parts)
    found = disagreement(target.tokenizer, other, template=False)
    if found is not None:
        ours, theirs = (shown_tokens(target, ids) for ids in (found.ours, found.theirs))
        return OtherPipeline(parts, found.text, ours, theirs)
    return _decoded(target.tokenizer, other, parts)


def tokenizer_of(document: Mapping[str, Any], target: LintTarget) -> Tokenizer | None:
    """Return the tokenizer of a tokenizer.json that a class builds for a target; None if it cannot be opened."""
    source = Source(Format.TOKENIZER_JSON, target.opened.source.path, (target.opened.source.path,))
    try:
        return open_tokenizer_json(dumped(document), source=source, request=OpenRequest()).tokenizer
    except TokbenchError:
        return None


def _implied(target: LintTarget, document: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return the tokenizer.json that a class builds for the same vocabulary; None if it is unknown."""
    folder = target.folder
    if folder is None:
        return None
    model = document["model"]
    config = json_beside(folder / CONFIG)
    if _short(name) in _BERTS:
        return {**document, **_bert(config), "model": {**model, **_BERT_MODEL}}
    said = Declared(precompiled_rules(document.get("normalizer")), config)
    if (pipeline := class_pipeline(_short(name), said)) is not None:
        return {
            **document,
            **pipeline.parts(),
            "model": {**model, "byte_fallback": pipeline.byte_fallback},
        }
    known = known_class(name.removesuffix("Fast"))
    if known is None or "merges" not in model:
        return None
    declared = read_declared(folder, target.opened.source.config)
    merges = merge_pairs(model, path=target.opened.source.path)
    made = class_tokenizer_json(known, model["vocab"], merges, declared=declared, specials={})
    kept = {"added_tokens": document.get("added_tokens"), "post_processor": None}
    implied = {**made["model"], "unk_token": model.get("unk_token"), "merges": model["merges"]}
    return {**made, **kept, "model": implied}


def _as_written_today(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Normalize the spelling of a document's steps to that of the installed `tokenizers`; older files differ."""
    parts = {name: document.get(name) for name in ("normalizer", "pre_tokenizer", "decoder")}
    try:
        written = json.loads(engine_with(**parts).to_str())
    except Exception:
        return document
    return {**document, **{name: written.get(name) for name in parts}}


def _bert(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return BERT's normalizer and pre-tokenizer with the settings of tokenizer_config.json."""
    lowercase, chinese = config.get("do_lower_case", True), config.get("tokenize_chinese_chars", True)
    strip = config.get("strip_accents")
    normalizer = bert_normalizer(
        lowercase=bool(lowercase),
        strip_accents=strip if isinstance(strip, bool) else None,
        handle_chinese_chars=bool(chinese),
    )
    return {"normalizer": normalizer, "pre_tokenizer": {"type": "BertPreTokenizer"}}


def shown_tokens(target: LintTarget, ids: Sequence[int]) -> str:
    """Return the first tokens of a text, for a sentence."""
    pieces = target.vocabulary.pieces
    shown = [quoted(pieces[id] or b"") if id < len(pieces) else str(id) for id in ids[:8]]
    return " | ".join(shown) or "nothing"


def _decoded(first: Tokenizer, second: Tokenizer, parts: tuple[str, ...]) -> OtherPipeline:
    for text in ("a b", "a.b, c!", " a", "é\n"):
        ids = first.encode(text)
        ours, theirs = first.decode(ids), second.decode(ids)
        if ours != theirs:
            return OtherPipeline(parts, text, f"decoded as {quoted(ours)}", f"decoded as {quoted(theirs)}")
    return OtherPipeline(parts)


def _short(name: str | None) -> str:
    return (name or "").removesuffix("Fast").removesuffix("Tokenizer")
