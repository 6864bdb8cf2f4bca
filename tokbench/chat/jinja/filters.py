"""Replacements of Jinja's filters that would lose the origins of text.

The other filters return strings unchanged, call methods of strings, or return ordinary strings, which are `COMPUTED`.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any, Protocol

from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.filters import make_attrgetter
from jinja2.utils import pass_environment, pass_eval_context

from tokbench.chat.jinja.json_text import Layout, json_text
from tokbench.chat.jinja.limits import check_length
from tokbench.chat.jinja.markup import escape, force_escape, markup
from tokbench.chat.jinja.traced import Traced, computed, concat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jinja2.nodes import EvalContext

    from tokbench.chat.jinja.json_text import OriginOf

_WORD_BEGINNING = re.compile(r"([-\s({\[<]+)")


class TracesText(Protocol):
    """The part of the environment that filters use."""

    newline_sequence: str

    @property
    def origin_of(self) -> OriginOf:
        """The function that returns the origin of a list or dictionary."""

    def text(self, value: Any) -> Traced:
        """Convert a value to text with its origin."""


@pass_environment
def string(environment: TracesText, value: Any) -> Traced:
    """Convert a value to text."""
    return value if isinstance(value, Traced) else environment.text(value)


@pass_eval_context
def join(
    context: EvalContext, value: Iterable[Any], d: str = "", attribute: str | int | None = None
) -> Traced:
    """Join values as text, with `d` between them."""
    environment: TracesText = context.environment  # type: ignore[assignment]
    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    if not context.autoescape:
        return environment.text(d).join([environment.text(item) for item in value])
    items = [item if hasattr(item, "__html__") else environment.text(item) for item in value]
    if any(hasattr(item, "__html__") for item in items) and not hasattr(d, "__html__"):
        d = escape(d)
    return _text(d).join(items)


def title(value: Any) -> Traced:
    """Convert the first letter of each word to upper case, the others to lower case."""
    text = _text(value)
    words = []
    start = 0
    for word in _WORD_BEGINNING.split(str.__str__(text)):
        part = text[start : start + len(word)]
        start += len(word)
        words.append(part[:1].upper() + part[1:].lower())
    return _like(text, concat(words))


def indent(s: str, width: int | str = 4, first: bool = False, blank: bool = False) -> Traced:  # noqa: FBT001, FBT002
    """Indent each line except the first and empty ones."""
    text = _text(s)
    if not isinstance(width, str):
        check_length(width)
        width = computed(" " * width)
    lines = (text + computed("\n")).splitlines(keepends=True)
    parts: list[Traced] = []
    for number, line in enumerate(lines):
        content = line.splitlines()[0]
        if (number == 0 and first) or (number and (blank or content)):
            parts.append(_text(width))
        parts.append(content)
        if number + 1 < len(lines):
            parts.append(Traced("\n", line[len(content) :].runs_of_origins()[:1][0][1]))
    return _like(text, concat(parts))


def on_text(method: Callable[..., Any]) -> Callable[..., Any]:
    """Turn a function on text into a filter that first converts its value to text."""

    @pass_environment
    def filter(environment: TracesText, value: Any, *args: Any, **kwargs: Any) -> Any:
        return method(string(environment, value), *args, **kwargs)

    return filter


@pass_environment
def wordwrap(  # noqa: PLR0917 - as the filter is called
    environment: TracesText,
    s: str,
    width: int = 79,
    break_long_words: bool = True,  # noqa: FBT001, FBT002
    wrapstring: str | None = None,
    break_on_hyphens: bool = True,  # noqa: FBT001, FBT002
) -> Traced:
    """Wrap text to lines of at most `width` characters."""
    end = computed(environment.newline_sequence) if wrapstring is None else _text(wrapstring)
    wrapped = []
    for line in _text(s).splitlines():
        rows = textwrap.wrap(
            str.__str__(line),
            width=width,
            expand_tabs=False,
            replace_whitespace=False,
            break_long_words=break_long_words,
            break_on_hyphens=break_on_hyphens,
        )
        wrapped.append(end.join(_located_rows(line, rows)))
    return end.join(wrapped)


def _located_rows(line: Traced, rows: Iterable[str]) -> Iterator[Traced]:
    """Yield the parts of a line that wrapping returned as rows; only white space is dropped between them."""
    start = 0
    for row in rows:
        start = str.index(line, row, start)
        yield line[start : start + len(row)]
        start += len(row)


@pass_environment
def tojson(  # noqa: PLR0917 - as the filter is called
    environment: TracesText,
    x: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002
) -> Traced:
    """Serialize a value as JSON, with the arguments that `transformers` gives this filter."""
    layout = Layout(ensure_ascii, indent, separators, sort_keys)
    return json_text(x, layout, environment.origin_of)


def _text(value: Any) -> Traced:
    if isinstance(value, Traced):
        return value
    text = str(value)
    return text if isinstance(text, Traced) else computed(text)


def _like(model: Traced, text: Traced) -> Traced:
    """Return the text as markup if the model is markup."""
    return markup(text) if hasattr(model, "__html__") else text


FILTERS: dict[str, Callable[..., Any]] = {
    **{name: on_text(JINJA_FILTERS[name]) for name in ("capitalize", "center", "lower", "trim", "upper")},
    "e": escape,
    "escape": escape,
    "forceescape": force_escape,
    "indent": indent,
    "join": join,
    "safe": markup,
    "string": string,
    "title": title,
    "tojson": tojson,
    "wordwrap": wordwrap,
}
"""Filters by the names of those they replace."""
