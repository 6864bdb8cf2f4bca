"""A rendered conversation: text with the origin of each character, and the turns of the speakers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, overload

from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Origin(NamedTuple):
    """The origin of text.

    Attributes:
        message: index of the message that it belongs to; None if it belongs to none, or if that is unknown.
        field: the path of the value that it comes from, such as `content`, `content[0].text`,
            `tool_calls[0].function.arguments.city` or `tools[1].function.name`; None for the template's own text.
            The role of a message is the template's own text if it is one of `ROLES`, else content like any other.
    """

    message: int | None = None
    field: str | None = None

    @property
    def is_template(self) -> bool:
        """Whether the text is the template's own, so that control tokens may be recognized in it."""
        return self.field is None


TEMPLATE = Origin()
"""The origin of the template's own text."""

COMPUTED = Origin(None, "computed")
"""The origin of text that the template computed from unknown parts: never part of a control token."""

ROLES = frozenset(
    {
        "system", "developer", "user", "assistant", "tool", "function", "model", "ipython", "environment",
        "observation", "documents", "context",
    }
)  # fmt: skip
"""The roles that a template may write into a control token: fixed words of the format, not user input."""


class Run(NamedTuple):
    """Neighbouring characters with the same origin, as a half-open range of characters of the rendered text."""

    start: int
    stop: int
    origin: Origin


class Runs(Sequence[Run]):
    """Adjacent runs, from the first character of a text to its last.

    They are stored as two tuples, as a conversation has a dozen of them, and corpora have millions of conversations.

    Args:
        starts: the start of each run.
        origins: the origin of each run.
        stop: the end of the last run.

    >>> Runs([0, 3], [TEMPLATE, Origin(0, "content")], 5)[1]
    Run(start=3, stop=5, origin=Origin(message=0, field='content'))
    """

    __slots__ = ("origins", "starts", "stop")

    def __init__(self, starts: Sequence[int], origins: Sequence[Origin], stop: int) -> None:
        self.starts = tuple(starts)
        self.origins = tuple(origins)
        self.stop = stop

    @classmethod
    def of(cls, runs: Iterable[tuple[int, int, Origin]]) -> Runs:
        """Create from adjacent runs. Raises `ValueError` if they are not adjacent."""
        starts: list[int] = []
        origins: list[Origin] = []
        end = 0
        for start, stop, origin in runs:
            if start != end or stop < start:
                raise ValueError("the runs do not adjoin")
            starts.append(start)
            origins.append(origin)
            end = stop
        return cls(starts, origins, end)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[Run]:
        return map(Run, self.starts, self.stops, self.origins)

    @property
    def stops(self) -> tuple[int, ...]:
        """The end of each run."""
        return (*self.starts[1:], self.stop) if self.starts else ()

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        if isinstance(index, slice):
            return list(map(Run, self.starts[index], self.stops[index], self.origins[index]))
        stop = self.starts[index + 1] if -len(self) <= index + 1 < len(self) and index != -1 else self.stop
        return Run(self.starts[index], stop, self.origins[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Runs):
            return NotImplemented
        return (self.starts, self.origins, self.stop) == (other.starts, other.origins, other.stop)

    def __hash__(self) -> int:
        return hash((self.starts, self.origins, self.stop))

    def __repr__(self) -> str:
        return repr(list(self))


class Turn(NamedTuple):
    """The turn of a message's speaker, as a half-open range of characters of the rendered text.

    It begins after the header of the turn, where a model would begin to write, and ends after the token
    that ends the turn; white space between two turns is outside.
    """

    message: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Rendered:
    """A conversation rendered by a template.

    Attributes:
        text: the text that the model sees, before it is encoded.
        runs: the runs that cover the text.
        turns: the turn of each message, in order; empty if the renderer does not know them.
        generated: the ranges in `{% generation %}` blocks, half-open in characters; None without such blocks.
        ends_with_prompt: whether it ends with the generation prompt.
        dated: whether the template used the current date, so that the text depends on the day.

    >>> Rendered.of([("<s>", TEMPLATE), ("Hi", Origin(0, "content"))]).runs[1]
    Run(start=3, stop=5, origin=Origin(message=0, field='content'))
    """

    text: str
    runs: Runs
    turns: tuple[Turn, ...] = ()
    generated: tuple[tuple[int, int], ...] | None = None
    ends_with_prompt: bool = False
    dated: bool = False

    def __post_init__(self) -> None:
        if self.runs.stop != len(self.text):
            raise ValueError("the runs do not cover the text")

    def up_to(self, stop: int) -> Rendered:
        """Return the first `stop` characters of the text.

        >>> Rendered.of([("<s>", TEMPLATE), ("Hi", Origin(0, "content"))]).up_to(4).text
        '<s>H'
        """
        generated = self.generated
        return Rendered(
            self.text[:stop],
            Runs.of((start, min(end, stop), origin) for start, end, origin in self.runs if start < stop),
            tuple(Turn(number, start, min(end, stop)) for number, start, end in self.turns if start < stop),
            None if generated is None else tuple((a, min(b, stop)) for a, b in generated if a < stop),
            dated=self.dated,
        )

    def unfinished(self, message: int) -> Rendered | TemplateError:
        """Return the text up to the end of a message's content, or the error if it does not contain that."""
        for run in reversed(self.runs):
            field = run.origin.field or ""
            if run.origin.message == message and (field == "content" or field.startswith("content[")):
                return self.up_to(run.stop)
        return TemplateError(
            "the template does not write the content of the last message, so it cannot be continued",
            hint="give it content, or end with the assistant's prompt (prompt=True, --completion)",
        )

    @classmethod
    def of(cls, parts: Iterable[tuple[str, Origin]]) -> Rendered:
        """Build a text from parts with origins; neighbours with the same origin become one run."""
        texts: list[str] = []
        starts: list[int] = []
        origins: list[Origin] = []
        size = 0
        for text, origin in parts:
            if not text:
                continue
            texts.append(text)
            if not origins or origins[-1] != origin:
                starts.append(size)
                origins.append(origin)
            size += len(text)
        return cls("".join(texts), Runs(starts, origins, size))
