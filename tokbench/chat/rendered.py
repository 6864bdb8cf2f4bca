"""A conversation as text, with the origin of each character and what each speaker says in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Origin(NamedTuple):
    """Where text is from.

    Attributes:
        message: the message that it belongs to, from 0; None where it belongs to none, or where that is not known.
        field: the path of the value that it is from, as `content`, `content[0].text`,
            `tool_calls[0].function.arguments.city` or `tools[1].function.name`; None for the template's own text.
            The role of a message is the template's own text if it is one of `ROLES`, else content as any other.
    """

    message: int | None = None
    field: str | None = None

    @property
    def is_template(self) -> bool:
        """Whether control tokens may be made of it."""
        return self.field is None


TEMPLATE = Origin()
"""The template's own text."""

COMPUTED = Origin(None, "computed")
"""Text of which nothing is known but that the template computed it: never part of a control token."""

ROLES = frozenset(
    {
        "system", "developer", "user", "assistant", "tool", "function", "model", "ipython", "environment",
        "observation", "documents", "context",
    }
)  # fmt: skip
"""The roles that a template may write into a control token: words of the format, which nobody types."""


class Run(NamedTuple):
    """Neighbouring characters of one origin: a half-open range of characters of the rendered text."""

    start: int
    stop: int
    origin: Origin


class Turn(NamedTuple):
    """What the speaker of a message says: a half-open range of characters of the rendered text.

    It begins behind the header of the turn, where a model would begin to write, and ends behind the token
    that ends the turn; white space between two turns is outside.
    """

    message: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Rendered:
    """A conversation that a template has written.

    Attributes:
        text: what the model sees, before it is encoded.
        runs: they adjoin and cover the text.
        turns: what each message's speaker says, in order; empty where the renderer does not know.
        generated: the ranges in `{% generation %}` blocks, half-open in characters; None without such blocks.
        ends_with_prompt: whether it ends ready for the assistant.
        dated: whether the template asked for the date, so that the text is another one on another day.

    >>> Rendered.of([("<s>", TEMPLATE), ("Hi", Origin(0, "content"))]).runs[1]
    Run(start=3, stop=5, origin=Origin(message=0, field='content'))
    """

    text: str
    runs: tuple[Run, ...]
    turns: tuple[Turn, ...] = ()
    generated: tuple[tuple[int, int], ...] | None = None
    ends_with_prompt: bool = False
    dated: bool = False

    def __post_init__(self) -> None:
        end = 0
        for start, stop, _ in self.runs:
            if start != end or stop < start:
                raise ValueError("the runs do not cover the text")
            end = stop
        if end != len(self.text):
            raise ValueError("the runs do not cover the text")

    def up_to(self, stop: int) -> Rendered:
        """The beginning of the text, so many characters of it.

        >>> Rendered.of([("<s>", TEMPLATE), ("Hi", Origin(0, "content"))]).up_to(4).text
        '<s>H'
        """
        generated = self.generated
        return Rendered(
            self.text[:stop],
            tuple(Run(start, min(end, stop), origin) for start, end, origin in self.runs if start < stop),
            tuple(Turn(number, start, min(end, stop)) for number, start, end in self.turns if start < stop),
            None if generated is None else tuple((a, min(b, stop)) for a, b in generated if a < stop),
            dated=self.dated,
        )

    def content_end(self, message: int) -> int | None:
        """Where the content of a message ends in the text; None where nothing of it is there."""
        for run in reversed(self.runs):
            field = run.origin.field or ""
            if run.origin.message == message and (field == "content" or field.startswith("content[")):
                return run.stop
        return None

    @classmethod
    def of(cls, parts: Iterable[tuple[str, Origin]]) -> Rendered:
        """A text of parts, each with its origin; neighbours of one origin become one run."""
        texts: list[str] = []
        runs: list[Run] = []
        size = 0
        for text, origin in parts:
            if not text:
                continue
            texts.append(text)
            start = runs.pop().start if runs and runs[-1].origin == origin else size
            size += len(text)
            runs.append(Run(start, size, origin))
        return cls("".join(texts), tuple(runs))
