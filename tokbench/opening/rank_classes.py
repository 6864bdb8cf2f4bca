"""Tokenizer classes that read a rank file and define its pattern and special tokens only in their code.

`tokenizer_config.json` beside the ranks names the class. Its code is never run: this module restates what it does.

Source: the code published by the makers of GLM-4, Qwen, Qwen-VL, Qwen-Audio, Kimi, Kimi-Audio, Hunyuan, Stable LM 2 and
Phi-3 small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.opening.known_ranks import (
    ENDOFTEXT,
    EOS,
    FIM,
    KIMI_PATTERN,
    QWEN_TOKENS,
    KnownRanks,
    numbered,
)
from tokbench.opening.tokenizer_classes import QWEN2_PATTERN, json_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

_RESERVED = 256
_GLM4 = (
    ENDOFTEXT, "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>", "<|assistant|>",
    "<|observation|>", "<|begin_of_image|>", "<|end_of_image|>", "<|begin_of_video|>", "<|end_of_video|>",
)  # fmt: skip
_VISION = ("<ref>", "</ref>", "<box>", "</box>", "<quad>", "</quad>", "<img>", "</img>", "<imgpad>")
_HUNYUAN = (ENDOFTEXT, "<|startoftext|>", "<|bos|>", "<|eos|>", "<|pad|>", *numbered("extra", range(204)))
_HUNYUAN_NOTE = (
    "versions of HYTokenizer differ in whether <|startoftext|> and <|endoftext|> are put around a text: here they are "
    "not, as tokenizer_config.json does not say add_bos_token or add_eos_token"
)
_ARCADE = (
    ENDOFTEXT, *FIM, "<|fim_pad|>", "<gh_stars>", "<filename>", "<issue_start>", "<issue_comment>", "<issue_closed>",
    "<jupyter_start>", "<jupyter_text>", "<jupyter_code>", "<jupyter_output>", "<empty_output>", "<commit_before>",
    "<commit_msg>", "<commit_after>", "<reponame>", "<|endofprompt|>", "<|im_start|>", "<|im_end|>", "<|pause|>",
    *(f"<|reg{number}|>" for number in range(8)), "<|extra0|>",
)  # fmt: skip
_PHI3 = (
    "<|dummy_id_2|>", ENDOFTEXT, *FIM, "<|system|>", "<|user|>", "<|assistant|>", "<|dummy_id_0|>", "<|dummy_id_1|>",
    "<|end|>", *numbered("dummy_id", range(3, 12)), "<|endofprompt|>", *numbered("dummy_id", range(12, 87)),
)  # fmt: skip
_KIMI_AUDIO = {
    0: "[BOS]", 1: "[EOS]", 2: "<|im_msg_end|>", 3: "<|im_user_msg_start|>", 4: "<|im_assistant_msg_start|>",
    9: "[EOT]", 18: "<|im_media_begin|>", 20: "<|im_media_end|>", 23: "<|im_kimia_text_blank|>",
    24: "<|im_kimia_text_eos|>", 27: "<|im_kimia_user_msg_start|>", 28: "<|im_kimia_assistant_msg_start|>",
    32: "<|im_kimia_speech_ct_id|>", 33: "<|im_kimia_speech_ctd_id|>",
}  # fmt: skip
"""Index among the special tokens → text; the tokens in between are reserved and numbered."""
_KIMI_AUDIO_TOKENS = 293 + 128


def class_of_ranks(folder: Path, config: TokenizerConfig, *, num_tokens: int) -> KnownRanks | None:
    """Return what the class of a folder defines for its rank file; None if no class, or an unknown one, is named.

    Args:
        folder: the folder of the ranks.
        config: the configuration already read from it.
        num_tokens: the number of ranks.
    """
    name, module = named_class(folder, config)
    if name in _ALWAYS:
        return _ALWAYS[name]
    describe = _BY_RANKS.get(name or "")
    return None if describe is None else describe(_Ranks(folder, module, num_tokens))


def named_class(folder: Path, config: TokenizerConfig) -> tuple[str | None, str]:
    """Return the class that a folder names and its module, which is empty if not stated.

    Usage:

        named_class(Path("glm-4"), config)  # ("ChatGLM4Tokenizer", "tokenization_chatglm")
    """
    auto_map = json_beside(folder / "tokenizer_config.json").get("auto_map")
    listed = auto_map.get("AutoTokenizer") if isinstance(auto_map, dict) else auto_map
    first = next(iter(listed), None) if isinstance(listed, list) else listed
    if not isinstance(first, str):
        return config.tokenizer_class, ""
    module, _, name = first.rpartition("--")[2].rpartition(".")
    return name, module


def _counted(tokens: Iterable[str], first: int) -> Mapping[str, int]:
    return {text: id for id, text in enumerate(tokens, start=first)}


@dataclass(frozen=True, slots=True)
class _Ranks:
    """The facts about a rank file that determine the special tokens of its class.

    Attributes:
        folder: the folder of the ranks.
        module: the module of the class.
        num_tokens: the number of ranks.
    """

    folder: Path
    module: str
    num_tokens: int


def _glm4(ranks: _Ranks) -> KnownRanks:
    specials = _counted(_GLM4, ranks.num_tokens)
    return KnownRanks(
        "glm4",
        "llama3",
        specials,
        roles={**EOS, "pad": ENDOFTEXT},
        all_or_none=True,
        around=("gMASK sop A", "gMASK sop A B"),
    )


def _qwen(ranks: _Ranks) -> KnownRanks:
    model = json_beside(ranks.folder / "config.json")
    if "visual" in model:
        name, specials = "qwen-vl", _counted((*QWEN_TOKENS, *_VISION), ranks.num_tokens)
    elif "audio" in model:
        name, specials = "qwen-audio", _counted((*QWEN_TOKENS, *_audio()), ranks.num_tokens)
    else:
        name, specials = "qwen", _counted(QWEN_TOKENS, 151_643)
    return KnownRanks(name, "qwen2", specials, roles=EOS)


def _kimi(ranks: _Ranks) -> KnownRanks:
    first, roles = ranks.num_tokens, {"bos": "[BOS]", "eos": "[EOS]"}
    if "kimia" not in ranks.module:
        reserved = (f"<|reserved_token_{id}|>" for id in range(first, first + _RESERVED))
        return KnownRanks("kimi", KIMI_PATTERN, _counted(reserved, first), roles=roles)
    numbers = numbered("reserved_token", range(_KIMI_AUDIO_TOKENS))
    tokens = [_KIMI_AUDIO.get(place) or next(numbers) for place in range(_KIMI_AUDIO_TOKENS)]
    roles |= {"unk": tokens[-2], "pad": tokens[-1]}
    return KnownRanks("kimi-audio", QWEN2_PATTERN, _counted(tokens, first), roles=roles)


def _hunyuan(ranks: _Ranks) -> KnownRanks:
    """Return what HYTokenizer defines; its versions differ in the default ends of a text."""
    roles = {"bos": "<|startoftext|>", **EOS, "pad": "<|pad|>"}
    said = json_beside(ranks.folder / "tokenizer_config.json")
    begins, ends = (
        next((said[name] for name in names if type(said.get(name)) is bool), None)
        for names in (("add_bos_token", "add_bod_token"), ("add_eos_token", "add_eod_token"))
    )
    first, second = (f"{'bos ' * bool(begins)}{text}{' eos' * bool(ends)}" for text in "AB")
    return KnownRanks(
        "hunyuan",
        "qwen2",
        _counted(_HUNYUAN, ranks.num_tokens),
        roles=roles,
        note=_HUNYUAN_NOTE if begins is None and ends is None else None,
        around=(first, f"{first} {second}"),
    )


_BY_RANKS: Mapping[str, Callable[[_Ranks], KnownRanks]] = {
    "ChatGLM4Tokenizer": _glm4,
    "GLMTokenizer": _glm4,
    "QWenTokenizer": _qwen,
    "TikTokenTokenizer": _kimi,
    "HYTokenizer": _hunyuan,
}
_ALWAYS = {
    "Arcade100kTokenizer": KnownRanks(
        "arcade100k", "qwen2", _counted(_ARCADE, 100_257), roles={**EOS, "pad": ENDOFTEXT}
    ),
    "Phi3SmallTokenizer": KnownRanks(
        "phi3small", "gpt4", _counted(_PHI3, 100_256), roles={"bos": ENDOFTEXT, **EOS}
    ),
}


def _audio() -> Iterable[str]:
    """Yield the special tokens of Qwen-Audio that follow those of Qwen."""
    yield "[[[AUDIO:modality]]]"
    before = "startoftranscript startofanalysis translate transcribe caption keyword unknown en zh de es ko fr ja it"
    yield from _marked(f"{before} zh_tr notimestamps sil timestamps")
    yield from (f"<|{hundredths / 100:.2f}|>" for hundredths in range(3001))
    yield from _marked(
        "caption_audiocaps caption_clotho audioset_ontology caption_plain itn wo_itn startofentityvalue"
        " endofentityvalue startofentitytype endofentitytype named_entity_recognition audio_grounding startofword"
        " endofword delim emotion_recognition music_description note_analysis pitch"
    )
    yield from numbered("midi_pitch", range(128))
    yield "<|velocity|>"
    yield from numbered("midi_velocity", range(128))
    yield from _marked(
        "sonic instrument speaker_meta song_meta question answer choice scene event vocal_classification"
        " speech_understanding scenario action entities speech_edit"
    )
    yield from ("<audio>", "</audio>")


def _marked(names: str) -> Iterable[str]:
    return (f"<|{name}|>" for name in names.split())
