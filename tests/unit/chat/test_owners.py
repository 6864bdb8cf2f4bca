"""The template's text between two messages belongs to the message that the built-in templates report."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given, reject
from hypothesis import strategies as st
from support.conversations import conversations, plain_texts

from tokbench.chat.contents import SpecialTokens
from tokbench.chat.formats import named
from tokbench.chat.owners import with_owners
from tokbench.chat.rendered import TEMPLATE, Origin, Rendered, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.chat.conversation import Conversation


@given(conversation=conversations(plain_texts), format=st.sampled_from(["chatml", "llama3", "gemma"]))
def test_template_text_between_messages_belongs_to_a_message(conversation: Conversation, format: str) -> None:
    """This equals what the built-in templates report, including the header of the first message."""
    [told] = named(format).render([conversation])
    if not isinstance(told, Rendered):
        reject()
    without = Rendered.of(
        (told.text[a:b], origin if origin.field is not None else TEMPLATE) for a, b, origin in told.runs
    )
    rendered = with_owners(replace(without, turns=told.turns), specials_of(format), bos=BOS[format])
    is_merged = format == "gemma" and conversation.messages[0]["role"] == "system"  # its header is the user's
    first = next(run.start for run in told.runs if run.origin.field is not None) if is_merged else 0
    assert owners(rendered)[first:] == owners(told)[first:]
    assert [run.origin.field for run in rendered.runs if run.origin.field] == [
        run.origin.field for run in told.runs if run.origin.field
    ]


BOS = {"chatml": None, "llama3": "<|begin_of_text|>", "gemma": "<bos>"}


def specials_of(format: str) -> SpecialTokens:
    return SpecialTokens(named(format).control_tokens)


def owners(rendered: Rendered) -> list[int | None]:
    """Return the message of each character."""
    return [run.origin.message for run in rendered.runs for _ in range(run.start, run.stop)]


def shown(
    parts: Sequence[tuple[str, Origin]], turns: Sequence[tuple[int, str]], bos: str | None
) -> list[str]:
    """Return the text of a template by owner, "-" for none, from turns that are given by hand."""
    drawn = Rendered.of(parts)
    places = [(message, drawn.text.index(text), len(text)) for message, text in turns]
    drawn = replace(drawn, turns=tuple(Turn(m, start, start + size) for m, start, size in places))
    rendered = with_owners(drawn, specials_of("chatml"), bos=bos)
    return [
        f"{'-' if run.origin.message is None else run.origin.message}:{run.text}" for run in _joined(rendered)
    ]


class _Part(NamedTuple):
    origin: Origin
    text: str


def _joined(rendered: Rendered) -> list[_Part]:
    """Join neighbouring runs of the same message."""
    return [
        _Part(Origin(message), "".join(text for _, text in group))
        for message, group in groupby(
            ((run.origin.message, rendered.text[run.start : run.stop]) for run in rendered.runs),
            key=itemgetter(0),
        )
    ]


QUESTION = ("Q", Origin(0, "content"))


def test_first_header_begins_after_the_templates_preamble() -> None:
    end = ("<|im_end|>\n", TEMPLATE)
    turn = [(0, "Q<|im_end|>")]
    header = ("<|im_start|>user\n", TEMPLATE)
    assert shown([header, QUESTION, end], turn, None) == ["0:<|im_start|>user\nQ<|im_end|>\n"]
    assert shown([("<s>", TEMPLATE), header, QUESTION, end], turn, "<s>") == [
        "-:<s>",
        "0:<|im_start|>user\nQ<|im_end|>\n",
    ]
    default = ("<|im_start|>system\nBe kind.<|im_end|>\n", TEMPLATE)
    assert shown([default, header, QUESTION, end], turn, None) == [
        "-:<|im_start|>system\nBe kind.<|im_end|>\n",
        "0:<|im_start|>user\nQ<|im_end|>\n",
    ]
    tools = [("<|im_start|>", TEMPLATE), ("f", Origin(None, "tools[0].name")), ("]<|im_end|>", TEMPLATE)]
    assert shown([*tools, header, QUESTION], [], None) == [
        "-:<|im_start|>f]<|im_end|>",
        "0:<|im_start|>user\nQ",
    ]


def test_list_of_tools_after_a_message_belongs_to_that_message() -> None:
    said = [("<|im_start|>system\n", TEMPLATE), ("S", Origin(0, "content"))]
    tools = [("\n# Tools\n", TEMPLATE), ("<|im_end|>f", Origin(None, "tools[0].name"))]
    end, header = ("\n</tools><|im_end|>\n", TEMPLATE), ("<|im_start|>user\n", TEMPLATE)
    parts = [*said, *tools, end, header, ("Q", Origin(1, "content")), ("<|im_end|>\n", TEMPLATE)]
    assert shown(parts, [(0, "S"), (1, "Q<|im_end|>")], None) == [
        "0:<|im_start|>system\nS\n# Tools\n",
        "-:<|im_end|>f",
        "0:\n</tools><|im_end|>\n",
        "1:<|im_start|>user\nQ<|im_end|>\n",
    ]


def test_token_that_ends_turns_belongs_to_the_message_before_it() -> None:
    """A turn may have ended before, with another special token."""
    parts = [("<|im_start|>tool\n", TEMPLATE), QUESTION, ("</tool_response><|im_end|>\n", TEMPLATE)]
    header, second = ("<|im_start|>assistant\n", TEMPLATE), ("<|im_end|>R", Origin(1, "content"))
    turns = [(0, "Q</tool_response>"), (1, "<|im_end|>R<|im_end|>")]
    assert shown([*parts, header, second, ("<|im_end|>\n", TEMPLATE)], turns, None) == [
        "0:<|im_start|>tool\nQ</tool_response><|im_end|>\n",
        "1:<|im_start|>assistant\n<|im_end|>R<|im_end|>\n",
    ]


def test_token_right_before_a_message_is_its_header() -> None:
    """Some templates have no token that ends a turn, and the search takes the header of the next one."""
    parts = [("S", Origin(0, "content")), ("<|user|>\n", TEMPLATE), ("Q", Origin(1, "content"))]
    reply = [("<|assistant|>\n", TEMPLATE), ("A", Origin(2, "content")), ("<|user|>\n", TEMPLATE)]
    drawn = Rendered.of([*parts, *reply, ("R", Origin(3, "content"))])
    turns = (Turn(0, 0, 1), Turn(1, 10, 11), Turn(2, 25, 35), Turn(3, 36, 37))
    rendered = with_owners(replace(drawn, turns=turns), SpecialTokens(["<|user|>"]))
    assert [part.text for part in _joined(rendered)] == [
        "S", "<|user|>\nQ", "<|assistant|>\nA<|user|>\n", "R",
    ]  # fmt: skip


def test_bos_that_also_begins_messages_belongs_to_the_message() -> None:
    header, end = ("<|im_start|>user\n", TEMPLATE), ("<|im_end|>\n", TEMPLATE)
    second = ("R", Origin(1, "content"))
    parts = [header, QUESTION, end, header, second, end]
    turns = [(0, "Q<|im_end|>"), (1, "R<|im_end|>")]
    assert shown(parts, turns, "<|im_start|>")[0] == "0:<|im_start|>user\nQ<|im_end|>\n"


def test_bos_inside_content_changes_no_owner() -> None:
    header, end = ("<|im_start|>user\n", TEMPLATE), ("<|im_end|>\n", TEMPLATE)
    typed = ("<s>Q", Origin(0, "content"))
    assert shown([("<s>", TEMPLATE), header, typed, end], [(0, "<s>Q<|im_end|>")], "<s>")[0] == "-:<s>"


def test_text_of_a_token_at_the_end_of_content_ends_no_turns() -> None:
    """A content that ends with the token at the beginning of the text does not move the first header."""
    parts = [("<|a|><|b|>", TEMPLATE), ("A<|a|>", Origin(0, "content")), ("<|b|>", TEMPLATE)]
    drawn = Rendered.of([*parts, ("B", Origin(1, "content"))])
    rendered = with_owners(
        replace(drawn, turns=(Turn(0, 10, 16), Turn(1, 21, 22))), SpecialTokens(["<|a|>", "<|b|>"])
    )
    assert [part.text for part in _joined(rendered)] == ["<|a|><|b|>A<|a|>", "<|b|>B"]


def test_header_after_a_list_of_tools_belongs_to_its_message() -> None:
    tools = [("<|system|>\n", TEMPLATE), ("f", Origin(None, "tools[0].name"))]
    header = ("\n</tools>\n<|user|>\n", TEMPLATE)
    rendered = with_owners(Rendered.of([*tools, header, QUESTION]), SpecialTokens(["<|system|>", "<|user|>"]))
    assert [part.text for part in _joined(rendered)] == ["<|system|>\nf\n</tools>\n", "<|user|>\nQ"]
