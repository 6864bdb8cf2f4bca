"""Turns that follow from similar ones are those that are found one by one, with far fewer renderings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tokbench.chat.contents import Contents, SpecialTokens
from tokbench.chat.conversation import Conversation
from tokbench.chat.jinja.template import JinjaTemplate
from tokbench.chat.rendered import COMPUTED, TEMPLATE, Origin, Rendered
from tokbench.chat.similar_turns import found_by_similarity
from tokbench.chat.turns import _Search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.chat.similar_turns import Found, Place

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{{ '<|im_start|>assistant\n' if add_generation_prompt }}"
)
"""The messages before a turn are always a prefix of the whole text."""

REWRITES = (
    "{% set ns = namespace(last=-1) %}"
    "{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
    "{% for m in messages %}"
    "{% if m.role == 'tool' %}<|im_start|>{{ messages[loop.index0 - 1].tool_calls[0].name }} {{ loop.index0 }}\n"
    "{% else %}<|im_start|>{{ m.role }}\n{% endif %}"
    "{% if m.reasoning_content and loop.index0 > ns.last %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}{% for call in m.tool_calls %} {{ call.name }}({{ call.sure | tojson }}){% endfor %}"
    "<|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\n' if add_generation_prompt }}"
)
"""Reasoning is written only after the last question, and the name of a call and a number are written in its result."""

SPECIAL_TOKENS = ("<|im_start|>", "<|im_end|>")


def exchange(number: int, *, reasons: bool) -> list[dict[str, Any]]:
    reasoning = {"reasoning_content": f"hm {number}"} if reasons else {}
    call = {"name": "look", "sure": True}
    return [
        {"role": "user", "content": f"question {number}"},
        {"role": "assistant", "content": "Let me see.", "tool_calls": [call], **reasoning},
        {"role": "tool", "content": f"found {number}"},
        {"role": "assistant", "content": f"answer {number}" if number % 3 else "", **reasoning},
    ]


def searched(source: str, talk: Conversation) -> tuple[_Search, list[Place]]:
    renderer = JinjaTemplate("mine", source)
    [rendered] = renderer.render([talk])
    assert isinstance(rendered, Rendered)
    search = _Search(renderer, [talk], [rendered], {0: Contents(rendered)}, SpecialTokens(SPECIAL_TOKENS))
    roles = enumerate(said["role"] for said in talk.messages)
    return search, [(0, message) for message, role in roles if role == "assistant"]


@pytest.mark.parametrize("source", [CHATML, REWRITES])
@pytest.mark.parametrize("reasons", ["never", "always", "sometimes"])
def test_turns_are_those_found_one_by_one(source: str, reasons: str) -> None:
    chosen = {"never": [], "always": range(15), "sometimes": [1, 2, 5, 9, 14]}[reasons]
    exchanges = [exchange(number, reasons=number in chosen) for number in range(15)]
    talk = Conversation(tuple(said for messages in exchanges for said in messages))
    search, spoken = searched(source, talk)
    found = found_by_similarity(spoken, search.places, conversations=[talk], contents=search.contents)
    assert found == search.places(spoken)


def places_of(count: int) -> tuple[Conversation, dict[int, Contents], list[Place]]:
    """Return a conversation of answers of growing length, with a number that the template computes."""
    parts: list[tuple[str, Origin]] = []
    for message in range(count):
        parts += [("<a ", TEMPLATE), (str(message), COMPUTED), (">", TEMPLATE)]
        parts += [("x" * (message + 1), Origin(message, "content")), ("</a>\n", TEMPLATE)]
    said = tuple({"role": "assistant", "content": "x" * (message + 1)} for message in range(count))
    return Conversation(said), {0: Contents(Rendered.of(parts))}, [(0, message) for message in range(count)]


@pytest.mark.parametrize("change", [0, 1, 37, 199, 200])
def test_change_among_similar_turns_is_found_by_bisection(change: int) -> None:
    """Turns from a message on start with their content, those before it with their number, as an example."""
    talk, contents, places = places_of(200)
    asked: list[Place] = []

    def find(wanted: Sequence[Place]) -> Mapping[Place, Found]:
        asked.extend(wanted)
        return {(0, message): turn(message) for _, message in wanted}

    def turn(message: int) -> Found:
        first, last = contents[0].extents[message]
        before = 1 if message < change else 0
        return first - before, last + len("</a>")

    found = found_by_similarity(places, find, conversations=[talk], contents=contents)
    assert found == {(0, message): turn(message) for _, message in places}
    assert len(asked) == len(set(asked)) < 20


def test_turn_that_ends_inside_content_is_like_no_other() -> None:
    talk, contents, places = places_of(9)
    inside = {
        (0, message): (contents[0].extents[message][0], contents[0].extents[message][1] - 1)
        for _, message in places
    }
    found = found_by_similarity(
        places,
        lambda wanted: {place: inside[place] for place in wanted},
        conversations=[talk],
        contents=contents,
    )
    assert found == inside


def test_long_conversation_takes_few_renderings(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[Any] = []

    def render(self: JinjaTemplate, beginnings: Sequence[Any], **options: Any) -> list[str | None]:
        rendered.extend(beginnings)
        return original(self, beginnings, **options)

    original = JinjaTemplate.render_beginnings
    monkeypatch.setattr(JinjaTemplate, "render_beginnings", render)
    talk = Conversation(
        tuple(said for number in range(60) for said in exchange(3 * number + 1, reasons=True))
    )
    search, spoken = searched(CHATML, talk)
    found = found_by_similarity(spoken, search.places, conversations=[talk], contents=search.contents)
    assert len(found) == 120
    assert len(rendered) < 30
