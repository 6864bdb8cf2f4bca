"""Templates that run in a process of their own."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy
import pytest
from support.jinja_templates import SPECIAL_TOKENS, TEMPLATES

from tokbench.chat.conversation import Conversation
from tokbench.chat.jinja.template import JinjaTemplate
from tokbench.chat.jinja.worker_process import WorkerProcess
from tokbench.chat.rendered import TEMPLATE, Origin, Rendered, Run
from tokbench.errors import TemplateError


def asked(content: Any = "Hi", **given: Any) -> Conversation:
    return Conversation(({"role": "user", "content": content},), **given)


def test_results_and_errors_keep_the_order_of_conversations():
    template = JinjaTemplate(
        "mine",
        "{% if messages[0].content == 7 %}{{ raise_exception('no 7') }}{% endif %}{{ messages[0].content }}",
    )
    results = template.render([asked(number) for number in range(200)])
    assert [r.text if isinstance(r, Rendered) else r.message for r in results] == [
        "the template refuses it: no 7" if number == 7 else str(number) for number in range(200)
    ]


def test_rendering_has_text_origins_and_generated_parts():
    template = JinjaTemplate(
        "mine",
        "{{ bos_token }}{% generation %}{{ messages[0].content }}{% endgeneration %}{{ add_generation_prompt }}",
        special_tokens={"bos_token": "<s>"},
    )
    [rendered] = template.render([asked("é\ud800")], prompt=True)
    assert isinstance(rendered, Rendered)
    assert rendered.text == "<s>é\ud800True"
    assert rendered.runs[:2] == [Run(0, 3, TEMPLATE), Run(3, 5, Origin(0, "content"))]
    assert rendered.generated == ((3, 5),)
    assert rendered.ends_with_prompt
    assert not rendered.dated


def test_template_that_ignores_the_prompt_does_not_end_with_it():
    [rendered] = JinjaTemplate("mine", "x").render([asked()], prompt=True)
    assert isinstance(rendered, Rendered)
    assert not rendered.ends_with_prompt


def test_template_is_chosen_by_the_presence_of_tools():
    sources = {"default": "d", "tool_use": "t", "rag": "r"}
    conversations = [asked(), asked(tools=({"type": "function"},)), asked()]
    for chosen, expected in ((None, "dtd"), ("rag", "rrr")):
        results = JinjaTemplate("mine", sources, template=chosen).render(conversations)
        assert "".join(r.text for r in results if isinstance(r, Rendered)) == expected


def test_missing_default_or_unknown_template_is_refused():
    with pytest.raises(TemplateError, match="no default") as refused:
        JinjaTemplate("mine", {"a": "x", "b": "y"}).render([asked()])
    assert refused.value.hint == "choose one by its name: a, b"
    with pytest.raises(TemplateError, match="no template 'c'"):
        JinjaTemplate("mine", {"a": "x"}, template="c")


def test_compile_error_names_the_template():
    with pytest.raises(TemplateError, match="mine: the template does not compile: line 1"):
        JinjaTemplate("mine", "{{").render([asked()])


def test_too_long_template_is_refused():
    with pytest.raises(TemplateError, match="longer"):
        JinjaTemplate("mine", " " * (2**20 + 1))


def test_worker_process_is_reused_until_closed():
    template = JinjaTemplate("mine", "x")
    template.render([asked()])
    first = template._worker
    template.render([asked()])
    assert template._worker is first
    template.close()
    assert len(template.render([asked()])) == 1
    assert template._worker is not first


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a'.encode().center(10**10) }}",
        "{{ ([1]*100000)|batch(10**10, 'x')|list }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
    ],
)
def test_excessive_memory_or_time_is_refused(source: str):
    [result] = JinjaTemplate("mine", source, seconds=0.3).render([asked()])
    assert "exceeds a limit" in str(result)


@pytest.mark.parametrize(
    "loop",
    [
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(x=3) %}{% for i in range(99) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    ],
)
def test_endless_template_affects_only_its_conversation(loop: str):
    source = "{% if messages[0].content == 1 %}" + loop + "{% endif %}x"
    results = JinjaTemplate("mine", source, seconds=0.2).render([asked(number) for number in range(4)])
    assert [isinstance(result, TemplateError) for result in results] == [False, True, False, False]
    assert "limit" in str(results[1])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers of processor time")
def test_loop_is_stopped_and_the_process_continues():
    source = "{% if messages[0].content == 1 %}{% for i in range(100000) %}{% for j in range(100000) %}"
    template = JinjaTemplate("mine", source + "{% endfor %}{% endfor %}{% endif %}x", seconds=0.2)
    template.render([asked(0)])
    process = template._worker
    [result] = template.render([asked(1)])
    assert "more than 0.2 s of processor time" in str(result)
    assert template._worker is process


def test_endless_template_is_abandoned():
    source = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"
    with pytest.raises(TemplateError, match=r"more than 0\.1 s"):
        JinjaTemplate("mine", source, seconds=0.1).render([asked()] * 1000)


TALK = Conversation(
    (
        {"role": "system", "content": "Be <b>rief."},
        {"role": "user", "content": " Hi\n"},
        {"role": "assistant", "content": None, "reasoning": "Hm.", "tool_calls": [
            {"id": "c1", "function": {"name": "f", "arguments": {"city": "Rome", "n": 1.5, "t": True}}},
        ]},
        {"role": "tool", "content": "3"},
        {"role": "assistant", "content": "Three, a< b.", "extra": [1, None]},
    ),
    tools=({"type": "function", "function": {"name": "f", "description": "A & b"}},),
    variables={"date": "today"},
)  # fmt: skip


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("prompt", [False, True])
def test_beginnings_are_rendered_like_shorter_conversations(name: str, prompt: bool):
    template = JinjaTemplate("mine", TEMPLATES[name], special_tokens=SPECIAL_TOKENS)
    parts = [(each, count) for each in (TALK, asked("x"), TALK) for count in range(len(each.messages) + 1)]
    shorter = [replace(each, messages=each.messages[:count]) for each, count in parts]
    expected = [r.text if isinstance(r, Rendered) else None for r in template.render(shorter, prompt=prompt)]
    assert template.render_beginnings(parts, prompt=prompt) == expected
    assert expected[0] is None
    assert expected[1] or expected[2]


def test_values_of_all_beginnings_are_made_once(monkeypatch: pytest.MonkeyPatch):
    """The process gets a conversation once with all of its beginnings; 64 beginnings are one request."""
    requests: list[list[bytes]] = []

    def render(self: WorkerProcess, request: Any, conversations: Any) -> Any:
        requests.append(list(conversations))
        return original(self, request, conversations)

    original = WorkerProcess.render
    monkeypatch.setattr(WorkerProcess, "render", render)
    long = Conversation(tuple({"role": "user", "content": str(number)} for number in range(100)))
    source = "{% for message in messages %}{{ message.content }} {% endfor %}"
    texts = JinjaTemplate("mine", source).render_beginnings([(long, count) for count in range(1, 101)])
    assert texts[99] == "".join(f"{number} " for number in range(100))
    assert [len(conversations) for conversations in requests] == [1, 1]


@pytest.mark.parametrize(
    "loop",
    [
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    ],
)
def test_endless_beginning_affects_only_itself(loop: str):
    source = "{% if messages|length == 2 %}" + loop + "{% endif %}{{ messages|length }}"
    template = JinjaTemplate("mine", source, seconds=0.2)
    assert template.render_beginnings([(TALK, count) for count in range(1, 5)]) == ["1", None, "3", "4"]


def test_template_is_thread_safe():
    template = JinjaTemplate("mine", "{{ messages[0].content }}")
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda number: template.render([asked(number)] * 3), range(40)))
    assert [[r.text for r in result if isinstance(r, Rendered)] for result in results] == [
        [str(number)] * 3 for number in range(40)
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_forked_process_starts_its_own_worker():
    template = JinjaTemplate("mine", "{{ messages[0].content }}")
    template.render([asked()])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if template.render([asked("child")])[0].text == "child" else 1  # type: ignore[union-attr]
            template.close()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    [rendered] = template.render([asked("parent")])
    assert isinstance(rendered, Rendered)
    assert rendered.text == "parent"


@pytest.mark.parametrize("key", ["messages", "tools", "documents"])
def test_messages_that_are_no_objects_are_refused(key: str):
    given: dict[str, Any] = {"messages": ({"role": "user"},), key: ("Hi",)}
    [result] = JinjaTemplate("mine", "x").render([Conversation(**given)])
    assert str(result) == f"{key}[0] is not a JSON object: 'Hi'"


def test_nested_or_circular_conversations_do_not_affect_the_others():
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    circle: list[Any] = []
    circle.append(circle)
    results = JinjaTemplate("mine", "x").render([asked(deep), asked(), asked(circle)])
    assert [r.text if isinstance(r, Rendered) else r.message for r in results] == [
        "the conversation is nested too deeply",
        "x",
        "the conversation cannot be written as JSON: Circular reference detected",
    ]


def test_values_without_json_form_render_as_in_transformers():
    class Picture:
        """A value that JSON cannot express."""

    [rendered] = JinjaTemplate("mine", "{{ messages[0].content }}").render(
        [asked([Picture(), numpy.float64(1.5), asked("Hi")])]
    )
    assert isinstance(rendered, Rendered)
    assert rendered.text.startswith("['<Picture>', 1.5, {'messages': [{")
