"""Write tokenizers as a page that encodes by itself, after its encoders have been held against them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.core.progress import no_progress
from tokbench.errors import ConfigError
from tokbench.files.atomic_file import write_file
from tokbench.play_page.check import Check, check_page
from tokbench.play_page.engine import require_engine
from tokbench.play_page.page import play_page
from tokbench.play_page.tokenizer_data import tokenizer_data

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tokbench.core.progress import Progress
    from tokbench.opening.request import Opened


@dataclass(frozen=True, slots=True)
class PlayPageResult:
    """A page that was written.

    Attributes:
        out: the file.
        num_bytes: its size.
        checks: the name of each tokenizer, with what its encoder was tried on.
    """

    out: Path
    num_bytes: int
    checks: tuple[tuple[str, Check], ...]


def write_play_page(
    tokenizers: Sequence[Opened], out: Path, *, text: str = "", progress: Progress = no_progress
) -> PlayPageResult:
    """Write a page on which text is encoded by these tokenizers.

    Args:
        tokenizers: those that can be chosen; the first two are shown at first.
        out: the file; it is replaced whole, or left as it is.
        text: what stands in the text box at first.
        progress: told how many tokenizers have been checked.

    Raises:
        BackendUnavailableError: there is nothing here to run the page's encoders.
        ConfigError: the file cannot be written.
        PageError: the page would give other ids than a tokenizer, or has no encoder for it.
    """
    if out.is_dir():
        raise ConfigError(f"{out} is a folder", hint="name the file to write")
    require_engine()
    checked = []
    for number, (name, opened) in enumerate(zip(_names_of(tokenizers), tokenizers, strict=True)):
        progress("checking", number, len(tokenizers), "tokenizers")
        data = tokenizer_data(opened, name=name)
        checked.append((data, check_page(data)))
    page = play_page(checked, text=text)
    write_file(out, page)
    checks = tuple((data.name, check) for data, check in checked)
    return PlayPageResult(out, len(page), checks)


def _names_of(tokenizers: Sequence[Opened]) -> Iterator[str]:
    """Their names; of those that have one in common the second has a 2 behind it, and so on."""
    seen: Counter[str] = Counter()
    for opened in tokenizers:
        name = opened.tokenizer.info.name
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"
