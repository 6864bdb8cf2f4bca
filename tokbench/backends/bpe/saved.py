"""A byte-level BPE as a folder: the manifest, its merges, and the files that other tools open.

tokbench.json           the manifest (see `tokbench.store`)
merges.npy              int64[n, 3]: left id, right id, count of each merge, in order
ranks.tiktoken          base64 token and rank, a line each: for tiktoken
tokenizer.json          for tokenizers and transformers
tokenizer_config.json   for transformers' AutoTokenizer
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench import store
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.merges import MERGES_NAME, dump_merges, pairs_of, parse_merges
from tokbench.backends.bpe.reference import NUM_BYTES
from tokbench.backends.bpe.split_patterns import SplitPattern, resolve_pattern
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.special_tokens import check_special_tokens
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError, ConversionError, ModelFormatError
from tokbench.formats.tokenizer_config.files import config_files, with_special_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokbench.backends.bpe.config import BpeConfig
    from tokbench.backends.bpe.reference import Merge
    from tokbench.store import Manifest


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


def load(directory: Path) -> BpeTokenizer:
    """Open a folder that `save` wrote, checked in every part. Raises `ModelFormatError`, `SelfTestError`."""
    manifest = store.read_manifest(directory)
    files = store.map_files(directory, manifest)
    if MERGES_NAME not in files:
        raise ModelFormatError(directory, f"a file {MERGES_NAME}", "none in the manifest", hint=_RETRAIN)
    merges = parse_merges(files[MERGES_NAME], path=directory / MERGES_NAME)
    pattern = _pattern(manifest, directory)
    kernel = current_kernel()
    encoder = kernel.encoder_from_merges(pairs_of(merges), None if pattern.is_custom else pattern.name)
    if len(set(encoder.tokens())) != len(encoder):
        raise ModelFormatError(
            directory / MERGES_NAME, "merges that make each token once", "one made twice", hint=_RETRAIN
        )
    _check_special_tokens(manifest, first=NUM_BYTES + len(merges), path=directory / store.MANIFEST_NAME)
    _check_seed(manifest, path=directory / store.MANIFEST_NAME)
    tokenizer = BpeTokenizer(
        name=manifest.name,
        pattern=pattern,
        encoder=encoder,
        kernel=kernel,
        special_tokens=manifest.special_tokens,
        merges=merges,
        config={key: value for key, value in manifest.config.items() if key != "left_out"},
    )
    tokenizer.hold_to(manifest, path=directory)
    return tokenizer


def _files(tokenizer: BpeTokenizer, merges: tuple[Merge, ...]) -> tuple[dict[str, bytes], dict[str, str]]:
    """The files of the folder, and why those are left out that would not be exact."""
    from tokbench.formats import tiktoken, tokenizer_json

    specials, pattern = tokenizer.info.special_tokens, tokenizer.pattern
    tokens = [tokenizer.token_bytes(id) for id in range(NUM_BYTES + len(merges))]
    files = {MERGES_NAME: dump_merges(merges), "ranks.tiktoken": tiktoken.dump_ranks(tokens)}
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


def _pattern(manifest: Manifest, directory: Path) -> SplitPattern:
    """The saved pattern: its name and its text must still belong together."""
    path = directory / store.MANIFEST_NAME
    name, text = manifest.config.get("pattern"), manifest.config.get("pattern_regex")
    try:
        if not isinstance(name, str):
            raise ConfigError(f"the pattern is {name!r}")
        pattern = resolve_pattern(name)
    except ConfigError as error:
        raise ModelFormatError(path, "a split pattern", error.message, hint=_RETRAIN) from None
    if pattern.regex != text:
        raise ModelFormatError(
            path,
            f"the pattern {name!r} as this tokbench knows it",
            f"another text: {text!r}",
            hint="it was saved by a version that split differently: use that one, or train again",
        )
    return pattern


def _check_special_tokens(manifest: Manifest, *, first: int, path: Path) -> None:
    try:
        check_special_tokens(list(manifest.special_tokens))
    except ConfigError as error:
        raise ModelFormatError(path, "special tokens", error.message, hint=_RETRAIN) from None
    ids = sorted(manifest.special_tokens.values())
    if ids != list(range(first, first + len(ids))) or manifest.vocab_size != first + len(ids):
        raise ModelFormatError(path, f"special tokens with the ids from {first} on", f"{ids}", hint=_RETRAIN)


def _check_seed(manifest: Manifest, *, path: Path) -> None:
    seed = manifest.config.get("seed", 0)
    if type(seed) is not int or seed < 0:
        raise ModelFormatError(path, "a whole number from 0 on as config.seed", repr(seed), hint=_RETRAIN)


def config_as_saved(config: BpeConfig, pattern: SplitPattern) -> Mapping[str, Any]:
    """The options that decide what a tokenizer does, with the pattern's text; threads are not among them."""
    return {
        "vocab_size": config.vocab_size,
        "pattern": config.pattern,
        "pattern_regex": pattern.regex,
        "special_tokens": list(config.special_tokens),
        "min_frequency": config.min_frequency,
        "max_token_length": config.max_token_length,
        "seed": config.seed,
    }


_RETRAIN = "the folder is damaged: restore it, or train again"
