"""The catalogue of metrics: name, definition, direction, and the counts from which each is computed.

A figure is a ratio of sums, unless stated otherwise. A ratio without a denominator is None.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tokbench.core.wording import near_names
from tokbench.errors import ConfigError
from tokbench.metrics.metric import (
    Metric,
    average_rank,
    ratio,
    renyi_efficiency,
    shannon_efficiency,
    utilization,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.metrics.metric import Tally
    from tokbench.metrics.vocabulary import Vocabulary


def metric_named(name: str, *, others: Iterable[str] = ()) -> Metric:
    """Look up a metric by name. Raises `ConfigError` with the most similar names, also from `others`."""
    if name in METRICS:
        return METRICS[name]
    names = [*METRICS, *others]
    near = near_names(name, names, most=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"available: {', '.join(names)}"
    raise ConfigError(f"there is no metric {name!r}", hint=hint)


def metrics_named(names: Iterable[str]) -> tuple[Metric, ...]:
    """Look up metrics by name, in order and without duplicates. Raises `ConfigError`."""
    return tuple(metric_named(name) for name in dict.fromkeys(names))


# --- figures that are not ratios of counts --------------------------------------------------------


def _of_frequencies(
    figure: Callable[[NDArray[np.int64]], float | None], tally: Tally, _: Vocabulary
) -> float | None:
    return None if tally.frequencies is None else figure(tally.frequencies)


def _reachable_utilization(tally: Tally, vocabulary: Vocabulary) -> float | None:
    return None if tally.frequencies is None else utilization(tally.frequencies, among=~vocabulary.special)


def _single_token_types(tally: Tally, _: Vocabulary) -> float | None:
    distinct, whole = tally.words
    return ratio(whole, distinct)


# --- all of them ----------------------------------------------------------------------------------

_compression = partial(Metric, theme="compression")
_vocabulary = partial(Metric, theme="vocabulary")
_fidelity = partial(Metric, theme="fidelity")
_numbers = partial(Metric, theme="numbers")
_code = partial(Metric, theme="code")

_ALL = (
    _compression(
        name="bytes_per_token",
        title="bytes/token",
        meaning="UTF-8 bytes over tokens: the compression",
        direction="higher",
        unit="bytes/token",
        numerator=("bytes",),
        denominator=("tokens",),
    ),
    _compression(
        name="chars_per_token",
        title="chars/token",
        meaning="code points over tokens",
        direction="higher",
        unit="characters/token",
        numerator=("chars",),
        denominator=("tokens",),
    ),
    _compression(
        name="tokens_per_word",
        title="tokens/word",
        meaning="tokens over words (fertility); in scripts without spaces, each letter is a word",
        direction="lower",
        unit="tokens/word",
        numerator=("tokens",),
        denominator=("words",),
    ),
    _compression(
        name="tokens_per_line",
        title="tokens/line",
        meaning="tokens over lines",
        direction="lower",
        unit="tokens/line",
        numerator=("tokens",),
        denominator=("lines",),
    ),
    _compression(
        name="split_word_rate",
        title="split words",
        meaning="share of words touched by two or more tokens",
        direction="lower",
        numerator=("split_words",),
        denominator=("words",),
    ),
    _compression(
        name="single_token_word_types",
        title="whole words",
        meaning="share of distinct words that are always one token; counted within each group, and not compared",
        direction="higher",
        compute=_single_token_types,
    ),
    _vocabulary(
        name="character_coverage",
        title="coverage",
        meaning="share of letters, marks and numbers within a single token that is neither unknown nor byte fallback",
        direction="higher",
        numerator=("covered_chars",),
        denominator=("language_chars",),
    ),
    _vocabulary(
        name="vocab_coverage",
        title="covered bytes",
        meaning="share of the text's bytes that are not dropped or encoded as unknown or byte-fallback tokens",
        direction="higher",
        numerator=("uncovered_bytes",),
        denominator=("bytes",),
        complement=True,
    ),
    _vocabulary(
        name="unk_rate",
        title="UNK",
        meaning="unknown tokens over tokens",
        direction="lower",
        numerator=("unknown_tokens",),
        denominator=("tokens",),
    ),
    _vocabulary(
        name="byte_fallback_rate",
        title="fallback",
        meaning="byte-fallback tokens (one byte of a character that has no token) over tokens",
        direction="lower",
        numerator=("fallback_tokens",),
        denominator=("tokens",),
    ),
    _vocabulary(
        name="byte_token_rate",
        title="lone bytes",
        meaning="single-byte tokens outside ASCII, over tokens",
        direction="lower",
        numerator=("lone_byte_tokens",),
        denominator=("tokens",),
    ),
    _vocabulary(
        name="vocab_utilization",
        title="used",
        meaning="share of the vocabulary that occurred; it grows with the text, and is not compared",
        direction="higher",
        compute=partial(_of_frequencies, utilization),
    ),
    _vocabulary(
        name="reachable_utilization",
        title="used of reachable",
        meaning="share of the reachable vocabulary (without special tokens and gaps) that occurred; not compared",
        direction="higher",
        compute=_reachable_utilization,
    ),
    _vocabulary(
        name="shannon_efficiency",
        title="Shannon",
        meaning="entropy of the tokens over log2 of the vocabulary size",
        direction="higher",
        compute=partial(_of_frequencies, shannon_efficiency),
        of_frequencies=True,
    ),
    _vocabulary(
        name="renyi_efficiency",
        title="Rényi",
        meaning="Rényi entropy of order 2.5 over log2 of the vocabulary size (Zouhar et al. 2023)",
        direction="higher",
        compute=partial(_of_frequencies, renyi_efficiency),
        of_frequencies=True,
    ),
    _vocabulary(
        name="average_rank",
        title="mean rank",
        meaning="mean frequency rank over all token occurrences",
        direction="neither",
        unit="rank",
        compute=partial(_of_frequencies, average_rank),
    ),
    _fidelity(
        name="roundtrip_rate",
        title="round trip",
        meaning="share of documents that decode to themselves",
        direction="higher",
        numerator=("roundtrips",),
        denominator=("documents",),
    ),
    _fidelity(
        name="character_error_rate",
        title="lost chars",
        meaning="edits between the text and its decoded ids over its characters, at most all; an unknown token is an "
        "edit of each character that it replaces; of the first megabytes",
        direction="lower",
        numerator=("error_chars",),
        denominator=("decoded_chars",),
    ),
    _fidelity(
        name="id_stability",
        title="stable ids",
        meaning="share of documents whose decoded text is encoded as the same ids; of the first megabytes",
        direction="higher",
        numerator=("stable",),
        denominator=("checked_for_stability",),
    ),
    _fidelity(
        name="whitespace_fidelity",
        title="white space kept",
        meaning="share of documents that decode with the same white space between the same number of words",
        direction="higher",
        numerator=("whitespace_kept",),
        denominator=("documents",),
    ),
    _fidelity(
        name="indentation_fidelity",
        title="indentation kept",
        meaning="share of indented lines that decode with the same indentation",
        direction="higher",
        numerator=("indentation_lost",),
        denominator=("indented_lines",),
        complement=True,
    ),
    _fidelity(
        name="incomplete_utf8_token_rate",
        title="incomplete",
        meaning="tokens whose bytes are not complete characters, over tokens",
        direction="lower",
        numerator=("incomplete_tokens",),
        denominator=("tokens",),
    ),
    _fidelity(
        name="split_char_rate",
        title="cut chars",
        meaning="share of multi-byte characters that are split across two or more tokens",
        direction="lower",
        numerator=("cut_chars",),
        denominator=("multibyte_chars",),
    ),
    _numbers(
        name="digit_boundary_f1",
        title="digit groups",
        meaning="F1 of the boundaries inside numbers compared with groups of three digits from the right",
        direction="neither",
        numerator=("digit_hits", "digit_hits"),
        denominator=("digit_cuts", "digit_boundaries"),
    ),
    _numbers(
        name="whole_number_rate",
        title="whole numbers",
        meaning="share of numbers of one to three digits that are one token",
        direction="higher",
        numerator=("whole_short_numbers",),
        denominator=("short_numbers",),
    ),
    _numbers(
        name="tokens_per_number",
        title="tokens/number",
        meaning="tokens that touch a number, over numbers",
        direction="neither",
        unit="tokens/number",
        numerator=("number_tokens",),
        denominator=("numbers",),
    ),
    _code(
        name="identifier_precision",
        title="identifier precision",
        meaning="share of the boundaries inside identifiers of program code at camelCase or snake_case boundaries",
        direction="higher",
        numerator=("identifier_hits",),
        denominator=("identifier_cuts",),
    ),
    _code(
        name="identifier_recall",
        title="identifier recall",
        meaning="share of camelCase and snake_case boundaries in identifiers of program code that are token boundaries",
        direction="neither",
        numerator=("identifier_hits",),
        denominator=("identifier_boundaries",),
    ),
    _code(
        name="identifier_alignment",
        title="identifiers",
        meaning="F1 of the boundaries inside identifiers of program code at camelCase and snake_case boundaries",
        direction="higher",
        numerator=("identifier_hits", "identifier_hits"),
        denominator=("identifier_cuts", "identifier_boundaries"),
    ),
    _code(
        name="operator_isolation",
        title="operators",
        meaning="share of multi-character operators that are exactly one token",
        direction="higher",
        numerator=("isolated_operators",),
        denominator=("operators",),
    ),
    _code(
        name="indentation_tokens_per_line",
        title="indentation",
        meaning="tokens that touch a line's indentation, over indented lines",
        direction="lower",
        unit="tokens/line",
        numerator=("indentation_tokens",),
        denominator=("indented_lines",),
    ),
)

METRICS = {metric.name: metric for metric in _ALL}
