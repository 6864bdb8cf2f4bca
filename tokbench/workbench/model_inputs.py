"""Turn texts into model inputs: templates, truncation, windows, padding, masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.batches import InputRow, PaddingPlan, pad_ids, pad_rows, rows_of
from tokbench.core.result_json import tokenizer_fields
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import counted
from tokbench.errors import TextError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.core.tokens import Span
    from tokbench.core.truncation import TruncationPlan
    from tokbench.corpus.inputs import TextInput

Pair = tuple["TextInput", "TextInput | None"]
"""A text, or a pair of texts."""


@dataclass(frozen=True, slots=True)
class InputRecord:
    """The model input of a text, of a pair, or of a window of them.

    Attributes:
        source: source of the text; for a pair, of the first text.
        info: the tokenizer.
        row: ids, type ids, document and window, without padding.
        ids: ids with padding.
        type_ids: type ids with padding.
        attention_mask: 0 for padding, 1 for all other tokens.
        tokens: the bytes of each token.
        spans: the span of each token in its text; None for padding and tokens of the template.
    """

    source: str
    info: TokenizerInfo
    row: InputRow
    ids: list[int]
    type_ids: list[int]
    attention_mask: list[int]
    tokens: list[bytes]
    spans: list[Span | None]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return {
            "schema": "tokbench.encode/1",
            "source": self.source,
            **tokenizer_fields(self.info),
            "document": self.row.document,
            "window": self.row.window,
            "ids": self.ids,
            "attention_mask": self.attention_mask,
            "type_ids": self.type_ids,
            "tokens": [token.decode(errors="replace") for token in self.tokens],
            "spans": [None if span is None else list(span) for span in self.spans],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPlan:
    """How texts become model inputs.

    Attributes:
        special: what the text of a special token becomes.
        template: whether to apply the tokenizer's template.
        truncation: how to truncate.
        padding: how to pad; None for no padding.
    """

    special: SpecialPolicy = SpecialPolicy.TEXT
    template: bool = False
    truncation: TruncationPlan
    padding: PaddingPlan | None = None


def paired(items: Iterable[TextInput], *, by_two: bool) -> Iterator[Pair]:
    """Yield texts alone or as pairs. Raises `TextError` if the last text of pairs has no second."""
    texts = iter(items)
    for first in texts:
        if not by_two:
            yield first, None
            continue
        second = next(texts, None)
        if second is None:
            raise TextError(
                f"{first.source!r} has no second text", hint="pairs take an even number of texts and records"
            )
        yield first, second


def encode_rows(
    tokenizer: Tokenizer, pairs: Iterable[Pair], plan: InputPlan
) -> Iterator[tuple[Pair, InputRow]]:
    """Yield the rows of texts or pairs without padding; raises as `tokbench.core.batches.rows_of`."""
    for number, (first, second) in enumerate(pairs):
        rows = rows_of(
            tokenizer,
            [first.text],
            None if second is None else [second.text],
            special=plan.special,
            template=plan.template,
            truncation=plan.truncation,
            first_document=number,
            threads=1,
        )
        yield from (((first, second), row) for row in rows)


def padded_ids(
    tokenizer: Tokenizer, pairs: Iterable[Pair], plan: InputPlan
) -> Iterator[tuple[Pair, InputRow, list[int], list[int], list[int]]]:
    """Yield padded rows with ids, type ids and attention mask; reads all rows first if the longest sets the length.

    Raises:
        ConfigError: a row needs padding, and no token has the role pad.
        TextError: a row is longer than the padded length.
    """
    rows = encode_rows(tokenizer, pairs, plan)
    if plan.padding is None:
        yield from ((pair, row, row.ids, row.type_ids, [1] * len(row.ids)) for pair, row in rows)
        return
    if plan.padding.length is None:
        rows = iter(gathered := list(rows))
        width = plan.padding.width(len(row.ids) for _, row in gathered)
    else:
        width = plan.padding.width([])
    fill: tuple[int, int] | None = None
    for pair, row in rows:
        missing = width - len(row.ids)
        if missing < 0:
            raise TextError(
                f"{pair[0].source} has {counted(len(row.ids), 'token')}, more than the {width:,} to pad to",
                hint=f"--truncate {width} cuts it, or pad to more",
            )
        if missing and fill is None:
            fill = pad_ids(tokenizer)
        id, type_id = fill or (0, 0)
        columns = ((row.ids, id), (row.type_ids, type_id), ([1] * len(row.ids), 0))
        if plan.padding.side == "left":
            ids, type_ids, mask = ([filler] * missing + values for values, filler in columns)
        else:
            ids, type_ids, mask = (values + [filler] * missing for values, filler in columns)
        yield pair, row, ids, type_ids, mask


def input_records(tokenizer: Tokenizer, pairs: Iterable[Pair], plan: InputPlan) -> Iterator[InputRecord]:
    """Yield the padded rows with tokens and spans; raises as `padded_ids`."""
    known: tuple[int, list[list[Span]]] = (-1, [])
    for (first, second), row, ids, type_ids, mask in padded_ids(tokenizer, pairs, plan):
        if known[0] != row.document:
            texts = [first.text] if second is None else [first.text, second.text]
            spans = [
                [token.span for token in tokenizer.segment(text, special=plan.special).tokens]
                for text in texts
            ]
            known = (row.document, spans)
        own = [None if place is None else known[1][place[0]][place[1]] for place in row.places()]
        fillers: list[Span | None] = [None] * (len(ids) - len(own))
        is_left = plan.padding is not None and plan.padding.side == "left"
        yield InputRecord(
            source=first.source,
            info=tokenizer.info,
            row=row,
            ids=ids,
            type_ids=type_ids,
            attention_mask=mask,
            tokens=[tokenizer.token_bytes(id) for id in ids],
            spans=fillers + own if is_left else own + fillers,
        )


def npz_of(tokenizer: Tokenizer, pairs: Iterable[Pair], plan: InputPlan) -> bytes:
    """Return the rows of all texts as a `.npz` file: ids, attention_mask, type_ids and documents.

    Raises:
        ConfigError, TextError: as `padded_ids`; also if rows differ in length and there is no padding.
    """
    import io

    import numpy as np

    rows = [row for _, row in encode_rows(tokenizer, pairs, plan)]
    if plan.padding is None and len({len(row.ids) for row in rows}) > 1:
        raise TextError(
            "the rows have different lengths, but the arrays of a .npz file need one",
            hint="--pad-to longest pads them; --out FILE.jsonl takes any lengths",
        )
    batch = pad_rows(tokenizer, rows, padding=plan.padding, dtype="int32")
    file = io.BytesIO()
    np.savez(
        file,
        ids=batch.ids,
        attention_mask=batch.attention_mask.astype(np.uint8),
        type_ids=batch.type_ids.astype(np.uint8),
        documents=batch.documents,
        windows=np.array([row.window for row in rows], np.int64),
    )
    return file.getvalue()
