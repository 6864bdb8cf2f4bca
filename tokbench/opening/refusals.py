"""Errors for folders and files that hold no tokenizer: what is missing, where it may be, or what it is instead."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from tokbench.errors import ModelFormatError
from tokbench.opening.tokenizer_classes import class_named_in, refuse_rules

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KNOWN_FILES = (
    "supported: a saved folder, .tiktoken, tokenizer.json, a SentencePiece .model, vocab.json with merges.txt, "
    "vocab.txt, .gguf, tekken.json, .tokbin, llama2.c's tokenizer.bin"
)
_CONFIG = "tokenizer_config.json"
_CLASSES_WITHOUT_SUBWORDS = {
    "ByT5Tokenizer": "bytes",
    "CanineTokenizer": "characters",
    "DiaTokenizer": "bytes",
    "JukeboxTokenizer": "letters",
    "MgpstrTokenizer": "characters",
    "MyT5Tokenizer": "bytes, rewritten by the morphology of a word",
    "PerceiverTokenizer": "bytes",
    "Pop2PianoTokenizer": "musical notes",
    "TransfoXLTokenizer": "words, in a pickle",
    "VitsTokenizer": "letters or phonemes",
    "Wav2Vec2CTCTokenizer": "letters",
    "Wav2Vec2PhonemeCTCTokenizer": "phonemes",
}
"""Classes of transformers without a subword vocabulary → the units of their vocabulary."""
_TELLING = ("tokenizer.json", "*.model", "*.tiktoken", "merges.txt", "vocab.txt", "tekken.json")
"""Files by which a folder inside a model's folder is taken for that of its tokenizer."""
_SHOWN = 8
_MAX_FOLDERS = 64
_TEXT_PICKLE = re.compile(rb"(?s:[\]})]q.|\(?[ld]p[0-9]+\n|\([ld]q|c[\w.]+\n[\w.]+\n)")
_ZIP, _NAME_IN_ZIP = b"PK\x03\x04", 30
_TAR, _TAR_PLACE = b"ustar", 257
_ARCHIVES = {_ZIP: "zip", b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!\x1a\x07": "rar"}


def refuse_class(folder: Path) -> None:
    """Refuse a folder whose class has no subword vocabulary, or rules that no file has. Raises `ModelFormatError`."""
    name = class_named_in(folder)
    units = _CLASSES_WITHOUT_SUBWORDS.get(name or "")
    if units is not None:
        raise ModelFormatError(
            folder,
            "a vocabulary of BPE, Unigram or WordPiece",
            f"a {name}, whose tokens are {units}",
            hint=KNOWN_FILES,
        )
    refuse_rules(name, path=folder)


def no_candidates(
    folder: Path, *, vocab_names: Sequence[str], merges_names: Sequence[str], others: Sequence[str]
) -> ModelFormatError:
    """Return the error for a folder without a file that could be a tokenizer.

    Args:
        folder: the folder.
        vocab_names: the names of vocabularies that need merges beside them.
        merges_names: the names of these merges.
        others: the names of files that are tokenizers by content.
    """
    broken = ", ".join(sorted(path.name for path in folder.iterdir() if is_broken_link(path)))
    for path in (folder / name for name in vocab_names):
        if path.is_file():
            return no_partner(path, merges_names)
    what, hint = "none of its files", KNOWN_FILES
    if broken:
        what = f"links to missing files: {broken}"
        hint = "download the files again, or copy the folder together with the files that its links name"
    elif others:
        what, hint = "no file with a usual name", f"name the file itself: {folder / others[0]}"
        if len(others) > 1:
            hint = f"name one of the files: {', '.join(str(folder / name) for name in others)}"
    elif inside := _folders_inside(folder):
        named = ", ".join(str(folder / name) for name in inside[:_SHOWN]) + ", …" * (len(inside) > _SHOWN)
        what, hint = "none of its files", f"name a folder inside it: {named}"
    elif (folder / _CONFIG).is_file():
        what, hint = "only its configuration", f"get the vocabulary, too; {KNOWN_FILES}"
    return ModelFormatError(folder, "a folder with a tokenizer", what, hint=hint)


def no_partner(path: Path, names: Sequence[str]) -> ModelFormatError:
    """Return the error for a vocabulary without merges, or the reverse."""
    return ModelFormatError(
        path, f"{' or '.join(names)} beside it", "none", hint="put the two files into one folder"
    )


def is_broken_link(path: Path) -> bool:
    """Whether a path is a link to a missing file, as in a cache whose files were deleted."""
    return path.is_symlink() and not path.exists()


def _folders_inside(folder: Path) -> list[str]:
    """Return the names of the folders inside a folder that look like those of tokenizers."""
    inside = sorted(islice((path for path in folder.iterdir() if path.is_dir()), _MAX_FOLDERS))
    return [path.name for path in inside if any(next(path.glob(name), None) for name in _TELLING)]


def refuse_pickle(path: Path, head: bytes) -> None:
    """Refuse a file that Python or PyTorch has pickled. Raises `ModelFormatError`.

    Args:
        path: the file.
        head: its first bytes.
    """
    if (len(head) > 1 and head[0] == 0x80 and head[1] <= 5) or _TEXT_PICKLE.match(head):
        found = "a Python pickle, which runs code when it is opened"
    elif head.startswith(_ZIP) and _first_name(head).endswith(b".pkl"):
        found = "a zip archive of PyTorch with a pickle, which runs code when it is opened"
    else:
        return
    raise ModelFormatError(
        path, "a tokenizer", found, hint="it was not opened; get the vocabulary as tokenizer.json"
    )


def refuse_archive(path: Path, head: bytes) -> None:
    """Refuse a file of several files, which are not unpacked. Raises `ModelFormatError`; takes the same arguments."""
    kinds = [kind for first, kind in _ARCHIVES.items() if head.startswith(first)]
    if head[_TAR_PLACE : _TAR_PLACE + len(_TAR)] == _TAR:
        kinds.append("tar")
    if kinds:
        raise ModelFormatError(
            path,
            "a tokenizer",
            f"a {kinds[0]} archive",
            hint="unpack it, and name the folder or the file in it that holds the tokenizer",
        )


def _first_name(head: bytes) -> bytes:
    """Return the name of the first file of a zip archive."""
    length = int.from_bytes(head[_NAME_IN_ZIP - 4 : _NAME_IN_ZIP - 2], "little")
    return head[_NAME_IN_ZIP : _NAME_IN_ZIP + length]
