"""Compare model input: templates, truncation, padding and special tokens, for one text and for two."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Protocol

from tokbench.convert.disagreement import Disagreement, failure_of, shrink
from tokbench.convert.proof_texts import corpus_texts, generated_texts, special_texts
from tokbench.core.post_processing import input_of, model_input
from tokbench.core.tokens import ModelInput, SpecialPolicy
from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.core.descriptions import PostProcessing
    from tokbench.core.interfaces import Tokenizer

# Many more texts are compared by their bare ids: here the ids before, between and after them matter.
_TEXT_STEP = 11
_SPECIAL_TEXTS = 300
_MOST_CHARACTERS = 300
_WAYS = ("ids", "type ids", "attention mask")


class GivesInput(Protocol):
    """A call of a library that returns model input."""

    def __call__(self, text: str, pair: str | None, /) -> ModelInput:
        """Return the model input of one text, or of two; rows that the call does not return are empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputCall:
    """A way to ask a library for the model input of a text.

    Attributes:
        name: the call, as messages show it.
        call: the function.
        template: whether the special tokens of the template are added.
        limits: whether texts are truncated and padded.
        special: how special tokens in the texts are treated.
        done: the expected post-processing, if it is not the source's.
    """

    name: str
    call: GivesInput
    template: bool = True
    limits: bool = True
    special: SpecialPolicy = SpecialPolicy.ENCODE
    done: PostProcessing | None = None

    def expected(self, source: Tokenizer, text: str, pair: str | None) -> ModelInput:
        """Return the expected model input. Raises `TextError` for texts that cannot be truncated as requested."""
        if self.done is None:
            return input_of(
                source, text, pair, special=self.special, template=self.template, limits=self.limits
            )
        ids = [
            source.encode(part, special=self.special) for part in ([text] if pair is None else [text, pair])
        ]
        return model_input(self.done, ids, template=self.template, limits=self.limits)


@dataclass(frozen=True, slots=True)
class ComparedInputs:
    """The result of a comparison.

    Attributes:
        count: the number of texts and pairs of texts compared.
        disagreement: the smallest difference found, or None.
    """

    count: int
    disagreement: Disagreement | None


def compare_inputs(source: Tokenizer, calls: Sequence[InputCall], texts: Iterable[str]) -> ComparedInputs:
    """Compare the model input of a tokenizer with the result of each call of a library.

    Args:
        source: the reference tokenizer.
        calls: the calls of the library.
        texts: the texts to compare on, each alone and together with the one before it.

    Returns:
        The number of comparisons, and the first difference.
    """
    count = 0
    if not calls:
        return ComparedInputs(0, None)
    for text, pair in _texts_and_pairs(list(texts)):
        for call in calls:
            count += 1
            found = _difference(source, call, text, pair)
            if found is not None:
                return ComparedInputs(count, _smallest(source, call, found))
    return ComparedInputs(count, None)


def input_texts(special: Sequence[str], *, seed: int) -> Iterator[str]:
    """Yield texts with special tokens, some generated texts of each kind, and a long text to be truncated."""
    texts = list(special_texts(special, seed=seed))
    yield from texts[:: -(-len(texts) // _SPECIAL_TEXTS) or 1]
    yield from islice(generated_texts(special, seed=seed), 0, None, _TEXT_STEP)
    bundled = list(corpus_texts())
    yield from (text[:_MOST_CHARACTERS] for text in bundled)
    yield max(bundled, key=len)


def _texts_and_pairs(texts: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each text alone, and with the one before it; some libraries ignore an empty second text."""
    yield from ((text, None) for text in texts)
    yield from ((text, pair) for pair, text in pairwise(chain(texts, texts[:1])) if pair)


def _difference(source: Tokenizer, call: InputCall, text: str, pair: str | None) -> Disagreement | None:
    try:
        expected = call.expected(source, text, pair)
    except TokbenchError:  # the text cannot be truncated as the file asks: the library fails, too
        return None
    try:
        found: ModelInput | str = call.call(text, pair)
    except BaseException as error:
        found = failure_of(error)
    if isinstance(found, str):
        return Disagreement("ids", text, expected.ids, found, pair=pair, call=call.name)
    for number, (way, expected_row, found_row) in enumerate(zip(_WAYS, expected, found, strict=True)):
        if expected_row != found_row and (number == 0 or found_row):
            return Disagreement(way, text, expected_row, found_row, pair=pair, call=call.name)
    return None


def _smallest(source: Tokenizer, call: InputCall, found: Disagreement) -> Disagreement:
    """Reduce the first text of a difference as far as possible, then the second one."""

    def difference(text: str, pair: str | None) -> Disagreement | None:
        return _difference(source, call, text, pair)

    text, pair = found.text, found.pair
    text = shrink(text, lambda shorter: difference(shorter, pair) is not None)
    if pair is not None:
        pair = shrink(pair, lambda shorter: difference(text, shorter) is not None)
    return difference(text, pair) or found
