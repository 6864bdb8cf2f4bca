"""Convert to a folder for transformers' AutoTokenizer, with roles and a chat template."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tokbench.convert.config_proof import prove_config, proved_in_words
from tokbench.convert.conversion import Product, Source
from tokbench.convert.post_processing import (
    as_configured,
    kept,
    padding_in_words,
    post_processing_of,
    unwritten,
)
from tokbench.convert.proof import Peer
from tokbench.convert.proof_inputs import InputCall
from tokbench.convert.roles import model_config
from tokbench.convert.targets.tokenizers import (
    restricted,
    scores_of,
    special_note,
    tokenizer_json_of,
    unknown_note,
)
from tokbench.core.descriptions import HuggingFaceModel, SentencePieceModel
from tokbench.core.tokens import ModelInput, SpecialPolicy
from tokbench.errors import BackendUnavailableError
from tokbench.formats.tokenizer_config.fields import config_of
from tokbench.formats.tokenizer_config.files import config_files, prefixes_space
from tokbench.libraries.huggingface.tokenizer_json import model_type, parse_tokenizer_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.descriptions import Description, PostProcessing
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

_SPECIAL_NOTE = (
    "AutoTokenizer recognizes special tokens in any text, where tokbench encodes them as ordinary text; for "
    "untrusted text give split_special_tokens=True, or convert with --special-as-text"
)
_TEXT_NOTE = (
    "AutoTokenizer encodes special tokens as ordinary text; give split_special_tokens=False where they are "
    "wanted, as in chats: apply_chat_template(messages, tokenizer_kwargs={'split_special_tokens': False})"
)

_ROWS = ("input_ids", "token_type_ids", "attention_mask")
_STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}


def make(source: Source) -> Product:
    """Convert a source to a folder. Raises `ConversionError`, or `BackendUnavailableError` without transformers."""
    _require()
    rounding, post_processing = scores_of(source), post_processing_of(source.description)
    config = _with_limits(model_config(source), source, post_processing)
    done = as_configured(post_processing, config)
    document = _document(source.description)
    types = _has_token_types(document, done)
    return Product(
        files={
            "tokenizer.json": tokenizer_json_of(source, rounding=rounding),
            **config_files(config, token_types=types, add_prefix_space=prefixes_space(document)),
        },
        open=lambda path: rounding.tolerant(restricted(_opened(path, source, config, done), source)),
        notes=tuple(_notes(source, config, done)),
        at_times=frozenset(["chat_template.jinja", "generation_config.json"]),
        limits=rounding.limits,
        rounding=rounding.accepted,
        post_processing=replace(done, truncation=None, padding=None),
    )


def _with_limits(config: TokenizerConfig, source: Source, asked: PostProcessing) -> TokenizerConfig:
    """Add the user's options, and the source's truncation length and pad token, to the configuration."""
    if source.special_as_text:
        config = replace(config, split_special_tokens=True)
    if config.model_max_length is None and asked.truncation is not None:
        config = replace(config, model_max_length=asked.truncation.max_length)
    if asked.padding is not None and "pad" not in config.roles:
        # transformers uses this token for padding in any case.
        pad = asked.padding.pad_token
        others = tuple(text for text in config.additional_special_tokens or () if text != pad)
        config = replace(config, roles={**config.roles, "pad": pad}, additional_special_tokens=others)
    return config


def _document(description: Description | None) -> Mapping[str, Any]:
    """Return the `tokenizer.json` that a source runs; empty for other sources."""
    if not isinstance(description, HuggingFaceModel):
        return {}
    return parse_tokenizer_json(description.document, source="the tokenizer")


def _has_token_types(document: Mapping[str, Any], post_processing: PostProcessing) -> bool:
    """Whether the model gets type ids for pairs of texts: BERT models do, and their tokenizers are WordPiece."""
    template = post_processing.template
    if template is None or not any(part.type_id for part in template.pair):
        return False
    return bool(document) and model_type(document) == "WordPiece"


def _notes(source: Source, config: TokenizerConfig, done: PostProcessing) -> Iterator[str]:
    yield from special_note(source, _TEXT_NOTE if config.split_special_tokens else _SPECIAL_NOTE)
    yield from unknown_note(source)
    yield from kept(replace(done, truncation=None, padding=None))
    yield from unwritten(done, config)
    if done.truncation is not None:
        yield (
            f"the source truncates at {done.truncation.max_length:,} tokens, and AutoTokenizer only "
            "with truncation=True"
        )
    if done.padding is not None:
        yield f"the source pads {padding_in_words(done.padding)}, and AutoTokenizer only with padding"
    beside = config_of(source.tokenizer)
    if config.roles or config.chat_templates or config.generation_ids:
        yield proved_in_words(config)
    if beside.generation_ids:
        yield "generation_config.json is written with its token ids only"
    if beside.clean_up_tokenization_spaces:
        yield "clean_up_tokenization_spaces is written false: decoding keeps spaces"
    yield from config.problems


def _opened(path: Path, source: Source, config: TokenizerConfig, done: PostProcessing) -> Peer:
    with quiet():
        import transformers

        tokenizer = transformers.AutoTokenizer.from_pretrained(
            str(path), local_files_only=True, trust_remote_code=False
        )
    name = f"transformers {transformers.__version__}"
    prove_config(tokenizer, path, source=source, config=config, name=name)

    def encode(text: str, *, special: bool) -> list[int]:
        ids: list[int] = tokenizer(
            text, add_special_tokens=False, split_special_tokens=not special, verbose=False
        )["input_ids"]
        return ids

    def decode(ids: Sequence[int]) -> str:
        return str(tokenizer.decode(list(ids), skip_special_tokens=False))

    unknown = _found_unknown(source, config)
    return Peer(
        name=name,
        encode=lambda text: encode(text, special=False),
        found_otherwise=unknown,
        domain=f"texts without {min(unknown)!r}, which becomes the unknown piece there" if unknown else None,
        encode_special=lambda text: encode(text, special=True),
        decode=decode,
        inputs=tuple(input_calls(tokenizer, done=done, special_as_text=bool(config.split_special_tokens))),
    )


def _found_unknown(source: Source, config: TokenizerConfig) -> frozenset[str]:
    """Return the unknown piece of a SentencePiece model: no text becomes it by its spelling, but the role unk does."""
    text = config.roles.get("unk")
    if text is None or config.split_special_tokens or not isinstance(source.description, SentencePieceModel):
        return frozenset()
    return frozenset([text])


def _require() -> Any:
    try:
        with quiet():
            import transformers
    except ImportError:
        raise BackendUnavailableError(
            "transformers is not installed, and without it the conversion cannot be verified",
            hint='pip install "tokbench[transformers]"',
        ) from None
    return transformers


def input_calls(tokenizer: Any, *, done: PostProcessing, special_as_text: bool) -> Iterator[InputCall]:
    """Yield the calls that users write.

    Args:
        tokenizer: the folder, opened by `AutoTokenizer`.
        done: the post-processing that it must apply.
        special_as_text: whether the folder treats special tokens in texts as ordinary text.
    """
    policy = SpecialPolicy.TEXT if special_as_text else SpecialPolicy.ENCODE

    def called(text: str, pair: str | None, **options: Any) -> ModelInput:
        with quiet():
            found = tokenizer(text, pair, return_token_type_ids=True, verbose=False, **options)
        return ModelInput(*(tuple(found[name]) for name in _ROWS))

    def encoded(text: str, pair: str | None) -> ModelInput:
        return ModelInput(tuple(tokenizer.encode(text, pair, verbose=False)), (), ())

    yield InputCall(name="tokenizer(text)", call=called, limits=False, special=policy, done=done)
    yield InputCall(name="tokenizer.encode(text)", call=encoded, limits=False, special=policy, done=done)
    yield InputCall(
        name="tokenizer(text, add_special_tokens=False)",
        call=partial(called, add_special_tokens=False),
        template=False,
        limits=False,
        special=policy,
        done=done,
    )
    if done.truncation is not None or done.padding is not None:
        yield InputCall(
            name="tokenizer.pad(tokenizer(text, truncation=True))",
            call=partial(_limited, called, tokenizer, done),
            special=policy,
            done=done,
        )


def _limited(
    called: Callable[..., ModelInput],
    tokenizer: Any,
    done: PostProcessing,
    text: str,
    pair: str | None,
) -> ModelInput:
    """Return the model input for a caller who asks for the source's truncation and padding."""
    options: dict[str, Any] = {}
    if done.truncation is not None:
        options = {"truncation": _STRATEGIES[done.truncation.strategy], "stride": done.truncation.stride}
        if tokenizer.model_max_length != done.truncation.max_length:
            options["max_length"] = done.truncation.max_length
    found = called(text, pair, **options)
    if done.padding is None:
        return found
    with quiet():
        filled = tokenizer.pad(
            dict(zip(_ROWS, map(list, found), strict=True)),
            padding=True if done.padding.length is None else "max_length",
            max_length=done.padding.length,
            pad_to_multiple_of=done.padding.multiple,
            verbose=False,
        )
    return ModelInput(*(tuple(filled[name]) for name in _ROWS))


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the warning that PyTorch is missing: tokenizers do not need it."""
    before = os.environ.get("TRANSFORMERS_NO_ADVISORY_WARNINGS")
    os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"]
        else:
            os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = before
