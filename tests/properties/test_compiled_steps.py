"""Splitting steps compiled into one pattern: the kernel finds the pre-tokens that the steps make, one after another."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.byte_level_documents import BYTE_LEVEL, DIGITS, LLAMA3, RUNS_OF_DIGITS, SPLITTING, split
from support.texts import REPRESENTATIVES, all_characters

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.opening.compiled_steps import compiled_steps
from tokbench.opening.split_steps import SplitSteps, byte_masks, split_steps
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.opening.word_fallback.splitting import Splitter

if TYPE_CHECKING:
    from tokbench.native._bpe import CompiledPattern

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")

PUNCTUATION = {"type": "Punctuation", "behavior": "Isolated"}
RUNS_OF_PUNCTUATION = {"type": "Punctuation", "behavior": "Contiguous"}
AS_ONE = {
    "deepseek-v3": SPLITTING["deepseek-v3"]["pretokenizers"],
    "starcoder": SPLITTING["starcoder"]["pretokenizers"],
    "bloom": SPLITTING["bloom"]["pretokenizers"],
    "digits before llama3": [split(r"\p{N}{1,3}"), split(LLAMA3), BYTE_LEVEL | {"use_regex": False}],
    "runs of digits and punctuation": [RUNS_OF_DIGITS, RUNS_OF_PUNCTUATION, BYTE_LEVEL],
    "no last expression": [PUNCTUATION, DIGITS, split(r"\s"), BYTE_LEVEL | {"use_regex": False}],
}
"""Steps of well-known models and similar ones that become one pattern."""


RUNS = [r"\p{N}", "[0-9]", r"\s", "[゠-ヿ]", r"[\p{L}\p{N}]", "[\r\n]", r"\p{P}", "a", "[^a-z]"]
ALTERNATIVES = [
    *[
        "'(?:[st]|re)",
        r" ?\p{L}+",
        r" ?\p{N}+",
        r" ?[^\s\p{L}\p{N}]+",
        r"\s+(?!\S)",
        r"\s",
        r"\s++$",
        r"\s+$",
    ],
    *[r"[^\r\n\p{L}\p{N}]?\p{L}+", r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+"],
    *[r"[.,]?[A-Za-z]+", r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+", r"(?:\p{Lu}\p{Ll}*|\p{Ll}+)(?:'s)?"],
    *[
        r"\p{L}+(?=\s)",
        r"\p{L}+(?!\p{N})",
        "a(?=1)",
        r"\d+?\p{L}",
        "[ア・]{2}",
        r"(?:ア|ー?)(?:1|・)a",
        r"\w(?:$|\n)",
    ],
    *[r"[\x00ー\s]*\p{L}", r"[\x00 ]{1,2}(?:a|\p{Lu})+", "[^a]a", "[^a1]a*1", ".", r"\S+", r"[\s\S]"],
]
sets = st.sampled_from(
    [*RUNS, r"\p{L}", r"\p{Lu}", r"\S", r"\w", r"\W", ".", " ", r"\n", "[a1ア]", r"[^\s\p{L}\p{N}]"]
)
counts = st.sampled_from(["", "", "", "+", "*", "?", "++", "{1,2}", "{2}", "*?", "??"])
item = st.tuples(sets, counts).map("".join) | st.sampled_from(["(?!%s)", "(?=%s)"]).flatmap(
    lambda ahead: sets.map(lambda each: ahead % each)
)
choice = st.sampled_from(ALTERNATIVES) | st.lists(item, min_size=1, max_size=3).map("".join)
run = st.tuples(st.sampled_from(RUNS), st.sampled_from(["", "+", "++", "{1,3}", "{1,2}"])).map("".join)
few_steps = st.tuples(
    st.lists(
        st.builds(
            split,
            st.lists(run, min_size=1, max_size=2).map("|".join),
            st.sampled_from(["Isolated", "Isolated", "Contiguous"]),
            invert=st.booleans(),
        ),
        max_size=3,
    ),
    st.builds(
        split,
        st.lists(choice, min_size=1, max_size=6).map("|".join),
        st.sampled_from(["Isolated", "Isolated", "Contiguous", "Removed"]),
        invert=st.just(value=True),
    )
    | st.just(BYTE_LEVEL),
).map(lambda steps: [*steps[0], steps[1]])
few_texts = st.text("aA1 2\n\r\t.,'\x00\u3000\u0301アー・", max_size=12)


def steps_of(pre_tokenizers: list[dict[str, Any]]) -> SplitSteps:
    maps_to_bytes = any(each["type"] == "ByteLevel" for each in pre_tokenizers)
    return split_steps(pre_tokenizers, maps_to_bytes=maps_to_bytes)


@cache
def made(name: str) -> tuple[Splitter, CompiledPattern | None]:
    splitting = steps_of(AS_ONE[name])
    return Splitter(splitting), compiled_steps(splitting, splitting.sets.masks())


def ends_by_steps(splitter: Splitter, text: str) -> list[int]:
    return list(accumulate(len(word.encode()) for _, word in splitter.words(text)))


def ends_by_kernels_steps(splitting: SplitSteps, text: str) -> list[int]:
    from tokbench.native._bpe import PreparedEncoder

    masks = splitting.sets.masks()
    encoder = PreparedEncoder(
        [bytes([byte]) for byte in range(256)],
        None,
        whole_tokens_first=False,
        pattern=None,
        added=([], []),
        added_with_specials=([], []),
        steps=splitting.rows(),
        sets=masks,
        byte_sets=byte_masks(masks),
        marks_ends=False,
        makes_nfc=False,
    )
    return list(accumulate(map(len, encoder.pretokens(text.encode()))))


def ends_as_one(compiled: CompiledPattern | None, text: str) -> list[int]:
    from tokbench.native import _bpe

    assert compiled is not None
    ends: list[int] = _bpe.split(compiled, text.encode()).tolist()
    return ends


KINDS = "".join(
    [
        REPRESENTATIVES,
        "0\u00b2\u3007",  # more digits and numbers
        "一龥\u9fa6゠\u3040\u3097\u3099\u309b・ーア\u30ff\u3005한",  # at the ends of ranges; some no letters
        '$+<=>^`|~!"#%&()*,-:;?@[\\]{}\u2019\u3002¿\u00ab\u20ac',  # punctuation and symbols
        "\x00\x1b\u00ad\u200d\u2028\u2029\ufeff",  # control and format characters
        "\ue000\U000e0001\u0378\U0010ffff",  # characters of private use, and unassigned ones
    ]
)
texts = st.text(st.sampled_from(KINDS) | st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.mark.parametrize("name", AS_ONE)
@given(text=texts | few_texts)
def test_steps_of_models_as_one(name: str, text: str) -> None:
    splitter, compiled = made(name)
    assert ends_as_one(compiled, text) == ends_by_steps(splitter, text)


@given(pre_tokenizers=few_steps, samples=st.lists(few_texts, min_size=5, max_size=10))
def test_any_steps_as_one(pre_tokenizers: list[dict[str, Any]], samples: list[str]) -> None:
    try:
        splitting = steps_of(pre_tokenizers)
    except NotNativeError:
        return  # a pattern may match the empty string
    compiled = compiled_steps(splitting, splitting.sets.masks())
    if compiled is None:
        return
    splitter = Splitter(splitting)
    for text in samples:
        assert ends_as_one(compiled, text) == ends_by_steps(splitter, text)


@pytest.mark.slow
@pytest.mark.parametrize("context", ["a{0} {0}1 ア{0}\n", "\x00{0}{0}・{0}.{0}a"])
def test_every_character_in_the_steps_of_deepseek_as_one(context: str) -> None:
    splitting = steps_of(AS_ONE["deepseek-v3"])
    compiled = made("deepseek-v3")[1]
    for first in range(0, len(all_characters()), 1 << 16):
        text = "".join(map(context.format, all_characters()[first : first + (1 << 16)]))
        assert ends_as_one(compiled, text) == ends_by_kernels_steps(splitting, text)
