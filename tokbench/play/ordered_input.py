"""Keys and pastes that take effect one after the other, however fast they arrive."""

from __future__ import annotations

import time
from collections import deque
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App
from textual.message import Message
from textual.widgets import Input

from tokbench.play.editor import Editor

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.message_pump import MessagePump

_LONGEST_SECONDS = 1.0
"""Maximum time that an event waits for the one before it: a widget that is closed may never answer."""
_TIMES_TAKEN = 3
"""The event itself; the messages of its action, such as the answer of a dialog; and what the app does with them."""


class OrderedInputApp(App[None], inherit_bindings=False):
    """An app that passes on a key or a paste only after the one before it has taken full effect.

    Textual passes a key to the focused widget and does not wait. A key that the widget does not insert, such as an
    arrow key, travels from the widget up to the app, which then looks for its action; meanwhile the app has passed on
    the next keys. Where several keys arrive at once, as over a slow connection, ``a b ← c`` would become ``abc ←``.

    Characters that wait for the same field are inserted together: a terminal without bracketed paste sends a pasted
    text as keys.
    """

    class Taken(Message, bubble=False):
        """Sent to the app after an event has passed all widgets, and then again after what it started has.

        Args:
            event: the event.
            times: how often this has been sent for it.
        """

        def __init__(self, event: events.Key | events.Paste, times: int) -> None:
            super().__init__()
            self.event = event
            self.times = times

    def __init__(self) -> None:
        super().__init__()
        self._arrived: deque[events.Key | events.Paste] = deque()
        self._taken_at = 0.0

    async def on_event(self, event: events.Event) -> None:
        """Keep a key or a paste until the one before it has taken effect."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self._arrived.append(event)
        if len(self._arrived) == 1:
            await self._take()
        elif time.monotonic() - self._taken_at > _LONGEST_SECONDS:
            await self._take_next()

    async def _take(self) -> None:
        """Pass the first event on, with the characters after it if it is one."""
        self._taken_at = time.monotonic()
        widgets = self._path()
        if isinstance(self.focused, Editor):
            self._join(_is_text)
        elif isinstance(self.focused, Input):
            self._join(_is_character)
        event = self._arrived[0]
        await super().on_event(event)
        self._tell_when_past(widgets, event, times=1)

    async def _take_next(self) -> None:
        """Pass on the event after the first one."""
        self._arrived.popleft()
        if self._arrived:
            await self._take()

    def _join(self, is_text: Callable[[events.Key | events.Paste], bool]) -> None:
        """Replace the keys that are first and enter text, if there are several, by one paste."""
        keys = list(takewhile(is_text, self._arrived))
        if len(keys) > 1:
            for _ in keys:
                self._arrived.popleft()
            self._arrived.appendleft(events.Paste("".join(getattr(key, "character", "") for key in keys)))

    def _path(self) -> list[MessagePump]:
        """Return the focused widget and all that a key passes on its way from there to the app."""
        first = self.focused or self.screen
        return [node for node in first.ancestors_with_self if node is not self]

    def _tell_when_past(self, widgets: list[Any], event: events.Key | events.Paste, *, times: int) -> None:
        """Send `Taken` after the messages that are now in the queues of widgets, one widget after the other."""
        for place, widget in enumerate(widgets):
            if widget.call_later(self._tell_when_past, widgets[place + 1 :], event, times=times):
                return
        self.post_message(self.Taken(event, times))

    async def on_ordered_input_app_taken(self, message: Taken) -> None:
        """Pass on the next event after what the last one started: a dialog that opens, or one that returns a text."""
        if not self._arrived or message.event is not self._arrived[0]:
            return  # it took so long that the next one has been passed on
        if message.times < _TIMES_TAKEN:
            self._tell_when_past(self._path(), message.event, times=message.times + 1)
        else:
            await self._take_next()


def _is_character(event: events.Key | events.Paste) -> bool:
    return isinstance(event, events.Key) and event.is_printable


def _is_text(event: events.Key | events.Paste) -> bool:
    return _is_character(event) or (
        isinstance(event, events.Key) and event.key == "enter" and event.character == "\r"
    )
