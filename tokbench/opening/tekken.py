"""Mistral's `tekken.json`: a rank file that says how text is split, with special tokens in front."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.formats.tekken import ROLES, parse_tekken
from tokbench.opening.files import parse_json, read_file
from tokbench.opening.tiktoken_ranks import open_rank_table

if TYPE_CHECKING:
    from tokbench.formats.tekken import Tekken
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.opening.recognition import Source
    from tokbench.opening.request import Opened, OpenRequest


def open_tekken(source: Source, request: OpenRequest) -> Opened:
    """The tokenizer of a `tekken.json`.

    Raises:
        ModelFormatError: a field is missing or of another kind, or a token is there twice.
        ConfigError: an option that the file answers itself, or an engine was demanded that cannot run it.
    """
    from tokbench.backends.bpe.rank_file import table_of_ranks

    path = source.files[0]
    request.takes_nothing("tekken.json")
    found = parse_tekken(parse_json(read_file(path), path=path), path=path)
    return open_rank_table(
        table_of_ranks(found.ranks),
        source=replace(source, config=_with_roles(source.config, found)),
        request=request,
        name=source.name,
        pattern=found.pattern,
        special_tokens=found.special_tokens,
    )


def _with_roles(config: TokenizerConfig, found: Tekken) -> TokenizerConfig:
    """What special tokens are to a model, where nothing beside the file says it."""
    roles = {role: text for role, text in ROLES.items() if text in found.special_tokens}
    return replace(config, roles={**roles, **config.roles})
