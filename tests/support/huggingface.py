"""Small `tokenizer.json` documents of every model type."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from support.texts import bundled_texts

SPECIALS = ("<unk>", "<s>", "</s>")


def added(content: str, id: int, *, special: bool = True, **flags: bool) -> dict[str, Any]:
    """Build an entry of `added_tokens`."""
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id, "content": content, "special": special} | plain | flags


def dump(document: dict[str, Any]) -> bytes:
    """Return the bytes of a document."""
    return json.dumps(document).encode()


def document(model: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """Build a document that has a model and only the given other parts."""
    empty = dict.fromkeys(
        ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    )
    return {"version": "1.0", "added_tokens": [], **empty, "model": model, **parts}


@cache
def byte_level(*, add_prefix_space: bool = False) -> bytes:
    """Train a byte-level BPE like GPT-2's on a few bundled texts."""
    library = tokenizers.Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    library.decoder = decoders.ByteLevel()
    library.train_from_iterator(
        _few_texts(),
        trainers.BpeTrainer(
            vocab_size=600,
            special_tokens=["<s>", "</s>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return library.to_str().encode()


@cache
def byte_fallback() -> bytes:
    """Build a BPE over characters with byte fallback, like Llama 2's."""
    pieces = [*SPECIALS, *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "é", "ab", "▁ab"]
    return dump(
        document(
            {
                "type": "BPE",
                "unk_token": "<unk>",
                "fuse_unk": True,
                "byte_fallback": True,
                "vocab": {piece: id for id, piece in enumerate(pieces)},
                "merges": [["a", "b"], ["▁", "ab"]],
            },
            added_tokens=[added(text, id) for id, text in enumerate(SPECIALS)],
            normalizer={
                "type": "Sequence",
                "normalizers": [
                    {"type": "Prepend", "prepend": "▁"},
                    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
                ],
            },
            decoder={
                "type": "Sequence",
                "decoders": [
                    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                    {"type": "ByteFallback"},
                    {"type": "Fuse"},
                    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
                ],
            },
        )
    )


@cache
def unigram() -> bytes:
    """Build a Unigram with the pieces </s> and <unk> in its vocabulary, like T5's."""
    scores = {
        "<unk>": 0.0,
        "<s>": 0.0,
        "</s>": 0.0,
        "▁": -2.0,
        "▁the": -1.0,
        "a": -3.0,
        "t": -3.0,
        "fi": -3.5,
    }
    scores |= dict.fromkeys("hesx<>/é", -4.0)
    return dump(
        document(
            {"type": "Unigram", "unk_id": 0, "vocab": [list(item) for item in scores.items()]},
            added_tokens=[added(text, id) for id, text in enumerate(SPECIALS)],
            normalizer={"type": "NFKC"},
            pre_tokenizer={
                "type": "Metaspace",
                "replacement": "▁",
                "prepend_scheme": "always",
                "split": True,
            },
            decoder={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        )
    )


@cache
def word_level() -> bytes:
    """Build a WordLevel whose pre-tokenizer sees its special tokens as words."""
    words = [*SPECIALS, "one", "two"]
    return dump(
        document(
            {"type": "WordLevel", "unk_token": "<unk>", "vocab": {word: id for id, word in enumerate(words)}},
            added_tokens=[added(text, id) for id, text in enumerate(SPECIALS)],
            pre_tokenizer={"type": "WhitespaceSplit"},
        )
    )


@cache
def wordpiece() -> bytes:
    """Train a WordPiece like BERT's on a few bundled texts."""
    library = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    library.train_from_iterator(
        _few_texts(), trainers.WordPieceTrainer(vocab_size=600, special_tokens=specials, show_progress=False)
    )
    return library.to_str().encode()


@cache
def with_suffix() -> bytes:
    """Train a BPE over characters with an end-of-word suffix, like the first BPE tokenizers."""
    library = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.decoder = decoders.BPEDecoder(suffix="</w>")
    library.train_from_iterator(
        _few_texts(),
        trainers.BpeTrainer(
            vocab_size=600, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False
        ),
    )
    return library.to_str().encode()


DOCUMENTS = {
    "byte-level": byte_level,
    "byte-fallback": byte_fallback,
    "unigram": unigram,
    "word-level": word_level,
    "wordpiece": wordpiece,
    "suffix": with_suffix,
}


def _few_texts() -> list[str]:
    return [bundled_texts()[name] for name in ("parallel/en.txt", "parallel/de.txt", "code/python.py")]
