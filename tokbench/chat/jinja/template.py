"""A chat template in Jinja, as stored in tokenizer files."""

from __future__ import annotations

import os
import threading
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from tokbench.chat.jinja.frames import encode
from tokbench.chat.jinja.limits import SECONDS, SOURCE_CHARACTERS
from tokbench.chat.jinja.worker_process import WorkerDiedError, WorkerProcess
from tokbench.chat.rendered import Origin, Rendered, Runs
from tokbench.core.roles import roles_of
from tokbench.errors import TemplateError
from tokbench.formats.tokenizer_config.fields import config_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from tokbench.chat.conversation import Conversation
    from tokbench.core.interfaces import Tokenizer

Result = TypeVar("Result")

_CHUNK = 64
"""Number of results that are requested at once."""

_FAILURES = 3
"""Number of conversations on which a template may exceed its limits before rendering is aborted."""


class JinjaTemplate:
    """Renders any chat template as `transformers` does, in a process with bounded time and memory.

    The process is started by the first `render` and then reused. Each conversation is limited to 10 s of processor
    time, 2 GiB of memory and 64 Mi characters.

    Attributes:
        name: the name that users know it by.

    >>> from tokbench.chat.conversation import Conversation
    >>> source = "{{ bos_token }}{{ messages[0].content }}"
    >>> template = JinjaTemplate("mine", source, special_tokens={"bos_token": "<s>"})
    >>> [rendered] = template.render([Conversation(({"role": "user", "content": "Hi"},))])
    >>> rendered.runs[1]
    Run(start=3, stop=5, origin=Origin(message=0, field='content'))
    """

    def __init__(
        self,
        name: str,
        source: str | Mapping[str, str],
        *,
        special_tokens: Mapping[str, Any] | None = None,
        template: str | None = None,
        date: datetime | None = None,
        seconds: float = SECONDS,
    ) -> None:
        """Store a template; it is compiled at its first use.

        Args:
            name: the name that users know it by.
            source: its text, or several texts by name: conversations with tools use `tool_use`, others `default`.
            special_tokens: variables whose text is the template's own, such as `bos_token`.
            template: the name of the template to use for all conversations, if there are several.
            date: the current time for `strftime_now`; None uses the time of the call.
            seconds: processor time limit of a conversation.

        Raises:
            TemplateError: it is too long, or none has that name.
        """
        self.name = name
        self._templates = {"default": source} if isinstance(source, str) else dict(source)
        self._template = template
        if template is not None and template not in self._templates:
            raise TemplateError(f"{name} has no template {template!r}", hint=self._names())
        if any(len(text) > SOURCE_CHARACTERS for text in self._templates.values()):
            raise TemplateError(f"{name} is longer than {SOURCE_CHARACTERS:,} characters")
        self._job: dict[str, Any] = {
            "templates": self._templates,
            "special_tokens": dict(special_tokens or {}),
            "date": date.isoformat() if date else None,
            "seconds": seconds,
        }
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None

    def source_for(self, conversation: Conversation) -> str:
        """Return the text of the template that is used for a conversation.

        Raises:
            TemplateError: there are several, and none is the default.
        """
        return self._templates[self._choice(conversation)]

    def render(
        self, conversations: Sequence[Conversation], *, prompt: bool = False
    ) -> list[Rendered | TemplateError]:
        """Render each conversation as text; see `Renderer.render`.

        Raises:
            TemplateError: the template does not compile, or exceeds its limits three times.
        """
        with self._lock:
            requested = [(conversation, None) for conversation in conversations]
            return list(self._rendered(requested, _rendered, prompt=prompt))

    def render_beginnings(
        self, beginnings: Sequence[tuple[Conversation, int]], *, prompt: bool = False
    ) -> list[str | None]:
        """Render the first messages of conversations; see `RendersBeginnings`.

        Raises:
            TemplateError: as `render`.
        """
        with self._lock:
            made = list(self._rendered(beginnings, _text, prompt=prompt))
        return [None if isinstance(text, TemplateError) else text for text in made]

    def close(self) -> None:
        """End the process; the next `render` starts a new one."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _rendered(
        self,
        requested: Sequence[tuple[Conversation, int | None]],
        read: Callable[[Mapping[str, Any], bool], Result],
        *,
        prompt: bool,
    ) -> Iterator[Result | TemplateError]:
        """Yield the result of each conversation, or of the given number of its first messages."""
        failures = 0
        start = 0
        while start < len(requested):
            template = self._choice(requested[start][0])
            stop = start + 1
            while stop < min(len(requested), start + _CHUNK) and self._choice(requested[stop][0]) == template:
                stop += 1
            for result, exceeded in self._chunk(requested[start:stop], template, read, prompt=prompt):
                start += 1
                failures += exceeded
                if isinstance(result, TemplateError) and failures >= _FAILURES:
                    raise TemplateError(f"{self.name}: {result.message}", hint=result.hint)
                yield result

    def _chunk(
        self,
        requested: Sequence[tuple[Conversation, int | None]],
        template: str,
        read: Callable[[Mapping[str, Any], bool], Result],
        *,
        prompt: bool,
    ) -> Iterator[tuple[Result | TemplateError, bool]]:
        """Yield the results of consecutive requests, and whether each exceeded a limit.

        There are fewer results than requests if the process died on the last one.
        """
        compiled = False
        try:
            request, conversations = _request(requested)
            frames = self._ensure_worker().render(
                {"template": template, "prompt": prompt, **request}, conversations
            )
            head = next(frames)
            if "error" in head:
                raise TemplateError(f"{self.name}: the template does not compile: {head['error']}")
            compiled = True
            ready = prompt and head["asks_prompt"]
            for frame in frames:
                if "error" in frame:
                    yield TemplateError(frame["error"]), frame["limit"]
                else:
                    yield read(frame, ready), False
        except WorkerDiedError as death:
            self.close()
            if not death.killed:
                raise TemplateError(f"{self.name}: the process that renders it failed") from None
            seconds = self._job["seconds"]
            message = f"the template exceeds a limit: it takes more than {seconds:g} s, or too much memory"
            if not compiled:
                raise TemplateError(f"{self.name}: {message}") from None
            yield TemplateError(message), True

    def _ensure_worker(self) -> WorkerProcess:
        if self._worker is None or self._worker.owner != os.getpid():
            self._worker = WorkerProcess(self._job)
        return self._worker

    def _choice(self, conversation: Conversation) -> str:
        if self._template is not None:
            return self._template
        if conversation.tools and "tool_use" in self._templates:
            return "tool_use"
        if "default" not in self._templates:
            raise TemplateError(f"{self.name} has no default, only named ones", hint=self._names())
        return "default"

    def _names(self) -> str:
        return f"choose one by its name: {', '.join(sorted(self._templates))}"


def _request(
    requested: Sequence[tuple[Conversation, int | None]],
) -> tuple[dict[str, Any], list[bytes]]:
    """Return the further fields of a request, and the encoded conversations, each only once for all its beginnings."""
    if requested[0][1] is None:
        return {}, [_encoded(conversation) for conversation, _ in requested]
    conversations: list[Conversation] = []
    beginnings: list[list[int | None]] = []
    for conversation, number in requested:
        if not conversations or conversation is not conversations[-1]:
            conversations.append(conversation)
            beginnings.append([])
        beginnings[-1].append(number)
    return {"beginnings": beginnings}, [_encoded(conversation) for conversation in conversations]


def _encoded(conversation: Conversation) -> bytes:
    """Encode a conversation for the process, or the reason why that is impossible."""
    try:
        return encode(
            {
                "messages": conversation.messages,
                "tools": conversation.tools,
                "documents": conversation.documents,
                "variables": conversation.variables,
            }
        )
    except RecursionError:
        return encode({"error": "the conversation is nested too deeply"})
    except (TypeError, ValueError) as error:
        return encode({"error": f"the conversation cannot be written as JSON: {error}"})


def _text(frame: Mapping[str, Any], _ready: bool) -> str:  # noqa: FBT001
    return str(frame["text"])


def _rendered(frame: Mapping[str, Any], ready: bool) -> Rendered:  # noqa: FBT001
    origins = [Origin(*origin) for origin in frame["origins"]]
    *starts, stop = accumulate(frame["lengths"], initial=0)
    runs = Runs(starts, [origins[index] for index in frame["indices"]], stop)
    generated = frame["generated"]
    return Rendered(
        frame["text"],
        runs,
        generated=None if generated is None else tuple((first, last) for first, last in generated),
        ends_with_prompt=ready,
        dated=frame["dated"],
    )


def template_tokens(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return `bos_token`, `eos_token` and the other names that Jinja templates get in `transformers`."""
    config = config_of(tokenizer)
    roles = {role: text for role, text in roles_of(tokenizer).items() if role != "turn_end"}
    tokens: dict[str, Any] = {f"{role}_token": text for role, text in {**roles, **config.roles}.items()}
    tokens |= config.named_tokens
    if config.additional_special_tokens:
        tokens["additional_special_tokens"] = list(config.additional_special_tokens)
    return tokens
