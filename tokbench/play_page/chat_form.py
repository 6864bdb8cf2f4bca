"""What a chat template writes around what people say, as a table that a page can hold.

A template is a program; for conversations of texts alone most of them depend on few things: who speaks before and
after, whether a message is the last one, and whether anything is said in it. Then each stretch between two contents is
one of a finite list, and so is what is trimmed of each content. `chat_inference` makes such a table and holds the
template to it; `chat.js` reads it as this module does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LETTERS = {"system": "s", "user": "u", "assistant": "a"}
"""The roles of a conversation on a page, and how keys spell them."""

BEGINNING, END, PROMPT, MORE = "^", "$", ">", "+"
"""In keys: before the first message, after the last one, there with the header of an answer, another message."""

TRIMS = ("", " ", "\n", "*")
"""What may be taken off an end of a content: nothing, spaces, line ends, all white space."""


class Order(Enum):
    """In which order contents are written."""

    AS_SAID = "as said"
    SYSTEM_LAST = "the system's before the last user's"


class Domain(Enum):
    """Of which conversations a table tells, the widest first."""

    ANY = "any"
    SYSTEM_FIRST = "a system message comes first or not at all"
    USER_FIRST = "the user speaks first, after a system message at most"
    BY_TURNS = "user and assistant speak by turns, after a system message at most"

    def has(self, roles: Sequence[str]) -> bool:
        """Whether a conversation is one of them.

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
    """A stretch of a rendered conversation of which everything is the same.

    Attributes:
        text: it.
        owner: the message that it belongs to; None for none.
        said: the message whose content it is; None for the template's own text.
        is_trusted: whether control tokens may be made of it.
        is_learned: whether its tokens are learned.
    """

    text: str
    owner: int | None
    said: int | None
    is_trusted: bool
    is_learned: bool


class Part(NamedTuple):
    """A part of a gap between two contents in which something is said.

    Attributes:
        text: what the template writes; None for the content of a message of white space.
        owner: the message that it belongs to, counted from the one before the gap, which is 0; None for none.
        is_trusted: whether control tokens may be made of it.
        is_learned: whether its tokens are learned.
    """

    text: str | None
    owner: int | None
    is_trusted: bool
    is_learned: bool


class Content(NamedTuple):
    """What becomes of a content: what is taken off its two ends (see `TRIMS`), and whether it is learned."""

    left: str
    right: str
    is_learned: bool

    def trimmed(self, text: str) -> str:
        r"""What is written of a content.

        >>> Content("*", " ", False).trimmed(" \n a \n ")
        'a \n'
        """
        left, right = (None if each == "*" else each for each in (self.left, self.right))
        text = text if left == "" else text.lstrip(left)
        return text if right == "" else text.rstrip(right)


class Gap(NamedTuple):
    """A gap between two contents in which something is said.

    Attributes:
        key: what is known of it.
        first: the place in the order of messages of the one before it; -1 at the beginning.
        stop: that of the one after it; the number of messages at the end.
    """

    key: str
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class ChatForm:
    """A chat template as a table.

    Attributes:
        gaps: what is written between two contents, by the key of `gaps_of`.
        contents: what becomes of a content, by the letters of the messages before, itself and after.
        order: of the contents.
        domain: the conversations that it tells of.
        has_owners: whether the template's own text belongs to messages; if not, that is not known.
        limits: role and text: what the template does with such a content is not known.
    """

    gaps: Mapping[str, tuple[Part, ...]]
    contents: Mapping[str, Content]
    order: Order
    domain: Domain
    has_owners: bool = True
    limits: tuple[tuple[str, str], ...] = ()

    def write(self, roles: Sequence[str], said: Sequence[str], *, prompt: bool = False) -> list[Atom] | None:
        """The conversation as the template writes it, or None where the table has no place for it."""
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
        """As the page holds it."""
        return {
            "gaps": {key: [list(part) for part in parts] for key, parts in self.gaps.items()},
            "contents": {key: list(content) for key, content in self.contents.items()},
            "system_last": self.order is Order.SYSTEM_LAST,
            "domain": self.domain.name,
            "has_owners": self.has_owners,
            "limits": self.limits,
        }


def joined(atoms: Iterable[Atom]) -> list[Atom]:
    """Atoms that say something, neighbours of which all else is the same as one."""
    made: list[Atom] = []
    for atom in atoms:
        if made and made[-1][1:] == atom[1:]:
            made[-1] = atom._replace(text=made[-1].text + atom.text)
        elif atom.text:
            made.append(atom)
    return made


def emission_order(roles: Sequence[str], order: Order) -> list[int]:
    """The messages in the order in which they are written.

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
    """For each message the letters of the one before, itself and the one after.

    >>> content_keys(["user", "assistant"], [0, 1], prompt=True)
    {0: '^ua', 1: 'ua>'}
    """
    letters = [BEGINNING, *(LETTERS[roles[place]] for place in order), PROMPT if prompt else END]
    return {message: "".join(letters[place : place + 3]) for place, message in enumerate(order)}


def gaps_of(
    roles: Sequence[str], said: Sequence[str], order: Sequence[int], *, prompt: bool
) -> Iterator[Gap]:
    """The gaps between contents that say something, in order, the ends included.

    A key spells the messages beside a gap, with what follows the one after, and those in it: 0 for an empty one, 1
    for one of spaces, 2 for one of other white space.

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
    """The letters of the messages beside a gap and in it, without what follows."""
    before = BEGINNING if first < 0 else LETTERS[roles[order[first]]]
    inside = [LETTERS[roles[each]] + _silence(said[each]) for each in order[first + 1 : stop]]
    after = [LETTERS[roles[order[stop]]]] if stop < len(order) else []
    return "".join([before, *inside, *after])


def _silence(said: str) -> str:
    return "0" if not said else "1" if not said.strip(" ") else "2"
