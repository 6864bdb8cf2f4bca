"""Rules about chat templates, based on renderings of conversations of every shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokbench.chat import conversation
from tokbench.chat.rendered import Rendered
from tokbench.core.wording import quoted
from tokbench.lint.findings import Found, Severity
from tokbench.lint.rules import rules_of
from tokbench.lint.template_probe import failures, probes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.lint.target import LintTarget
    from tokbench.lint.template_probe import TemplateProbe

_SHOWN = 60
_GRAVE = {"one exchange": Severity.ERROR, "two exchanges": Severity.ERROR}
_WORDS = {
    "one exchange": (conversation.ASKED, conversation.ANSWERED),
    "two exchanges": (
        conversation.ASKED,
        conversation.ANSWERED,
        conversation.ASKED_AGAIN,
        conversation.ANSWERED_AGAIN,
    ),
    "a system message": (conversation.SYSTEM, conversation.ASKED, conversation.ANSWERED),
    "a call of a tool": (conversation.ARGUMENT, conversation.RESULT),
    "a tool's result without its call": (conversation.RESULT,),
}
"""Shape → the words that its rendering must contain."""

_rule = rules_of("template")


def _subject(probe: TemplateProbe) -> str:
    return f"the chat template {probe.name}"


@_rule(
    name="template-refuses",
    severity=Severity.NOTE,
    breaks="A common kind of conversation causes an error in training or serving.",
    found="Nine kinds of conversations are rendered; a template that cannot render one exchange is an error.",
    remedy="Handle such conversations in the template, or change them before they reach it.",
)
def _refuses(target: LintTarget) -> Iterator[Found]:
    for name, error in failures(target):
        subject = f"the chat template {name}"
        yield Found(subject, error.message.removeprefix(f"{subject}: "), severity=Severity.ERROR)
    for probe in probes(target):
        for shape, made in probe.shapes.items():
            if not isinstance(made, Rendered):
                yield Found(
                    _subject(probe),
                    f"{shape}: {made.message}",
                    severity=_GRAVE.get(shape) if probe.is_general else None,
                    details={"shape": shape},
                )


@_rule(
    name="template-drops",
    severity=Severity.WARNING,
    breaks="The model never sees a given system message, the arguments of a call or the result of a tool.",
    found="The rendered text is searched for words of each message.",
    remedy="Write the message in the template, or refuse it with raise_exception.",
)
def _drops(target: LintTarget) -> Iterator[Found]:
    for probe in probes(target):
        for shape, words in _WORDS.items():
            made = probe.shapes[shape]
            missing = [word for word in words if isinstance(made, Rendered) and word not in made.text]
            if missing:
                yield Found(
                    _subject(probe),
                    f"{shape}: the text lacks {', '.join(map(quoted, missing))}",
                    severity=_GRAVE.get(shape) if probe.is_general else None,
                    details={"shape": shape, "missing": missing},
                )


@_rule(
    name="template-null",
    severity=Severity.ERROR,
    breaks="A tool call has content null, and the model reads and learns to write None.",
    found="A call with content null, which only transformers 5 removes before rendering, is rendered.",
    remedy="Write content only if it is not none.",
)
def _null(target: LintTarget) -> Iterator[Found]:
    for probe in probes(target):
        with_null, with_text = (
            probe.shapes[shape] for shape in ("a call with content null", "a call of a tool")
        )
        if not isinstance(with_null, Rendered) or not isinstance(with_text, Rendered):
            continue
        for word in ("None", "null"):
            if with_null.text.count(word) > with_text.text.count(word):
                writes_calls = conversation.ARGUMENT in with_text.text
                yield Found(
                    _subject(probe),
                    f"it writes {word} for content null" + ("" if writes_calls else ", and omits the call"),
                    severity=None if writes_calls else Severity.WARNING,
                )


@_rule(
    name="template-arguments",
    severity=Severity.WARNING,
    breaks="Arguments given as a JSON string, as in APIs, are escaped twice, and no parser can read them.",
    found="A call with arguments as a string is rendered and searched for its escaped form.",
    remedy="Write arguments that are a string unchanged, or parse them before rendering.",
)
def _arguments(target: LintTarget) -> Iterator[Found]:
    written_twice = json.dumps(f'{{"city": "{conversation.ARGUMENT}"}}')
    for probe in probes(target):
        made = probe.shapes["arguments as a JSON string"]
        if isinstance(made, Rendered) and written_twice in made.text:
            yield Found(_subject(probe), f"arguments as a JSON string become {quoted(written_twice)}")


@_rule(
    name="template-parts",
    severity=Severity.WARNING,
    breaks="Content given as a list of parts, as in APIs, is rendered as the repr of a Python list.",
    found="A message whose content is a single text part is rendered and searched for the part's fields.",
    remedy="Join the texts of the parts in the template, or before rendering.",
)
def _parts(target: LintTarget) -> Iterator[Found]:
    for probe in probes(target):
        made = probe.shapes["content as a list of parts"]
        if isinstance(made, Rendered) and ("'type'" in made.text or '"type"' in made.text):
            at = min(place for quote in "'\"" if (place := made.text.find(f"{quote}type{quote}")) >= 0)
            shown = made.text[max(0, at - 2) : at + _SHOWN]
            yield Found(_subject(probe), f"a list of parts is written as {quoted(shown)}")


@_rule(
    name="template-history",
    severity=Severity.WARNING,
    breaks="The cache of earlier turns cannot be reused, and turns are trained on in a form that is not generated.",
    found="The text of the first k messages must be a prefix of the text of the first k+1, for two exchanges.",
    remedy="Write each message independently of the messages after it.",
)
def _history(target: LintTarget) -> Iterator[Found]:
    for probe in probes(target):
        before: str | None = None
        for count, made in enumerate(probe.beginnings, 1):
            if not isinstance(made, Rendered):
                before = None
                continue
            if before is not None and not made.text.startswith(before):
                at = next(
                    n
                    for n, pair in enumerate(zip(before + "\0", made.text + "\0\0", strict=False))
                    if pair[0] != pair[1]
                )
                yield Found(
                    _subject(probe),
                    f"with message {count - 1} the text of those before it changes from character {at} on: "
                    f"{quoted(before[at : at + _SHOWN])} becomes {quoted(made.text[at : at + _SHOWN])}",
                    details={"messages": count, "character": at},
                )
                break
            before = made.text


@_rule(
    name="template-date",
    severity=Severity.NOTE,
    breaks="The same conversation has different ids tomorrow, and a model learns the dates of its training.",
    found="Whether the template calls strftime_now while conversations are rendered.",
    remedy="Pass the date as a variable, or fix it with --date.",
)
def _dated(target: LintTarget) -> Iterator[Found]:
    for probe in probes(target):
        dated = [shape for shape, made in probe.shapes.items() if isinstance(made, Rendered) and made.dated]
        if dated:
            yield Found(_subject(probe), f"it asks for the date in {dated[0]}", details={"shapes": dated})


@_rule(
    name="template-prompt",
    severity=Severity.WARNING,
    breaks="The model is prompted with ids that never preceded an answer in training.",
    found="The ids of a prompt must be a prefix of the ids of the prompt with its answer.",
    remedy="End the generation prompt where the answer starts, at a token boundary.",
)
def _prompt(target: LintTarget) -> Iterator[Found]:
    for probe in probes(target):
        whole = probe.beginnings[1]
        if not isinstance(probe.prompt, Rendered) or not isinstance(whole, Rendered):
            continue
        if not probe.prompt.ends_with_prompt:
            yield Found(_subject(probe), "add_generation_prompt changes nothing", severity=Severity.NOTE)
        ids, following = probe.ids(probe.prompt, 1), probe.ids(whole, 2)
        if following[: len(ids)] != ids:
            pairs = zip(ids, [*following, None], strict=False)
            at = next((n for n, (one, other) in enumerate(pairs) if one != other), len(following))
            yield Found(
                _subject(probe),
                f"the prompt has {target.named(ids[at])} at place {at}, and with its answer "
                + (target.named(following[at]) if at < len(following) else "nothing"),
                token_ids=(ids[at],),
                details={"place": at},
            )


@_rule(
    name="template-empty-mask",
    severity=Severity.ERROR,
    breaks="Training on the assistant's turns learns nothing.",
    found="One exchange is encoded with its loss mask, from {% generation %} or from the turns that are found.",
    remedy="Put {% generation %} around the assistant's turn, including its end token.",
)
def _empty_mask(target: LintTarget) -> Iterator[Found]:
    for probe in probes(target):
        chat = probe.chat
        if chat is not None and not chat.loss_mask.any():
            blocks = "" if chat.rendered.generated is None else ", despite {% generation %}"
            yield Found(_subject(probe), f"no token of {len(chat)} is learned{blocks}")


@_rule(
    name="template-mask-to-end",
    severity=Severity.WARNING,
    breaks="No token ends the answer, and the model does not learn to stop.",
    found="The last token of one exchange is trained on, and no trained token after the answer is a special token.",
    remedy="End each answer with the token that ends a turn.",
)
def _mask_to_end(target: LintTarget) -> Iterator[Found]:
    for probe in probes(target):
        chat = probe.chat
        if chat is None or not chat.loss_mask.any() or not chat.loss_mask[-1] or probe.ending is not None:
            continue
        written = probe.after_answer
        yield Found(
            _subject(probe),
            "the last token of the text is learned, and no special token ends the answer"
            + (f": {quoted(written)} stands after it" if written else ""),
        )


RULES = (_refuses, _drops, _null, _arguments, _parts, _history, _dated, _prompt, _empty_mask, _mask_to_end)
