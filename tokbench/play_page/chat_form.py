"""The text that a chat template writes around contents, as a table that a page can hold.

A template is a program; but for conversations of plain texts, most templates depend on few facts: who speaks before
and after, whether a message is the last one, and whether its content is empty. Then the text between two contents is
one of a finite list, and so is what is trimmed from each content. `chat_inference` builds such a table and checks the
template against it; `chat.js` reads it as this module does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LETTERS = {"system": "s", "user": "u", "assistant": "a"}
"""The roles of a conversation on a page, with their letters in keys."""

BEGINNING, END, PROMPT, MORE = "^", "$", ">", "+"
"""In keys: the beginning, the end, the end with a generation prompt, and the presence of further messages."""

TRIMS = ("", " ", "\n", "*")
"""What may be trimmed from an end of a content: nothing, spaces, line ends, all white space."""


class Order(Enum):
    """The order in which contents are written."""

    AS_SAID = "as said"
    SYSTEM_LAST = "the system's before the last user's"


class Domain(Enum):
    """The conversations that a table covers, the widest domain first."""

    ANY = "any"
    SYSTEM_FIRST = "a system message, if there is one, comes first"
    USER_FIRST = "the user comes first, after at most one system message"
    BY_TURNS = "user and assistant alternate, after at most one system message"

    def has(self, roles: Sequence[str]) -> bool:
        """Whether the domain includes a conversation with these roles.

        >>> Domain.USER_FIRST.has(["system", "user", "user"]), Domain.BY_TURNS.has(["system", "user", "user"])
        (True, False)
        """
        others = list(roles[1:] if roles and roles[0] == "system" else roles)
        match self:
            case Domain.ANY:
                return True
            case Domain.SYSTEM_FIRST:
                return "system" not in others
            case Domain.USER_FIRST:
                return "system" not in others and others[:1] == ["user"]
            case Domain.BY_TURNS:
                by_turns = all(role == ("user", "assistant")[place % 2] for place, role in enumerate(others))
                return bool(others) and by_turns


class Atom(NamedTuple):
    """A stretch of a rendered conversation with uniform properties.

    Attributes:
        text: the text.
        owner: the message that it belongs to; None for none.
        said: the message whose content it is; None for the template's own text.
        is_trusted: whether it may become part of a control token.
        is_learned: whether its tokens are learned.
    """

    text: str
    owner: int | None
    said: int | None
    is_trusted: bool
    is_learned: bool


class Part(NamedTuple):
    """A part of a gap between two non-blank contents.

    Attributes:
        text: the text that the template writes; None for the content of a blank message.
        owner: the message that it belongs to, relative to the message before the gap; None for none.
        is_trusted: whether it may become part of a control token.
        is_learned: whether its tokens are learned.
    """

    text: str | None
    owner: int | None
    is_trusted: bool
    is_learned: bool


class Content(NamedTuple):
    """How a content is written: what is trimmed from its two ends (see `TRIMS`), and whether it is learned."""

    left: str
    right: str
    is_learned: bool

    def trimmed(self, text: str) -> str:
        r"""Return the trimmed content.

        >>> Content("*", " ", False).trimmed(" \n a \n ")
        'a \n'
        """
        left, right = (None if trim == "*" else trim for trim in (self.left, self.right))
        text = text if left == "" else text.lstrip(left)
        return text if right == "" else text.rstrip(right)


class Gap(NamedTuple):
    """A gap between two non-blank contents.

    Attributes:
        key: the key of the gap in the table.
        first: position of the message before it in writing order; -1 at the beginning.
        stop: position of the message after it; the number of messages at the end.
    """

    key: str
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class ChatForm:
    """A chat template as a table.

    Attributes:
        gaps: the parts written between two contents, by the key of `gaps_of`.
        contents: how a content is written, by the letters of the message before, itself, and the one after.
        order: the order of the contents.
        domain: the conversations that the table covers.
        has_owners: whether the messages that the template's own text belongs to are known.
        limits: role and text pairs: the table does not cover contents of the role with that text.
    """

    gaps: Mapping[str, tuple[Part, ...]]
    contents: Mapping[str, Content]
    order: Order
    domain: Domain
    has_owners: bool = True
    limits: tuple[tuple[str, str], ...] = ()

    def write(self, roles: Sequence[str], said: Sequence[str], *, prompt: bool = False) -> list[Atom] | None:
        """Render a conversation as the template does; None if the table does not cover it."""
        if not self.domain.has(roles):
            return None
        order = emission_order(roles, self.order)
        keys = content_keys(roles, order, prompt=prompt)
        written: list[Atom] = []
        for gap in gaps_of(roles, said, order, prompt=prompt):
            if gap.key not in self.gaps:
                return None
            for text, owner, is_trusted, is_learned in self.gaps[gap.key]:
                message = None if owner is None else order[gap.first + owner]
                if text is not None:
                    written.append(Atom(text, message, None, is_trusted, is_learned))
                elif message is not None:
                    written.append(self._content(message, keys, said))
            if gap.stop < len(order):
                if keys[order[gap.stop]] not in self.contents:
                    return None
                written.append(self._content(order[gap.stop], keys, said))
        return joined(written)

    def _content(self, message: int, keys: Mapping[int, str], said: Sequence[str]) -> Atom:
        content = self.contents[keys[message]]
        return Atom(
            content.trimmed(said[message]), message, message, is_trusted=False, is_learned=content.is_learned
        )

    def to_json(self) -> dict[str, Any]:
        """Return the data of the page."""
        return {
            "gaps": {key: [list(part) for part in parts] for key, parts in self.gaps.items()},
            "contents": {key: list(content) for key, content in self.contents.items()},
            "system_last": self.order is Order.SYSTEM_LAST,
            "domain": self.domain.name,
            "has_owners": self.has_owners,
            "limits": self.limits,
        }


def joined(atoms: Iterable[Atom]) -> list[Atom]:
    """Merge neighbouring atoms with equal properties, and drop empty ones."""
    merged: list[Atom] = []
    for atom in atoms:
        if merged and merged[-1][1:] == atom[1:]:
            merged[-1] = atom._replace(text=merged[-1].text + atom.text)
        elif atom.text:
            merged.append(atom)
    return merged


def emission_order(roles: Sequence[str], order: Order) -> list[int]:
    """Return the messages in the order in which they are written.

    >>> emission_order(["system", "user", "assistant", "user"], Order.SYSTEM_LAST)
    [1, 2, 0, 3]
    """
    places = list(range(len(roles)))
    if order is Order.SYSTEM_LAST and roles and roles[0] == "system" and "user" in roles:
        last = max(place for place, role in enumerate(roles) if role == "user")
        places.remove(0)
        places.insert(places.index(last), 0)
    return places


def content_keys(roles: Sequence[str], order: Sequence[int], *, prompt: bool) -> dict[int, str]:
    """Return for each message the letters of the one before, itself, and the one after.

    >>> content_keys(["user", "assistant"], [0, 1], prompt=True)
    {0: '^ua', 1: 'ua>'}
    """
    letters = [BEGINNING, *(LETTERS[roles[place]] for place in order), PROMPT if prompt else END]
    return {message: "".join(letters[place : place + 3]) for place, message in enumerate(order)}


def gaps_of(
    roles: Sequence[str], said: Sequence[str], order: Sequence[int], *, prompt: bool
) -> Iterator[Gap]:
    """Yield the gaps between non-blank contents in order, including those at the ends.

    A key consists of the letters of the messages before, in and after a gap, and of a mark for what follows. Messages
    in the gap are marked 0 if empty, 1 if they consist of spaces, and 2 for other white space.

    >>> [gap.key for gap in gaps_of(["user", "assistant", "user"], ["Hi", "", "?"], [0, 1, 2], prompt=True)]
    ['^u+', 'ua0u>', 'u>']
    """
    end = PROMPT if prompt else END
    first = -1
    for place, message in enumerate(order):
        if said[message].strip():
            after = MORE if place + 1 < len(order) else end
            yield Gap(_key(roles, said, order, first, place) + after, first, place)
            first = place
    yield Gap(_key(roles, said, order, first, len(order)) + end, first, len(order))


def _key(roles: Sequence[str], said: Sequence[str], order: Sequence[int], first: int, stop: int) -> str:
    """Return the key of a gap without the mark for what follows it."""
    before = BEGINNING if first < 0 else LETTERS[roles[order[first]]]
    inside = [LETTERS[roles[message]] + _silence(said[message]) for message in order[first + 1 : stop]]
    after = [LETTERS[roles[order[stop]]]] if stop < len(order) else []
    return "".join([before, *inside, *after])


def _silence(said: str) -> str:
    return "0" if not said else "1" if not said.strip(" ") else "2"
