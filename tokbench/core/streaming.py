"""Decoding of ids as they arrive: each part ends at a character boundary, and the parts join to what `decode` gives."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from tokbench.core.argument_types import check_errors, one_or_more_ids, whole_ids
from tokbench.core.capabilities import Decoding, TellsDecoding
from tokbench.core.roles import check_role, role_ids_of
from tokbench.core.wording import counted
from tokbench.errors import ConfigError, DecodeError, UnknownIdError

if TYPE_CHECKING:
    from typing import SupportsIndex

    from tokbench.core.interfaces import Tokenizer

    Stop = SupportsIndex | str


class StreamingDecoder:
    """Decodes ids incrementally; the returned texts join to the text of all ids, however the ids are divided.

    If the tokenizer joins the bytes of its tokens, at most the three bytes of an incomplete character are held back.
    If a token's text depends on the tokens before it (SentencePiece's prefix space, the "##" of WordPiece), it is
    decoded after a few of them: the tokens with which the text begins, the latest special token and the token that
    begins the text after it, and the previous token. If it may depend on the tokens that follow, as with decoders that
    tokbench does not know, `finish` returns the whole text. `Tokenizer.decode` defines the result.

    >>> from tokbench.backends.baseline import ByteBackend
    >>> tokenizer = ByteBackend().train([], ByteBackend.config_type())
    >>> decoder = StreamingDecoder(tokenizer)
    >>> [decoder.feed(id) for id in "aé".encode()] + [decoder.finish()]
    ['a', '', 'é', '']

    With `stop`, decoding ends at one of the ids; later ids produce no text.

    >>> decoder = StreamingDecoder(tokenizer, stop=[33])
    >>> decoder.feed(list(b"end! of it")) + decoder.finish(), decoder.finished, decoder.stop_id
    ('end', True, 33)

    Attributes:
        stop_id: the id that ended the text; None until one has.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        errors: str = "replace",
        stop: Stop | Iterable[Stop] = (),
        skip_special: bool = False,
    ) -> None:
        """Begin a text.

        Args:
            tokenizer: the tokenizer that decodes.
            errors: "replace" writes U+FFFD for bytes that are not whole characters, "strict" raises.
            stop: the ids that end a text, or roles of tokens, such as ("eos", "turn_end"), or one of these; the
                tokenizer must know at least one of the roles. The text of the ending token is not returned.
            skip_special: whether special tokens are skipped, as if they had not been fed.

        Raises:
            ConfigError: unknown `errors`, an unknown role, or none of the roles is known to the tokenizer.
            DecodeError: `tokenizer` is not a tokenizer, or `stop` has other values than ids and roles.
        """
        if not hasattr(tokenizer, "decode_bytes"):
            raise DecodeError(f"a stream needs a tokenizer, not {type(tokenizer).__name__}")
        check_errors(errors)
        self._tokenizer = tokenizer
        self._errors = errors
        self._decoding = tokenizer.decoding if isinstance(tokenizer, TellsDecoding) else Decoding.WHOLE
        self._specials = frozenset(tokenizer.info.special_tokens.values())
        self._stops = stop_ids(tokenizer, stop)
        self._skipped = self._specials if skip_special else frozenset()
        self.stop_id: int | None = None
        self._is_over = False
        self._begin()

    def __repr__(self) -> str:
        """Return a short form: the tokenizer's name, and the number of ids fed."""
        return f"<decoder of {self._tokenizer.info.name!r}, {counted(self._fed, 'id')} fed>"

    @property
    def finished(self) -> bool:
        """Whether an id of `stop` has ended the text; until `finish`, ids that are fed give no text."""
        return self.stop_id is not None

    def feed(self, ids: SupportsIndex | Iterable[SupportsIndex]) -> str:
        """Return the text that is certain after one more id, or several.

        Raises:
            UnknownIdError: an id that is not in the vocabulary; its position counts from the first id fed.
            DecodeError: bytes that are not a character, under "strict". The decoder cannot continue this text.
        """
        some = one_or_more_ids(ids)
        if self._is_over:  # a new text begins
            self._is_over, self.stop_id = False, None
        if self.finished:
            return ""
        if not self._stops and not self._skipped:
            return self._feed(some)
        parts = []
        for is_left_out, run in groupby(some, key=(self._stops | self._skipped).__contains__):
            if not is_left_out:
                parts.append(self._feed(list(run)))
                continue
            for id in run:
                self._fed += 1
                if id in self._stops:
                    self.stop_id = id
                    return "".join(parts)
        return "".join(parts)

    def _feed(self, some: list[int]) -> str:
        if not some:
            return ""
        if self._decoding is Decoding.WHOLE:
            self._decode(some, before=0)  # raises for an unknown id at once
            self._held += some
            self._fed += len(some)
            return ""
        if self._decoding is Decoding.JOINED:
            data = self._decode(some, before=0)
        else:
            known = self._decode(self._context, before=len(self._context))
            data = self._decode([*self._context, *some], before=len(self._context))[len(known) :]
            self._move_context(some)
        self._fed += len(some)
        return self._characters(data, is_last=False)

    def finish(self) -> str:
        """Return the text that was held back; the next id begins a new text.

        Raises:
            DecodeError: the held bytes are not a whole character, under "strict".
        """
        try:
            data = self._tokenizer.decode_bytes(self._held) if self._held else b""
            return self._characters(data, is_last=True)
        finally:
            self._begin()
            self._is_over = True

    def _begin(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")(self._errors)
        self._held: list[int] = []
        self._fed = 0
        self._bytes = 0
        self._beginning: list[int] = []
        self._anchor: list[int] = []
        self._is_anchored = False
        self._context: list[int] = []

    def _decode(self, ids: list[int], *, before: int) -> bytes:
        """Decode ids, the first `before` of which were fed earlier."""
        try:
            return self._tokenizer.decode_bytes(ids)
        except UnknownIdError as error:
            position = self._fed + error.position - before
            raise UnknownIdError(error.id, position, error.vocab_size) from None

    def _move_context(self, ids: list[int]) -> None:
        """Update the ids after which the next ones are decoded: the ids that begin the text, and the last id."""
        latest = max((place for place, id in enumerate(ids) if id in self._specials), default=None)
        if latest is not None:  # after it the text may begin anew, or just continue
            self._extend_anchor(ids[:latest])
            self._anchor, self._is_anchored = [*(self._beginning or self._anchor), ids[latest]], False
            if not self._beginning and self._tokenizer.decode_bytes(self._anchor):
                self._beginning = self._anchor
            ids = ids[latest + 1 :]
        last = ids[-1] if ids else None
        self._extend_anchor(ids)
        self._context = [*self._anchor, last] if self._is_anchored and last is not None else self._anchor

    def _extend_anchor(self, ids: list[int]) -> None:
        """Append ids to the anchor until one of them adds to the text."""
        for id in ids:
            if self._is_anchored:
                break
            before = self._tokenizer.decode_bytes(self._anchor)
            self._anchor = [*self._anchor, id]
            self._is_anchored = self._tokenizer.decode_bytes(self._anchor) != before
        if self._is_anchored:
            self._beginning = self._beginning or self._anchor

    def _characters(self, data: bytes, *, is_last: bool) -> str:
        held = len(self._utf8.getstate()[0])
        try:
            text = self._utf8.decode(data, final=is_last)
        except UnicodeDecodeError as error:
            place = self._bytes - held + error.start
            raise DecodeError(
                f"the ids do not decode to whole characters: byte {place} "
                f"(0x{error.object[error.start]:02X}) of their text",
                hint='errors="replace" (--errors replace) writes U+FFFD for incomplete characters',
            ) from None
        self._bytes += len(data)
        return text


def stop_ids(tokenizer: Tokenizer, stop: Stop | Iterable[Stop]) -> frozenset[int]:
    """Return the ids that end a text.

    Args:
        tokenizer: the tokenizer whose roles are used.
        stop: ids, and roles of tokens.

    Raises:
        ConfigError: an unknown role, or none of the roles is known to the tokenizer.
    """
    stops = [stop] if isinstance(stop, str) or not isinstance(stop, Iterable) else list(stop)
    roles = [stop_item for stop_item in stops if isinstance(stop_item, str)]
    for role in roles:
        check_role(role)
    known = role_ids_of(tokenizer)
    if roles and not known.keys() & set(roles):
        raise ConfigError(
            f"{tokenizer.info.name!r} has no token with the role {' or '.join(roles)}",
            hint=f"give its id, or in Python say which it is: tokbench.load(…, roles={{{roles[0]!r}: TEXT}})",
        )
    ids = whole_ids([stop_item for stop_item in stops if not isinstance(stop_item, str)])
    return frozenset([*ids, *(known[role] for role in roles if role in known)])
