"""Templates, truncation and padding in a `tokenizer.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.core.descriptions import Padding, PostProcessing, Template, TemplatePart, Truncation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_STRATEGIES = ("LongestFirst", "OnlyFirst", "OnlySecond")
_DIRECTIONS = ("Left", "Right")
_MAX_LENGTH = 1 << 62
_MAX_PADDING = 1 << 20


class UnknownPostProcessingError(Exception):
    """The reason why a file's post-processing cannot be described."""


def parse_post_processing(document: Mapping[str, Any]) -> PostProcessing:
    """Parse the post-processing of a `tokenizer.json`.

    Args:
        document: the parsed file; missing parts do nothing.

    Raises:
        UnknownPostProcessingError: it does more than a template, truncation and padding can describe.

    >>> parse_post_processing({"post_processor": {"type": "BertProcessing", "cls": ["C", 1], "sep": ["S", 2]}})
    ... # doctest: +ELLIPSIS
    PostProcessing(template=Template(single=(TemplatePart(text=None, tokens=('C',), ids=(1,), type_id=0), ...
    """
    template: Template | None = None
    trims, keeps_first = False, False
    for step in _steps(document.get("post_processor")):
        kind = step.get("type")
        if kind in ("ByteLevel", "RobertaProcessing") and bool(step.get("trim_offsets", True)):
            trims, keeps_first = True, bool(step.get("add_prefix_space", True))
        if kind == "ByteLevel":
            continue
        if template is not None:
            raise UnknownPostProcessingError("it writes two templates around a text")
        template = _template(step)
    return PostProcessing(
        template=template,
        truncation=_truncation(document.get("truncation")),
        padding=_padding(document.get("padding")),
        trims_offsets=trims,
        keeps_first_space=keeps_first,
    )


def dump_post_processing(post_processing: PostProcessing) -> dict[str, Any]:
    """Return the parts of a `tokenizer.json` for a post-processing: truncation, padding and post_processor.

    >>> dump_post_processing(PostProcessing())
    {'truncation': None, 'padding': None, 'post_processor': None}
    """
    steps: list[dict[str, Any]] = []
    if post_processing.trims_offsets:
        steps.append(
            {
                "type": "ByteLevel",
                "add_prefix_space": post_processing.keeps_first_space,
                "trim_offsets": True,
                "use_regex": False,
            }
        )
    if post_processing.template is not None:
        steps.append(_dumped_template(post_processing.template))
    processor = {"type": "Sequence", "processors": steps} if len(steps) > 1 else next(iter(steps), None)
    return {
        "truncation": _dumped_truncation(post_processing.truncation),
        "padding": _dumped_padding(post_processing.padding),
        "post_processor": processor,
    }


def spelled_template(parts: Iterable[TemplatePart]) -> str:
    """Return a template as one line, in the notation of `tokenizers`.

    >>> spelled_template([TemplatePart(None, ("[CLS]",), (101,)), TemplatePart(0)])
    '[CLS] $A'
    """
    return " ".join(" ".join(part.tokens) if part.text is None else f"${'AB'[part.text]}" for part in parts)


# --- templates --------------------------------------------------------------------------------


def _steps(processor: object) -> list[Mapping[str, Any]]:
    """Return the processors as a flat list, resolving nested sequences."""
    if processor is None:
        return []
    if not isinstance(processor, dict):
        raise UnknownPostProcessingError("its post-processor is not an object")
    if processor.get("type") != "Sequence":
        return [processor]
    listed = processor.get("processors")
    return [step for inner in listed for step in _steps(inner)] if isinstance(listed, list) else []


def _template(step: Mapping[str, Any]) -> Template:
    match step.get("type"):
        case "TemplateProcessing":
            special = step.get("special_tokens")
            named = special if isinstance(special, dict) else {}
            template = Template(_listed(step.get("single"), named), _listed(step.get("pair"), named))
            if any(part.text == 1 for part in template.single):
                raise UnknownPostProcessingError("its template for one text has the second text in it")
            return template
        case "BertProcessing":
            cls, sep = _token(step.get("cls")), _token(step.get("sep"))
            first = (cls, TemplatePart(0), sep)
            second = (TemplatePart(1, type_id=1), TemplatePart(None, sep.tokens, sep.ids, 1))
            return Template(first, (*first, *second))
        case "RobertaProcessing":
            cls, sep = _token(step.get("cls")), _token(step.get("sep"))
            first = (cls, TemplatePart(0), sep)
            return Template(first, (*first, sep, TemplatePart(1), sep))
        case kind:
            raise UnknownPostProcessingError(f"its post-processor is {kind}")


def _listed(parts: object, special: Mapping[str, Any]) -> tuple[TemplatePart, ...]:
    if not isinstance(parts, list):
        raise UnknownPostProcessingError("its template is not a list of parts")
    return tuple(_part(part, special) for part in parts)


def _part(part: object, special: Mapping[str, Any]) -> TemplatePart:
    match part:
        case {"Sequence": {"id": "A" | "B" as name, "type_id": int(type_id)}}:
            return TemplatePart("AB".index(name), type_id=type_id)
        case {"SpecialToken": {"id": str(name), "type_id": int(type_id)}}:
            match special.get(name):
                case {"ids": [*ids], "tokens": [*tokens]} if len(ids) == len(tokens) > 0:
                    if all(type(id) is int for id in ids) and all(isinstance(text, str) for text in tokens):
                        return TemplatePart(None, tuple(tokens), tuple(ids), type_id)
    raise UnknownPostProcessingError("its template has a part that is neither a text nor a special token")


def _token(value: object) -> TemplatePart:
    match value:
        case [str(text), int(id)]:
            return TemplatePart(None, (text,), (id,))
    raise UnknownPostProcessingError("its post-processor names a token without an id")


def _dumped_template(template: Template) -> dict[str, Any]:
    special: dict[str, Any] = {}
    for part in (*template.single, *template.pair):
        if part.text is None:
            name = " ".join(part.tokens)
            special[name] = {"id": name, "ids": list(part.ids), "tokens": list(part.tokens)}
    return {
        "type": "TemplateProcessing",
        "single": _dumped_parts(template.single),
        "pair": _dumped_parts(template.pair),
        "special_tokens": special,
    }


def _dumped_parts(parts: Sequence[TemplatePart]) -> list[dict[str, Any]]:
    return [
        {"SpecialToken": {"id": " ".join(part.tokens), "type_id": part.type_id}}
        if part.text is None
        else {"Sequence": {"id": "AB"[part.text], "type_id": part.type_id}}
        for part in parts
    ]


# --- truncation and padding -------------------------------------------------------------------


def _truncation(value: object) -> Truncation | None:
    match value:
        case None:
            return None
        case {"max_length": int(length), "strategy": str(strategy), "stride": int(stride), **rest} if (
            0 <= length < _MAX_LENGTH and strategy in _STRATEGIES and stride >= 0
        ):
            direction = _direction(rest.get("direction", "Right"))
            return Truncation(max_length=length, strategy=strategy, stride=stride, direction=direction)
    raise UnknownPostProcessingError("it has an unknown kind of truncation")


def _padding(value: object) -> Padding | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise UnknownPostProcessingError("it has an unknown kind of padding")
    match value.get("strategy"):
        case "BatchLongest":
            length = None
        case {"Fixed": int(fixed)} if 0 <= fixed < _MAX_PADDING:
            length = fixed
        case _:
            raise UnknownPostProcessingError("it has an unknown kind of padding")
    multiple, token = value.get("pad_to_multiple_of"), value.get("pad_token")
    numbers: list[Any] = [value.get("pad_id"), value.get("pad_type_id"), 0 if multiple is None else multiple]
    if not isinstance(token, str) or not all(type(number) is int and number >= 0 for number in numbers):
        raise UnknownPostProcessingError("it has an unknown kind of padding")
    return Padding(
        length=length,
        multiple=multiple,
        direction=_direction(value.get("direction")),
        pad_id=numbers[0],
        pad_type_id=numbers[1],
        pad_token=token,
    )


def _direction(value: object) -> str:
    if value not in _DIRECTIONS:
        raise UnknownPostProcessingError(
            f"it truncates or pads on the side {value!r}, which is neither left nor right"
        )
    return str(value)


def _dumped_truncation(truncation: Truncation | None) -> dict[str, Any] | None:
    if truncation is None:
        return None
    return {
        "direction": truncation.direction,
        "max_length": truncation.max_length,
        "strategy": truncation.strategy,
        "stride": truncation.stride,
    }


def _dumped_padding(padding: Padding | None) -> dict[str, Any] | None:
    if padding is None:
        return None
    return {
        "strategy": "BatchLongest" if padding.length is None else {"Fixed": padding.length},
        "direction": padding.direction,
        "pad_to_multiple_of": padding.multiple,
        "pad_id": padding.pad_id,
        "pad_type_id": padding.pad_type_id,
        "pad_token": padding.pad_token,
    }
