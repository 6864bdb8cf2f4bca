"""The convenience methods of every tokenizer, for use from Python."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

from tokbench.core.argument_types import ChecksArguments
from tokbench.core.tokens import SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokbench.chat.encoding import EncodedChat
    from tokbench.chat.template import ChatTemplate
    from tokbench.core.batches import Batch, PaddingPlan
    from tokbench.core.chunking import Chunk
    from tokbench.core.encoded import Encoded
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.pickled import Origin, Pickled
    from tokbench.workbench.viz import VizResult


class PlainUse(ChecksArguments):
    """`repr`, calling, copies, `vocab_size`, roles and batches, for every tokenizer.

    Attributes:
        origin: from what it can be opened again; None for one that is saved for that.
    """

    origin: Origin | None = None

    def __repr__(self: Tokenizer) -> str:
        """Short: what it is called, what it is, how large."""
        info = self.info
        return f"<{info.backend} tokenizer {info.name!r}, {info.vocab_size:,} tokens, {info.kernel}>"

    def __call__(self: Tokenizer, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """The ids of a text; the same as `encode`."""
        return self.encode(text, special=special)

    def __copy__(self) -> Self:
        """Another one with the same vocabulary, which may get roles of its own."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: object) -> Self:
        """The same as a copy: nothing changes what they share."""
        del memo
        return self.__copy__()

    def __reduce__(self: Tokenizer) -> Pickled:
        """What `pickle` writes, for other processes; see `tokbench.core.pickled`. Raises `ConversionError`."""
        from tokbench.core.pickled import SavedFiles

        return (self.origin or SavedFiles.of(self)).pickled(self)  # type: ignore[attr-defined]

    @cached_property  # not a property: a tokenizer of another package may have an attribute of that name
    def vocab_size(self: Tokenizer) -> int:
        """Tokens, special tokens included."""
        return self.info.vocab_size

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """What a special token is to a model ("bos", "turn_end", …) → its text; see `tokbench.core.roles`."""
        return {}

    @cached_property
    def role_ids(self) -> Mapping[str, int]:
        """The same with ids."""
        return {}

    def render(
        self: Tokenizer,
        messages: Sequence[Mapping[str, Any]],
        *,
        template: ChatTemplate | str = "auto",
        **options: Any,
    ) -> EncodedChat:
        """A conversation as ids with their loss mask.

        Args:
            messages: each with a `role` and what the template asks for: `content`, `tool_calls`, …
            template: a `tokbench.ChatTemplate`, or what `ChatTemplate.of` takes for a name.
            options: of `ChatTemplate.encode`: `tools`, `prompt`, `train_on`, `max_tokens`, …

        Raises:
            TemplateError: there is no such template, or it refuses the conversation.
            ModelFormatError: the messages are not a conversation.

        Usage:

            chat = tokenizer.render([{"role": "user", "content": "Hi"}], template="chatml", prompt=True)
            chat.ids, chat.loss_mask
        """
        import tokbench  # its public names: what encodes conversations stands above the tokenizers

        chosen = tokbench.ChatTemplate.of(self, template) if isinstance(template, str) else template
        return chosen.encode(self, messages, **options)

    def viz(
        self: Tokenizer, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT, steps: bool = False
    ) -> VizResult:
        """The tokens of a text, which a notebook shows in colour; arguments and errors are those of `visualise`.

        >>> from tokbench.backends.baseline import ByteBackend
        >>> ByteBackend().train([], ByteBackend.config_type()).viz("naïve")
        <5 characters: byte 6 tokens>
        """
        import tokbench  # its public names: what shows tokens stands above the tokenizers

        return tokbench.visualise([self], text, special=special, steps=steps)

    def batch(
        self: Tokenizer,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        *,
        template: bool = True,
        max_length: int | None = None,
        strategy: str = "longest_first",
        truncate_side: str = "right",
        stride: int = 0,
        overflow: bool = False,
        pad_to: int | Literal["longest"] = "longest",
        multiple_of: int | None = None,
        pad_side: str = "right",
        special: SpecialPolicy = SpecialPolicy.TEXT,
        dtype: str = "int64",
    ) -> Batch:
        """What a model gets of many texts, or of pairs of them, in arrays.

        Args:
            texts: the texts, or the first of each pair.
            pairs: the second of each.
            template: whether the special tokens are put around them that the tokenizer's files ask for.
            max_length: the most tokens of a row, those of the template included; None does not truncate.
            strategy: what is cut of a pair: "longest_first", "only_first" or "only_second".
            truncate_side: the end that is cut, "left" or "right".
            stride: tokens that a window has in common with the one before it.
            overflow: whether what is cut off follows in rows of its own; `Batch.documents` tells whose they are.
            pad_to: how many tokens each row gets, or as many as the longest has.
            multiple_of: the number of tokens is brought to a multiple of this.
            pad_side: the end that is filled.
            special: what the text of a special token becomes.
            dtype: "int64", "int32", "uint32" or "uint16".

        Raises:
            ConfigError: values that mean nothing; no token has the role pad, and a row is too short.
            TextError: a text that cannot be truncated as asked, a row longer than `pad_to`, a lone surrogate.
            SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.

        >>> from tokbench.backends.baseline import ByteBackend
        >>> from tokbench.formats.tokenizer_config.roles import with_roles
        >>> made = ByteBackend().train([], ByteBackend.config_type(special_tokens=("<pad>",)))
        >>> with_roles(made, roles={"pad": "<pad>"}).batch(["ab", "c"]).ids.tolist()
        [[97, 98], [99, 256]]
        """
        from tokbench.core.argument_types import texts_of
        from tokbench.core.batches import batch_of
        from tokbench.core.truncation import TruncationPlan

        return batch_of(
            self,
            texts_of(texts),
            None if pairs is None else texts_of(pairs),
            special=special,
            template=template,
            truncation=TruncationPlan(
                max_length=max_length,
                strategy=strategy,
                side=truncate_side,
                stride=stride,
                overflow=overflow,
            ),
            padding=_padding(pad_to, multiple_of=multiple_of, side=pad_side),
            dtype=dtype,
        )

    def pad(
        self: Tokenizer,
        batch: Encoded | Iterable[Sequence[int]],
        *,
        to: int | Literal["longest"] = "longest",
        multiple_of: int | None = None,
        side: str = "right",
        dtype: str = "int64",
    ) -> Batch:
        """Ids of many texts in arrays of the same length, padded with the token of the role pad.

        Args:
            batch: what `encode_batch` gives, or a list of ids for each text.
            to: how many tokens each gets, or as many as the longest has.
            multiple_of: the number of tokens is brought to a multiple of this.
            side: the end that is filled, "left" or "right".
            dtype: "int64", "int32", "uint32" or "uint16".

        Raises:
            ConfigError: values that mean nothing; no token has the role pad, and a text is too short.
            TextError: a text is longer than `to`.

        >>> from tokbench.backends.baseline import ByteBackend
        >>> from tokbench.formats.tokenizer_config.roles import with_roles
        >>> made = ByteBackend().train([], ByteBackend.config_type(special_tokens=("<pad>",)))
        >>> with_roles(made, roles={"pad": "<pad>"}).pad([[97, 98], [99]], side="left").attention_mask.tolist()
        [[1, 1], [0, 1]]
        """
        from tokbench.core.batches import pad_rows, rows_of_ids

        plan = _padding(to, multiple_of=multiple_of, side=side)
        return pad_rows(self, rows_of_ids(batch), padding=plan, dtype=dtype)

    def truncate(
        self: Tokenizer,
        text: str,
        max_tokens: int,
        *,
        side: Literal["left", "right"] = "right",
        special: SpecialPolicy = SpecialPolicy.TEXT,
    ) -> str:
        """The text of the first or last tokens of a text, in whole characters; arguments as `truncated_text` takes.

        Raises:
            ConfigError: a number or a side that cannot be.
            TextError: a lone surrogate.

        >>> from tokbench.backends.baseline import ByteBackend
        >>> ByteBackend().train([], ByteBackend.config_type()).truncate("naïve", 4, side="left")
        'ïve'
        """
        from tokbench.core.text_ends import truncated_text

        return truncated_text(self, text, max_tokens, side=side, special=special)

    def chunk(
        self: Tokenizer,
        text: str,
        *,
        max_tokens: int,
        overlap: int = 0,
        respect: Literal["paragraphs", "lines", "sentences"] | None = None,
        special: SpecialPolicy = SpecialPolicy.TEXT,
        template: bool = False,
    ) -> list[Chunk]:
        """A text in chunks of at most `max_tokens` tokens, for retrieval; arguments and errors are those of
        `chunks_of`.

        >>> from tokbench.backends.baseline import ByteBackend
        >>> made = ByteBackend().train([], ByteBackend.config_type())
        >>> [chunk.text for chunk in made.chunk("one two three", max_tokens=8)]
        ['one two', ' three']
        """
        from tokbench.core.chunking import chunks_of

        chunks = chunks_of(
            self,
            text,
            max_tokens=max_tokens,
            overlap=overlap,
            respect=respect,
            special=special,
            template=template,
        )
        return list(chunks)


def _padding(to: int | Literal["longest"], *, multiple_of: int | None, side: str) -> PaddingPlan:
    from tokbench.core.batches import PaddingPlan

    return PaddingPlan(length=None if to == "longest" else to, multiple_of=multiple_of, side=side)
