"""The command that encodes text as ids."""

from __future__ import annotations

import sys

from tokbench.cli.options import taking_groups
from tokbench.cli.output_options import JsonFlag, ProgressOption
from tokbench.cli.role_options import RoleChoices
from tokbench.cli.text_options import TextChoices, TextsArgument
from tokbench.cli.tokenizer_options import (
    DropoutOption,
    SeedOption,
    SpecialPolicyOption,
    TokenizersOption,
    VocabularyChoices,
    chosen_sampling,
)
from tokbench.core.tokens import SpecialPolicy
from tokbench.render.console import print_json
from tokbench.render.progress import ProgressChoice, showing_progress
from tokbench.workbench.encode import encode_ids, encode_texts

_IDS_AT_ONCE = 1 << 16


@taking_groups
def encode(
    *,
    inputs: TextsArgument = None,
    tokenizer: TokenizersOption = None,
    opening: VocabularyChoices,
    roles: RoleChoices,
    special_policy: SpecialPolicyOption = SpecialPolicy.TEXT,
    dropout: DropoutOption = None,
    seed: SeedOption = None,
    reading: TextChoices,
    json: JsonFlag = False,
    progress: ProgressOption = "bar",
) -> None:
    """Encode text as token ids, one line per text. `--json` adds the tokens and their byte spans.

    With several tokenizers each line begins with the tokenizer's name and a tab.
    """
    opened = opening.open_all(tokenizer, roles=roles.roles(), progress=progress)
    sampling = chosen_sampling(dropout, seed)
    with showing_progress(_beside_output(progress)) as report:
        for item in reading.read(inputs, progress=report):
            for one in opened:
                if json:
                    [result] = encode_texts(one, [item], special=special_policy, sampling=sampling)
                    print_json(result.to_json())
                    continue
                [ids] = encode_ids(one, [item], special=special_policy, sampling=sampling)
                _print_ids(ids, name=one.info.name if len(opened) > 1 else None)


def _beside_output(progress: ProgressChoice) -> ProgressChoice:
    """No bar where ids are written as they come to the terminal that it would stand on."""
    is_bar = progress == "bar"
    return "none" if is_bar and sys.stdout.isatty() else progress


def _print_ids(ids: list[int], *, name: str | None) -> None:
    """Some at a time: a text may have millions. Behind the name of their tokenizer, where there are several."""
    if name is not None:
        sys.stdout.write(f"{name}\t")
    for start in range(0, len(ids), _IDS_AT_ONCE):
        sys.stdout.write(" " if start else "")
        sys.stdout.write(" ".join(map(str, ids[start : start + _IDS_AT_ONCE])))
    sys.stdout.write("\n")
