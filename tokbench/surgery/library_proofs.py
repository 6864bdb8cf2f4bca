"""Proofs of a changed tokenizer in libraries: a file is written only if its library gives the same ids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokbench.convert.conversion import Source
from tokbench.convert.disagreement import in_words
from tokbench.convert.proof import ProofError, prove
from tokbench.convert.targets import sentencepiece as models
from tokbench.convert.targets import tiktoken as ranks
from tokbench.convert.targets import tokenizers as documents
from tokbench.convert.targets import wordpiece as word_lists
from tokbench.core.descriptions import DescribesItself
from tokbench.errors import ConversionError, TokbenchError
from tokbench.opening.recognition import Format
from tokbench.surgery.model_files import DOCUMENT_NAME, RANKS_NAME, WORD_LIST_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.convert.conversion import Product
    from tokbench.convert.proof import Peer, ProofResult
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress

WITH_RANKS = (Format.RANKS, Format.SAVED)
"""The formats for which the result includes a rank file."""


@dataclass(frozen=True, slots=True)
class LibraryProofs:
    """The proofs of a tokenizer in libraries.

    Attributes:
        encodings: the comparison with each library that opens one of the files.
        ranks: the rank file; None if none is wanted, or if tiktoken would give other ids.
        document: the `tokenizer.json` of a SentencePiece model; None if tokenizers would give other ids.
        word_list: the `vocab.txt` of a WordPiece; None if none is wanted, or if its readers would give other ids.
        notes: remarks for the user, one sentence each.
    """

    encodings: tuple[ProofResult, ...]
    ranks: bytes | None = None
    document: bytes | None = None
    word_list: bytes | None = None
    notes: tuple[str, ...] = ()


def prove_in_libraries(
    tokenizer: Tokenizer, document: Path, *, with_ranks: bool, seed: int, progress: Progress
) -> LibraryProofs:
    """Compare a tokenizer with its `tokenizer.json` in tokenizers and, if wanted, with its rank file in tiktoken.

    Args:
        tokenizer: the tokenizer.
        document: path of its `tokenizer.json`; a rank file is written to the same folder.
        with_ranks: whether to create a rank file.
        seed: seed of the generated texts.
        progress: called with the amount of work done.

    Raises:
        ProofError: a library gives other ids.
    """
    source = source_of(tokenizer)
    peer = documents.restricted(documents.opened(document), source)
    first = _checked(prove(tokenizer, peer, seed=seed, progress=progress))
    if not with_ranks:
        return LibraryProofs((first,))
    try:
        product = ranks.make(source)
    except ConversionError as error:
        return LibraryProofs((first,), notes=(f"{RANKS_NAME} is left out: {error.reason}",))
    path = document.with_name(RANKS_NAME)
    path.write_bytes(product.files[""])
    second = _checked(prove(tokenizer, product.open(path), seed=seed, progress=progress))
    return LibraryProofs((first, second), product.files[""], notes=product.notes)


def prove_model_in_libraries(
    tokenizer: Tokenizer, path: Path, *, seed: int, progress: Progress
) -> LibraryProofs:
    """Compare a tokenizer with its model in sentencepiece, and with its `tokenizer.json` in tokenizers.

    Args:
        tokenizer: the tokenizer.
        path: path of its `.model`; a `tokenizer.json` is written to the same folder.
        seed: seed of the generated texts.
        progress: called with the amount of work done.

    Raises:
        ProofError: sentencepiece gives other ids.
    """
    source = source_of(tokenizer)
    first = _checked(prove(tokenizer, models.make(source).open(path), seed=seed, progress=progress))
    try:
        product = documents.make(source)
        beside = path.with_name(DOCUMENT_NAME)
        beside.write_bytes(product.files[""])
        second = _checked(prove(tokenizer, _opened(product, beside), seed=seed, progress=progress))
    except ConversionError as error:
        return LibraryProofs((first,), notes=(f"{DOCUMENT_NAME} is left out: {error.reason}",))
    return LibraryProofs((first, second), document=product.files[""], notes=product.notes)


def prove_word_list_in_libraries(
    tokenizer: Tokenizer, path: Path, *, seed: int, progress: Progress
) -> LibraryProofs:
    """Compare a WordPiece with its `tokenizer.json` and with its `vocab.txt`, both in tokenizers.

    The `vocab.txt` is opened with the special tokens of the `tokenizer_config.json` in the same folder.

    Args:
        tokenizer: the tokenizer.
        path: path of its `tokenizer.json`; a `vocab.txt` is written to the same folder.
        seed: seed of the generated texts.
        progress: called with the amount of work done.

    Raises:
        ProofError: tokenizers gives other ids.
    """
    first = prove_in_libraries(tokenizer, path, with_ranks=False, seed=seed, progress=progress)
    try:
        product = word_lists.make(source_of(tokenizer), configured=True)
        beside = path.with_name(WORD_LIST_NAME)
        beside.write_bytes(product.files[""])
        second = _checked(prove(tokenizer, _opened(product, beside), seed=seed, progress=progress))
    except ConversionError as error:
        return replace(first, notes=(f"{WORD_LIST_NAME} is left out: {error.reason}",))
    second = replace(second, second=f"{second.second}, by {WORD_LIST_NAME},")
    return LibraryProofs((*first.encodings, second), word_list=product.files[""], notes=product.notes)


def source_of(tokenizer: Tokenizer) -> Source:
    """Return a tokenizer as a `Source` for conversions."""
    described = tokenizer.description() if isinstance(tokenizer, DescribesItself) else None
    return Source(tokenizer=tokenizer, description=described)


def _opened(product: Product, path: Path) -> Peer:
    """Open a file in its library. Raises `ConversionError` if the library, which may be stricter, refuses it."""
    try:
        return product.open(path)
    except TokbenchError:
        raise
    except Exception as error:
        raise ConversionError(f"the library of its format cannot open the result: {error}") from error


def _checked(proof: ProofResult) -> ProofResult:
    """Return a proof if it holds. Raises `ProofError` otherwise."""
    if proof.disagreement is not None:
        raise ProofError(
            f"{proof.second} {in_words(proof.disagreement)}", proof=proof, hint="nothing was written"
        )
    return proof
