"""Shorten a conversation by dropping whole turns, the oldest first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from tokbench.chat.encoding import encode_chats
from tokbench.chat.rendered import Rendered
from tokbench.core.wording import counted
from tokbench.errors import ConfigError, TemplateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tokbench.chat.conversation import Conversation
    from tokbench.core.interfaces import Tokenizer

_KEPT = frozenset({"system", "developer"})
_ANSWERS = frozenset({"tool", "function", "ipython", "observation"})


class RendersConversations(Protocol):
    """A chat template, as far as this module uses it."""

    def render_many(
        self, conversations: Sequence[Conversation], *, prompt: bool, tokenizer: Tokenizer | None
    ) -> list[Rendered | TemplateError]:
        """Render many conversations; refused ones have the error in their place."""


def shortened(
    template: RendersConversations,
    tokenizer: Tokenizer,
    conversation: Conversation,
    *,
    max_tokens: int,
    prompt: bool = False,
) -> tuple[Conversation, int]:
    """Drop the oldest turns of a conversation until it has at most `max_tokens` tokens.

    A user message is dropped together with the answers to it, and a tool call together with its results. System
    messages at the beginning and the last user message stay. If that is still too long, rounds of calls and results
    after it are dropped, the oldest first; the last message stays.

    Args:
        template: renders the conversation.
        tokenizer: encodes it.
        conversation: the conversation.
        max_tokens: maximum number of tokens.
        prompt: whether it ends with the generation prompt.

    Returns:
        The conversation, and the number of dropped messages.

    Raises:
        ConfigError: `max_tokens` is not positive.
        TemplateError: the messages that must stay do not fit, or the template refuses the rest.
    """
    if max_tokens < 1:
        raise ConfigError(f"max_tokens is {max_tokens}", hint="--max-tokens must be at least 1")
    messages = conversation.messages
    steps = list(_steps(messages))
    tried = 0
    fewest = None
    # Binary search, as dropping messages only makes the text shorter.
    low, high = 0, len(steps) - 1
    fitting: Conversation | None = None
    while low <= high:
        tried = (low + high) // 2
        shorter = replace(conversation, messages=tuple(messages[number] for number in steps[tried]))
        size = _size(template, tokenizer, shorter, prompt=prompt)
        if size <= max_tokens:
            fitting, high = shorter, tried - 1
        else:
            fewest, low = size, tried + 1
    if fitting is None:
        raise TemplateError(
            f"the conversation cannot be cut to {counted(max_tokens, 'token')}: "
            f"the messages that are always kept take {fewest:,}",
            hint="system messages and the last turn are always kept: shorten them, or raise --max-tokens",
        )
    return fitting, len(messages) - len(fitting.messages)


def _steps(messages: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Return the messages that are left after each step, from all messages to those that must stay.

    >>> talk = [{"role": role} for role in ("system", "user", "assistant", "user", "assistant", "tool", "assistant")]
    >>> _steps(talk)
    [[0, 1, 2, 3, 4, 5, 6], [0, 3, 4, 5, 6], [0, 3, 6]]
    """
    roles = [str(message["role"]) for message in messages]
    first = next((n for n, role in enumerate(roles) if role not in _KEPT), len(roles))
    kept = list(range(first))
    exchanges: list[list[int]] = []
    for number in range(first, len(roles)):
        if not exchanges or roles[number] == "user":
            exchanges.append([])
        exchanges[-1].append(number)
    steps = [
        kept + [n for exchange in exchanges[k:] for n in exchange] for k in range(max(1, len(exchanges)))
    ]
    if exchanges:
        rounds = _rounds(exchanges[-1], roles)
        asked = rounds.pop(0) if rounds and roles[rounds[0][0]] == "user" else []
        steps += [
            kept + asked + [n for one_round in rounds[k:] for n in one_round] for k in range(1, len(rounds))
        ]
    return steps


def _rounds(numbers: Sequence[int], roles: Sequence[str]) -> list[list[int]]:
    """Group the messages of one exchange into rounds: each with the tool results that follow it."""
    rounds: list[list[int]] = []
    for number in numbers:
        if rounds and roles[number] in _ANSWERS:
            rounds[-1].append(number)
        else:
            rounds.append([number])
    return rounds


def _size(
    template: RendersConversations, tokenizer: Tokenizer, conversation: Conversation, *, prompt: bool
) -> int:
    [rendered] = template.render_many([conversation], prompt=prompt, tokenizer=tokenizer)
    if not isinstance(rendered, Rendered):
        raise rendered
    roles = [str(message["role"]) for message in conversation.messages]
    return len(encode_chats(tokenizer, [rendered], roles=[roles], train_on=()).loss_mask)
