"""The baseline `byte`: every byte is a token, and nothing is learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tokbench import store
from tokbench.core.base import utf8
from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.progress import no_progress
from tokbench.core.special_tokens import check_special_tokens
from tokbench.core.tokens import Encoded, Span, Token, TokenKind
from tokbench.errors import ModelFormatError
from tokbench.store.saveable import SaveableTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.core.manifest import Manifest
    from tokbench.core.progress import Progress
    from tokbench.core.tokens import EncodedSpans
    from tokbench.explain.derivation import Derivation

_NUM_BYTES = 256
_RETRAIN = "the folder is damaged: restore it, or train again"


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteConfig:
    """The options of the baseline `byte`. Raises `ConfigError` for an invalid option."""

    special_tokens: tuple[str, ...] = field(
        default=(), metadata={"help": "special tokens, numbered after the 256 bytes"}
    )

    def __post_init__(self) -> None:
        check_special_tokens(self.special_tokens)


class ByteTokenizer(SaveableTokenizer):
    """A tokenizer with one token for every byte: the id is the byte's value. It is lossless and the least compact."""

    def __init__(self, *, name: str = "byte", special_tokens: Sequence[str] = ()) -> None:
        ids = {text: id for id, text in enumerate(special_tokens, start=_NUM_BYTES)}
        info = TokenizerInfo(
            name=name,
            backend="byte",
            vocab_size=_NUM_BYTES + len(ids),
            special_tokens=ids,
            lossless=True,
            kernel="python",
        )
        super().__init__(info)

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text."""
        return list(utf8(text))

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        """Yield the tokens of a text, treating special tokens as ordinary text; spans are relative to its start."""
        for position, byte in enumerate(utf8(text)):
            yield Token(byte, bytes([byte]), Span(position, position + 1), TokenKind.NORMAL)

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """Return the tokens of many texts with their spans, in arrays. Raises `TextError` for surrogates."""
        import numpy as np

        from tokbench.core.token_arrays import PieceTable, TiledSpans, offsets_of

        del threads
        parts = [utf8(text) for text in texts]
        ids = np.frombuffer(b"".join(parts), np.uint8).astype(np.uint32)
        encoded = Encoded(ids=ids, offsets=offsets_of(list(map(len, parts))))
        return TiledSpans(encoded, PieceTable.of([bytes([byte]) for byte in range(_NUM_BYTES)]))

    def derivation(self, text: str) -> Derivation:
        """Return the single step from a text to its ids: the lookup of every byte. Raises `TextError`."""
        from tokbench.explain.causes import ByDefinition, Symbol
        from tokbench.explain.derivation import Derivation, LookupTrace, Step
        from tokbench.explain.pretokens import PreToken

        data, rule = utf8(text), "every byte is a token"
        tokens = tuple(Symbol(byte, bytes([byte])) for byte in data)
        trace = LookupTrace(rule, tokens, (ByDefinition(rule),) * max(len(tokens) - 1, 0))
        steps = (Step(PreToken(text, Span(0, len(data))), trace),) if text else ()
        return Derivation("bytes, nothing is learned", text, (), "nothing splits the text", steps)

    def ordinary_bytes(self, id: int) -> bytes | None:
        """Return the bytes of a token that is not special, or None if the vocabulary has no such id."""
        return bytes([id]) if id < _NUM_BYTES else None

    def token_id(self, piece: bytes) -> int | None:
        """Return the id of a token, or None; a special token is looked up by the bytes of its text."""
        if len(piece) == 1:
            return piece[0]
        return next((id for id, text in self._special_bytes.items() if text == piece), None)

    def description(self) -> ByteLevelBpe:
        """Return the components of the tokenizer: a byte-level BPE without merges."""
        from tokbench.core.descriptions import ByteLevelBpe

        return ByteLevelBpe(
            tokens=tuple(bytes([byte]) for byte in range(_NUM_BYTES)),
            merges=(),
            pattern=None,
            pattern_name="none",
            special_tokens=self.info.special_tokens,
        )

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens. Raises `StoreError`."""
        self.write(directory, {}, overwrite=overwrite, config={"special_tokens": list(self._special_ids)})


class ByteBackend:
    """The registered backend "byte"; see `tokbench.core.interfaces.Backend`."""

    name: ClassVar[str] = "byte"
    summary: ClassVar[str] = "a baseline: every byte is a token, nothing is learned"
    kernel: ClassVar[str] = "python"
    config_type: ClassVar[type[ByteConfig]] = ByteConfig

    def train(
        self, documents: Iterable[str], config: ByteConfig, *, progress: Progress = no_progress
    ) -> ByteTokenizer:
        """Return a tokenizer of the 256 bytes; the documents are not read, as there is nothing to learn."""
        del documents, progress
        return ByteTokenizer(special_tokens=config.special_tokens)

    def load(self, directory: Path, manifest: Manifest) -> ByteTokenizer:
        """Open a folder that `ByteTokenizer.save` wrote. Raises `ModelFormatError`."""
        store.read_files(directory, manifest)
        specials = sorted(manifest.special_tokens, key=manifest.special_tokens.__getitem__)
        tokenizer = ByteTokenizer(name=manifest.name, special_tokens=specials)
        if tokenizer.info.special_tokens != manifest.special_tokens:
            raise ModelFormatError(
                directory / store.MANIFEST_NAME,
                "special tokens from id 256 on",
                "different ones",
                hint=_RETRAIN,
            )
        tokenizer.verify_against(manifest, path=directory)
        return tokenizer
