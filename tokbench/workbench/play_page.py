"""Write tokenizers as a standalone page, after checking the page's encoders against them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from tokbench.chat.template import AUTO
from tokbench.core.progress import no_progress
from tokbench.errors import ConfigError
from tokbench.files.atomic import write_file
from tokbench.play_page.chat_check import check_chat
from tokbench.play_page.chat_data import ChatData, NoChat, chat_data
from tokbench.play_page.check import Check, check_page, require_engine
from tokbench.play_page.page import play_page
from tokbench.play_page.tokenizer_data import TokenizerData, tokenizer_data

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tokbench.core.progress import Progress
    from tokbench.opening.request import Opened


@dataclass(frozen=True, slots=True)
class PageCheck:
    """The checks of one tokenizer of a page.

    Attributes:
        name: name of the tokenizer on the page.
        texts: number of texts.
        characters: number of distinct characters in them.
        conversations: number of conversations; None if the page shows none.
        without_chat: why it shows none.
    """

    name: str
    texts: int
    characters: int
    conversations: int | None
    without_chat: str | None


@dataclass(frozen=True, slots=True)
class PlayPageResult:
    """A page that was written.

    Attributes:
        out: the file.
        num_bytes: its size.
        checks: the checks of each tokenizer.
    """

    out: Path
    num_bytes: int
    checks: tuple[PageCheck, ...]


def write_play_page(
    tokenizers: Sequence[Opened],
    out: Path,
    *,
    text: str = "",
    template: str = AUTO,
    progress: Progress = no_progress,
) -> PlayPageResult:
    """Write a page on which text is encoded by the given tokenizers.

    Args:
        tokenizers: the tokenizers to choose from; the first two are shown initially.
        out: the file; it is replaced as a whole, or left as it is.
        text: the initial text.
        template: the chat template of conversations, as `tokbench chat --template` takes it.
        progress: called with the number of tokenizers checked.

    Raises:
        BackendUnavailableError: no JavaScript engine is installed to run the page's encoders.
        ConfigError: the file cannot be written.
        PageError: the page would give different ids than a tokenizer, or has no encoder for it.
        TemplateError: there is no such template, or it needs tokens that a tokenizer lacks.
    """
    if out.is_dir():
        raise ConfigError(f"{out} is a folder", hint="name the file to write")
    require_engine()
    checked: list[tuple[TokenizerData, Check]] = []
    checks: list[PageCheck] = []
    now = datetime.now().astimezone()
    for number, (name, opened) in enumerate(zip(_names_of(tokenizers), tokenizers, strict=True)):
        progress("checking", number, len(tokenizers), "tokenizers")
        data = tokenizer_data(opened, name=name)
        check = check_page(data)
        chat, conversations = _checked_chat(data, template, date=now)
        checked.append((replace(data, chat=chat), check))
        why = chat.reason if isinstance(chat, NoChat) else None
        checks.append(PageCheck(name, check.texts, check.characters, conversations, why))
    conversations = sum(check.conversations or 0 for check in checks)
    page = play_page(checked, text=text, conversations=conversations, made=now)
    write_file(out, page)
    return PlayPageResult(out, len(page), tuple(checks))


def _checked_chat(
    data: TokenizerData, template: str, *, date: datetime
) -> tuple[ChatData | NoChat, int | None]:
    """Return the chat data of a tokenizer and the number of conversations checked, or why the page shows none."""
    found = [*(special[0] for special in data.fields["special"]), *data.fields.get("symbols", ())]
    chat = chat_data(data.opened.tokenizer, found, template=template, date=date)
    if isinstance(chat, NoChat):
        return chat, None
    checked = check_chat(replace(data, chat=chat))
    return (checked, None) if isinstance(checked, NoChat) else (chat, checked.conversations)


def _names_of(tokenizers: Sequence[Opened]) -> Iterator[str]:
    """Yield the names of the tokenizers; repeated names get a number, as in "name (2)"."""
    seen: Counter[str] = Counter()
    for opened in tokenizers:
        name = opened.tokenizer.info.name
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"
