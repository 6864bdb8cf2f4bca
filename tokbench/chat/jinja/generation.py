"""The tag `{% generation %}`, which says what the assistant wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import nodes
from jinja2.ext import Extension

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2.parser import Parser


class GenerationExtension(Extension):
    """Notes which characters of the text are in such blocks, as `transformers` does.

    A block begins behind what the template has written to its output when the block is reached. What a macro or a
    `{% set %}` block has gathered until then is not yet written and does not count, there as here.
    """

    tags = {"generation"}  # noqa: RUF012 - so Jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """Read a block."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        self.environment.has_generation = True  # type: ignore[attr-defined]
        return nodes.CallBlock(self.call_method("_generated"), [], [], body).set_lineno(line)

    def _generated(self, caller: Callable[[], str]) -> str:
        environment: Any = self.environment
        text = caller()
        environment.generated.append((environment.written, environment.written + len(text)))
        return text
