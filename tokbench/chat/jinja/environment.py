"""Jinja's sandbox, set up as in `transformers` for chat templates, with traced strings.

Source: `_cached_compile_jinja_template` of transformers 5.23, for the extensions, filters and functions, and the
trimming of blocks.
"""

from __future__ import annotations

import operator
import types
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.utils import Namespace

from tokbench.chat.jinja.filters import FILTERS
from tokbench.chat.jinja.limits import EXPONENT, LimitError, check_length
from tokbench.chat.jinja.markup import MarkupFormatter, escape, markup, markup_join
from tokbench.chat.jinja.string_methods import Formatter
from tokbench.chat.jinja.traced import Traced, computed, concat, fill, own
from tokbench.chat.jinja.values import TracedFloat, TracedInt, Values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jinja2 import Undefined
    from jinja2.compiler import Frame
    from jinja2.parser import Parser

_TRACED = ("str", "str_join", "markup_join", "escape", "Markup")
"""Names in compiled code that stand for the environment's functions of the same names."""

_MOST_KNOWN = 1000
"""Maximum number of attributes of which it is remembered whether they are safe."""


class TracedCodeGenerator(CodeGenerator):
    """Compiles templates so that literals are the template's own text.

    Every literal becomes a constant of the compiled module; functions that convert values to text or join texts are
    replaced by functions of the environment that keep origins. Nothing is evaluated at compile time, so a template
    cannot create gigabytes there.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._constants: dict[str, str] = {}

    def _constant(self, text: str) -> str:
        return self._constants.setdefault(text, f"own_{len(self._constants)}")

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:  # noqa: N802
        """Compile the template, then the constants, which the functions read when they run."""
        super().visit_Template(node, frame)
        for text, name in self._constants.items():
            self.writeline(f"{name} = environment.own({text!r})")

    def write_commons(self) -> None:
        """Write the beginning of a function."""
        super().write_commons()
        for name in _TRACED:
            self.writeline(f"{name} = environment.traced_functions[{name!r}]")

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:  # noqa: N802
        """Compile a literal."""
        if isinstance(node.value, str):
            self.write(self._constant(node.value))
        else:
            super().visit_Const(node, frame)

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:  # noqa: ARG002, N802
        """Compile text outside of tags."""
        self.write(f"(Markup if context.eval_ctx.autoescape else identity)({self._constant(node.data)})")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        """Compile item access; the name of the item never reaches the output, so an ordinary, faster string is used."""
        if isinstance(node.arg, nodes.Const):
            self.write("environment.getitem(")
            self.visit(node.node, frame)
            self.write(f", {node.arg.value!r})")
        else:
            super().visit_Getitem(node, frame)

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:  # noqa: ARG002
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            raise nodes.Impossible
        if isinstance(node, nodes.TemplateData):
            return node.data
        if isinstance(node, nodes.Const):
            return str(node.value)
        raise nodes.Impossible

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return self._constant("".join(group))


class GenerationExtension(Extension):
    """The `{% generation %}` block, which records the characters that it produces, as `transformers` does.

    A block begins after the text that the template has output when the block is reached. Text that a macro or a
    `{% set %}` block is still collecting is not output yet and does not count, as in `transformers`.
    """

    tags = {"generation"}  # noqa: RUF012 - so Jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """Parse a block."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        self.environment.has_generation = True  # type: ignore[attr-defined]
        return nodes.CallBlock(self.call_method("_generated"), [], [], body).set_lineno(line)

    def _generated(self, caller: Callable[[], str]) -> str:
        environment: Any = self.environment
        text = caller()
        environment.generated.append((environment.written, environment.written + len(text)))
        return text


class TracedEnvironment(ImmutableSandboxedEnvironment):
    """The environment that templates are compiled and rendered in.

    Attributes:
        values: the values of the conversation being rendered.
        has_generation: whether the template has `{% generation %}` blocks.
        date: the current time for `strftime_now`; None uses the time of the call.
        asked_date: whether the template has called `strftime_now`.
        written: the number of characters that the template has written so far.
        generated: the ranges of its `{% generation %}` blocks so far.
    """

    code_generator_class = TracedCodeGenerator
    concat = staticmethod(concat)
    intercepted_binops = frozenset({"*", "**"})

    def __init__(self, *, date: datetime | None = None) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,
            cache_size=0,
            extensions=[GenerationExtension, loopcontrols],
        )
        self.filters.update(FILTERS)
        self.globals.update(
            raise_exception=_raise_exception,
            strftime_now=self._strftime_now,
            dict=_Dictionary(),
            namespace=_Namespace,
        )
        self.binop_table.update({"*": _times, "**": _power})
        self.own = own
        self.traced_functions: dict[str, Callable[..., Any]] = {
            "str": self.text,
            "str_join": self._str_join,
            "markup_join": markup_join,
            "escape": escape,
            "Markup": markup,
        }
        self._safe: dict[tuple[type, str], bool] = {}
        self.has_generation = False
        self.date = date
        self.begin(Values())

    def begin(self, values: Values) -> None:
        """Reset the state for a new conversation."""
        self.values = values
        self.origin_of = values.origin_of
        self.asked_date = False
        self.written = 0
        self.generated: list[tuple[int, int]] = []

    def text(self, value: Any) -> Traced:
        """Convert a value to text like `str`; it is `COMPUTED` unless it is a string or part of the conversation."""
        if type(value) is Traced:
            return value
        text = str(value)
        if isinstance(text, Traced):
            return text
        return Traced(text, self.origin_of(value))

    def _str_join(self, parts: Iterable[Any]) -> Traced:
        return concat([self.text(part) for part in parts])

    def _strftime_now(self, format: str) -> Traced:
        self.asked_date = True
        return computed((self.date or datetime.now()).strftime(format))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Wrap the methods `format` and `format_map` of a string, so that their fields obey the sandbox."""
        if not (
            isinstance(value, types.MethodType)
            and value.__name__ in {"format", "format_map"}
            and isinstance(value.__self__, Traced)
        ):
            return super().wrap_str_format(value)
        template = value.__self__
        safe = hasattr(template, "__html__")
        formatter = _SandboxedMarkupFormatter(self) if safe else _SandboxedFormatter(self)

        def filled_in(args: Sequence[Any], values: Mapping[str, Any]) -> Traced:
            text = fill(template, formatter, args, values)
            return markup(text) if safe else text

        if value.__name__ == "format":
            return lambda *args, **values: filled_in(args, values)
        return lambda values, /: filled_in((), values)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """Return the value of a forbidden attribute; attributes that only traced strings have are undefined."""
        if isinstance(obj, Traced | TracedInt | TracedFloat) and not hasattr(
            type(obj).__mro__[-2], attribute
        ):
            return self.undefined(obj=obj, name=attribute)
        return super().unsafe_undefined(obj, attribute)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return an attribute, or else the item of that name; the items of messages are found without an error."""
        if type(obj) is dict and attribute in obj and not hasattr(dict, attribute):
            return obj[attribute]
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may read an attribute: of a traced string only those of `str`, else by type."""
        key = type(obj), attr
        known = self._safe.get(key)
        if known is None:
            if isinstance(obj, Traced) and not hasattr("", attr):
                known = attr in {"striptags", "unescape"} and hasattr(obj, "__html__")
            else:
                known = super().is_safe_attribute(obj, attr, value)
            if len(self._safe) < _MOST_KNOWN:
                self._safe[key] = known
        return known


class _SandboxedFormatter(Formatter, SandboxedFormatter):
    pass


class _SandboxedMarkupFormatter(MarkupFormatter, SandboxedFormatter):
    pass


class _Dictionary:
    """The function `dict` without the attributes of the class."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args, **kwargs)


class _Namespace(Namespace):
    """Jinja's namespace, without attributes that begin with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        for name in attributes:
            _check_attribute(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_attribute(name)
        super().__setitem__(name, value)


def _check_attribute(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace has no attributes that begin with an underscore: {name!r}")


def _raise_exception(message: Any) -> None:
    raise RefusalError(message)


class RefusalError(TemplateError):
    """The error that a template raises with `raise_exception`."""


def _times(left: Any, right: Any) -> Any:
    for items, times in ((left, right), (right, left)):
        if isinstance(items, str | list | tuple | bytes) and isinstance(times, int):
            check_length(len(items) * max(times, 0))
    return operator.mul(left, right)


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and right > EXPONENT:
        raise LimitError(f"it raises a number to a power above {EXPONENT:,}")
    return operator.pow(left, right)
