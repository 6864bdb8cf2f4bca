"""The chat template of a tokenizer as data of the page, or why the page has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.chat.conversation import Conversation
from tokbench.chat.formats import all_formats
from tokbench.chat.formats.catalogue import named, recognized
from tokbench.chat.formats.vocabulary import check_vocabulary
from tokbench.chat.rendered import Rendered
from tokbench.chat.template import AUTO, ChatTemplate
from tokbench.chat.turns import with_turns
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
    """Conversations on a page.

    Attributes:
        template: writes them.
        form: the same as a table.
        controls: the texts of the control tokens.
        date: what a template that writes the date takes for today; None where it writes none.
    """

    template: ChatTemplate
    form: ChatForm
    controls: tuple[str, ...]
    date: str | None

    @property
    def note(self) -> str:
        """What the page says of it."""
        note = f"Conversations by {self.template.name}, text only; for tools use tokbench chat."
        if self.form.domain is not Domain.ANY:
            note += f" It is verified where {self.form.domain.value}."
        if self.form.limits:
            words = " ".join(dict.fromkeys(text for _, text in self.form.limits))
            note += f" It is not verified with these texts in messages: {words}"
        return note if self.date is None else f"{note} Its date is {self.date}."

    def to_json(self) -> dict[str, Any]:
        """As the page holds it."""
        return {
            "template": self.template.name,
            "controls": self.controls,
            "date": self.date,
            **self.form.to_json(),
        }


@dataclass(frozen=True, slots=True)
class NoChat:
    """Why a page shows no conversations for a tokenizer."""

    reason: str

    @property
    def note(self) -> str:
        """What the page says of it."""
        return f"No conversations: {self.reason}."

    def to_json(self) -> dict[str, Any]:
        """As the page holds it."""
        return {"reason": self.reason}


def chat_data(
    tokenizer: Tokenizer, found: Sequence[str], *, template: str = AUTO, date: datetime
) -> ChatData | NoChat:
    """Conversations of a tokenizer as data for the page.

    Args:
        tokenizer: it.
        found: the tokens that its encoder on the page finds before anything else, and those that its model does.
        template: the name of a template, as `tokbench chat --template` takes it.
        date: what a template that writes the date takes for today.

    Raises:
        TemplateError: there is no template of that name, or the tokenizer lacks tokens that it needs.
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
        return NoChat(f"its model finds {lost[0]} in every text, which the page cannot hold back")
    try:
        form = infer_form(_render_of(chat, tokenizer), literals=_literals(chat, controls))
    except NoFormError as error:
        return NoChat(f"{chat.name} does not fit into a table: {error}")
    except TemplateError as error:
        if template != AUTO:
            raise
        return NoChat(f"{chat.name} fails: {error.message}")
    return ChatData(chat, form, tuple(controls), f"{date:%Y-%m-%d}" if _is_dated(chat, tokenizer) else None)


class _Remembering:
    """A renderer that renders no conversation twice: short ones begin alike, and turns are found by beginnings."""

    def __init__(self, renderer: Renderer) -> None:
        self.name = renderer.name
        self._renderer = renderer
        self._made: dict[tuple[Any, ...], Rendered | TemplateError] = {}

    def render(
        self, conversations: Sequence[Conversation], *, prompt: bool = False
    ) -> list[Rendered | TemplateError]:
        """What the renderer makes of each conversation of texts."""
        keys = [
            (prompt, *((message["role"], message["content"]) for message in each.messages))
            for each in conversations
        ]
        new = {key: each for key, each in zip(keys, conversations, strict=True) if key not in self._made}
        self._made |= zip(new, self._renderer.render(list(new.values()), prompt=prompt), strict=True)
        return [self._made[key] for key in keys]


def _render_of(chat: ChatTemplate, tokenizer: Tokenizer) -> Render:
    """What writes conversations as the template does, with turns."""
    renderer = _Remembering(chat.renderer_for(tokenizer))
    bos = roles_of(tokenizer).get("bos")

    def render(conversations: Sequence[Conversation], prompt: bool) -> list[Rendered | None]:  # noqa: FBT001
        if chat.sources:
            made = renderer.render(conversations, prompt=prompt)
        else:
            made = chat.render_many(conversations, prompt=prompt, tokenizer=tokenizer)
        kept = [number for number, each in enumerate(made) if isinstance(each, Rendered)]
        texts = [each for each in made if isinstance(each, Rendered)]
        if not chat.sources:
            check_vocabulary(named(chat.name), tokenizer, texts)
        rendered = with_turns(
            renderer,
            [conversations[number] for number in kept],
            texts,
            special_tokens=tokenizer.info.special_tokens,
            bos=bos,
        )
        by_number = dict(zip(kept, rendered, strict=True))
        return [by_number.get(number) for number in range(len(made))]

    return render


def _literals(chat: ChatTemplate, controls: Mapping[str, int]) -> set[str]:
    """What contents may hold that a template could look for."""
    known = {text for each in all_formats() for text in (*each.known_tokens, *each.text_marks)}
    return known | literals_of(chat.sources.values()) | set(controls if len(controls) < 200 else ())


def _is_dated(chat: ChatTemplate, tokenizer: Tokenizer) -> bool:
    rendered = [
        each
        for each in chat.render_many([_GREETING], prompt=False, tokenizer=tokenizer)
        if isinstance(each, Rendered)
    ]
    return any(each.dated or "date_string" in {run.origin.field for run in each.runs} for each in rendered)
