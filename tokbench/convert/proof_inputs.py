"""Comparing what a model gets: templates, truncation, padding and special tokens, for one text and for two."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Protocol

from tokbench.convert.disagreement import Disagreement, failure_of
from tokbench.convert.proof_texts import corpus_texts, generated_texts, special_texts
from tokbench.convert.shrinking import shrink
from tokbench.core.post_processing import input_of, model_input
from tokbench.core.tokens import ModelInput, SpecialPolicy
from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.core.descriptions import PostProcessing
    from tokbench.core.interfaces import Tokenizer

# The bare ids of many more texts are compared: here it is about what comes before, between and after them.
_EVERY = 11
_SPECIAL_TEXTS = 300
_BEGINNING = 300
_WAYS = ("ids", "type ids", "attention mask")


class GivesInput(Protocol):
    """A call of a library that gives what a model gets."""

    def __call__(self, text: str, pair: str | None, /) -> ModelInput:
        """What a model gets of one text, or of two; rows that the call does not tell are empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputCall:
    """One way to ask a library for what a model gets of a text.

    Attributes:
        name: the call, as messages spell it.
        call: it.
        template: whether the special tokens of the template are written.
        limits: whether texts are cut and filled up.
        special: what becomes of special tokens in the texts.
        done: what is to be done to the ids, where that is not what the source does.
    """

    name: str
    call: GivesInput
    template: bool = True
    limits: bool = True
    special: SpecialPolicy = SpecialPolicy.ENCODE
    done: PostProcessing | None = None

    def expected(self, source: Tokenizer, text: str, pair: str | None) -> ModelInput:
        """What the call has to give. Raises `TextError` for texts that cannot be cut as is asked."""
        if self.done is None:
            return input_of(
                source, text, pair, special=self.special, template=self.template, limits=self.limits
            )
        ids = [
            source.encode(each, special=self.special) for each in ([text] if pair is None else [text, pair])
        ]
        return model_input(self.done, ids, template=self.template, limits=self.limits)


@dataclass(frozen=True, slots=True)
class ComparedInputs:
    """The result of a comparison.

    Attributes:
        count: texts and pairs of texts that were compared.
        disagreement: the smallest difference found, or None.
    """

    count: int
    disagreement: Disagreement | None


def compare_inputs(source: Tokenizer, calls: Sequence[InputCall], texts: Iterable[str]) -> ComparedInputs:
    """Compare what a model gets from a tokenizer with what each call of a library gives it.

    Args:
        source: the tokenizer that is right.
        calls: the ways to ask the library.
        texts: what to compare them on, alone and with the one before.

    Returns:
        What was compared, up to the first difference.
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
    """Texts in which special tokens stand, some of each generated kind, and a long one to be cut."""
    made = list(special_texts(special, seed=seed))
    yield from made[:: -(-len(made) // _SPECIAL_TEXTS) or 1]
    yield from islice(generated_texts(special, seed=seed), 0, None, _EVERY)
    bundled = list(corpus_texts())
    yield from (text[:_BEGINNING] for text in bundled)
    yield max(bundled, key=len)


def _texts_and_pairs(texts: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Each text alone, and with the one before it; a second text that is empty is none to some libraries."""
    yield from ((text, None) for text in texts)
    yield from ((text, pair) for pair, text in pairwise(chain(texts, texts[:1])) if pair)


def _difference(source: Tokenizer, call: InputCall, text: str, pair: str | None) -> Disagreement | None:
    try:
        expected = call.expected(source, text, pair)
    except TokbenchError:  # a text that cannot be cut as the file asks: the library fails on it, too
        return None
    try:
        found: ModelInput | str = call.call(text, pair)
    except BaseException as error:
        found = failure_of(error)
    if isinstance(found, str):
        return Disagreement("ids", text, expected.ids, found, pair=pair, call=call.name)
    for number, (way, one, other) in enumerate(zip(_WAYS, expected, found, strict=True)):
        if one != other and (number == 0 or other):
            return Disagreement(way, text, one, other, pair=pair, call=call.name)
    return None


def _smallest(source: Tokenizer, call: InputCall, found: Disagreement) -> Disagreement:
    """The difference on the smallest text, and then on the smallest second one."""

    def difference(text: str, pair: str | None) -> Disagreement | None:
        return _difference(source, call, text, pair)

    text, pair = found.text, found.pair
    text = shrink(text, lambda shorter: difference(shorter, pair) is not None)
    if pair is not None:
        pair = shrink(pair, lambda shorter: difference(text, shorter) is not None)
    return difference(text, pair) or found
