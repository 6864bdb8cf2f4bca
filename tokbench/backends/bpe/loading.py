"""Loading and validation of the folder of a byte-level BPE that `saving.py` writes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tokbench import store
from tokbench.backends.bpe.derivation import TRACE_NAME, parse_trace
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.reference import NUM_BYTES
from tokbench.backends.bpe.saving import MERGES_NAME, RETRAIN, pairs_of, parse_merges
from tokbench.backends.bpe.split_patterns import SplitPattern, resolve_pattern
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.json_fields import Fields
from tokbench.core.special_tokens import check_special_tokens
from tokbench.errors import ConfigError, ModelFormatError

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.manifest import Manifest

_MAX_SEED = 2**63 - 1


def load(directory: Path, manifest: Manifest) -> BpeTokenizer:
    """Open a folder that `BpeTokenizer.save` wrote. Raises `ModelFormatError`, `SelfTestError`."""
    files = store.map_files(directory, manifest)
    if MERGES_NAME not in files:
        raise ModelFormatError(directory, f"a file {MERGES_NAME}", "none in the manifest", hint=RETRAIN)
    merges = parse_merges(files[MERGES_NAME], path=directory / MERGES_NAME)
    pattern = _pattern(manifest, directory)
    kernel = current_kernel()
    encoder = kernel.encoder_from_merges(pairs_of(merges), None if pattern.is_custom else pattern.name)
    if len(set(encoder.tokens())) != len(encoder):
        raise ModelFormatError(
            directory / MERGES_NAME,
            "a different token from each merge",
            "the same token from two merges",
            hint=RETRAIN,
        )
    _check_special_tokens(manifest, first=NUM_BYTES + len(merges), path=directory / store.MANIFEST_NAME)
    options = Fields(directory / store.MANIFEST_NAME, manifest.config, RETRAIN, prefix="config.")
    if "seed" in options.values:
        options.count("seed", high=_MAX_SEED)
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
    if TRACE_NAME in files:
        tokenizer.read_trace = partial(parse_trace, files[TRACE_NAME], merges, path=directory / TRACE_NAME)
    return tokenizer


def _pattern(manifest: Manifest, directory: Path) -> SplitPattern:
    """Return the saved pattern, after checking that its name still means the saved expression."""
    path = directory / store.MANIFEST_NAME
    name, text = manifest.config.get("pattern"), manifest.config.get("pattern_regex")
    try:
        if not isinstance(name, str):
            raise ConfigError(f"the pattern is {name!r}")
        pattern = resolve_pattern(name)
    except ConfigError as error:
        raise ModelFormatError(path, "a split pattern", error.message, hint=RETRAIN) from None
    if pattern.regex != text:
        raise ModelFormatError(
            path,
            f"the pattern {name!r} as this version of tokbench defines it",
            f"a different one: {text!r}",
            hint="it was saved by a version that splits differently: use that version, or train again",
        )
    return pattern


def _check_special_tokens(manifest: Manifest, *, first: int, path: Path) -> None:
    try:
        check_special_tokens(list(manifest.special_tokens))
    except ConfigError as error:
        raise ModelFormatError(path, "special tokens", error.message, hint=RETRAIN) from None
    ids = sorted(manifest.special_tokens.values())
    if ids != list(range(first, first + len(ids))) or manifest.vocab_size != first + len(ids):
        raise ModelFormatError(path, f"special tokens with the ids from {first} on", f"{ids}", hint=RETRAIN)
