"""What a file or folder is, by its content: the name decides only between the files of a folder."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from tokbench import store
from tokbench.errors import ModelFormatError, StoreError
from tokbench.formats.tokenizer_config.fields import TokenizerConfig
from tokbench.opening.files import SUFFIXES, is_packed, plain_name, read_file, read_head
from tokbench.opening.hub_cache import cached_folder, cached_model_name
from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from tokbench.core.manifest import Manifest


class Format(Enum):
    """The kinds of file that hold a tokenizer."""

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
    """What was recognized.

    Attributes:
        format: what it is.
        path: what the user named.
        files: the files it is read from, in the order that the format gives them.
        config: what the files beside them say that it is to a model.
        manifest: what a saved tokenizer says of itself, once that was read.
        damaged: the files of a folder that were skipped before, with what is wrong with them.
    """

    format: Format
    path: Path
    files: tuple[Path, ...]
    config: TokenizerConfig = field(default_factory=TokenizerConfig)
    manifest: Manifest | None = None
    damaged: Mapping[Path, ModelFormatError] = field(default_factory=dict)

    @property
    def passed_over(self) -> tuple[str, ...]:
        """What is wrong with each damaged file, a sentence each."""
        return tuple(f"damaged and skipped: {error.message}" for error in self.damaged.values())

    @property
    def name(self) -> str:
        """How the tokenizer calls itself: the folder for files with a name that every model has."""
        main = self.files[0] if self.files else self.path
        if self.path.is_dir() or main.name.partition(".")[0] in _NAMES_EVERY_MODEL_HAS:
            folder = self.path if self.path.is_dir() else main.parent
            return cached_model_name(folder) or folder.resolve().name or main.stem
        return self.path.name.partition(".")[0] or self.path.name


def recognize(path: Path) -> Source:
    """Recognize what a file or folder is.

    Raises:
        StoreError: nothing is there, or it cannot be read.
        ModelFormatError: it is not a tokenizer; a pickle is refused unopened.
    """
    if store.is_saved_tokenizer(path):
        return Source(Format.SAVED, path, ())
    if path.is_dir():
        return _recognize_folder(cached_folder(path))
    if _is_broken_link(path):
        raise StoreError(
            f"{path} is a link to {path.readlink()}, which does not exist", hint="download the file again"
        )
    if not path.exists():
        raise StoreError(f"there is no file or folder {path}", hint="`tokbench list` shows the tokenizers")
    return _recognize_file(path)


def recognize_without(source: Source, error: ModelFormatError) -> Source:
    """What else is in a folder, when what was recognized there turned out to be damaged.

    Raises:
        ModelFormatError: nothing whole is left, and each damaged file is named; the error itself where
            it was no folder, or where nothing else was in it.
    """
    if source.format is Format.SAVED or not source.path.is_dir():
        raise error
    return _recognize_folder(source.path, damaged={**source.damaged, source.files[-1]: error})


def _recognize_folder(folder: Path, *, damaged: Mapping[Path, ModelFormatError] | None = None) -> Source:
    known = dict(damaged or {})
    for candidates in _candidates(folder):
        left = [candidate for candidate in candidates if candidate not in known]
        if len(left) > 1:
            names = ", ".join(candidate.name for candidate in left)
            raise ModelFormatError(folder, "one tokenizer", f"several: {names}", hint="name one of the files")
        for candidate in left:
            try:
                found = _recognize_file(candidate)
            except ModelFormatError as error:
                known[candidate] = error
            else:
                return Source(found.format, folder, found.files, damaged=known)
    if not known:
        raise _no_candidates(folder)
    if len(known) == 1:
        raise next(iter(known.values()))
    wrong = "; ".join(error.message for error in known.values())
    raise ModelFormatError(
        folder, "a whole file of a tokenizer", f"none: {wrong}", hint="download the files again"
    )


def _no_candidates(folder: Path) -> ModelFormatError:
    if (error := _of_letters(folder)) is not None:
        return error
    broken = ", ".join(sorted(each.name for each in folder.iterdir() if _is_broken_link(each)))
    for path in (folder / name for name in _VOCAB_NAMES):
        if path.is_file():
            return _no_partner(path, _MERGES_NAMES)
    what, hint = "none of its files", _KNOWN_FILES
    if broken:
        what = f"links to missing files: {broken}"
    elif (folder / _CONFIG).is_file():
        what, hint = "only its configuration", f"get the vocabulary, too; {_KNOWN_FILES}"
    return ModelFormatError(folder, "a folder with a tokenizer", what, hint=hint)


def _of_letters(folder: Path) -> ModelFormatError | None:
    """What is wrong with a folder whose class has no vocabulary of parts of words."""
    name = json_beside(folder / _CONFIG).get("tokenizer_class")
    its = _LETTERS.get(name) if isinstance(name, str) else None
    if its is None:
        return None
    return ModelFormatError(
        folder,
        "a vocabulary of BPE, Unigram or WordPiece",
        f"a {name}, whose tokens are {its}",
        hint=_KNOWN_FILES,
    )


def _is_broken_link(path: Path) -> bool:
    """Whether a link leads nowhere, as in a cache whose files were deleted."""
    return path.is_symlink() and not path.exists()


def _candidates(folder: Path) -> Iterable[list[Path]]:
    """The files to look at, the ones that say most first; several of a kind are not chosen between."""
    for name in _FOLDER_NAMES:
        yield [path for path in _packed_or_not(folder / name) if path.is_file()][:1]
    for pattern in _FOLDER_PATTERNS:
        yield _matching(folder, [pattern]) or _matching(folder, [pattern + suffix for suffix in SUFFIXES])


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    found = (path for pattern in patterns for path in folder.glob(pattern))
    return sorted(path for path in found if path.is_file() and not _NO_TOKENIZER.search(path.name))


def _packed_or_not(path: Path) -> list[Path]:
    """A path, and the same with the endings of compressed files."""
    return [path, *(path.with_name(path.name + suffix) for suffix in SUFFIXES)]


def _recognize_file(path: Path) -> Source:
    head = read_head(path)
    _refuse_pickle(path, head)
    if not head:
        raise ModelFormatError(path, "a tokenizer", "an empty file")
    for found, tell in _by_first_bytes():
        if tell(head):
            if found in (Format.TOKBIN, Format.GGUF) and is_packed(path):
                raise ModelFormatError(
                    path,
                    f"{found.value} as it is",
                    "a compressed file",
                    hint="unpack it: such files are mapped",
                )
            return Source(found, path, (path,))
    text = head.removeprefix(_MARK).lstrip()
    if text.startswith(b"{"):
        return _recognize_json(path)
    if text.startswith(b"[") and plain_name(path).suffix == ".json":
        raise ModelFormatError(path, "a JSON object", "a JSON array", hint=_KNOWN_FILES)
    return _recognize_lines(path, head)


def _by_first_bytes() -> Iterator[tuple[Format, Callable[[bytes], bool]]]:
    """Formats that their first bytes tell; the module of each is imported when its turn comes."""
    from tokbench.formats.tokbin import is_tokbin

    yield Format.TOKBIN, is_tokbin
    from tokbench.formats.gguf import MAGIC

    yield Format.GGUF, lambda head: head.startswith(MAGIC)
    from tokbench.formats.sentencepiece.model import looks_like_model

    yield Format.SENTENCEPIECE, looks_like_model
    from tokbench.formats.llama2c.model import looks_like_llama2c

    yield Format.LLAMA2C, looks_like_llama2c


def _recognize_lines(path: Path, head: bytes) -> Source:
    """Files of lines; their names tell only what a damaged one was meant to be."""
    suffix = plain_name(path).suffix
    if _RWKV_LINES.match(head):
        raise ModelFormatError(
            path,
            "a vocabulary of BPE, Unigram or WordPiece",
            "one of RWKV, which takes the longest match at each place",
            hint="no engine here runs it; models of RWKV with a tokenizer.json can be opened",
        )
    if _RANK_LINE.match(head) or suffix == ".tiktoken":
        return Source(Format.RANKS, path, (path,))
    if _COUNTED_LINES.match(head) and "merges" not in path.name:  # which may merge digits
        raise ModelFormatError(
            path,
            "merges, or a list of words",
            "words with counts, as fairseq's dictionaries have them (PhoBERT)",
            hint="they do not say how text becomes such words",
        )
    if head.startswith(CLIP_LIST):
        return Source(Format.VOCAB_AND_MERGES, path, (path,))
    if head.startswith(b"#version") or _MERGE_LINES.match(head):
        return Source(Format.VOCAB_AND_MERGES, path, (_sibling(path, _VOCAB_NAMES), path))
    if suffix in (".model", ".spm"):
        raise ModelFormatError(path, "a SentencePiece model", f"a file that begins {head[:16]!r}")
    if _is_word_list(head):
        return Source(Format.WORDPIECE_VOCAB, path, (path,))
    raise ModelFormatError(path, "a tokenizer", f"a file that begins {head[:16]!r}", hint=_KNOWN_FILES)


def _recognize_json(path: Path) -> Source:
    head = read_file(path)
    if _TOKENIZER_JSON.search(head):
        return Source(Format.TOKENIZER_JSON, path, (path,))
    if _TEKKEN.search(head):
        return Source(Format.TEKKEN, path, (path,))
    if b'"auto_map"' in head:
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
    if not _VOCAB_JSON.match(head.removeprefix(_MARK)):
        raise ModelFormatError(
            path, 'a JSON object with "model": {…}, or of tokens and ids', "neither", hint=_KNOWN_FILES
        )
    return Source(Format.VOCAB_AND_MERGES, path, (path, _sibling(path, _MERGES_NAMES)))


def _sibling(path: Path, names: tuple[str, ...]) -> Path:
    """The other file of a pair, beside the one that was named: gpt2-merges.txt has gpt2-vocab.json."""
    for name in dict.fromkeys([*_partners(plain_name(path).name), *names]):
        for beside in _packed_or_not(path.parent / name):
            if beside.is_file():
                return beside
    raise _no_partner(path, names)


def _no_partner(path: Path, names: tuple[str, ...]) -> ModelFormatError:
    return ModelFormatError(
        path, f"{' or '.join(names)} beside it", "none", hint="put the two files into one folder"
    )


def _partners(name: str) -> Iterator[str]:
    """The names that the other file of a pair may have, where the two share what stands around "vocab" and "merges"."""
    for here, there, ending in (("merges", "vocab", ".json"), ("vocab", "merges", ".txt")):
        if here in name:
            stem = name.removesuffix(".txt").removesuffix(".json").replace(here, there)
            yield stem + ending
            yield stem


def _refuse_pickle(path: Path, head: bytes) -> None:
    if (len(head) > 1 and head[0] == 0x80 and head[1] <= 5) or _TEXT_PICKLE.match(head):
        found = "a Python pickle, which runs code when it is opened"
    elif head.startswith(b"PK\x03\x04"):
        found = "a zip archive, such as PyTorch writes its pickles into"
    else:
        return
    raise ModelFormatError(
        path,
        "a tokenizer",
        found,
        hint="it was not opened, as it may run code; get the vocabulary as tokenizer.json",
    )


def _is_word_list(head: bytes) -> bool:
    """Whether lines of UTF-8 begin, a word each, as in BERT's `vocab.txt`; empty ones beside its unknown token."""
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
)  # with counts, where fastBPE wrote them
_COUNTED_LINES = re.compile(rb"(?:[^ \n]+ [0-9]+\r?\n){8}")
_RWKV_LINES = re.compile(rb"1 '\\x00' 1\r?\n2 '\\x01' 1\r?\n")
CLIP_LIST = b'"bpe_simple_vocab_16e6.txt#version'
"""How the one file begins in which CLIP was published."""
_TEXT_PICKLE = re.compile(rb"(?s:[\]})]q.|\(?[ld]p[0-9]+\n|\([ld]q|c[\w.]+\n[\w.]+\n)")
_MARK = b"\xef\xbb\xbf"
_VOCAB_JSON = re.compile(rb'\s*\{\s*(?:\}|"(?:[^"\\]|\\.)*+"\s*:\s*-?[0-9])', re.DOTALL)
_TOKENIZER_JSON = re.compile(rb'"model"\s*:\s*\{')
_TEKKEN = re.compile(rb'"vocab"\s*:\s*\[\s*\{[^{}]*"token_bytes"\s*:')

MARIAN_SOURCE = "source.spm"
"""The model of Marian that cuts what is translated; the one for translations is a `target.spm` beside it."""
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
    "tokenizer.bin",
)
_FOLDER_PATTERNS = (
    "*.tokbin",
    "*.tiktoken",
    "*.model",
    "*.model.v*",
    "*.gguf",
    "*merges*.txt",
    "*.spm",
    "*tokenizer*.json",
    "bpe_simple_vocab_*.txt",
)
_CONFIG = "tokenizer_config.json"
_LETTERS = {
    "ByT5Tokenizer": "bytes",
    "CanineTokenizer": "characters",
    "PerceiverTokenizer": "bytes",
    "VitsTokenizer": "letters or phonemes",
    "Wav2Vec2CTCTokenizer": "letters",
    "Wav2Vec2PhonemeCTCTokenizer": "phonemes",
}
"""Classes of transformers without a vocabulary of parts of words."""
_NO_TOKENIZER = re.compile(rf"{re.escape(_CONFIG)}|vocab.*\.json")
"""What the patterns find that is none by itself."""
_NAMES_EVERY_MODEL_HAS = {
    name.partition(".")[0] for name in (*_FOLDER_NAMES, *_VOCAB_NAMES, "tokenizer_config.json")
}
"""Without what stands after the first dot: there is a tokenizer.model.v3 too."""
_KNOWN_FILES = (
    "supported: a saved folder, .tiktoken, tokenizer.json, a SentencePiece .model, vocab.json with merges.txt, "
    "vocab.txt, .gguf, tekken.json, .tokbin, llama2.c's tokenizer.bin"
)
