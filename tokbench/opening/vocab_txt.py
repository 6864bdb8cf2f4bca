"""Rewrite bare vocabularies as equivalent `tokenizer.json` documents: byte-level BPE and BERT's word lists."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokbench.core.post_processing import roles_in, templates_of
from tokbench.core.wording import counted
from tokbench.errors import ModelFormatError
from tokbench.files.untrusted import decode_text
from tokbench.formats.post_processors import dump_post_processing
from tokbench.formats.tokenizer_config.fields import AddedToken
from tokbench.formats.tokenizer_json import byte_level_document, split_step
from tokbench.opening.class_tokens import with_class_roles
from tokbench.opening.files import parse_json, read_file
from tokbench.opening.patterns import known_pattern
from tokbench.opening.tokenizer_classes import bert_normalizer, json_beside, read_declared, refuse_rules
from tokbench.opening.tokenizer_json import open_tokenizer_json
from tokbench.opening.word_list import word_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.opening.recognition import Source
    from tokbench.opening.request import Opened, OpenRequest

SPECIAL_LOOK = re.compile(r"<\|[^|>]+\|>|</?[a-z_]+>|\[[A-Z]+[0-9]*\]")
_UNKNOWN = "[UNK]"
_NORMALIZATION = ("do_lower_case", "strip_accents", "tokenize_chinese_chars")
BERT_ROLES = {"pad": "[PAD]", "unk": _UNKNOWN, "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_AROUND = ("cls A sep", "cls A sep B:1 sep:1")
_SENTENCE = {"bos": "<s>", "eos": "</s>", "cls": "<s>", "sep": "</s>"}
_XLNET_LIKE = {"pad": "<pad>", "unk": "<unk>", "cls": "<cls>", "sep": "<sep>", "mask": "<mask>"}
_CLASSES = {
    "FunnelTokenizer": (
        {**_XLNET_LIKE, "bos": "<s>", "eos": "</s>"},
        ("cls:2 A sep", "cls:2 A sep B:1 sep:1"),
    ),
    "MPNetTokenizer": (
        {**_SENTENCE, "pad": "<pad>", "unk": _UNKNOWN, "mask": "<mask>"},
        ("cls A sep", "cls A sep sep B:1 sep:1"),
    ),
    "ProphetNetTokenizer": (
        {"pad": "[PAD]", "unk": _UNKNOWN, "sep": "[SEP]", "x_sep": "[X_SEP]", "mask": "[MASK]"},
        ("A sep", "A sep B:1 sep:1"),
    ),
    "SplinterTokenizer": (
        {**BERT_ROLES, "question": "[QUESTION]"},
        ("cls A sep", "cls A question dot sep B:1 sep:1"),
    ),
    "TapasTokenizer": ({**BERT_ROLES, "empty": "[EMPTY]"}, _AROUND),
}
"""Classes whose special tokens differ from BERT's: default roles, which files beside the list override, and templates.
"""
_IN_PYTHON = ("ProphetNetTokenizer", "RoCBertTokenizer", "TapasTokenizer")
_LIKE_BERT = {
    *("BertTokenizer", "ConvBertTokenizer", "DPRContextEncoderTokenizer", "DPRQuestionEncoderTokenizer"),
    *("DPRReaderTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "LayoutLMTokenizer"),
    *("LayoutLMv2Tokenizer", "LxmertTokenizer", "MobileBertTokenizer", "RealmTokenizer"),
    *("RetriBertTokenizer", "RoCBertTokenizer", "SqueezeBertTokenizer", *_CLASSES),
}


def roles_of_word_list(name: str | None) -> Mapping[str, str]:
    """Return role → text of the special tokens of a class that reads a word list; empty for others."""
    return _CLASSES.get(name or "", (BERT_ROLES, _AROUND))[0] if name in _LIKE_BERT else {}


def byte_level_tokenizer_json(
    vocab: Mapping[str, int],
    merges: Sequence[Sequence[str]],
    *,
    specials: Mapping[str, int],
    patterns: Sequence[str],
    others: Iterable[str] = (),
    normalize_nfc: bool = False,
    whole_tokens_first: bool = False,
) -> dict[str, Any]:
    """Return the `tokenizer.json` document of a byte-level BPE.

    Args:
        vocab: piece → id.
        merges: pairs of pieces in the order of their ranks.
        specials: text → id of special tokens; each is a token of `vocab`, or the ids continue after it.
        patterns: names or regular expressions; each splits the parts that the patterns before it leave.
        others: pieces of `vocab` that become added tokens without being special.
        normalize_nfc: whether text is normalized to NFC first.
        whole_tokens_first: whether a pre-token found in the vocabulary becomes that token without merging.
    """
    by_id = sorted({**specials, **{text: vocab[text] for text in others}}.items(), key=lambda item: item[1])
    return byte_level_document(
        vocab=vocab,
        merges=merges,
        added_tokens=[
            AddedToken(id=id, content=text, special=text in specials).listed() for text, id in by_id
        ],
        splits=[split for pattern in patterns for split in _split_step(pattern)],
        normalization="nfc" if normalize_nfc else None,
        whole_tokens_first=whole_tokens_first,
    )


def character_tokenizer_json(
    vocab: Mapping[str, int],
    merges: Sequence[Sequence[str]],
    *,
    specials: Sequence[str],
    others: Sequence[str],
    unknown: str | None,
) -> dict[str, Any]:
    """Return the `tokenizer.json` document of a BPE over characters like Gemma's, which splits text nowhere.

    Args:
        vocab: piece → id, including the pieces of the 256 bytes.
        merges: pairs of pieces in the order of their ranks.
        specials: the special tokens.
        others: added tokens that are not special.
        unknown: the unknown token, for characters that neither pieces nor byte tokens cover.
    """
    added = {**dict.fromkeys(others, False), **dict.fromkeys(specials, True)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            AddedToken(id=vocab[text], content=text, special=added[text]).listed()
            for text in sorted(added, key=vocab.__getitem__)
        ],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
            ],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": unknown,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": dict(vocab),
            "merges": [list(pair) for pair in merges],
        },
    }


def _split_step(pattern: str) -> list[Mapping[str, Any]]:
    """Return the pre-tokenizer step of a pattern; none for a pattern that leaves text whole."""
    from tokbench.backends.bpe.split_patterns import SplitPattern

    name, text = known_pattern(pattern)
    spelled = SplitPattern(name=name, regex=text).oniguruma
    return [] if spelled is None else [split_step(spelled)]


def bert_tokenizer_json(
    vocab: Mapping[str, int],
    *,
    lowercase: bool,
    strip_accents: bool | None = None,
    handle_chinese_chars: bool = True,
    roles: Mapping[str, str] = BERT_ROLES,
    templates: tuple[str, str] = _AROUND,
    added: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the `tokenizer.json` document of BERT's tokenizer over a word list.

    Args:
        vocab: piece → id.
        lowercase: whether text is lower-cased.
        strip_accents: whether accents are removed; None to remove them if text is lower-cased.
        handle_chinese_chars: whether each Chinese character is a word of its own.
        roles: role → text of its special token.
        templates: the templates for one text and for two, in the notation of `written_templates`.
        added: text → id of added tokens outside the list that the templates may contain.
    """
    ids = {**(added or {}), **vocab}
    specials = sorted({text for text in roles.values() if text in vocab}, key=vocab.__getitem__)
    ends = {roles.get(role, ".") for template in templates for role in roles_in(template)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [AddedToken(id=vocab[text], content=text).listed() for text in specials],
        "normalizer": bert_normalizer(
            lowercase=lowercase, strip_accents=strip_accents, handle_chinese_chars=handle_chinese_chars
        ),
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _post_processor(ids, roles, templates) if ends <= ids.keys() else None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": roles["unk"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": dict(vocab),
        },
    }


def _post_processor(
    vocab: Mapping[str, int], roles: Mapping[str, str], templates: tuple[str, str]
) -> dict[str, Any]:
    if templates == _AROUND:
        ends = {role: [roles[role], vocab[roles[role]]] for role in ("cls", "sep")}
        return {"type": "BertProcessing"} | ends
    around = templates_of(*templates, texts={**roles, "dot": "."}, ids=vocab)
    return dump_post_processing(around)["post_processor"]  # type: ignore[no-any-return]


def open_vocab_txt(source: Source, request: OpenRequest) -> Opened:
    """Open the tokenizer of a `vocab.txt`.

    Raises:
        ModelFormatError: no line is the unknown token, nor is it an added token.
        ConfigError: an option sets what the file already defines.
    """
    request.refuse_options("a vocab.txt")
    path = source.files[0]
    vocab, line_warnings = word_list(decode_text(read_file(path), path=path))
    name = read_declared(path.parent, source.config).class_name
    refuse_rules(name, path=path)
    usual, templates = _CLASSES.get(name or "", (BERT_ROLES, _AROUND))
    if name is not None:
        config = with_class_roles(source.config, usual, folder=path.parent, pieces=vocab)
        line_warnings += _appended(source.config, config, name=name, list_name=path.name)
        source = replace(source, config=config)
    roles = {**usual, **source.config.roles}
    is_added = any(token.content == roles["unk"] for token in source.config.added_tokens)
    if roles["unk"] not in vocab and not is_added:
        raise ModelFormatError(
            path,
            f"a word list of WordPiece with {roles['unk']}",
            f"{counted(len(vocab), 'line')} without it",
        )
    flags_of_config = _configured_normalization(path.parent)
    lowercase, warning = _lowercase(vocab, configured=flags_of_config.get("do_lower_case"))
    document = bert_tokenizer_json(
        vocab,
        lowercase=lowercase,
        strip_accents=flags_of_config.get("strip_accents"),
        handle_chinese_chars=flags_of_config.get("tokenize_chinese_chars", True),
        roles=roles,
        templates=templates,
        added={token.content: token.id for token in source.config.added_tokens},
    )
    flags = {token.content: token.flags() for token in source.config.added_tokens}
    if roles["unk"] not in vocab:
        line_warnings += (
            f"the unknown token {roles['unk']!r} is an added token, and not in {path.name}: texts with unknown words "
            "are refused, as by BERT's fast classes",
        )
    document["added_tokens"] = [
        {**token, **flags.get(token["content"], {})} for token in document["added_tokens"]
    ]
    return open_tokenizer_json(
        dumped(document),
        source=source,
        request=request,
        warnings=(*line_warnings, *warning, *_of_slow_classes(path.parent), *_of_unknown_class(name)),
    )


def _appended(
    before: TokenizerConfig, after: TokenizerConfig, *, name: str, list_name: str
) -> tuple[str, ...]:
    """Return a warning about the tokens of a class that are neither in a word list nor in the files beside it."""
    new = [token for token in after.added_tokens if token not in before.added_tokens]
    if not new:
        return ()
    return (
        f"{list_name} lacks {counted(len(new), 'special token')} of a {name}, as {new[0].content!r}: they follow with "
        f"the ids from {new[0].id} on, as in transformers",
    )


def _configured_normalization(folder: Path) -> dict[str, bool]:
    """Return the normalization flags that the configuration beside a word list sets."""
    config = folder / "tokenizer_config.json"
    document = parse_json(read_file(config), path=config) if config.is_file() else {}
    return {name: document[name] for name in _NORMALIZATION if isinstance(document.get(name), bool)}


def _of_slow_classes(folder: Path) -> Iterator[str]:
    """Yield warnings about settings that only the slow classes of transformers 4 follow."""
    said = json_beside(folder / "tokenizer_config.json")
    for setting, is_set in (
        ("do_basic_tokenize", said.get("do_basic_tokenize") is False),
        ("never_split", bool(said.get("never_split"))),
    ):
        if is_set:
            yield (
                f"tokenizer_config.json says {setting}, which the slow classes of transformers 4 follow, and neither "
                "their fast classes, nor version 5, nor tokbench: with the slow ones some texts have different ids"
            )


def _of_unknown_class(name: str | None) -> Iterator[str]:
    """Yield a warning if the files name a class that may read a word list differently."""
    if name is not None and name not in _LIKE_BERT:
        yield f"the files name a {name}, whose rules are not known here: vocab.txt is read as BERT's classes do"
    if name in _IN_PYTHON:
        yield (
            f"a {name} is written in Python, and drops characters that Unicode does not assign: here they are kept, as "
            "by BERT's fast classes"
        )


def _lowercase(vocab: Mapping[str, int], *, configured: bool | None) -> tuple[bool, tuple[str, ...]]:
    """Return whether text is lower-cased, from the configuration or else guessed from capitals; and a warning then."""
    if configured is not None:
        return configured, ()
    lowercase = not any(word.lower() != word for word in vocab if not SPECIAL_LOOK.fullmatch(word))
    found = "no token has" if lowercase else "tokens have"
    return lowercase, (f"vocab.txt does not say whether text is lower-cased: {found} capitals",)


def dumped(document: Mapping[str, Any]) -> bytes:
    """Serialize a document to the bytes of its file."""
    import orjson

    return orjson.dumps(document)
