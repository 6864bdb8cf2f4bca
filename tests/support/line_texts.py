"""Texts and rules for pieces, for comparing the kernels of SentencePiece's algorithms."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tokbench.backends.sentencepiece.scripts import script_arrays

ALPHABETS = ("ab ", "abc  \n", "aあ漢1.9 \t", "ae\u0301é b1\n", "x\u2581 y\u2585\0z\r\n")

texts = st.sampled_from(ALPHABETS).flatmap(
    lambda letters: st.lists(st.text(letters, max_size=80), min_size=1, max_size=5)
)
rules = st.fixed_dictionaries(
    {
        "longest": st.sampled_from([1, 2, 3, 16]),
        "split_by_script": st.booleans(),
        "split_by_number": st.booleans(),
        "split_by_whitespace": st.booleans(),
        "split_digits": st.booleans(),
        "whitespace_only": st.booleans(),
    }
)
spacings = st.fixed_dictionaries({"dummy_prefix": st.booleans(), "collapse": st.booleans()})


def counted_text(
    module: Any,
    texts: list[str],
    *,
    rules: dict[str, Any],
    spacing: dict[str, bool],
    coverage: float = 1.0,
    required: tuple[int, ...] = (),
    threads: int = 2,
    charsmap: bytes = b"",
) -> tuple[Any, tuple[Any, ...]]:
    """Return a kernel's segments of some texts, and the counts, alphabet and characters that it reports about them."""
    counter = module.WordCounter(
        **spacing, whole_lines=not rules["split_by_whitespace"], special_tokens=["bb"], threads=threads
    )
    counter.add_texts(texts)
    counter.finish()
    counted = (counter.words, counter.distinct)
    starts, scripts = script_arrays()
    text = module.training_text(
        counter,
        starts=starts,
        scripts=scripts,
        charsmap=charsmap,
        collapse=spacing["collapse"],
        symbols=["aba", "c1"],
        coverage=coverage,
        required=list(required),
        most_codes=1 << 31,
        **rules,
    )
    return text, (*counted, text.num_characters, text.distinct, text.alphabet, text.characters)
