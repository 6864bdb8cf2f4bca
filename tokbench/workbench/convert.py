"""Convert a tokenizer to another tool's format, verified before it is written, or compare two tokenizers.

A conversion has five steps: refuse what the format cannot represent; build the files; write them to a temporary
folder; open them there with the target's library and compare the result with the source on many texts; only then
move them into place.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.convert.conversion import Source, target_named
from tokbench.convert.disagreement import in_words
from tokbench.convert.post_processing import as_document, post_processing_of
from tokbench.convert.proof import ProofError, ProofResult, peer_of, prove
from tokbench.core.descriptions import DescribesItself
from tokbench.core.post_processing import NOTHING
from tokbench.core.progress import no_progress
from tokbench.core.roles import check_role
from tokbench.core.truncation import check_number
from tokbench.errors import ConfigError, ConversionError, StoreError, TokbenchError
from tokbench.files.atomic import write_file, write_folder
from tokbench.store import check_parent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.convert.conversion import Product, Target
    from tokbench.core.descriptions import PostProcessing
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress

__all__ = ["ConvertResult", "compare", "convert"]

_STAGED = "tokenizer"


@dataclass(frozen=True, slots=True)
class ConvertResult:
    """A conversion that was proved and written.

    Attributes:
        name: name of the source.
        backend: backend of the source.
        vocab_size: vocabulary size of the source.
        to: the target format.
        out: the file or folder.
        files: file name → size in bytes; a single file is named as `out` is.
        proof: what was compared.
        notes: facts that the format cannot express and its users have to know.
        rounding: the rounding differences of score sums that were accepted; None if ids are the same without them.
        seconds: phase → wall seconds.
        asked: the post-processing of ids in the source.
        does: the post-processing that the target applies; None for a format that cannot express any.
    """

    name: str
    backend: str
    vocab_size: int
    to: str
    out: Path
    files: Mapping[str, int]
    proof: ProofResult
    notes: tuple[str, ...]
    rounding: str | None
    seconds: Mapping[str, float]
    asked: PostProcessing = NOTHING
    does: PostProcessing | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return {
            "schema": "tokbench.convert/1",
            "name": self.name,
            "backend": self.backend,
            "vocab_size": self.vocab_size,
            "to": self.to,
            "out": str(self.out),
            "files": dict(self.files),
            "proof": self.proof.to_json(),
            "notes": list(self.notes),
            "rounding": self.rounding,
            "post_processing": {
                "source": as_document(self.asked),
                "target": None if self.does is None else as_document(self.does),
            },
            "seconds": dict(self.seconds),
        }


def convert(
    tokenizer: Tokenizer,
    *,
    to: str,
    out: Path | str,
    overwrite: bool = False,
    roles: Mapping[str, str] | None = None,
    chat_template: str | None = None,
    accept_rounding: bool = False,
    special_as_text: bool = False,
    seed: int = 0,
    progress: Progress = no_progress,
) -> ConvertResult:
    """Convert a tokenizer, prove the result, and write it.

    Args:
        tokenizer: any tokenizer.
        to: a name in `tokbench.convert.conversion.TARGETS`.
        out: the file to write, or the folder for a format with several files.
        overwrite: whether to replace existing output; a folder is replaced only if it holds no other files.
        roles: role ("bos", "eos", …) → special token, for formats with roles; takes precedence over the tokenizer's
            own roles.
        chat_template: a Jinja template, for the same formats.
        accept_rounding: whether to write a Unigram model whose ids may differ because libraries round sums of scores
            differently; the result and the file record it.
        special_as_text: for the same formats, record that texts of special tokens are ordinary text.
        seed: seed of the generated texts of the proof.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: the format or an option is unknown.
        ConversionError: the format cannot represent the tokenizer; `ProofError` if a text shows that it does not.
        StoreError: `out` exists, or cannot be written.

    Usage:

        convert(tokbench.load("tokenizers/mine"), to="tokbin", out="mine.tokbin")
    """
    check_number("seed", seed, smallest=0, optional=False)
    target, out = target_named(to), Path(out)
    source = _source(
        tokenizer,
        target,
        roles=roles or {},
        chat_template=chat_template,
        accept_rounding=accept_rounding,
        special_as_text=special_as_text,
    )
    from tokbench.convert.roles import unsaid

    started = time.perf_counter()
    progress("converting", 0, None, "files")
    product = target.make(source)
    _check_place(out, product, overwrite=overwrite)
    made = time.perf_counter()
    proof = _proved(source, product, seed=seed, progress=progress)
    if proof.disagreement is not None:
        raise ProofError(
            f"{proof.second} {in_words(proof.disagreement)}",
            proof=proof,
            hint="nothing was written",
        )
    proved = time.perf_counter()
    _write(out, product, overwrite=overwrite)
    return ConvertResult(
        name=tokenizer.info.name,
        backend=tokenizer.info.backend,
        vocab_size=tokenizer.info.vocab_size,
        to=to,
        out=out,
        files={name or out.name: len(data) for name, data in product.files.items()},
        proof=proof,
        notes=(*product.notes, *(unsaid(source) if target.without_roles else ())),
        rounding=product.rounding,
        seconds={"converting": made - started, "proving": proved - made},
        asked=post_processing_of(source.description),
        does=product.post_processing,
    )


def compare(
    first: Tokenizer,
    second: Tokenizer,
    *,
    names: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> ProofResult:
    """Compare two tokenizers as a conversion is proved: vocabulary, ids, special tokens, decoding.

    Args:
        first: a tokenizer.
        second: the other tokenizer.
        names: names of the two in the result, by default their own.
        seed: seed of the generated texts.
        progress: called with how much of the work is done.

    Returns:
        What was compared, and the shortest difference found.

    Usage:

        compare(tokbench.load("tokenizers/mine"), tokbench.load("tokenizer.json")).agrees
    """
    check_number("seed", seed, smallest=0, optional=False)
    first_name, second_name = names or (first.info.name, second.info.name)
    proof = prove(first, peer_of(second), seed=seed, progress=progress)
    limits = (*proof.limits, *_uncompared(first, second))
    return replace(proof, first=first_name, second=second_name, limits=limits)


def _uncompared(first: Tokenizer, second: Tokenizer) -> tuple[str, ...]:
    """Note that post-processing is not compared, if it differs between the two tokenizers."""
    post_processing = [
        post_processing_of(tokenizer.description() if isinstance(tokenizer, DescribesItself) else None)
        for tokenizer in (first, second)
    ]
    if post_processing[0] == post_processing[1]:
        return ()
    return ("bare ids: templates, truncation and padding differ and are not compared",)


def _source(
    tokenizer: Tokenizer,
    target: Target,
    *,
    roles: Mapping[str, str],
    chat_template: str | None,
    accept_rounding: bool,
    special_as_text: bool,
) -> Source:
    if accept_rounding and not target.adds_otherwise:
        raise ConfigError(
            f"a conversion to {target.name} does not round scores", hint="leave out --accept-rounding"
        )
    if (roles or chat_template is not None) and not target.takes_roles:
        raise ConfigError(
            f"{target.name} has neither roles nor chat templates", hint="--to transformers writes them"
        )
    if special_as_text and not target.takes_roles:
        raise ConfigError(
            f"{target.name} cannot say that the texts of special tokens are ordinary text",
            hint="--to transformers writes that; for other formats, choose it when a text is encoded",
        )
    special = tokenizer.info.special_tokens
    for role, text in roles.items():
        check_role(role)
        if text not in special:
            raise ConfigError(
                f"{text!r}, given as {role}, is not a special token of {tokenizer.info.name!r}",
                hint=f"it has {', '.join(map(repr, special)) or 'none'}",
            )
    description = tokenizer.description() if isinstance(tokenizer, DescribesItself) else None
    return Source(
        tokenizer=tokenizer,
        description=description,
        roles=roles,
        chat_template=chat_template,
        accept_rounding=accept_rounding,
        special_as_text=special_as_text,
    )


def _proved(source: Source, product: Product, *, seed: int, progress: Progress) -> ProofResult:
    """Compare the source with the tokenizer that the target's library opens from a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
        path = Path(folder) / _STAGED
        if "" in product.files:
            path.write_bytes(product.files[""])
        else:
            path.mkdir()
            for name, data in product.files.items():
                (path / name).write_bytes(data)
        try:
            peer = product.open(path)
        except TokbenchError:
            raise
        except Exception as error:
            raise ConversionError(f"the library of that format cannot open the result: {error}") from error
        proof = prove(source.tokenizer, peer, seed=seed, progress=progress)
        return replace(proof, limits=(*proof.limits, *product.limits))


# --- writing ----------------------------------------------------------------------------------


def _check_place(out: Path, product: Product, *, overwrite: bool) -> None:
    """Refuse an occupied place before the work of proving."""
    is_file = "" in product.files
    if not out.exists():
        check_parent(out)
        return
    if is_file and out.is_dir():
        raise StoreError(f"{out} is a folder", hint="--out names the file to write")
    if not is_file and not out.is_dir():
        raise StoreError(f"{out} is a file", hint="--out names the folder to write")
    if not overwrite:
        other = "file" if is_file else "folder"
        raise StoreError(f"{out} exists", hint=f"--force replaces it; --out names another {other}")
    known = {*product.files, *product.at_times}
    if not is_file and (strangers := sorted({path.name for path in out.iterdir()} - known)):
        raise StoreError(
            f"{out} will not be replaced: it contains {strangers[0]!r}, which would not be written",
            hint="move it elsewhere, or name another folder with --out",
        )


def _write(out: Path, product: Product, *, overwrite: bool) -> None:
    if "" not in product.files:
        write_folder(out, product.files, replace=overwrite)
        return
    _check_place(out, product, overwrite=overwrite)  # proving took a while
    write_file(out, product.files[""])
