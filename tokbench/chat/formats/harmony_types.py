"""Tools in harmony's notation: a namespace of functions with types similar to TypeScript's.

Source: OpenAI, openai-harmony 0.0.8, `json_schema_to_typescript` and `template_tools_section` in `src/encoding.rs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.chat.formats.fields import checked, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_SIMPLE = {"number": "number", "integer": "number", "boolean": "boolean", "array": "Array<any>"}


class Part(NamedTuple):
    """A text and the path of its value; None for the format's own text."""

    text: str
    path: str | None = None


class Function(NamedTuple):
    """A function that the model may call.

    Attributes:
        name: name of the function.
        description: its description; the lines become comments.
        parameters: a JSON schema, or None.
        path: path such as `tools[0].function`; None if it is the format's own.
    """

    name: str
    description: str
    parameters: Any
    path: str | None


class Namespace(NamedTuple):
    """Functions under a common name; without functions only the description is shown."""

    name: str
    description: str
    functions: Sequence[Function]


def functions_of(tools: Sequence[Mapping[str, Any]]) -> list[Function]:
    """Convert the tools of a conversation.

    Raises:
        TemplateError: a tool is not a function with a name.
    """
    functions = []
    for place, tool in enumerate(tools):
        path = f"tools[{place}].function"
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise refuse(path, "expected an object with a name")
        description = checked(function.get("description"), str | None, "a string", f"{path}.description")
        parameters = checked(function.get("parameters"), Mapping | None, "an object", f"{path}.parameters")
        functions.append(Function(function["name"], description or "", parameters, path))
    return functions


def tools_section(namespaces: Iterable[Namespace]) -> list[Part]:
    """Return the section of a message that describes tools."""
    parts = [Part("# Tools")]
    for namespace in namespaces:
        parts.append(Part(f"\n\n## {namespace.name}\n"))
        comment = "// " if namespace.functions else ""
        parts += [Part(f"\n{comment}{line}") for line in _lines(namespace.description)]
        if namespace.functions:
            parts.append(Part(f"\nnamespace {namespace.name} {{\n"))
            for function in namespace.functions:
                parts += _function(function)
            parts.append(Part(f"\n}} // namespace {namespace.name}"))
    return parts


def _lines(text: str) -> list[str]:
    """Split a text into lines as Rust's `lines` does: a final line end adds no empty line."""
    lines = text.split("\n")
    ended = lines[:-1] if lines[-1] == "" else lines
    last = len(ended) if lines[-1] == "" else len(ended) - 1
    return [line.removesuffix("\r") if place < last else line for place, line in enumerate(ended)]


def _inside(path: str | None, key: str) -> str | None:
    return None if path is None else f"{path}.{key}"


def _function(function: Function) -> Iterator[Part]:
    path = function.path
    for line in _lines(function.description):
        yield Part("\n// ")
        yield Part(line, _inside(path, "description"))
    yield Part("\ntype ")
    yield Part(function.name, _inside(path, "name"))
    if function.parameters is None:
        yield Part(" = () => any;\n")
    else:
        yield Part(" = (_: ")
        yield from type_of(function.parameters, _inside(path, "parameters"), "")
        yield Part(") => any;\n")


def type_of(schema: Any, path: str | None, indent: str) -> list[Part]:
    """Return the type that a JSON schema describes.

    Args:
        schema: schema of a value; anything but an object gives `any`.
        path: path of the schema; None if it is the format's own.
        indent: indentation of the lines after the first.

    >>> "".join(part.text for part in type_of({"type": "array", "items": {"type": "integer"}}, None, ""))
    'number[]'
    """
    if not isinstance(schema, Mapping):
        return [Part("any")]
    variants, kind = schema.get("oneOf"), schema.get("type")
    if isinstance(variants, list | tuple):
        return _union(variants, path, indent)
    if isinstance(kind, list | tuple) and any(isinstance(name, str) for name in kind):
        names = ["number" if name == "integer" else name for name in kind if isinstance(name, str)]
        return [Part(" | ".join(names), _inside(path, "type"))]
    return _single(schema, kind, path, indent)


def _single(schema: Mapping[str, Any], kind: Any, path: str | None, indent: str) -> list[Part]:
    """Return the type of a schema with a single type."""
    if kind == "object":
        return list(_object(schema, path, indent))
    if kind == "string":
        return _string(schema, path)
    if kind == "array" and "items" in schema:
        return [*type_of(schema["items"], _inside(path, "items"), indent), Part("[]")]
    return [Part(_SIMPLE.get(kind, "any") if isinstance(kind, str) else "any")]


def _string(schema: Mapping[str, Any], path: str | None) -> list[Part]:
    values = schema.get("enum")
    texts = [text for text in values if isinstance(text, str)] if isinstance(values, list | tuple) else []
    if not texts:
        return [Part("string")]
    return [Part(" | ".join(f'"{text}"' for text in texts), _inside(path, "enum"))]


def _nullable(schema: Any, parts: list[Part]) -> list[Part]:
    """Add `| null` if the schema is nullable and its type does not include null."""
    if (
        isinstance(schema, Mapping)
        and schema.get("nullable") is True
        and not any("null" in part.text for part in parts)
    ):
        return [*parts, Part(" | null")]
    return parts


def _text(schema: Any, key: str) -> str | None:
    value = schema.get(key) if isinstance(schema, Mapping) else None
    return value if isinstance(value, str) else None


def _default(schema: Any, path: str | None, *, in_quotes: bool) -> list[Part]:
    """Return the default of a schema: texts are quoted, except enum values unless `in_quotes` is set."""
    if not isinstance(schema, Mapping) or "default" not in schema:
        return []
    value = schema["default"]
    shown = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    if isinstance(value, str):
        is_enumerated = isinstance(schema.get("enum"), list | tuple) and len(schema["enum"]) > 0
        if not is_enumerated:
            shown = f'"{value}"'
        elif not in_quotes:
            shown = value
    return [Part("default: "), Part(shown, _inside(path, "default"))]


def _trailing(comments: Sequence[list[Part]]) -> Iterator[Part]:
    """Yield comments to follow a type."""
    before = " // "
    for comment in comments:
        if comment:
            yield Part(before)
            yield from comment
            before = " "


def _union(variants: Sequence[Any], path: str | None, indent: str) -> list[Part]:
    """Return a union of types, one per line."""
    parts: list[Part] = []
    for place, variant in enumerate(variants):
        inside = _inside(path, f"oneOf[{place}]")
        parts.append(Part(f"\n{indent} | "))
        parts += _nullable(variant, type_of(variant, inside, f"{indent}   "))
        said = _text(variant, "description")
        description = [] if said is None else [Part(said, _inside(inside, "description"))]
        parts += _trailing([description, _default(variant, inside, in_quotes=True)])
    return parts


def _object(schema: Mapping[str, Any], path: str | None, indent: str) -> Iterator[Part]:
    yield from _comment(schema, path, "description", indent)
    yield Part("{\n")
    properties, listed = schema.get("properties"), schema.get("required")
    required = set(map(str, listed)) if isinstance(listed, list | tuple) else set()
    for name, value in properties.items() if isinstance(properties, Mapping) else ():
        inside = _inside(path, f"properties.{name}")
        if isinstance(value, Mapping):
            yield from _notes(value, inside, indent)
        mark = "" if name in required else "?"
        if isinstance(value, Mapping) and isinstance(value.get("oneOf"), list | tuple):
            yield from _union_notes(value, inside, indent)
            yield Part(indent)
            yield Part(str(name), _inside(path, "properties"))
            yield Part(f"{mark}:\n")
            yield from _union_property(value, inside, indent)
        else:
            yield Part(indent)
            yield Part(str(name), _inside(path, "properties"))
            yield Part(f"{mark}: ")
            yield from _nullable(value, type_of(value, inside, f"{indent}    "))
            yield Part(",")
            if isinstance(value, Mapping) and "oneOf" not in value:
                yield from _trailing([_default(value, inside, in_quotes=False)])
            yield Part("\n")
    yield Part(f"{indent}}}")


def _comment(
    schema: Mapping[str, Any], path: str | None, key: str, indent: str, end: str = "\n"
) -> Iterator[Part]:
    """Yield a comment line with a text of the schema, if it has one."""
    text = _text(schema, key)
    if text is not None:
        yield Part(f"{indent}// ")
        yield Part(text, _inside(path, key))
        yield Part(end)


def _notes(schema: Mapping[str, Any], path: str | None, indent: str) -> Iterator[Part]:
    """Yield the comments above a property."""
    yield from _comment(schema, path, "title", indent, f"\n{indent}//\n")
    if "oneOf" not in schema:
        yield from _comment(schema, path, "description", indent)
    examples = schema.get("examples")
    if isinstance(examples, list | tuple) and examples:
        yield Part(f"{indent}// Examples:\n")
        for place, example in enumerate(examples):
            if isinstance(example, str):
                yield Part(f'{indent}// - "')
                yield Part(example, _inside(path, f"examples[{place}]"))
                yield Part('"\n')


def _is_said_above(schema: Mapping[str, Any]) -> bool:
    """Whether the description of a union stands above it, as its first type does not have the same description."""
    text = _text(schema, "description")
    variants = schema["oneOf"]
    return text is not None and not (variants and _text(variants[0], "description") == text)


def _union_notes(schema: Mapping[str, Any], path: str | None, indent: str) -> Iterator[Part]:
    if _is_said_above(schema):
        yield from _comment(schema, path, "description", indent)
    default = _default(schema, path, in_quotes=False)
    if default:
        yield Part(f"{indent}// ")
        yield from default
        yield Part("\n")


def _union_property(schema: Mapping[str, Any], path: str | None, indent: str) -> Iterator[Part]:
    said_above = _is_said_above(schema)
    description = _text(schema, "description")
    for place, variant in enumerate(schema["oneOf"]):
        inside = _inside(path, f"oneOf[{place}]")
        yield Part(f"{indent} | ")
        yield from _nullable(variant, type_of(variant, inside, f"{indent}   "))
        said = _text(variant, "description")
        comment = [] if said is None or said == description else [Part(said, _inside(inside, "description"))]
        if place == 0 and said_above:
            comment = []
        yield from _trailing([comment, _default(variant, inside, in_quotes=False)])
        yield Part("\n")
    yield Part(f"{indent},\n")
