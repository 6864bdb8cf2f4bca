"""What a `tokenizer.json` says: its parts, what is special in it, what it loses; and the document as it is run.

It is read as data; running it is the business of `engines.py`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tokbench.core.guarded import is_control
from tokbench.core.id_limits import check_largest_id
from tokbench.errors import ModelFormatError
from tokbench.files.untrusted import load_json
from tokbench.formats.tokenizer_json import from_byte_level, to_byte_level

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

_MAX_DOCUMENT_BYTES = 1 << 30
_OF_BERT = {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"}
_REWRITE = "the file was edited or cut: download it again"

_UTF8_BYTES = (*range(0xC0), *range(0xC2, 0xF5))
"""The bytes that a text can have: some vocabularies have no piece for the others."""

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>", re.ASCII)  # as Rust reads a number

_SEQUENCES = ("normalizers", "pretokenizers", "processors", "decoders")

_KEEPS_EVERYTHING = {"ByteLevel", "Digits", "Punctuation", "Split"}
"""The pre-tokenizers that can only cut, unless they are configured to remove or to add something."""


def parse_tokenizer_json(data: bytes, *, source: Path | str) -> dict[str, Any]:
    """The JSON of a `tokenizer.json`, checked as far as it is read here.

    Raises:
        ModelFormatError: too large, not JSON, or of another shape.
    """
    if len(data) > _MAX_DOCUMENT_BYTES:
        raise ModelFormatError(source, f"at most {_MAX_DOCUMENT_BYTES} bytes", f"{len(data)}")
    return checked_document(load_json(data, path=source, hint=_REWRITE), source=source)


def is_read_by_python_alone(data: bytes) -> bool:
    r"""Whether JSON may have a lone surrogate, as `\ud83d`, or a NaN: Python takes them, the library does not."""
    if b"\\ud" in data or b"\\uD" in data:
        return True
    for constant in (
        b"NaN",
        b"Infinity",
    ):  # a regular expression takes a second for what `find` takes milliseconds
        at = data.find(constant)
        while at >= 0:
            if data[at - 1] in b":,[ \t\r\n-":
                return True
            at = data.find(constant, at + 1)
    return False


def checked_document(document: Any, *, source: Path | str) -> dict[str, Any]:
    """A parsed `tokenizer.json`, with a list of added tokens. Raises `ModelFormatError` for another shape."""
    if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
        raise ModelFormatError(source, "an object with a model", "none", hint="is this a tokenizer.json?")
    added = document.setdefault("added_tokens", [])
    if not isinstance(added, list) or not all(_is_added_token(token) for token in added):
        raise ModelFormatError(source, "added_tokens with ids and contents", "different ones", hint=_REWRITE)
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        if not isinstance(document.get(part), dict | None):
            raise ModelFormatError(source, f"an object as {part}", "something else", hint=_REWRITE)
        _check_steps(document.get(part), part, source=source)
    return document


def _check_steps(part: object, name: str, *, source: Path | str) -> None:
    """Refuse a part, or a step of it, that is not an object with a text as its type: the library may take it."""
    if part is None:
        return
    if not isinstance(part, dict) or not isinstance(part.get("type"), str | None):
        raise ModelFormatError(source, f"objects with a type as {name}", f"{part!a:.60}", hint=_REWRITE)
    for sequence in _SEQUENCES:
        steps = part.get(sequence)
        for step in steps if isinstance(steps, list) else ():
            _check_steps(step, name, source=source)


def check_ids(vocabulary: Mapping[str, int], *, source: Path | str) -> None:
    """Refuse ids so large that what is counted by id could not be held. Raises `ModelFormatError`."""
    largest = max(vocabulary.values(), default=None)
    if largest is None:
        raise ModelFormatError(source, "a vocabulary", "an empty one", hint=_REWRITE)
    check_largest_id(largest, num_entries=len(vocabulary), path=source)


def _is_added_token(token: object) -> bool:
    return isinstance(token, dict) and isinstance(token.get("content"), str) and type(token.get("id")) is int


# --- its parts --------------------------------------------------------------------------------


def special_contents(document: Mapping[str, Any]) -> list[str]:
    """The texts of the added tokens that are special, each once.

    >>> special_contents({"added_tokens": [{"id": 0, "content": "</s>", "special": True}]})
    ['</s>']
    """
    return list(dict.fromkeys(t["content"] for t in document["added_tokens"] if t.get("special")))


def needed_by_texts(document: Mapping[str, Any]) -> frozenset[str]:
    """The special tokens that the text of any document may become: they belong to the model's alphabet.

    They are letters of a BPE, and the tokens of bytes under byte fallback: the library's trainers take those as special
    tokens alone.

    >>> added = [{"id": 0, "content": "<0x41>", "special": True}, {"id": 1, "content": "<s>", "special": True}]
    >>> model = {"type": "BPE", "vocab": {"<0x41>": 0, "<s>": 1}, "merges": [], "byte_fallback": True}
    >>> sorted(needed_by_texts({"model": model, "added_tokens": added}))
    ['<0x41>']
    """
    if model_type(document) != "BPE":
        return fallback_bytes(document)
    vocabulary = _vocabulary(document)
    letters = (text for text in special_contents(document) if len(text) == 1 and text in vocabulary)
    return fallback_bytes(document).union(letters)


def fallback_bytes(document: Mapping[str, Any]) -> frozenset[str]:
    """The special tokens that stand for the bytes of characters without a token."""
    if not document["model"].get("byte_fallback"):
        return frozenset()
    vocabulary = _vocabulary(document)
    return frozenset(t for t in special_contents(document) if byte_of(t) is not None and t in vocabulary)


def _vocabulary(document: Mapping[str, Any]) -> Collection[str]:
    """The pieces of the model."""
    vocabulary = document["model"].get("vocab") or ()
    if isinstance(vocabulary, list):
        return {
            entry[0]
            for entry in vocabulary
            if isinstance(entry, list) and entry and isinstance(entry[0], str)
        }
    return vocabulary if isinstance(vocabulary, dict) else ()


def byte_of(spelling: str) -> bytes | None:
    r"""The byte that a piece such as `<0x41>` spells; None for any other piece.

    >>> byte_of("<0xE2>"), byte_of("E2")
    (b'\xe2', None)
    """
    match = _BYTE_PIECE.fullmatch(spelling)
    return None if match is None else bytes([int(match.group(1), 16)])


def control_contents(document: Mapping[str, Any]) -> list[str]:
    """The texts of the added tokens that give texts their structure, each once; not those that texts need."""
    needed = needed_by_texts(document)
    return list(
        dict.fromkeys(
            token["content"]
            for token in document["added_tokens"]
            if is_control(token["content"], special=bool(token.get("special")))
            and token["content"] not in needed
        )
    )


def steps(part: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The steps of a normalizer, pre-tokenizer, post-processor or decoder, sequences laid out flat.

    >>> [step["type"] for step in steps({"type": "Sequence", "decoders": [{"type": "Fuse"}]})]
    ['Fuse']
    """
    return list(_steps(part))


def _steps(part: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    if part is None:
        return
    if part.get("type") != "Sequence":
        yield part
        return
    for name in _SEQUENCES:
        for step in part.get(name) or ():
            if isinstance(step, dict):
                yield from _steps(step)


def model_type(document: Mapping[str, Any]) -> str:
    """The type of the model; old files do not name it, and its fields tell.

    >>> model_type({"model": {"vocab": {}, "max_input_chars_per_word": 100}})
    'WordPiece'
    """
    model = document["model"]
    if isinstance(model.get("type"), str):
        return str(model["type"])
    if isinstance(model.get("vocab"), list):
        return "Unigram"
    if "merges" in model:
        return "BPE"
    return "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"


def roles_of_names(document: Mapping[str, Any]) -> dict[str, str]:
    """Role → special token of a WordPiece, by the names that BERT gave; empty for other models.

    >>> added = {"id": 1, "content": "[SEP]", "special": True}
    >>> roles_of_names({"model": {"type": "WordPiece"}, "added_tokens": [added]})
    {'sep': '[SEP]'}
    """
    if model_type(document) != "WordPiece":
        return {}
    special = special_contents(document)
    return {role: text for role, text in _OF_BERT.items() if text in special}


def own_roles(document: Mapping[str, Any]) -> dict[str, str]:
    """What a `tokenizer.json` says of roles: BERT's names, the unknown piece, what stands around texts and fills up."""
    roles = roles_of_names(document)
    unknown = unknown_piece(document)
    if unknown is not None:
        roles["unk"] = unknown
    for step in steps(document.get("post_processor")):
        if step.get("type") in ("BertProcessing", "RobertaProcessing"):
            roles |= {role: step[role][0] for role in ("cls", "sep")}
    padding = document.get("padding")
    if isinstance(padding, dict) and isinstance(padding.get("pad_token"), str):
        roles["pad"] = padding["pad_token"]
    return roles


def unknown_piece(document: Mapping[str, Any]) -> str | None:
    """The spelling of the piece for what the vocabulary does not cover; None where it covers everything.

    >>> unknown_piece({"model": {"type": "WordLevel", "unk_token": "[UNK]"}})
    '[UNK]'
    """
    model = document["model"]
    if any(step.get("type") == "ByteLevel" for step in steps(document.get("pre_tokenizer"))):
        return None  # such files often name the end of text here, which is never made from a text
    if "unk_id" not in model:
        token = model.get("unk_token")
        return token if isinstance(token, str) else None
    position, pieces = model["unk_id"], model.get("vocab")
    if type(position) is not int or not isinstance(pieces, list) or not 0 <= position < len(pieces):
        return None
    return str(pieces[position][0])


def is_lossless(document: Mapping[str, Any], vocabulary: Mapping[str, int]) -> bool:
    """Whether it can be shown that the pieces of every text are the text.

    That is so for byte-level BPE with a piece for every byte of UTF-8, whose steps only cut.
    """
    model = document["model"]
    pre_tokenizers = steps(document.get("pre_tokenizer"))
    return (
        model_type(document) == "BPE"
        and not steps(document.get("normalizer"))
        and not model.get("continuing_subword_prefix")
        and not model.get("end_of_word_suffix")
        and any(step.get("type") == "ByteLevel" for step in pre_tokenizers)
        and all(_only_cuts(step) for step in pre_tokenizers)
        and all(to_byte_level(bytes([byte])) in vocabulary for byte in _UTF8_BYTES)
        and [step.get("type") for step in steps(document.get("decoder"))] == ["ByteLevel"]
        and all(_comes_back(token) for token in document["added_tokens"] if not token.get("special"))
    )


def _comes_back(token: Mapping[str, Any]) -> bool:
    """Whether an added token is decoded to what it was found in: the decoder takes its characters for bytes, too."""
    if token.get("lstrip") or token.get("rstrip"):
        return False
    content = str(token["content"])
    try:
        return from_byte_level(content) == content.encode()
    except ValueError:  # some character stands for no byte, and all are left as they are
        return True


def _only_cuts(step: Mapping[str, Any]) -> bool:
    return (
        step.get("type") in _KEEPS_EVERYTHING
        and step.get("behavior") != "Removed"
        and not step.get("add_prefix_space", step.get("type") == "ByteLevel")
    )


# --- documents to run -------------------------------------------------------------------------


def runnable(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without what would cut, pad or drop tokens, or trim their offsets."""
    model = {**document["model"], "dropout": None} if "dropout" in document["model"] else document["model"]
    return {
        **document,
        "truncation": None,
        "padding": None,
        "model": model,
        "post_processor": _untrimmed(document.get("post_processor")),
    }


def _untrimmed(processor: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if processor is None:
        return None
    changed = dict(processor)
    if "trim_offsets" in changed or changed.get("type") == "ByteLevel":
        changed["trim_offsets"] = False
    if isinstance(changed.get("processors"), list):
        changed["processors"] = [_untrimmed(step) for step in changed["processors"]]
    return changed


def with_unspeakable_specials(document: Mapping[str, Any], spellings: Mapping[str, str]) -> dict[str, Any]:
    """The document with its special tokens spelled otherwise, so that no text becomes one.

    The library's switch `encode_special_tokens` is not enough: a Unigram, WordLevel or WordPiece
    model still finds "</s>" in its vocabulary. The ids stay what they are.

    Args:
        document: as `runnable` gives it.
        spellings: the text of each special token → how it is spelled from now on.
    """
    model = dict(document["model"])
    vocabulary = model.get("vocab")
    needed = needed_by_texts(document)
    kept = {text: other for text, other in spellings.items() if text not in needed}
    if isinstance(vocabulary, list):
        model["vocab"] = [[kept.get(piece, piece), *rest] for piece, *rest in vocabulary]
    elif isinstance(vocabulary, dict):
        if model_type(document) == "BPE":
            model["merges"] = _without(model, kept)
        model["vocab"] = {kept.get(piece, piece): id for piece, id in vocabulary.items()}
    if isinstance(model.get("unk_token"), str):
        model["unk_token"] = kept.get(model["unk_token"], model["unk_token"])
    added = [
        {**token, "content": spellings[token["content"]]} if token["content"] in kept else token
        for token in document["added_tokens"]
        if not (token["content"] in spellings and token["content"] not in kept)
    ]
    return {**document, "model": model, "added_tokens": added}


def _without(model: Mapping[str, Any], pieces: Mapping[str, str]) -> list[Any]:
    """The merges of a BPE that neither take nor make one of some pieces.

    What such a merge makes begins or ends with a piece: those few are looked for, as merges may be a million.
    """
    merges: list[Any] = model.get("merges") or []
    if model.get("continuing_subword_prefix"):
        parts = [merge.split(" ") if type(merge) is str else merge for merge in merges]
        touched = [not pieces.keys().isdisjoint(part) or "".join(part) in pieces for part in parts]
        return [merge for merge, is_touched in zip(merges, touched, strict=True) if not is_touched]
    ends = tuple(pieces)
    made = [each for each in model["vocab"] if each.startswith(ends) or each.endswith(ends)]
    cuts = ((each[:at], each[at:]) for each in made for at in range(1, len(each)))
    unwanted = {cut for cut in cuts if not pieces.keys().isdisjoint((*cut, "".join(cut)))}
    spelled = set(map(" ".join, unwanted))
    return [
        merge for merge in merges if not (merge in spelled if type(merge) is str else (*merge,) in unwanted)
    ]
