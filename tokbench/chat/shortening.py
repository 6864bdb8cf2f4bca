"""Make a conversation fit: whole turns are dropped, the oldest first."""

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
    """A chat template, as far as it is used here."""

    def render_many(
        self, conversations: Sequence[Conversation], *, prompt: bool, tokenizer: Tokenizer | None
    ) -> list[Rendered | TemplateError]:
        """Write many conversations; those that are refused have the error in their place."""


def shortened(
    template: RendersConversations,
    tokenizer: Tokenizer,
    conversation: Conversation,
    *,
    max_tokens: int,
    prompt: bool = False,
) -> tuple[Conversation, int]:
    """A conversation without its oldest turns, so that it has at most `max_tokens` tokens.

    What a user says is dropped together with what is answered to it, and a call of tools together with their answers.
    System messages at the beginning stay, as does what the last user said. Where that is still too long, rounds of
    calls and answers after it go, the oldest first; the last message stays.

    Args:
        template: writes it.
        tokenizer: encodes it.
        conversation: it.
        max_tokens: how many tokens it may have.
        prompt: whether it ends ready for the assistant.

    Returns:
        The conversation, and how many messages were dropped.

    Raises:
        ConfigError: `max_tokens` is not a number of tokens.
        TemplateError: even what must stay does not fit, or the template refuses what is left.
    """
    if max_tokens < 1:
        raise ConfigError(f"max_tokens is {max_tokens}", hint="--max-tokens must be at least 1")
    messages = conversation.messages
    steps = list(_steps(messages))
    tried = 0
    fewest = None
    # Few steps are tried where many have to go: what is dropped makes a text shorter.
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
            f"the conversation cannot be cut to {counted(max_tokens, 'token')}: what must stay takes {fewest:,}",
            hint="system messages and the last turn stay: shorten them, or raise --max-tokens",
        )
    return fitting, len(messages) - len(fitting.messages)


def _steps(messages: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """The messages that are left after each step, from all of them to those that have to stay.

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
        steps += [kept + asked + [n for each in rounds[k:] for n in each] for k in range(1, len(rounds))]
    return steps


def _rounds(numbers: Sequence[int], roles: Sequence[str]) -> list[list[int]]:
    """Messages of one exchange: each with the answers of tools that follow it."""
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
