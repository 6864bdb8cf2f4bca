"""Renderings of conversations of every shape by a chat template, computed once for all rules about templates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tokbench.chat.conversation import SHAPES, TURNS
from tokbench.chat.rendered import Rendered
from tokbench.chat.template import AUTO, ChatTemplate
from tokbench.core.roles import roles_of
from tokbench.core.tokens import TokenKind
from tokbench.errors import TemplateError
from tokbench.formats.tokenizer_config.fields import config_of, token_id
from tokbench.lint.rules import DoesNotApplyError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.chat.encoding import EncodedChat
    from tokbench.core.interfaces import Tokenizer
    from tokbench.lint.target import LintTarget

_KINDS = tuple(TokenKind)
_DEFAULT = "default"
"""Name of the template that transformers uses by default; there may be others for special purposes."""
_NULL = "a call with content null"


@dataclass(frozen=True)
class TemplateProbe:
    """A template with its renderings of conversations.

    Attributes:
        name: its name in findings.
        is_general: whether it is for any conversation, not only for those with tools or documents.
        template: the template.
        tokenizer: the tokenizer that encodes the texts.
        shapes: shape → rendered text, or the error that refuses it.
        beginnings: renderings of the first 1, 2, … messages of two exchanges.
        prompt: rendering of the first message with the generation prompt.
    """

    name: str
    is_general: bool
    template: ChatTemplate
    tokenizer: Tokenizer
    shapes: Mapping[str, Rendered | TemplateError]
    beginnings: tuple[Rendered | TemplateError, ...]
    prompt: Rendered | TemplateError

    @classmethod
    def of(
        cls, name: str, template: ChatTemplate, tokenizer: Tokenizer, *, is_general: bool
    ) -> TemplateProbe:
        """Render all conversations. Raises `TemplateError` for an invalid template."""
        parts = [
            replace(TURNS, messages=TURNS.messages[:count]) for count in range(1, len(TURNS.messages) + 1)
        ]
        made = template.render_many([*SHAPES.values(), *parts], tokenizer=tokenizer)
        [prompt] = template.render_many(parts[:1], prompt=True, tokenizer=tokenizer)
        shapes = dict(zip(SHAPES, made, strict=False)) | {_NULL: _with_null(template, tokenizer)}
        return cls(name, is_general, template, tokenizer, shapes, tuple(made[len(SHAPES) :]), prompt)

    @property
    def plain(self) -> Rendered | None:
        """The rendering of one exchange; None if it is refused."""
        found = self.shapes["one exchange"]
        return found if isinstance(found, Rendered) else None

    @cached_property
    def chat(self) -> EncodedChat | None:
        """The ids of one exchange with its loss mask; None if it is refused."""
        if self.plain is None:
            return None
        conversation = SHAPES["one exchange"]
        return self.template.encode_rendered(self.tokenizer, [conversation], [self.plain])[0]

    def ids(self, rendered: Rendered, messages: int) -> list[int]:
        """Encode the rendering of the first messages of two exchanges."""
        conversation = replace(TURNS, messages=TURNS.messages[:messages])
        encoded = self.template.encode_rendered(
            self.tokenizer, [conversation], [replace(rendered, turns=())], train_on=()
        )
        ids: list[int] = encoded[0].ids.tolist()
        return ids

    @property
    def bos_written(self) -> int:
        """Number of bos tokens at the beginning of one exchange."""
        bos = roles_of(self.tokenizer).get("bos", config_of(self.tokenizer).roles.get("bos"))
        id = None if bos is None else token_id(self.tokenizer, bos)
        if self.chat is None or id is None:
            return 0
        ids = self.chat.ids.tolist()
        return next((count for count, other in enumerate(ids) if other != id), len(ids))

    @property
    def ending(self) -> tuple[int, str] | None:
        """Id and text of the control token that ends the answer: the last one after it in the loss mask.

        With an empty loss mask, it is the first one after the answer; None if there is none.
        """
        if self.chat is None:
            return None
        chat, data = self.chat, self.chat.rendered.text.encode()
        last = len(data) - len(self.after_answer.encode())
        following = [
            place
            for place, kind in enumerate(chat.kinds.tolist())
            if _KINDS[kind] is TokenKind.SPECIAL and chat.starts[place] >= last
        ]
        learned = [place for place in following if chat.loss_mask[place]]
        candidates = learned[-1:] if chat.loss_mask.any() else following[:1]
        if not candidates:
            return None
        [place] = candidates
        text = data[chat.starts[place] : chat.stops[place]].decode().strip()
        return int(chat.ids[place]), text

    @property
    def after_answer(self) -> str:
        """The text that the template writes after the last answer; empty if one exchange is refused."""
        if self.plain is None:
            return ""
        content = [run.stop for run in self.plain.runs if run.origin.field is not None]
        return self.plain.text[max(content, default=0) :]


def _with_null(template: ChatTemplate, tokenizer: Tokenizer) -> Rendered | TemplateError:
    """Render a call whose content stays null: transformers 5 drops such fields, other software passes them on."""
    conversation = SHAPES[_NULL]
    given = replace(conversation, variables={"messages_with_null": list(conversation.messages)})
    handing_on = template.after("{%- set messages = messages_with_null -%}")
    return handing_on.render_many([given], tokenizer=tokenizer)[0]


def probes(target: LintTarget) -> tuple[TemplateProbe, ...]:
    """Return the renderable templates of a target: the one given by the user, or the tokenizer's own."""
    return target.derived(_probed)[0]


def failures(target: LintTarget) -> tuple[tuple[str, TemplateError], ...]:
    """Return the templates that cannot be rendered at all, with the error."""
    return target.derived(_probed)[1]


def _probed(target: LintTarget) -> tuple[tuple[TemplateProbe, ...], tuple[tuple[str, TemplateError], ...]]:
    templates = dict(_templates(target))
    if not templates:
        raise DoesNotApplyError("it has no chat template")
    found: list[TemplateProbe] = []
    failed: list[tuple[str, TemplateError]] = []
    for name, template in templates.items():
        try:
            is_general = name == _DEFAULT or len(templates) == 1
            found.append(TemplateProbe.of(name, template, target.tokenizer, is_general=is_general))
        except TemplateError as error:
            failed.append((name, error))
    return tuple(found), tuple(failed)


def _templates(target: LintTarget) -> Mapping[str, ChatTemplate]:
    tokenizer, own = target.tokenizer, target.opened.source.config.chat_templates
    if target.template is not None and (target.template != AUTO or not own):
        return {target.template: ChatTemplate.of(tokenizer, target.template)}
    return {
        name: ChatTemplate.from_text(text, name=f"the chat template {name}") for name, text in own.items()
    }
