"""Counting of words by chunks (spaces with the text that follows them), so that each distinct chunk is normalized once.

This gives the words of the whole text if no step before the model looks beyond the next space or line end.
"""

from __future__ import annotations

import base64
import os
import re
from collections import Counter
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from tokbench.backends.sentencepiece.kernel import current_kernel
from tokbench.core.training import batches, count_texts, limits_reported
from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.charsmap import rules_of
from tokbench.formats.sentencepiece.model import SPACE, iter_user_defined
from tokbench.lint.reachability.steps import DocumentSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.formats.sentencepiece.model import SentencePieceFile

_CHUNK = re.compile("[ \n]*[^ \n]*")
_BEFORE = "a"
_LOCAL_SYMBOL = re.compile(f"{SPACE}*[^{SPACE}\n]*|\n+")
_RUNS = {"Regex": " {2,}"}
_NARROW = {"NFC", "NFD", "Lowercase", "StripAccents", "Prepend", "Replace"}
"""Normalizers that turn no other character into a space."""
_WIDE = {"NFKC", "NFKD", "Nmt", "Strip", "Precompiled"}
_SPLITTING = {"Metaspace", "WhitespaceSplit", "Whitespace", "Digits"}


def count_by_chunks(
    texts: Iterable[str],
    words_of: Callable[[str], list[str]],
    *,
    parts_of: Callable[[str], Iterable[str]],
    threads: int | None,
    progress: Progress,
) -> Counter[str]:
    """Count the words of texts: the sum of `words_of` over each part of each text.

    Args:
        texts: the texts, read once.
        words_of: part → words, by steps that `model_is_local` or `document_is_local` accepts.
        parts_of: text → its parts that are normalized separately.
        threads: number of threads that count chunks; None uses every processor.
        progress: called with the amount of work done.

    Raises:
        CorpusError: a text cannot be read; `TrainingError` if there are too many chunks to number them.
    """
    counter = current_kernel().new_counter(
        dummy_prefix=False,
        collapse=False,
        whole_lines=False,
        special_tokens=[],
        threads=threads or os.cpu_count() or 1,
    )
    firsts, lines, words = Counter[str](), Counter[str](), Counter[str]()
    for batch in batches(texts, progress=progress, phase="counting"):
        parts = (part for text in batch for part in parts_of(text))
        with limits_reported():
            count_texts(counter, [_count_beginning(part, words_of, firsts, lines) for part in parts])
    with limits_reported():
        counter.finish()
        data, offsets, counts = counter.arrays()
    for first, count in firsts.items():
        for word in words_of(first):
            words[word] += count
    block = data.tobytes()
    ends = zip(pairwise(offsets.tolist()), counts.tolist(), strict=True)
    chunks = ((block[start:stop].decode() + "\n", count) for (start, stop), count in ends)
    before = {mark: len(words_of(_BEFORE + mark)) for mark in ("", "\n")}
    for chunk, count in chain(chunks, lines.items()):
        is_inside = chunk[0] == " " and SPACE not in chunk
        mark = "" if is_inside else "\n"
        for word in words_of(_BEFORE + mark + chunk)[before[mark] :]:
            words[word] += count
    return words


def _count_beginning(
    part: str, words_of: Callable[[str], list[str]], firsts: Counter[str], lines: Counter[str]
) -> str:
    """Count the beginning of a part and its lines with ▁ separately, and return the rest.

    A ▁ may be next to spaces, and a chunk does not show how many of them are in a row.
    """
    if SPACE in part:
        return _count_lines_with_marks(part, words_of, firsts, lines)
    first = _beginning(part, words_of)
    rest = part[len(first) :]
    firsts[first + "\n" if rest else first] += 1
    return rest


def _beginning(part: str, words_of: Callable[[str], list[str]]) -> str:
    """Return a part up to the end of its first chunk with a word: normalizing may add or remove a space before it."""
    stop = 0
    while stop < len(part):
        chunk = _CHUNK.match(part, stop)
        assert chunk is not None  # the pattern matches the empty string
        stop = chunk.end()
        if words_of(chunk.group()):
            break
    return part[:stop]


def _count_lines_with_marks(
    part: str, words_of: Callable[[str], list[str]], firsts: Counter[str], lines: Counter[str]
) -> str:
    """Return the lines that can be counted by chunks, and count the others in `lines` or `firsts`.

    The others are the first line and lines with ▁, each up to and including the next line that has words but no ▁.
    """
    rows = part.split("\n")
    left = []
    at = 0
    while at < len(rows):
        if at > 0 and SPACE not in rows[at]:
            left.append(rows[at])
            at += 1
            continue
        start = at
        while at < len(rows) and (SPACE in rows[at] or not words_of(rows[at])):
            at += 1
        at += 1
        together = "\n".join(rows[start:at])
        counted = lines if start > 0 else firsts
        counted[together + "\n" if at < len(rows) else together] += 1
    return "\n".join(left)


def model_is_local(model: SentencePieceFile) -> bool:
    """Whether a SentencePiece model's words can be counted by chunks.

    If its normalization turns other characters into spaces, which may be next to a chunk's own, it must also collapse
    them.
    """
    options = model.trainer
    if not options["split_by_whitespace"] or options["treat_whitespace_as_suffix"]:
        return False
    if not all(map(_LOCAL_SYMBOL.fullmatch, iter_user_defined(model))):
        return False
    charsmap = model.normalizer["precompiled_charsmap"]
    return not charsmap or (model.normalizer["remove_extra_whitespaces"] and _keeps_spaces_apart(charsmap))


def document_is_local(document: Mapping[str, Any]) -> bool:
    """Whether a `tokenizer.json`'s words can be counted by chunks: all of its steps are known to allow it."""
    steps = DocumentSteps(document)
    kinds = {step.get("type") for step in steps.normalizers}
    splitting = {step.get("type") for step in steps.pre_tokenizers}
    collapses = "WhitespaceSplit" in splitting or (
        bool(steps.normalizers) and _is_replacing(steps.normalizers[-1:], _RUNS)
    )
    if not splitting <= _SPLITTING or not kinds <= _NARROW | (_WIDE if collapses else set()):
        return False
    replacing = [step for step in steps.normalizers if step.get("type") == "Replace"]
    tables = [step for step in steps.normalizers if step.get("type") == "Precompiled"]
    return _is_replacing(replacing, _RUNS, {"String": " "}) and all(
        _keeps_spaces_apart(base64.b64decode(step["precompiled_charsmap"] or "")) for step in tables
    )


def _is_replacing(steps: Sequence[Mapping[str, Any]], *patterns: Mapping[str, str]) -> bool:
    """Whether steps only replace the given patterns of spaces by a space or by ▁."""
    return all(step.get("pattern") in patterns and step.get("content") in (" ", SPACE) for step in steps)


def _keeps_spaces_apart(charsmap: bytes) -> bool:
    """Whether no rule of a table replaces a space or line end together with other characters or produces ▁."""
    try:
        rules = rules_of(charsmap).items() if charsmap else ()
    except ConversionError:
        return False
    ends = {" ", "\n"}
    return not any((len(key) > 1 and not ends.isdisjoint(key)) or SPACE in value for key, value in rules)
