"""Saving a byte-level BPE as a folder: the manifest, its merges, and the files that other tools open.

tokbench.json           the manifest (see `tokbench.store`)
merges.npy              int64[n, 3]: left id, right id, count of each merge, in order
merge_trace.json        what each merge displaced, where the training was traced
ranks.tiktoken          base64 token and rank, a line each: for tiktoken
tokenizer.json          for tokenizers and transformers
tokenizer_config.json   for transformers' AutoTokenizer
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench import store
from tokbench.backends.bpe.merge_trace import TRACE_NAME, dump_trace
from tokbench.backends.bpe.merges import MERGES_NAME, dump_merges
from tokbench.backends.bpe.reference import NUM_BYTES
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConversionError
from tokbench.formats.tokenizer_config.files import config_files, with_special_tokens

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.backends.bpe.reference import Merge
    from tokbench.backends.bpe.tokenizer import BpeTokenizer


def save(tokenizer: BpeTokenizer, directory: Path | str, *, overwrite: bool) -> None:
    """Write a tokenizer's folder. Raises `StoreError`, `ConversionError`."""
    if tokenizer.merges is None:
        raise ConversionError(
            "a tokenizer made from ranks, or opened, does not know how its merges were learned",
            hint="`tokbench convert` writes it in other formats",
        )
    import regex

    files, left_out = _files(tokenizer, tokenizer.merges)
    tokenizer.write(
        directory,
        files,
        overwrite=overwrite,
        config={**tokenizer.config, "left_out": left_out},
        versions={"regex": regex.__version__},
        seed=int(tokenizer.config.get("seed", 0)),
    )


def _files(tokenizer: BpeTokenizer, merges: tuple[Merge, ...]) -> tuple[dict[str, bytes], dict[str, str]]:
    """The files of the folder, and why those are left out that would not be exact."""
    from tokbench.formats import tiktoken, tokenizer_json

    specials, pattern = tokenizer.info.special_tokens, tokenizer.pattern
    tokens = [tokenizer.token_bytes(id) for id in range(NUM_BYTES + len(merges))]
    files = {MERGES_NAME: dump_merges(merges), "ranks.tiktoken": tiktoken.dump_ranks(tokens)}
    if tokenizer.displaced is not None:
        files[TRACE_NAME] = dump_trace(merges, tokenizer.displaced)
    try:
        document = tokenizer_json.dump_byte_level_bpe(
            tokens=tokens,
            merges=[(merge.left, merge.right) for merge in merges],
            special_tokens=specials,
            pattern=pattern.oniguruma,
            normalization=pattern.normalization,
        )
        if pattern.is_custom:
            _check_same_ids(tokenizer, document)
    except ConversionError as error:
        return files, {"tokenizer.json": error.reason}
    files["tokenizer.json"] = document
    config = with_special_tokens(tokenizer.tokenizer_config, specials)
    return {**files, **config_files(config)}, {}


def _check_same_ids(tokenizer: BpeTokenizer, document: bytes) -> None:
    """Hold a `tokenizer.json` to the tokenizer: Oniguruma may read a custom pattern in another way.

    Raises:
        ConversionError: a text of the self-test or of the hard cases has other ids there.
    """
    import tokenizers

    from tokbench.files.bundled import bundled_files

    try:
        exported = tokenizers.Tokenizer.from_buffer(document)
    except Exception as error:  # the library raises nothing finer
        raise ConversionError(f"tokenizers does not take the split pattern: {error}") from None
    hard_cases = (file.path.read_bytes().decode() for file in bundled_files() if file.kind == "edge")
    for text in (*store.self_test_texts(seed=0), *hard_cases):
        if exported.encode(text, add_special_tokens=False).ids != tokenizer.encode(
            text, special=SpecialPolicy.ENCODE
        ):
            raise ConversionError("tokenizers splits by this pattern in another way")
