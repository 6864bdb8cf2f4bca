"""Well-known sets of special tokens, with their roles and their original ids."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import meant
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_END = "<|endoftext|>"
_NAMED_PIECES = ("unk", "bos", "eos", "pad")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialPreset:
    """A set of special tokens.

    Attributes:
        name: the name that users select it by.
        description: its purpose, in one line.
        source: where its maker defines it.
        tokens: the texts of the tokens in the order of their ids, which follow those of the vocabulary.
        roles: role → text.
        numbering: number of tokens in a vocabulary → text → id, where the maker of that vocabulary assigns
            different ids.
    """

    name: str
    description: str
    source: str
    tokens: tuple[str, ...]
    roles: Mapping[str, str]
    numbering: Mapping[int, Mapping[str, int]] = field(default_factory=dict)

    def ids(self, num_tokens: int) -> dict[str, int | None]:
        """Return text → id for a vocabulary of this many tokens; None for the next free id.

        >>> SPECIAL_PRESETS["chatml"].ids(100_256)["<|im_end|>"], SPECIAL_PRESETS["chatml"].ids(300)["<|im_end|>"]
        (100265, None)
        """
        numbers = self.numbering.get(num_tokens, {})
        return {text: numbers.get(text) for text in self.tokens}


_LLAMA3_NAMES = (
    "begin_of_text",
    "end_of_text",
    "reserved_special_token_0",
    "reserved_special_token_1",
    "finetune_right_pad_id",
    "step_id",
    "start_header_id",
    "end_header_id",
    "eom_id",
    "eot_id",
    "python_tag",
    "image",
    *(f"reserved_special_token_{number}" for number in range(2, 246)),
)

_ALL = (
    SpecialPreset(
        name="gpt2",
        description="one token between documents",
        source="encoder.json of openai/gpt-2",
        tokens=(_END,),
        roles={"bos": _END, "eos": _END},
    ),
    SpecialPreset(
        name="chatml",
        description="turns between <|im_start|> and <|im_end|>, as in OpenAI's ChatML and Qwen",
        source="openai-python's chatml.md; tiktoken's cl100k_im; tokenizer_config.json of Qwen2",
        tokens=(_END, "<|im_start|>", "<|im_end|>"),
        roles={"eos": _END, "turn_end": "<|im_end|>"},
        numbering={100_256: {_END: 100_257, "<|im_start|>": 100_264, "<|im_end|>": 100_265}},
    ),
    SpecialPreset(
        name="llama3",
        description="the 256 of Llama 3.2: text, turns, tools, an image, reserved ones",
        source="models/llama3/tokenizer.py of meta-llama/llama-models",
        tokens=tuple(f"<|{name}|>" for name in _LLAMA3_NAMES),
        roles={
            "bos": "<|begin_of_text|>",
            "eos": "<|end_of_text|>",
            "pad": "<|finetune_right_pad_id|>",
            "turn_end": "<|eot_id|>",
        },
    ),
    SpecialPreset(
        name="nanochat",
        description="the nine of nanochat: documents, turns, Python and its output",
        source="nanochat/tokenizer.py of karpathy/nanochat",
        tokens=(
            "<|bos|>",
            *(
                f"<|{part}_{side}|>"
                for part in ("user", "assistant", "python", "output")
                for side in ("start", "end")
            ),
        ),
        roles={"bos": "<|bos|>", "turn_end": "<|assistant_end|>"},
    ),
    SpecialPreset(
        name="mistral",
        description="instructions and tool calls of Mistral's v3 vocabulary",
        source="mistral_instruct_tokenizer_240323.model.v3 of mistral-common",
        tokens=(
            *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]"),
            *("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
        ),
        roles={"unk": "<unk>", "bos": "<s>", "eos": "</s>", "turn_end": "</s>"},
    ),
    SpecialPreset(
        name="gemma",
        description="turns between <start_of_turn> and <end_of_turn>, as in Gemma 1 to 3",
        source="Gemma's documentation of formatting; tokenizer.model of Gemma",
        tokens=("<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>"),
        roles={
            "pad": "<pad>",
            "eos": "<eos>",
            "bos": "<bos>",
            "unk": "<unk>",
            "mask": "<mask>",
            "turn_end": "<end_of_turn>",
        },
    ),
    SpecialPreset(
        name="bert",
        description="one text or two, with masks",
        source="vocab.txt of google-research/bert",
        tokens=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
        roles={"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"},
    ),
)

SPECIAL_PRESETS: Mapping[str, SpecialPreset] = {preset.name: preset for preset in _ALL}
"""The presets by name."""


def special_preset(name: str) -> SpecialPreset:
    """Return the preset of a name. Raises `ConfigError`.

    >>> special_preset("bert").roles["mask"]
    '[MASK]'
    """
    if not isinstance(name, str) or name not in SPECIAL_PRESETS:
        raise ConfigError(
            f"there is no set of special tokens {name!r}",
            hint=meant(str(name), SPECIAL_PRESETS, otherwise="the sets are {}"),
        )
    return SPECIAL_PRESETS[name]


def training_options(
    preset: SpecialPreset, config_type: type[Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options for training a backend with a preset; given options take precedence.

    A backend that has its own unknown, begin, end and padding pieces (SentencePiece) gets the preset's tokens for them,
    or none if the preset has none.

    Args:
        preset: the preset.
        config_type: the backend's configuration.
        given: option → value; its special tokens follow those of the preset.

    >>> from tokbench.backends.bpe.config import BpeConfig
    >>> training_options(SPECIAL_PRESETS["gpt2"], BpeConfig, {"special_tokens": ["<a>"]})
    {'special_tokens': ['<|endoftext|>', '<a>']}
    """
    fields = {config_field.name for config_field in dataclasses.fields(config_type)}
    options: dict[str, Any] = {}
    unknown = preset.roles.get("unk")
    if "unknown_token" in fields and unknown is not None:
        options["unknown_token"] = unknown
    if "unk_piece" in fields:
        options = _named_pieces(preset)
    options |= given
    own = {options.get(f"{role}_piece") for role in _NAMED_PIECES}
    texts = [text for text in (*preset.tokens, *given.get("special_tokens", ())) if text not in own]
    return {**options, "special_tokens": list(dict.fromkeys(texts))}


def _named_pieces(preset: SpecialPreset) -> dict[str, Any]:
    """Return options for SentencePiece's own pieces, in the preset's order; a preset without unk defines no others."""
    named = {role: preset.roles[role] for role in _NAMED_PIECES if role in preset.roles}
    if "unk" not in named:
        return {"bos_id": -1, "eos_id": -1, "pad_id": -1}
    pieces = {f"{role}_piece": text for role, text in named.items()}
    ids = {f"{role}_id": preset.tokens.index(named[role]) if role in named else -1 for role in _NAMED_PIECES}
    return {**pieces, **ids}
