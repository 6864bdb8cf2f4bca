"""A chat template as users name it: a built-in one, a Jinja file, or the tokenizer's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tokbench.chat.conversation_files import conversation_of
from tokbench.chat.encoding import ASSISTANT, EncodedChat, EncodedChats, encode_chats
from tokbench.chat.formats import all_formats, named, near_template, recognized
from tokbench.chat.formats.catalogue import check_vocabulary, fitted, merges_bytes
from tokbench.chat.rendered import Rendered
from tokbench.chat.shortening import shortened
from tokbench.chat.turns import TurnFinder
from tokbench.core.guarded import control_tokens
from tokbench.core.roles import roles_of
from tokbench.errors import ModelFormatError, TemplateError
from tokbench.files.untrusted import LFS_POINTER, decode_text, read_named, refuse_placeholder
from tokbench.formats.tokenizer_config.fields import DEFAULT_TEMPLATE, config_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from tokbench.chat.conversation import Conversation, Renderer
    from tokbench.chat.formats import Format
    from tokbench.core.interfaces import Tokenizer
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

AUTO = "auto"
"""The name for the tokenizer's own template, or else the built-in one that fits its tokens."""

_MAX_BYTES = 2**20
_OWN: WeakKeyDictionary[
    Tokenizer, tuple[TokenizerConfig, dict[tuple[str, datetime | None], ChatTemplate]]
] = WeakKeyDictionary()
"""Tokenizer → its configuration, and the templates created from it by name and date."""


class ChatTemplate:
    r"""Renders conversations as text whose characters have origins, and encodes them accordingly.

    Args:
        name: name of a built-in template, as `tokbench chat --help` lists them.
        date: the date to write, if the template writes one; None uses the current date.

    Attributes:
        name: the name that users know it by.
        date: the date to write; None uses the current date.

    Raises:
        TemplateError: no template has that name.

    >>> template = ChatTemplate("chatml")
    >>> template.render([{"role": "user", "content": "Hi"}], prompt=True).text
    '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n'
    """

    def __init__(self, name: str, *, date: datetime | None = None) -> None:
        self._initialize(name, date=date)
        self._format: Format | None = named(name)

    def _initialize(self, name: str, *, date: datetime | None) -> None:
        self.name = name
        self.date = date
        self._sources: Mapping[str, str] = {}
        self._chosen: str | None = None
        self._format = None
        self._fitted: tuple[Tokenizer, Format] | None = None
        self._bound: dict[tuple[tuple[str, Any], ...], Renderer] = {}
        self._finder: TurnFinder | None = None

    @classmethod
    def from_text(
        cls,
        source: str | Mapping[str, str],
        *,
        name: str = "the template",
        chosen: str | None = None,
        date: datetime | None = None,
    ) -> ChatTemplate:
        """Create a template from Jinja source.

        Args:
            source: its text, or several by name: conversations with tools use "tool_use", others "default".
            name: name of the template in errors.
            chosen: the name of the one to use for all conversations, if there are several.
            date: the current time for `strftime_now`; None uses the time of the call.

        Raises:
            TemplateError: it is too long, or none has that name.
        """
        if not isinstance(source, str | Mapping):
            raise TemplateError(f"{name} is text in Jinja, or several by name, not {type(source).__name__}")
        template = cls.__new__(cls)
        template._initialize(name, date=date)
        template._sources = {DEFAULT_TEMPLATE: source} if isinstance(source, str) else dict(source)
        template._chosen = chosen
        template._renderer({})  # raises if it can never be rendered
        return template

    @classmethod
    def from_file(cls, path: PathLike[str] | str, *, date: datetime | None = None) -> ChatTemplate:
        """Read a Jinja template from a file.

        Raises:
            TemplateError: it cannot be read, or is too long.
        """
        try:
            data = read_named(Path(path), limit=_MAX_BYTES)
            if data.startswith(LFS_POINTER):  # a page of HTML may be a template
                refuse_placeholder(Path(path), data)
            text = decode_text(data, path=Path(path))
        except OSError as error:
            raise TemplateError(f"{path}: {error.strerror or error}", hint=near_template(str(path))) from None
        except ModelFormatError as error:
            raise TemplateError(str(error), hint=error.hint or "a chat template is text in Jinja") from None
        return cls.from_text(text.replace("\r\n", "\n").replace("\r", "\n"), name=str(path), date=date)

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, name: str | PathLike[str] = AUTO, *, date: datetime | None = None
    ) -> ChatTemplate:
        """Return the template that a name means for a tokenizer.

        Args:
            tokenizer: the tokenizer, whose files may contain templates.
            name: "auto" is the tokenizer's own, or else the built-in one that fits its special tokens; other names
                are those of its own templates, if it has several, of built-in ones, and of files. A path is a file.
            date: the date to write; None uses the current date.

        Raises:
            TemplateError: there is no such template, or the tokenizer's own is damaged.
        """
        if isinstance(name, PathLike):
            return cls.from_file(name, date=date)
        if not isinstance(name, str):
            raise TemplateError(f"a chat template is named by a str or a path, not by {type(name).__name__}")
        config = config_of(tokenizer)
        own, called = config.chat_templates, f"the chat template of {tokenizer.info.name}"
        if name == AUTO:
            if own:
                return cls._own(tokenizer, called, date=date)
            if config.lost_templates:
                raise TemplateError(
                    f"{called} may be in a file that cannot be read: {'; '.join(config.lost_templates)}",
                    hint="repair the file, or choose a template: --template FILE, or the name of a built-in one",
                )
            fitting = recognized(control_tokens(tokenizer), merges_bytes=merges_bytes(tokenizer))
            if fitting:
                return cls(fitting[0].name, date=date)
            raise TemplateError(
                f"{tokenizer.info.name} has no chat template, and no built-in one matches its special tokens",
                hint="name one (--template): a file, or " + ", ".join(each.name for each in all_formats()),
            )
        if name in own:
            return cls._own(tokenizer, f"{called}, {name}", chosen=name, date=date)
        if name in {each.name for each in all_formats()}:
            return cls(name, date=date)
        if Path(name).exists() or Path(name).suffix in (".jinja", ".j2", ".txt"):
            return cls.from_file(name, date=date)
        raise TemplateError(f"there is no chat template {name!r}", hint=near_template(name, own))

    @classmethod
    def _own(
        cls, tokenizer: Tokenizer, called: str, *, chosen: str | None = None, date: datetime | None
    ) -> ChatTemplate:
        """Return one of a tokenizer's own templates, cached so that its rendering process is started only once."""
        config = config_of(tokenizer)
        known, templates = _OWN.get(tokenizer, (None, {}))
        if known is not config:
            _OWN[tokenizer] = config, (templates := {})
        if (called, date) not in templates:
            templates[called, date] = cls.from_text(
                config.chat_templates, name=called, chosen=chosen, date=date
            )
        return templates[called, date]

    def __repr__(self) -> str:
        """Return a short description with the name."""
        return f"<chat template {self.name!r}>"

    @property
    def sources(self) -> Mapping[str, str]:
        """Name → text of the Jinja templates; empty for a built-in template."""
        if self._chosen is not None:
            return {self._chosen: self._sources[self._chosen]}
        return self._sources

    def after(self, text: str) -> ChatTemplate:
        """Return a copy with text prepended to the Jinja source; a built-in template is returned unchanged."""
        if self._format is not None:
            return self
        sources = {name: text + source for name, source in self._sources.items()}
        return ChatTemplate.from_text(sources, name=self.name, chosen=self._chosen, date=self.date)

    def source_for(self, conversation: Conversation) -> str | None:
        """Return the Jinja source for a conversation; None for a built-in template. Raises `TemplateError`."""
        from tokbench.chat.jinja.template import JinjaTemplate

        renderer = self._renderer({})
        return renderer.source_for(conversation) if isinstance(renderer, JinjaTemplate) else None

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        documents: Sequence[Mapping[str, Any]] = (),
        variables: Mapping[str, Any] | None = None,
        prompt: bool = False,
        continue_final: bool = False,
        tokenizer: Tokenizer | None = None,
    ) -> Rendered:
        """Render a conversation as text.

        Args:
            messages: objects with a `role`, and the fields that the template reads: `content`, `tool_calls`, …
            tools: JSON schemas of functions.
            documents: documents for retrieval templates.
            variables: further template variables by name.
            prompt: whether to end with the generation prompt.
            continue_final: whether to end with the content of the last message, for the model to continue.
            tokenizer: provides `bos_token` and other special tokens to a Jinja template.

        Raises:
            ModelFormatError: the messages are not a conversation.
            TemplateError: the template refuses it, fails on it or exceeds its limits.
        """
        conversation = conversation_of(
            messages, tools=tools, documents=documents, variables=variables, is_unfinished=continue_final
        )
        [rendered] = self.render_many([conversation], prompt=prompt, tokenizer=tokenizer)
        if not isinstance(rendered, Rendered):
            raise rendered
        return rendered

    def render_many(
        self,
        conversations: Sequence[Conversation],
        *,
        prompt: bool = False,
        tokenizer: Tokenizer | None = None,
    ) -> list[Rendered | TemplateError]:
        """Render many conversations; refused ones have the error in their place.

        Raises:
            TemplateError: the template itself is invalid or exceeds its limits, or both endings are requested at once.
        """
        if prompt and any(conversation.is_unfinished for conversation in conversations):
            raise TemplateError(
                "a conversation cannot both end with the assistant's prompt and continue its last message",
                hint="choose one of prompt and continue_final (--completion, --continue-final)",
            )
        results = self.renderer_for(tokenizer).render(
            [self._with_date(conversation) for conversation in conversations], prompt=prompt
        )
        return [
            result.unfinished(len(conversation.messages) - 1)
            if conversation.is_unfinished and isinstance(result, Rendered)
            else result
            for result, conversation in zip(results, conversations, strict=True)
        ]

    def encode(
        self,
        tokenizer: Tokenizer,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        documents: Sequence[Mapping[str, Any]] = (),
        variables: Mapping[str, Any] | None = None,
        prompt: bool = False,
        continue_final: bool = False,
        train_on: str | Collection[str] = ASSISTANT,
        by_segment: bool = False,
        max_tokens: int | None = None,
    ) -> EncodedChat:
        """Encode a conversation, with its loss mask; the other arguments are those of `render` and `encode_many`.

        If `max_tokens` is given, whole turns are dropped, the oldest first, until at most this many tokens are left.

        Raises:
            ModelFormatError: the messages are not a conversation.
            TemplateError: the template refuses it, or it does not fit.
            TextError: it contains a lone surrogate.
        """
        conversation = conversation_of(
            messages, tools=tools, documents=documents, variables=variables, is_unfinished=continue_final
        )
        if max_tokens is not None:
            conversation, _ = shortened(self, tokenizer, conversation, max_tokens=max_tokens, prompt=prompt)
        encoded = self.encode_many(
            tokenizer, [conversation], prompt=prompt, train_on=train_on, by_segment=by_segment
        )
        return encoded[0]

    def encode_many(
        self,
        tokenizer: Tokenizer,
        conversations: Sequence[Conversation],
        *,
        prompt: bool = False,
        train_on: str | Collection[str] = ASSISTANT,
        by_segment: bool = False,
        threads: int | None = None,
    ) -> EncodedChats:
        """Encode many conversations into arrays, with their loss masks.

        Args:
            tokenizer: any tokenizer.
            conversations: the conversations.
            prompt: whether each ends with the generation prompt.
            train_on: the roles whose turns are learned, or one of them.
            by_segment: whether to encode each segment of one origin by itself.
            threads: None uses every processor.

        Raises:
            TemplateError: the template refuses a conversation; the message has its number.
            TextError: a conversation contains a lone surrogate.
        """
        results = self.render_many(conversations, prompt=prompt, tokenizer=tokenizer)
        rendered: list[Rendered] = []
        for number, result in enumerate(results):
            if not isinstance(result, Rendered):
                if len(results) == 1:
                    raise result
                raise TemplateError(f"conversation {number}: {result.message}", hint=result.hint)
            rendered.append(result)
        return self.encode_rendered(
            tokenizer, conversations, rendered, train_on=train_on, by_segment=by_segment, threads=threads
        )

    def encode_rendered(
        self,
        tokenizer: Tokenizer,
        conversations: Sequence[Conversation],
        rendered: Sequence[Rendered],
        *,
        train_on: str | Collection[str] = ASSISTANT,
        by_segment: bool = False,
        threads: int | None = None,
    ) -> EncodedChats:
        """Encode rendered conversations; arguments and errors are those of `encode_many`."""
        if self._format is not None:
            check_vocabulary(self._format, tokenizer, rendered)
        dated = [self._with_date(conversation) for conversation in conversations]
        rendered = self._turn_finder(tokenizer).with_turns(dated, rendered)
        roles = [[str(said["role"]) for said in conversation.messages] for conversation in conversations]
        return encode_chats(
            tokenizer, rendered, roles=roles, train_on=train_on, by_segment=by_segment, threads=threads
        )

    def _turn_finder(self, tokenizer: Tokenizer) -> TurnFinder:
        """Return the finder of the last call if it suits the tokenizer, as it remembers forms."""
        tokens, bos = tokenizer.info.special_tokens, roles_of(tokenizer).get("bos")
        finder = TurnFinder(self.renderer_for(tokenizer), special_tokens=frozenset(tokens), bos=bos)
        self._finder = self._finder if self._finder == finder else finder
        return self._finder

    def renderer_for(self, tokenizer: Tokenizer | None) -> Renderer:
        """Return the renderer, with the special tokens of a tokenizer."""
        if tokenizer is None:
            return self._renderer({})
        if self._format is None:
            from tokbench.chat.jinja.template import template_tokens

            return self._renderer(template_tokens(tokenizer))
        if self._fitted is None or self._fitted[0] is not tokenizer:
            self._fitted = (tokenizer, fitted(self._format, tokenizer))
        return self._fitted[1]

    def _renderer(self, special_tokens: Mapping[str, Any]) -> Renderer:
        if self._format is not None:
            return self._format
        from tokbench.chat.jinja.template import JinjaTemplate

        key = tuple(sorted((name, str(value)) for name, value in special_tokens.items()))
        if key not in self._bound:
            self._bound[key] = JinjaTemplate(
                self.name,
                self._sources,
                special_tokens=special_tokens,
                template=self._chosen,
                date=self.date,
            )
        return self._bound[key]

    def _with_date(self, conversation: Conversation) -> Conversation:
        """Add the date to a conversation, for built-in templates that take it as a variable."""
        known = {} if self._format is None else self._format.variables
        if self.date is None or "date_string" not in known or "date_string" in conversation.variables:
            return conversation
        date = self.date.strftime("%d %b %Y")
        return replace(conversation, variables={**conversation.variables, "date_string": date})
