"""Conversations as one HTML page, which loads nothing and runs no scripts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tokbench.core.wording import counted
from tokbench.render.chat import LEARNED, REFUSED, notes_of, shown_tokens
from tokbench.render.viz_html import escaped, inert_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.render.chat import ShownToken
    from tokbench.workbench.chat import ChatResult

_STYLE = """
html{color-scheme:light dark}
body{margin:0 auto;max-width:70rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif}
h2{font-size:1.1rem;margin:2rem 0 .5rem;overflow-wrap:anywhere}
section{display:grid;grid-template-columns:7rem 1fr;gap:.3rem .8rem;margin:.4rem 0}
b.role{overflow-wrap:anywhere}
p{margin:.3rem 0}
.text{font:.95rem/1.9 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
.text span{color:#111;padding:.1em 0;border-inline-start:1px solid #0003;
-webkit-print-color-adjust:exact;print-color-adjust:exact}
.system span,.developer span{background:#c7b8f5}.user span{background:#a8d4f7}
.assistant span,.model span{background:#8fdcae}
.tool span,.ipython span,.function span{background:#fbc79a}
.other span{background:#dcd98d}.template span{background:#c8c8c8}
.text span.control{background:#1c1c5e;color:#fff;font-weight:700}
.text span.learned{border-block-end:3px solid #0b6b2e}
.text span.control.learned{border-block-end-color:#8fdcae}
.text span.refused{outline:2px solid #c00;font-weight:700}
.faint{opacity:.7}
@media (prefers-color-scheme:dark){.text span.learned{border-block-end-color:#fff}}
"""
_ROLES = {"system", "developer", "user", "assistant", "model", "tool", "ipython", "function"}


def chat_page(results: Iterable[ChatResult]) -> bytes:
    """Return a page with each conversation by message, and a legend."""
    legend = (
        '<p class="text template"><span class="control">control token</span> <span class="learned">learned</span> '
        '<span class="refused">would have been a control token, and stays text</span></p>\n'
    )
    conversations = (part for result in results for part in _conversation(result))
    return inert_page("Conversations as tokens", legend + "".join(conversations), style=_STYLE)


def _conversation(result: ChatResult) -> Iterator[str]:
    yield f"<h2>{escaped(result.place)} · {escaped(result.template)} · {escaped(result.info.name)}</h2>\n"
    roles = " · ".join(f"{escaped(role)} {count:,}" for role, count in result.tokens_by_role.items())
    yield f"<p>{counted(len(result.chat), 'token')} ({roles}), {result.learned:,} learned</p>\n"
    group: list[ShownToken] = []
    for piece in shown_tokens(result):
        if group and piece.message != group[-1].message:
            yield _section(group)
            group = []
        group.append(piece)
    if group:
        yield _section(group)
    for note in notes_of(result):
        yield f"<p>{escape(note)}</p>\n"


def _section(group: list[ShownToken]) -> str:
    role = group[0].role
    kind = "template" if role is None else role if role in _ROLES else "other"
    tokens = "".join(map(_token, group))
    return f'<section><b class="role">{escaped(role or "")}</b><div class="text {kind}">{tokens}</div></section>\n'


def _token(piece: ShownToken) -> str:
    classes = [
        name
        for name, holds in (
            ("control", piece.is_control),
            ("learned", piece.mark == LEARNED),
            ("refused", piece.mark == REFUSED),
        )
        if holds
    ]
    attribute = f' class="{" ".join(classes)}"' if classes else ""
    parts = (escape(glyph.text) + ("<br>" if glyph.ends_line else "") for glyph in piece.glyphs)
    return f"<span{attribute}>{''.join(parts)}</span>"
