"""A tokenizer that runs ranks on the `tiktoken` library, with spans in bytes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tokbench.core.base import utf8
from tokbench.core.descriptions import ByteLevelBpe
from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.tokens import Span, Token, TokenKind
from tokbench.errors import ConfigError, ConversionError
from tokbench.formats.tiktoken import to_encoding
from tokbench.store.saveable import SaveableTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import tiktoken

    from tokbench.core.token_arrays import PieceTable
    from tokbench.core.tokens import EncodedSpans
    from tokbench.explain.byte_level import ByteLevelExplainer
    from tokbench.explain.derivation import Derivation


class TiktokenTokenizer(SaveableTokenizer):
    """A tokenizer that wraps a `tiktoken.Encoding`; it is lossless, since every byte has a token.

    Tiktoken allows patterns that skip parts of a text. Encoding raises an error when this happens, because
    the tokens would not spell the text.

    Args:
        ranks: tokens with their ranks.
        name: the name that the user gives the tokenizer.
        pattern: the split pattern in tiktoken's dialect; None if a text is one pre-token.
        special_tokens: text → id.

    Raises:
        ConversionError: tiktoken does not accept them.
    """

    def __init__(
        self,
        ranks: Sequence[tuple[bytes, int]],
        *,
        name: str,
        pattern: str | None,
        special_tokens: Mapping[str, int],
    ) -> None:
        import tiktoken

        self._encoding = to_encoding(name, pattern=pattern, ranks=ranks, special_tokens=special_tokens)
        self._pattern = pattern
        self._ranks = dict(ranks)
        self._tokens = {rank: token for token, rank in ranks}
        super().__init__(
            TokenizerInfo(
                name=name,
                backend="bpe",
                vocab_size=self._encoding.max_token_value + 1,
                special_tokens=dict(special_tokens),
                lossless=True,
                kernel=f"tiktoken {tiktoken.__version__}",
            )
        )

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text. Raises `TextError`, `ConfigError`."""
        data = utf8(text)
        ids = self._encoded(text)
        if sum(len(self._tokens[id]) for id in ids) != len(data):
            raise ConfigError(
                "the split pattern leaves out parts of the text, and so does tiktoken",
                hint=r"end the pattern with an alternative that takes the rest, such as |\s+|.",
            )
        return ids

    def _encoded(self, text: str) -> list[int]:
        """Return the library's ids. Raises `ConfigError` if its regex engine gives up, as on a million spaces."""
        try:
            return self._encoding.encode_ordinary(text)
        except BaseException as error:  # a panic in Rust is no `Exception` in Python
            if type(error).__name__ != "PanicException":
                raise
            raise ConfigError(
                f"tiktoken cannot split a text of {len(text):,} characters by its pattern: {error}",
                hint="cut the text into shorter ones",
            ) from None

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        """Yield the tokens of a text, treating special tokens as ordinary text; spans are relative to its start."""
        start = 0
        for id in self.encode_ordinary(text):
            piece = self._tokens[id]
            yield Token(id, piece, Span(start, start + len(piece)), TokenKind.NORMAL)
            start += len(piece)

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """Return the tokens of many texts with their spans, in arrays. Raises `TextError`, `ConfigError`."""
        from tokbench.core.token_arrays import TiledSpans

        return TiledSpans(self.encode_batch(texts, threads=threads), self._piece_table)

    @cached_property
    def _piece_table(self) -> PieceTable:
        from tokbench.core.token_arrays import PieceTable

        return PieceTable.of([self._tokens.get(id, b"") for id in range(self.info.vocab_size)])

    def ordinary_bytes(self, id: int) -> bytes | None:
        """Return the bytes of a token that is not special, or None if the vocabulary has no such id."""
        return self._tokens.get(id)

    def token_id(self, piece: bytes) -> int | None:
        """Return the id of a token, or None; a special token is looked up by the bytes of its text."""
        special = {text: id for id, text in self._special_bytes.items()}
        return special.get(piece, self._ranks.get(piece))

    def to_tiktoken(self) -> tiktoken.Encoding:
        """Return the `tiktoken.Encoding` that the tokenizer runs on."""
        return self._encoding

    def derivation(self, text: str) -> Derivation:
        """Return the steps from a text to its ids, treating special tokens as ordinary text. Raises `TextError`."""
        utf8(text)
        return self._explainer.derivation(text, self._pretokens(text))

    @cached_property
    def _explainer(self) -> ByteLevelExplainer:
        from tokbench.explain.byte_level import ByteLevelExplainer

        return ByteLevelExplainer(self.description())

    def _pretokens(self, text: str) -> list[str]:
        """Split a text by the pattern with `regex`, since the library does not report its pre-tokens."""
        import regex

        from tokbench.formats.set_operations import without_set_operations

        if self._pattern is None:
            return [text] if text else []
        return [match.group() for match in regex.finditer(without_set_operations(self._pattern), text)]

    def description(self) -> ByteLevelBpe:
        """Return the components of the tokenizer; see `tokbench.core.descriptions`."""
        tokens = tuple(self._tokens.get(id) for id in range(self.info.vocab_size))
        return ByteLevelBpe(
            tokens=tokens,
            merges=None,
            pattern=self._pattern,
            pattern_name="custom",
            special_tokens=self.info.special_tokens,
            whole_tokens_first=True,
        )

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Raise `ConversionError`: only tokenizers that tokbench trained can be saved as a folder."""
        del directory, overwrite
        raise ConversionError(
            f"{self.info.name!r} was opened from ranks, so its merges are unknown",
            hint="`tokbench convert` writes it in other formats",
        )
