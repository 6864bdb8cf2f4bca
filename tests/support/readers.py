"""Files opened as the documentation of each library opens them, without help from tokbench."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import tokbench

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Encode = Callable[[str], Sequence[int]]


def _tiktoken(path: Path, source: Any) -> Encode:
    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken.load import load_tiktoken_bpe

    encoding = tiktoken.Encoding(
        "read",
        pat_str=source.description().pattern or r"(?s:.+)",
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens=dict(source.info.special_tokens),
    )
    return encoding.encode_ordinary  # type: ignore[no-any-return]


def _tokenizers(path: Path, source: Any) -> Encode:
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def _transformers(path: Path, source: Any) -> Encode:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(path), split_special_tokens=True)
    return lambda text: tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]  # type: ignore[no-any-return]


def _sentencepiece(path: Path, source: Any) -> Encode:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return processor.encode  # type: ignore[no-any-return]


def _vocabulary(path: Path, source: Any) -> Encode:
    import tokenizers

    tokenizer = tokenizers.BertWordPieceTokenizer.from_file(str(path))
    tokenizer._tokenizer.encode_special_tokens = True
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def _tokbin(path: Path, source: Any) -> Encode:
    return tokbench.load(path).encode


def _llama2c(path: Path, source: Any) -> Encode:
    data = path.read_bytes()
    entries, scores, place = [], [], struct.calcsize("<i")
    while place < len(data):
        score, size = struct.unpack_from("<fi", data, place)
        entries.append(data[place + 8 : place + 8 + size])
        scores.append(score)
        place += 8 + size
    ids = {entry: id for id, entry in enumerate(entries)}

    def encode(text: str) -> list[int]:
        tokens = [ids[b" "]] if text else []
        for character in text:
            data = character.encode()
            tokens += [ids[data]] if data in ids else [byte + 3 for byte in data]
        while len(tokens) > 1:
            joined = [ids.get(entries[left] + entries[right], -1) for left, right in pairwise(tokens)]
            best = max(
                range(len(joined)), key=lambda place: scores[joined[place]] if joined[place] >= 0 else -1e10
            )
            if joined[best] < 0:
                break
            tokens[best : best + 2] = [joined[best]]
        return tokens

    return encode


READERS: dict[str, Callable[[Path, Any], Encode]] = {
    "tiktoken": _tiktoken,
    "tokenizers": _tokenizers,
    "transformers": _transformers,
    "sentencepiece": _sentencepiece,
    "vocab.txt": _vocabulary,
    "tokbin": _tokbin,
    "llama2c": _llama2c,
}
"""Format → a function that opens a file and encodes texts; it also gets the tokenizer the file was written from."""
