"""Encode conversations: ids, the loss mask, and findings where content spells control tokens."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.chat.encoding import ASSISTANT, EncodedChat, trusted_ranges
from tokbench.chat.rendered import COMPUTED, Rendered
from tokbench.chat.shortening import shortened
from tokbench.core.guarded import control_tokens
from tokbench.core.result_json import tokenizer_fields
from tokbench.core.token_arrays import character_offsets
from tokbench.errors import TemplateError
from tokbench.formats.tokenizer_config.fields import config_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tokbench.chat.conversation import Conversation
    from tokbench.chat.conversation_files import ReadConversation
    from tokbench.chat.template import ChatTemplate
    from tokbench.core.interfaces import Tokenizer, TokenizerInfo

_LISTS = ("tools", "documents")
"""The lists of a conversation besides its messages."""


@dataclass(frozen=True, slots=True)
class SeamDifference:
    """A stretch of text whose ids differ when each segment is encoded by itself.

    Attributes:
        start: offset of its first byte in the rendered text.
        stop: offset after its last byte.
        text: the text.
        joint: its ids when the text between control tokens is encoded together.
        apart: its ids when each segment is encoded by itself.
    """

    start: int
    stop: int
    text: str
    joint: tuple[int, ...]
    apart: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MaskDifference:
    """A stretch of text on which `{% generation %}` blocks and the turns found without them disagree.

    Attributes:
        start: offset of its first byte in the rendered text.
        stop: offset after its last byte.
        text: the text.
        generated: whether it is in a `{% generation %}` block; otherwise it is only in a turn.
    """

    start: int
    stop: int
    text: str
    generated: bool


@dataclass(frozen=True, slots=True)
class ChatResult:
    """An encoded conversation.

    Attributes:
        place: where it was read.
        template: name of the template.
        info: the tokenizer.
        roles: the role of each encoded message.
        chat: ids, loss mask, spans and origins.
        pieces: the bytes of each token.
        dropped: number of messages that were dropped to stay within the limit.
        seams: where encoding each segment by itself gives different ids; None if that was not requested.
        mask_differences: where `{% generation %}` blocks disagree with the turns; empty without such blocks.
        missing_tokens: texts that the template writes and the tokenizer's files list as special, but without a token.
        left_out: paths of the parts of the conversation of which the template writes nothing, such as
            `messages[0].content` or `tools`; empty if it writes text that it computed from unknown parts.
        has_prompt: whether the template writes the generation prompt; None if that was not requested.
    """

    place: str
    template: str
    info: TokenizerInfo
    roles: tuple[str, ...]
    chat: EncodedChat
    pieces: tuple[bytes, ...]
    dropped: int = 0
    seams: tuple[SeamDifference, ...] | None = None
    mask_differences: tuple[MaskDifference, ...] = ()
    missing_tokens: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    has_prompt: bool | None = None

    @property
    def sections(self) -> list[str | None]:
        """The section of each token: the role of its message, or "tools" or "documents" for the text of these lists.

        A list lasts from its first token to its last, with the white space after it. None for the rest of the template.
        """
        messages = self.chat.message_index.tolist()
        sections = [self.roles[message] if message >= 0 else None for message in messages]
        named = [_first_name(origin.field or "") for origin in self.chat.origins]
        for name in _LISTS:
            own = [place for place, found in enumerate(named) if found == name and messages[place] < 0]
            stop = own[-1] + 1 if own else 0
            while own and stop < len(named) and self.pieces[stop].isspace():
                stop += 1
            for place in range(own[0] if own else 0, stop):
                sections[place] = sections[place] or name
        return sections

    @property
    def tokens_by_role(self) -> dict[str, int]:
        """Section → number of its tokens, in order of first use; those of no section are under "template"."""
        return dict(Counter(section or "template" for section in self.sections))

    @property
    def learned(self) -> int:
        """Number of tokens that the model is trained on."""
        return int(self.chat.loss_mask.sum())

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        chat = self.chat
        return {
            "schema": "tokbench.chat/1",
            "source": self.place,
            "template": self.template,
            **tokenizer_fields(self.info),
            "text": chat.rendered.text,
            "ids": chat.ids.tolist(),
            "loss_mask": chat.loss_mask.tolist(),
            "message_index": [None if each < 0 else each for each in chat.message_index.tolist()],
            "origins": [origin.field or "template" for origin in chat.origins],
            "spans": np.stack([chat.starts, chat.stops], axis=1).tolist() if len(chat) else [],
            "tokens": [piece.decode(errors="replace") for piece in self.pieces],
            "roles": list(self.roles),
            "tokens_by_role": self.tokens_by_role,
            "learned_tokens": self.learned,
            "dropped_messages": self.dropped,
            "findings": [each._asdict() for each in chat.findings],
            "seams": None if self.seams is None else [asdict(each) for each in self.seams],
            "mask_differences": [asdict(each) for each in self.mask_differences],
            "missing_tokens": list(self.missing_tokens),
            "left_out": list(self.left_out),
            "has_prompt": self.has_prompt,
        }

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that `--npz` writes: ids, loss_mask, message_index, and offsets as int64[N, 2]."""
        return {
            "ids": self.chat.ids,
            "loss_mask": self.chat.loss_mask,
            "message_index": self.chat.message_index,
            "offsets": np.stack([self.chat.starts, self.chat.stops], axis=1),
        }


def encode_conversations(
    tokenizer: Tokenizer,
    template: ChatTemplate,
    conversations: Sequence[ReadConversation],
    *,
    prompt: bool = False,
    train_on: Collection[str] = ASSISTANT,
    by_segment: bool = False,
    max_tokens: int | None = None,
) -> Iterator[ChatResult]:
    """Encode conversations, with their findings.

    Args:
        tokenizer: any tokenizer.
        template: the template that renders the conversations.
        conversations: the conversations; several at once take less time each.
        prompt: whether they end with the generation prompt of the assistant.
        train_on: the roles whose turns are learned.
        by_segment: whether to encode each segment of one origin by itself, and report where that changes ids.
        max_tokens: drop whole turns, the oldest first, until at most this many tokens are left.

    Yields:
        The result of each conversation. If one is refused, the results before it are yielded first.

    Raises:
        TemplateError: the template refuses a conversation, or it does not fit; the message names its place.
        TextError: a conversation contains a lone surrogate.
    """
    given = [conversation.conversation for conversation in conversations]
    dropped = [0] * len(given)
    failure: TemplateError | None = None
    if max_tokens is not None:
        for number, conversation in enumerate(given):
            try:
                given[number], dropped[number] = shortened(
                    template, tokenizer, conversation, max_tokens=max_tokens, prompt=prompt
                )
            except TemplateError as error:
                given, failure = given[:number], error
                break
    rendered: list[Rendered] = []
    for result in template.render_many(given, prompt=prompt, tokenizer=tokenizer):
        if not isinstance(result, Rendered):
            given, failure = given[: len(rendered)], result
            break
        rendered.append(result)
    known = control_tokens(tokenizer)
    listed = [text for text in config_of(tokenizer).special_texts if text not in known]
    joint = template.encode_rendered(tokenizer, given, rendered, train_on=train_on)
    shown = joint
    if by_segment:
        shown = template.encode_rendered(tokenizer, given, rendered, train_on=train_on, by_segment=True)
    token_bytes = lru_cache(maxsize=1 << 16)(tokenizer.token_bytes)
    for number, chat in enumerate(shown):
        roles = tuple(str(message["role"]) for message in given[number].messages)
        yield ChatResult(
            place=conversations[number].place,
            template=template.name,
            info=tokenizer.info,
            roles=roles,
            chat=chat,
            pieces=tuple(map(token_bytes, chat.ids.tolist())),
            dropped=dropped[number],
            seams=_seam_differences(joint[number], chat) if by_segment else None,
            mask_differences=_mask_differences(chat.rendered, roles, frozenset(train_on)),
            missing_tokens=_missing(chat.rendered, listed),
            left_out=tuple(_left_out(given[number], rendered[number])),
            has_prompt=(rendered[number].ends_with_prompt or not template.sources) if prompt else None,
        )
    if failure is not None:
        refused = conversations[len(given)]
        hint = failure.hint or _hint_on_null(failure.message, refused.conversation)
        raise TemplateError(f"{refused.place}: {failure.message}", hint=hint)


def _hint_on_null(message: str, conversation: Conversation) -> str | None:
    """Return a hint if a template misses content that is null: null fields do not reach it, as in transformers 5."""
    null = [index for index, each in enumerate(conversation.messages) if each.get("content") is None]
    if not null or "'content'" not in message:
        return None
    return f'the content of messages[{null[0]}] is null: give "" for an empty message'


def _missing(rendered: Rendered, listed: Sequence[str]) -> tuple[str, ...]:
    """Return the listed texts that the template itself writes."""
    if not listed:
        return ()
    own = [rendered.text[start:stop] for start, stop in trusted_ranges(rendered)]
    return tuple(text for text in listed if any(text in part for part in own))


def _left_out(conversation: Conversation, rendered: Rendered) -> Iterator[str]:
    """Yield the paths of the parts of a conversation of which the template writes nothing."""
    origins = set(rendered.runs.origins)
    if COMPUTED in origins:
        return
    written = {(origin.message, _first_name(origin.field)) for origin in origins if origin.field}
    for index, message in enumerate(conversation.messages):
        for name in ("content", "tool_calls"):
            if _has_text(message.get(name)) and (index, name) not in written:
                yield f"messages[{index}].{name}"
    for name in _LISTS:
        if getattr(conversation, name) and (None, name) not in written:
            yield name


def _first_name(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _has_text(value: Any) -> bool:
    """Whether a field of a message has text: any text but white space, which templates strip, or a tool call."""
    if isinstance(value, str):
        return bool(value.strip())
    parts = value if isinstance(value, list | tuple) else []
    return any(
        _has_text(part.get("text")) or "function" in part for part in parts if isinstance(part, Mapping)
    )


def _seam_differences(joint: EncodedChat, apart: EncodedChat) -> tuple[SeamDifference, ...]:
    """Find the shortest stretches between token boundaries that both encodings share where their ids differ."""
    data = joint.rendered.text.encode()
    shared = sorted({0, len(data)} | (set(joint.stops.tolist()) & set(apart.stops.tolist())))
    differences: list[SeamDifference] = []
    for start, stop in itertools.pairwise(shared):
        ids, apart_ids = (_ids_between(chat, start, stop) for chat in (joint, apart))
        if ids != apart_ids:
            differences.append(
                SeamDifference(start, stop, data[start:stop].decode(errors="replace"), ids, apart_ids)
            )
    return tuple(differences)


def _ids_between(chat: EncodedChat, start: int, stop: int) -> tuple[int, ...]:
    first, last = np.searchsorted(chat.stops, [start, stop], side="right").tolist()
    return tuple(chat.ids[first:last].tolist())


def _mask_differences(
    rendered: Rendered, roles: Sequence[str], train_on: frozenset[str]
) -> tuple[MaskDifference, ...]:
    if rendered.generated is None or train_on != ASSISTANT:
        return ()
    turns = [(turn.start, turn.stop) for turn in rendered.turns if roles[turn.message] in train_on]
    marks = np.zeros((2, len(rendered.text) + 1), np.int8)
    for row, ranges in enumerate((rendered.generated, turns)):
        for start, stop in ranges:
            marks[row, start:stop] = 1
    differs = marks[0].astype(np.int16) - marks[1]
    edges = np.flatnonzero(np.diff(differs, prepend=0, append=0))
    places = character_offsets(rendered.text)
    differences: list[MaskDifference] = []
    for start, stop in zip(edges.tolist(), edges.tolist()[1:], strict=False):
        if differs[start]:
            text = rendered.text[start:stop]
            differences.append(
                MaskDifference(
                    int(places[start]), int(places[stop]), text, generated=bool(differs[start] > 0)
                )
            )
    return tuple(differences)
