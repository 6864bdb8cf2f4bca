"""Traced strings: the text equals that of `str`, and the origins are those of the definition."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.chat.jinja import reference
from tokbench.chat.jinja.reference import Character, Characters, characters, text_of
from tokbench.chat.jinja.runs import gather, spread
from tokbench.chat.jinja.traced import Traced, concat
from tokbench.chat.rendered import COMPUTED, TEMPLATE, Origin

if TYPE_CHECKING:
    from collections.abc import Callable

ORIGINS = [TEMPLATE, Origin(0, "content"), Origin(0, "name"), COMPUTED]

ALPHABET = "ab AB\t\n\r\v\x1c\x85\u2028<|>-+0%{}" + "ßŉİǅΣσςﬃΐ\u0345ʼ1É"
"""Letters that become several in another case, white space of every kind, and special characters of formats."""

strings = st.lists(
    st.builds(Character, st.sampled_from(ALPHABET) | st.characters(), st.sampled_from(ORIGINS)), max_size=12
)
uniform_strings = st.builds(
    lambda text, origin: characters(text, [origin] * len(text)),
    st.text("aßŉİﬃ", min_size=1, max_size=4),
    st.sampled_from(ORIGINS),
)
short = st.text(st.sampled_from("ab <\n\rß\t"), max_size=2)
separators = st.text(st.sampled_from("ab <\n\rß\t"), min_size=1, max_size=2)
counts = st.integers(-1, 3)
widths = st.integers(-1, 20)


def traced(string: Characters) -> Traced:
    return Traced(text_of(string), gather(character.origin for character in string))


def pairs(string: str) -> Characters:
    """Return the characters of a string with the origins that it reports."""
    assert isinstance(string, Traced)
    lengths = string.runs_of_origins()
    assert all(length > 0 for length, _ in lengths)
    assert all(one[1] != other[1] for one, other in pairwise(lengths))
    origins = spread(lengths)
    assert len(origins) == len(string)
    return characters(str.__str__(string), origins)


CASES: dict[str, Callable[[Characters], Characters]] = {
    "upper": lambda string: reference.change(string, str.upper),
    "lower": lambda string: reference.change(string, str.lower),
    "casefold": lambda string: reference.change(string, str.casefold),
    "swapcase": lambda string: reference.change(string, str.swapcase),
    "title": reference.title,
    "capitalize": reference.capitalize,
}


@pytest.mark.parametrize("name", CASES)
@given(string=strings | uniform_strings)
def test_case_methods_equal_their_definition(name: str, string: Characters):
    result = getattr(traced(string), name)()
    assert result == getattr(text_of(string), name)()
    assert pairs(result) == CASES[name](string)


@given(string=strings)
def test_iteration_and_concatenation_keep_the_origins(string: Characters):
    assert pairs(str(traced(string))) == string
    assert pairs(concat(traced(string))) == string
    assert [pairs(character) for character in traced(string)] == [[character] for character in string]


@given(
    string=strings,
    start=st.none() | widths,
    stop=st.none() | widths,
    step=st.sampled_from([None, 1, 2, -1, -2]),
)
def test_slices_keep_the_origins(string: Characters, start: int | None, stop: int | None, step: int | None):
    assert pairs(traced(string)[start:stop:step]) == string[start:stop:step]


@given(string=strings, index=st.integers(-13, 13))
def test_indexing_keeps_the_origin(string: Characters, index: int):
    try:
        expected = string[index]
    except IndexError:
        with pytest.raises(IndexError):
            traced(string)[index]
    else:
        assert pairs(traced(string)[index]) == [expected]


@given(one=strings, other=strings, plain=short, times=counts)
def test_addition_and_multiplication_keep_the_origins(
    one: Characters, other: Characters, plain: str, times: int
):
    assert pairs(traced(one) + traced(other)) == one + other
    assert pairs(traced(one) + plain) == one + characters(plain)
    assert pairs(plain + traced(one)) == characters(plain) + one
    assert pairs(traced(one) * times) == pairs(times * traced(one)) == one * times


@given(separator=strings, parts=st.lists(strings, max_size=4))
def test_join_equals_its_definition(separator: Characters, parts: list[Characters]):
    assert pairs(traced(separator).join(map(traced, parts))) == reference.join(separator, parts)
    assert pairs(concat(map(traced, parts))) == list(chain.from_iterable(parts))


@given(string=strings, old=short, new=strings, count=counts)
def test_replace_equals_its_definition(string: Characters, old: str, new: Characters, count: int):
    result = traced(string).replace(old, traced(new), count)
    assert result == text_of(string).replace(old, text_of(new), count)
    assert pairs(result) == reference.replace(string, old, new, count)


@given(string=strings, chars=st.none() | short)
def test_strip_equals_its_definition(string: Characters, chars: str | None):
    assert pairs(traced(string).strip(chars)) == reference.strip(string, chars)
    assert pairs(traced(string).lstrip(chars)) == reference.strip(string, chars, right=False)
    assert pairs(traced(string).rstrip(chars)) == reference.strip(string, chars, left=False)


@given(string=strings, part=short)
def test_prefix_and_suffix_removal_keep_the_origins(string: Characters, part: str):
    text = text_of(string)
    assert pairs(traced(string).removeprefix(part)) == string[len(text) - len(text.removeprefix(part)) :]
    assert pairs(traced(string).removesuffix(part)) == string[: len(text.removesuffix(part))]


@given(string=strings, separator=separators, count=counts)
def test_split_equals_its_definition(string: Characters, separator: str, count: int):
    text = text_of(string)
    for result, expected, defined in (
        (traced(string).split(separator, count), text.split(separator, count),
         reference.split(string, separator, count)),
        (traced(string).split(maxsplit=count), text.split(None, count), reference.words(string, count)),
        (traced(string).rsplit(separator, count), text.rsplit(separator, count),
         reference.reverse_split(string, separator, count)),
        (traced(string).rsplit(None, count), text.rsplit(None, count),
         reference.reverse_split(string, None, count)),
    ):  # fmt: skip
        assert result == expected
        assert list(map(pairs, result)) == defined


@pytest.mark.parametrize("keepends", [False, True])
@given(string=strings)
def test_splitlines_equals_its_definition(keepends: bool, string: Characters):
    result = traced(string).splitlines(keepends)
    assert result == text_of(string).splitlines(keepends)
    assert list(map(pairs, result)) == reference.splitlines(string, keepends=keepends)


@given(string=strings, separator=separators)
def test_partition_equals_its_definition(string: Characters, separator: str):
    text = text_of(string)
    assert traced(string).partition(separator) == text.partition(separator)
    assert tuple(map(pairs, traced(string).partition(separator))) == reference.partition(string, separator)
    assert traced(string).rpartition(separator) == text.rpartition(separator)
    assert tuple(map(pairs, traced(string).rpartition(separator))) == reference.reverse_partition(
        string, separator
    )


@given(string=strings, width=widths)
def test_expandtabs_and_zfill_equal_their_definition(string: Characters, width: int):
    assert traced(string).expandtabs(width) == text_of(string).expandtabs(width)
    assert pairs(traced(string).expandtabs(width)) == reference.expandtabs(string, width)
    assert traced(string).zfill(width) == text_of(string).zfill(width)
    assert pairs(traced(string).zfill(width)) == reference.zfill(string, width)


@given(string=strings, width=widths, origin=st.sampled_from(ORIGINS))
def test_padding_has_the_origin_of_its_fill(string: Characters, width: int, origin: Origin):
    text = text_of(string)
    fill = Character("*", origin)
    missing = max(width - len(string), 0)
    for result, expected, left in (
        (traced(string).ljust(width, Traced("*", origin)), text.ljust(width, "*"), 0),
        (traced(string).rjust(width, Traced("*", origin)), text.rjust(width, "*"), missing),
        (
            traced(string).center(width, Traced("*", origin)),
            text.center(width, "*"),
            missing // 2
            + (missing & width & 1),  # Python puts an odd remainder to the left if the width is odd
        ),
    ):
        assert result == expected
        assert pairs(result) == reference.pad(string, left, missing - left, fill)
    assert pairs(traced(string).ljust(width)) == reference.pad(string, 0, missing, Character(" ", COMPUTED))


@given(string=strings, table=st.dictionaries(st.sampled_from("ab<ß"), st.none() | short))
def test_translate_equals_its_definition(string: Characters, table: dict[str, str | None]):
    by_number = str.maketrans(table)
    assert traced(string).translate(by_number) == text_of(string).translate(by_number)
    assert pairs(traced(string).translate(by_number)) == reference.translate(string, by_number)


@given(template=strings, value=strings, number=st.integers(-99, 99))
def test_percent_formatting_keeps_origins_or_is_computed(
    template: Characters, value: Characters, number: int
):
    """A plain %s keeps the origins of its value; other directives make the result computed, never the template's."""
    template = [character for character in template if character.text != "%"]
    result = traced([*template, *characters("%s", [TEMPLATE] * 2), *template]) % (traced(value),)
    assert pairs(result) == template + value + template
    padded = traced(characters("%14s|%03d", [TEMPLATE] * 9)) % (traced(value), number)
    assert padded == "%14s|%03d" % (text_of(value), number)  # noqa: UP031
    assert {origin for _, origin in pairs(padded)[:14]} == {COMPUTED}


@given(template=strings, value=strings)
def test_format_keeps_origins_or_is_computed(template: Characters, value: Characters):
    template = [character for character in template if character.text not in "{}"]
    field = characters("{}", [TEMPLATE] * 2)
    named = characters("{a!s:}", [TEMPLATE] * 6)
    braces = characters("{{}}", [TEMPLATE] * 4)
    expected = template + value + characters("{}", [TEMPLATE] * 2) + template + value
    result = traced(template + field + braces + template + named).format(traced(value), a=traced(value))
    assert pairs(result) == expected


@given(template=st.text(ALPHABET + "%sdr(a)*.5{}!:[]", max_size=12), value=strings)
def test_formatting_fails_as_that_of_str(template: str, value: Characters):
    """Formats that succeed give the same text."""
    for method in (str.__mod__, lambda s, v: s.format(v)):
        results: list[Any] = []
        for string, argument in ((template, text_of(value)), (Traced(template, TEMPLATE), traced(value))):
            try:
                results.append(method(string, argument) if method is not str.__mod__ else string % argument)
            except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
                results.append(type(error))
        assert results[0] == results[1]


def test_complicated_formats_are_computed():
    result = Traced("<%(a(b))s>", TEMPLATE) % {"a(b)": "x"}
    assert result == "<x>"
    assert result.runs_of_origins() == ((3, COMPUTED),)


@given(string=strings)
def test_equality_hash_and_order_are_those_of_the_text(string: Characters):
    text = text_of(string)
    assert traced(string) == text
    assert {text: 1}[traced(string)] == {traced(string): 1}[text] == 1
    assert hash(traced(string)) == hash(text)
    assert (traced(string) < "a") == (text < "a")
    assert repr([traced(string)]) == repr([text])


def test_every_string_method_is_overridden():
    """Each method is either defined here or returns no text; a missing one would return ordinary strings."""
    without_text = {
        "encode",
        "endswith",
        "startswith",
        "find",
        "rfind",
        "index",
        "rindex",
        "count",
        "maketrans",
    }
    methods = {name for name in dir(str) if not name.startswith(("_", "is"))}
    assert methods - without_text <= set(vars(Traced))
