"""Parity-aware training: documents by language and development text → merges → a tokenizer like any other."""

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
    """Learn a tokenizer from documents whose groups are languages, and the development text of `config.parity`.

    Raises:
        CorpusError: a document that cannot be read.
        ConfigError: documents without groups, or development text that cannot be compared.
        TrainingError: no text at all, or words that are too long or too many for the kernel.
    """
    refuse_one_text(documents)
    started = time.perf_counter()
    development = open_development(config, progress=progress)
    texts = count_languages(documents, config, progress=progress)
    counters = list(texts.values())
    for merged_together in [counters] if config.parity_global_merges else [[one] for one in counters]:
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
    """What `Kernel.train` gives; the rest of what is learned is noted in the texts."""
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
    """How often a language may have been taken in the window to be taken again.

    >>> most_taken(100, 2.0, languages=30), most_taken(100, 1e9, languages=30)
    (6, 100)
    """
    return math.floor(min(window * alpha / languages, window))


@dataclass(frozen=True, slots=True)
class _LanguageTexts:
    """The pre-tokens of all languages, as if of one text.

    Attributes:
        config: how they are learned from.
        development: the development texts.
        texts: the pre-tokens of each group of the training text.
        compared: the languages that have both.
        others: groups without development text: they count for the global merges.
        divisors: of the languages that are compared.
        merges: how many were learned for each language.
        tokens: of each development text in the end.
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
        """Put texts and development texts together. Raises `ConfigError` where no two are of a language."""
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
        """What the user should know: how even the languages are, and which text was not compared."""
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
        """What the saved folder tells of it."""
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
        """Everything is counted."""

    def items(self) -> list[tuple[bytes, int]]:
        """The pre-tokens with their counts; one that occurs in several languages stands there as often."""
        return [item for counter in self.texts.values() for item in counter.items()]

    @property
    def pretokens(self) -> int:
        """Of all languages."""
        return sum(counter.pretokens for counter in self.texts.values())

    @property
    def distinct_pretokens(self) -> int:
        """Of each language, added up."""
        return sum(counter.distinct_pretokens for counter in self.texts.values())

    @property
    def documents(self) -> int:
        """Of all languages."""
        return sum(counter.documents for counter in self.texts.values())

    @property
    def num_bytes(self) -> int:
        """Of all languages."""
        return sum(counter.num_bytes for counter in self.texts.values())


def _listed(names: Iterable[str], *, most: int = 8) -> str:
    """Names in a sentence, the first ones of many."""
    return first_of([*names], most) or "none"
