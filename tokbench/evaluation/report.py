"""A detailed report on one tokenizer: figures, token frequencies, vocabulary usage, numbers, robustness, costs."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.core.progress import no_progress
from tokbench.core.result_json import token_fields
from tokbench.core.tokens import ShownInNotebooks
from tokbench.core.wording import counted
from tokbench.corpus.scripts import COMMON, script_of_letter
from tokbench.evaluation.comparison_json import comparison_document
from tokbench.evaluation.costs import cost_document
from tokbench.evaluation.sweep import nested_merges
from tokbench.metrics.metric import LONGEST_NUMBER, frequency_deciles, length_histogram, ratio
from tokbench.metrics.robustness import edit_distance, rewritings
from tokbench.metrics.vocabulary import intermediate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.corpus_scan import CorpusFacts
    from tokbench.evaluation.costs import Cost
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.metrics.metric import Metric, Tally
    from tokbench.metrics.vocabulary import Vocabulary

_USED_SHOWN = 20

_LINES = 200


@dataclass(frozen=True, slots=True)
class Use:
    """A token of the vocabulary and its number of occurrences."""

    id: int
    piece: bytes
    count: int


@dataclass(frozen=True, slots=True)
class Numbers:
    """Counts of the numbers of one length in digits, and of the tokens that overlap them.

    Attributes:
        digits: length of the numbers.
        numbers: number of occurrences.
        tokens: number of tokens that overlap them.
        or_more: whether longer numbers are included, as in the last entry.
    """

    digits: int
    numbers: int
    tokens: int
    or_more: bool = False

    @property
    def label(self) -> str:
        """Label of the row: the length, with "+" if longer numbers are included.

        >>> Numbers(3, 1, 1).label, Numbers(16, 1, 1, or_more=True).label
        ('3', '16+')
        """
        return f"{self.digits}+" if self.or_more else f"{self.digits}"


@dataclass(frozen=True, slots=True)
class Report(ShownInNotebooks):
    """The report on one tokenizer.

    Attributes:
        comparison: figures and groups, as a comparison with a single tokenizer.
        most_used: the most frequent tokens.
        least_used: the rarest tokens among those that occurred.
        unused: number of ordinary tokens (neither special tokens nor gaps) that did not occur.
        deciles: deciles of the frequencies of the tokens that occurred.
        lengths: number of token occurrences by length in bytes; the last position includes all longer tokens.
        vocabulary_usage: use of the vocabulary by kind of token.
        intermediate_tokens: number of tokens that only feed other merges on this text; None if the merges are unknown.
        numbers: counts of numbers by their length.
        robustness: how the ids change when the text is rewritten.
        cost: cost for the described model.
    """

    comparison: Comparison
    most_used: tuple[Use, ...]
    least_used: tuple[Use, ...]
    unused: int
    deciles: tuple[int, ...] | None
    lengths: tuple[int, ...]
    vocabulary_usage: tuple[VocabularyPart, ...]
    intermediate_tokens: int | None
    numbers: tuple[Numbers, ...]
    robustness: tuple[Robustness, ...]
    cost: Cost

    def __repr__(self) -> str:
        """Return a short form with the tokenizer and the amount of text."""
        text = (
            f"{counted(self.comparison.documents, 'document')}, {counted(self.comparison.num_bytes, 'byte')}"
        )
        return f"<report on {self.evaluated.name}: {text}>"

    @property
    def evaluated(self) -> EvaluatedTokenizer:
        """The evaluated tokenizer."""
        return self.comparison.tokenizers[0]


def report_on(
    comparison: Comparison,
    scan: CorpusFacts,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Report:
    """Compute a report from a comparison of one tokenizer.

    Args:
        comparison: a comparison of that tokenizer alone.
        scan: facts about the documents that it was evaluated on.
        seed: seed that selects the words that get a typo.
        progress: called with the amount of work done.
    """
    evaluated = comparison.tokenizers[0]
    evaluation, tokenizer = evaluated.evaluation, evaluated.candidate.tokenizer
    frequencies, vocabulary = evaluation.frequencies, evaluation.vocabulary
    progress("rewriting", 0, None, "lines")
    used = np.flatnonzero(frequencies)
    by_count = used[np.lexsort((used, -frequencies[used]))]
    return Report(
        comparison=comparison,
        most_used=_uses(tokenizer, by_count[:_USED_SHOWN], frequencies),
        least_used=_uses(tokenizer, by_count[_USED_SHOWN:][-_USED_SHOWN:], frequencies),
        unused=int(np.count_nonzero(~vocabulary.special & (frequencies == 0))),
        deciles=frequency_deciles(frequencies),
        lengths=length_histogram(frequencies, vocabulary.lengths),
        vocabulary_usage=vocabulary_usage_of(vocabulary, frequencies),
        intermediate_tokens=_intermediate_tokens(tokenizer, frequencies),
        numbers=_numbers(evaluation.total),
        robustness=robustness_of(tokenizer, scan.lines, seed=seed),
        cost=evaluated.cost,
    )


def _uses(tokenizer: Tokenizer, ids: NDArray[np.int64], frequencies: NDArray[np.int64]) -> tuple[Use, ...]:
    return tuple(Use(id, tokenizer.token_bytes(id), int(frequencies[id])) for id in ids.tolist())


def _intermediate_tokens(tokenizer: Tokenizer, frequencies: NDArray[np.int64]) -> int | None:
    merges = nested_merges(tokenizer)
    if merges is None:
        return None
    return int(np.count_nonzero(intermediate_tokens(frequencies[: 256 + len(merges)], merges)))


def _numbers(total: Tally) -> tuple[Numbers, ...]:
    return tuple(
        Numbers(digits, int(numbers), int(tokens), or_more=digits == LONGEST_NUMBER)
        for digits, (numbers, tokens) in enumerate(total.numbers.tolist())
        if numbers
    )


def report_document(report: Report, *, metrics: Sequence[Metric] | None = None) -> dict[str, Any]:
    """Return the JSON that `--json` prints, schema tokbench.report/1, with all metrics or only those in `metrics`."""
    compared = comparison_document(report.comparison, metrics=metrics)
    return {
        **{key: value for key, value in compared.items() if key not in ("baseline", "tokenizers", "summary")},
        "schema": "tokbench.report/1",
        "tokenizer": compared["tokenizers"][0],
        "most_used": [_use(use) for use in report.most_used],
        "least_used": [_use(use) for use in report.least_used],
        "unused": report.unused,
        "deciles": report.deciles,
        "lengths": report.lengths,
        "vocabulary_usage": [asdict(part) for part in report.vocabulary_usage],
        "intermediate_tokens": report.intermediate_tokens,
        "numbers": [
            {"digits": row.digits, "or_more": row.or_more, "numbers": row.numbers, "tokens": row.tokens}
            for row in report.numbers
        ],
        "worst_words": {
            group: [
                {"word": word.decode(errors="replace"), "tokens": tokens, "occurrences": count}
                for word, tokens, count in words
            ]
            for group, words in report.evaluated.evaluation.worst_words.items()
        },
        "robustness": [asdict(result) for result in report.robustness],
        "cost": cost_document(report.cost),
    }


def _use(use: Use) -> dict[str, Any]:
    return {"id": use.id, **token_fields(use.piece), "count": use.count}


@dataclass(frozen=True, slots=True)
class Robustness:
    """The effect of one kind of rewriting on the ids.

    Attributes:
        rewriting: name of the rewriting.
        lines: number of sampled lines that it changed.
        growth: their tokens after rewriting, relative to before; None if no line changed.
        distance: edits between the ids before and after, relative to the tokens before; None if no line changed.
    """

    rewriting: str
    lines: int
    growth: float | None
    distance: float | None


def robustness_of(
    tokenizer: Tokenizer, lines_of_groups: Mapping[str, Sequence[str]], *, seed: int = 0
) -> tuple[Robustness, ...]:
    """Rewrite some lines of each group in several ways and compare their ids.

    Args:
        tokenizer: any tokenizer.
        lines_of_groups: group → some of its lines.
        seed: seed that selects the words that get a typo.
    """
    lines = list(_spread(lines_of_groups))
    before = [tokenizer.encode(line) for line in lines]
    found = []
    for name, rewrite in rewritings(seed=seed).items():
        changed = tokens = grown = edits = 0
        for line, ids in zip(lines, before, strict=True):
            other = rewrite(line)
            if other == line:
                continue
            again = tokenizer.encode(other)
            changed += 1
            tokens += len(ids)
            grown += len(again)
            edits += edit_distance(ids, again)
        found.append(Robustness(name, changed, ratio(grown, tokens), ratio(edits, tokens)))
    return tuple(found)


def _spread(lines: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the first lines of each group, an equal share of `_LINES` for each group but at least one line."""
    share = max(_LINES // max(len(lines), 1), 1)
    for kept in lines.values():
        yield from kept[:share]


SPECIAL, BYTES, SPACE, DIGITS, SIGNS, MIXED, CONTROLS = (
    "special tokens",
    "bytes and parts of characters",
    "white space",
    "digits",
    "punctuation and symbols",
    "letters of several scripts",
    "controls and unassigned",
)
_LETTER = re.compile("[A-Za-z]")
_WORD_MARKS = str.maketrans({"▁": " "})
_JOINERS = str.maketrans(dict.fromkeys("\u200c\u200d"))
"""Joiners, which are part of words in many scripts, and of emoji."""


@dataclass(frozen=True, slots=True)
class VocabularyPart:
    """The tokens of one kind.

    Attributes:
        kind: a script, or one of the names above.
        tokens: number of such tokens in the vocabulary.
        used: number of such tokens that occurred.
        occurrences: number of their occurrences.
    """

    kind: str
    tokens: int
    used: int
    occurrences: int


def vocabulary_usage_of(vocabulary: Vocabulary, frequencies: NDArray[np.int64]) -> tuple[VocabularyPart, ...]:
    """Count the tokens by kind, the largest kind first."""
    ids_by_kind: dict[str, list[int]] = {}
    for id, kind in enumerate(_kinds(vocabulary)):
        ids_by_kind.setdefault(kind, []).append(id)
    found = (
        VocabularyPart(
            kind=kind,
            tokens=len(ids),
            used=int(np.count_nonzero(frequencies[ids])),
            occurrences=int(frequencies[ids].sum()),
        )
        for kind, ids in ids_by_kind.items()
    )
    return tuple(sorted(found, key=lambda part: (-part.tokens, part.kind)))


def _kinds(vocabulary: Vocabulary) -> Iterator[str]:
    for id, piece in enumerate(vocabulary.pieces):
        if vocabulary.special[id] or piece is None:
            yield SPECIAL
        elif vocabulary.incomplete[id]:
            yield BYTES
        else:
            yield kind_of(piece.decode())


def kind_of(text: str) -> str:
    r"""Return the kind of a token that is valid text.

    >>> kind_of(" the"), kind_of("  "), kind_of("2024"), kind_of("!="), kind_of("aб")
    ('Latin', 'white space', 'digits', 'punctuation and symbols', 'letters of several scripts')
    >>> kind_of("می\u200cشود"), kind_of("\u200d")
    ('Arabic', 'controls and unassigned')
    """
    plain = text.translate(_WORD_MARKS).strip()
    if not plain:
        return SPACE
    if plain.isascii():
        return _kind_of_ascii(plain)
    plain = plain.translate(_JOINERS) or plain
    if any(unicodedata.category(character)[0] == "C" for character in plain):
        return CONTROLS
    scripts = {script_of_letter(character) for character in plain} - {COMMON}
    if len(scripts) == 1:
        return scripts.pop()
    if scripts:
        return MIXED
    return DIGITS if plain.isdigit() else SIGNS


def _kind_of_ascii(plain: str) -> str:
    """Return the kind of an ASCII token without a loop over its characters: most tokens are ASCII."""
    if not plain.isprintable():
        return CONTROLS
    if _LETTER.search(plain):
        return "Latin"
    return DIGITS if plain.isdigit() else SIGNS
