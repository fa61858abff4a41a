#!/usr/bin/env python3
"""Compares the chat-template interpreter with Jinja itself, set up as model repositories do.

usage: chat_template_test.py RENDER_TEMPLATE_PROGRAM TEMPLATE_DIRECTORY
Every template of the directory is rendered for many conversations, then short templates that exercise one
construct each, then random ones. Both sides must give the same text, or both an error.
Exit status 77 (skipped) without python3-jinja2.
"""
import json
import random
import subprocess
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")  # Python's opinion on the code that Jinja makes of odd templates

try:
    import jinja2
    import jinja2.ext
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError:
    print("skipped: python3-jinja2 is not installed")
    sys.exit(77)

UNSUPPORTED = 3  # ErrorCode::kUnsupported


def make_environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    return env


ENV = make_environment()


def reference(request):
    """The text, or None for any error."""
    try:
        return ENV.from_string(request["template"]).render(
            messages=request["messages"], add_generation_prompt=request["add_generation_prompt"],
            bos_token=request["bos_token"], eos_token=request["eos_token"])
    except Exception:  # every failure of the reference is an error to us
        return None


def conversations():
    def talk(*turns):
        return [{"role": role, "content": content} for role, content in turns]

    texts = ["", "Hello", "  spaces around\t\n", "<|im_end|> <end_of_turn> </s> [INST]", "naïve café 🦙 \u3000",
             "line\r\nline\n\n", "{{ not }} {% a template %}", "'single' \"double\" \\ back", "\x1c\x85\xa0x\x1f",
             "a" * 3000]
    yield []
    for text in texts:
        yield talk(("user", text))
        yield talk(("system", text), ("user", "Hi"))
        yield talk(("user", text), ("assistant", text))
        yield talk(("system", "Be brief."), ("user", "A"), ("assistant", text), ("user", text))
    yield talk(("assistant", "first"))
    yield talk(("user", "a"), ("user", "b"))
    yield talk(("user", "a"), ("system", "late"))
    yield talk(("tool", "result"), ("user", "b"))
    yield talk(("strange <|role|>", "x"))
    yield talk(*[("user" if i % 2 == 0 else "assistant", f"turn {i}") for i in range(40)])


SNIPPETS = r"""
{{ 1 + 2 * 3 - 4 // 3 % 2 }}|{{ -7 // 2 }}|{{ -7 % 3 }}|{{ 7 % -3 }}|{{ 2 - -3 }}
{{ 'a' ~ 1 ~ true ~ none ~ [1, 'b', "it's"] ~ {'k': 1} }}
{{ true + true }}|{{ true == 1 }}|{{ 'a' < 'b' < 'c' }}|{{ 1 < 2 > 0 }}
{{ not true or false and true }}|{{ not (1 in [1]) }}|{{ 1 not in [2] }}|{{ 'a' in 'cat' }}|{{ 'role' in messages[0] }}
{{ 'x' if false }}|{{ 'x' if true else 'y' }}|{{ 'a' if false else 'b' if false else 'c' }}
{{ undefined_name }}|{{ undefined_name is defined }}|{{ undefined_name.x }}
{{ undefined_name + 'x' }}
{{ undefined_name ~ 'x' }}|{{ undefined_name == undefined_other }}|{{ undefined_name | default('d') }}|{{ '' | default('d', true) }}|{{ none | default('d') }}
{{ none.x }}|{{ none }}|{{ none is none }}|{{ messages.x }}
{{ messages | length }}|{{ 'naïve 🦙' | length }}|{{ undefined_name | length }}
{{ 5 | length }}
{{ messages[0].content[0] }}|{{ 'héllo'[1] }}|{{ 'héllo'[-1] }}|{{ 'abc'[7] }}
{{ 'héllo wörld'[1:4] }}|{{ 'abc'[::-1] }}|{{ [1,2,3,4][-3:-1] }}|{{ [1,2,3,4][::2] }}|{{ [1,2,3][5:] }}|{{ [1,2,3,4,5][-1:0:-2] }}
{{ 'abc'[::0] }}
{{ '  x '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'xxaxx'.lstrip('x') }}|{{ 'xxaxx'.rstrip('x') }}|{{ ' a ' | trim }}|{{ 'xax' | trim('x') }}
{{ 'a,b,,c'.split(',') }}|{{ ' a  b c '.split() }}|{{ 'a,b,c'.split(',', 1) }}|{{ 'a b c'.split(none, 1) }}|{{ ''.split() }}|{{ ''.split(',') }}
{{ 'x'.split('') }}
{{ 'a</think>b'.split('</think>')[-1] }}|{{ 'abc'.startswith('ab') }}|{{ 'abc'.endswith(('x', 'c')) }}|{{ 'abc'.startswith(('x', 'y')) }}
{{ 'AbC'.upper() }}|{{ 'AbC' | lower }}|{{ 'hELLO wORLD' | capitalize }}|{{ 'naïve É' | upper }}|{{ 'ÀÉ'.lower() }}|{{ 'éa'.capitalize() }}
{{ 'aXbXc'.replace('X', '--') }}|{{ 'aXbXc' | replace('X', '-', 1) }}|{{ 'abc'.replace('', '-') }}|{{ 'abc' | replace('', '-', 2) }}|{{ 'aaa'.replace('aa', 'b') }}
{{ [1, 2, 3] | join(', ') }}|{{ ['a', 'b'] | join }}|{{ messages | join('-', attribute='role') }}|{{ 'abc' | join('.') }}|{{ ', '.join(['a', 'b']) }}
{{ [3, 1] | first }}|{{ [3, 1] | last }}|{{ [] | first }}|{{ 'ab' | last }}|{{ 'abc' | reverse }}|{{ [1, 2] | reverse | list }}
{{ messages | tojson }}
{{ {'a': [1, true, none, 'x"y'], 'b': {}} | tojson(indent=2) }}|{{ [] | tojson(indent=2) }}|{{ 'é\n\t\\' | tojson }}
{{ undefined_name | tojson }}
{{ messages | map(attribute='role') | list }}|{{ ['a', 'b'] | map('upper') | join }}|{{ messages | selectattr('role', 'equalto', 'user') | list | length }}|{{ messages | rejectattr('role', 'equalto', 'user') | list | length }}|{{ [0, 1, 2] | select | list }}|{{ [0, 1, 2] | reject('odd') | list }}|{{ [1, 2, 3] | select('gt', 1) | list }}
{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}|{% for k, v in {'a': 1} | items %}{{ k }}{{ v }}{% endfor %}|{% for k in {'a': 1} %}{{ k }}{% endfor %}
{{ {'a': 1}.get('a') }}|{{ {'a': 1}.get('b') }}|{{ {'a': 1}.get('b', 'd') }}|{{ {'a': 1}['a'] }}|{{ {'a': 1}.a }}|{{ {'a': 1, 'a': 2}['a'] }}|{{ {'a': 1}.keys() | list }}|{{ {'a': 1}.values() | list }}
{% for i in range(3) %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }};{% endfor %}
{% for i in range(5) if i % 2 == 0 %}{{ i }}{{ loop.index }}{{ loop.last }}{% endfor %}|{% for i in [] %}x{% else %}none{% endfor %}|{% for i in undefined_name %}x{% else %}none{% endfor %}
{% for i in [1, 2] %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }}{% endfor %}|{% for a in [1, 2] %}{% for b in [3] %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}
{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}
{% set ns = namespace(n=0, s='') %}{% for i in range(4) %}{% set ns.n = ns.n + i %}{% set ns.s = ns.s ~ i %}{% endfor %}{{ ns.n }}{{ ns.s }}{{ ns.missing }}
{% if false %}{% set y = 1 %}{% endif %}{{ y is defined }}|{% if true %}{% set y = 1 %}{% endif %}{{ y }}
{% for i in [1] %}{% set z = 5 %}{% endfor %}{{ z is defined }}
{{ 5 is odd }}{{ 5 is even }}{{ 6 is divisibleby 3 }}{{ 6 is divisibleby(4) }}{{ 'a' is string }}{{ 1 is number }}{{ true is number }}{{ true is boolean }}{{ 1 is integer }}{{ true is integer }}{{ {} is mapping }}{{ [] is sequence }}{{ 'a' is iterable }}{{ 1 is iterable }}{{ 1 is not none }}
{{ 'a' is in ['a'] }}|{{ 1 is eq 1 }}|{{ 1 is ne 1 }}|{{ 2 is gt 1 }}|{{ 2 is le 1 }}|{{ x is defined and true }}|{{ 1 is equalto(1) }}|{{ true is true }}|{{ 0 is false }}
{{ (1, 2) }}|{{ (1,) }}|{{ () }}|{{ [1, 2] == [1, 2] }}|{{ (1, 2) == [1, 2] }}|{{ {'a': 1} == {'a': 1} }}|{{ [1] + [2] }}|{{ 'ab' * 2 }}
{{ 'a' 'b' }}|{{ "\u00e9\x41\n\t\\\q" }}|{{ 'it''s' }}
{{ 'a' + 1 }}
{{ 1 // 0 }}
{{ [1] < 1 }}
{{ messages[0]['role'] }}|{{ messages[-1].content }}|{{ messages[99] }}|{{ messages[99].role }}
{{ raise_exception('stop') }}
{{- '  x' -}}   {{ 'y' }}
  a   {%- if true -%}   b   {%- endif -%}   c
  {% if true %}
  kept
    {% endif %}
x {% if true %} y {% endif %} z
{# comment #}
a {#- comment -#} b
  {# comment #} c
{%+ if true %} x {%+ endif %}
   {%+ if true +%}
y{% endif +%}
{{ "}}" }}{{ '{%' }}{{ {'a': {'b': 1}}['a']['b'] }}
{{ 'x' | upper | lower ~ 'Y' }}|{{ -1 | string }}|{{ 1 if 'a' is string else 2 }}
{{ [1, 2, 3][1] + [4][0] }}|{{ (1 + 2) * 3 }}|{{ [[1, 2], [3]][0][1] }}|{{ messages.0.role }}
{{ messages[1:] | length }}{{ messages[:1] | length }}{{ messages[:-1] | length }}{{ messages[none:] | length }}
{% for m in messages[::-1] %}{{ m.role }}{% endfor %}
{% if messages %}yes{% elif x %}no{% else %}empty{% endif %}
{% for message in messages %}{% set content = message.content %}{% if 'a' in content %}{{ content.split('a') }}{% endif %}{% endfor %}
{{ strftime_now('%Y') }}
{{ 'a'.nothing is defined }}|{{ [].nothing is defined }}
{{ bos_token + eos_token }}|{{ add_generation_prompt }}
{% set a = 'é' %}{{ a * 3 }}{{ a in 'café' }}
{{ namespace(a=1).a }}|{{ range(5) | list }}|{{ range(2, 8, 3) | list }}|{{ range(3, 0, -1) | list }}
{{ none ~ '' }}|{{ [none, true, 'x'] | string }}|{{ "a'b" | list }}
""".strip("\n").split("\n")

# Several lines each; a line holding only %% ends one.
MULTI_LINE = r"""
{% if true %}

x
{% endif %}

y
%%
a
  {% for i in [1, 2] %}
    {{ i }}
  {% endfor %}
b
%%
	{%- set x = 1 %}
  {{- x }}
 {{ x -}}
 end
%%
{# one
   two #}
text
%%
{% set s = 'line
break' %}{{ s }}

%%
{% if true -%}
   x
{%- endif %}

""".split("%%\n")

BROKEN = ["{{", "{{ }}", "{% if %}", "{% if x %}", "{% endif %}", "{% for x %}{% endfor %}", "{{ 'a }}", "{{ (1 }}",
          "{{ 1 ] }}", "{% unknown %}", "{# x", "{{ a b }}", "{% set 1 = 2 %}", "{% else %}", "{{ x is }}", "{{ x | }}",
          "{{ {1: } }}", "{{ [1 2] }}", "{% for a in b %}{% endif %}", "{{ a..b }}", "{{ ! }}", "{{ f(a=1, 2) }}",
          "{% if a %}{% else %}{% elif b %}{% endif %}", "{{ 'x' 'y' }", "{{ $ }}", "{{ a[] }}", "{{ a[1:2:3:4] }}"]

REFUSED = {
    "{% macro f() %}{% endmacro %}": "macro", "{% include 'x' %}": "include", "{{ 1.5 }}": "numbers",
    "{{ 3 / 2 }}": "/", "{{ 2 ** 3 }}": "**", "\n\n{{ x | sort }}": "'sort'", "{{ x is callable }}": "'callable'",
    "{% raw %}{{ }}{% endraw %}": "raw", "{{ x.format(1) }}": "'format'", "{% set a, b = [1, 2] %}": "several",
    "{% set x %}a{% endset %}": "block form", "{{ f()() }}": "call", "{{ 'a'.upper }}": "'upper'",
    "{% for a in b recursive %}{% endfor %}": "recursive", "{{ 1, 2 }}": "tuple", "{{ cycler(1) }}": "'cycler'",
    "{{ " + "(" * 500 + "1" + ")" * 500 + " }}": "deeper", "{{ " + "-" * 500 + "1 }}": "deeper",
    "{{ 1" + " + 1" * 500 + " }}": "deeper", "{% if 1 %}" * 500 + "{% endif %}" * 500: "deeper",
}


def random_expression(rng, depth=0):
    leaf = ["1", "0", "-3", "'a'", "'B c'", "''", "none", "true", "false", "x", "messages", "messages[0]",
            "messages[0].role", "messages[-1]['content']", "[1, 'a']", "{'k': 'v'}", "undefined_name", "bos_token", "i"]
    if depth > 3 or rng.random() < 0.25:
        return rng.choice(leaf)
    sub = lambda: random_expression(rng, depth + 1)
    bare_string = "('a' ~ bos_token)"
    return rng.choice([
        lambda: f"({sub()} {rng.choice(['+', '-', '*', '//', '%', '~', '==', '!=', '<', '>=', 'in', 'not in', 'and', 'or'])} {sub()})",
        lambda: f"{sub()} {rng.choice(['+', '~', '==', 'and', 'or', 'in', '<'])} {sub()}",
        lambda: f"not {sub()}",
        lambda: f"({sub()} if {sub()} else {sub()})",
        lambda: f"({sub()}) | {rng.choice(['trim', 'upper', 'lower', 'length', 'first', 'last', 'list', 'string', 'tojson', 'capitalize', 'join', 'reverse | list', 'default(1)', 'replace(1, 2)'])}",
        lambda: f"({sub()}) is {rng.choice(['', 'not '])}{rng.choice(['defined', 'none', 'string', 'mapping', 'iterable', 'sequence', 'number', 'odd', 'true', 'eq 1', 'in [1]'])}",
        lambda: f"({sub()})[{rng.choice(['0', '-1', 'x'])}]",
        # Jinja folds slices of constants of other types to undefined, but fails for the same slice of a variable.
        lambda: f"{rng.choice(['messages', bare_string, '[1, [2], none]'])}[{rng.choice(['1:', ':1', '::-1', '::2', '-1:', '5:1:-2', 'x:'])}]",
        lambda: f"({sub()}).{rng.choice(['role', 'strip()', 'upper()', 'split()', 'k', 'items() | list', 'get(1)'])}",
        lambda: f"[{sub()}, {sub()}]",
        lambda: f"{{'a': {sub()}}}",
        lambda: f"({sub()}, {sub()})",
    ])()


def random_template(rng, depth=0):
    space = lambda: rng.choice(["", " ", "\n", "  ", "\n  ", "t", " t\n", "\n\n"])
    dash = lambda: rng.choice(["", "", "-", "+"])
    end = lambda: rng.choice(["", "", "-", "+"])
    parts = []
    for _ in range(rng.randint(1, 3)):
        parts.append(space())
        kind = rng.randint(0, 5 if depth < 2 else 2)
        if kind <= 1:
            parts.append("{{" + rng.choice(["", "-"]) + " " + random_expression(rng) + " " + rng.choice(["", "-"]) + "}}")
        elif kind == 2:
            parts.append(f"{{%{dash()} set x = {random_expression(rng)} {end()}%}}")
        elif kind == 3:
            parts.append(f"{{%{dash()} if {random_expression(rng)} {end()}%}}{random_template(rng, depth + 1)}"
                         f"{{%{dash()} else {end()}%}}{random_template(rng, depth + 1)}{{%{dash()} endif {end()}%}}")
        elif kind == 4:
            parts.append(f"{{%{dash()} for i in {random_expression(rng, 3)} {end()}%}}{random_template(rng, depth + 1)}"
                         f"{{%{dash()} endfor {end()}%}}")
        else:
            parts.append(f"{{#{rng.choice(['', '-'])} c {rng.choice(['', '-'])}#}}")
        parts.append(space())
    return "".join(parts)


def main():
    program, directory = sys.argv[1], Path(sys.argv[2])
    talks = list(conversations())
    requests, labels = [], []

    def add(label, template, messages, prompt=True):
        labels.append(label)
        requests.append({"template": template, "messages": messages, "add_generation_prompt": prompt,
                         "bos_token": "<s>", "eos_token": "</s>"})

    templates = sorted(directory.glob("*.jinja"))
    assert templates, directory
    for path in templates:
        for messages in talks:
            for prompt in (False, True):
                add("model", path.read_text(), messages, prompt)
    for snippet in SNIPPETS + MULTI_LINE:
        for messages in talks[1:6]:
            add("snippet", snippet, messages)
    for broken in BROKEN:
        add("broken", broken, talks[1])
    for refused in REFUSED:
        add("refused", refused, talks[1])
    rng = random.Random(20240611)
    for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 1000):
        add("random", random_template(rng), rng.choice(talks))

    lines = "".join(json.dumps(request) + "\n" for request in requests)
    answers = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout
    answers = [json.loads(line) for line in answers.split("\n") if line]
    assert len(answers) == len(requests), (len(answers), len(requests))

    failures, compared, refused_count = 0, 0, 0
    for label, request, answer in zip(labels, requests, answers):
        expected = reference(request) if label != "refused" else None
        compared += 1
        if label == "refused":
            needle = REFUSED[request["template"]]
            line = 1 + len(request["template"]) - len(request["template"].lstrip("\n"))
            good = answer.get("code") == UNSUPPORTED and needle in answer["error"] and f"line {line}:" in answer["error"]
        elif label == "random" and answer.get("code") == UNSUPPORTED:
            refused_count += 1  # refusing is always allowed; a random template may ask for anything
            good = True
        else:
            good = answer.get("text") == expected
        if not good:
            failures += 1
            if failures <= 20:
                print(f"{label}: {request['template'][:600]!r}\n  messages {str(request['messages'])[:300]}\n"
                      f"  expected {expected!r:.600}\n  got      {str(answer)[:600]}")
    print(f"{compared} renders compared, {refused_count} random ones refused, {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
