"""Open `tokenizer.json` files: on our kernel if it computes the model exactly, else on the `tokenizers` library."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tokbench.core.token_table import ids_held
from tokbench.core.wording import counted, is_or_are
from tokbench.errors import ModelFormatError
from tokbench.formats.tokenizer_config.fields import is_text
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.huggingface.tokenizer_json import model_type
from tokbench.opening.added_tokens import completed, without_empty
from tokbench.opening.character_bpe import CharacterBpe, character_bpe, is_of_characters
from tokbench.opening.character_document import CharacterDocument
from tokbench.opening.files import parse_json, read_file
from tokbench.opening.found_tokens import indistinct_warnings
from tokbench.opening.kernel_document import KernelDocument, kernel_document
from tokbench.opening.native_bpe import NotNativeError, byte_level_bpe, check_bpe, merge_pairs
from tokbench.opening.native_document import NativeDocument
from tokbench.opening.request import Composition, Opened, OpenRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tokbench.backends.wordpiece.tokenizer import DocumentWordPiece
    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.core.interfaces import Tokenizer
    from tokbench.opening.recognition import Source
    from tokbench.opening.unigram_document import UnigramDocument

_BACKENDS = {"BPE": "bpe", "WordPiece": "wordpiece", "Unigram": "unigram", "WordLevel": "word"}
_PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


@dataclass(frozen=True, slots=True)
class _Run:
    """The tokenizer that runs a document, its engine, and the reason for that engine."""

    tokenizer: Tokenizer
    engine: str
    reason: str
    pattern: tuple[str, str | None] | None = None


def open_file(source: Source, request: OpenRequest) -> Opened:
    """Open a `tokenizer.json` file. Raises as `open_tokenizer_json`."""
    return open_tokenizer_json(read_file(source.files[0]), source=source, request=request)


def open_tokenizer_json(
    data: bytes,
    *,
    source: Source,
    request: OpenRequest,
    warnings: tuple[str, ...] = (),
    parsed: dict[str, Any] | None = None,
) -> Opened:
    """Open the tokenizer of a `tokenizer.json` document.

    Args:
        data: the bytes of the document.
        source: the file that the document comes from.
        request: what the user asks for.
        warnings: warnings already found.
        parsed: the document as Python's values, if the data was made from them; it may be changed.

    Raises:
        ModelFormatError: the document contradicts itself, or the library rejects it.
        ConfigError: an option sets what the document already defines, or the demanded engine cannot run it.
    """
    request.refuse_options(f"a {source.format.value}")
    path = source.files[0]
    document = parse_json(data, path=path) if parsed is None else parsed
    data, given, contradictions = completed(data, document, source.config)
    data, document = without_empty(data, given)
    if document is not given:
        warnings = (*warnings, "an added token of no text is left out, as by its library")
    kind = _check(document, path=path)
    run = _run(data, document, kind=kind, name=source.name, path=path, request=request)
    return Opened(
        tokenizer=run.tokenizer,
        source=source,
        engine=run.engine,
        reason=run.reason,
        compose=lambda: Composition(
            model=_model(document, kind),
            parts={part: _described(document.get(part)) for part in _PARTS},
            merges=len(document["model"]["merges"]) if kind == "BPE" else None,
            pattern=run.pattern,
        ),
        added_tokens={
            t["content"]: t["id"] for t in document.get("added_tokens") or [] if not t.get("special")
        },
        find_warnings=lambda: (
            *warnings,
            *contradictions,
            *_warnings(document, kind),
            *_contradicted(document, source),
        ),
    )


def run_tokenizer_json(data: bytes, *, name: str, path: Path) -> Tokenizer:
    """Return the tokenizer of a `tokenizer.json` document that another file contains.

    Args:
        data: the bytes of the document.
        name: the user's name for the tokenizer.
        path: the file as error messages name it.

    Raises:
        ModelFormatError: the document contradicts itself, or the library rejects it.
    """
    data, document = without_empty(data, parse_json(data, path=path))
    kind = _check(document, path=path)
    return _run(data, document, kind=kind, name=name, path=path, request=OpenRequest()).tokenizer


def _run(
    data: bytes, document: Mapping[str, Any], *, kind: str, name: str, path: Path, request: OpenRequest
) -> _Run:
    """Choose the engine for a checked document; a tokenizer of WordPiece or Unigram says whether our kernel runs it."""
    if kind not in ("WordPiece", "Unigram"):
        return _bpe_or_library(data, document, kind=kind, name=name, path=path, request=request)
    engine = "library" if request.engine == "library" else "auto"
    tokenizer: DocumentWordPiece | UnigramDocument
    scores: Callable[[], Sequence[float]] = tuple
    if kind == "WordPiece":
        from tokbench.backends.wordpiece.tokenizer import DocumentWordPiece

        tokenizer = DocumentWordPiece(data, name=name, source=path, engine=engine, parsed=document)
        done = "BERT's normalizer, BERT's words and longest matches, nothing else"
    else:
        from tokbench.opening.unigram_document import UnigramDocument

        tokenizer = UnigramDocument(data, name=name, source=path, engine=engine, parsed=document)
        scores = tokenizer.scores_as_read
        done = "a table of replacements, words with ▁ and the best sums of scores"
    if not tokenizer.library_reason:
        return _Run(tokenizer, "native", f"it is {done}")
    plan, reason = _plan(document, path=path, library=tokenizer, scores=scores)
    if plan is not None and engine == "auto":
        return _Run(NativeDocument(tokenizer, plan=plan), "native", reason)
    request.refuse_engine("native", reason)
    return _Run(tokenizer, "library", "asked for" if engine == "library" else reason)


def _bpe_or_library(
    data: bytes, document: Mapping[str, Any], *, kind: str, name: str, path: Path, request: OpenRequest
) -> _Run:
    """Open a BPE or WordLevel model, on our kernel if the kernel runs it exactly."""
    library = HuggingFaceTokenizer(data, name=name, backend=_BACKENDS[kind], source=path, parsed=document)
    description, reason = _description(document, path=path, library=library)
    plan = characters = None
    if description is None:
        characters, reason = _characters(document, library=library)
    if description is None and characters is None:
        plan, reason = _plan(document, path=path, library=library)
        if plan is None:
            request.refuse_engine("native", reason)
    if request.engine == "library":
        return _Run(library, "library", "asked for")
    if characters is not None:
        return _Run(CharacterDocument(library, description=characters), "native", reason)
    if plan is not None:
        return _Run(NativeDocument(library, plan=plan), "native", reason)
    if description is None:
        return _Run(library, "library", reason)
    pattern = (description.pattern_name, description.pattern)
    return _Run(_native(description, name, library), "native", reason, pattern)


def _description(
    document: Mapping[str, Any], *, path: Path, library: HuggingFaceTokenizer
) -> tuple[ByteLevelBpe | None, str]:
    """Return the description of a byte-level BPE for our kernel, or None, and the reason."""
    try:
        description = byte_level_bpe(document, path=path)
    except NotNativeError as error:
        return None, str(error)
    if dict(description.special_tokens) != dict(library.info.special_tokens):
        return None, "the library gives its special tokens different ids"
    pattern = f"{'NFC, ' if description.normalization else ''}the pattern {description.pattern_name!r}"
    return description, f"it consists of {pattern} and merges, nothing else"


def _characters(
    document: Mapping[str, Any], *, library: HuggingFaceTokenizer
) -> tuple[CharacterBpe | None, str]:
    """Return the description of a BPE over characters, or None, and the reason if it is such a BPE."""
    if not is_of_characters(document):
        return None, ""
    try:
        description = character_bpe(document, ids=library.spelled_ids)
    except NotNativeError as error:
        return None, str(error)
    return description, str(description)


def _plan(
    document: Mapping[str, Any],
    *,
    path: Path,
    library: HuggingFaceTokenizer,
    scores: Callable[[], Sequence[float]] = tuple,
) -> tuple[KernelDocument | None, str]:
    """Return the document as the kernel runs it with all its components, or None, and the reason."""
    from tokbench.backends.bpe.kernel import current_kernel

    try:
        plan = kernel_document(document, ids=library.spelled_ids, path=path, scores=scores)
    except NotNativeError as error:
        return None, str(error)
    if current_kernel().name != "native" and not plan.runs_in_python:
        return None, "the kernel's Python fallback does not run all that it asks for"
    return plan, str(plan)


def _native(description: ByteLevelBpe, name: str, library: HuggingFaceTokenizer) -> Any:
    from tokbench.backends.bpe.kernel import current_kernel
    from tokbench.opening.native_with_fallback import NativeBpeWithFallback
    from tokbench.opening.unicode_agreement import UnicodeAgreement, tokenizers_members

    kernel = current_kernel()
    agreement = UnicodeAgreement(
        tokenizers_members, kernel=kernel.name, nfc=description.normalization == "nfc"
    )
    tokenizer = NativeBpeWithFallback.build(
        description, name=name, kernel=kernel, agreement=agreement, library=partial(_itself, library)
    )
    tokenizer.file_roles = library.own_roles()
    return tokenizer


def _itself(library: HuggingFaceTokenizer) -> HuggingFaceTokenizer:
    return library


def _check(document: Mapping[str, Any], *, path: Path) -> str:
    """Check the model's vocabulary and merges against each other, and return the model type."""
    model = document.get("model")
    if not isinstance(model, dict):
        raise ModelFormatError(path, "an object `model`", "none")
    kind = model.get("type") or model_type(document)
    if not isinstance(kind, str) or kind not in _BACKENDS:
        raise ModelFormatError(path, f"a model of the type {', '.join(_BACKENDS)}", f"{kind!a:.40}")
    vocab = model.get("vocab")
    if kind == "Unigram":
        _check_scored_pieces(vocab, path=path)
    else:
        check_vocabulary(vocab, path=path)
    if kind == "BPE":
        model["merges"] = check_bpe(model, path=path)  # parsed once, read again later
    return str(kind)


def check_vocabulary(vocab: object, *, path: Path | str) -> None:
    """Refuse a vocabulary that does not map each piece to an id of its own. Raises `ModelFormatError`."""
    if not isinstance(vocab, dict) or not vocab:
        raise ModelFormatError(path, "a vocabulary of pieces with ids", "none")
    limit = ids_held(len(vocab))
    if _has_distinct_ids(vocab, limit=limit):
        return
    piece_of: dict[int, str] = {}
    for piece, id in vocab.items():
        if type(id) is not int or not 0 <= id < limit:
            raise ModelFormatError(path, f"an id from 0 to {limit - 1}", f"{id!r:.40} for {piece!a:.60}")
        if id in piece_of:
            raise ModelFormatError(
                path, "each id once", f"the id {id} for {piece_of[id]!a} and for {piece!a}"
            )
        if not is_text(piece):
            raise ModelFormatError(path, "pieces of text", f"{piece!a}, a lone surrogate")
        piece_of[id] = piece


def _has_distinct_ids(vocab: dict[Any, Any], *, limit: int) -> bool:
    """Whether each piece is a text and has an id of its own below the limit; fast, but does not tell what is wrong."""
    if set(map(type, vocab.values())) != {int}:
        return False
    ids = set(vocab.values())
    return len(ids) == len(vocab) and min(ids) >= 0 and max(ids) < limit and is_text("".join(vocab))


def _check_scored_pieces(vocab: object, *, path: Path) -> None:
    if not isinstance(vocab, list) or not vocab:
        raise ModelFormatError(path, "a list of pieces with scores", "none")
    for id, entry in enumerate(vocab):
        if not (
            isinstance(entry, list)
            and len(entry) == 2
            and isinstance(entry[0], str)
            and isinstance(entry[1], int | float)
        ):
            raise ModelFormatError(f"{path}, piece {id}", "a piece and its score", f"{entry!a:.60}")


def _warnings(document: Mapping[str, Any], kind: str) -> list[str]:
    model = document["model"]
    warnings: list[str] = []
    if kind != "Unigram":
        gaps = max(model["vocab"].values()) + 1 - len(model["vocab"])
        added = {token["id"] for token in document.get("added_tokens") or []} - set(model["vocab"].values())
        if gaps > len([id for id in added if id <= max(model["vocab"].values())]):
            warnings.append(f"no piece for {counted(gaps, 'id')} below the largest")
    if kind == "Unigram" and (repeated := _repeated(model["vocab"])):
        shown = ", ".join(repr(piece) for piece in list(repeated)[:3])
        warnings.append(
            f"{counted(len(repeated), 'piece')} listed again, as {shown}: text gets the last id of each"
        )
    if kind == "BPE":
        unreachable = _unreachable(document)
        if unreachable:
            number, shown = len(unreachable), ", ".join(repr(piece) for piece in unreachable[:3])
            warnings.append(f"{counted(number, 'piece')} {is_or_are(number)} made by no merge, as {shown}")
    warnings.extend(indistinct_warnings(document))
    for part in ("truncation", "padding"):
        if document.get(part):
            warnings.append(f"the file asks for {part}, which is not applied")
    return warnings


def _contradicted(document: Mapping[str, Any], source: Source) -> Iterator[str]:
    """Yield how the files beside a `tokenizer.json` contradict it; a document built from other files follows them."""
    from tokbench.opening.contradictions import (
        contradicted_tokenizer_json,
        other_decoding,
        other_models,
        other_vocabulary,
    )
    from tokbench.opening.recognition import Format

    path = source.files[0]
    yield from other_decoding(document, folder=path.parent)
    if source.format is Format.TOKENIZER_JSON:
        folder, config = path.parent, source.config
        yield from contradicted_tokenizer_json(document, folder=folder, name=path.name, config=config)
        yield from other_models(document, source)
        yield from other_vocabulary(document, source)


def _repeated(vocab: Sequence[Sequence[Any]]) -> dict[str, int]:
    """Return the pieces of a Unigram that are listed several times, with the number of times."""
    times = Counter(piece for piece, _ in vocab)
    return {piece: number for piece, number in times.items() if number > 1}


def _unreachable(document: Mapping[str, Any]) -> list[str]:
    """Return the pieces that no merge makes and that are no characters, added tokens or whole pre-tokens."""
    model = document["model"]
    if model.get("ignore_merges"):
        return []
    prefix = model.get("continuing_subword_prefix") or ""
    merged = {left + right.removeprefix(prefix) for left, right in merge_pairs(model, path="")}
    added = {token["content"] for token in document.get("added_tokens") or []}
    suffix = model.get("end_of_word_suffix") or ""
    fallback = bool(model.get("byte_fallback"))
    return [
        piece
        for piece in model["vocab"]
        if piece not in merged
        and piece not in added
        and piece != model.get("unk_token")
        and len(piece.removeprefix(prefix).removesuffix(suffix)) > 1
        and not (fallback and piece.startswith("<0x"))
    ]


def _model(document: Mapping[str, Any], kind: str) -> str:
    model = document["model"]
    if kind != "BPE":
        return kind
    is_of_bytes = any("ByteLevel" in str(document.get(part)) for part in ("pre_tokenizer", "decoder"))
    notes = ["byte-level BPE" if is_of_bytes else "BPE"]
    if model.get("byte_fallback"):
        notes.append("with byte fallback")
    if model.get("ignore_merges"):
        notes.append("whole pre-tokens first")
    return ", ".join(notes)


def _described(part: Mapping[str, Any] | None) -> str | None:
    """Describe a component of the document by the names of its steps, their set flags and their choices."""
    if part is None:
        return None
    for key in ("normalizers", "pretokenizers", "processors", "decoders"):
        steps: Sequence[Mapping[str, Any]] | None = part.get(key)
        if isinstance(steps, list):
            return " → ".join(str(_described(step)) for step in steps)
    name = str(part.get("type"))
    choices = [
        f"{key}={part[key]}" for key in ("prepend_scheme", "behavior") if isinstance(part.get(key), str)
    ]
    flags = [key for key, value in part.items() if value is True]
    return f"{name} ({', '.join(choices + flags)})" if choices or flags else name
