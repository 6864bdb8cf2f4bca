"""Reading of a `tokenizer.json` as data: its components, special tokens, ids and roles.

`engines.py` prepares and runs what the library runs.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tokbench.core.guarded import is_control
from tokbench.core.token_table import check_largest_id
from tokbench.errors import ModelFormatError
from tokbench.files.untrusted_json import load_json
from tokbench.formats.tokenizer_json import from_byte_level, is_byte_level, to_byte_level

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

_MAX_DOCUMENT_BYTES = 1 << 30
_OF_BERT = {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"}
_REWRITE = "the file was edited or cut: download it again"

_UTF8_BYTES = (*range(0xC0), *range(0xC2, 0xF5))
"""The bytes that occur in UTF-8; some vocabularies have no piece for other bytes."""

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>", re.ASCII)  # as Rust parses numbers
_BYTE_PIECE_SIZE = len("<0x41>")

_SEQUENCES = ("normalizers", "pretokenizers", "processors", "decoders")

_MODELS_WITH_IDS = {"BPE", "WordPiece", "WordLevel"}
"""The models whose vocabulary gives an id for each piece."""

_KEEPS_EVERYTHING = {"ByteLevel", "Digits", "Punctuation", "Split"}
"""The pre-tokenizers that only split, unless they are configured to remove or to add something."""


def parse_tokenizer_json(data: bytes, *, source: Path | str) -> dict[str, Any]:
    """Parse a `tokenizer.json`, and check the fields that tokbench reads.

    Raises:
        ModelFormatError: the file is too large, not JSON, or has another structure.
    """
    if len(data) > _MAX_DOCUMENT_BYTES:
        raise ModelFormatError(source, f"at most {_MAX_DOCUMENT_BYTES} bytes", f"{len(data)}")
    return checked_document(load_json(data, path=source, hint=_REWRITE), source=source)


_MOST_BACKSLASHES = 1 << 10


def is_read_by_python_alone(data: bytes) -> bool:
    r"""Return whether JSON may contain a lone surrogate, as `\ud83d`, or a NaN, which only Python's parser accepts."""
    for escape in (b"\\ud", b"\\uD"):
        at = data.find(escape)
        while at >= 0:
            before = data[max(at - _MOST_BACKSLASHES, 0) : at]
            if (
                len(before) - len(before.rstrip(b"\\"))
            ) % 2 == 0:  # else it is a backslash, and then a letter
                return True
            at = data.find(escape, at + 1)
    for constant in (b"NaN", b"Infinity"):  # `find` takes milliseconds, a regular expression a second
        at = data.find(constant)
        while at >= 0:
            after = data[at + len(constant) : at + len(constant) + 1]
            if data[at - 1] in b":,[ \t\r\n-" and after in (b",", b"]", b"}", b" ", b"\t", b"\r", b"\n"):
                return True
            at = data.find(constant, at + 1)
    return False


def checked_document(document: Any, *, source: Path | str) -> dict[str, Any]:
    """Check the structure of a parsed `tokenizer.json`, and add missing `added_tokens`. Raises `ModelFormatError`."""
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
    """Reject a component or a step that is not an object with a string as its type; the library may accept it."""
    if part is None:
        return
    if not isinstance(part, dict) or not isinstance(part.get("type"), str | None):
        raise ModelFormatError(source, f"objects with a type as {name}", f"{part!a:.60}", hint=_REWRITE)
    for sequence in _SEQUENCES:
        steps = part.get(sequence)
        for step in steps if isinstance(steps, list) else ():
            _check_steps(step, name, source=source)


def check_ids(vocabulary: Mapping[str, int], *, source: Path | str) -> None:
    """Reject ids so large that an array indexed by id would not fit into memory. Raises `ModelFormatError`."""
    largest = max(vocabulary.values(), default=None)
    if largest is None:
        raise ModelFormatError(source, "a vocabulary", "an empty one", hint=_REWRITE)
    check_largest_id(largest, num_entries=len(vocabulary), path=source)


def _is_added_token(token: object) -> bool:
    return isinstance(token, dict) and isinstance(token.get("content"), str) and type(token.get("id")) is int


# --- components -------------------------------------------------------------------------------


def special_contents(document: Mapping[str, Any]) -> list[str]:
    """Return the texts of the special added tokens, without duplicates.

    >>> special_contents({"added_tokens": [{"id": 0, "content": "</s>", "special": True}]})
    ['</s>']
    """
    return list(dict.fromkeys(t["content"] for t in document["added_tokens"] if t.get("special")))


def needed_by_texts(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the special tokens that ordinary text may become, because they belong to the model's alphabet.

    They are single characters of a BPE vocabulary and the byte tokens of byte fallback, which the library's trainers
    accept only as special tokens.

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
    """Return the special tokens that are the bytes of byte fallback."""
    if not document["model"].get("byte_fallback"):
        return frozenset()
    vocabulary = _vocabulary(document)
    return frozenset(t for t in special_contents(document) if byte_of(t) is not None and t in vocabulary)


def model_ids(document: Mapping[str, Any]) -> Mapping[str, int]:
    """Return piece → id of a model whose vocabulary is valid.

    >>> model_ids({"model": {"type": "Unigram", "vocab": [["<unk>", 0.0], ["a", -1.0]]}})
    {'<unk>': 0, 'a': 1}
    """
    vocab = document["model"]["vocab"]
    return {piece: id for id, (piece, _) in enumerate(vocab)} if isinstance(vocab, list) else vocab


def assigned_ids(document: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the id of every token as the library assigns it, in order; None if only the library can tell.

    An added token has the id of the piece with its text; if there is none, the next id after the vocabulary, whatever
    the file says (`add_tokens` in tokenizer/added_vocabulary.rs). If the vocabulary leaves out ids, it depends on the
    version of the library which one that is.

    Args:
        document: a document with a valid vocabulary of pieces with ids, and no empty added token.

    >>> added = [{"id": 7, "content": "<s>"}, {"id": 8, "content": "a"}, {"id": 9, "content": "</s>"}]
    >>> assigned_ids({"model": {"type": "WordLevel", "vocab": {"b": 1, "a": 0}}, "added_tokens": added})
    {'a': 0, 'b': 1, '<s>': 2, '</s>': 3}
    """
    if model_type(document) not in _MODELS_WITH_IDS:
        return None
    vocabulary: dict[str, int] = document["model"]["vocab"]
    added = [token["content"] for token in document["added_tokens"]]
    new = [text for text in dict.fromkeys(added) if text not in vocabulary]
    if new and any(vocabulary.get(text, 0) >= len(vocabulary) for text in added):
        return None
    ids = {**vocabulary, **{text: len(vocabulary) + number for number, text in enumerate(new)}}
    return dict(sorted(ids.items(), key=itemgetter(1)))


def _vocabulary(document: Mapping[str, Any]) -> Collection[str]:
    """Return the pieces of the model."""
    vocabulary = document["model"].get("vocab") or ()
    if isinstance(vocabulary, list):
        return {
            entry[0]
            for entry in vocabulary
            if isinstance(entry, list) and entry and isinstance(entry[0], str)
        }
    return vocabulary if isinstance(vocabulary, dict) else ()


def byte_of(spelling: str) -> bytes | None:
    r"""Return the byte of a piece such as `<0x41>`; None for any other piece.

    >>> byte_of("<0xE2>"), byte_of("E2")
    (b'\xe2', None)
    """
    if len(spelling) != _BYTE_PIECE_SIZE:
        return None
    match = _BYTE_PIECE.fullmatch(spelling)
    return None if match is None else bytes([int(match.group(1), 16)])


def control_contents(document: Mapping[str, Any]) -> list[str]:
    """Return the texts of the control tokens, without duplicates and without those of `needed_by_texts`."""
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
    """Return the steps of a normalizer, pre-tokenizer, post-processor or decoder, with sequences flattened.

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
    """Return the type of the model; in old files, which do not name it, it is inferred from the fields.

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
    """Return role → special token for a WordPiece with BERT's names of tokens; empty for other models.

    >>> added = {"id": 1, "content": "[SEP]", "special": True}
    >>> roles_of_names({"model": {"type": "WordPiece"}, "added_tokens": [added]})
    {'sep': '[SEP]'}
    """
    if model_type(document) != "WordPiece":
        return {}
    special = special_contents(document)
    return {role: text for role, text in _OF_BERT.items() if text in special}


def own_roles(document: Mapping[str, Any]) -> dict[str, str]:
    """Return role → token from a `tokenizer.json`: BERT's names, the unknown token, the post-processor, the padding."""
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
    """Return the spelling of the unknown token; None if the vocabulary covers every text.

    >>> unknown_piece({"model": {"type": "WordLevel", "unk_token": "[UNK]"}})
    '[UNK]'
    """
    model = document["model"]
    if any(step.get("type") == "ByteLevel" for step in steps(document.get("pre_tokenizer"))):
        return None  # such files often name the end-of-text token here, which no text becomes
    if "unk_id" not in model:
        token = model.get("unk_token")
        return token if isinstance(token, str) else None
    position, pieces = model["unk_id"], model.get("vocab")
    if type(position) is not int or not isinstance(pieces, list) or not 0 <= position < len(pieces):
        return None
    return str(pieces[position][0])


def is_lossless(document: Mapping[str, Any], vocabulary: Mapping[str, int]) -> bool:
    """Return whether the pieces of every text certainly spell the text.

    This holds for a byte-level BPE with a piece for every byte of UTF-8 whose pre-tokenizers only split.
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
    """Return whether an added token decodes to the text that it matched; the decoder reads its characters as bytes."""
    if token.get("lstrip") or token.get("rstrip"):
        return False
    content = str(token["content"])
    # If some character is not in the alphabet, the decoder changes none.
    return not is_byte_level(content) or from_byte_level(content) == content.encode()


def _only_cuts(step: Mapping[str, Any]) -> bool:
    return (
        step.get("type") in _KEEPS_EVERYTHING
        and step.get("behavior") != "Removed"
        and not step.get("add_prefix_space", step.get("type") == "ByteLevel")
    )
