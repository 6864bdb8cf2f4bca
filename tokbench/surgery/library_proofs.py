"""A changed tokenizer in a temporary folder, and its proofs in libraries: a file is written only if its library agrees.

Its configuration files are renumbered: they contain roles, added tokens, chat templates and generation settings.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tokbench.convert.disagreement import in_words
from tokbench.convert.proof import ProofError, prove
from tokbench.convert.targets import sentencepiece as models
from tokbench.convert.targets import tiktoken as ranks
from tokbench.convert.targets import tokenizers as documents
from tokbench.convert.targets import wordpiece as word_lists
from tokbench.errors import ConversionError, TokbenchError
from tokbench.files.atomic import write_folder
from tokbench.formats.tokenizer_config.fields import config_of
from tokbench.formats.tokenizer_config.files import (
    config_files,
    prefixes_space,
    with_special_tokens,
    without_class,
)
from tokbench.opening.open import open_path
from tokbench.opening.recognition import Format
from tokbench.opening.request import OpenRequest
from tokbench.surgery.contents import source_of
from tokbench.surgery.documents import dumped
from tokbench.surgery.model_files import DOCUMENT_NAME, MODEL_SUFFIX, RANKS_NAME, WORD_LIST_NAME, model_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.convert.conversion import Product
    from tokbench.convert.proof import Peer, ProofResult
    from tokbench.core.progress import Progress
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.opening.request import Opened
    from tokbench.surgery.contents import Algorithm, Content
    from tokbench.surgery.id_map import IdMap


def renumbered(config: TokenizerConfig, id_map: IdMap) -> TokenizerConfig:
    """Renumber a configuration; drop references to removed tokens.

    >>> from tokbench.formats.tokenizer_config.fields import AddedToken, TokenizerConfig
    >>> from tokbench.surgery.id_map import IdMap
    >>> config = TokenizerConfig(added_tokens=(AddedToken(id=3, content="</s>"),), generation_ids={"eos": (3, 2)})
    >>> made = renumbered(config, IdMap.closing_up([0, 1, 3], size=4))
    >>> made.added_tokens[0].id, dict(made.generation_ids)
    (2, {'eos': (2,)})
    """
    added = (
        replace(token, id=new) for token in config.added_tokens if (new := id_map.new(token.id)) is not None
    )
    generation = {
        role: tuple(new for id in ids if (new := id_map.new(id)) is not None)
        for role, ids in config.generation_ids.items()
    }
    return replace(config, added_tokens=tuple(added), generation_ids=generation)


class Trial(NamedTuple):
    """A changed tokenizer before it is written: reopened, the path of its file, and the content of all of its files."""

    opened: Opened
    path: Path
    files: dict[str, bytes]


@contextmanager
def reopened(content: Content, old: Opened, id_map: IdMap, *, name: str) -> Iterator[Trial]:
    """Write a changed tokenizer with its configuration files into a temporary folder, and open it.

    Args:
        content: the content with its tokens.
        old: the tokenizer whose configuration is used.
        id_map: the map from the old ids to the new ids.
        name: its name.

    Yields:
        The opened tokenizer, whose files exist until the block ends.
    """
    file_name = model_name(old) if isinstance(content, bytes) else DOCUMENT_NAME
    files = {file_name: dumped(content)}
    with tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
        bare, whole = (Path(folder) / place / name for place in ("bare", "whole"))
        for place in (bare, whole):
            place.parent.mkdir()
        write_folder(bare, files, replace=False)
        special_tokens = open_path(bare / file_name, OpenRequest()).tokenizer.info.special_tokens
        config = renumbered(config_of(old.tokenizer), id_map)
        files |= config_files(
            with_special_tokens(config, special_tokens),
            add_prefix_space=not isinstance(content, bytes) and prefixes_space(content),
        )
        write_folder(whole, files, replace=False)
        yield Trial(open_path(whole / file_name, OpenRequest()), whole / file_name, files)


_WITH_RANKS = (Format.RANKS, Format.SAVED)
"""The formats for which the result includes a rank file."""
_WITH_WORD_LIST = (Format.WORDPIECE_VOCAB, Format.SAVED)
"""The formats that include a `vocab.txt`, for which the result includes one as well."""


@dataclass(frozen=True, slots=True)
class LibraryProofs:
    """The proofs of a tokenizer in libraries.

    Attributes:
        encodings: the comparison with each library that opens one of the files.
        files: name → content of the file in a further format, unless its library would give different ids. If that is
            a `tokenizer.json`, the `tokenizer_config.json` without a class that opens one takes its place.
        notes: remarks for the user, one sentence each.
    """

    encodings: tuple[ProofResult, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def prove_in_libraries(
    trial: Trial, algorithm: Algorithm, was: Format, *, seed: int, progress: Progress
) -> LibraryProofs:
    """Compare a changed tokenizer with its file in the file's library, and with a file in a further format in its own.

    The further format of a SentencePiece model is a `tokenizer.json`. For a format that includes it, that of a
    byte-level BPE is a rank file, and that of a WordPiece a `vocab.txt`, which is opened with the special tokens of the
    `tokenizer_config.json` in the same folder.

    Args:
        trial: the tokenizer, to whose folder the further file is written.
        algorithm: its algorithm.
        was: the format of the tokenizer before the change.
        seed: seed of the generated texts.
        progress: called with the amount of work done.

    Raises:
        ProofError: the library of its file, or tiktoken, gives different ids.
    """
    tokenizer, path = trial.opened.tokenizer, trial.path
    source = source_of(tokenizer)
    is_model = path.suffix == MODEL_SUFFIX
    peer = (
        models.make(source).open(path) if is_model else documents.restricted(documents.opened(path), source)
    )
    first = _checked(prove(tokenizer, peer, seed=seed, progress=progress))
    name, make = DOCUMENT_NAME, documents.make
    if algorithm == "bpe" and was in _WITH_RANKS:
        name, make = RANKS_NAME, ranks.make
    elif algorithm == "wordpiece" and was in _WITH_WORD_LIST:
        name, make = WORD_LIST_NAME, partial(word_lists.make, configured=True)
    elif not is_model:
        return LibraryProofs((first,))
    try:
        product = make(source)
        beside = path.with_name(name)
        beside.write_bytes(product.files[""])
        second = _checked(prove(tokenizer, _opened(product, beside), seed=seed, progress=progress))
    except ConversionError as error:
        if name == RANKS_NAME and isinstance(error, ProofError):
            raise
        alone = without_class(trial.files) if name == DOCUMENT_NAME else {}
        return LibraryProofs((first,), alone, (f"{name} is left out: {error.reason}",))
    if name == WORD_LIST_NAME:
        second = replace(second, second=f"{second.second}, by {WORD_LIST_NAME},")
    return LibraryProofs((first, second), {name: product.files[""]}, product.notes)


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
