"""The dialog that searches the vocabulary of the current tokenizer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tokbench.core.wording import counted
from tokbench.inspection.search import TokenQuery, parse_bytes_of_token
from tokbench.play.background import Background
from tokbench.play.dialogs import Dialog
from tokbench.play.merge_tree import merge_tree
from tokbench.render.glyphs import EMPTY_MARK, glyphs_of, text_of
from tokbench.workbench.search_vocabulary import search_vocabulary

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from tokbench.errors import TokbenchError
    from tokbench.inspection.vocabulary_tokens import VocabularyToken, VocabularyTokens
    from tokbench.play.columns import OpenTokenizer
    from tokbench.workbench.search_vocabulary import SearchResult

MOST_SHOWN = 200
"""Maximum number of tokens listed."""
_ID = re.compile(r"#([0-9]{1,12})")
_EXPRESSION = re.compile(r"/(.+)/", re.DOTALL)
_BEGUN_EXPRESSION = re.compile(r"/.*[^/]", re.DOTALL)


class SearchDialog(Dialog[str]):
    """Lists the tokens that contain a text, and draws the merges of the highlighted one.

    Args:
        source: the tokenizer.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", priority=True),
        Binding("up", "move(-1)", priority=True),
        Binding("pagedown", "move(8)", priority=True),
        Binding("pageup", "move(-8)", priority=True),
    ]

    def __init__(self, source: OpenTokenizer) -> None:
        super().__init__()
        self._source = source
        self._found: SearchResult | None = None
        self._searching: Background | None = None

    def compose(self) -> ComposeResult:
        """Yield an input field, the matches, and the merges of one token."""
        with Vertical(classes="dialog", id="search"):
            yield Static(Text(self._title, "bold"), id="found")
            yield Input(placeholder="a text, /an expression/, #an id or 0x and bytes", compact=True)
            yield OptionList(compact=True)
            yield Static(id="tree")
            yield Static(Text("Enter puts the token into the text · Escape closes this", "dim"))

    def on_mount(self) -> None:
        """Prepare for input."""
        self.query_one(OptionList).can_focus = False
        self._searching = Background(self.app, tell=self._tell)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        asked = event.value
        if self._searching is not None:
            self._searching.ask(lambda: self._search(asked), self._show)

    def _search(self, asked: str) -> SearchResult | None:
        return search_tokens(self._source.vocabulary, asked) if asked else None

    @property
    def _title(self) -> str:
        return f"Search the vocabulary of {self._source.name}"

    def _show(self, found: SearchResult | None) -> None:
        if not self.is_open:
            return
        self._list(found)
        if found is None:
            self._say(self._title)
            return
        more = f", the first {len(found.tokens)} of them here" if found.found > len(found.tokens) else ""
        is_begun = not found.found and _BEGUN_EXPRESSION.fullmatch(self.query_one(Input).value) is not None
        ending = "; an expression ends with /" if is_begun else ""
        self._say(f"{counted(found.found, 'token')} of {self._source.name}{more}{ending}")

    def _list(self, found: SearchResult | None) -> None:
        """List the found tokens, and draw the first one."""
        self._found = found
        tokens = () if found is None else found.tokens
        shown = self.query_one(OptionList)
        shown.clear_options()
        shown.add_options(Option(found_line(token)) for token in tokens)
        shown.highlighted = 0 if tokens else None
        self._draw()

    def _tell(self, error: TokbenchError) -> None:
        if self.is_open:
            self._list(None)
            self._say(error.message)

    def _say(self, text: str) -> None:
        self.query_one("#found", Static).update(Text(text, "bold"))

    def action_move(self, count: int) -> None:
        """Move through the tokens."""
        shown = self.query_one(OptionList)
        if self._found is not None and self._found.tokens:
            last = len(self._found.tokens) - 1
            shown.highlighted = max(min((shown.highlighted or 0) + count, last), 0)
            self._draw()

    def _draw(self) -> None:
        place = self.query_one(OptionList).highlighted
        tree = self.query_one("#tree", Static)
        if self._found is None or place is None:
            tree.update("")
        else:
            tree.update(
                token_tree(self._source.vocabulary, self._found.tokens[place].id, width=tree.size.width)
            )

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def _submitted(self) -> None:
        place = self.query_one(OptionList).highlighted
        if self._found is None or place is None:
            return
        text = self._found.tokens[place].text
        if text is None:
            self._say("these bytes are not whole characters, and cannot be typed")
        else:
            self.dismiss(text)


def query_of(asked: str) -> TokenQuery:
    r"""Parse a search: tokens that contain the text, match the expression, have the id, or contain the bytes.

    Raises:
        ConfigError: the bytes are invalid.

    >>> query_of("low").data, query_of("/^low/").find, query_of("#7").ids, query_of("0xe2 82").data
    (b'low', '^low', frozenset({7}), b'\xe2\x82')
    """
    if (found := _ID.fullmatch(asked)) is not None:
        return TokenQuery(ids=frozenset({int(found[1])}))
    if (found := _EXPRESSION.fullmatch(asked)) is not None:
        return TokenQuery(find=found[1])
    if asked.startswith("0x"):
        return TokenQuery(data=parse_bytes_of_token(asked))
    return TokenQuery(data=asked.encode(errors="replace"))


def search_tokens(vocabulary: VocabularyTokens, asked: str) -> SearchResult:
    """Search for tokens. Raises as `query_of` and `tokbench.inspection.search.search`."""
    return search_vocabulary(vocabulary, query_of(asked), top=MOST_SHOWN)


def found_line(token: VocabularyToken) -> Text:
    """Format a found token as a line."""
    shown = text_of(glyphs_of(token.data)) or EMPTY_MARK
    kind = "" if token.kind.value == "normal" else f"  {token.kind.value}"
    return Text.assemble((f"{token.id:>8,}  ", "dim"), shown, (kind, "dim"))


def token_tree(vocabulary: VocabularyTokens, id: int, *, width: int) -> Text:
    """Draw the merges of a token, or explain why they are not drawn."""
    [details] = search_vocabulary(vocabulary, TokenQuery(ids=frozenset({id}))).details
    if details.derivation is None:
        return Text(details.not_applicable or "", "dim")
    rows = merge_tree(details.derivation, width=width)
    return Text("\n".join(rows)) if rows else Text("its merges are too wide to be drawn here", "dim")
