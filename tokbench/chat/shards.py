"""Conversations as shards: ids with a mask beside them, in rows of one length where that is asked for."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.chat.conversation_files import parse_conversation
from tokbench.chat.encoding import ASSISTANT
from tokbench.core.roles import role_ids_of
from tokbench.errors import ConfigError, CorpusError, ModelFormatError, TemplateError
from tokbench.files.untrusted import load_json
from tokbench.shards.layout import ChatOptions

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.chat.template import ChatTemplate
    from tokbench.core.encoded import Encoded
    from tokbench.core.interfaces import Tokenizer
    from tokbench.corpus import Corpus

_MOST_PACKED = 1 << 24
_HINT = "each line is a conversation by itself, as JSON"


class ConversationShards:
    """Encodes lines of JSON, a conversation each, for `tokbench.shards.writing.write_shards`.

    Args:
        tokenizer: encodes.
        template: writes the conversations.
        train_on: the roles whose turns are learned.
        pack: ids in a row: conversations are put into rows whole, unless one is longer than a row; None for no rows.

    Attributes:
        options: what the index of the shards tells of it.
        findings: how many texts of control tokens stayed text so far.

    Raises:
        ConfigError: rows of that length are none, or the tokenizer has no token to fill them.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        *,
        train_on: Collection[str] = ASSISTANT,
        pack: int | None = None,
    ) -> None:
        if pack is not None and not 1 <= pack <= _MOST_PACKED:
            raise ConfigError(
                f"rows of {pack} ids cannot be", hint=f"--pack must be between 1 and {_MOST_PACKED:,}"
            )
        self._tokenizer = tokenizer
        self._template = template
        self.findings = 0
        sources = template.sources
        text = "\0".join(f"{name}\0{source}" for name, source in sorted(sources.items()))
        self.options = ChatOptions(
            template=Path(template.name).name,
            source=hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest() if sources else None,
            train_on=tuple(sorted(set(train_on))),
            pack=pack,
            pad=None if pack is None else _pad_of(tokenizer),
        )

    def encode(
        self, texts: list[str], *, first: int, threads: int | None
    ) -> tuple[Encoded, NDArray[np.uint8]]:
        """The ids of conversations, and 1 for each that is learned.

        Raises:
            CorpusError: a line is no conversation, or the template refuses it; it is named by its number.
        """
        conversations = []
        for number, text in enumerate(texts, first):
            place = f"conversation {number} of its file, from 0"
            try:
                conversations.append(parse_conversation(load_json(text.encode(), path=place), place=place))
            except ModelFormatError as error:
                raise CorpusError(str(error), hint=error.hint or _HINT) from None
        rendered = self._template.render_many(conversations, tokenizer=self._tokenizer)
        good = []
        for number, each in enumerate(rendered, first):
            if isinstance(each, TemplateError):
                raise CorpusError(
                    f"conversation {number} of its file, from 0: {each.message}", hint=each.hint
                )
            good.append(each)
        chats = self._template.encode_rendered(
            self._tokenizer, conversations, good, train_on=self.options.train_on, threads=threads
        )
        self.findings += sum(map(len, chats.findings))
        return chats.spans.encoded, chats.loss_mask


def conversation_corpus(corpus: Corpus) -> Corpus:
    """A corpus whose documents are the lines of its files, as conversations are written.

    Raises:
        CorpusError: a file is no text.
    """
    for file in corpus.files:
        if file.kind == "parquet":
            raise CorpusError(f"{file.name} holds rows, not lines", hint="conversations are JSON lines")
    return dataclasses.replace(
        corpus,
        files=tuple(dataclasses.replace(file, kind="text") for file in corpus.files),
        options=dataclasses.replace(corpus.options, documents="lines"),
    )


def _pad_of(tokenizer: Tokenizer) -> int:
    """The id that fills a row. Raises `ConfigError`."""
    ids = role_ids_of(tokenizer)
    found = next((ids[role] for role in ("pad", "eos", "turn_end") if role in ids), None)
    if found is None:
        raise ConfigError(
            f"{tokenizer.info.name} has no token to fill rows with", hint="it needs the role pad or eos"
        )
    return found
