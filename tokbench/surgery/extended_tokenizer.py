"""An extended tokenizer: its document, opened again from a temporary place and proved before anything is written."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.core.quoting import quoted
from tokbench.errors import ConfigError, ConversionError
from tokbench.files.atomic_folder import write_folder
from tokbench.formats.tokenizer_json import check_no_pretoken, to_byte_level
from tokbench.opening.open import open_path
from tokbench.opening.request import OpenRequest
from tokbench.surgery.configuration import files_beside
from tokbench.surgery.library_proofs import WITH_RANKS, prove_in_libraries
from tokbench.surgery.output_folder import DOCUMENT_NAME, RANKS_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.convert.proof import ProofResult
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.opening.request import Opened
    from tokbench.surgery.growth import NewToken
    from tokbench.surgery.id_map import IdMap


@dataclass(frozen=True, slots=True)
class ExtensionProofs:
    """What was checked before anything was written.

    Attributes:
        tokens: old ids, each with the bytes that it had.
        texts: whole texts of the corpus that became coarser, or stayed.
        encodings: the comparison with each library that opens a file of it.
    """

    tokens: int
    texts: int
    encodings: tuple[ProofResult, ...]

    def to_json(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {
            "tokens": self.tokens,
            "texts": self.texts,
            "encodings": [proof.to_json() for proof in self.encodings],
        }


@dataclass(frozen=True, slots=True)
class ExtendedTokenizer:
    """A tokenizer with more tokens.

    Attributes:
        tokenizer: it, running.
        files: its files by name.
        proofs: what was checked.
        notes: what its user has to know, a sentence each.
    """

    tokenizer: Tokenizer
    files: Mapping[str, bytes]
    proofs: ExtensionProofs
    notes: tuple[str, ...]


def extended_document(
    document: Mapping[str, Any],
    tokens: Sequence[bytes],
    new: Sequence[NewToken],
    special_tokens: Mapping[str, int],
) -> dict[str, Any]:
    """A `tokenizer.json` with merges behind its own, and with more special tokens; old ids stay.

    Args:
        document: parsed, of a byte-level BPE.
        tokens: the bytes of each id, new ones included.
        new: the new tokens, which have the last ids.
        special_tokens: text → id, behind those.

    Raises:
        ConversionError: a pre-token could be taken for an added token.
        ConfigError: a special token is there already.

    >>> letters = {"a": 0, "b": 1}
    >>> made = extended_document({"model": {"vocab": letters, "merges": []}}, [b"a", b"b", b"ab"], [(0, 1, 5)], {})
    >>> made["model"]
    {'vocab': {'a': 0, 'b': 1, 'ab': 2}, 'merges': ['a b']}
    """
    model, added = document["model"], list(document.get("added_tokens") or [])
    pieces = [to_byte_level(token) for token in tokens]
    vocab = dict(model["vocab"])
    known = {*vocab, *(token["content"] for token in added)}
    for text in special_tokens:
        if text in known:
            raise ConfigError(f"{text!r} is a token already", hint="leave it out")
    # Their ids would follow the vocabulary, which grows: an id that is to stay can only be said there.
    pinned = {token["content"]: token["id"] for token in added if token["content"] not in vocab}
    first = len(tokens) - len(new)
    vocab |= pinned | {pieces[id]: id for id in range(first, len(tokens))} | dict(special_tokens)
    if model.get("ignore_merges"):
        check_no_pretoken([*pinned, *special_tokens])
    pairs = [(pieces[left], pieces[right]) for left, right, _ in new]
    as_text = not model["merges"] or isinstance(model["merges"][0], str)
    merges = [f"{left} {right}" if as_text else [left, right] for left, right in pairs]
    added += [_special(text, id) for text, id in special_tokens.items()]
    changed = {
        **document,
        "model": {
            **model,
            "vocab": dict(sorted(vocab.items(), key=lambda item: item[1])),
            "merges": [*model["merges"], *merges],
        },
    }
    return {**changed, "added_tokens": added} if added else changed


def _special(text: str, id: int) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id, "content": text, **flags, "special": True}


def extend_tokenizer(
    opened: Opened,
    document: Mapping[str, Any],
    id_map: IdMap,
    *,
    name: str,
    texts: Iterable[str],
    threads: int | None,
    seed: int,
    progress: Progress,
) -> ExtendedTokenizer:
    """Make the files of an extended tokenizer, and prove them.

    Args:
        opened: the old tokenizer.
        document: the new one as a `tokenizer.json`.
        id_map: from the old ids to the new.
        name: how the new one calls itself.
        texts: which must become coarser, or stay.
        threads: for encoding them.
        seed: draws the generated texts of the comparison with libraries.
        progress: told how far that is.

    Raises:
        ConversionError: something does not hold; `ProofError` if a library gives other ids.
    """
    import orjson

    files = {DOCUMENT_NAME: orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)}
    with tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
        trial = Path(folder) / name
        write_folder(trial, files, replace=False)
        tokenizer = open_path(trial, OpenRequest()).tokenizer
        files |= files_beside(opened.tokenizer, tokenizer, id_map)
        kept = _check_tokens(opened.tokenizer, tokenizer, id_map)
        coarser = _check_texts(opened.tokenizer, tokenizer, list(texts), threads=threads)
        proved = prove_in_libraries(
            tokenizer,
            trial / DOCUMENT_NAME,
            with_ranks=opened.source.format in WITH_RANKS,
            seed=seed,
            progress=progress,
        )
    if proved.ranks is not None:
        files[RANKS_NAME] = proved.ranks
    proofs = ExtensionProofs(kept, coarser, proved.encodings)
    return ExtendedTokenizer(tokenizer, files, proofs, proved.notes)


def _check_tokens(old: Tokenizer, new: Tokenizer, id_map: IdMap) -> int:
    """How many ids there were: each has the bytes that it had, and special tokens are special still."""
    kept = [id for id in id_map.new_to_old if id >= 0]
    for id in kept:
        if (before := old.token_bytes(id)) != (after := new.token_bytes(id)):
            raise _wrong(f"token {id}, {before!r}, would be {after!r}")
    for text, id in old.info.special_tokens.items():
        if new.info.special_tokens.get(text) != id:
            raise _wrong(f"the special token {text!r} would not be {id} any more")
    return len(kept)


def _check_texts(old: Tokenizer, new: Tokenizer, texts: list[str], *, threads: int | None) -> int:
    """How many texts there are: in each, every token boundary was one before."""
    for text, before, after in zip(
        texts, _boundaries(old, texts, threads), _boundaries(new, texts, threads), strict=True
    ):
        if before[-1:].tolist() != after[-1:].tolist() or not np.isin(after, before).all():
            raise _wrong(f"{quoted(text)} would get token boundaries that it had not")
    return len(texts)


def _boundaries(tokenizer: Tokenizer, texts: list[str], threads: int | None) -> list[NDArray[np.int64]]:
    encoded = tokenizer.encode_batch(texts, threads=threads)
    ids = encoded.ids
    lengths = {id: len(tokenizer.token_bytes(id)) for id in np.unique(ids).tolist()}
    sizes = np.array([lengths[id] for id in ids.tolist()], np.int64)
    return [np.cumsum(sizes[start:stop]) for start, stop in pairwise(encoded.offsets.tolist())]


def _wrong(reason: str) -> ConversionError:
    return ConversionError(reason, hint="nothing was written; this is a fault of tokbench, please report it")
