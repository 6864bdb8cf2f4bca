"""Encode conversations to ids, with the loss mask, message and offsets of each token for training.

A control token is recognized only if all of its characters are the template's own (`tokbench.core.guarded`). In
content, the same text stays ordinary text, and is reported as a finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.chat.rendered import Origin
from tokbench.chat.token_places import TokenPlaces
from tokbench.core.guarded import GuardedTexts, encode_guarded
from tokbench.core.token_arrays import character_offsets, offsets_of
from tokbench.core.tokens import Encoded, EncodedSpans, EqualArrays
from tokbench.core.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from tokbench.chat.rendered import Rendered
    from tokbench.core.guarded import Refused
    from tokbench.core.interfaces import Tokenizer

ASSISTANT = frozenset({"assistant"})
"""The roles whose turns are learned by default."""

_BATCH_CHARACTERS = 1 << 18
"""Approximate number of characters encoded in one batch: 300 KB is 1.4 times as fast as 5 MB."""


class Finding(NamedTuple):
    """Text that spells a control token but is not the template's own, and therefore stays text.

    Attributes:
        message: index of its message; None outside of messages, as in the schema of a tool.
        field: the field that contains its first content character, such as `content`.
        token: the control token that it spells.
        start: index of its first character in the rendered text.
        stop: index after its last character.
        crosses: whether parts of it come from another field or from the template.
    """

    message: int | None
    field: str
    token: str
    start: int
    stop: int
    crosses: bool


@dataclass(frozen=True, slots=True, eq=False)
class EncodedChat(EqualArrays):
    """A conversation as ids.

    Attributes:
        rendered: the conversation as text.
        ids: uint32[N].
        loss_mask: uint8[N], 1 for learned tokens.
        message_index: int32[N], the message of each token, by its first character; -1 outside of messages.
        starts: int64[N], start of each token in the rendered text, as UTF-8 byte offset.
        stops: int64[N], end of each token.
        kinds: uint8[N], kind of each token: 0 NORMAL, 1 BYTE, 2 UNKNOWN, 3 SPECIAL.
        findings: text in the content that spells control tokens.
    """

    rendered: Rendered
    ids: NDArray[np.uint32]
    loss_mask: NDArray[np.uint8]
    message_index: NDArray[np.int32]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        """Return a short summary: the number of ids, of learned ids, and of findings."""
        learned = int(self.loss_mask.sum())
        return (
            f"<{counted(len(self.ids), 'id')}, {learned:,} learned, {counted(len(self.findings), 'finding')}>"
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def origins(self) -> list[Origin]:
        """The origin of the first character of each token."""
        runs = self.rendered.runs
        edges = character_offsets(self.rendered.text)[list(runs.starts)]
        numbers = np.searchsorted(edges, self.starts, side="right") - 1
        return [runs.origins[number] for number in numbers.tolist()]


@dataclass(frozen=True, slots=True)
class EncodedChats:
    """Many conversations as ids, in arrays.

    Attributes:
        rendered: the conversations as text.
        spans: ids, spans and kinds, with the offsets of each conversation.
        loss_mask: uint8[N], 1 for learned tokens.
        message_index: int32[N], the message of each token.
        findings: the findings of each conversation.
    """

    rendered: Sequence[Rendered]
    spans: EncodedSpans
    loss_mask: NDArray[np.uint8]
    message_index: NDArray[np.int32]
    findings: Sequence[tuple[Finding, ...]]

    def __len__(self) -> int:
        return len(self.rendered)

    def __getitem__(self, index: int) -> EncodedChat:
        if not -len(self) <= index < len(self):
            raise IndexError(f"conversation {index} of {len(self)}")
        index %= len(self)
        offsets = self.spans.encoded.offsets
        own = slice(offsets[index], offsets[index + 1])
        return EncodedChat(
            rendered=self.rendered[index],
            ids=self.spans.encoded.ids[own],
            loss_mask=self.loss_mask[own],
            message_index=self.message_index[own],
            starts=self.spans.starts[own],
            stops=self.spans.stops[own],
            kinds=self.spans.kinds[own],
            findings=self.findings[index],
        )

    def __iter__(self) -> Iterator[EncodedChat]:
        return (self[index] for index in range(len(self)))


def learned_roles(train_on: str | Collection[str]) -> frozenset[str]:
    """Return the roles whose turns are learned, given as several or as one.

    >>> learned_roles("assistant") == learned_roles(["assistant"])
    True
    """
    return frozenset([train_on] if isinstance(train_on, str) else train_on)


def encode_chats(
    tokenizer: Tokenizer,
    rendered: Sequence[Rendered],
    *,
    roles: Sequence[Sequence[str]],
    train_on: str | Collection[str] = ASSISTANT,
    by_segment: bool = False,
    threads: int | None = None,
) -> EncodedChats:
    """Encode rendered conversations.

    Args:
        tokenizer: any tokenizer.
        rendered: the conversations, with turns (see `tokbench.chat.turns` if the renderer does not mark them).
        roles: the roles of each conversation's messages.
        train_on: the roles whose turns are learned, or one of them. If that is only the assistant, and the template
            marks generated text with `{% generation %}`, the marked text is learned instead.
        by_segment: whether to encode each segment of one origin by itself, instead of all text between two control
            tokens together.
        threads: None uses every processor; the result does not depend on it.

    Raises:
        TextError: a text contains a lone surrogate.
    """
    wanted = learned_roles(train_on)
    parts = [
        _encode_batch(
            tokenizer, rendered[batch], roles[batch], wanted, by_segment=by_segment, threads=threads
        )
        for batch in _batches(rendered)
    ]
    return parts[0] if len(parts) == 1 else _concatenated(parts)


def _batches(rendered: Sequence[Rendered]) -> Iterator[slice]:
    """Yield slices of consecutive texts, small enough that token data stays in the CPU caches."""
    start, size = 0, 0
    for number, conversation in enumerate(rendered):
        size += len(conversation.text)
        if size >= _BATCH_CHARACTERS:
            yield slice(start, number + 1)
            start, size = number + 1, 0
    if start < len(rendered) or not rendered:
        yield slice(start, len(rendered))


def _concatenated(parts: Sequence[EncodedChats]) -> EncodedChats:
    """Concatenate encoded conversations."""
    counts = np.concatenate([part.spans.encoded.counts for part in parts])
    spans = EncodedSpans(
        Encoded(np.concatenate([part.spans.encoded.ids for part in parts]), offsets_of(counts)),
        np.concatenate([part.spans.starts for part in parts]),
        np.concatenate([part.spans.stops for part in parts]),
        np.concatenate([part.spans.kinds for part in parts]),
    )
    return EncodedChats(
        rendered=list(chain.from_iterable(part.rendered for part in parts)),
        spans=spans,
        loss_mask=np.concatenate([part.loss_mask for part in parts]),
        message_index=np.concatenate([part.message_index for part in parts]),
        findings=list(chain.from_iterable(part.findings for part in parts)),
    )


def _encode_batch(
    tokenizer: Tokenizer,
    rendered: Sequence[Rendered],
    roles: Sequence[Sequence[str]],
    wanted: frozenset[str],
    *,
    by_segment: bool,
    threads: int | None,
) -> EncodedChats:
    guarded = (
        _encode_segments(tokenizer, rendered, threads)
        if by_segment
        else _encode(tokenizer, rendered, threads)
    )
    places = TokenPlaces(rendered, guarded.spans)
    return EncodedChats(
        rendered=rendered,
        spans=guarded.spans,
        loss_mask=places.overlapping(
            [
                learned_ranges(conversation, own, wanted)
                for conversation, own in zip(rendered, roles, strict=True)
            ]
        ).astype(np.uint8),
        message_index=places.messages(),
        findings=_findings(rendered, guarded.refused),
    )


def trusted_ranges(rendered: Rendered) -> list[tuple[int, int]]:
    """Return the maximal ranges of characters that are the template's own."""
    ranges: list[tuple[int, int]] = []
    opened: int | None = None
    for start, (_, field) in zip(rendered.runs.starts, rendered.runs.origins, strict=True):
        if field is None:
            if opened is None:
                opened = start
        elif opened is not None:
            ranges.append((opened, start))
            opened = None
    if opened is not None:
        ranges.append((opened, rendered.runs.stop))
    return ranges


def _encode(tokenizer: Tokenizer, rendered: Sequence[Rendered], threads: int | None) -> GuardedTexts:
    texts = [conversation.text for conversation in rendered]
    return encode_guarded(
        tokenizer, texts, [trusted_ranges(conversation) for conversation in rendered], threads=threads
    )


def _encode_segments(tokenizer: Tokenizer, rendered: Sequence[Rendered], threads: int | None) -> GuardedTexts:
    """Encode each segment by itself, with offsets in the whole texts; refused tokens are those of the whole texts."""
    texts: list[str] = []
    trusted: list[list[tuple[int, int]]] = []
    counts: list[int] = []
    for conversation in rendered:
        segments = list(_segments(conversation))
        counts.append(len(segments))
        texts += [conversation.text[start:stop] for start, stop, _ in segments]
        trusted += [[(0, stop - start)] if is_template else [] for start, stop, is_template in segments]
    spans = encode_guarded(tokenizer, texts, trusted, threads=threads).spans
    owners = offsets_of(counts)
    sizes = offsets_of([len(text.encode()) for text in texts])
    moved = np.repeat(sizes[:-1] - np.repeat(sizes[owners[:-1]], counts), spans.encoded.counts)
    whole = EncodedSpans(
        Encoded(spans.encoded.ids, spans.encoded.offsets[owners]),
        spans.starts + moved,
        spans.stops + moved,
        spans.kinds,
    )
    return GuardedTexts(whole, _encode(tokenizer, rendered, threads).refused)


def _segments(rendered: Rendered) -> Iterator[tuple[int, int, bool]]:
    """Yield segments of one field of one message, or of the template: start, stop, whether it is the template's."""
    edges = [0]
    before: Origin | None = None
    for start, _, origin in rendered.runs:
        kept = Origin() if origin.is_template else origin
        if before is not None and kept != before:
            edges.append(start)
        before = kept
    edges.append(len(rendered.text))
    trusted = {start for start, _ in trusted_ranges(rendered)}
    yield from ((start, stop, start in trusted) for start, stop in pairwise(edges) if start < stop)


def learned_ranges(
    rendered: Rendered, roles: Sequence[str], wanted: frozenset[str] = ASSISTANT
) -> list[tuple[int, int]]:
    """Return the ranges of characters that are learned.

    Args:
        rendered: the text, with turns.
        roles: the role of each message.
        wanted: the roles whose turns are learned.
    """
    if rendered.generated is not None and wanted == ASSISTANT:
        return list(rendered.generated)
    return [(start, stop) for message, start, stop in rendered.turns if roles[message] in wanted]


def _findings(rendered: Sequence[Rendered], refused: Sequence[Refused]) -> list[tuple[Finding, ...]]:
    findings: list[list[Finding]] = [[] for _ in rendered]
    for number, start, stop, token in refused:
        findings[number].append(_finding(rendered[number], start, stop, token))
    return list(map(tuple, findings))


def _finding(rendered: Rendered, start: int, stop: int, token: str) -> Finding:
    touched = [run for run in rendered.runs if run.start < stop and start < run.stop]
    origin = next((run.origin for run in touched if run.origin.field is not None), Origin(field="template"))
    return Finding(origin.message, origin.field or "template", token, start, stop, crosses=len(touched) > 1)
