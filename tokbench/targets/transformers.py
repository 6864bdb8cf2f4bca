"""To transformers: a folder that AutoTokenizer opens, with roles and a chat template."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tokbench.errors import BackendUnavailableError
from tokbench.formats.proof import Peer
from tokbench.formats.tokenizer_json import dump_tokenizer_config
from tokbench.targets import Product, Source
from tokbench.targets.roles import known_roles
from tokbench.targets.tokenizers import SPECIAL_NOTE, caution_of, document_of, restricted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def make(source: Source) -> Product:
    """The files of a folder. Raises `ConversionError`, `BackendUnavailableError` without transformers to prove it."""
    _require()
    config = dump_tokenizer_config(
        special_tokens=source.special_tokens,
        roles=known_roles(source) | dict(source.roles),
        chat_template=source.chat_template,
    )
    return Product(
        files={"tokenizer.json": document_of(source), "tokenizer_config.json": config},
        open=lambda path: restricted(_opened(path), source),
        notes=(SPECIAL_NOTE,) if source.special_tokens else (),
        caution=caution_of(source),
    )


def _opened(path: Path) -> Peer:
    with _quiet():
        import transformers

        tokenizer = transformers.AutoTokenizer.from_pretrained(
            str(path), local_files_only=True, trust_remote_code=False
        )

    def encode(text: str, *, special: bool) -> list[int]:
        ids: list[int] = tokenizer(
            text, add_special_tokens=False, split_special_tokens=not special, verbose=False
        )["input_ids"]
        return ids

    def decode(ids: Sequence[int]) -> str:
        return str(tokenizer.decode(list(ids), skip_special_tokens=False))

    return Peer(
        name=f"transformers {transformers.__version__}",
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
