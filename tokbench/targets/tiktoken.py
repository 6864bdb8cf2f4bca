"""To tiktoken: a rank file, proved together with the pattern and the special tokens that go with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.errors import ConversionError
from tokbench.formats.byte_level import ranks_of
from tokbench.formats.proof import Peer
from tokbench.formats.tiktoken import dump_ranked, parse_ranks, to_encoding
from tokbench.models import ByteLevelBpe
from tokbench.targets import Product, Source
from tokbench.targets.post_processing import lost, takes_white_space

if TYPE_CHECKING:
    from pathlib import Path


def make(source: Source) -> Product:
    """A rank file. Raises `ConversionError`."""
    description = source.description
    if not isinstance(description, ByteLevelBpe):
        raise ConversionError("tiktoken runs byte-level BPE alone, and this is another kind of tokenizer")
    if description.normalization is not None:
        raise ConversionError(
            f"text is brought to {description.normalization.upper()} first, and tiktoken has no normaliser"
        )
    ranks = ranks_of(description)
    special, pattern = dict(description.special_tokens), description.pattern
    greedy = _white_space_note(description)
    to_encoding("checked", pattern=pattern, ranks=ranks, special_tokens=special)

    def opened(path: Path) -> Peer:
        import tiktoken

        encoding = to_encoding(
            "converted",
            pattern=pattern,
            ranks=parse_ranks(path.read_bytes(), path=path),
            special_tokens=special,
        )
        return Peer(
            name=f"tiktoken {tiktoken.__version__}",
            encode=encoding.encode_ordinary,
            encode_special=None if greedy else lambda text: encoding.encode(text, allowed_special="all"),
            domain=f"special tokens are not looked for: {greedy}" if greedy else None,
            decode=lambda ids: encoding.decode(list(ids)),
            entry=lambda id: _entry(encoding, id),  # noqa: A006
        )

    notes = (*_notes(description), *lost(description.post_processing, who="tiktoken"))
    return Product(files={"": dump_ranked(ranks)}, open=opened, notes=notes)


def _white_space_note(description: ByteLevelBpe) -> str | None:
    """What tiktoken does with the white space around special tokens that the source gives to them."""
    taking = takes_white_space(description.token_flags)
    if not taking:
        return None
    more = f" and {len(taking) - 1:,} others" if len(taking) > 1 else ""
    return f"{taking[0]!r}{more} takes the white space around it in the source, and tiktoken encodes it"


def _entry(encoding: object, id: int) -> bytes | None:
    try:
        data: bytes = encoding.decode_single_token_bytes(id)  # type: ignore[attr-defined]
    except KeyError:
        return None
    return data


def _notes(description: ByteLevelBpe) -> tuple[str, ...]:
    pattern = r"(?s:.+)" if description.pattern is None else description.pattern
    special = dict(description.special_tokens)
    greedy = _white_space_note(description)
    return (
        "a rank file says neither pattern nor special tokens; give tiktoken.Encoding both: "
        f"pat_str={pattern!r}, special_tokens={special!r}",
        *([greedy] if greedy else []),
    )
