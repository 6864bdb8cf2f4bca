"""The configuration files beside a tokenizer, renumbered: roles, added tokens, templates, generation settings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.formats.tokenizer_config.fields import config_of
from tokbench.formats.tokenizer_config.files import config_files, with_special_tokens

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer
    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.surgery.id_map import IdMap


def renumbered(config: TokenizerConfig, id_map: IdMap) -> TokenizerConfig:
    """Renumber a configuration; drop references to removed tokens.

    >>> from tokbench.formats.tokenizer_config.fields import AddedToken, TokenizerConfig
    >>> from tokbench.surgery.id_map import IdMap
    >>> config = TokenizerConfig(added_tokens=(AddedToken(id=3, content="</s>"),), generation_ids={"eos": (3, 2)})
    >>> made = renumbered(config, IdMap.closing_up([0, 1, 3], size=4))
    >>> made.added_tokens[0].id, dict(made.generation_ids)
    (2, {'eos': (2,)})
    """
    added = (
        replace(token, id=new) for token in config.added_tokens if (new := id_map.new(token.id)) is not None
    )
    generation = {
        role: tuple(new for id in ids if (new := id_map.new(id)) is not None)
        for role, ids in config.generation_ids.items()
    }
    return replace(config, added_tokens=tuple(added), generation_ids=generation)


def files_beside(old: Tokenizer, new: Tokenizer, id_map: IdMap) -> dict[str, bytes]:
    """Return file name → content of the configuration files of a renumbered tokenizer.

    Args:
        old: the tokenizer whose configuration is used.
        new: the tokenizer with the new ids.
        id_map: the map from the old ids to the new ids.
    """
    return config_files(with_special_tokens(renumbered(config_of(old), id_map), new.info.special_tokens))
