"""The convenience methods of every tokenizer, for use from Python."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

from tokbench.core.argument_types import ChecksArguments, plain_int
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike
    from typing import SupportsIndex

    import tiktoken

    from tokbench.chat.encoding import EncodedChat
    from tokbench.chat.template import ChatTemplate
    from tokbench.core.batches import Batch, PaddingPlan
    from tokbench.core.chunking import Chunk
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.pickled import Origin, Pickled
    from tokbench.core.tokens import Encoded
    from tokbench.workbench.viz import VizResult


class PlainUse(ChecksArguments):
    """`repr`, calling, copies, `vocab_size`, roles and batches, for every tokenizer.

    Attributes:
        origin: the file or data from which it can be opened again; None for a tokenizer that has to be saved first.
    """

    origin: Origin | None = None

    def __repr__(self: Tokenizer) -> str:
        """Return a short form: backend, name, size and kernel."""
        info = self.info
        return f"<{info.backend} tokenizer {info.name!r}, {info.vocab_size:,} tokens, {info.kernel}>"

    def __call__(self: Tokenizer, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """Encode a text; the same as `encode`."""
        return self.encode(text, special=special)

    def __copy__(self) -> Self:
        """Return a copy with the same vocabulary, which may get roles of its own."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy

    def __deepcopy__(self, memo: object) -> Self:
        """Return a shallow copy: the data that copies share is never modified."""
        del memo
        return self.__copy__()

    def __reduce__(self: Tokenizer) -> Pickled:
        """Return what `pickle` writes, for other processes; see `tokbench.core.pickled`. Raises `ConversionError`."""
        from tokbench.core.pickled import SavedFiles

        return (self.origin or SavedFiles.of(self)).pickled(self)  # type: ignore[attr-defined]

    @cached_property  # not a property: a tokenizer of another package may assign an attribute of this name
    def vocab_size(self: Tokenizer) -> int:
        """The number of ids, including those of special tokens and ids without a token."""
        return self.info.vocab_size

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """A mapping from role ("bos", "turn_end", …) to the text of its special token; see `tokbench.core.roles`."""
        return {}

    @cached_property
    def role_ids(self) -> Mapping[str, int]:
        """A mapping from role to the id of its special token."""
        return {}

    def render(
        self: Tokenizer,
        messages: Sequence[Mapping[str, Any]],
        *,
        template: ChatTemplate | str | PathLike[str] = "auto",
        **options: Any,
    ) -> EncodedChat:
        """Encode a conversation with its loss mask.

        Args:
            messages: mappings, each with a `role` and the fields that the template uses: `content`, `tool_calls`, …
            template: a `tokbench.ChatTemplate`, or a name or path that `ChatTemplate.of` accepts.
            options: options of `ChatTemplate.encode`: `tools`, `prompt`, `train_on`, `max_tokens`, …

        Raises:
            TemplateError: there is no such template, or it refuses the conversation.
            ModelFormatError: the messages are not a conversation.

        Usage:

            chat = tokenizer.render([{"role": "user", "content": "Hi"}], template="chatml", prompt=True)
            chat.ids, chat.loss_mask
        """
        import tokbench  # its lazy public names: chat/ stands above core/

        if not isinstance(template, tokbench.ChatTemplate):
            template = tokbench.ChatTemplate.of(self, template)
        return template.encode(self, messages, **options)

    def to_tiktoken(self: Tokenizer) -> tiktoken.Encoding:
        """Return the same tokenizer as a `tiktoken.Encoding`, which a byte-level BPE with ranks can be.

        Raises:
            ConversionError: tiktoken cannot represent the tokenizer, or only after a conversion of its file.
        """
        raise ConversionError(
            f"tiktoken runs byte-level BPE by the ranks of its tokens, and {self.info.name!r} ({self.info.backend}) "
            "is more or another algorithm",
            hint="`tokbench convert --to tiktoken` says what prevents it, or writes a file with the same ids",
        )

    def viz(
        self: Tokenizer, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT, steps: bool = False
    ) -> VizResult:
        """Return the tokens of a text, which a notebook shows in colour; arguments and errors are those of `visualise`.

        >>> from tokbench.backends.baseline import ByteBackend
        >>> ByteBackend().train([], ByteBackend.config_type()).viz("naïve")
        <5 characters: byte 6 tokens>
        """
        import tokbench  # its lazy public names: workbench/ stands above core/

        return tokbench.visualise([self], text, special=special, steps=steps)

    def batch(
        self: Tokenizer,
        texts: Iterable[str],
        pairs: Iterable[str] | None = None,
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
        """Return the model input of many texts, or of pairs, as arrays.

        Args:
            texts: the texts, or the first of each pair.
            pairs: the second of each pair.
            template: whether to add the special tokens that the tokenizer's files put around texts.
            max_length: the most tokens of a row, including those of the template; None does not truncate.
            strategy: which text of a pair is truncated: "longest_first", "only_first" or "only_second".
            truncate_side: the end that is truncated, "left" or "right".
            stride: the number of tokens that a window shares with the one before it.
            overflow: whether truncated tokens follow in rows of their own; `Batch.documents` names the text of each
                row.
            pad_to: the number of tokens of each row, or "longest" for that of the longest row.
            multiple_of: the number of tokens is rounded up to a multiple of this.
            pad_side: the end that is padded.
            special: what the text of a special token becomes.
            dtype: "int64", "int32", "uint32" or "uint16".

        Raises:
            ConfigError: a value is invalid; a row is too short and no token has the role pad.
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
                max_length=plain_int(max_length),
                strategy=strategy,
                side=truncate_side,
                stride=plain_int(stride),
                overflow=overflow,
            ),
            padding=_padding(pad_to, multiple_of=multiple_of, side=pad_side),
            dtype=dtype,
        )

    def pad(
        self: Tokenizer,
        batch: Encoded | Iterable[Iterable[SupportsIndex]],
        *,
        to: int | Literal["longest"] = "longest",
        multiple_of: int | None = None,
        side: str = "right",
        dtype: str = "int64",
    ) -> Batch:
        """Return ids of many texts as arrays of equal length, padded with the token whose role is pad.

        Args:
            batch: the result of `encode_batch`, or a list of ids for each text.
            to: the number of tokens of each row, or "longest" for that of the longest row.
            multiple_of: the number of tokens is rounded up to a multiple of this.
            side: the end that is padded, "left" or "right".
            dtype: "int64", "int32", "uint32" or "uint16".

        Raises:
            ConfigError: a value is invalid; a text is too short and no token has the role pad.
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
        """Return the text of the first or last tokens, in whole characters; arguments are those of `truncated_text`.

        Raises:
            ConfigError: an invalid number or side.
            TextError: a lone surrogate.

        >>> from tokbench.backends.baseline import ByteBackend
        >>> ByteBackend().train([], ByteBackend.config_type()).truncate("naïve", 4, side="left")
        'ïve'
        """
        from tokbench.core.truncation import truncated_text

        return truncated_text(self, text, plain_int(max_tokens), side=side, special=special)

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
        """Cut a text into chunks of at most `max_tokens` tokens, for retrieval; arguments and errors are those of
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
            max_tokens=plain_int(max_tokens),
            overlap=plain_int(overlap),
            respect=respect,
            special=special,
            template=template,
        )
        return list(chunks)


def _padding(to: int | Literal["longest"], *, multiple_of: int | None, side: str) -> PaddingPlan:
    from tokbench.core.batches import PaddingPlan

    length = None if to == "longest" else plain_int(to)
    return PaddingPlan(length=length, multiple_of=plain_int(multiple_of), side=side)


if TYPE_CHECKING:

    class OpenedTokenizer(PlainUse, Tokenizer):
        """The type of tokenizers from `tokbench.load` and `tokbench.train`: the protocol and the methods above.

        Every tokenizer takes more types of arguments than the protocol asks of it; see `ChecksArguments`.
        """

        def encode_batch(
            self,
            texts: Iterable[str],
            *,
            special: SpecialPolicy = SpecialPolicy.TEXT,
            threads: SupportsIndex | None = None,
        ) -> Encoded:
            """Encode many texts into arrays; `threads=None` takes every processor."""

        def decode_bytes(self, ids: Iterable[SupportsIndex]) -> bytes:
            """Decode ids to bytes. Raises `UnknownIdError`, and `DecodeError` for what are not ids."""

        def decode(self, ids: Iterable[SupportsIndex], *, errors: str = "replace") -> str:
            """Decode ids to text; incomplete characters become U+FFFD, or raise `DecodeError` under "strict"."""

        def token_bytes(self, id: SupportsIndex) -> bytes:
            """Return the bytes of one token. Raises `UnknownIdError`."""
