"""What stands beside a tokenizer, with new ids: roles, added tokens, templates, what a model generates with."""

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
    """A configuration with new ids; what names a token that is gone is left out.

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
    """The configuration files of a tokenizer with new ids, by name.

    Args:
        old: whose configuration it is.
        new: the one with the new ids.
        id_map: from the old ids to the new.
    """
    return config_files(with_special_tokens(renumbered(config_of(old), id_map), new.info.special_tokens))
