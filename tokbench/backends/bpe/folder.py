"""The folder of a saved byte-level BPE: writing of its files, and reading and validation of them.

tokbench.json           the manifest (see `tokbench.store`)
merges.npy              int64[n, 3]: left id, right id, count of each merge, in order
merge_trace.json        the pairs that each merge displaced, if the training was traced
ranks.tiktoken          for tiktoken: one line per token, with the token in base64 and its rank
tokenizer.json          for tokenizers and transformers
tokenizer_config.json   for transformers' AutoTokenizer

NumPy can open `merges.npy`, but this module reads and writes it without NumPy, whose import takes longer than all the
rest of opening a tokenizer.
"""

from __future__ import annotations

import sys
from array import array
from functools import partial
from typing import TYPE_CHECKING, Any

from tokbench import store
from tokbench.backends.bpe.derivation import TRACE_NAME, dump_trace, parse_trace
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.reference import NUM_BYTES, Merge, vocabulary
from tokbench.backends.bpe.split_patterns import resolve_pattern
from tokbench.core.json_fields import Fields
from tokbench.core.special_tokens import check_special_tokens
from tokbench.errors import ConfigError, ConversionError, ModelFormatError
from tokbench.formats.tokenizer_config.files import config_files, with_special_tokens
from tokbench.store.saveable import self_test_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.backends.bpe.derivation import DisplacedPairs
    from tokbench.backends.bpe.split_patterns import SplitPattern
    from tokbench.core.manifest import Manifest
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

MERGES_NAME = "merges.npy"
_MAX_SEED = 2**63 - 1

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER_BYTES = 128  # for any shape: NumPy reserves space for its numbers and pads with spaces
_ROW_BYTES = 24
_MAX_TOKEN_BYTES = 2**30  # total over all tokens
RETRAIN = "the folder is damaged: restore it, or train again"


def saved_files(
    merges: Sequence[Merge] | None,
    *,
    pattern: SplitPattern,
    special_tokens: Mapping[str, int],
    displaced: Sequence[DisplacedPairs] | None,
    config: TokenizerConfig,
    encode: Callable[[str], list[int]],
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files of the folder except its manifest, and for each inexact file that is left out the reason.

    Args:
        merges: the learned merges in order; None if they are not known.
        pattern: the split pattern.
        special_tokens: text → id.
        displaced: the pairs that each merge displaced, if the training was traced.
        config: the `tokenizer_config.json` for transformers.
        encode: encodes a text, with special tokens in it as their ids.

    Raises:
        ConversionError: the merges are not known.
    """
    if merges is None:
        raise ConversionError(
            "a tokenizer made from ranks or opened from a file has no record of its training",
            hint="`tokbench convert` writes it in other formats",
        )
    from tokbench.formats import tiktoken, tokenizer_json

    tokens = vocabulary(merges)
    files = {MERGES_NAME: dump_merges(merges), "ranks.tiktoken": tiktoken.dump_ranks(tokens)}
    if displaced is not None:
        files[TRACE_NAME] = dump_trace(merges, displaced)
    try:
        document = tokenizer_json.dump_byte_level_bpe(
            tokens=tokens,
            merges=[(merge.left, merge.right) for merge in merges],
            special_tokens=special_tokens,
            pattern=pattern.oniguruma,
            normalization=pattern.normalization,
        )
        if pattern.is_custom:
            _check_same_ids(encode, document)
    except ConversionError as error:
        return files, {"tokenizer.json": error.reason}
    files["tokenizer.json"] = document
    return {**files, **config_files(with_special_tokens(config, special_tokens))}, {}


def _check_same_ids(encode: Callable[[str], list[int]], document: bytes) -> None:
    """Compare a `tokenizer.json` with the tokenizer: Oniguruma may interpret a custom pattern differently.

    Raises:
        ConversionError: tokenizers gives different ids for a text of the self-test or of the hard cases.
    """
    import tokenizers

    from tokbench.files.bundled import bundled_files

    try:
        exported = tokenizers.Tokenizer.from_buffer(document)
    except Exception as error:  # the library raises nothing finer
        raise ConversionError(f"tokenizers does not accept the split pattern: {error}") from None
    hard_cases = (file.path.read_bytes().decode() for file in bundled_files() if file.kind == "edge")
    for text in (*self_test_texts(seed=0), *hard_cases):
        if exported.encode(text, add_special_tokens=False).ids != encode(text):
            raise ConversionError("tokenizers splits text differently by this pattern")


def read_folder(
    directory: Path, manifest: Manifest
) -> tuple[dict[str, Any], Callable[[], Sequence[DisplacedPairs]] | None]:
    """Read a folder that `BpeTokenizer.save` wrote.

    Args:
        directory: the folder.
        manifest: its manifest.

    Returns:
        The arguments of `BpeTokenizer`; and a function that reads the trace of the training, if it was traced.

    Raises:
        ModelFormatError: a file is missing or damaged.
    """
    files = store.map_files(directory, manifest)
    if MERGES_NAME not in files:
        raise ModelFormatError(directory, f"a file {MERGES_NAME}", "none in the manifest", hint=RETRAIN)
    merges = parse_merges(files[MERGES_NAME], path=directory / MERGES_NAME)
    pattern = _pattern(manifest, directory)
    kernel = current_kernel()
    encoder = kernel.encoder_from_merges(pairs_of(merges), pattern.kernel_name)
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
    arguments = {
        "name": manifest.name,
        "pattern": pattern,
        "encoder": encoder,
        "kernel": kernel,
        "special_tokens": manifest.special_tokens,
        "merges": merges,
        "config": {key: value for key, value in manifest.config.items() if key != "left_out"},
    }
    if TRACE_NAME not in files:
        return arguments, None
    return arguments, partial(parse_trace, files[TRACE_NAME], merges, path=directory / TRACE_NAME)


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


def dump_merges(merges: Sequence[Merge]) -> bytes:
    """Return the content of `merges.npy`, byte for byte as NumPy writes it."""
    values = array("q", [number for merge in merges for number in merge])
    return _header(len(merges)) + _little_endian(values).tobytes()


def parse_merges(data: bytes | memoryview, *, path: Path) -> tuple[Merge, ...]:
    """Return the merges from the content of `merges.npy`. Raises `ModelFormatError`."""
    rows, rest = divmod(max(len(data) - _HEADER_BYTES, 0), _ROW_BYTES)
    if rest or bytes(data[:_HEADER_BYTES]) != _header(rows):
        found = f"{len(data)} bytes that begin {bytes(data[:_HEADER_BYTES])!r}"
        raise ModelFormatError(path, "int64[n, 3] as NumPy writes it", found, hint=RETRAIN)
    values = array("q")
    values.frombytes(data[_HEADER_BYTES:])
    numbers = _little_endian(values).tolist()
    merges = tuple(map(Merge, numbers[0::3], numbers[1::3], numbers[2::3]))
    _check(merges, path=path)
    return merges


def pairs_of(merges: Sequence[Merge]) -> memoryview | NDArray[np.uint32]:
    """Return the pairs as uint32[n, 2], in a form that the kernels read like an array."""
    if not merges:  # a memoryview with two dimensions cannot be empty
        import numpy as np

        return np.empty((0, 2), np.uint32)
    pairs = array("I", [id for left, right, _ in merges for id in (left, right)])
    return memoryview(pairs).cast("B").cast("I", (len(merges), 2))


def _check(merges: Sequence[Merge], *, path: Path) -> None:
    """Check each merge against the ones before it.

    The total size is limited because each merge can double the last token: a few rows could exhaust the memory.
    """
    sizes = [1] * NUM_BYTES
    total = 0
    for new_id, (left, right, count) in enumerate(merges, NUM_BYTES):
        if not (0 <= left < new_id and 0 <= right < new_id and count > 0):
            raise ModelFormatError(path, "merges of earlier ids with positive counts", "others", hint=RETRAIN)
        size = sizes[left] + sizes[right]
        sizes.append(size)
        total += size
        if total > _MAX_TOKEN_BYTES:
            raise ModelFormatError(path, f"tokens of at most {_MAX_TOKEN_BYTES} bytes", "more", hint=RETRAIN)


def _header(rows: int) -> bytes:
    fields = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({rows}, 3), }}".encode()
    header = _MAGIC + (_HEADER_BYTES - len(_MAGIC) - 2).to_bytes(2, "little") + fields
    return header.ljust(_HEADER_BYTES - 1) + b"\n"


def _little_endian(values: array[int]) -> array[int]:
    if sys.byteorder == "big":
        values.byteswap()
    return values
