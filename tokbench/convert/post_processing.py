"""What a conversion keeps of templates, truncation and padding, and notes on the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokbench.core.descriptions import ByteLevelBpe, HuggingFaceModel, SentencePieceModel
from tokbench.core.post_processing import NOTHING
from tokbench.formats.post_processors import (
    UnknownPostProcessingError,
    dump_post_processing,
    parse_post_processing,
    spelled_template,
)

if TYPE_CHECKING:
    from tokbench.core.descriptions import Description, Padding, PostProcessing, Template
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig


def post_processing_of(description: Description | None) -> PostProcessing:
    """Return what a tokenizer does to the ids of a text; nothing if that is unknown."""
    match description:
        case ByteLevelBpe(post_processing=found) | SentencePieceModel(post_processing=found):
            return found
        case HuggingFaceModel():
            try:
                return parse_post_processing(_document(description))
            except UnknownPostProcessingError:
                return NOTHING
        case _:
            return NOTHING


def as_configured(done: PostProcessing, config: TokenizerConfig) -> PostProcessing:
    """Return what transformers does for a `tokenizer.json` with a `tokenizer_config.json` beside it.

    The role pad and the sides override those of the tokenizer.json. The template is always the one in the
    tokenizer.json, regardless of add_bos_token and add_eos_token.
    """
    truncation, padding = done.truncation, done.padding
    if truncation is not None and config.truncation_side is not None:
        truncation = replace(truncation, direction=config.truncation_side.capitalize())
    if padding is not None:
        ids = {token.content: token.id for token in config.added_tokens}
        pad = config.roles.get("pad", padding.pad_token)
        side = config.padding_side or padding.direction
        padding = replace(
            padding, pad_token=pad, pad_id=ids.get(pad, padding.pad_id), direction=side.capitalize()
        )
    return replace(done, truncation=truncation, padding=padding)


def unwritten(done: PostProcessing, config: TokenizerConfig) -> tuple[str, ...]:
    """Return notes on add_bos_token and add_eos_token that no template implements.

    >>> from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    >>> unwritten(NOTHING, TokenizerConfig(roles={"bos": "<s>"}, add_bos_token=True))
    ('add_bos_token is true beside the source, but no template writes <s>: write it where a model wants it',)
    """
    parts = () if done.template is None else done.template.single
    written = {token for part in parts for token in part.tokens}
    asked = {"bos": config.add_bos_token, "eos": config.add_eos_token}
    missing = {role: config.roles.get(role) for role, is_asked in asked.items() if is_asked}
    return tuple(
        f"add_{role}_token is true beside the source, but no template writes {token}: write it where a model wants it"
        for role, token in missing.items()
        if token is not None and token not in written
    )


def kept(done: PostProcessing) -> tuple[str, ...]:
    """Return notes on what the target's `encode()` keeps of the source.

    >>> from tokbench.core.descriptions import PostProcessing, Truncation
    >>> kept(PostProcessing(truncation=Truncation(max_length=256)))
    ('encode() truncates at 256 tokens',)
    """
    notes = []
    if done.template is not None and _writes(done.template):
        notes.append(
            f"encode() writes {spelled_template(done.template.single)} for a text and "
            f"{spelled_template(done.template.pair)} for two, and add_special_tokens=False the texts alone"
        )
    if done.truncation is not None:
        notes.append(f"encode() truncates at {done.truncation.max_length:,} tokens")
    if done.padding is not None:
        notes.append(f"encode() pads {padding_in_words(done.padding)}")
    return tuple(notes)


def lost(done: PostProcessing, *, who: str) -> tuple[str, ...]:
    """Return notes on what the source does to the ids of a text and the target cannot do.

    >>> from tokbench.core.descriptions import PostProcessing, Truncation
    >>> lost(PostProcessing(truncation=Truncation(max_length=256)), who="tiktoken")
    ('tiktoken does not truncate; the source does, at 256 tokens',)
    """
    notes = []
    if done.template is not None and _writes(done.template):
        notes.append(
            f"{who} has no template; the source writes {spelled_template(done.template.single)} for a text "
            f"and {spelled_template(done.template.pair)} for two"
        )
    if done.truncation is not None:
        notes.append(f"{who} does not truncate; the source does, at {done.truncation.max_length:,} tokens")
    if done.padding is not None:
        notes.append(f"{who} does not pad; the source does, {padding_in_words(done.padding)}")
    return tuple(notes)


def as_document(done: PostProcessing) -> dict[str, Any]:
    """Return the post-processing as a part of `--json`."""
    parts, template = dump_post_processing(done), done.template
    return {
        "template": None
        if template is None
        else {"single": spelled_template(template.single), "pair": spelled_template(template.pair)},
        "truncation": parts["truncation"],
        "padding": parts["padding"],
    }


def padding_in_words(padding: Padding) -> str:
    """Describe the length that texts are padded to, and the pad token.

    >>> from tokbench.core.descriptions import Padding
    >>> padding_in_words(Padding(length=128))
    "to 128 tokens with '[PAD]'"
    """
    length = "to the longest text of a batch" if padding.length is None else f"to {padding.length:,} tokens"
    return f"{length} with {padding.pad_token!r}"


def _writes(template: Template) -> bool:
    """Whether a template adds any tokens: some only assign type ids."""
    return any(part.text is None for part in (*template.single, *template.pair))


def _document(description: HuggingFaceModel) -> dict[str, Any]:
    from tokbench.libraries.huggingface.tokenizer_json import parse_tokenizer_json

    return parse_tokenizer_json(description.document, source="the tokenizer")
