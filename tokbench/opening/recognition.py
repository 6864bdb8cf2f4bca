"""Recognize the format of a file or folder by content; file names only decide which file of a folder is opened."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING

from tokbench import store
from tokbench.errors import ModelFormatError, StoreError, TokbenchError
from tokbench.formats.tokenizer_config.fields import TokenizerConfig
from tokbench.opening.cached_models import cached_folder, cached_model_name
from tokbench.opening.files import SUFFIXES, is_packed, plain_name, read_file, read_head
from tokbench.opening.refusals import (
    KNOWN_FILES,
    is_broken_link,
    no_candidates,
    no_partner,
    refuse_archive,
    refuse_class,
    refuse_pickle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from tokbench.core.manifest import Manifest


class Format(Enum):
    """Formats of files that hold a tokenizer."""

    SAVED = "saved by tokbench"
    TOKBIN = "tokbin"
    RANKS = "tiktoken ranks"
    TOKENIZER_JSON = "tokenizer.json"
    SENTENCEPIECE = "SentencePiece model"
    VOCAB_AND_MERGES = "vocabulary and merges"
    WORDPIECE_VOCAB = "WordPiece vocabulary"
    GGUF = "GGUF"
    LLAMA2C = "llama2.c tokenizer.bin"
    TEKKEN = "tekken.json"


@dataclass(frozen=True, slots=True)
class Source:
    """A recognized file or folder.

    Attributes:
        format: the recognized format.
        path: the path that the user gave.
        files: the files that the tokenizer is read from, in the order that the format defines.
        config: the tokenizer configuration read from the files beside them.
        manifest: the manifest of a saved tokenizer, once it has been read.
        damaged: files of the folder that were skipped → what is wrong with each.
    """

    format: Format
    path: Path
    files: tuple[Path, ...]
    config: TokenizerConfig = field(default_factory=TokenizerConfig)
    manifest: Manifest | None = None
    damaged: Mapping[Path, ModelFormatError] = field(default_factory=dict)

    @property
    def passed_over(self) -> tuple[str, ...]:
        """One sentence for each damaged file that was skipped, and for each file beside the vocabulary."""
        skipped = (f"damaged and skipped: {error.message}" for error in self.damaged.values())
        return (*skipped, *self.config.unread_files)

    @property
    def name(self) -> str:
        """The tokenizer's name: that of its folder if the file has a generic name such as `tokenizer.json`."""
        main = self.files[0] if self.files else self.path
        if self.path.is_dir() or main.name.partition(".")[0] in GENERIC_NAMES:
            folder = self.path if self.path.is_dir() else main.parent
            return cached_model_name(folder) or folder.resolve().name or main.stem
        return self.path.name.partition(".")[0] or self.path.name


def recognize(path: Path) -> Source:
    """Recognize the format of a file or folder.

    Raises:
        StoreError: there is no such file or folder, or it cannot be read.
        ModelFormatError: it is no tokenizer; pickles are refused without being opened.
    """
    if store.is_saved_tokenizer(path):
        return Source(Format.SAVED, path, ())
    if path.is_dir():
        return _recognize_folder(cached_folder(path))
    if is_broken_link(path):
        raise StoreError(
            f"{path} is a link to {path.readlink()}, which does not exist", hint="download the file again"
        )
    if not path.exists():
        raise StoreError(f"there is no file or folder {path}", hint="`tokbench list` shows the tokenizers")
    return _recognize_file(path)


def recognize_without(source: Source, error: ModelFormatError) -> Source:
    """Recognize another file of a folder after the recognized one turned out to be damaged.

    Raises:
        ModelFormatError: no intact file is left; the message names each damaged one. The given error is raised
            unchanged for a single file, or if the folder holds no other candidate.
    """
    if source.format is Format.SAVED or not source.path.is_dir():
        raise error
    return _recognize_folder(source.path, damaged={**source.damaged, source.files[-1]: error})


def _recognize_folder(folder: Path, *, damaged: Mapping[Path, ModelFormatError] | None = None) -> Source:
    known = dict(damaged or {})
    for candidates in _candidates(folder):
        remaining = [candidate for candidate in candidates if candidate not in known]
        if len(remaining) > 1:
            names = ", ".join(candidate.name for candidate in remaining)
            raise ModelFormatError(folder, "one tokenizer", f"several: {names}", hint="name one of the files")
        for candidate in remaining:
            try:
                recognized = _recognize_file(candidate)
            except ModelFormatError as error:
                known[candidate] = error
            else:
                return Source(recognized.format, folder, recognized.files, damaged=known)
    refuse_class(folder)
    if not known:
        raise no_candidates(
            folder,
            vocab_names=_VOCAB_NAMES,
            merges_names=_MERGES_NAMES,
            others=[path.name for path in otherwise_named(folder)],
        )
    if len(known) == 1:
        raise next(iter(known.values()))
    wrong = "; ".join(error.message for error in known.values())
    raise ModelFormatError(
        folder, "a whole file of a tokenizer", f"none: {wrong}", hint="download the files again"
    )


def _candidates(folder: Path) -> Iterable[list[Path]]:
    """Yield groups of candidate files, the most informative format first; several files in one group are ambiguous."""
    for name in _FOLDER_NAMES:
        yield [path for path in _packed_or_not(folder / name) if path.is_file()][:1]
    for pattern in _FOLDER_PATTERNS:
        yield _matching(folder, [pattern]) or _matching(folder, [pattern + suffix for suffix in SUFFIXES])


def tokenizer_files(folder: Path) -> list[Path]:
    """Return the files of a folder that may each hold a tokenizer, the one that is opened for the folder first."""
    listed = [path for candidates in _candidates(folder) for path in candidates]
    return list(dict.fromkeys(listed))


def otherwise_named(folder: Path) -> list[Path]:
    """Return the JSON files of a folder that are tokenizers by content, but not by name: the first few."""
    found = []
    for path in islice(sorted(folder.glob("*.json")), _MAX_JSON_FILES):
        if not path.is_file() or path.stat().st_size > _MAX_JSON_BYTES:
            continue
        with suppress(TokbenchError):
            if _recognize_file(path).format in (Format.TOKENIZER_JSON, Format.TEKKEN):
                found.append(path)
    return found


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    found = (path for pattern in patterns for path in folder.glob(pattern))
    return sorted(path for path in found if path.is_file() and not _NOT_A_TOKENIZER.search(path.name))


def _packed_or_not(path: Path) -> list[Path]:
    """Return a path, followed by the same path with each suffix of compressed files."""
    return [path, *(path.with_name(path.name + suffix) for suffix in SUFFIXES)]


def _recognize_file(path: Path) -> Source:
    head = read_head(path)
    refuse_pickle(path, head)
    refuse_archive(path, head)
    if not head:
        raise ModelFormatError(path, "a tokenizer", "an empty file")
    for format, matches in _by_first_bytes():
        if matches(head):
            if format in (Format.TOKBIN, Format.GGUF) and is_packed(path):
                raise ModelFormatError(
                    path,
                    f"an uncompressed {format.value} file",
                    "a compressed file",
                    hint="unpack it: such files are mapped into memory",
                )
            return Source(format, path, (path,))
    if head.startswith(_UTF_16_MARKS):
        raise ModelFormatError(
            path, "UTF-8", "UTF-16", hint="save it as UTF-8, without changing anything else"
        )
    text = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if _KERAS.match(text):
        raise ModelFormatError(
            path,
            "a subword tokenizer",
            "the list of words of a Keras Tokenizer",
            hint="words that it does not list have no tokens; train a tokenizer on its text, perhaps --backend word",
        )
    if text.startswith(b"{"):
        return _recognize_json(path)
    if text.startswith(b"[") and plain_name(path).suffix == ".json":
        raise ModelFormatError(path, "a JSON object", "a JSON array", hint=KNOWN_FILES)
    return _recognize_lines(path, head)


def _by_first_bytes() -> Iterator[tuple[Format, Callable[[bytes], bool]]]:
    """Yield the formats recognized by their first bytes, importing each format's module only when reached."""
    from tokbench.formats.tokbin.reading import is_tokbin

    yield Format.TOKBIN, is_tokbin
    from tokbench.formats.gguf import MAGIC

    yield Format.GGUF, lambda head: head.startswith(MAGIC)
    from tokbench.formats.sentencepiece.model import looks_like_model

    yield Format.SENTENCEPIECE, looks_like_model
    from tokbench.formats.llama2c import looks_like_llama2c

    yield Format.LLAMA2C, looks_like_llama2c


def _recognize_lines(path: Path, head: bytes) -> Source:
    """Recognize a line-based file; its name only says what a damaged file was meant to be."""
    suffix = plain_name(path).suffix
    if _RWKV_LINES.match(head):
        raise ModelFormatError(
            path,
            "a vocabulary of BPE, Unigram or WordPiece",
            "one of RWKV, which takes the longest match at each position",
            hint="no engine here runs it; models of RWKV with a tokenizer.json can be opened",
        )
    if _RANK_LINE.match(head) or suffix == ".tiktoken":
        return Source(Format.RANKS, path, (path,))
    if _COUNTED_LINES.match(head) and "merges" not in path.name:  # the merges of a BPE may join digits
        raise ModelFormatError(
            path,
            "merges, or a list of words",
            "words with counts, as fairseq's dictionaries have them (PhoBERT)",
            hint="they do not say how text becomes such words",
        )
    if _SCORED_LINES.match(head):
        raise ModelFormatError(
            path,
            "a SentencePiece model",
            "its pieces and scores as text",
            hint="name the .model file: it also says how text is split and normalized",
        )
    if head.startswith(CLIP_LIST):
        return Source(Format.VOCAB_AND_MERGES, path, (path,))
    if head.startswith(b"#version") or _MERGE_LINES.match(head):
        return Source(Format.VOCAB_AND_MERGES, path, (_sibling(path, _VOCAB_NAMES), path))
    if suffix in (".model", ".spm"):
        raise ModelFormatError(path, "a SentencePiece model", f"a file that begins {head[:16]!r}")
    if _is_word_list(head):
        return Source(Format.WORDPIECE_VOCAB, path, (path,))
    raise ModelFormatError(path, "a tokenizer", f"a file that begins {head[:16]!r}", hint=KNOWN_FILES)


def _recognize_json(path: Path) -> Source:
    data = read_file(path)
    if _TOKENIZER_JSON.search(data):
        return Source(Format.TOKENIZER_JSON, path, (path,))
    if _TEKKEN.search(data):
        return Source(Format.TEKKEN, path, (path,))
    if b'"auto_map"' in data:
        raise ModelFormatError(
            path,
            "a tokenizer",
            "a configuration that names Python code to run (auto_map)",
            hint="code that comes with a model is never run; name a vocabulary file of the folder instead",
        )
    if plain_name(path).name == "tokenizer_config.json":
        raise ModelFormatError(
            path, "a tokenizer", "only its configuration", hint="name the folder that it is in"
        )
    neither = ModelFormatError(
        path, 'a JSON object with "model": {…}, or of tokens and ids', "neither", hint=KNOWN_FILES
    )
    if not _VOCAB_JSON.match(data.removeprefix(_BYTE_ORDER_MARK)):
        raise neither
    try:
        return Source(Format.VOCAB_AND_MERGES, path, (path, _sibling(path, _MERGES_NAMES)))
    except ModelFormatError:
        if not _maps_to_numbers(data):
            raise neither from None
        raise


def _maps_to_numbers(data: bytes) -> bool:
    """Whether a JSON object has only numbers as values; True also if it is damaged, which is reported elsewhere."""
    import orjson

    try:
        values = orjson.loads(data.removeprefix(_BYTE_ORDER_MARK)).values()
    except ValueError:
        return True
    return all(isinstance(value, int) for value in values)


def _sibling(path: Path, names: tuple[str, ...]) -> Path:
    """Return the partner of a vocabulary or merges file beside it, such as gpt2-vocab.json for gpt2-merges.txt."""
    for name in dict.fromkeys([*_partners(plain_name(path).name), *names]):
        for beside in _packed_or_not(path.parent / name):
            if beside.is_file():
                return beside
    raise no_partner(path, names)


def _partners(name: str) -> Iterator[str]:
    """Yield the names that the partner file may have: the same name with "vocab" and "merges" exchanged."""
    for here, there, ending in (("merges", "vocab", ".json"), ("vocab", "merges", ".txt")):
        if here in name:
            stem = name.removesuffix(".txt").removesuffix(".json").replace(here, there)
            yield stem + ending
            yield stem


def _is_word_list(head: bytes) -> bool:
    """Whether a file begins with lines of one UTF-8 word each; lines may be empty if one is BERT's `[UNK]`."""
    lines = head.split(b"\n")[:-1] or [head]
    try:
        words = [line.decode().rstrip() for line in lines]
    except UnicodeDecodeError:
        return False
    if not all(words) and "[UNK]" not in words:
        return False
    return not any(" " in word or "\t" in word or "\0" in word for word in words)


_RANK_LINE = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)? [0-9]+\r?(?:\n|\Z)")
_MERGE_LINES = re.compile(
    rb"(?:[^ \n]+ [^ \n]+(?: [0-9]+\r?)?\n){3}"
)  # fastBPE appends the count of each merge
_COUNTED_LINES = re.compile(rb"(?:[^ \n]+ [0-9]+\r?\n){8}")
_SCORED_LINES = re.compile(rb"(?:[^\t\r\n]+\t-?[0-9.e-]+\r?\n){3}")
_RWKV_LINES = re.compile(rb"1 '\\x00' 1\r?\n2 '\\x01' 1\r?\n")
CLIP_LIST = b'"bpe_simple_vocab_16e6.txt#version'
"""First bytes of the only merges file that CLIP was published with."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_KERAS = re.compile(rb'(?:"\{\s*\\"|\{\s*")class_name\\?"\s*:\s*\\?"Tokenizer\b')
_VOCAB_JSON = re.compile(rb'\s*\{\s*(?:\}|"(?:[^"\\]|\\.)*+"\s*:\s*-?[0-9])', re.DOTALL)
_TOKENIZER_JSON = re.compile(rb'"model"\s*:\s*\{')
_TEKKEN = re.compile(rb'"vocab"\s*:\s*\[\s*\{[^{}]*"token_bytes"\s*:')

MARIAN_SOURCE = "source.spm"
"""Marian's model for the source language; the model for the target language is `target.spm` beside it."""
_VOCAB_NAMES = ("vocab.json", "encoder.json")
_MERGES_NAMES = ("merges.txt", "vocab.bpe")
_FOLDER_NAMES = (
    "tokenizer.json",
    "tekken.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    MARIAN_SOURCE,
    *_MERGES_NAMES,
    "vocab.txt",
    "prophetnet.tokenizer",
    "tokenizer.bin",
)
_MAX_JSON_FILES = 16
_MAX_JSON_BYTES = 1 << 26
_FOLDER_PATTERNS = (
    "*.tokbin",
    "*.tiktoken",
    "*.model",
    "*.model.v*",
    "*.gguf",
    "*merges*.txt",
    "*.spm",
    "*tokenizer*.json",
    "*tekken*.json",
    "bpe_simple_vocab_*.txt",
    "*vocab*.txt",
)
_CONFIG = "tokenizer_config.json"
_NOT_A_TOKENIZER = re.compile(rf"{re.escape(_CONFIG)}|vocab.*\.json|^mmproj|-(?!0*1-)[0-9]+-of-[0-9]+\.gguf")
"""Files that match the folder patterns but hold no tokenizer of their own, as GGUF files after the first of several."""
GENERIC_NAMES = {name.partition(".")[0] for name in (*_FOLDER_NAMES, *_VOCAB_NAMES, "tokenizer_config.json")}
"""Names up to the first dot, as there are also files such as tokenizer.model.v3."""
