"""Bare vocabularies as the `tokenizer.json` that says the same: byte-level pieces with merges, BERT's word lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tokbench.core.descriptions import PostProcessing
from tokbench.core.special_tokens import WHITE_SPACE
from tokbench.core.wording import counted, is_or_are
from tokbench.errors import ModelFormatError
from tokbench.files.untrusted import decode_text
from tokbench.formats.post_processors import dump_post_processing
from tokbench.formats.tokenizer_json import byte_level_document, split_step
from tokbench.opening.files import parse_json, read_file
from tokbench.opening.patterns import known_pattern
from tokbench.opening.tokenizer_classes import read_declared, refuse_rules
from tokbench.opening.tokenizer_json import open_tokenizer_json
from tokbench.opening.written_templates import roles_in, template_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tokbench.opening.recognition import Source
    from tokbench.opening.request import Opened, OpenRequest

SPECIAL_LOOK = re.compile(r"<\|[^|>]+\|>|</?[a-z_]+>|\[[A-Z]+[0-9]*\]")
_UNKNOWN = "[UNK]"
_NORMALIZATION = ("do_lower_case", "strip_accents", "tokenize_chinese_chars")
_WHITE_SPACE = "".join(sorted(WHITE_SPACE))
BERT_ROLES = {"pad": "[PAD]", "unk": _UNKNOWN, "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_AROUND = ("cls A sep", "cls A sep B:1 sep:1")
_XLNET_LIKE = {"pad": "<pad>", "unk": "<unk>", "cls": "<cls>", "sep": "<sep>", "mask": "<mask>"}
_CLASSES = {
    "FunnelTokenizer": (
        {**_XLNET_LIKE, "bos": "<s>", "eos": "</s>"},
        ("cls:2 A sep", "cls:2 A sep B:1 sep:1"),
    ),
    "MPNetTokenizer": (
        {"pad": "<pad>", "unk": _UNKNOWN, "cls": "<s>", "sep": "</s>", "mask": "<mask>"},
        ("cls A sep", "cls A sep sep B:1 sep:1"),
    ),
}
"""Classes with other special tokens than BERT's: the roles where nothing beside the list says others, and templates."""


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
    """The `tokenizer.json` of a byte-level BPE.

    Args:
        vocab: piece → id.
        merges: pairs of pieces in the order of their ranks.
        specials: text → id, tokens of `vocab` or the ids that follow.
        patterns: names or regular expressions; each splits the pieces that those before it leave.
        others: pieces of `vocab` that are found in every text.
        normalize_nfc: whether text is brought to NFC first.
        whole_tokens_first: whether a pre-token that is in the vocabulary becomes that token without merging.
    """
    by_id = sorted({**specials, **{text: vocab[text] for text in others}}.items(), key=lambda item: item[1])
    return byte_level_document(
        vocab=vocab,
        merges=merges,
        added_tokens=[_added(text, id, special=text in specials) for text, id in by_id],
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
    """The `tokenizer.json` of a BPE over characters as Gemma's, which cuts a text nowhere.

    Args:
        vocab: piece → id, those of the 256 bytes among them.
        merges: pairs of pieces.
        specials: the special tokens.
        others: added tokens that are not special.
        unknown: the piece for what neither pieces nor bytes cover.
    """
    added = {**dict.fromkeys(others, False), **dict.fromkeys(specials, True)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            _added(text, vocab[text], special=added[text]) for text in sorted(added, key=vocab.__getitem__)
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
    """The step of a pattern; none for one that leaves a text whole."""
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
) -> dict[str, Any]:
    """The `tokenizer.json` of BERT's tokenizer over a word list.

    Args:
        vocab: piece → id.
        lowercase: whether text is lower-cased.
        strip_accents: whether letters lose their accents; None where they do if text is lower-cased.
        handle_chinese_chars: whether each Chinese character is a word.
        roles: what a special token is to a model → its text.
        templates: around one text and around two, as `written_templates` reads them.
    """
    specials = sorted({text for text in roles.values() if text in vocab}, key=vocab.__getitem__)
    ends = {roles[role] for template in templates for role in roles_in(template)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(text, vocab[text], special=True) for text in specials],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": handle_chinese_chars,
            "strip_accents": strip_accents,
            "lowercase": lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _post_processor(vocab, roles, templates) if ends <= vocab.keys() else None,
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
    ends = {role: [roles[role], vocab[roles[role]]] for role in ("cls", "sep")}
    if templates == _AROUND:
        return {"type": "BertProcessing"} | ends
    made = template_of(*templates, texts=roles, ids=vocab)
    return dump_post_processing(PostProcessing(template=made))["post_processor"]  # type: ignore[no-any-return]


def open_vocab_txt(source: Source, request: OpenRequest) -> Opened:
    """The tokenizer of a `vocab.txt`.

    Raises:
        ModelFormatError: no line is the unknown token.
        ConfigError: an option that does not belong to it.
    """
    request.takes_nothing("a vocab.txt")
    path = source.files[0]
    vocab, said_of_lines = _word_list(decode_text(read_file(path), path=path))
    name = read_declared(path.parent, source.config).class_name
    refuse_rules(name, path=path)
    usual, templates = _CLASSES.get(name or "", (BERT_ROLES, _AROUND))
    roles = {**usual, **source.config.roles}
    if roles["unk"] not in vocab:
        raise ModelFormatError(
            path,
            f"a word list of WordPiece with {roles['unk']}",
            f"{counted(len(vocab), 'line')} without it",
        )
    said = _said_beside(path.parent)
    lowercase, warning = _lowercase(vocab, said=said.get("do_lower_case"))
    document = bert_tokenizer_json(
        vocab,
        lowercase=lowercase,
        strip_accents=said.get("strip_accents"),
        handle_chinese_chars=said.get("tokenize_chinese_chars", True),
        roles=roles,
        templates=templates,
    )
    flags = {token.content: token.flags() for token in source.config.added_tokens}
    document["added_tokens"] = [
        {**token, **flags.get(token["content"], {})} for token in document["added_tokens"]
    ]
    return open_tokenizer_json(
        dumped(document), source=source, request=request, warnings=(*said_of_lines, *warning)
    )


def _word_list(text: str) -> tuple[dict[str, int], tuple[str, ...]]:
    """The pieces of a word list by their lines, and warnings where some come again or are empty.

    Lines are read as `tokenizers` reads them, and `transformers` by it: without the white space at their ends, and of
    equal ones the last counts, so that the ids of the others are none's. An empty piece is in no text.
    """
    vocab: dict[str, int] = {}
    repeated: list[str] = []
    empty: list[int] = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        word = line.rstrip(_WHITE_SPACE)
        if not word:
            empty.append(number)
        elif word in vocab:
            repeated.append(f"{word!r} on the lines {vocab[word] + 1} and {number}")
        vocab[word] = number - 1
    warnings = []
    if repeated:
        said = f"{counted(len(repeated), 'line')} of vocab.txt {is_or_are(len(repeated))} repeated"
        warnings.append(f"{said}, and the last one counts: {_listed(repeated)}")
    if empty:
        said = f"{counted(len(empty), 'line')} of vocab.txt {is_or_are(len(empty))} empty"
        warnings.append(
            f"{said}, and no text has {'its id' if len(empty) == 1 else 'their ids'}: {_listed(empty)}"
        )
    return vocab, tuple(warnings)


def _listed(found: Sequence[object]) -> str:
    return f"{', '.join(map(str, found[:3]))}{', …' if len(found) > 3 else ''}"


def _said_beside(folder: Path) -> dict[str, bool]:
    """What the configuration beside a word list says of how text is normalized: the switches that are set."""
    config = folder / "tokenizer_config.json"
    document = parse_json(read_file(config), path=config) if config.is_file() else {}
    return {name: document[name] for name in _NORMALIZATION if isinstance(document.get(name), bool)}


def _lowercase(vocab: Mapping[str, int], *, said: bool | None) -> tuple[bool, tuple[str, ...]]:
    """Whether text is lower-cased: as the configuration beside the list says, else by its capitals."""
    if said is not None:
        return said, ()
    lowercase = not any(word.lower() != word for word in vocab if not SPECIAL_LOOK.fullmatch(word))
    found = "no token has" if lowercase else "tokens have"
    return lowercase, (f"vocab.txt does not say whether text is lower-cased: {found} capitals",)


def _added(text: str, id: int, *, special: bool) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id, "content": text, **flags, "special": special}


def dumped(document: Mapping[str, Any]) -> bytes:
    """A document as the bytes of its file."""
    import orjson

    return orjson.dumps(document)
