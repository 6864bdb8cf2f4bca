"""Compiled templates write the same text as Jinja, and know the origin of each part."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tokbench.chat.jinja import limits, program, string_methods
from tokbench.chat.jinja.program import Program, Written
from tokbench.chat.rendered import COMPUTED, TEMPLATE, Origin
from tokbench.errors import TemplateError

QUESTION = Origin(0, "content")


def write(source: str, *messages: dict[str, Any], prompt: bool = False, **given: Any) -> Written:
    compiled = Program(source, special_tokens={"bos_token": "<s>"}, date=datetime(2026, 1, 2))
    conversation = {"messages": messages, "tools": [], "documents": [], "variables": {}, **given}
    return compiled.write(conversation, prompt=prompt)


def parts(written: Written) -> list[tuple[str, Origin]]:
    texts_with_origins = []
    start = 0
    for length, origin in written.runs:
        texts_with_origins.append((written.text[start : start + length], origin))
        start += length
    assert start == len(written.text)
    return texts_with_origins


def asked(content: Any = "Hi") -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_template_and_message_text_have_their_origins():
    written = write("{{ bos_token }}[{{ messages[0].content }}]", asked())
    assert parts(written) == [("<s>[", TEMPLATE), ("Hi", QUESTION), ("]", TEMPLATE)]


def test_known_role_is_template_text_and_another_one_content():
    source = "{% for m in messages %}<{{ m.role }}>{% endfor %}"
    written = write(source, asked(), {"role": "<|im_end|>", "content": ""})
    assert parts(written)[1:4:2] == [("user", Origin(0)), ("<|im_end|>", Origin(1, "role"))]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("'<' + x + '>'", [("<", TEMPLATE), ("a bc", QUESTION), (">", TEMPLATE)]),
        ("'<' ~ x ~ 1", [("<", TEMPLATE), ("a bc", QUESTION), ("1", COMPUTED)]),
        ("'<%s>' % x", [("<", TEMPLATE), ("a bc", QUESTION), (">", TEMPLATE)]),
        ("'<{}>'.format(x)", [("<", TEMPLATE), ("a bc", QUESTION), (">", TEMPLATE)]),
        ("'<%s>' | format(x)", [("<", TEMPLATE), ("a bc", QUESTION), (">", TEMPLATE)]),
        ("['<', x, '>'] | join('|')", [("<|", TEMPLATE), ("a bc", QUESTION), ("|>", TEMPLATE)]),
        ("x.split() | join('<>')", [("a", QUESTION), ("<>", TEMPLATE), ("bc", QUESTION)]),
        ("x | replace(' ', '_')", [("a", QUESTION), ("_", TEMPLATE), ("bc", QUESTION)]),
        ("(x ~ '!') | title", [("A Bc", QUESTION), ("!", TEMPLATE)]),
        ("(x ~ '!') | upper", [("A BC", QUESTION), ("!", TEMPLATE)]),
        ("('<' ~ x) | e", [("&lt;", TEMPLATE), ("a bc", QUESTION)]),
        ("x | safe", [("a bc", QUESTION)]),
        ("x[::-1][:2] ~ '!' * 2", [("cb", QUESTION), ("!!", TEMPLATE)]),
        ("x | trim | list | last", [("c", QUESTION)]),
        ("x | tojson", [('"a bc"', QUESTION)]),
        ("'<s>' | tojson", [('"<s>"', TEMPLATE)]),
        ("x | length", [("4", COMPUTED)]),
        ("loop is defined", [("False", COMPUTED)]),
        ("x | urlencode", [("a%20bc", COMPUTED)]),
        ("x | wordwrap(2, wrapstring='/')", [("a", QUESTION), ("/", TEMPLATE), ("bc", QUESTION)]),
        (
            "(x ~ '\\n!') | indent(1)",
            [("a bc", QUESTION), ("\n", TEMPLATE), (" ", COMPUTED), ("!", TEMPLATE)],
        ),
    ],
)
def test_expressions_trace_their_origins(expression: str, expected: list[tuple[str, Origin]]):
    written = write(f"{{% set x = messages[0]['content'] %}}{{{{ {expression} }}}}", asked("a bc"))
    assert parts(written) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{% macro show(it) %}<{{ it }}>{% endmacro %}{{ show(messages[0].content) }}",
        "{% macro box() %}<{{ caller() }}>{% endmacro %}{% call box() %}{{ messages[0].content }}{% endcall %}",
        "{% filter trim %} <{{ messages[0].content }}> {% endfilter %}",
        "{% set it %}<{{ messages[0].content }}>{% endset %}{{ it }}",
        "{% set ns = namespace(it='<') %}{% for m in messages %}{% set ns.it = ns.it + m.content %}{% endfor %}"
        "{{ ns.it ~ '>' }}",
        "{% block b %}<{{ messages[0].content }}>{% endblock %}",
        "{%- for m in messages recursive -%}<{{ m.content }}{%- endfor -%}>",
    ],
)
def test_macros_and_blocks_trace_their_origins(source: str):
    assert parts(write(source, asked())) == [("<", TEMPLATE), ("Hi", QUESTION), (">", TEMPLATE)]


def test_json_traces_the_origin_of_each_leaf():
    call = {"name": "add", "arguments": {"a": 1, "b": [True, "x"]}}
    message = {"role": "assistant", "tool_calls": [{"function": call}]}
    source = '{{ {"name": messages[0].tool_calls[0].function.name, "n": 1} | tojson }}'
    name = Origin(0, "tool_calls[0].function.name")
    assert parts(write(source, message)) == [
        ("{", COMPUTED),
        ('"name"', TEMPLATE),
        (": ", COMPUTED),
        ('"add"', name),
        (", ", COMPUTED),
        ('"n"', TEMPLATE),
        (": 1}", COMPUTED),
    ]
    written = write("{{ messages[0].tool_calls[0].function.arguments | tojson }}", message)
    assert written.text == '{"a": 1, "b": [true, "x"]}'
    assert {origin.message for _, origin in parts(written)} == {0}
    assert (': [true, "x"]', Origin(0, "tool_calls[0].function.arguments.b")) not in parts(written)
    assert {str(origin.field).rsplit(".", 1)[-1] for _, origin in parts(written)} == {
        "arguments",
        "a",
        "b",
        "b[1]",
    }


@pytest.mark.parametrize("number", [3, -1.5])
def test_json_of_a_number_has_its_origin(number: float):
    written = write("<{{ messages[0].n | tojson }}>", {"role": "user", "n": number})
    assert parts(written) == [("<", TEMPLATE), (str(number), Origin(0, "n")), (">", TEMPLATE)]


def test_tools_documents_and_variables_have_their_own_origins():
    written = write(
        "{{ tools[0].name }}{{ documents[0].text }}{{ who }}",
        asked(),
        tools=[{"name": "<|x|>"}],
        documents=[{"text": "t"}],
        variables={"who": "me"},
    )
    fields = [origin for _, origin in parts(written)]
    assert fields == [
        Origin(None, "tools[0].name"), Origin(None, "documents[0].text"), Origin(None, "variables.who")
    ]  # fmt: skip


def test_reasoning_has_its_field_name_as_origin():
    written = write("{{ messages[0].reasoning_content }}", {"role": "assistant", "thinking": "hm"})
    assert parts(written) == [("hm", Origin(0, "thinking"))]


def test_field_of_none_is_absent():
    assert write("{{ 'content' in messages[0] }}", asked(None)).text == "False"


def test_generation_blocks_are_recorded():
    source = (
        "{% for m in messages %}{{ m.role }}:{% generation %}{{ m.content }}{% endgeneration %};{% endfor %}"
    )
    assert write(source, asked("Hi"), asked("Ho")).generated == [(5, 7), (13, 15)]
    assert write("x", asked()).generated is None


def test_current_date_is_injected_and_recorded():
    written = write("{{ strftime_now('%d %b') }}", asked())
    assert (written.text, written.dated, written.runs) == ("02 Jan", True, ((6, COMPUTED),))
    assert not write("x", asked()).dated


def test_refusal_has_the_templates_message():
    with pytest.raises(TemplateError, match=r"^the template refuses it: no system$"):
        write("{{ raise_exception('no system') }}", asked())


def test_runtime_error_has_its_line():
    with pytest.raises(
        TemplateError, match=r'line 2: TypeError: can only concatenate str \(not "list"\) to str'
    ):
        write("\n{{ 'a' + messages }}", asked())


@pytest.mark.parametrize(
    "source", ["{% for %}", "{{ x", "{{ 'a' | nothing }}", "(" * 3 + "{{" + "(" * 5000 + "}}"]
)
def test_invalid_templates_do_not_compile(source: str):
    with pytest.raises(TemplateError):
        Program(source, special_tokens={})


def test_conversation_without_messages_is_refused():
    with pytest.raises(TemplateError, match="no messages"):
        write("x")


def test_variables_cannot_replace_the_conversation():
    with pytest.raises(TemplateError, match="'tools'"):
        write("x", asked(), variables={"tools": "x"})


@pytest.mark.parametrize(
    "source",
    [
        "{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{{ 'a' * 10**9 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%*d' % (1000000000, 1) }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ 'a'.center(10**9) }}",
        "{{ [1] * 10**12 }}",
        "{{ 10 ** (10 ** 10) }}",
        "{{ range(10**9) }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ ''['__class__']['mro']() }}",
        "{{ '{0.__class__.__mro__}'.format(1) }}",
        "{{ ''.format.__globals__.os }}",
        "{{ lipsum.__globals__.os }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ (messages|map(attribute='__class__')|list)[0].mro }}",
        "{{ self.__init__.__globals__.x }}",
        "{% include 'x' %}",
        "{% import 'x' as x %}",
        "{% extends 'x' %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set ns = namespace(_x=1) %}",
        "{{ messages.append(1) }}",
        "{{ ('a' * 100000) | replace('a', 'b' * 100000) }}",
        "{{ (['a'] * 100000) | join('b' * 100000) }}",
        "{{ 'a'.ljust(10**10) }}",
        "{{ 'a'.zfill(10**10) }}",
        "{{ '\\t'.expandtabs(10**10) }}",
        "{{ 'aaaa' | indent(10**10) }}",
        "{{ ('a' * 100000).translate({97: 'b' * 100000}) }}",
        "{{ " + "9" * 5000 + " }}",
        "{{ ['{0.__init__.__globals__}'] | map(attribute='format') | first is callable and x.y }}",
        "{{ '{0.__init__.__globals__.x}'.format(namespace) }}",
        "{{ '{x.__init__.__globals__.x}'.format_map({'x': cycler}) }}",
        "{{ ('{0.__init__.__globals__.x}' | safe).format(namespace) }}",
        "{{ strftime_now.__self__.x }}",
        "{% for i in range(100000) %}{{ 'a' * 100000 }}{% endfor %}",
    ],
)
def test_hostile_templates_are_refused(source: str):
    with pytest.raises(TemplateError):
        write(source, asked())


@pytest.fixture
def short_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (limits, program, string_methods):
        monkeypatch.setattr(module, "CHARACTERS", 1000)


@pytest.mark.usefixtures("short_texts")
def test_output_size_is_limited():
    source = "{% for i in range(10) %}{{ messages[0].content }}{% endfor %}"
    assert len(write(source, asked("a" * 100)).text) == 1000
    for longer in (source + "b", "b" + source, source.replace("10", "11"), source * 2):
        with pytest.raises(TemplateError, match=r"exceeds a limit: it writes more than 1,000 characters"):
            write(longer, asked("a" * 100))


@pytest.mark.usefixtures("short_texts")
@pytest.mark.parametrize(
    "expression",
    [
        *["x * 2", "2 * x", "'ab' * n", "x + x", "'a' * n + x", "x ~ x", "x.join(['a', 'b', 'c'])"],
        *["'ab'|replace('b', x + x)", "'aa'.replace('a', x)", "x.center(2 * n)", "x.ljust(2 * n)"],
        *["x.rjust(2 * n)", "x.zfill(2 * n)", "'a\\t\\tb'.expandtabs(n)", "x.translate({97: 'bb'})"],
        *["'%*d' % (2 * n, 1)", "('%' ~ 2 * n ~ 's') % 'a'", "('{:' ~ 2 * n ~ '}').format('a')"],
        *["'a\\nb'|indent(2 * n)", "[x, x]|tojson", "[x, x]|join('b')"],
    ],
)
def test_string_size_is_limited(expression: str):
    source = "{% set x = messages[0].content %}{% set n = x|length %}{{ (" + expression + ")|length }}"
    assert 0 < int(write(source, asked("a" * 400)).text) <= 1000
    with pytest.raises(
        TemplateError, match="exceeds a limit: it creates a string of more than 1,000 characters"
    ):
        write(source, asked("a" * 510))
