"""Infer the table of a chat template: render all short conversations, and check that the table gives the same."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import cycle, islice, pairwise, product
from typing import TYPE_CHECKING, NamedTuple

from tokbench.chat.conversation import Conversation
from tokbench.chat.encoding import learned_ranges
from tokbench.chat.token_places import owners_of
from tokbench.play_page.chat_form import (
    LETTERS,
    TRIMS,
    Atom,
    ChatForm,
    Content,
    Domain,
    Gap,
    Order,
    Part,
    content_keys,
    emission_order,
    gaps_of,
    joined,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from tokbench.chat.rendered import Rendered

    Render = Callable[[Sequence[Conversation], bool], Sequence[Rendered | None]]
    """Conversations, and whether to add the generation prompt → their texts with turns; None if refused."""

_LONGEST, _LONGEST_BY_TURNS = 4, 6
_SILENT = ("", "  ", " \n ")
_AROUND = (("\n  \t", "\t \n "), ("  \n", "\n \t "))
"""White space around contents, to observe trimming: each kind is outermost once."""
_MOST_LIMITS = 40
_LITERAL = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_LONGEST_LITERAL = 40


class NoFormError(Exception):
    """A template cannot be expressed as a table; the message says why."""


class Talk(NamedTuple):
    """A conversation of texts: the role and content of each message, and whether to add the generation prompt."""

    roles: tuple[str, ...]
    said: tuple[str, ...]
    prompt: bool

    @property
    def conversation(self) -> Conversation:
        """The conversation as input of a template."""
        pairs = zip(self.roles, self.said, strict=True)
        return Conversation(tuple({"role": role, "content": said} for role, said in pairs))


def infer_form(render: Render, *, literals: Collection[str] = ()) -> ChatForm:
    """Infer the table of a chat template.

    Args:
        render: renders conversations.
        literals: texts in contents that the template may search for.

    Raises:
        NoFormError: no table expresses how it renders short conversations.
    """
    talks = list(_short_talks())
    written = write_talks(render, talks)
    reason = ""
    for has_owners, domain, order in product((True, False), Domain, Order):
        observed = [
            (talk, atoms if has_owners or atoms is None else without_owners(atoms))
            for talk, atoms in zip(talks, written, strict=True)
            if domain.has(talk.roles)
        ]
        try:
            form = _table_of(observed, order, domain)
        except NoFormError as error:
            reason = str(error)
        else:
            form = replace(form, has_owners=has_owners)
            return replace(form, limits=tuple(_limits(form, render, literals)))
    raise NoFormError(reason)


def literals_of(sources: Collection[str]) -> set[str]:
    """Return the string literals in Jinja templates, which they may search for in contents.

    >>> sorted(literals_of(["{% if '</think>' in message['content'] %}"]))
    ['</think>', 'content']
    """
    found = (
        single_quoted or double_quoted
        for source in sources
        for single_quoted, double_quoted in _LITERAL.findall(source)
    )
    spelled = (literal.replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"') for literal in found)
    return {literal.strip() for literal in spelled if literal.strip() and len(literal) <= _LONGEST_LITERAL}


def write_talks(render: Render, talks: Sequence[Talk]) -> list[list[Atom] | None]:
    """Render conversations to atoms; None for a conversation that the template refuses."""
    written: dict[int, list[Atom] | None] = {}
    for prompt in (False, True):
        own = [number for number, talk in enumerate(talks) if talk.prompt == prompt]
        for number, rendered in zip(own, render([talks[n].conversation for n in own], prompt), strict=True):
            written[number] = None if rendered is None else atoms_of(rendered, talks[number].roles)
    return [written[number] for number in range(len(talks))]


def without_owners(atoms: Sequence[Atom]) -> list[Atom]:
    """Remove the owners of the template's own text, and merge neighbours that become equal."""
    return joined(atom._replace(owner=atom.said) for atom in atoms)


def atoms_of(rendered: Rendered, roles: Sequence[str]) -> list[Atom]:
    """Split a rendered conversation into stretches with uniform properties."""
    learned = learned_ranges(rendered, roles)
    firsts, owners = owners_of(rendered)
    edges = {
        0,
        len(rendered.text),
        *firsts,
        *rendered.runs.starts,
        *(edge for bounds in learned for edge in bounds),
    }
    places = sorted(edges)
    atoms: list[Atom] = []
    run = owner = 0
    for start, stop in pairwise(places):
        while run + 1 < len(rendered.runs) and rendered.runs.starts[run + 1] <= start:
            run += 1
        while owner + 1 < len(firsts) and firsts[owner + 1] <= start:
            owner += 1
        origin = rendered.runs.origins[run]
        atom = Atom(
            rendered.text[start:stop],
            None if owners[owner] < 0 else owners[owner],
            origin.message if origin.field == "content" else None,
            origin.is_template,
            any(first <= start < last for first, last in learned),
        )
        atoms.append(atom)
    return joined(atoms)


def _short_talks() -> Iterator[Talk]:
    """Yield conversations with every order of roles up to a length, with at most one blank message.

    Longer ones follow with alternating roles, as many templates accept no others.
    """
    by_turns = tuple(islice(cycle(("user", "assistant")), _LONGEST_BY_TURNS))
    orders = [order for size in range(1, _LONGEST + 1) for order in product(LETTERS, repeat=size)]
    for size in range(_LONGEST, _LONGEST_BY_TURNS):
        orders += [("system", *by_turns[:size]), by_turns[: size + 1]]
    for roles in orders:
        for prompt in (False, True):
            for said in _contents(len(roles), prompt=prompt):
                yield Talk(roles, tuple(said), prompt)


def _contents(size: int, *, prompt: bool) -> Iterator[list[str]]:
    """Yield the contents to try for this many messages; endings only affect the last two messages."""
    words = [
        [f"{left}word{n}{right}" for n in range(size) for left, right in [_AROUND[(n + shift) % 2]]]
        for shift in range(2)
    ]
    yield from words if size < _LONGEST else words[:1]
    for place, silence in product(range(max(size - 2, 0) if prompt else 0, size), _SILENT):
        yield [*words[0][:place], silence, *words[0][place + 1 :]]


def _table_of(observed: Sequence[tuple[Talk, list[Atom] | None]], order: Order, domain: Domain) -> ChatForm:
    gaps: dict[str, tuple[Part, ...]] = {}
    contents: dict[str, frozenset[Content]] = {}
    for talk, atoms in observed:
        if atoms is not None:
            _record(talk, atoms, order, gaps=gaps, contents=contents)
    if not gaps:
        raise NoFormError("it renders no conversation of texts")
    chosen = {
        key: min(fitting, key=lambda content: (TRIMS.index(content.left), TRIMS.index(content.right)))
        for key, fitting in contents.items()
    }
    form = ChatForm(gaps, chosen, order, domain)
    for talk, atoms in observed:
        if form.write(talk.roles, talk.said, prompt=talk.prompt) != atoms:
            raise NoFormError(
                f"its text for {' → '.join(talk.roles)} cannot be derived from those of shorter conversations"
            )
    return form


def _record(
    talk: Talk,
    atoms: Sequence[Atom],
    order: Order,
    *,
    gaps: dict[str, tuple[Part, ...]],
    contents: dict[str, frozenset[Content]],
) -> None:
    """Record the observations of one conversation; raise if they contradict earlier ones."""
    places = emission_order(talk.roles, order)
    keys = content_keys(talk.roles, places, prompt=talk.prompt)
    rest = iter(atoms)
    for gap in gaps_of(talk.roles, talk.said, places, prompt=talk.prompt):
        following = places[gap.stop] if gap.stop < len(places) else None
        parts: list[Part] = []
        for atom in rest:
            if following is not None and atom.said == following:
                _record_content(atom, talk.said[following], keys[following], contents)
                break
            parts.append(_part(atom, gap, places))
        else:
            if following is not None:
                raise NoFormError(
                    f"it does not write the content of all messages of {' → '.join(talk.roles)} in order"
                )
        if gaps.setdefault(gap.key, tuple(parts)) != tuple(parts):
            raise NoFormError("the text between two messages depends on more than their roles")


def _part(atom: Atom, gap: Gap, places: Sequence[int]) -> Part:
    owner = None if atom.owner is None else places.index(atom.owner) - gap.first
    if owner is not None and not 0 <= owner <= gap.stop + 1 - gap.first:
        raise NoFormError("the text between two messages depends on a third one")
    if atom.said is not None and atom.said not in places[gap.first + 1 : gap.stop]:
        raise NoFormError("it writes messages twice, or in a different order")
    return Part(atom.text if atom.said is None else None, owner, atom.is_trusted, atom.is_learned)


def _record_content(atom: Atom, said: str, key: str, contents: dict[str, frozenset[Content]]) -> None:
    fitting = _fitting(said, atom.text, is_learned=atom.is_learned)
    contents[key] = contents[key] & fitting if key in contents else fitting
    if not contents[key]:
        raise NoFormError("it changes message content, other than by trimming white space")
    if atom.owner != atom.said:
        raise NoFormError("content appears in another message")


@lru_cache(maxsize=1 << 10)
def _fitting(said: str, written: str, *, is_learned: bool) -> frozenset[Content]:
    """Return the ways of trimming a content that result in what the template writes."""
    possible = (Content(left, right, is_learned) for left, right in product(TRIMS, repeat=2))
    return frozenset(content for content in possible if content.trimmed(said) == written)


def _limits(form: ChatForm, render: Render, literals: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield role and text pairs whose presence in a content changes what the template writes."""
    known = sorted(literals)
    talks: list[Talk] = []
    reasons: list[tuple[str, str]] = []
    for literal in known:
        for talk, role in _talks_with(literal, closing=literal.replace("<", "</", 1)):
            if form.write(talk.roles, talk.said, prompt=talk.prompt) is not None:
                talks.append(talk)
                reasons.append((role, literal))
    limits = dict.fromkeys(
        reason
        for reason, talk, atoms in zip(reasons, talks, write_talks(render, talks), strict=True)
        if form.write(talk.roles, talk.said, prompt=talk.prompt)
        != (atoms if form.has_owners or atoms is None else without_owners(atoms))
    )
    if len(limits) > _MOST_LIMITS:
        raise NoFormError("its text depends on message content")
    yield from limits


def _talks_with(literal: str, *, closing: str) -> Iterator[tuple[Talk, str]]:
    forms = (literal, f"x{literal}y", f"{literal}y", f"x{literal}", f"{literal}\nx\n{closing}")
    for roles in (
        ("user",),
        ("user", "assistant"),
        ("system", "user", "assistant"),
        ("user", "assistant") * 2,
    ):
        for place, role in enumerate(roles):
            if place + 2 < len(roles) and len(roles) > 3:
                continue  # the last exchange stands for both
            for said in forms:
                words = [f"word{n}" for n in range(len(roles))]
                words[place] = said
                yield Talk(roles, tuple(words), prompt=False), role
