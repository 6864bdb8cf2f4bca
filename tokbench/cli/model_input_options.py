"""Options for model input: template, truncation, windows, padding."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tokbench.cli.options import first_given, num_tokens
from tokbench.core.batches import PaddingPlan
from tokbench.core.truncation import TruncationPlan
from tokbench.errors import ConfigError
from tokbench.workbench.model_inputs import InputPlan

if TYPE_CHECKING:
    from tokbench.core.tokens import SpecialPolicy

Side = Literal["left", "right"]
Strategy = Literal["longest_first", "only_first", "only_second"]

_PANEL = "Model input"
_MULTIPLE = re.compile(r"multiple-of[:=]([0-9_]{1,18}k?)")


@dataclass(frozen=True, slots=True)
class ModelInputChoices:
    """How the ids of texts become model input."""

    template: Annotated[
        bool | None,
        typer.Option(
            "--template/--no-template",
            rich_help_panel=_PANEL,
            help="Add the special tokens that the tokenizer's files put around a text, e.g. [CLS] … [SEP].",
        ),
    ] = None
    pair: Annotated[
        bool,
        typer.Option(
            "--pair",
            rich_help_panel=_PANEL,
            help="Take texts and records in pairs, e.g. question and answer.",
        ),
    ] = False
    truncate: Annotated[
        int | None,
        typer.Option(
            parser=num_tokens,
            metavar="N",
            rich_help_panel=_PANEL,
            help="Truncate each text to N tokens, the template included.",
        ),
    ] = None
    truncate_side: Annotated[
        Side | None, typer.Option(rich_help_panel=_PANEL, help="The side to truncate, by default right.")
    ] = None
    strategy: Annotated[
        Strategy | None,
        typer.Option(
            rich_help_panel=_PANEL, help="Which text of a pair to truncate, by default longest_first."
        ),
    ] = None
    overflow: Annotated[
        bool,
        typer.Option(
            "--overflow",
            rich_help_panel=_PANEL,
            help="Also encode what --truncate cuts off, in further windows, a record each.",
        ),
    ] = False
    stride: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            rich_help_panel=_PANEL,
            help="The number of tokens that neighbouring windows share.",
        ),
    ] = 0
    pad_to: Annotated[
        str | None,
        typer.Option(
            metavar="N|longest|multiple-of:N",
            rich_help_panel=_PANEL,
            help="Pad each text to N tokens, to the longest, or to the longest rounded up to a multiple of N.",
        ),
    ] = None
    pad_side: Annotated[
        Side | None, typer.Option(rich_help_panel=_PANEL, help="The side to pad, by default right.")
    ] = None
    side: Annotated[
        Side | None,
        typer.Option(rich_help_panel=_PANEL, help="The default of --truncate-side and --pad-side."),
    ] = None
    as_text: Annotated[
        bool,
        typer.Option(
            "--as-text",
            rich_help_panel=_PANEL,
            help="Print the text that --truncate keeps, cut at a whole character, instead of ids.",
        ),
    ] = False

    @property
    def are_given(self) -> bool:
        """Whether any of these options is given."""
        return bool(
            self.template is not None
            or self.pair
            or self.truncate is not None
            or self.overflow
            or self.stride
            or self.pad_to is not None
        )

    @property
    def cut_side(self) -> Side:
        """Return the side to truncate."""
        return self.truncate_side or self.side or "right"

    def plan(self, *, special: SpecialPolicy) -> InputPlan:
        """Return the plan for converting texts to model input. Raises `ConfigError`."""
        if self.overflow and self.truncate is None:
            raise ConfigError("--overflow needs --truncate", hint="--truncate N makes windows of N tokens")
        if self.stride and not self.overflow:
            raise ConfigError("--stride needs --overflow", hint="--overflow makes the windows")
        self._check_needs()
        truncation = TruncationPlan(
            max_length=self.truncate,
            strategy=self.strategy or "longest_first",
            side=self.cut_side,
            stride=self.stride,
            overflow=self.overflow,
        )
        return InputPlan(
            special=special,
            template=bool(self.template),
            truncation=truncation,
            padding=self._padding(),
        )

    def _check_needs(self) -> None:
        """Refuse options that require another option that is not given. Raises `ConfigError`."""
        if self.truncate_side is not None and self.truncate is None:
            raise ConfigError("--truncate-side needs --truncate", hint="add --truncate N, or leave it out")
        if self.pad_side is not None and self.pad_to is None:
            raise ConfigError("--pad-side needs --pad-to", hint="add --pad-to longest, or leave it out")
        if self.side is not None and self.truncate is None and self.pad_to is None:
            raise ConfigError("--side needs --truncate or --pad-to", hint="add one of them, or leave it out")
        if self.strategy is not None and not (self.pair and self.truncate is not None):
            missing = "--truncate" if self.truncate is None else "--pair"
            raise ConfigError(
                f"--strategy needs {missing}",
                hint=f"--strategy says which text of a pair is cut: add {missing}, or leave --strategy out",
            )

    def length_of_text(self) -> int:
        """Return the number of tokens for --as-text. Raises `ConfigError` if that option does not apply."""
        other = first_given(
            {
                "--template": self.template is not None,
                "--pair": self.pair,
                "--overflow": self.overflow,
                "--pad-to": self.pad_to,
            }
        )
        if other:
            raise ConfigError(f"{other} cannot be used with --as-text", hint=f"leave out {other}")
        if self.truncate is None:
            raise ConfigError("--as-text prints what --truncate keeps", hint="add --truncate N")
        return self.truncate

    def _padding(self) -> PaddingPlan | None:
        if self.pad_to is None:
            return None
        side = self.pad_side or self.side or "right"
        if self.pad_to == "longest":
            return PaddingPlan(side=side)
        multiple = _MULTIPLE.fullmatch(self.pad_to)
        try:
            number = num_tokens(multiple[1] if multiple else self.pad_to)
        except typer.BadParameter:
            raise ConfigError(
                f"--pad-to {self.pad_to!r:.40} is not a length", hint="write 512, longest or multiple-of:8"
            ) from None
        if multiple:
            return PaddingPlan(multiple_of=number, side=side)
        return PaddingPlan(length=number, side=side)
