"""Chat templates in Jinja, written for the tests: together they use the features that models' templates use."""

from __future__ import annotations

CHATML = """\
{%- for message in messages -%}
{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] | trim + '<|im_end|>' + '\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}
"""
"""A template that accepts only text as content."""

PARTS_AND_TOOLS = """\
{%- macro text_of(content) -%}
{%- if content is string -%}{{ content }}
{%- elif content is not none and content is defined -%}
{%- for part in content -%}{{ part.text if part.type == 'text' else '<image>' }}{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{{- bos_token -}}
{%- if tools %}
    {{- '<|tools|>' }}{% for tool in tools %}{{ tool | tojson }}{{ '\\n' if not loop.last }}{% endfor %}
    {{- '<|end|>\\n' }}
{%- endif -%}
{%- for message in messages %}
<|{{ message.role }}|>
{% if message.role == 'assistant' %}
{% generation %}
{% if message.reasoning_content %}
<think>
{{ message.reasoning_content.strip('\\n') }}
</think>
{% endif %}
{{ text_of(message.content) }}{% for call in message.tool_calls or [] %}{% set given = call.function.arguments %}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{
given if given is string else given | tojson(indent=1) }}}</tool_call>
{%- endfor %}<|end|>
{% endgeneration %}
{% else %}
{{ text_of(message.content) }}<|end|>
{% endif %}
{% endfor -%}
{{ '<|assistant|>\\n' if add_generation_prompt }}
"""
"""A template that handles everything a message may contain, with `generation` blocks."""

XML = """\
{%- macro field(name, value) -%}
{{ '\\n<' ~ name ~ '>' ~ (value | string if value is not mapping and value is not sequence or value is string
   else value | tojson) | trim ~ '</' ~ name ~ '>' }}
{%- endmacro -%}
{%- set ns = namespace(last=-1, text='') -%}
{%- for message in messages -%}
  {%- if message.role == 'user' %}{% set ns.last = loop.index0 %}{% endif -%}
{%- endfor -%}
{%- for tool in tools or [] -%}
  {%- set ns.text = ns.text ~ '<function>' ~ field('name', tool.function.name) -%}
  {%- for key, value in tool.function.items() if key not in ['name'] -%}
    {%- set ns.text = ns.text ~ field(key, value) -%}
  {%- endfor -%}
  {%- set ns.text = ns.text + '</function>' -%}
{%- endfor -%}
{{ ns.text | replace('<function>', '[function]') | indent(2, first=true) if ns.text }}
{%- for message in messages -%}
  {%- set content = message.content if message.content is string else message.content | map(attribute='text')
      | join('\\n') -%}
  {%- if '</think>' in content -%}
    {%- set content = content.split('</think>')[-1].lstrip('\\n') -%}
  {%- endif -%}
  {{- '[%s]' % message['role'].upper() }}{{ content.strip() if loop.index0 >= ns.last else content[:8] }}
  {%- for call in message.tool_calls -%}
    {{- '{}({})'.format(call.function.name, call.id) }}
    {%- if call.function.arguments is mapping -%}
      {%- for key, value in call.function.arguments | items %}{{ field(key, value) }}{% endfor -%}
    {%- endif -%}
  {%- endfor -%}
  {{- eos_token -}}
{%- endfor -%}
"""
"""A template with macros, a namespace, and most operations on strings."""

STRICT = """\
{%- if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set rest = messages[1:] %}
{%- else %}{% set system = '' %}{% set rest = messages %}{% endif -%}
{%- for message in rest -%}
  {%- if (message.role == 'user') != (loop.index0 % 2 == 0) -%}
    {{- raise_exception('Roles must alternate: ' ~ message.role) -}}
  {%- endif -%}
  {%- set content -%}
    {%- if loop.first and system -%}<<SYS>>{{ system }}<</SYS>>{%- endif -%}{{ message.content }}
  {%- endset -%}
  {%- filter trim %} {{ '[INST] ' ~ content ~ ' [/INST]' if message.role == 'user' else content + eos_token }}
  {% endfilter -%}
{%- endfor -%}
{{ strftime_now('%Y-%m-%d') if date_string is not defined else date_string }}
"""
"""A template that refuses what it does not know, and uses the date."""

TEMPLATES = {"chatml": CHATML, "parts and tools": PARTS_AND_TOOLS, "xml": XML, "strict": STRICT}

SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}

EXPRESSIONS = (
    *("x", "x.y", "x.y.z", "x | default('d')", "nothing | default(x)", "nothing", "x is defined"),
    *("x ~ nothing ~ none", "x + 'é'", "'<' ~ x ~ 1 ~ 1.5 ~ true ~ none ~ [x] ~ {'k': x}"),
    *("x * 2", "3 * x", "x % ()"),
    *("'%s-%r-%5s-%d%%' % (x, x, x, 3)", "'%(a)s' % {'a': x}", "'{} {0}'.format(x)"),
    *("'{0}{0!r:>9}{k}'.format(x, k=x)", "'{a[b]}'.format(a={'b': x})", "'{a}'.format_map({'a': x})"),
    "'{0.__class__}'.format(x)",
    *("'%s' | format(x)", "'%(k)s' | format(k=x)"),
    *("x[0]", "x[-1]", "x[99]", "x[1:]", "x[::-1]", "x['a']"),
    *("x.upper()", "x.title()", "x | title", "x | capitalize", "x | lower", "x | upper", "x.swapcase()"),
    "x.casefold()",
    *("x | trim", "x | trim('H ')", "x.lstrip()", "x.rstrip('\\n')"),
    *("x.split()", "x.split('b')[0]", "x.split('b', 1)[-1]", "x.rsplit(None, 1)", "x.splitlines()"),
    *("x.partition('b')", "x.rpartition('b')[2]"),
    *("x.startswith('H')", "x.find('b')", "x.replace('b', '<>')", "x | replace('b', '<>')"),
    *("x | replace('', '-', 2)", "x.removeprefix('H')"),
    *("x.center(30, '*')", "x.ljust(30)", "x.zfill(30)", "x.expandtabs(3)", "x.encode()"),
    *("x.encode().decode()", "x.translate({98: 'BB', 99: none})"),
    *("x.join(['1', '2'])", "['1', x, 3] | join(x)", "[x, x] | join", "[{'a': x}] | join(', ', 'a')"),
    *("x | list", "x | first", "x | last", "x | length", "x | reverse", "x | batch(3, 'f') | list"),
    *("x | slice(3) | list", "x | sort", "x | unique | list"),
    *("x | map('upper') | join", "x | select('in', 'abc') | list", "x | reject('equalto', 'b') | join"),
    "[{'a': x}] | map(attribute='a') | list",
    "[{'a': x, 'b': 1}, {'b': 2}] | selectattr('a', 'defined') | list",
    "[{'a': x}, {'a': ''}] | rejectattr('a') | list",
    *("[{'a': x}] | groupby('a')", "{'b': x, 'a': 1} | dictsort", "{'b': x}.items() | list"),
    "{'b': x} | items | list",
    *("{'b': x}.get('b')", "{'b': x}.b", "dict(a=x)", "dict(a=x).a"),
    *("[1, 2.5] | sum", "[x] | sum", "[x, 'zz'] | max", "[x, 'AA'] | min"),
    *("x | int", "'12' | int", "'1f' | int(base=16)", "x | float", "'1.50' | float", "x | abs", "-2 | abs"),
    *("2.567 | round(1)", "7 // 2", "7 / 2", "2 ** 9", "7 % 4"),
    *("'a' < x", "x == x", "x in [x]", "'b' in x", "x is sameas x", "not x", "x and 'y'"),
    *("x | string", "5 | string", "[x] | string"),
    *("x | tojson", "{'a': [x, 1, none, true, 1.5, {}], 'é': []} | tojson"),
    "{'b': x, 'a': 2} | tojson(indent=2, sort_keys=true)",
    *("{'a': [x, []]} | tojson(separators=(',', ':'))", "x | tojson(ensure_ascii=true)"),
    *("{1: x, none: 2, true: 3} | tojson", "[nothing] | tojson"),
    *("x | tojson | safe", "x | e", "x | escape | upper", "'<' ~ (x | e)", "(x | safe) + '<'"),
    *("'<' + (x | safe)", "('<%s>' | safe) % x", "('<%s>' | safe) % (x, )", "('{}' | safe).format(x)"),
    *("('<' | safe).join([x, 'a' | safe])", "['<', x | safe] | join('<')", "(x | safe).replace('b', '<')"),
    *("x | safe | replace('b', '<')", "x | replace('b', '<' | safe)", "(x | e).unescape()"),
    *("(x | safe).striptags()", "(x | safe) * 2", "(x | safe)[1:]"),
    *("x | forceescape", "(x | e) | forceescape", "(x | e) | e"),
    *("x | striptags", "x | urlencode", "{'a': x} | urlencode", "x | urlize", "{'class': x} | xmlattr"),
    *("x | pprint", "1000000 | filesizeformat"),
    *("x | indent", "x | indent(2, true)", "x | indent('> ', blank=true)", "x | wordwrap(5)"),
    *("x | wordwrap(3, false, '|')", "x | truncate(5)", "x | truncate(5, true, '', 0)"),
    *("x | wordcount", "x | center(30)", "(x | attr('upper'))()", "x | attr('nothing')"),
    *("x is string", "x is mapping", "x is sequence", "x is iterable", "x is number", "x is none"),
    "x is boolean",
    *("1 is number", "1 is odd", "x is lower", "x is upper", "x is escaped", "(x | e) is escaped"),
    *("x is filter", "'upper' is filter", "x is eq(x)", "x is in [x]", "3 is divisibleby(3)"),
    "x is callable",
    *("namespace(a=x).a", "cycler(x, 'b').next()", "joiner('|')() ~ x", "range(3) | list"),
    "range(5, 1, -2) | join(',')",
    *("x.__class__", "x['__class__']", "x._runs", "x['_runs'] ~ '!'", "x.runs_of_origins"),
    "x.runs_of_origins()",
    *("messages | length", "messages[0].content", "messages[0]", "messages | tojson"),
    *("messages[0].number", "messages[0].number + 1", "messages[0].number ~ ''"),
    *("messages[0].number._origin", "messages[0].number | string", "messages[0].fraction"),
    *("messages[0].number | round(1)", "'%d|%s' % (messages[0].number, messages[0].number)"),
    *("messages[0].list", "messages[0].list | tojson", "messages[0].list | join(',')"),
    "messages | map(attribute='role') | join",
    *("messages | last", "messages.append(1)", "messages[0].update({})", "messages[0].keys() | list"),
    "messages[0].items() | list | string",
    *("messages[9].content", "messages.content"),
    *("tools", "documents", "bos_token ~ eos_token", "pad_token"),
)
"""Expressions of a text `x` and of `messages`; together they use every operator, filter and string method."""

STATEMENTS = (
    "{% autoescape true %}{{ x }}<{{ '<' ~ x }}{{ x | safe }}{{ '<' }}{% endautoescape %}{{ x }}",
    "{% autoescape x %}{{ x }}<{{ '<' ~ x }}{{ ('<', x) | join }}{% filter upper %}<{{ x }}"
    "{% endfilter %}{% endautoescape %}",
    "{% set y %}<{{ x }}>{% endset %}{{ y | length }}{{ y }}",
    "{% set y | upper %}<{{ x }}>{% endset %}{{ y }}",
    "{% with y = x ~ '!' %}{{ y }}{% endwith %}",
    "{% for a in x if a != 'b' %}{{ loop.index }}{{ a }}{{ loop.cycle('<', '>') }}{% else %}none{% endfor %}",
    "{% for a in [[1, [2, x]], 'c'] recursive %}{{ loop.depth }}"
    "{{ loop(a) if a is not string and a is iterable else a }};{% endfor %}",
    "{% for a in [x, x, 'y'] %}{{ loop.changed(a) }}{{ loop.previtem }}{{ loop.nextitem }}"
    "{{ loop.revindex }}{{ loop.length }}{% if loop.first %}{% continue %}{% endif %}{% break %}{% endfor %}",
    "{% macro m(a, b='<d>', c=x) %}{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }}{% endmacro %}"
    "{{ m() }}{{ m(x, 1, 2, 3, k=x) }}{{ m.name }}{{ m.arguments }}",
    "{% macro m() %}<{{ caller(1) }}>{% endmacro %}{% call(n) m() %}{{ n }}{{ x }}{% endcall %}",
    "{% block b %}<{{ x }}>{% endblock %}{{ self.b() | upper }}",
    "{% filter upper | replace('B', '<') %}{{ x }}<b>{% endfilter %}",
    "{% set ns = namespace(a=1) %}{% set ns.a = x %}{{ ns.a }}{{ ns }}",
    "{% set a, b = x, '<' %}{{ b ~ a }}",
    "{% raw %}{{ x }}{% endraw %}",
    "{# {{ x }} #}  \n  {% if true %}  \n x\n  {% endif %}\n\n",
    "{{ x if false }}|{{ x if true else 'b' }}",
    "{% if x %}{{ x }}{% elif y %}{% else %}-{% endif %}",
    "a{% generation %}{{ x }}{% endgeneration %}b{% generation %}{% endgeneration %}",
    "{% generation %}<{% generation %}{{ x }}{% endgeneration %}>{% endgeneration %}",
    "<{% set y %}{% generation %}{{ x }}{% endgeneration %}{% endset %}!{{ y }}{{ y }}",
    "{% macro m() %}<{% generation %}{{ x }}{% endgeneration %}>{% endmacro %}!{{ m() }}{{ m() }}",
    "{% for a in x %}-{% generation %}{{ a }}{% if loop.index == 2 %}{% break %}{% endif %}"
    "{% endgeneration %}{% endfor %}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% extends 'x' %}",
    "{% set messages = [] %}{{ messages | length }}",
    "{{ raise_exception(x) }}",
    "{{ raise_exception('<' ~ x) }}",
    "{{ x }}{{ strftime_now('%d %b %Y') }}",
    "{{ x | nothing }}",
    "{% if false %}{{ x | nothing }}{% endif %}!",
    "{% do x %}",
    "{{ x",
    "{% endfor %}",
)
"""Templates that together use every statement."""
