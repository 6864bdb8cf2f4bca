"""Rendered conversations: their origins cover the whole text."""

from __future__ import annotations

import pytest

from tokbench.chat.rendered import COMPUTED, TEMPLATE, Origin, Rendered, Run, Runs


def test_adjacent_parts_of_one_origin_are_one_run():
    rendered = Rendered.of(
        [("<a>", TEMPLATE), ("", COMPUTED), ("<b>", TEMPLATE), ("x", Origin(0, "content"))]
    )
    assert rendered.text == "<a><b>x"
    assert list(rendered.runs) == [Run(0, 6, TEMPLATE), Run(6, 7, Origin(0, "content"))]


@pytest.mark.parametrize("runs", [(), (Run(0, 1, TEMPLATE),), (Run(0, 1, TEMPLATE), Run(2, 3, TEMPLATE))])
def test_runs_with_gaps_are_refused(runs):
    with pytest.raises(ValueError, match=r"do not (cover|adjoin)"):
        Rendered("abc", Runs.of(runs))


def test_runs_behave_like_a_list():
    listed = [Run(0, 2, TEMPLATE), Run(2, 3, Origin(0, "content")), Run(3, 7, Origin(0))]
    runs = Runs.of(listed)
    assert list(runs) == listed
    assert [runs[index] for index in range(-3, 3)] == listed * 2
    for part in (slice(1), slice(1, None), slice(-1, None), slice(None, None, -1), slice(5, 9)):
        assert runs[part] == listed[part]
    for index in (3, -4):
        with pytest.raises(IndexError):
            runs[index]
    assert runs == Runs.of(listed)
    assert runs != Runs.of(listed[:2])
    assert (list(Runs((), (), 0)), Runs((), (), 0)[:]) == ([], [])


def test_only_template_text_may_become_control_tokens():
    assert TEMPLATE.is_template
    assert Origin(3).is_template
    assert not COMPUTED.is_template
    assert not Origin(0, "content").is_template
