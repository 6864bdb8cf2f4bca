"""A changed tokenizer in a temporary folder, with its configuration files renumbered.

These files contain roles, added tokens, chat templates and generation settings.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tokbench.files.atomic import write_folder
from tokbench.formats.tokenizer_config.fields import config_of
from tokbench.formats.tokenizer_config.files import config_files, with_special_tokens
from tokbench.opening.open import open_path
from tokbench.opening.request import OpenRequest
from tokbench.surgery.documents import dumped
from tokbench.surgery.model_files import DOCUMENT_NAME, model_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig
    from tokbench.opening.request import Opened
    from tokbench.surgery.contents import Content
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


class Trial(NamedTuple):
    """A changed tokenizer before it is written: reopened, the path of its file, and the content of all of its files."""

    opened: Opened
    path: Path
    files: dict[str, bytes]


@contextmanager
def reopened(content: Content, old: Opened, id_map: IdMap, *, name: str) -> Iterator[Trial]:
    """Write a changed tokenizer with its configuration files into a temporary folder, and open it.

    Args:
        content: the content with its tokens.
        old: the tokenizer whose configuration is used.
        id_map: the map from the old ids to the new ids.
        name: its name.
    """
    file_name = model_name(old) if isinstance(content, bytes) else DOCUMENT_NAME
    files = {file_name: dumped(content)}
    with tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
        bare, whole = (Path(folder) / place / name for place in ("bare", "whole"))
        for place in (bare, whole):
            place.parent.mkdir()
        write_folder(bare, files, replace=False)
        special_tokens = open_path(bare / file_name, OpenRequest()).tokenizer.info.special_tokens
        config = renumbered(config_of(old.tokenizer), id_map)
        files |= config_files(with_special_tokens(config, special_tokens))
        write_folder(whole, files, replace=False)
        yield Trial(open_path(whole / file_name, OpenRequest()), whole / file_name, files)
