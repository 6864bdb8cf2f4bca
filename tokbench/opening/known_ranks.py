"""Rank files known by the hash of their content, with their patterns and special tokens.

The data are those that `tiktoken` publishes with each file, including hashes, and those in the code that the makers of
the other vocabularies publish: Meta's for Llama 3 and 4, Whisper's, Qwen's and Kimi's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Literal

from tokbench.core.special_presets import SPECIAL_PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ENDOFTEXT = "<|endoftext|>"
EOS = {"eos": ENDOFTEXT}
"""The role eos, as in `tiktoken.Encoding.eot_token`."""
FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")

TAKES_PATTERN = "--pattern takes a name (gpt2, gpt4, gpt4o, llama3, qwen2) or a regular expression"

_LLAMA3 = SPECIAL_PRESETS["llama3"]
_KIMI_LETTERS = r"\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]"
KIMI_PATTERN = "|".join(
    [
        r"[\p{Han}]+",
        *(
            rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}{_KIMI_LETTERS}]{upper}"
            rf"[\p{{Ll}}{_KIMI_LETTERS}]{lower}(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            for upper, lower in ("*+", "+*")
        ),
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ]
)


def numbered(stem: str, numbers: Iterable[int]) -> Iterator[str]:
    """Yield numbered special tokens.

    >>> list(numbered("extra", range(2)))
    ['<|extra_0|>', '<|extra_1|>']
    """
    return (f"<|{stem}_{number}|>" for number in numbers)


def _llama4_special_tokens() -> Iterable[str]:
    """Return the special tokens of Llama 4, in the order of their ids."""
    after_training, vision, reasoning = (
        f"{kind}_reserved_special_token" for kind in ("text_post_train", "vision", "reasoning")
    )
    return chain(
        ("<|begin_of_text|>", "<|end_of_text|>", *FIM),
        ("<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>"),
        numbered(after_training, range(6)),
        ("<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"),
        numbered(after_training, range(8, 69)),
        ("<|image_start|>", "<|image_end|>"),
        numbered(vision, range(2)),
        ("<|tile_x_separator|>", "<|tile_y_separator|>"),
        numbered(vision, range(2, 6)),
        ("<|image|>", *numbered(vision, [6]), "<|patch|>"),
        numbered(vision, range(7, 1048)),
        numbered(reasoning, range(8)),
        ("<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"),
        numbered("reserved_special_token", range(904)),
    )


QWEN3_5_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_TOKENS = (ENDOFTEXT, "<|im_start|>", "<|im_end|>", *numbered("extra", range(205)))


def _qwen3_5_special_tokens() -> Iterator[str]:
    """Yield the special tokens of Qwen 3.5 and 3.6, in the order of their ids."""
    yield from (ENDOFTEXT, "<|im_start|>", "<|im_end|>")
    yield from (
        f"<|{kind}_{end}|>" for kind in ("object_ref", "box", "quad", "vision") for end in ("start", "end")
    )
    yield from ("<|vision_pad|>", "<|image_pad|>", "<|video_pad|>", "<tool_call>", "</tool_call>", *FIM)
    yield from ("<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>")
    yield from ("<think>", "</think>", "<|audio_start|>", "<|audio_end|>")
    yield from ("<tts_pad>", "<tts_text_bos>", "<tts_text_eod>", "<tts_text_bos_single>", "<|audio_pad|>")


@dataclass(frozen=True, slots=True)
class KnownRanks:
    """What a rank file does not contain: its pattern and special tokens.

    Attributes:
        name: the name that its maker uses.
        pattern: the split pattern, by name or as an expression.
        normalization: "nfc" if text is normalized to NFC first, unless the name of the pattern tells.
        special_tokens: text → id.
        roles: role → text of its special token.
        eos_ids: the ids that end a turn.
        note: what users should know about it.
        all_or_none: whether special tokens listed beside the ranks replace all of these, and not only those with the
            same ids.
        around: templates for one text and for two, as written_templates.py parses them; their words are roles, or
            special tokens without their brackets.
    """

    name: str
    pattern: str
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    eos_ids: tuple[int, ...] = ()
    note: str | None = None
    all_or_none: bool = False
    around: tuple[str, str] = ("A", "A B")
    normalization: Literal["nfc"] | None = None


KNOWN_BY_SHA256 = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": KnownRanks(
        "r50k_base", "gpt2", {ENDOFTEXT: 50256}, roles=EOS
    ),
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": KnownRanks(
        "p50k_base", "gpt2", {ENDOFTEXT: 50256}, roles=EOS
    ),
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": KnownRanks(
        "cl100k_base",
        "gpt4",
        {
            ENDOFTEXT: 100257,
            **dict(zip(FIM, range(100258, 100261), strict=True)),
            "<|endofprompt|>": 100276,
        },
        roles=EOS,
    ),
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": KnownRanks(
        "o200k_base", "gpt4o", {ENDOFTEXT: 199999, "<|endofprompt|>": 200018}, roles=EOS
    ),
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": KnownRanks(
        "llama3",
        "llama3",
        {text: id for id, text in enumerate(_LLAMA3.tokens, start=128_000)},
        roles={role: text for role, text in _LLAMA3.roles.items() if role != "turn_end"},
        eos_ids=(128001, 128008, 128009),
        note="the special tokens are those of Llama 3.1; Llama 3 has reserved ones for some of them",
    ),
    "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed": KnownRanks(
        "llama4",
        "gpt4o",
        {text: id for id, text in enumerate(_llama4_special_tokens(), start=200_000)},
        roles={"bos": "<|begin_of_text|>", "eos": "<|end_of_text|>", "pad": "<|finetune_right_pad|>"},
        eos_ids=(200_001, 200_007, 200_008),
    ),
    "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126": KnownRanks(
        "whisper",
        "gpt2",
        {ENDOFTEXT: 50257, "<|startoftranscript|>": 50258},
        roles=EOS,
        note="which special tokens stand after <|startoftranscript|> depends on the model's number of languages",
    ),
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": KnownRanks(
        "qwen",
        "qwen2",
        {text: id for id, text in enumerate(QWEN_TOKENS, start=151_643)},
        roles=EOS,
        eos_ids=(151_645, 151_643),
        note="the special tokens are those of Qwen; Qwen2 and later have others after <|im_end|>",
    ),
    "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd": KnownRanks(
        "qwen3.5",
        QWEN3_5_PATTERN,
        {text: id for id, text in enumerate(_qwen3_5_special_tokens(), start=248_044)},
        roles=EOS,
        eos_ids=(248_046, 248_044),
        normalization="nfc",
    ),
    "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103": KnownRanks(
        "kimi-k2",
        KIMI_PATTERN,
        {
            "[BOS]": 163_584,
            "[EOS]": 163_585,
            "<|im_end|>": 163_586,
            "<|im_user|>": 163_587,
            "<|im_assistant|>": 163_588,
            "<|start_header_id|>": 163_590,
            "<|end_header_id|>": 163_591,
            "[EOT]": 163_593,
            "<|im_system|>": 163_594,
            "<|im_middle|>": 163_601,
            "[UNK]": 163_838,
            "[PAD]": 163_839,
        },
        roles={"bos": "[BOS]", "eos": "[EOS]", "unk": "[UNK]", "pad": "[PAD]"},
        eos_ids=(163_586,),
    ),
}

_HARMONY_TEXTS = {
    199_998: "<|startoftext|>",
    199_999: ENDOFTEXT,
    200_002: "<|return|>",
    200_003: "<|constrain|>",
    200_005: "<|channel|>",
    200_006: "<|start|>",
    200_007: "<|end|>",
    200_008: "<|message|>",
    200_012: "<|call|>",
    200_018: "<|endofprompt|>",
}
_OF_ONE_FILE = {
    ("o200k_base", "o200k_harmony"): KnownRanks(
        "o200k_harmony",
        "gpt4o",
        {_HARMONY_TEXTS.get(id, f"<|reserved_{id}|>"): id for id in range(199_998, 201_088)},
        roles={"bos": "<|startoftext|>", "eos": "<|return|>", "pad": ENDOFTEXT},
        eos_ids=(200_002, 199_999, 200_012),
    ),
}
"""The name of a tokenizer, and that of another one with the same rank file → what differs."""


def of_name(known: KnownRanks, name: str) -> KnownRanks:
    """Return the tokenizer with this name if several share a rank file, otherwise the known one.

    >>> of_name(next(k for k in KNOWN_BY_SHA256.values() if k.name == "o200k_base"), "o200k_harmony").eos_ids
    (200002, 199999, 200012)
    """
    return _OF_ONE_FILE.get((known.name, name), known)


_BY_SIZE = {
    50256: "gpt2",
    50257: "gpt2",
    50280: "gpt2",
    100256: "gpt4",
    128000: "llama3",
    151643: "qwen2",
    199998: "gpt4o",
}


def pattern_hint(size: int, *, of: str) -> str:
    """Return a hint at the pattern that is usual with vocabularies of this size, if there is one.

    >>> pattern_hint(100256, of="ranks")
    '100,256 ranks are usual with --pattern gpt4'
    """
    likely = _BY_SIZE.get(size)
    return TAKES_PATTERN if likely is None else f"{size:,} {of} are usual with --pattern {likely}"
