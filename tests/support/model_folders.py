"""Small folders with the files of well-known models: a vocabulary and the files beside it."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from support import huggingface
from support.sentencepiece_models import scored, unknown, written
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.formats.tokenizer_json import dump_byte_level_bpe, to_byte_level

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LETTERS = [bytes([byte]) for byte in range(256)]
MERGES = [(0x68, 0x69), (0x20, 256), (0x74, 0x68)]
TOKENS = [*LETTERS, b"hi", b" hi", b"th"]

LLAMA3_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n"
    "{{ message['content'] | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
MISTRAL_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}{% if message['role'] == 'user' %}"
    "[INST] {{ message['content'] }} [/INST]{% else %}{{ message['content'] }}{{ eos_token }}{% endif %}{% endfor %}"
)


def entry(content: str, **flags: bool) -> dict[str, Any]:
    """Build an entry of added_tokens_decoder with all its flags."""
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"content": content, **plain, "special": True, **flags}


def put(folder: Path, files: Mapping[str, Any]) -> Path:
    """Write files into a folder by name: bytes unchanged, strings as UTF-8, anything else as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        data = (
            content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else None
        )
        (folder / name).write_bytes(json.dumps(content).encode() if data is None else data)
    return folder


def llama3(folder: Path) -> Path:
    """Write a tokenizer.json with special tokens after its vocabulary, a template, and two ids that end generation."""
    names = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
    specials = {name: len(TOKENS) + position for position, name in enumerate(names)}
    return put(
        folder,
        {
            "tokenizer.json": dump_byte_level_bpe(
                tokens=TOKENS, merges=MERGES, special_tokens=specials, pattern=r"\s?\p{L}+|[^\p{L}]"
            ),
            "tokenizer_config.json": {
                "added_tokens_decoder": {str(id): entry(name) for name, id in specials.items()},
                "bos_token": "<|begin_of_text|>",
                "eos_token": "<|eot_id|>",
                "chat_template": LLAMA3_TEMPLATE,
                "clean_up_tokenization_spaces": True,
                "model_input_names": ["input_ids", "attention_mask"],
                "model_max_length": 131072,
                "tokenizer_class": "PreTrainedTokenizerFast",
            },
            "special_tokens_map.json": {
                "bos_token": entry("<|begin_of_text|>"),
                "eos_token": entry("<|eot_id|>"),
            },
            "generation_config.json": {
                "bos_token_id": specials["<|begin_of_text|>"],
                "eos_token_id": [specials["<|end_of_text|>"], specials["<|eot_id|>"]],
                "do_sample": True,
                "temperature": 0.6,
            },
        },
    )


def llama3_ranks(folder: Path) -> Path:
    """Write Meta's form of the same: ranks in tokenizer.model, special tokens in the configuration."""
    put(folder, {name: (llama3(folder) / name).read_bytes() for name in ("tokenizer_config.json",)})
    (folder / "tokenizer.json").unlink()
    lines = (base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(TOKENS))
    return put(folder, {"tokenizer.model": b"".join(lines)})


def qwen(folder: Path) -> Path:
    """Write vocab.json and merges.txt; only the configuration has the special tokens and a template for tools."""
    first = len(TOKENS)
    added = {
        first: entry("<|endoftext|>"),
        first + 1: entry("<|im_start|>"),
        first + 2: entry("<|im_end|>"),
        first + 3: entry("<tool_call>", special=False),
    }
    return put(
        folder,
        {
            "vocab.json": {to_byte_level(token): id for id, token in enumerate(TOKENS)},
            "merges.txt": "#version: 0.2\n"
            + "".join(
                f"{to_byte_level(TOKENS[left])} {to_byte_level(TOKENS[right])}\n" for left, right in MERGES
            ),
            "tokenizer_config.json": {
                "add_bos_token": False,
                "added_tokens_decoder": {str(id): token for id, token in added.items()},
                "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
                "bos_token": None,
                "eos_token": "<|im_end|>",
                "pad_token": "<|endoftext|>",
                "unk_token": None,
                "chat_template": [
                    {
                        "name": "default",
                        "template": "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}",
                    },
                    {"name": "tool_use", "template": "{{ messages | tojson }}{{ eos_token }}"},
                ],
                "model_max_length": 32768,
                "split_special_tokens": False,
                "tokenizer_class": "Qwen2Tokenizer",
            },
        },
    )


def roberta(folder: Path) -> Path:
    """Write vocab.json and merges.txt; by special_tokens_map.json the mask includes the space before it."""
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [*specials, *map(to_byte_level, TOKENS), "<mask>"]
    return put(
        folder,
        {
            "vocab.json": {piece: id for id, piece in enumerate(pieces)},
            "merges.txt": "h i\nĠ hi\nt h\n",
            "tokenizer_config.json": {"tokenizer_class": "RobertaTokenizer", "model_max_length": 512},
            "special_tokens_map.json": {
                "bos_token": "<s>",
                "eos_token": "</s>",
                "sep_token": "</s>",
                "cls_token": "<s>",
                "unk_token": "<unk>",
                "pad_token": "<pad>",
                "mask_token": entry("<mask>", lstrip=True) | {"special": True},
            },
        },
    )


def mistral(folder: Path) -> Path:
    """Write a SentencePiece model; added_tokens.json adds tokens after its pieces."""
    controls = [ModelPiece(text, 0.0, PieceType.CONTROL) for text in ("<s>", "</s>")]
    letters = scored({letter: -float(rank) for rank, letter in enumerate("▁hit")})
    pieces = [unknown(), *controls, *scored({"hi": -1.0, "▁hi": -2.0}), *letters]
    return put(
        folder,
        {
            "tokenizer.model": written(
                pieces, trainer={"model_type": 2, "bos_id": 1, "eos_id": 2, "unk_id": 0}
            ),
            "added_tokens.json": {"<|im_end|>": len(pieces) + 1, "<|im_start|>": len(pieces)},
            "special_tokens_map.json": {"bos_token": entry("<s>"), "eos_token": "</s>", "unk_token": "<unk>"},
            "tokenizer_config.json": {
                "add_bos_token": True,
                "add_eos_token": False,
                "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
                "chat_template": MISTRAL_TEMPLATE,
                "legacy": False,
                "model_max_length": 1000000000000000019884624838656,
                "tokenizer_class": "LlamaTokenizer",
            },
        },
    )


def gemma(folder: Path) -> Path:
    """Write a tokenizer.json with named tokens for turns and images, and a template in a file of its own."""
    document = json.loads(huggingface.byte_fallback())
    names = ["<start_of_image>", "<start_of_turn>", "<end_of_turn>"]
    first = len(document["model"]["vocab"])
    document["added_tokens"] += [huggingface.added(name, first + place) for place, name in enumerate(names)]
    return put(
        folder,
        {
            "tokenizer.json": document,
            "tokenizer_config.json": {
                "add_bos_token": True,
                "added_tokens_decoder": {
                    str(token["id"]): {key: value for key, value in token.items() if key != "id"}
                    for token in document["added_tokens"]
                },
                "bos_token": "<s>",
                "eos_token": "</s>",
                "unk_token": "<unk>",
                "boi_token": "<start_of_image>",
                "extra_special_tokens": {"boi_token": "<start_of_image>"},
                "padding_side": "left",
                "tokenizer_class": "PreTrainedTokenizerFast",
            },
            "chat_template.jinja": "{{ bos_token }}{% for m in messages %}<start_of_turn>{{ m.role }}\n"
            "{{ m.content }}<end_of_turn>\n{% endfor %}{{ boi_token }}",
            "generation_config.json": {"eos_token_id": [2, first + 2], "pad_token_id": 0},
        },
    )


def bert(folder: Path) -> Path:
    """Write a vocab.txt, the names of its roles, and one token that a user added after it."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hi", "th", "##i", "##t", "h", "t", "i"]
    return put(
        folder,
        {
            "vocab.txt": "".join(f"{word}\n" for word in words),
            "added_tokens.json": {"[URL]": len(words)},
            "special_tokens_map.json": {
                **{f"{role}_token": f"[{role.upper()}]" for role in ("unk", "sep", "pad", "cls", "mask")}
            },
            "tokenizer_config.json": {"do_lower_case": True, "tokenizer_class": "BertTokenizer"},
        },
    )


FOLDERS = {make.__name__: make for make in (llama3, qwen, roberta, mistral, gemma, bert)}
"""Name → the function that writes the folder; `AutoTokenizer` opens these too."""
