"""Parity-aware training: documents by language and development texts → merges → a `BpeTokenizer`."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.parity.reference import GLOBAL
from tokbench.backends.bpe.parity.texts import count_languages, open_development
from tokbench.backends.bpe.training import merged
from tokbench.core.training import identity_of, refuse_one_text
from tokbench.core.word_input import check_counted, merger_room
from tokbench.core.wording import counted, first_of
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.backends.bpe.config import BpeConfig
    from tokbench.backends.bpe.kernel import PretokenCounter
    from tokbench.backends.bpe.parity.texts import Development
    from tokbench.backends.bpe.tokenizer import BpeTokenizer
    from tokbench.core.progress import Progress


def train_for_parity(documents: Iterable[str], config: BpeConfig, *, progress: Progress) -> BpeTokenizer:
    """Learn a tokenizer from documents whose groups are languages, and the development texts of `config.parity`.

    Raises:
        CorpusError: a document cannot be read.
        ConfigError: the documents have no groups, or the development texts cannot be compared.
        TrainingError: there is no text, or its words are too long or too many for the kernel.
    """
    refuse_one_text(documents)
    started = time.perf_counter()
    development = open_development(config, progress=progress)
    texts = count_languages(documents, config, progress=progress)
    counters = list(texts.values())
    for merged_together in [counters] if config.parity_global_merges else [[counter] for counter in counters]:
        check_counted(*merged_together, room=merger_room(step=1), hint=None)
    languages = _LanguageTexts.of(texts, development, config)
    tokenizer = merged(
        languages,
        config,
        identify_text=identity_of(documents),
        counting_seconds=time.perf_counter() - started,
        progress=progress,
        learn=_learn,
    )
    if tokenizer.training is not None:
        tokenizer.training = replace(tokenizer.training, notes=tuple(languages.notes()))
    tokenizer.config["parity"] = languages.record()
    return tokenizer


def _learn(languages: _LanguageTexts, **options: Any) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]:
    """Learn merges; the result is that of `Kernel.train`. The languages of the merges are recorded in `languages`."""
    config = languages.config
    counters = [languages.texts[name] for name in (*languages.compared, *languages.others)]
    held = [languages.development.texts[name].counter for name in languages.compared]
    pairs, counts, num_tokens, chosen_for, tokens = current_kernel().train_for_parity(
        counters,
        held,
        num_global=config.parity_global_merges,
        divisors=languages.divisors,
        window=config.parity_window,
        most_taken=most_taken(config.parity_window, config.parity_alpha, languages=len(held)),
        **options,
    )
    names = dict(enumerate(languages.compared))
    languages.merges.update(names[language] for language in chosen_for.tolist() if language != GLOBAL)
    languages.tokens.update(zip(languages.compared, tokens.tolist(), strict=True))
    return pairs, counts, num_tokens


def most_taken(window: int, alpha: float, *, languages: int) -> int:
    """Return how often a language may occur in the window and still be chosen.

    >>> most_taken(100, 2.0, languages=30), most_taken(100, 1e9, languages=30)
    (6, 100)
    """
    return math.floor(min(window * alpha / languages, window))


@dataclass(frozen=True, slots=True)
class _LanguageTexts:
    """The pre-tokens of all languages, with the interface of one text's counted pre-tokens.

    Attributes:
        config: the training options.
        development: the development texts.
        texts: the counted pre-tokens of each group of the training text.
        compared: the languages with training text and development text.
        others: the groups without development text, which count only for the global merges.
        divisors: the divisors of the compared languages.
        merges: the number of merges learned for each language.
        tokens: the final number of tokens of each development text.
    """

    config: BpeConfig
    development: Development
    texts: dict[str, PretokenCounter]
    compared: tuple[str, ...]
    others: tuple[str, ...]
    divisors: list[int]
    merges: Counter[str] = field(default_factory=Counter)
    tokens: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, texts: dict[str, PretokenCounter], development: Development, config: BpeConfig
    ) -> _LanguageTexts:
        """Match texts with development texts. Raises `ConfigError` if fewer than two languages have both."""
        divisors = dict(zip(development.texts, development.divisors(config.parity_rule), strict=True))
        compared = tuple(name for name in development.texts if name in texts)
        if len(compared) < 2:
            raise ConfigError(
                f"{config.parity} has text of {_listed(development.texts)}, and the training text of "
                f"{_listed(texts)}: fewer than two languages are in both",
                hint="name files and folders of a language alike; --group-by says how text is grouped",
            )
        others = tuple(name for name in texts if name not in compared)
        return cls(config, development, texts, compared, others, [divisors[name] for name in compared])

    def notes(self) -> Iterator[str]:
        """Yield notes for the user: how much the languages differ, and which text was not compared."""
        score = {
            name: self.tokens[name] / divisor
            for name, divisor in zip(self.compared, self.divisors, strict=True)
        }
        least, most = min(score, key=score.__getitem__), max(score, key=score.__getitem__)
        yield (
            f"{counted(len(self.compared), 'language')}: {most} has {score[most] / score[least]:.3f} times the "
            f"{self.config.parity_rule.replace('-', ' ')} of {least} in the development text"
        )
        if missing := [name for name in self.development.texts if name not in self.texts]:
            yield f"development text without training text: {_listed(missing)}"
        if self.development.left_out:
            yield f"development text with a different number of lines: {_listed(self.development.left_out)}"
        if self.others and self.config.parity_global_merges:
            yield f"without development text, used by global merges only: {_listed(self.others)}"
        elif self.others:
            yield f"without development text, not used: {_listed(self.others)}"

    def record(self) -> dict[str, Any]:
        """Return the record of the parity training for the saved folder."""
        return {
            "rule": self.config.parity_rule,
            "global_merges": self.config.parity_global_merges,
            "window": self.config.parity_window,
            "alpha": self.config.parity_alpha,
            "languages": {
                name: {"merges": self.merges[name], "development_tokens": self.tokens[name]}
                for name in self.compared
            },
            "others": list(self.others),
        }

    def finish(self) -> None:
        """Do nothing, as everything is counted."""

    def items(self) -> list[tuple[bytes, int]]:
        """Return the pre-tokens with their counts; one that occurs in several languages is repeated."""
        return [item for counter in self.texts.values() for item in counter.items()]

    @property
    def pretokens(self) -> int:
        """The number of pre-tokens of all languages."""
        return sum(counter.pretokens for counter in self.texts.values())

    @property
    def distinct_pretokens(self) -> int:
        """The sum over the languages of the number of distinct pre-tokens."""
        return sum(counter.distinct_pretokens for counter in self.texts.values())

    @property
    def documents(self) -> int:
        """The number of documents of all languages."""
        return sum(counter.documents for counter in self.texts.values())

    @property
    def num_bytes(self) -> int:
        """The number of bytes of all languages."""
        return sum(counter.num_bytes for counter in self.texts.values())


def _listed(names: Iterable[str]) -> str:
    """Names in a sentence, the first ones of many."""
    return first_of([*names], 8) or "none"
