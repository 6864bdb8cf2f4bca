"""What every command has in common: how its options are read, and how its help is laid out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import typer

from tokbench.cli.plain_values import PlainCommand

if TYPE_CHECKING:
    from collections.abc import Callable


class Command(PlainCommand):
    """Refuses an option that is given twice where one value is taken: the last one would win, and nobody would know."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments by their names alone, without the Python type that typer would put behind them."""
        arguments, options = [], []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            if parameter.param_type_name == "argument":
                several = "…" if parameter.nargs == -1 else ""
                arguments.append((name.partition(" <")[0].removesuffix("...") + several, text))
            else:
                options.append((name, text))
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def make_parser(self, ctx: Any) -> Any:
        """A parser that looks for options that stand twice."""
        parser = super().make_parser(ctx)
        parse: Callable[..., tuple[Any, Any, list[Any]]] = parser.parse_args

        def parse_once(args: list[str]) -> tuple[Any, Any, list[Any]]:
            options, rest, order = parse(args)
            if not ctx.resilient_parsing:
                _refuse_repeated(ctx, order)
            return options, rest, order

        parser.parse_args = parse_once  # type: ignore[method-assign]
        return parser


def _refuse_repeated(context: Any, order: list[Any]) -> None:
    """Raise wrong usage for the first option that stands twice; a flag may, unless it has an opposite."""
    times = Counter(id(parameter) for parameter in order)
    for parameter in order:
        if times[id(parameter)] > 1 and parameter.param_type_name == "option" and _takes_one(parameter):
            raise typer.BadParameter(
                "it is given more than once, and takes one value",
                ctx=context,
                param_hint=[*parameter.opts, *parameter.secondary_opts],
            )


def _takes_one(option: Any) -> bool:
    return not (option.multiple or (option.is_flag and not option.secondary_opts))
