"""What writes conversations as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.chat.conversation import Conversation
    from tokbench.chat.rendered import Rendered
    from tokbench.errors import TemplateError


class Renderer(Protocol):
    """A chat template: a built-in one, or one in Jinja."""

    @property
    def name(self) -> str:
        """How the user calls it: `chatml`, or the name of its file."""

    def render(
        self, conversations: Sequence[Conversation], *, prompt: bool = False
    ) -> list[Rendered | TemplateError]:
        """Write each conversation as text.

        Args:
            conversations: what is written.
            prompt: whether each ends ready for the assistant (`add_generation_prompt`).

        Returns:
            For each conversation its text, or the error by which the template refuses it, so that one
            of many does not stop the others.

        Raises:
            TemplateError: the template itself is none, or exceeds its limits.
        """
