"""A compiled template, in the rendering process."""

from __future__ import annotations

import re
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError

from tokbench.chat.jinja.environment import RefusalError, TracedEnvironment
from tokbench.chat.jinja.limits import CHARACTERS, LimitError
from tokbench.chat.jinja.runs import Runs, join
from tokbench.chat.jinja.traced import runs_of
from tokbench.chat.jinja.values import Values, template_values
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

_MESSAGE = 2000
"""Maximum number of characters shown of a template's own error message."""

_CLASS = re.compile(r"(?:tokbench\.chat\.jinja\.\w+\.)?Traced(?:Markup)?\b")
"""The names of the string classes here, as they occur in Python's error messages."""

_SHOWN = 40
"""Maximum number of characters shown of a value that is not a message."""

_GIVEN = frozenset({"messages", "tools", "documents", "add_generation_prompt"})


class Written(NamedTuple):
    """The output of a template for a conversation.

    Attributes:
        text: the text.
        runs: the origins of its characters.
        generated: the ranges of its `{% generation %}` blocks; None if the template has none.
        dated: whether it depends on the date.
    """

    text: str
    runs: Runs
    generated: list[tuple[int, int]] | None
    dated: bool


class Given(NamedTuple):
    """What a template is given of a conversation: traced values, which no template can change.

    Attributes:
        values: the origins of the values.
        variables: the variables by name, except for the generation prompt.
    """

    values: Values
    variables: Mapping[str, Any]


class Program:
    """A compiled chat template; it runs in the calling process, without limits on time and memory.

    >>> program = Program("<s>{{ messages[0].content }}", special_tokens={})
    >>> program.write({"messages": [{"content": "Hi"}], "tools": [], "documents": [], "variables": {}}).text
    '<s>Hi'
    """

    def __init__(
        self, source: str, *, special_tokens: Mapping[str, Any], date: datetime | None = None
    ) -> None:
        """Compile a template.

        Raises:
            TemplateError: the template is invalid.
        """
        self._environment = environment = TracedEnvironment(date=date)
        self._special_tokens = template_values(dict(special_tokens))
        try:
            tree = environment.parse(source)
            self.asks_prompt = any(name.name == "add_generation_prompt" for name in tree.find_all(nodes.Name))
            self._template = environment.from_string(tree)
        except TemplateSyntaxError as error:
            raise TemplateError(f"line {error.lineno}: {error.message}") from None
        except (RecursionError, MemoryError):
            raise TemplateError("it is nested too deeply") from None
        except SyntaxError as error:
            raise TemplateError(error.msg) from None
        except (ValueError, OverflowError) as error:
            raise TemplateError(str(error)) from None

    def write(self, conversation: Mapping[str, Any], *, prompt: bool = False) -> Written:
        """Render a conversation.

        Args:
            conversation: `messages`, `tools`, `documents` and `variables`, plain JSON.
            prompt: whether to add the generation prompt.

        Raises:
            TemplateError: the template refuses it, fails on it, or exceeds a limit.
        """
        given = self.given(conversation)
        with self._own_errors():
            environment = self._environment
            pieces = self._pieces(given, given.variables["messages"], prompt=prompt)
            return Written(
                "".join(pieces),
                join(map(runs_of, pieces)),
                environment.generated if environment.has_generation else None,
                environment.asked_date,
            )

    def write_beginning(self, given: Given, num_messages: int, *, prompt: bool = False) -> str:
        """Render the first messages of a conversation, without origins.

        Raises:
            TemplateError: as `write`.
        """
        with self._own_errors():
            return "".join(self._pieces(given, given.variables["messages"][:num_messages], prompt=prompt))

    def given(self, conversation: Mapping[str, Any]) -> Given:
        """Return what a template is given of a conversation. Raises `TemplateError` if it cannot be a template's."""
        with self._own_errors():
            if taken := _GIVEN & conversation["variables"].keys():
                raise TemplateError(
                    f"a variable cannot be called {min(taken)!r}, which the conversation sets"
                )
            for name in ("messages", "tools", "documents"):
                for number, item in enumerate(conversation[name]):
                    if not isinstance(item, dict):
                        raise TemplateError(f"{name}[{number}] is not a JSON object: {str(item)[:_SHOWN]!r}")
            values = Values()
            try:
                return Given(values, {**self._special_tokens, **values.variables(conversation)})
            except RecursionError:
                raise TemplateError("the conversation is nested too deeply") from None

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """Turn everything that a template can raise into a `TemplateError`."""
        try:
            yield
        except RefusalError as refusal:
            raise TemplateError(f"the template refuses it: {str(refusal.message)[:_MESSAGE]}") from None
        except LimitError as error:
            raise TemplateError(f"the template exceeds a limit: {error}") from error
        except MemoryError as error:
            raise TemplateError("the template exceeds a limit: it takes too much memory") from error
        except RecursionError:
            raise TemplateError("the template calls itself too deeply") from None
        except TemplateError:
            raise
        except Exception as error:
            line = self._line(error)
            where = f"line {line}: " if line else ""
            message = _CLASS.sub("str", str(error))[:_MESSAGE]
            raise TemplateError(f"the template fails: {where}{type(error).__name__}: {message}") from None

    def _pieces(self, given: Given, messages: Sequence[Any], *, prompt: bool) -> list[str]:
        if not messages:
            raise TemplateError("the conversation has no messages")
        environment = self._environment
        variables = {**given.variables, "messages": messages, "add_generation_prompt": prompt}
        environment.begin(given.values)
        pieces: list[str] = []
        for piece in self._template.root_render_func(self._template.new_context(variables)):
            environment.written += len(piece)
            if environment.written > CHARACTERS:
                raise LimitError(f"it writes more than {CHARACTERS:,} characters")
            pieces.append(piece)
        return pieces

    def _line(self, error: Exception) -> int | None:
        """Return the line of the template at which it failed."""
        lines = [
            self._template.get_corresponding_lineno(frame.lineno or 0)
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == "<template>"
        ]
        return lines[-1] if lines else None
