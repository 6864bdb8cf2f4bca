"""A tokenizer as data for the page: the fields of its JavaScript encoder, and its source files."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tokbench.errors import ModelFormatError, PageError
from tokbench.formats.sentencepiece.model import ModelType
from tokbench.inspection.contents import TokenizerContents
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.huggingface.tokenizer_json import model_type
from tokbench.opening.character_bpe import is_of_characters
from tokbench.opening.native_bpe import NotNativeError, parse_byte_level_bpe
from tokbench.play_page.byte_level import byte_level_data, document_data
from tokbench.play_page.character_document import character_document_data
from tokbench.play_page.sentencepiece import sentencepiece_data
from tokbench.play_page.unigram_document import unigram_document_data
from tokbench.play_page.wordpiece import wordpiece_data
from tokbench.store.manifest import MANIFEST_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.opening.native_bpe import ParsedBpe
    from tokbench.opening.request import Opened
    from tokbench.play_page.chat_data import ChatData, NoChat

_HINT = "`tokbench play` in the terminal runs every tokenizer"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a tokenizer was read from.

    Attributes:
        name: its name without the folder.
        sha256: SHA-256 of its bytes, in hexadecimal.
    """

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class TokenizerData:
    """A tokenizer for the page.

    Attributes:
        name: the name it is chosen by on the page.
        opened: the opened tokenizer.
        algorithm: the algorithm in words.
        files: the files it was read from.
        fields: the fields of its encoder.
        chat: its conversations, or why there are none.
    """

    name: str
    opened: Opened
    algorithm: str
    files: tuple[SourceFile, ...]
    fields: dict[str, Any]
    chat: ChatData | NoChat | None = None

    def to_json(self) -> str:
        """Return the data of the page."""
        import orjson

        info = self.opened.tokenizer.info
        head = {
            "name": self.name,
            "algorithm": self.algorithm,
            "size": info.vocab_size,
            "files": [[file.name, file.sha256] for file in self.files],
            "chat": None if self.chat is None else self.chat.to_json(),
        }
        return orjson.dumps({**head, **self.fields}).decode()


def tokenizer_data(opened: Opened, *, name: str) -> TokenizerData:
    """Return a tokenizer as data for the page.

    Args:
        opened: the opened tokenizer.
        name: the name it is chosen by on the page.

    Raises:
        PageError: the page has no encoder for it; the message says why.
    """
    contents = TokenizerContents(opened)
    files = tuple(_files_of(opened))
    if contents.bpe is not None:
        return TokenizerData(name, opened, "byte-level BPE", files, byte_level_data(contents.bpe))
    if contents.sentencepiece is not None:
        model, special_tokens = contents.sentencepiece, opened.tokenizer.info.special_tokens
        algorithm = f"SentencePiece {'Unigram' if model.model_type is ModelType.UNIGRAM else 'BPE'}"
        fields = sentencepiece_data(model, special_tokens=special_tokens)
        return TokenizerData(name, opened, algorithm, files, fields)
    tokenizer, document = opened.tokenizer, contents.document
    if isinstance(tokenizer, HuggingFaceTokenizer) and document and model_type(document) == "WordPiece":
        fields = wordpiece_data(document, ids=tokenizer.spelled_ids)
        return TokenizerData(name, opened, "WordPiece", files, fields)
    if isinstance(tokenizer, HuggingFaceTokenizer) and document and is_of_characters(document):
        fields = character_document_data(document, ids=tokenizer.spelled_ids)
        return TokenizerData(name, opened, "BPE over characters", files, fields)
    if document and model_type(document) == "Unigram":
        return TokenizerData(name, opened, "Unigram", files, unigram_document_data(tokenizer))
    if document and contents.is_byte_level:
        fields = document_data(_byte_level(document, opened), document)
        return TokenizerData(name, opened, "byte-level BPE", files, fields)
    raise PageError(
        f"the page cannot run {opened.tokenizer.info.name!r}: {opened.composition.model}",
        hint=_HINT,
    )


def _byte_level(document: Mapping[str, Any], opened: Opened) -> ParsedBpe:
    """Parse a `tokenizer.json` with any added tokens as a byte-level BPE. Raises `PageError` if it is none."""
    try:
        return parse_byte_level_bpe(document, path=opened.source.path)
    except (NotNativeError, ModelFormatError) as error:
        raise PageError(f"the page cannot run {opened.tokenizer.info.name!r}: {error}", hint=_HINT) from None


def _files_of(opened: Opened) -> Iterator[SourceFile]:
    """Yield the files that the tokenizer was read from; for a saved one its manifest, which hashes the others."""
    source = opened.source
    for path in source.files or (source.path / MANIFEST_NAME,):
        yield SourceFile(path.name, sha256(path.read_bytes()).hexdigest())
