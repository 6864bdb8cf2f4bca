"""To transformers: a folder that AutoTokenizer opens, with roles and a chat template."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tokbench.errors import BackendUnavailableError
from tokbench.formats.proof import Peer
from tokbench.formats.tokenizer_config import config_of
from tokbench.formats.tokenizer_config_files import config_files
from tokbench.targets import Product, Source
from tokbench.targets.config_proof import prove_config, proved_in_words
from tokbench.targets.roles import model_config
from tokbench.targets.tokenizers import SPECIAL_NOTE, document_of, restricted, scores_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tokbench.formats.tokenizer_config import TokenizerConfig


def make(source: Source) -> Product:
    """The files of a folder. Raises `ConversionError`, `BackendUnavailableError` without transformers to prove it."""
    _require()
    rounding = scores_of(source)
    config = model_config(source)
    return Product(
        files={"tokenizer.json": document_of(source, rounding=rounding), **config_files(config)},
        open=lambda path: rounding.tolerant(restricted(_opened(path, source, config), source)),
        notes=_notes(source, config),
        at_times=frozenset(["chat_template.jinja", "generation_config.json"]),
        limits=rounding.limits,
        rounding=rounding.accepted,
    )


def _notes(source: Source, config: TokenizerConfig) -> tuple[str, ...]:
    notes = [SPECIAL_NOTE] if source.special_tokens else []
    beside = config_of(source.tokenizer)
    if config.roles or config.chat_templates or config.generation_ids:
        notes.append(proved_in_words(config))
    if beside.generation_ids:
        notes.append("generation_config.json is written with its token ids alone")
    if beside.clean_up_tokenization_spaces:
        notes.append("clean_up_tokenization_spaces is written false: decoding gives spaces as they are")
    return (*notes, *config.problems)


def _opened(path: Path, source: Source, config: TokenizerConfig) -> Peer:
    with _quiet():
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

    return Peer(
        name=name,
        encode=lambda text: encode(text, special=False),
        encode_special=lambda text: encode(text, special=True),
        decode=decode,
    )


def _require() -> Any:
    try:
        with _quiet():
            import transformers
    except ImportError:
        raise BackendUnavailableError(
            "transformers is not installed, and the conversion could not be proved",
            hint='pip install "tokbench[transformers]"',
        ) from None
    return transformers


@contextmanager
def _quiet() -> Iterator[None]:
    """Without its advice that there is no PyTorch: tokenizers need none."""
    before = os.environ.get("TRANSFORMERS_NO_ADVISORY_WARNINGS")
    os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"]
        else:
            os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = before
