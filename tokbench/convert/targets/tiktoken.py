"""Convert to a rank file for tiktoken, proved together with its split pattern and special tokens."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from tokbench.convert.conversion import Product, Source, kind_of, undescribed
from tokbench.convert.post_processing import lost
from tokbench.convert.proof import Peer
from tokbench.core.descriptions import ByteLevelBpe, HuggingFaceModel, SentencePieceModel
from tokbench.core.wording import first_of
from tokbench.errors import ConversionError
from tokbench.formats.merges import ranks_of
from tokbench.formats.tiktoken import dump_ranked, parse_ranks, to_encoding
from tokbench.libraries.huggingface.tokenizer_json import model_type, parse_tokenizer_json
from tokbench.opening.native_bpe import parse_byte_level_bpe
from tokbench.opening.tokenizer_json_tokens import AddedTokens, NotNativeError, overlapping

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

_TEXTS_SHOWN = 3
_MOST_SPELLED = 16
"""So many special tokens are written out for the user to copy."""
_FLAGS = ("lstrip", "rstrip", "single_word")


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A source in the form of tiktoken, where all added tokens become special tokens."""

    bpe: ByteLevelBpe
    added: AddedTokens


def make(source: Source) -> Product:
    """Convert a source to a rank file. Raises `ConversionError`."""
    ranked = _ranked(source)
    description, everywhere = ranked.bpe, set(ranked.added.everywhere)
    if description.normalization is not None:
        raise ConversionError(
            f"text is normalized to {description.normalization.upper()} first, and tiktoken has no normalizer"
        )
    ranks = ranks_of(description)
    special, pattern = dict(description.special_tokens), description.pattern
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
            encode=lambda text: encoding.encode(text, allowed_special=everywhere, disallowed_special=()),
            encode_special=lambda text: encoding.encode(text, allowed_special="all"),
            decode=lambda ids: encoding.decode(list(ids)),
            token_bytes=lambda id: _entry(encoding, id),  # noqa: A006
            found_otherwise=frozenset(_flags_of(ranked.added)),
            domain=_domain(ranked.added),
        )

    notes = (*_notes(ranked), *lost(description.post_processing, who="tiktoken"))
    return Product(files={"": dump_ranked(ranks)}, open=opened, notes=notes)


def _ranked(source: Source) -> _Ranked:
    """Return the ranks, pattern and special tokens of a source. Raises `ConversionError` if it has more than these."""
    match source.description:
        case ByteLevelBpe() as description:
            added = AddedTokens(special=description.special_tokens, flags=description.token_flags)
            return _Ranked(description, added)
        case HuggingFaceModel(document=data):
            return _ranked_document(data, name=source.tokenizer.info.name)
        case SentencePieceModel() as description:
            raise ConversionError(f"tiktoken runs byte-level BPE only, and this is {kind_of(description)}")
        case None:
            raise undescribed(source)


def _ranked_document(data: bytes, *, name: str) -> _Ranked:
    """Parse a `tokenizer.json` that only splits by one pattern and merges bytes; refuse any other."""
    document = parse_tokenizer_json(data, source=name)
    if (kind := model_type(document)) != "BPE":
        raise ConversionError(f"tiktoken runs byte-level BPE only, and this is {kind}")
    try:
        parsed = parse_byte_level_bpe(document, path=name)
    except NotNativeError as error:
        raise ConversionError(
            f"tiktoken runs byte-level BPE with one split pattern and no normalizer; for this tokenizer, {error}"
        ) from None
    _check_everywhere(parsed.added)
    return _Ranked(parsed.bpe, parsed.added)


def _check_everywhere(added: AddedTokens) -> None:
    """Refuse added tokens that affect ordinary text differently from tiktoken's special tokens."""
    for text in added.everywhere:
        if flags := _flags_of(added).get(text):
            raise ConversionError(
                f"the added token {text!r} is found in every text and has the flag {flags[0]}, "
                "which tiktoken's special tokens do not have"
            )
    if (added.everywhere or added.in_two_passes) and (overlap := overlapping(added.all)):
        first, second = overlap
        raise ConversionError(
            f"the added tokens {first!r} and {second!r} can overlap in a text, and which of them tiktoken "
            "would find first is undefined"
        )


def _flags_of(added: AddedTokens) -> dict[str, list[str]]:
    """Return text → flags by which a token takes more text than its own, or is not found inside words."""
    named = {text: [name for name in _FLAGS if getattr(flags, name)] for text, flags in added.flags.items()}
    return {text: names for text, names in named.items() if names}


def _entry(encoding: object, id: int) -> bytes | None:
    try:
        data: bytes = encoding.decode_single_token_bytes(id)  # type: ignore[attr-defined]
    except KeyError:
        return None
    return data


def _domain(added: AddedTokens) -> str | None:
    """Return which special tokens the proof leaves out, in words; None if there are none."""
    flags = _flags_of(added)
    if not flags:
        return None
    return f"texts without {_listed(flags)} where special tokens are found: it is matched differently there"


def _notes(ranked: _Ranked) -> Iterator[str]:
    description, added = ranked.bpe, ranked.added
    pattern = r"(?s:.+)" if description.pattern is None else description.pattern
    special, more = dict(description.special_tokens), ""
    if len(special) > _MOST_SPELLED:
        more = f"and so on for all {len(special):,} special tokens, which tokbench inspect --json lists"
        special = dict(islice(special.items(), _TEXTS_SHOWN))
    yield (
        "a rank file contains neither the pattern nor the special tokens; pass both to tiktoken.Encoding:\n"
        f"pat_str={pattern!r}, special_tokens={special!r}"
    ) + (f", {more}" if more else "")
    options = shlex.join(_options(description, special))
    yield f"to open the file again, tokbench needs the options\n{options}" + (f" {more}" if more else "")
    if added.everywhere:
        yield (
            f"the added tokens that are not special ({_listed(added.everywhere)}) are found in every text; "
            "for the same ids name them to encode(…, allowed_special={…}, disallowed_special=())"
        )
    by_flags: dict[str, list[str]] = {}
    for text, flags in _flags_of(added).items():
        by_flags.setdefault(", ".join(flags), []).append(text)
    for names, texts in by_flags.items():
        tokens, have = ("token", "has") if len(texts) == 1 else ("tokens", "have")
        yield (
            f"the special {tokens} {_listed(texts)} {have} the flag {names}, which tiktoken does not have: "
            "where special tokens are found, it matches exactly the token's text, anywhere"
        )


def _options(description: ByteLevelBpe, special_tokens: Mapping[str, int]) -> Iterator[str]:
    """Yield the options by which tokbench opens the rank file as the tokenizer that it was made of."""
    yield "--pattern"
    if description.pattern is None:
        yield "none"
    elif description.pattern_name in ("custom", "qwen2"):  # the name qwen2 also normalizes
        yield description.pattern
    else:
        yield description.pattern_name
    for text, id in special_tokens.items():
        yield from ("--special-token", f"{text}={id}")


def _listed(texts: Collection[str]) -> str:
    return first_of([*map(repr, texts)], _TEXTS_SHOWN)
