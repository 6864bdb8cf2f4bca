"""Turns whose content the template surrounds with the same text: a few are found, and the others follow from them.

To find a turn, the messages before it are rendered, which takes quadratic time for all turns of a conversation. Turns
with the same text around their content begin and end at the same distance from it, except where a template has
changed the text before them; as it changes the text up to some message, or from some message on, the turns in between
are found by bisection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tokbench.chat.conversation import REASONING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokbench.chat.contents import Contents, Surroundings
    from tokbench.chat.conversation import Conversation

    Place = tuple[int, int]
    """The number of a conversation, and of a message in it."""

    Found = tuple[int, int] | None
    """Start and stop of a turn; None if it cannot be found."""


class _Ends(NamedTuple):
    """Where a turn starts and stops: the number of a range of text around its content, and a distance in it."""

    start: tuple[int, int]
    stop: tuple[int, int]


def found_by_similarity(
    places: Iterable[Place],
    find: Callable[[Sequence[Place]], Mapping[Place, Found]],
    *,
    conversations: Sequence[Conversation],
    contents: Mapping[int, Contents],
) -> dict[Place, Found]:
    """Find turns, a few of each kind by `find` and the others by their similarity to these.

    Args:
        places: the turns, in order.
        find: returns start and stop of turns in order.
        conversations: all conversations.
        contents: the contents of the rendered text of each conversation that has turns to find.
    """
    found: dict[Place, Found] = {}
    pending = list(_groups(places, conversations, contents))
    while pending:
        ends = {end for group in pending for end in (group[0], group[-1])}
        found |= find(sorted(ends - found.keys()))
        pending = [part for group in pending for part in _unsettled(group, found, contents)]
    return found


def _groups(
    places: Iterable[Place], conversations: Sequence[Conversation], contents: Mapping[int, Contents]
) -> Iterator[list[Place]]:
    """Yield the turns of each conversation that have the same surroundings, in order."""
    omissions = {number: _omissions(conversations[number], contents[number]) for number in contents}
    groups: dict[tuple[object, ...], list[Place]] = {}
    for number, message in places:
        around = contents[number].around(message)
        if around is None:
            yield [(number, message)]
        else:
            text = contents[number].text
            texts = [tuple(text[start:stop] for start, stop in ranges) for ranges in around]
            roles = [said.get("role") for said in conversations[number].messages[message - 1 : message + 1]]
            key = (number, omissions[number][message], *roles, *texts)
            groups.setdefault(key, []).append((number, message))
    yield from groups.values()


def _omissions(conversation: Conversation, contents: Contents) -> list[bool]:
    """Return whether the text lacks a part of the messages from the last question up to each message.

    A template may write reasoning only after the last question, so the turns with omissions may have been different
    when they were the last ones.
    """
    omissions: list[bool] = []
    omits = False
    for number, said in enumerate(conversation.messages):
        given = [(field, said.get(field)) for field in ("content", *REASONING)]
        omits = (omits and said.get("role") != "user") or any(
            isinstance(value, str) and contents.written[number, field] < len(value.strip())
            for field, value in given
        )
        omissions.append(omits)
    return omissions


def _unsettled(
    group: list[Place], found: dict[Place, Found], contents: Mapping[int, Contents]
) -> list[list[Place]]:
    """Fill in the turns between two that are alike; return the halves of a group whose ends are not."""
    between = group[1:-1]
    if not between:
        return []
    first, last = (_ends(found[end], contents[end[0]].around(end[1])) for end in (group[0], group[-1]))
    if first is None or first != last:
        middle = len(group) // 2
        return [group[: middle + 1], group[middle:]]
    for number, message in between:
        around = contents[number].around(message)
        if around is not None:
            start, stop = around.before[first.start[0]][0], around.after[first.stop[0]][0]
            found[number, message] = start + first.start[1], stop + first.stop[1]
    return []


def _ends(turn: Found, around: Surroundings | None) -> _Ends | None:
    """Return where a turn starts and stops; None if that is in the middle of any content."""
    if turn is None or around is None:
        return None
    start, stop = _located(turn[0], around.before), _located(turn[1], around.after)
    return None if start is None or stop is None else _Ends(start, stop)


def _located(position: int, ranges: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the number of the range with a position, and its distance from the start of that range."""
    for number, (start, stop) in enumerate(ranges):
        if start <= position <= stop:
            return number, position - start
    return None
