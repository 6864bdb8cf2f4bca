"""snaptokens: the byte-level BPE of a `tokenizer.json`, with patterns that it recognizes by their spelling."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING

from tokbench.bench.peers.files import DOCUMENT_NAME, write_document
from tokbench.bench.runner import Runner, ids_of_buffers
from tokbench.core.descriptions import ByteLevelBpe

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.convert.conversion import Source

_GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}


def prepare(source: Source, folder: Path) -> None:
    """Write the `tokenizer.json`, with gpt2's pattern in the form of `ByteLevel`. Raises `ConversionError`."""
    write_document(source, folder)
    description = source.description
    if isinstance(description, ByteLevelBpe) and description.pattern_name == "gpt2":
        path = folder / DOCUMENT_NAME
        document = json.loads(path.read_bytes())
        document["pre_tokenizer"] = _GPT2
        path.write_text(json.dumps(document), encoding="utf-8")


def opened(folder: Path) -> Runner:
    """Open the `tokenizer.json`."""
    import snaptokens

    tokenizer = snaptokens.Tokenizer.from_file(str(folder / DOCUMENT_NAME))
    return Runner(
        version=f"snaptokens {version('snaptokens')}",
        encode=lambda text: tokenizer.encode(text).ids,
        encode_batch=lambda texts, _: tokenizer.encode_batch_flat(texts),
        batch_ids=ids_of_buffers,
        threads="all",
    )
