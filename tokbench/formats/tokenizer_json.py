"""Hugging Face's `tokenizer.json`: writing a byte-level BPE with the same ids, and JSON in its layout.

Unexpected behaviour of `tokenizers`:

- the listed id of a special token is ignored: its id is that of its text in the model's vocabulary, or else the next
  free id;
- special tokens are recognized in every text, unless `Tokenizer.encode_special_tokens` is set;
- a byte without a token is dropped silently.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from tokbench.core.descriptions import TokenFlags
from tokbench.errors import ConversionError
from tokbench.formats.post_processors import dump_post_processing
from tokbench.formats.set_operations import set_operations, without_set_operations
from tokbench.formats.tokenizer_config.fields import AddedToken

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tokbench.core.descriptions import PostProcessing


def to_byte_level(piece: bytes) -> str:
    r"""Return the characters that represent bytes in GPT-2's vocabularies, one for each byte.

    Printable bytes of Latin-1 represent themselves; the others (controls, spaces, the soft hyphen) become the
    characters from U+0100 on, in order.

    >>> to_byte_level(b" caf\xc3\xa9\n")
    'ĠcafÃ©Ċ'
    """
    characters = _byte_characters()
    return "".join([characters[byte] for byte in piece])


def from_byte_level(text: str) -> bytes:
    r"""Return the bytes that characters of a GPT-2 vocabulary represent; the inverse of `to_byte_level`.

    Raises:
        ValueError: a character represents no byte.

    >>> from_byte_level("ĠcafÃ©Ċ")
    b' caf\xc3\xa9\n'
    """
    values = _character_bytes()
    try:
        return bytes([values[character] for character in text])
    except KeyError as error:
        raise ValueError(f"{error.args[0]!r} is not in the byte-level alphabet") from None


def all_from_byte_level(texts: Collection[str]) -> list[bytes | None]:
    r"""Return the bytes of many texts as `from_byte_level` does; None if a character represents no byte.

    >>> all_from_byte_level(["Ġa", "a b", ""])
    [b' a', None, b'']
    """
    import numpy as np

    values = np.full(max(map(ord, _character_bytes())) + 2, 0x100, np.uint16)  # the last one is of all others
    values[list(map(ord, _character_bytes()))] = list(_character_bytes().values())
    code_points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    found = values[np.minimum(code_points, len(values) - 1)]
    data = found.astype(np.uint8).tobytes()
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    wrong = np.searchsorted(ends, np.flatnonzero(found == 0x100), side="right")
    stops = ends.tolist()
    pieces: list[bytes | None] = list(map(data.__getitem__, map(slice, [0, *stops], stops)))
    for number in wrong.tolist():
        pieces[number] = None
    return pieces


def is_byte_level(text: str) -> bool:
    """Return whether every character represents a byte."""
    return _character_bytes().keys() >= set(text)


def decoded_bytes(text: str) -> bytes:
    r"""Return the bytes that characters represent, or the UTF-8 of a text with a character that represents none.

    >>> decoded_bytes("Ġcaf"), decoded_bytes("Ġ▁")
    (b' caf', b'\xc4\xa0\xe2\x96\x81')
    """
    try:
        return from_byte_level(text)
    except ValueError:
        return text.encode()


def for_oniguruma(pattern: str) -> str:
    r"""Convert a split pattern to Oniguruma, with which `tokenizers` splits.

    Oniguruma reads `{1,3}+` as a repeated group. Where nothing can follow an interval it need not be possessive, so
    plain `{1,3}` is equivalent. A dot for every character is `(?m:.)` there, and the only set operation in classes is
    `&&`.

    >>> print(for_oniguruma(r"\p{N}{1,3}+|."))
    \p{N}{1,3}|.
    >>> print(for_oniguruma(r"[\w--\d]|."))
    (?:(?![\d])[\w])|.
    """
    known = set_operations(pattern) <= {"&&", "["}
    converted = _POSSESSIVE_INTERVAL.sub(r"\1", pattern if known else without_set_operations(pattern))
    return _DOT_FOR_ALL.sub("(?m", converted)


def dump_byte_level_bpe(
    *,
    tokens: Sequence[bytes | None],
    merges: Sequence[tuple[int, int]],
    special_tokens: Mapping[str, int],
    pattern: str | None,
    normalization: str | None = None,
    whole_tokens_first: bool = False,
    token_flags: Mapping[str, TokenFlags] | None = None,
    post_processing: PostProcessing | None = None,
) -> bytes:
    """Return the `tokenizer.json` of a byte-level BPE, with the same ids.

    Args:
        tokens: the bytes of each ordinary token, at the index of its id. None if no ordinary token has the id.
        merges: pairs of ids in the order of their ranks.
        special_tokens: text → id.
        pattern: the split pattern in the dialect of Oniguruma; None if a text is one pre-token.
        normalization: None or "nfc".
        whole_tokens_first: whether a pre-token that is in the vocabulary becomes that token without any merge.
        token_flags: special token → its flags; a token that is missing has no flag.
        post_processing: how the ids of a text are post-processed for a model.

    Raises:
        ConversionError: `tokenizers` would give different ids, or decode to another text.
    """
    pieces = _pieces(tokens)
    specials = _checked_specials(special_tokens, pieces=pieces)
    vocabulary = {piece: id for id, piece in enumerate(pieces) if piece is not None}
    if [special_tokens[text] for text in specials] != list(
        range(len(vocabulary), len(vocabulary) + len(specials))
    ):
        # Only the model's own vocabulary can define an id that is not the next free one.
        if whole_tokens_first:
            check_no_pretoken(specials)
        vocabulary |= {text: special_tokens[text] for text in specials}
    document = byte_level_document(
        vocab=dict(sorted(vocabulary.items(), key=lambda item: item[1])),
        merges=_merged_pieces(merges, pieces=pieces),
        added_tokens=[
            AddedToken(
                id=special_tokens[text], content=text, **asdict((token_flags or {}).get(text, TokenFlags()))
            ).listed()
            for text in specials
        ],
        splits=[] if pattern is None else [split_step(pattern)],
        normalization=normalization,
        whole_tokens_first=whole_tokens_first,
    )
    return dump_json(
        document if post_processing is None else document | dump_post_processing(post_processing)
    )


def byte_level_document(
    *,
    vocab: Mapping[str, int],
    merges: Sequence[Sequence[str]],
    added_tokens: Sequence[Mapping[str, Any]],
    splits: Sequence[Mapping[str, Any]],
    normalization: str | None = None,
    whole_tokens_first: bool = False,
) -> dict[str, Any]:
    """Return a `tokenizer.json` of a byte-level BPE, without a post-processor.

    Args:
        vocab: piece → id.
        merges: pairs of pieces in the order of their ranks.
        added_tokens: as in the file.
        splits: the pre-tokenizer's steps before the byte-level step; see `split_step`.
        normalization: None or "nfc".
        whole_tokens_first: whether a pre-token that is in the vocabulary becomes that token without any merge.

    Raises:
        ConversionError: the normalization is unknown.
    """
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": list(added_tokens),
        "normalizer": _normalizer(normalization),
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits, _BYTE_LEVEL]}
        if splits
        else _BYTE_LEVEL,
        "post_processor": None,
        "decoder": _BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": whole_tokens_first,
            "vocab": dict(vocab),
            "merges": list(merges),
        },
    }


def split_step(pattern: str) -> dict[str, Any]:
    """Return the pre-tokenizer step that splits by a pattern in the dialect of Oniguruma."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


_POSSESSIVE_INTERVAL = re.compile(r"(?<!\\)(\{\d+(?:,\d*)?\})\+")
_DOT_FOR_ALL = re.compile(r"(?<!\\)\(\?s(?=[:)])")
_WORDS_AND_SIGNS = re.compile(r"[^\W_][\W_]|[\W_][^\W_]")
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}


@cache
def _byte_characters() -> tuple[str, ...]:
    """Return the character of each byte, as GPT-2's `bytes_to_unicode` does."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return tuple(chr(byte if byte in printable else 0x100 + others.index(byte)) for byte in range(256))


@cache
def _character_bytes() -> dict[str, int]:
    return {character: byte for byte, character in enumerate(_byte_characters())}


def _pieces(tokens: Sequence[bytes | None]) -> list[str | None]:
    """Return the tokens as `tokenizers` spells them; rejects vocabularies that `tokenizer.json` cannot represent."""
    positions: dict[bytes, int] = {}
    for position, token in enumerate(tokens):
        if token is None:
            continue
        if (first := positions.setdefault(token, position)) != position:
            raise ConversionError(
                f"tokens {first} and {position} are both {token!r}, and a tokenizer.json contains each token once"
            )
    for byte in range(256):
        if bytes([byte]) not in positions:
            raise ConversionError(f"there is no token for byte 0x{byte:02X}, and tokenizers would drop it")
    return [None if token is None else to_byte_level(token) for token in tokens]


def _checked_specials(special_tokens: Mapping[str, int], *, pieces: Sequence[str | None]) -> list[str]:
    """Return the special tokens in the order of their ids."""
    texts = sorted(special_tokens, key=special_tokens.__getitem__)
    vocabulary = {piece for piece in pieces if piece is not None}
    taken = {id: piece for id, piece in enumerate(pieces) if piece is not None}
    owners: dict[int, str] = {}
    for text in texts:
        id = special_tokens[text]
        if id in taken:
            raise ConversionError(f"the special token {text!r} has the id {id} of an ordinary token")
        if (owner := owners.setdefault(id, text)) != text:
            raise ConversionError(f"the special tokens {owner!r} and {text!r} have the same id {id}")
        _check_special_text(text, vocabulary=vocabulary)
    return texts


def check_no_pretoken(specials: Sequence[str]) -> None:
    """Reject special tokens that a text could contain as a pre-token, if whole pre-tokens are looked up first.

    Raises:
        ConversionError: a special token could be a pre-token.
    """
    for text in specials:
        if all(character in _character_bytes() for character in text) and not _WORDS_AND_SIGNS.search(text):
            raise ConversionError(
                f"tokenizers could take the word {text!r} in a text for the special token: its id follows a gap"
            )


def _check_special_text(text: str, *, vocabulary: set[str]) -> None:
    if not text:
        raise ConversionError("a special token is empty, and tokenizers leaves it out")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ConversionError(f"the special token {text!r} has no UTF-8 form")
    if text in vocabulary:
        raise ConversionError(
            f"the special token {text!r} is spelled like the piece of {from_byte_level(text)!r}, "
            "and tokenizers would give it that id"
        )
    if not text.isascii() and all(character in _character_bytes() for character in text):
        raise ConversionError(
            f"the special token {text!r} is spelled like the bytes {from_byte_level(text)!r}, "
            "and tokenizers would decode it as those"
        )


def _merged_pieces(
    merges: Sequence[tuple[int, int]], *, pieces: Sequence[str | None]
) -> list[tuple[str, str]]:
    vocabulary = set(pieces)
    seen: set[tuple[int, int]] = set()
    merged: list[tuple[str, str]] = []
    for index, (left, right) in enumerate(merges):
        left_piece = pieces[left] if 0 <= left < len(pieces) else None
        right_piece = pieces[right] if 0 <= right < len(pieces) else None
        if left_piece is None or right_piece is None:
            raise ConversionError(f"merge {index} is of ids {left} and {right}, which are not both tokens")
        if (left, right) in seen:
            raise ConversionError(f"merge {index} of ids {left} and {right} occurs twice")
        if left_piece + right_piece not in vocabulary:
            raise ConversionError(f"merge {index} of ids {left} and {right} gives bytes that are no token")
        seen.add((left, right))
        merged.append((left_piece, right_piece))
    return merged


def _normalizer(normalization: str | None) -> dict[str, str] | None:
    if normalization not in (None, "nfc"):
        raise ConversionError(f"the normalization {normalization!r} is unknown")
    return {"type": "NFC"} if normalization == "nfc" else None


def dump_json(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a JSON file."""
    import orjson

    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
