"""The standalone page: compressed tokenizers, and the encoders that run them."""

from __future__ import annotations

import gzip
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING

from tokbench import __version__
from tokbench.play_page.chat_data import ChatData
from tokbench.play_page.check import encoder_source, packaged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.play_page.check import Check
    from tokbench.play_page.tokenizer_data import TokenizerData

_VIEW_FILES = ("glyphs.js", "view.js", "chat_view.js", "app.js")


def play_page(
    tokenizers: Sequence[tuple[TokenizerData, Check]],
    *,
    text: str = "",
    conversations: int = 0,
    made: datetime | None = None,
) -> bytes:
    """Return the page for some tokenizers.

    Args:
        tokenizers: the tokenizers to choose from, each with its passed check; the first two are shown.
        text: the initial text.
        conversations: number of conversations that were checked as well.
        made: the date on the page; by default today.

    Returns:
        HTML that loads nothing: its policy allows only its own script and style, by their hashes.
    """
    style = packaged("page.css")
    script = "\n".join([encoder_source(), *map(packaged, _VIEW_FILES)])
    *others, last = (data.name for data, _ in tokenizers)
    names = f"{', '.join(others)} and {last}" if others else last
    parts = {
        "policy": _policy(style=style, script=script),
        "title": escape(f"Tokens of {names}"),
        "style": style,
        "version": __version__,
        "date": f"{made or datetime.now(UTC):%Y-%m-%d}",
        "texts": f"{sum(check.texts for _, check in tokenizers):,}",
        "characters": f"{max(check.characters for _, check in tokenizers):,}",
        "conversations": f", and their masks for {conversations:,} conversations" if conversations else "",
        "data": "\n".join(_packed(data) for data, _ in tokenizers),
        "script": script,
    }
    return _fill(packaged("page.html"), parts, text=text).encode()


def _fill(template: str, parts: Mapping[str, str], *, text: str) -> str:
    """Fill a template with parts; the parts are not searched for placeholders."""
    marked = template.replace("</textarea>", "@text@</textarea>")
    pieces = marked.split("@")
    all_parts = {**parts, "text": f"\n{escape(text)}"}  # a line end after the tag is not part of the text
    return "".join(all_parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _packed(data: TokenizerData) -> str:
    """Return a tokenizer as an inert script element."""
    import orjson

    files = orjson.dumps([[file.name, file.sha256] for file in data.files]).decode()
    attributes = {
        "data-name": data.name,
        "data-algorithm": f"{data.algorithm}, {data.opened.tokenizer.info.vocab_size:,} tokens",
        "data-files": files,
        "data-chat": data.chat.note if data.chat is not None else "",
    }
    if isinstance(data.chat, ChatData):
        attributes["data-has-chat"] = ""
    written = " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())
    packed = b64encode(gzip.compress(data.to_json().encode(), compresslevel=9, mtime=0)).decode()
    return f'<script type="application/gzip" {written}>{packed}</script>'


def _policy(*, style: str, script: str) -> str:
    allowed = {
        "default-src": "'none'",
        "script-src": _hash_of(script),
        "style-src": _hash_of(style),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{what} {source}" for what, source in allowed.items())


def _hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
