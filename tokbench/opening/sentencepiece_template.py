"""Templates that classes of `transformers` apply to a SentencePiece model, whose file defines none.

Source: `LlamaTokenizer`, `T5Tokenizer` and `XLMRobertaTokenizer` of transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.descriptions import PostProcessing, Template, TemplatePart
from tokbench.core.post_processing import NOTHING
from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

_ENDS = {"T5Tokenizer"}
"""End each text with the role eos, whatever the files say. Others follow `add_bos_token` and `add_eos_token` say: what
they do where these are missing differs between versions of transformers, and is nothing in the newest."""
_AROUND = {"XLMRobertaTokenizer"}
"""Put each text between the roles bos and eos, and the latter twice between two texts."""
_TYPES = {"t5": "T5Tokenizer"}
"""A `model_type` of config.json → its class, where none is named."""


def template_beside(
    config: TokenizerConfig, *, folder: Path, usual: Mapping[str, str], ids: Mapping[str, int]
) -> PostProcessing:
    """The template for a SentencePiece model, from the files beside it.

    Args:
        config: what was read from the folder.
        folder: where the model is.
        usual: "bos" and "eos" → their texts, where nothing beside the model says others.
        ids: text → id of the model's special tokens; a token that is not among them is not written.
    """
    name = _class_of(config, folder)
    begins, ends = bool(config.add_bos_token), bool(config.add_eos_token)
    if name in _ENDS:
        begins, ends = False, True
    elif name in _AROUND:
        begins = ends = True
    before = _part(config.roles.get("bos", usual.get("bos")), ids) if begins else ()
    after = _part(config.roles.get("eos", usual.get("eos")), ids) if ends else ()
    if not before and not after:
        return NOTHING
    single = (*before, TemplatePart(0), *after)
    if name in _AROUND:
        return PostProcessing(template=Template(single, (*single, *after, TemplatePart(1), *after)))
    kind = 0 if name in _ENDS else 1
    return PostProcessing(
        template=Template(
            single=single,
            pair=(
                *single,
                *(TemplatePart(None, part.tokens, part.ids, kind) for part in before),
                TemplatePart(1, type_id=kind),
                *(TemplatePart(None, part.tokens, part.ids, kind) for part in after),
            ),
        )
    )


def _class_of(config: TokenizerConfig, folder: Path) -> str | None:
    """The class that opens the folder, as far as it is said."""
    model = json_beside(folder / "config.json")
    name = config.tokenizer_class or model.get("tokenizer_class") or _TYPES.get(str(model.get("model_type")))
    return name.removesuffix("Fast") if isinstance(name, str) else None


def _part(text: str | None, ids: Mapping[str, int]) -> tuple[TemplatePart, ...]:
    return (TemplatePart(None, (text,), (ids[text],)),) if text is not None and text in ids else ()
