"""Conversions and comparisons for the terminal: written files, proofs, and differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.render.glyphs import spelled, text_of, visible
from tokbench.render.terminal import print_notes, print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tokbench.convert.disagreement import Disagreement
    from tokbench.convert.proof import ProofResult
    from tokbench.workbench.convert import ConvertResult

_IDS_SHOWN = 24
_IDS_BEFORE = 4
_TEXT_SHOWN = 400


def render_conversion(result: ConvertResult, *, console: Console) -> None:
    """Print the written files and the proof."""
    print_rows(_conversion_rows(result), console=console)
    print_notes((*([result.rounding] if result.rounding else []), *result.notes), console=console)


def render_proof(proof: ProofResult, *, console: Console) -> None:
    """Print what was compared, and the shortest text that differs."""
    print_rows(_proof_rows(proof), console=console)


def _conversion_rows(result: ConvertResult) -> Iterator[tuple[str, Text]]:
    yield "from", Text(f"{visible(result.name)} ({result.backend}, {result.vocab_size:,} tokens)")
    yield "to", Text(result.to)
    for name, size in result.files.items():
        yield "written", Text(f"{visible(name)}  {counted(size, 'byte')}")
    yield "in", Text(visible(str(result.out)), style="bold")
    yield from _proof_rows(result.proof)
    yield "time", Text(", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in result.seconds.items()))


def _proof_rows(proof: ProofResult) -> Iterator[tuple[str, Text]]:
    tokens = f"{counted(proof.vocabulary_tokens, 'token')}, " if proof.vocabulary_tokens else ""
    inputs = f", {counted(proof.inputs, 'model input')}" if proof.inputs else ""
    texts = f"{tokens}{counted(proof.texts, 'text')}, {counted(proof.characters, 'character')}{inputs}"
    if proof.disagreement is None:
        but = f"; different ids by rounding on {proof.tolerated:,} of them" if proof.tolerated else ""
        yield "proved", Text(f"{visible(proof.second)} gives the same: {texts}{but}")
    else:
        yield "compared", Text(f"{visible(proof.first)} and {visible(proof.second)}: {texts}")
        yield from _difference_rows(proof, proof.disagreement)
    for limit in proof.limits:
        yield "limits", Text(limit)


def _difference_rows(proof: ProofResult, found: Disagreement) -> Iterator[tuple[str, Text]]:
    way = {
        "encode": "the ids differ",
        "encode special": "the ids differ where special tokens are found",
        "decode": "the same ids are decoded to different texts",
        "token": "a token differs",
        "config": "its role for a model differs",
        "ids": f"a model gets different ids by {found.call}",
        "type ids": f"a model gets different type ids by {found.call}",
        "attention mask": f"a model gets a different attention mask by {found.call}",
    }[found.way]
    yield "differ", Text(way, style="bold red")
    yield "text", Text(_shortened(_spelled(found.text.encode())))
    if found.pair is not None:
        yield "pair", Text(_shortened(_spelled(found.pair.encode())))
    start = _first_shown(found.expected, found.found)
    yield visible(proof.first), _outcome(found.expected, found.expected_tokens, start=start)
    yield visible(proof.second), _outcome(found.found, found.found_tokens, start=start)


def _first_shown(expected: object, found: object) -> int:
    """Return the index of the first token to show: a few before the first difference, or 0 if all fit."""
    if not isinstance(expected, tuple) or not isinstance(found, tuple):
        return 0
    if max(len(expected), len(found)) <= _IDS_SHOWN:
        return 0
    same = [expected_id == found_id for expected_id, found_id in zip(expected, found, strict=False)]
    return max(0, (same.index(False) if False in same else len(same)) - _IDS_BEFORE)


def _outcome(outcome: object, pieces: tuple[bytes, ...], *, start: int) -> Text:
    if isinstance(outcome, tuple):
        stop = start + _IDS_SHOWN
        known = pieces or (b"",) * len(outcome)  # type ids and masks have no token bytes
        ids = zip(outcome[start:stop], known[start:stop], strict=True)
        tokens = "  ".join(f"{_spelled(piece)} {id}".lstrip() for id, piece in ids)
        before = f"{start:,} alike, then  " if start else ""
        more = f" … and {len(outcome) - stop:,} more" if len(outcome) > stop else ""
        return Text(before + tokens + more if outcome else "no token")
    if isinstance(outcome, bytes):
        return Text(_spelled(outcome))
    return Text("nothing" if outcome is None else _shortened(_spelled(str(outcome).encode())))


def _spelled(data: bytes) -> str:
    return text_of(spelled(data))


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_SHOWN else f"{text[:_TEXT_SHOWN]}… ({len(text):,} characters)"
