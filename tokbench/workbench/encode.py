"""Encode texts to ids and tokens."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import tokenizer_fields
from tokbench.core.sampling import sample_ids, sample_segmentation
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import unique_names
from tokbench.errors import SpecialTokenError, TextError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.core.sampling import Sampling
    from tokbench.core.tokens import Segmentation
    from tokbench.corpus.inputs import TextInput


@dataclass(frozen=True, slots=True)
class EncodeResult:
    """The tokens of one text."""

    source: str
    info: TokenizerInfo
    segmentation: Segmentation

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        tokens = self.segmentation.tokens
        return {
            "schema": "tokbench.encode/1",
            "source": self.source,
            **tokenizer_fields(self.info),
            "ids": self.segmentation.ids,
            "tokens": [token.piece.decode(errors="replace") for token in tokens],
            "spans": [list(token.span) for token in tokens],
        }


def encode_texts(
    tokenizer: Tokenizer,
    inputs: Iterable[TextInput],
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    sampling: Sampling | None = None,
) -> Iterator[EncodeResult]:
    """Segment each text into tokens, at random if `sampling` is given.

    Raises:
        SpecialTokenError, TextError: as `Tokenizer.segment`.
        ConfigError: the tokenizer cannot sample.
    """
    for item in inputs:
        with naming_place(item):
            segmentation = segment(tokenizer, item.text, special=special, sampling=sampling)
        yield EncodeResult(source=item.source, info=tokenizer.info, segmentation=segmentation)


def encode_ids(
    tokenizer: Tokenizer,
    inputs: Iterable[TextInput],
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    sampling: Sampling | None = None,
) -> Iterator[list[int]]:
    """Yield the ids of each text; otherwise as `encode_texts`."""
    for item in inputs:
        with naming_place(item):
            ids = (
                tokenizer.encode(item.text, special=special)
                if sampling is None
                else sample_ids(tokenizer, item.text, sampling, special=special)
            )
        yield ids


@contextmanager
def naming_place(item: TextInput) -> Iterator[None]:
    """Add the file and line of the text to a `SpecialTokenError`, and the file to a `TextError`."""
    try:
        yield
    except TextError as error:
        if item.is_argument:
            raise
        raise TextError(f"{item.source}: {error.message}", hint=error.hint) from None
    except SpecialTokenError as error:
        place = item.place(error.span.start)
        raise SpecialTokenError(error.token, error.span, place=place) from None


def segment(
    tokenizer: Tokenizer, text: str, *, special: SpecialPolicy, sampling: Sampling | None
) -> Segmentation:
    """Segment one text, at random if `sampling` is given. Raises as `encode_texts`."""
    if sampling is None:
        return tokenizer.segment(text, special=special)
    return sample_segmentation(tokenizer, text, sampling, special=special)


def distinct_infos(tokenizers: Sequence[Tokenizer]) -> list[TokenizerInfo]:
    """Return the infos of tokenizers with distinct names."""
    infos = [tokenizer.info for tokenizer in tokenizers]
    names = unique_names([info.name for info in infos])
    return [replace(info, name=name) for info, name in zip(infos, names, strict=True)]
