"""Open Mistral's `tekken.json`: ranks with their split pattern, and special tokens in front."""

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
    """Open the tokenizer of a `tekken.json`.

    Raises:
        ModelFormatError: a field is missing or of the wrong type, or a token is listed twice.
        ConfigError: an option sets what the file already defines, or the demanded engine cannot run it.
    """
    from tokbench.backends.bpe.rank_file import table_of_ranks

    path = source.files[0]
    request.takes_nothing("tekken.json")
    tekken = parse_tekken(parse_json(read_file(path), path=path), path=path)
    return open_rank_table(
        table_of_ranks(tekken.ranks),
        source=replace(source, config=_with_roles(source.config, tekken)),
        request=request,
        name=source.name,
        pattern=tekken.pattern,
        special_tokens=tekken.special_tokens,
    )


def _with_roles(config: TokenizerConfig, tekken: Tekken) -> TokenizerConfig:
    """Add the roles of tekken's special tokens where the files beside it set none."""
    roles = {role: text for role, text in ROLES.items() if text in tekken.special_tokens}
    return replace(config, roles={**roles, **config.roles})
