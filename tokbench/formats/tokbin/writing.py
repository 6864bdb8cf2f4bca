"""Writing of tokbin files."""

from __future__ import annotations

import math
import zlib
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from tokbench.core.post_processing import NOTHING
from tokbench.errors import ConversionError
from tokbench.formats.post_processors import dump_post_processing
from tokbench.formats.tokbin import layout
from tokbench.formats.tokbin.layout import Flag, Kind, Model, Section, Texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.descriptions import PostProcessing, TokenFlags

_MAX_U32 = 2**32 - 1
_COMPRESSION_LEVEL = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class TokbinContents:
    """The contents of a tokbin file.

    Attributes:
        model: the model type.
        texts: the strings of section 1.
        tokens: the bytes of each id, including the texts of special tokens; None if there is no such id.
        kinds: the kind of each id.
        scores: a number for each id; see `tokbench.formats.tokbin.layout`.
        special_tokens: text → id.
        merges: (left, right, merged) in the order of their ranks; for `Model.MERGES` only.
        payload: the data for a library; for `Model.SENTENCEPIECE` and `Model.TOKENIZER_JSON`.
        lossless: whether decoding restores every text.
        whole_tokens_first: whether a pre-token that is in the vocabulary becomes that token without a merge.
        config: the configuration for a model, from `dump_config`; empty if it is not known.
        token_flags: special token → its flags; for models without a payload.
        post_processing: how the ids of a text are post-processed; for models without a payload.
    """

    model: Model
    texts: Texts
    tokens: Sequence[bytes | None]
    kinds: Sequence[Kind]
    scores: Sequence[float]
    special_tokens: Mapping[str, int]
    merges: Sequence[tuple[int, int, int]] = ()
    payload: bytes = b""
    lossless: bool = False
    whole_tokens_first: bool = False
    config: bytes = b""
    token_flags: Mapping[str, TokenFlags] = field(default_factory=dict)
    post_processing: PostProcessing = NOTHING

    @property
    def has_input(self) -> bool:
        """Whether the file describes model input."""
        return bool(self.token_flags) or self.post_processing != NOTHING

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections of the file."""
        return layout.sections_of(self.model, config=bool(self.config), model_input=self.has_input)


def dump_tokbin(contents: TokbinContents) -> bytes:
    """Return the bytes of a tokbin file.

    Raises:
        ConversionError: the format cannot represent the contents.
        ValueError: the contents are inconsistent.
    """
    _check(contents)
    bodies, kinds = _sections(contents), contents.sections
    parts = [bodies[kind].ljust(layout.filled(len(bodies[kind])), b"\0") for kind in kinds]
    *starts, size = accumulate(map(len, parts), initial=layout.HEADER.size + layout.ENTRY.size * len(kinds))
    table = b"".join(
        layout.ENTRY.pack(kind, zlib.crc32(part), start, len(bodies[kind]))
        for kind, part, start in zip(kinds, parts, starts, strict=True)
    )
    header = _header(contents, file_size=size)
    checksum = layout.LENGTH.pack(zlib.crc32(table, zlib.crc32(header)))
    return b"".join([header, checksum, table, *parts])


def merge_scores(made: Sequence[int], *, num_ids: int) -> list[float]:
    """Return the scores of a BPE vocabulary.

    Args:
        made: the merged id of each rank.
        num_ids: the number of ids.

    Returns:
        -ln(rank + 1) for the result of the merge of that rank, -ln(merges + 1) for all other ids.

    >>> [round(score, 2) for score in merge_scores([2, 3], num_ids=4)]
    [-1.1, -1.1, 0.0, -0.69]
    """
    scores = [-math.log(len(made) + 1)] * num_ids
    for rank, id in reversed(list(enumerate(made))):  # of two merges with the same result the first counts
        scores[id] = 0.0 - math.log(rank + 1)
    return scores


def _header(contents: TokbinContents, *, file_size: int) -> bytes:
    """Return the header without the checksum at its end."""
    flags = Flag(0)
    if contents.lossless:
        flags |= Flag.LOSSLESS
    if contents.whole_tokens_first:
        flags |= Flag.WHOLE_TOKENS_FIRST
    if contents.config:
        flags |= Flag.CONFIG
    if contents.has_input:
        flags |= Flag.INPUT
    return layout.HEADER.pack(
        layout.MAGIC,
        layout.VERSION,
        contents.model,
        flags,
        len(contents.tokens),
        len(contents.merges),
        len(contents.special_tokens),
        len(contents.sections),
        file_size,
        len(contents.payload),
        bytes(12),
        0,
    )[: -layout.LENGTH.size]


def _check(contents: TokbinContents) -> None:
    ids = len(contents.tokens)
    if not len(contents.kinds) == len(contents.scores) == ids:
        raise ValueError("tokens, kinds and scores differ in number")
    if bool(contents.merges) and contents.model is not Model.MERGES:
        raise ValueError("only a model of listed merges has merges")
    if bool(contents.payload) != (Section.PAYLOAD in layout.sections_of(contents.model)):
        raise ValueError("a payload belongs to the models that a library runs, and to no other")
    if len(set(contents.special_tokens.values())) != len(contents.special_tokens):
        raise ConversionError("two special tokens have the same id")
    special = {id: text.encode() for text, id in contents.special_tokens.items()}
    for id, (token, kind) in enumerate(zip(contents.tokens, contents.kinds, strict=True)):
        if (token is None) != (kind is Kind.NONE) or (kind is Kind.SPECIAL) != (id in special):
            raise ValueError(f"id {id} is {token!r}, and its kind is {kind.name}")
        if id in special and token != special[id]:
            raise ValueError(f"the special token {id} has other bytes than its text")
    if len(contents.config) > layout.MAX_CONFIG:
        raise ConversionError(f"its chat templates and added tokens take more than {layout.MAX_CONFIG} bytes")
    if len(contents.payload) > layout.MAX_PAYLOAD:
        raise ConversionError(f"the model is larger than {layout.MAX_PAYLOAD} bytes")
    if sum(len(token or b"") for token in contents.tokens) > _MAX_U32 or ids >= _MAX_U32:
        raise ConversionError("the vocabulary is larger than 4 GB")


def _sections(contents: TokbinContents) -> dict[Section, bytes]:
    import numpy as np

    tokens = [token or b"" for token in contents.tokens]
    lengths = np.fromiter(map(len, tokens), np.uint32, len(tokens))
    by_id = sorted(contents.special_tokens.items(), key=lambda item: item[1])
    return {
        Section.TEXT: b"".join(map(_dump_text, contents.texts)),
        Section.SPECIAL: b"".join(
            layout.SPECIAL.pack(id, len(text.encode())) + text.encode() for text, id in by_id
        ),
        Section.KINDS: bytes(contents.kinds),
        Section.OFFSETS: np.concatenate([[0], np.cumsum(lengths, dtype=np.uint64)]).astype("<u4").tobytes(),
        Section.BYTES: b"".join(tokens),
        Section.SCORES: np.asarray(contents.scores, dtype="<f4").tobytes(),
        Section.MERGES: np.asarray(contents.merges, dtype="<u4").tobytes(),
        Section.CONFIG: contents.config,
        Section.PAYLOAD: zlib.compress(contents.payload, _COMPRESSION_LEVEL) if contents.payload else b"",
        Section.INPUT: _dump_input(contents.token_flags, contents.post_processing),
    }


def _dump_text(text: str | None) -> bytes:
    if text is None:
        return layout.LENGTH.pack(layout.NO_TEXT)
    data = text.encode()
    return layout.LENGTH.pack(len(data)) + data


def _dump_input(token_flags: Mapping[str, TokenFlags], post_processing: PostProcessing) -> bytes:
    import orjson

    added = [{"content": text, **asdict(flags)} for text, flags in token_flags.items()]
    return orjson.dumps({**dump_post_processing(post_processing), "added_tokens": added})
