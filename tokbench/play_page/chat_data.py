"""The chat template of a tokenizer as data of the page, or the reason why the page has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.chat.conversation import Conversation
from tokbench.chat.formats import all_formats
from tokbench.chat.formats.catalogue import check_vocabulary, named, recognized
from tokbench.chat.rendered import Rendered
from tokbench.chat.template import AUTO, ChatTemplate
from tokbench.chat.turns import TurnFinder
from tokbench.core.guarded import control_tokens
from tokbench.core.roles import roles_of
from tokbench.errors import TemplateError
from tokbench.formats.tokenizer_config.fields import config_of
from tokbench.play_page.chat_form import Domain
from tokbench.play_page.chat_inference import NoFormError, infer_form, literals_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from tokbench.chat.conversation import Renderer
    from tokbench.core.interfaces import Tokenizer
    from tokbench.play_page.chat_form import ChatForm
    from tokbench.play_page.chat_inference import Render

_GREETING = Conversation(({"role": "user", "content": "Hi"},))


@dataclass(frozen=True, slots=True)
class ChatData:
    """The conversations of a tokenizer on a page.

    Attributes:
        template: the template.
        form: the template as a table.
        controls: the texts of the control tokens.
        date: the date that the template writes; None if it writes none.
    """

    template: ChatTemplate
    form: ChatForm
    controls: tuple[str, ...]
    date: str | None

    @property
    def note(self) -> str:
        """The note that the page shows about it."""
        note = f"Conversations by {self.template.name}, text only; for tools use tokbench chat."
        if self.form.domain is not Domain.ANY:
            note += f" It is verified if {self.form.domain.value}."
        if self.form.limits:
            words = " ".join(dict.fromkeys(text for _, text in self.form.limits))
            note += f" It is not verified with these texts in messages: {words}"
        return note if self.date is None else f"{note} Its date is {self.date}."

    def to_json(self) -> dict[str, Any]:
        """Return the data of the page."""
        return {
            "template": self.template.name,
            "controls": self.controls,
            "date": self.date,
            **self.form.to_json(),
        }


@dataclass(frozen=True, slots=True)
class NoChat:
    """The reason why a page shows no conversations for a tokenizer."""

    reason: str

    @property
    def note(self) -> str:
        """The note that the page shows about it."""
        return f"No conversations: {self.reason}."

    def to_json(self) -> dict[str, Any]:
        """Return the data of the page."""
        return {"reason": self.reason}


def chat_data(
    tokenizer: Tokenizer, found: Sequence[str], *, template: str = AUTO, date: datetime
) -> ChatData | NoChat:
    """Return the conversations of a tokenizer as data for the page.

    Args:
        tokenizer: the tokenizer.
        found: the tokens that the page's encoder matches before anything else, and those that its model matches.
        template: the name of a template, as `tokbench chat --template` takes it.
        date: the current date for a template that writes it.

    Raises:
        TemplateError: no template has that name, or the tokenizer lacks tokens that it needs.
    """
    if (
        template == AUTO
        and not config_of(tokenizer).chat_templates
        and not recognized(control_tokens(tokenizer))
    ):
        return NoChat("it has no chat template, and no built-in one matches its special tokens")
    chat = ChatTemplate.of(tokenizer, template, date=date)
    controls = control_tokens(tokenizer)
    if lost := sorted(set(controls) - set(found)):
        return NoChat(f"its model finds {lost[0]} in every text, which the page cannot prevent")
    try:
        form = infer_form(_render_function(chat, tokenizer), literals=_literals(chat, controls))
    except NoFormError as error:
        return NoChat(f"{chat.name} does not fit into a table: {error}")
    except TemplateError as error:
        if template != AUTO:
            raise
        return NoChat(f"{chat.name} fails: {error.message}")
    return ChatData(chat, form, tuple(controls), f"{date:%Y-%m-%d}" if _is_dated(chat, tokenizer) else None)


class _CachingRenderer:
    """A renderer that caches its results: short conversations share prefixes, which are rendered to find turns."""

    def __init__(self, renderer: Renderer) -> None:
        self.name = renderer.name
        self._renderer = renderer
        self._made: dict[tuple[Any, ...], Rendered | TemplateError] = {}

    def render(
        self, conversations: Sequence[Conversation], *, prompt: bool = False
    ) -> list[Rendered | TemplateError]:
        """Return the renderer's result for each conversation of texts."""
        keys = [
            (prompt, *((message["role"], message["content"]) for message in conversation.messages))
            for conversation in conversations
        ]
        new = {
            key: conversation
            for key, conversation in zip(keys, conversations, strict=True)
            if key not in self._made
        }
        self._made |= zip(new, self._renderer.render(list(new.values()), prompt=prompt), strict=True)
        return [self._made[key] for key in keys]


def _render_function(chat: ChatTemplate, tokenizer: Tokenizer) -> Render:
    """Return a function that renders conversations with turns."""
    renderer = _CachingRenderer(chat.renderer_for(tokenizer))
    finder = TurnFinder(
        renderer,
        special_tokens=frozenset(tokenizer.info.special_tokens),
        bos=roles_of(tokenizer).get("bos"),
    )

    def render(conversations: Sequence[Conversation], prompt: bool) -> list[Rendered | None]:  # noqa: FBT001
        if chat.sources:
            made = renderer.render(conversations, prompt=prompt)
        else:
            made = chat.render_many(conversations, prompt=prompt, tokenizer=tokenizer)
        kept = [number for number, result in enumerate(made) if isinstance(result, Rendered)]
        texts = [result for result in made if isinstance(result, Rendered)]
        if not chat.sources:
            check_vocabulary(named(chat.name), tokenizer, texts)
        rendered = finder.with_turns([conversations[number] for number in kept], texts)
        by_number = dict(zip(kept, rendered, strict=True))
        return [by_number.get(number) for number in range(len(made))]

    return render


def _literals(chat: ChatTemplate, controls: Mapping[str, int]) -> set[str]:
    """Return texts that a template could search for in contents."""
    known = {text for template in all_formats() for text in (*template.known_tokens, *template.text_marks)}
    return known | literals_of(chat.sources.values()) | set(controls if len(controls) < 200 else ())


def _is_dated(chat: ChatTemplate, tokenizer: Tokenizer) -> bool:
    rendered = [
        result
        for result in chat.render_many([_GREETING], prompt=False, tokenizer=tokenizer)
        if isinstance(result, Rendered)
    ]
    return any(
        conversation.dated or "date_string" in {run.origin.field for run in conversation.runs}
        for conversation in rendered
    )
