"""Post-processors in the form of a `tokenizer.json`, and a small byte-level BPE with one."""

from __future__ import annotations

import json
from typing import Any

from support.descriptions import trained
from tokbench.formats.tokenizer_json import dump_byte_level_bpe, for_oniguruma

IDS = {"<s>": 2, "</s>": 3}
BERT = {"type": "BertProcessing", "cls": ["<s>", 2], "sep": ["</s>", 3]}
ROBERTA = {"type": "RobertaProcessing", "cls": ["<s>", 2], "sep": ["</s>", 3], "trim_offsets": True}
ROBERTA["add_prefix_space"] = False
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}


def text(number: int, type_id: int = 0) -> dict[str, Any]:
    """Build a placeholder of a text."""
    return {"Sequence": {"id": "AB"[number], "type_id": type_id}}


def special(token: str, type_id: int = 0) -> dict[str, Any]:
    """Build a placeholder of a special token."""
    return {"SpecialToken": {"id": token, "type_id": type_id}}


def template(
    single: list[Any], pair: list[Any], *, ids: dict[str, list[int]] | None = None
) -> dict[str, Any]:
    """Build a template in which numbers stand for texts and strings for special tokens."""

    def part(given: Any) -> dict[str, Any]:
        if isinstance(given, dict):
            return given
        return text(given) if isinstance(given, int) else special(given)

    known = {token: [id] for token, id in IDS.items()} | (ids or {})
    return {
        "type": "TemplateProcessing",
        "single": [part(element) for element in single],
        "pair": [part(element) for element in pair],
        "special_tokens": {
            token: {"id": token, "ids": listed, "tokens": [token] * len(listed)}
            for token, listed in known.items()
        },
    }


def documented(processor: Any, *, flags: tuple[str, ...] = (), **parts: Any) -> bytes:
    """Return the `tokenizer.json` of a byte-level BPE with special tokens; <mask> has the given flags."""
    description = trained().description()
    specials = {text: 338 + place for place, text in enumerate(("<s>", "</s>", "<mask>"))}
    document = json.loads(
        dump_byte_level_bpe(
            tokens=description.tokens,
            merges=[(left, right) for left, right, _ in description.merges],
            special_tokens=specials,
            pattern=for_oniguruma(description.pattern),
        )
    )
    document["added_tokens"][2] |= dict.fromkeys(flags, True)
    if "normalized" in flags:
        for token in document["added_tokens"]:
            token["normalized"] = True
    document["post_processor"] = processor
    return json.dumps(document | parts).encode()
