"""Show the tokens of a text under several tokenizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core import graphemes
from tokbench.core.argument_types import all_opened
from tokbench.core.result_json import token_fields, tokenizer_fields
from tokbench.core.sampling import sample_segmentation
from tokbench.core.tokens import ShownInNotebooks, SpecialPolicy
from tokbench.core.tokens_in_arrays import TokensInArrays, segment_as_read
from tokbench.core.wording import counted
from tokbench.errors import ConfigError
from tokbench.explain.assembling import explain, explain_as_read
from tokbench.workbench.encode import distinct_infos
from tokbench.workbench.explain_json import steps_fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.core.argument_types import GivenTokenizer
    from tokbench.core.graphemes import CutCluster
    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.core.sampling import Sampling
    from tokbench.core.tokens import Segmentation
    from tokbench.explain.derivation import Explanation


@dataclass(frozen=True, slots=True)
class VizTokenizer:
    """The tokens of a text under one tokenizer.

    Attributes:
        info: the tokenizer.
        segmentation: the tokens.
        explanation: how they were made, step by step; None if that was not requested.
    """

    info: TokenizerInfo
    segmentation: Segmentation
    explanation: Explanation | None = None

    @property
    def characters(self) -> int:
        """Code points of the text."""
        return len(self.segmentation.text)

    @property
    def num_bytes(self) -> int:
        """UTF-8 bytes of the text."""
        return len(self.segmentation.text.encode())

    @property
    def tokens(self) -> int:
        """Number of tokens, special ones included."""
        return len(self.segmentation.tokens)

    @property
    def bytes_per_token(self) -> float | None:
        """UTF-8 bytes of the text divided by its tokens, higher is better; None if there are no tokens."""
        return self.num_bytes / self.tokens if self.tokens else None

    def spans(self) -> Iterable[tuple[int, int]]:
        """Return the start and stop of each token."""
        tokens = self.segmentation.tokens
        return tokens.spans() if isinstance(tokens, TokensInArrays) else (token.span for token in tokens)

    def cut_clusters(self) -> tuple[CutCluster, ...]:
        """Return the grapheme clusters that token boundaries cut, in order; scans the whole text on each call."""
        return graphemes.cut_clusters(self.segmentation)

    def to_json(self) -> dict[str, Any]:
        """Return this part of the JSON document."""
        steps = {} if self.explanation is None else {"steps": steps_fields(self.explanation)}
        return {
            **tokenizer_fields(self.info),
            "characters": self.characters,
            "bytes": self.num_bytes,
            "tokens": self.tokens,
            "bytes_per_token": self.bytes_per_token,
            "segments": [
                {
                    "id": token.id,
                    **token_fields(token.piece),
                    "span": list(token.span),
                    "kind": token.kind.value,
                }
                for token in self.segmentation.tokens
            ],
            "cut_characters": [
                {
                    "text": cut.text,
                    "span": list(cut.span),
                    "boundaries": list(cut.boundaries),
                    "code_points": [f"U+{ord(character):04X}" for character in cut.text],
                }
                for cut in self.cut_clusters()
            ],
            **steps,
        }


@dataclass(frozen=True, slots=True)
class VizResult(ShownInNotebooks):
    """One text under one or several tokenizers, in the requested order."""

    text: str
    views: tuple[VizTokenizer, ...]

    def __repr__(self) -> str:
        """Return a short summary: the size of the text and its number of tokens under each tokenizer."""
        tokens = ", ".join(f"{view.info.name} {counted(view.tokens, 'token')}" for view in self.views)
        return f"<{counted(len(self.text), 'character')}: {tokens}>"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints, of the schema tokbench.viz/1."""
        return {
            "schema": "tokbench.viz/1",
            "text": self.text,
            "tokenizers": [view.to_json() for view in self.views],
        }


def visualise(
    tokenizers: Iterable[GivenTokenizer],
    text: str,
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    sampling: Sampling | None = None,
    steps: bool = False,
    as_read: bool = False,
) -> VizResult:
    """Segment a text with each tokenizer.

    Args:
        tokenizers: any tokenizers, or their paths and names; with `steps`, those that can explain themselves.
        text: the text.
        special: what the text of a special token becomes.
        sampling: how to segment at random; None for the deterministic segmentation of `encode`.
        steps: whether to record how each word became tokens.
        as_read: whether to derive and check steps only when they are read, see `explain_text`.

    Raises:
        StoreError, ModelFormatError: as `tokbench.load`, for paths and names.
        ConfigError: a tokenizer cannot sample or cannot explain its steps, or both options are given.
        SpecialTokenError: the text holds a special token under `SpecialPolicy.RAISE`.
        TextError: the text holds a lone surrogate.

    >>> from tokbench.workbench.open import load
    >>> result = visualise([load("default")], "the end", steps=True)
    >>> [step.pretoken.text for step in result.views[0].explanation.steps]
    ['the', ' end']
    """
    if steps and sampling is not None:
        raise ConfigError("a sampled segmentation has no known steps", hint="leave out dropout or the steps")
    given = all_opened(tokenizers)
    explain_it = explain_as_read if as_read else explain
    views = (
        VizTokenizer(
            info=info,
            segmentation=_segmented(tokenizer, text, special=special, sampling=sampling),
            explanation=explain_it(tokenizer, text, special=special) if steps else None,
        )
        for tokenizer, info in zip(given, distinct_infos(given), strict=True)
    )
    return VizResult(text=text, views=tuple(views))


def _segmented(
    tokenizer: Tokenizer, text: str, *, special: SpecialPolicy, sampling: Sampling | None
) -> Segmentation:
    if sampling is None:
        return segment_as_read(tokenizer, text, special=special)
    return sample_segmentation(tokenizer, text, sampling, special=special)
