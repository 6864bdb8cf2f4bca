"""The calls of transformers that give what a model gets, as they are proved."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tokbench.convert.proof_inputs import InputCall
from tokbench.core.tokens import ModelInput, SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokbench.core.descriptions import PostProcessing

_ROWS = ("input_ids", "token_type_ids", "attention_mask")
_STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}


def input_calls(tokenizer: Any, *, done: PostProcessing, special_as_text: bool) -> Iterator[InputCall]:
    """The calls that people write.

    Args:
        tokenizer: the folder as `AutoTokenizer` opens it.
        done: what it has to do to the ids of a text.
        special_as_text: whether the folder says that special tokens in a text are ordinary text.
    """
    policy = SpecialPolicy.TEXT if special_as_text else SpecialPolicy.ENCODE

    def called(text: str, pair: str | None, **options: Any) -> ModelInput:
        with quiet():
            found = tokenizer(text, pair, return_token_type_ids=True, verbose=False, **options)
        return ModelInput(*(tuple(found[name]) for name in _ROWS))

    def encoded(text: str, pair: str | None) -> ModelInput:
        return ModelInput(tuple(tokenizer.encode(text, pair, verbose=False)), (), ())

    yield InputCall(name="tokenizer(text)", call=called, limits=False, special=policy, done=done)
    yield InputCall(name="tokenizer.encode(text)", call=encoded, limits=False, special=policy, done=done)
    yield InputCall(
        name="tokenizer(text, add_special_tokens=False)",
        call=partial(called, add_special_tokens=False),
        template=False,
        limits=False,
        special=policy,
        done=done,
    )
    if done.truncation is not None or done.padding is not None:
        yield InputCall(
            name="tokenizer.pad(tokenizer(text, truncation=True))",
            call=partial(_limited, called, tokenizer, done),
            special=policy,
            done=done,
        )


def _limited(
    called: Callable[..., ModelInput],
    tokenizer: Any,
    done: PostProcessing,
    text: str,
    pair: str | None,
) -> ModelInput:
    """What a model gets where the caller asks to cut and to fill up as the source does."""
    options: dict[str, Any] = {}
    if done.truncation is not None:
        options = {"truncation": _STRATEGIES[done.truncation.strategy], "stride": done.truncation.stride}
        if tokenizer.model_max_length != done.truncation.max_length:
            options["max_length"] = done.truncation.max_length
    found = called(text, pair, **options)
    if done.padding is None:
        return found
    with quiet():
        filled = tokenizer.pad(
            dict(zip(_ROWS, map(list, found), strict=True)),
            padding=True if done.padding.length is None else "max_length",
            max_length=done.padding.length,
            pad_to_multiple_of=done.padding.multiple,
            verbose=False,
        )
    return ModelInput(*(tuple(filled[name]) for name in _ROWS))


@contextmanager
def quiet() -> Iterator[None]:
    """Without its advice that there is no PyTorch: tokenizers need none."""
    before = os.environ.get("TRANSFORMERS_NO_ADVISORY_WARNINGS")
    os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"]
        else:
            os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = before
