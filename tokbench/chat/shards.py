"""Conversations as shards: ids with a parallel loss mask, optionally packed into rows of equal length."""

from __future__ import annotations

import dataclasses
import hashlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.chat.conversation_files import conversations_of_lines
from tokbench.chat.encoding import ASSISTANT, learned_roles
from tokbench.chat.parquet_rows import parquet_conversations
from tokbench.chat.template import AUTO, ChatTemplate
from tokbench.core.roles import role_ids_of
from tokbench.errors import ConfigError, CorpusError, ModelFormatError, TemplateError
from tokbench.shards.layout import ChatOptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.chat.conversation_files import ReadConversation
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import Encoded
    from tokbench.corpus import Corpus, Problems
    from tokbench.corpus.files import CorpusFile

_MOST_PACKED = 1 << 24
_HINT = "conversations are JSON lines, one JSON list of them, or rows of Parquet"


class ConversationShards:
    """Reads and encodes conversations for `tokbench.shards.writing.write_shards`.

    Args:
        tokenizer: encodes the conversations.
        template: renders the conversations.
        train_on: the roles whose turns are learned.
        pack: length of rows: conversations are packed whole, unless one is longer than a row; None for no rows.
        variables: further template variables by name, plain JSON.
        tools: JSON schemas of functions, for conversations that have none.

    Attributes:
        options: the options as recorded in the index of the shards.
        findings: number of control-token texts that stayed text so far.
        tokens: number of tokens so far.
        learned: number of learned tokens so far.

    Raises:
        ConfigError: the row length is invalid, or the tokenizer has no token to pad rows with.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        *,
        train_on: str | Collection[str] = ASSISTANT,
        pack: int | None = None,
        variables: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        if pack is not None and not 1 <= pack <= _MOST_PACKED:
            raise ConfigError(f"--pack is {pack}", hint=f"it must be from 1 to {_MOST_PACKED:,}")
        self._tokenizer = tokenizer
        self._template = template
        self.findings = 0
        self.tokens = self.learned = 0
        self.options = ChatOptions(
            template=Path(template.name).name,
            source=_fingerprint(template.sources),
            train_on=tuple(sorted(learned_roles(train_on))),
            pack=pack,
            pad=None if pack is None else _padding_id(tokenizer),
            date=None if template.date is None else template.date.strftime("%Y-%m-%d"),
            variables=dict(variables or {}),
            tools=tuple(tools),
        )

    @classmethod
    def recorded(
        cls, tokenizer: Tokenizer, options: ChatOptions, *, template: str | None = None
    ) -> ConversationShards:
        """Recreate the encoder that made shards, from their index.

        Args:
            tokenizer: encodes the conversations.
            options: the options of the index.
            template: a name or a file; None uses the built-in one of the index, or the tokenizer's own.

        Raises:
            ConfigError: the template is not the one that made the shards.
            TemplateError: there is no such template.
        """
        from datetime import UTC, datetime

        date = None
        if options.date is not None:
            try:
                date = datetime.strptime(options.date, "%Y-%m-%d").replace(tzinfo=UTC)
            except ValueError:
                raise ConfigError(
                    f"the index has the date {options.date!r}, which is not a date", hint="restore the index"
                ) from None
        name = template or (options.template if options.source is None else AUTO)
        recreated = cls(
            tokenizer,
            ChatTemplate.of(tokenizer, name, date=date),
            train_on=options.train_on,
            pack=options.pack,
            variables=options.variables,
            tools=options.tools,
        )
        if (recreated.options.source, recreated.options.source or recreated.options.template) != (
            options.source,
            options.source or options.template,
        ):
            raise ConfigError(
                f"the chat template is not the one that made the shards, which was {options.template}",
                hint="give it with --chat",
            )
        return recreated

    def read(self, corpus: Corpus, file: CorpusFile, problems: Problems) -> Iterator[ReadConversation]:
        """Yield the conversations of a file: JSON lines, one JSON value, or rows of Parquet.

        Raises:
            CorpusError: something in it is not a conversation; the error names line and field.
        """
        most_bytes = corpus.options.max_document_bytes
        if file.kind == "parquet":
            conversations = parquet_conversations(
                file.path, name=file.name, most_bytes=most_bytes, tell=partial(setattr, corpus, "position")
            )
        else:
            lines = ((number, text.encode()) for number, text in corpus.numbered_texts(file, problems))
            conversations = conversations_of_lines(lines, name=file.name, most_bytes=most_bytes)
        try:
            for read in conversations:
                yield dataclasses.replace(read, conversation=self._with_defaults(read))
        except ModelFormatError as error:
            raise CorpusError(str(error), hint=error.hint or _HINT) from None

    def _with_defaults(self, read: ReadConversation) -> Any:
        found = read.conversation
        if not self.options.variables and (found.tools or not self.options.tools):
            return found
        return found.completed(tools=self.options.tools, variables=self.options.variables)

    def encode(
        self, conversations: Sequence[ReadConversation], *, threads: int | None
    ) -> tuple[Encoded, NDArray[np.uint8]]:
        """Return the ids of conversations, and their loss mask.

        Raises:
            CorpusError: the template refuses a conversation, which is named, or writes the current date.
        """
        given = [read.conversation for read in conversations]
        rendered = self._template.render_many(given, tokenizer=self._tokenizer)
        good = []
        for read, result in zip(conversations, rendered, strict=True):
            if isinstance(result, TemplateError):
                raise CorpusError(f"{read.place}: {result.message}", hint=result.hint)
            if result.dated and self.options.date is None:
                raise CorpusError(
                    f"{read.place}: the template writes today's date, so the shards would depend on the day",
                    hint="give one with --date",
                )
            good.append(result)
        chats = self._template.encode_rendered(
            self._tokenizer, given, good, train_on=self.options.train_on, threads=threads
        )
        self.count(
            findings=sum(map(len, chats.findings)),
            tokens=len(chats.loss_mask),
            learned=int(chats.loss_mask.sum()),
        )
        return chats.spans.encoded, chats.loss_mask

    def count(self, *, findings: int, tokens: int, learned: int) -> None:
        """Add counts of conversations that were encoded here or by workers."""
        self.findings += findings
        self.tokens += tokens
        self.learned += learned


def conversation_corpus(corpus: Corpus) -> Corpus:
    """Return a corpus that is read by lines or rows, as conversations are."""
    return dataclasses.replace(
        corpus,
        files=tuple(
            file if file.kind == "parquet" else dataclasses.replace(file, kind="text")
            for file in corpus.files
        ),
        options=dataclasses.replace(corpus.options, documents="lines"),
    )


def _fingerprint(sources: Mapping[str, str]) -> str | None:
    """Return the SHA-256 of a template's texts; None for a built-in template."""
    if not sources:
        return None
    text = "\0".join(f"{name}\0{source}" for name, source in sorted(sources.items()))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _padding_id(tokenizer: Tokenizer) -> int:
    """Return the id that pads rows. Raises `ConfigError`."""
    ids = role_ids_of(tokenizer)
    found = next((ids[role] for role in ("pad", "eos", "turn_end") if role in ids), None)
    if found is None:
        raise ConfigError(
            f"{tokenizer.info.name} has no token to pad rows with", hint="it needs the role pad or eos"
        )
    return found
