"""The command that encodes text as ids."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tokbench.cli.corpus_options import TextChoices, TextsArgument
from tokbench.cli.options import first_given, num_tokens, taking_groups
from tokbench.cli.output_options import JsonFlag, ProgressOption, refuse_folder
from tokbench.cli.tokenizer_options import (
    DropoutOption,
    OpeningChoices,
    RoleChoices,
    SeedOption,
    SpecialPolicyOption,
    TokenizersOption,
    chosen_sampling,
)
from tokbench.core.batches import PaddingPlan, post_processing_of
from tokbench.core.post_processing import template_size
from tokbench.core.result_json import json_bytes, tokenizer_fields
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.truncation import TruncationPlan
from tokbench.errors import ConfigError
from tokbench.files.atomic import write_file
from tokbench.render.console import ProgressChoice, print_json, showing_progress
from tokbench.workbench.encode import distinct_infos, encode_ids, encode_texts
from tokbench.workbench.limit import beginnings, endings
from tokbench.workbench.model_inputs import InputPlan, input_records, npz_of, padded_ids, paired

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.sampling import Sampling
    from tokbench.corpus.inputs import TextInput
    from tokbench.workbench.model_inputs import Pair

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


_IDS_AT_ONCE = 1 << 16


@taking_groups
def encode(
    *,
    inputs: TextsArgument = None,
    tokenizer: TokenizersOption = None,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    shape: ModelInputChoices,
    dropout: DropoutOption = None,
    seed: SeedOption = None,
    opening: OpeningChoices,
    roles: RoleChoices,
    reading: TextChoices,
    json: JsonFlag = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a file: .jsonl with the records of --json, or .npz with arrays of ids, masks and type ids.",
        ),
    ] = None,
    progress: ProgressOption = "bar",
) -> None:
    """Encode text as token ids, one line per text. `--json` adds the tokens and their byte spans.

    With several tokenizers each line begins with the tokenizer's name and a tab.
    """
    _check_out(out, tokenizer)
    if tokenizer is None:
        reading.refuse_tokenizer(inputs)
    sampling = chosen_sampling(dropout, seed)
    shaped = shape.are_given or out is not None
    if sampling is not None and (shaped or shape.as_text):
        raise ConfigError(
            "--dropout cannot be used with templates, truncation, padding and --out", hint="leave it out"
        )
    plan = shape.plan(special=special_policy)
    length = shape.length_of_text() if shape.as_text else None
    opened = opening.open_all(tokenizer, roles=roles.roles(), progress=progress)
    if plan.template:
        for one in opened:
            if template_size(post_processing_of(one).template, pair=shape.pair) == 0:
                print(f"note: {one.info.name} has no template: no special tokens are added", file=sys.stderr)
    # No bar where ids are written to the same terminal while they are computed.
    beside_output: ProgressChoice = "none" if progress == "bar" and sys.stdout.isatty() else progress
    with showing_progress(beside_output) as report:
        if length is not None:
            texts = reading.read_blocks(inputs)
            kept = endings if shape.cut_side == "left" else beginnings
            _print_ends(kept(opened, texts, max_tokens=length, special=special_policy), json=json)
            return
        items = reading.read(inputs, progress=report)
        if out is not None:
            _write(out, opened[0], paired(items, by_two=shape.pair), plan)
        elif shaped:
            pairs = paired(items, by_two=shape.pair)
            whole = shape.pair or len(opened) > 1  # a last text without a second is found before output
            _print_rows(opened, list(pairs) if whole else pairs, plan, json=json)
        else:
            _print_texts(opened, items, special=special_policy, sampling=sampling, json=json)


def _check_out(out: Path | None, names: list[str] | None) -> None:
    """Refuse an output file without a known format. Raises `ConfigError`."""
    if out is None:
        return
    if out.suffix not in (".npz", ".jsonl"):
        raise ConfigError(
            f"--out {out} ends in neither .npz nor .jsonl",
            hint="Did you mean 'tokbench shards write'? It writes a corpus as shards",
        )
    refuse_folder(out)
    if names is not None and len(names) > 1:
        raise ConfigError("--out takes one tokenizer", hint="name one with -t")


def _write(out: Path, tokenizer: Tokenizer, pairs: Iterable[Pair], plan: InputPlan) -> None:
    if out.suffix == ".npz":
        data = npz_of(tokenizer, pairs, plan)
    else:
        import orjson

        records = input_records(tokenizer, pairs, plan)
        data = b"".join(json_bytes(record.to_json(), option=orjson.OPT_APPEND_NEWLINE) for record in records)
    write_file(out, data)


def _print_ends(texts: Iterable[tuple[str, Tokenizer, str]], *, json: bool) -> None:
    """Print texts unchanged; of several texts, each starts on a line of its own."""
    ends = True
    for source, tokenizer, text in texts:
        if json:
            print_json(
                {
                    "schema": "tokbench.encode/1",
                    "source": source,
                    **tokenizer_fields(tokenizer.info),
                    "text": text,
                }
            )
            continue
        sys.stdout.buffer.write((b"" if ends else b"\n") + text.encode())
        ends = text.endswith("\n")
    if not ends and sys.stdout.isatty():
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def _print_rows(opened: list[Tokenizer], pairs: Iterable[Pair], plan: InputPlan, *, json: bool) -> None:
    """Print the rows of each tokenizer."""
    for one, info in zip(opened, distinct_infos(opened), strict=True):
        if json:
            for record in input_records(one, pairs, plan):
                print_json(record.to_json())
            continue
        for _, _, ids, _, _ in padded_ids(one, pairs, plan):
            _print_ids(ids, name=info.name if len(opened) > 1 else None)


def _print_texts(
    opened: list[Tokenizer],
    items: Iterable[TextInput],
    *,
    special: SpecialPolicy,
    sampling: Sampling | None,
    json: bool,
) -> None:
    infos = distinct_infos(opened)
    for item in items:
        for one, info in zip(opened, infos, strict=True):
            if json:
                [result] = encode_texts(one, [item], special=special, sampling=sampling)
                print_json(result.to_json())
                continue
            [ids] = encode_ids(one, [item], special=special, sampling=sampling)
            _print_ids(ids, name=info.name if len(opened) > 1 else None)


def _print_ids(ids: list[int], *, name: str | None) -> None:
    """Print ids in batches, because a text may have millions; with several tokenizers, after the tokenizer's name."""
    if name is not None:
        sys.stdout.write(f"{name}\t")
    for start in range(0, len(ids), _IDS_AT_ONCE):
        sys.stdout.write(" " if start else "")
        sys.stdout.write(" ".join(map(str, ids[start : start + _IDS_AT_ONCE])))
    sys.stdout.write("\n")
