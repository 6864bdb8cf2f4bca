"""Jinja's compiler, so that the template's own text is traced.

Every literal becomes a constant of the compiled module, made once; what turns values into text or joins texts is
replaced by functions of the environment that keep origins. Nothing is computed while compiling, so that a template
cannot make gigabytes there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jinja2.compiler import Frame

_TRACED = ("str", "str_join", "markup_join", "escape", "Markup")
"""Names of the compiled code that stand for functions of the environment with the same names."""


class TracedCodeGenerator(CodeGenerator):
    """Compiles templates whose literals are the template's own text."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._constants: dict[str, str] = {}

    def _constant(self, text: str) -> str:
        return self._constants.setdefault(text, f"own_{len(self._constants)}")

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:  # noqa: N802
        """Compile all, then the constants, which the functions read when they run."""
        super().visit_Template(node, frame)
        for text, name in self._constants.items():
            self.writeline(f"{name} = environment.own({text!r})")

    def write_commons(self) -> None:
        """Begin a function."""
        super().write_commons()
        for name in _TRACED:
            self.writeline(f"{name} = environment.traced_functions[{name!r}]")

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:  # noqa: N802
        """A literal."""
        if isinstance(node.value, str):
            self.write(self._constant(node.value))
        else:
            super().visit_Const(node, frame)

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:  # noqa: ARG002, N802
        """Text outside of tags."""
        self.write(f"(Markup if context.eval_ctx.autoescape else identity)({self._constant(node.data)})")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        """An item; its name goes nowhere, so an ordinary string, which is faster."""
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
