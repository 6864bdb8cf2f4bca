"""Results of the filters `safe` and `escape`: strings that escape what is added to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from markupsafe import escape as markup_escape

from tokbench.chat.jinja.runs import resize
from tokbench.chat.jinja.string_methods import Formatter
from tokbench.chat.jinja.traced import Traced, computed, concat, fill

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self, SupportsIndex

_ESCAPED_SIZES = {character: len(markup_escape(character)) for character in "&<>'\""}


class TracedMarkup(Traced):
    """A traced string that behaves like `markupsafe.Markup`."""

    __slots__ = ()

    def __html__(self) -> TracedMarkup:
        return self

    def __str__(self) -> str:
        return Traced(str.__str__(self), self._runs)

    def __add__(self, other: Any) -> Self:
        if isinstance(other, str) or hasattr(other, "__html__"):
            return super().__add__(escape(other))
        return NotImplemented

    def __radd__(self, other: Any) -> Self:
        if isinstance(other, str) or hasattr(other, "__html__"):
            return super().__radd__(escape(other))
        return NotImplemented

    def __mod__(self, values: Any) -> Traced:
        if isinstance(values, tuple):
            values = tuple(map(_escaped_text, values))
        elif isinstance(values, dict):
            values = {key: _escaped_text(value) for key, value in values.items()}
        else:
            values = _escaped_text(values)
        return markup(super().__mod__(values))

    def join(self, parts: Iterable[Any]) -> Self:
        """Like `Markup.join`: the parts are escaped."""
        return super().join(escape(part) for part in parts)

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> Self:
        """Like `Markup.replace`: the replacement is escaped."""
        return super().replace(old, escape(new), count)

    def format(self, *args: Any, **kwargs: Any) -> Traced:
        """Like `Markup.format`: the arguments are escaped."""
        return markup(fill(self, MarkupFormatter(), args, kwargs))

    def format_map(self, mapping: Mapping[str, Any]) -> Traced:  # type: ignore[override]
        """Like `Markup.format_map`."""
        return markup(fill(self, MarkupFormatter(), (), mapping))

    def striptags(self) -> Traced:
        """Like `Markup.striptags`."""
        return computed(Markup(str.__str__(self)).striptags())  # noqa: S704 - no page

    def unescape(self) -> Traced:
        """Like `Markup.unescape`."""
        return computed(Markup(str.__str__(self)).unescape())  # noqa: S704 - no page


class MarkupFormatter(Formatter):
    """A formatter for `Markup.format`: the arguments are escaped."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Like `Formatter.format_field`, with the result escaped."""
        return escape(value if not format_spec else super().format_field(value, format_spec))


def markup(value: Any) -> TracedMarkup:
    """Convert a value to text that is not escaped again (the filter `safe`)."""
    if hasattr(value, "__html__"):
        value = value.__html__()
    text = value if isinstance(value, Traced) else computed(str(value))
    return TracedMarkup(text, text.runs_of_origins())


def escape(value: Any) -> TracedMarkup:
    """Convert a value to text, escaped for HTML unless it already is (the filter `escape`).

    >>> escape(computed("<b>")) == "&lt;b&gt;"
    True
    """
    if hasattr(value, "__html__"):
        return markup(value)
    return force_escape(value)


def force_escape(value: Any) -> TracedMarkup:
    """Convert a value to text, escaped for HTML (the filter `forceescape`)."""
    if hasattr(value, "__html__"):
        value = value.__html__()
    text = str(value)
    traced = text if isinstance(text, Traced) else computed(text)
    escaped = str.__str__(markup_escape(str.__str__(traced)))
    if len(escaped) == len(traced):
        return TracedMarkup(escaped, traced.runs_of_origins())
    sizes = [_ESCAPED_SIZES.get(character, 1) for character in str.__str__(traced)]
    return TracedMarkup(escaped, resize(traced.runs_of_origins(), sizes))


def markup_join(parts: Iterable[Any]) -> Traced:
    """Join values as `~` does if autoescape may be on: if one part is safe, the others are escaped."""
    items = [part if isinstance(part, str) else computed(str(part)) for part in parts]
    if any(hasattr(item, "__html__") for item in items):
        return markup("").join(items)
    return concat(items)


def _escaped_text(value: Any) -> Any:
    return (
        Traced(escaped, escaped.runs_of_origins())
        if isinstance(value, str) and (escaped := escape(value))
        else value
    )
