"""Batches of model input: many texts as arrays, with the template applied, truncated, padded and masked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.core.argument_types import whole_ids
from tokbench.core.capabilities import KnowsPostProcessing
from tokbench.core.post_processing import NOTHING, parts_of, template_size
from tokbench.core.roles import role_ids_of, roles_of
from tokbench.core.tokens import Encoded, EqualArrays, SpecialPolicy
from tokbench.core.truncation import TruncationPlan, check_number, check_side, input_windows
from tokbench.core.wording import counted
from tokbench.errors import ConfigError, TextError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import SupportsIndex

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.descriptions import PostProcessing, TemplatePart
    from tokbench.core.interfaces import Tokenizer

DTYPES = ("int64", "int32", "uint32", "uint16")
_MOST_ELEMENTS = 1 << 31
_LONGEST = 1 << 26


class InputRow(NamedTuple):
    """The model input for a text, for a pair, or for a window of them.

    Attributes:
        ids: the tokens, including those of the template.
        type_ids: for each token the type id that the template assigns, which tells the texts apart.
        document: the index of the text or pair.
        window: 0 for the part that truncation keeps, 1 and up for the windows that overflow.
        parts: the parts of the template, in order.
        ranges: for each text the range of its tokens in this row.
    """

    ids: list[int]
    type_ids: list[int]
    document: int
    window: int
    parts: Sequence[TemplatePart] = ()
    ranges: Sequence[range] = ()

    def places(self) -> Iterator[tuple[int, int] | None]:
        """Yield for each token the text and its index there; None for a token of the template."""
        for part in self.parts:
            if part.text is None:
                yield from (None for _ in part.ids)
            else:
                yield from ((part.text, index) for index in self.ranges[part.text])


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddingPlan:
    """How rows are padded.

    Attributes:
        length: the least number of tokens of a row; None pads to the longest row.
        multiple_of: the number of tokens is rounded up to a multiple of this; None leaves it.
        side: the end that is padded, "left" or "right".

    Raises:
        ConfigError: a value is out of range.
    """

    length: int | None = None
    multiple_of: int | None = None
    side: str = "right"

    def __post_init__(self) -> None:
        check_number("the length to pad to", self.length, smallest=0, largest=_LONGEST)
        check_number("multiple_of", self.multiple_of, smallest=1, largest=_LONGEST)
        check_side(self.side)

    def width(self, lengths: Iterable[int]) -> int:
        """Return the padded length for rows of these lengths; `length` does not shorten longer rows.

        >>> PaddingPlan(multiple_of=4).width([3, 5]), PaddingPlan(length=6).width([3, 9])
        (8, 6)
        """
        width = max(lengths, default=0) if self.length is None else self.length
        return -(-width // self.multiple_of) * self.multiple_of if self.multiple_of else width


@dataclass(frozen=True, slots=True, eq=False)
class Batch(EqualArrays):
    """Rows of the same length, as a training loop takes them.

    Attributes:
        ids: [rows, length], the tokens.
        attention_mask: [rows, length], 0 for padding and 1 for every other token.
        type_ids: [rows, length], which of two texts a token belongs to; 0 for single texts.
        documents: int64[rows], the index of the text or pair of each row.
    """

    ids: NDArray[Any]
    attention_mask: NDArray[Any]
    type_ids: NDArray[Any]
    documents: NDArray[np.int64]

    def __repr__(self) -> str:
        """Return a short form: shape and type."""
        rows, length = self.ids.shape
        return f"<{counted(rows, 'row')} of {counted(length, 'token')}, {self.ids.dtype}>"

    def __len__(self) -> int:
        return len(self.ids)

    def model_inputs(self) -> dict[str, NDArray[Any]]:
        """Return the arrays under the names that models of `transformers` expect."""
        return {
            "input_ids": self.ids,
            "attention_mask": self.attention_mask,
            "token_type_ids": self.type_ids,
        }


def post_processing_of(tokenizer: Tokenizer) -> PostProcessing:
    """Return the template and limits of a tokenizer; `NOTHING` where it has none. Raises `ConfigError`."""
    return tokenizer.post_processing if isinstance(tokenizer, KnowsPostProcessing) else NOTHING


def rows_of(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    template: bool = True,
    truncation: TruncationPlan | None = None,
    first_document: int = 0,
    threads: int | None = None,
) -> Iterator[InputRow]:
    """Yield the model input of texts or pairs: a row for each, and one for each window that overflows.

    Args:
        tokenizer: any tokenizer.
        texts: the texts, or the first of each pair.
        pairs: the second of each pair.
        special: what the text of a special token becomes.
        template: whether to apply the tokenizer's template.
        truncation: how to truncate; None leaves the texts whole.
        first_document: the index of the first text.
        threads: for encoding; None takes every processor.

    Raises:
        ConfigError: the template leaves no room under the plan; the template is not known.
        TextError: `texts` and `pairs` differ in length, a text cannot be truncated as asked, a lone surrogate.
        SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.
    """
    if pairs is not None and len(pairs) != len(texts):
        raise TextError(f"there are {len(texts)} first texts of pairs, but {len(pairs)} second texts")
    plan = truncation or TruncationPlan()
    processing = post_processing_of(tokenizer) if template else NOTHING
    parts = parts_of(processing.template, pair=pairs is not None)
    added = template_size(processing.template, pair=pairs is not None)
    plan.check_room(added)
    columns = [
        tokenizer.encode_batch(list(column), special=special, threads=threads)
        for column in (texts, pairs)
        if column is not None
    ]
    written_first = next((part.text for part in parts if part.text is not None), 0)
    for number in range(len(texts)):
        ids = [column[number].tolist() for column in columns]
        windows = input_windows(list(map(len, ids)), plan, added=added, written_first=written_first)
        for window, ranges in enumerate(windows):
            yield _row(parts, ids, ranges, document=first_document + number, window=window)


def _row(
    parts: Sequence[TemplatePart],
    ids: Sequence[list[int]],
    ranges: Sequence[range],
    *,
    document: int,
    window: int,
) -> InputRow:
    row_ids: list[int] = []
    type_ids: list[int] = []
    for part in parts:
        if part.text is None:
            row_ids += part.ids
        else:
            taken = ranges[part.text]
            row_ids += ids[part.text][taken.start : taken.stop]
        type_ids += [part.type_id] * (len(row_ids) - len(type_ids))
    return InputRow(row_ids, type_ids, document, window, parts, ranges)


def batch_of(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    template: bool = True,
    truncation: TruncationPlan | None = None,
    padding: PaddingPlan | None = None,
    dtype: str = "int64",
) -> Batch:
    """Return texts or pairs as arrays; arguments and errors are those of `rows_of` and `pad_rows`."""
    rows = list(rows_of(tokenizer, texts, pairs, special=special, template=template, truncation=truncation))
    return pad_rows(tokenizer, rows, padding=padding, dtype=dtype)


def pad_rows(
    tokenizer: Tokenizer,
    rows: Sequence[InputRow],
    *,
    padding: PaddingPlan | None = None,
    dtype: str = "int64",
) -> Batch:
    """Return rows as arrays, padded with the token whose role is pad.

    Args:
        tokenizer: the tokenizer that has the role pad.
        rows: the rows that `rows_of` yields.
        padding: how to pad; None pads to the longest row.
        dtype: the type of ids, masks and type ids, one of `DTYPES`.

    Raises:
        ConfigError: an unknown dtype, or ids that do not fit into it; a row is too short and there is no role pad.
        TextError: a row is longer than the length to pad to.
    """
    import numpy as np

    plan = padding or PaddingPlan()
    lengths = np.array([len(row.ids) for row in rows], np.int64)
    width = plan.width(lengths.tolist())
    shape = (len(rows), width)
    _check_batch(rows, lengths, shape, dtype=dtype, tokenizer=tokenizer)
    fill, fill_type = pad_ids(tokenizer) if (lengths < width).any() else (0, 0)
    columns = np.arange(width)
    real = columns >= width - lengths[:, None] if plan.side == "left" else columns < lengths[:, None]
    ids = np.full(shape, fill, dtype)
    type_ids = np.full(shape, fill_type, dtype)
    ids[real] = _all_ids(rows, dtype)
    type_ids[real] = list(chain.from_iterable(row.type_ids for row in rows))
    return Batch(ids, real.astype(dtype), type_ids, np.array([row.document for row in rows], np.int64))


def _all_ids(rows: Sequence[InputRow], dtype: str) -> NDArray[Any]:
    """Return the ids of all rows in one array. Raises `ConfigError` for an id that does not fit into the type."""
    import numpy as np

    ids = list(chain.from_iterable(row.ids for row in rows))
    limits = np.iinfo(dtype)
    try:
        wide = np.array(ids, np.int64)
        fits = not ids or bool(limits.min <= wide.min() and wide.max() <= limits.max)
    except OverflowError:
        fits = False
    if not fits:
        row, id = next((row, id) for row in rows for id in row.ids if not limits.min <= id <= limits.max)
        raise ConfigError(
            f"the id {id} of text {row.document} does not fit into {dtype}",
            hint="was it made by another tokenizer?",
        )
    return wide.astype(dtype)


def pad_ids(tokenizer: Tokenizer) -> tuple[int, int]:
    """Return the id that pads rows, and its type id. Raises `ConfigError` if no token has the role pad."""
    id = role_ids_of(tokenizer).get("pad")
    if id is None:
        specials = list(tokenizer.info.special_tokens)
        eos = roles_of(tokenizer).get("eos")
        example = next(
            (text for text in specials if "pad" in text.lower()), eos or next(iter(specials), "TEXT")
        )
        raise ConfigError(
            f"{tokenizer.info.name!r} has no token for padding: none has the role pad",
            hint=f"choose one, such as --role 'pad={example}' (in Python roles={{'pad': {example!r}}})"
            if specials
            else "train it with a special token and its role, such as --special-token '<|pad|>' --role 'pad=<|pad|>'",
        )
    padding = post_processing_of(tokenizer).padding
    return id, padding.pad_type_id if padding is not None else 0


def rows_of_ids(batch: Encoded | Iterable[Iterable[SupportsIndex]]) -> list[InputRow]:
    """Return the ids of texts, from `encode_batch` or as lists, as rows. Raises `TextError` for anything else."""
    if isinstance(batch, Encoded):
        lists = [batch[number].tolist() for number in range(len(batch))]
    else:
        given = list(batch) if isinstance(batch, Iterable) else [0]
        if any(isinstance(item, str | int) for item in given):
            raise TextError(
                "a batch needs the ids of several texts",
                hint="give [ids, ids, …], or the result of encode_batch; `batch` takes texts",
            )
        lists = [whole_ids(ids) for ids in given]
    return [InputRow(ids, [0] * len(ids), number, 0) for number, ids in enumerate(lists)]


def _check_batch(
    rows: Sequence[InputRow],
    lengths: NDArray[np.int64],
    shape: tuple[int, int],
    *,
    dtype: str,
    tokenizer: Tokenizer,
) -> None:
    import numpy as np

    if dtype not in DTYPES:
        raise ConfigError(f"there is no dtype {dtype!r:.40}", hint=f"choose {', '.join(DTYPES)}")
    if tokenizer.info.vocab_size > np.iinfo(dtype).max + 1:
        raise ConfigError(
            f"{tokenizer.info.vocab_size:,} ids do not fit into {dtype}", hint="use int32 or int64"
        )
    if shape[0] * shape[1] > _MOST_ELEMENTS:
        raise ConfigError(
            f"{shape[0]:,} rows of {shape[1]:,} tokens are too many for one batch",
            hint="pad to fewer tokens, or take fewer texts at a time",
        )
    if len(rows) and lengths.max() > shape[1]:
        row = rows[int(lengths.argmax())]
        raise TextError(
            f"text {row.document} has {int(lengths.max()):,} tokens, more than the {shape[1]:,} to pad to",
            hint="truncate to as many (max_length, --truncate), or pad to more",
        )
