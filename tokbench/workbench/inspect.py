"""Inspect a tokenizer: its components, files, tokens and engine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokbench import store
from tokbench.core.batches import post_processing_of
from tokbench.core.roles import ROLES, role_ids_of, roles_of
from tokbench.errors import ConfigError
from tokbench.explain.alternatives import split_alternatives
from tokbench.formats.post_processors import spelled_template
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.formats.tokenizer_config.fields import TokenizerConfig, config_of, token_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.opening.request import Opened


_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """A file that a tokenizer was read from.

    Attributes:
        path: its path.
        num_bytes: its size.
        sha256: SHA-256 of its contents, in hexadecimal.
    """

    path: Path
    num_bytes: int
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """Return this part of the JSON document."""
        return {"path": str(self.path), "bytes": self.num_bytes, "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class InspectResult:
    """The components, files, tokens and engine of a tokenizer.

    Attributes:
        info: the tokenizer's own description.
        place: the path or name it was opened by.
        format: the file format.
        files: the files it was read from.
        model: the algorithm, in words.
        byte_level: whether every byte is a token, so that no text is unknown.
        tokens: number of ids with a token; `info.vocab_size` counts gaps too.
        merges: number of merges, or None.
        parts: "normalizer", "pre_tokenizer", "post_processor", "decoder" → description, or None if absent.
        pattern: name and text of the split pattern, or None if it is not known.
        added_tokens: text → id of the added tokens, which are matched in every text.
        engine: "native" or "library".
        reason: why that engine runs it.
        lossless_reason: why decoding restores every text, or may not.
        warnings: problems that users should know of.
        config: its role in a model: roles, chat templates, end-of-turn ids.
        roles: role → text, from the config, the vocabulary's own file or the user; also texts that are not tokens.
        token_ids: text → id of the tokens that have a role or a name; None for a text that is not a token.
        config_files: the files that the config was read from.
        template: "single", "pair" → the special tokens around one text and around two; None without any, or if they
            are not known.
    """

    info: TokenizerInfo
    place: str
    format: str
    files: tuple[InspectedFile, ...]
    model: str
    byte_level: bool
    tokens: int
    merges: int | None
    parts: Mapping[str, str | None]
    pattern: tuple[str, str | None] | None
    added_tokens: Mapping[str, int]
    engine: str
    reason: str
    lossless_reason: str
    warnings: tuple[str, ...]
    config: TokenizerConfig = field(default_factory=TokenizerConfig)
    roles: Mapping[str, str] = field(default_factory=dict)
    token_ids: Mapping[str, int | None] = field(default_factory=dict)
    config_files: tuple[InspectedFile, ...] = ()
    template: Mapping[str, str] | None = None

    @property
    def is_saved(self) -> bool:
        """Whether the first file is the manifest of a saved folder, which lists the others."""
        return bool(self.files) and self.files[0].path.name == store.MANIFEST_NAME

    @property
    def num_bytes(self) -> int:
        """Total size of its files."""
        return sum(file.num_bytes for file in self.files)

    @property
    def pattern_alternatives(self) -> list[str]:
        """The top-level alternatives of the split pattern, in order; empty if its text is not known."""
        text = None if self.pattern is None else self.pattern[1]
        return [] if text is None else split_alternatives(text)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        info = self.info
        return {
            "schema": "tokbench.inspect/1",
            "name": info.name,
            "backend": info.backend,
            "vocab_size": info.vocab_size,
            "kernel": info.kernel,
            "place": self.place,
            "format": self.format,
            "files": [file.to_json() for file in self.files],
            "bytes": self.num_bytes,
            "model": self.model,
            "byte_level": self.byte_level,
            "tokens": self.tokens,
            "merges": self.merges,
            **{part: self.parts.get(part) for part in PARTS},
            "pattern": None if self.pattern is None else {"name": self.pattern[0], "regex": self.pattern[1]},
            "special_tokens": dict(info.special_tokens),
            "added_tokens": dict(self.added_tokens),
            "engine": self.engine,
            "engine_reason": self.reason,
            "lossless": info.lossless,
            "lossless_reason": self.lossless_reason,
            **self._config_document(),
            "warnings": list(self.warnings),
        }

    def _config_document(self) -> dict[str, Any]:
        config = self.config

        def with_id(text: str) -> dict[str, Any]:
            return {"token": text, "id": self.token_ids.get(text)}

        return {
            "roles": {role: with_id(text) for role, text in self.roles.items()},
            "named_tokens": {name: with_id(text) for name, text in config.named_tokens.items()},
            "template": None if self.template is None else dict(self.template),
            "additional_special_tokens": list(config.additional_special_tokens or ()),
            "add_bos_token": config.add_bos_token,
            "add_eos_token": config.add_eos_token,
            "chat_templates": {
                name: {"characters": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
                for name, text in config.chat_templates.items()
            },
            "generation_ids": {role: list(ids) for role, ids in config.generation_ids.items()},
            "model_max_length": config.model_max_length,
            "tokenizer_class": config.tokenizer_class,
            "clean_up_tokenization_spaces": config.clean_up_tokenization_spaces,
            "split_special_tokens": config.split_special_tokens,
            "config_files": [file.to_json() for file in self.config_files],
        }


_BYTES_OF_UTF8 = frozenset(range(0xF5)) - {0xC0, 0xC1}

PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
"""The components that a tokenizer may have, in the order in which a text passes them."""


def inspect_opened(opened: Opened) -> InspectResult:
    """Inspect an opened tokenizer, computing the figures of its files and tokens."""
    tokenizer, made_of = opened.tokenizer, opened.composition
    tokens, config = _tokens(tokenizer), config_of(tokenizer)
    roles, ids = roles_of(tokenizer), role_ids_of(tokenizer)
    byte_tokens = frozenset(token[0] for token in tokens.values() if len(token) == 1)
    byte_level = len(byte_tokens) == 256
    return InspectResult(
        info=tokenizer.info,
        place=str(opened.source.path),
        format=opened.source.format.value,
        files=tuple(map(_inspected, _files(opened))),
        model=made_of.model,
        byte_level=byte_level,
        tokens=len(tokens),
        merges=made_of.merges,
        parts=made_of.parts,
        pattern=made_of.pattern,
        added_tokens=opened.added_tokens,
        engine=opened.engine,
        reason=opened.reason,
        lossless_reason=_lossless_reason(opened, byte_tokens),
        warnings=(*opened.warnings, *_notes_on_class(opened)),
        config=config,
        roles=_ordered({**config.roles, **roles}),
        token_ids={
            **{
                text: token_id(tokenizer, text)
                for text in (*config.roles.values(), *config.named_tokens.values())
            },
            **{text: ids[role] for role, text in roles.items()},
        },
        config_files=tuple(map(_inspected, _config_files(opened))),
        template=_template(tokenizer),
    )


def _notes_on_class(opened: Opened) -> Iterator[str]:
    """Yield sentences about the class of transformers that the files name, if it gives other ids than they do."""
    from tokbench.lint.target import LintTarget
    from tokbench.opening.recognition import Format

    if opened.source.format is Format.TOKENIZER_JSON:
        from tokbench.lint.class_pipeline import notes_on_class

        yield from notes_on_class(LintTarget(opened))
    elif opened.source.format is Format.SENTENCEPIECE:
        from tokbench.lint.piece_pipelines import notes_on_classes

        yield from notes_on_classes(LintTarget(opened))


def _template(tokenizer: Tokenizer) -> dict[str, str] | None:
    """Return a tokenizer's template; None if it writes no tokens, or if it cannot be described."""
    try:
        template = post_processing_of(tokenizer).template
    except ConfigError:
        return None
    if template is None or not any(part.tokens for part in (*template.single, *template.pair)):
        return None
    return {"single": spelled_template(template.single), "pair": spelled_template(template.pair)}


def _ordered(roles: Mapping[str, str]) -> dict[str, str]:
    return {role: roles[role] for role in ROLES if role in roles}


def _tokens(tokenizer: Tokenizer) -> dict[int, bytes]:
    """Map each id with a token to its bytes."""
    from tokbench.errors import UnknownIdError

    tokens: dict[int, bytes] = {}
    for id in range(tokenizer.info.vocab_size):
        try:
            tokens[id] = tokenizer.token_bytes(id)
        except UnknownIdError:
            continue
    return tokens


def _files(opened: Opened) -> tuple[Path, ...]:
    source = opened.source
    if source.files or not store.is_saved_tokenizer(source.path):
        return source.files
    names = (source.manifest or store.read_manifest(source.path)).files
    return tuple(source.path / name for name in (store.MANIFEST_NAME, *sorted(names)))


def _config_files(opened: Opened) -> tuple[Path, ...]:
    """Return the files beside a tokenizer that describe it to a model, unless its own file does."""
    from tokbench.opening.config_files import config_paths
    from tokbench.opening.recognition import Format

    source = opened.source
    is_self_describing = source.format in (Format.SAVED, Format.TOKBIN, Format.GGUF)
    return () if is_self_describing or not source.files else config_paths(source.files[0].parent)


def _inspected(path: Path) -> InspectedFile:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return InspectedFile(path, path.stat().st_size, digest.hexdigest())


def _lossless_reason(opened: Opened, byte_tokens: frozenset[int]) -> str:
    """Explain why decoding restores every text, or may not; `byte_tokens` holds the bytes that are tokens."""
    byte_level = len(byte_tokens) == 256
    if not opened.tokenizer.info.lossless:
        return _what_is_lost(opened, byte_level=byte_level)
    if byte_level:
        return "every byte has a token, and nothing is normalized"
    if byte_tokens >= _BYTES_OF_UTF8:
        return "every byte of UTF-8 has a token, and nothing is normalized"
    return "shown by its backend"


def _what_is_lost(opened: Opened, *, byte_level: bool) -> str:
    if normalizer := opened.composition.parts.get("normalizer"):
        if normalizer.partition(",")[0] == "identity":
            return f"a {SPACE} in a text is decoded as a space"
        return f"the text is normalized first: {normalizer}"
    if not byte_level:
        return "not every byte has a token: some text becomes unknown"
    for text, id in opened.added_tokens.items():
        if opened.tokenizer.decode_bytes([id]) != text.encode():
            return f"the added token {text!r} is decoded as different text"
    return "its steps may do more than split the text"
