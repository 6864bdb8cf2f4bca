"""The words of documents, counted: by a kernel, and by the library where that knows characters otherwise."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tokbench.backends.wordpiece.agreement import settled_characters
from tokbench.backends.wordpiece.library_characters import library_words
from tokbench.core.counting import batches, count_sources, count_texts, limits_told
from tokbench.core.documents import ByteDocuments
from tokbench.core.training import refuse_one_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.backends.wordpiece.config import WordPieceConfig
    from tokbench.backends.wordpiece.kernel import Kernel, WordCounter
    from tokbench.core.progress import Progress


def count_words(
    documents: Iterable[str], config: WordPieceConfig, *, kernel: Kernel, threads: int, progress: Progress
) -> WordCounter:
    """The words of documents; they are streamed, cut at special tokens and never joined.

    Parts of a text with a character of which the kernel does not make what the installed library makes, are
    normalised by the library, each distinct one once, so that training and encoding see the same words.

    Returns:
        A finished counter.

    Raises:
        CorpusError: a document that cannot be read.
        TrainingError: what was given is no iterable of texts, or more than the kernel can number.
        TextError: a text holds a lone surrogate.
    """
    refuse_one_text(documents)
    rules = asdict(config.rules)
    counter = kernel.new_counter(
        special_tokens=list(config.all_special_tokens),
        settled=settled_characters(kernel, config.rules),
        max_characters_per_word=config.max_characters_per_word,
        threads=threads,
        seed=config.seed,
        **rules,
    )
    if isinstance(documents, ByteDocuments):
        count_sources(counter, documents, progress=progress)
    else:
        for batch in batches(documents, progress=progress):
            with limits_told():
                count_texts(counter, batch)
    with limits_told():
        counter.finish()
    for part, count in counter.take_unsettled():
        for word in library_words(part, **rules):
            counter.add_counted(word, count)
    return counter
